"""The claims of the paper, and ours beside them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from padir.config.experiment import Config
from padir.report import ablations, paper, verdicts


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is tested.

    Attributes:
        id: identifier, such as `theory.product_steps`. A claim decided by another command replaces
            this one if its id is the same, or the same followed by a dot and more.
        paper: the paper's number, or words where it gives none.
        test: decides the claim from the report's results; None where another command decides it.
        part: part of the report that shows the results behind the verdict.
        when: whether the claim applies to a config; None if it applies to all.
    """

    id: str
    section: str
    statement: str
    paper: str
    part: str
    test: verdicts.Test | None = None
    when: Callable[[Config], object] | None = None

    @property
    def target(self) -> str:
        """The target of the workflow that makes the results for a verdict."""
        if self.part in ("ablations", "table4", "table5"):
            return "everything"
        return "theory" if self.part == "theorems" else "core"


def _span(numbers: Sequence[float]) -> str:
    return f"{min(numbers):+.2f} to {max(numbers):+.2f}"


def _faster(point: str, times: int, search: str, test: verdicts.Test) -> Claim:
    what = {"p50": "Median latency", "p99": "99th percentile of latency"}[point]
    how = {"greedy": "AR decoded greedily", "beam": "AR by beam search, as in table 1"}[search]
    return Claim(
        f"latency_{point}_{search}",
        "3.3, Speed",
        f"{what}: more than {times} times AR's speed ({how}).",
        f"> {times} (TPU v3)",
        "latency",
        test,
    )


def _ablation(
    id: str, section: str, statement: str, test: verdicts.Test, paper="no number"
) -> Claim:
    return Claim(id, section, statement, paper, "ablations", test)


def _theory(name: str, section: str, statement: str, paper: str) -> Claim:
    return Claim(f"theory.{name}", section, statement, paper, "theorems")


CLAIMS = (
    Claim(
        id="near_ar",
        section="3.3, table 1",
        statement="With 4 passes PaDIR is near AR in BLEU.",
        paper=f"{_span(paper.gaps_to_ar(paper.TABLE1, 'T4'))} BLEU over six directions",
        part="table1",
        test=verdicts.near_ar,
    ),
    Claim(
        id="near_ar_joint",
        section="ours",
        statement="With 4 passes and joint decoding PaDIR is near AR in BLEU.",
        paper="not in the paper",
        part="table1",
        test=verdicts.near_ar_joint,
        when=verdicts.joint_row,
    ),
    Claim(
        id="near_ar_bleurt",
        section="3.3, table 3",
        statement="With 4 passes PaDIR is near AR in BLEURT.",
        paper=f"{_span(paper.gaps_to_ar(paper.TABLE3, 'T4'))} BLEURT over six directions",
        part="table3",
        test=verdicts.near_ar_bleurt,
    ),
    Claim(
        id="one_pass",
        section="1",
        statement="One pass already gives reasonable translations.",
        paper="no number",
        part="table1",
        test=verdicts.one_pass,
    ),
    Claim(
        id="saturation",
        section="L.4, table 1",
        statement="More passes than 4 hardly add BLEU.",
        paper=f"T10 - T4: {_span(paper.gains('T4', 'T10'))} BLEU",
        part="table1",
        test=verdicts.saturation,
    ),
    Claim(
        id="early_gain",
        section="ours",
        statement="Most of what passes add comes early.",
        paper="no number below T4",
        part="table1",
        test=verdicts.early_gain_larger,
    ),
    Claim(
        id="fewer_passes",
        section="3.3, Speed",
        statement="With 4 passes PaDIR makes at least 7 times fewer decoder passes than AR.",
        paper="7 to 8 times, with targets of 28 to 33 tokens",
        part="table1",
        test=verdicts.fewer_passes,
    ),
    _faster("p50", 2, "greedy", verdicts.faster_than_greedy_p50),
    _faster("p99", 5, "greedy", verdicts.faster_than_greedy_p99),
    _faster("p50", 2, "beam", verdicts.faster_than_beam_p50),
    _faster("p99", 5, "beam", verdicts.faster_than_beam_p99),
    Claim(
        id="stutter_final",
        section="3.3",
        statement="Word-level stutter is at least twice AR's (as printed: final text).",
        paper=">= 2 times, all datasets",
        part="stutter",
        test=verdicts.stutter_twice_final,
    ),
    Claim(
        id="stutter_before_drop",
        section="3.3, L.2",
        statement="Word-level stutter is at least twice AR's before repeats are dropped.",
        paper="not printed",
        part="stutter",
        test=verdicts.stutter_twice_before_drop,
    ),
    _ablation(
        "distillation", "1", "Training on an AR model's output helps.", ablations.distillation_helps
    ),
    _ablation(
        "masking_ratio",
        "1",
        "A large masking ratio in the first training stage helps.",
        ablations.masking_ratio_helps,
    ),
    _ablation(
        "unmasking",
        "ours",
        "Some unmasked tokens in the first training stage help.",
        ablations.unmasking_helps,
        paper="used (L.2); not claimed to help",
    ),
    _ablation(
        "positional_attention",
        "1",
        "Positional attention helps.",
        ablations.positional_attention_helps,
    ),
    _ablation(
        "custom_vocabulary",
        "1",
        "A vocabulary learnt on the pair's own text helps.",
        ablations.vocabulary_helps,
    ),
    _ablation(
        "second_stage", "L.1.2, L.2", "A second training stage helps.", ablations.second_stage_helps
    ),
    _ablation(
        "stutter_handling",
        "ours",
        "Remasking stutter between passes helps.",
        ablations.stutter_handling_helps,
        paper="used (L.2); not claimed to help",
    ),
    _ablation(
        "length_candidates",
        "ours",
        "Several length candidates help.",
        ablations.length_candidates_help,
        paper="used (L.1.1); not claimed to help",
    ),
    _ablation(
        "remasking",
        "L.2, footnote 26",
        "The remasking schedule hardly matters.",
        ablations.remasking_matters_little,
        paper="not visibly affected",
    ),
    Claim(
        id="self_attention",
        section="3.4, table 4",
        statement="Self-attention is no larger between stuttering positions than between other"
        " neighbours.",
        paper="mean 0.032 against 0.033",
        part="table4",
    ),
    Claim(
        id="cross_attention",
        section="3.4, table 5",
        statement="Cross-attention is closer at stutters.",
        paper="total variation 0.13 against 0.23 (mean)",
        part="table5",
    ),
    _theory(
        "masking_more",
        "3.1, figures 1 and 2",
        "Masking more lowers the estimation error.",
        "figure",
    ),
    _theory(
        "information_matrix",
        "2.2.1, appendix A",
        "Generalised information-matrix equality.",
        "exact",
    ),
    _theory(
        "covariance_order",
        "2.2, theorem 2",
        "The estimator's covariance falls in k, in the positive-semidefinite order.",
        "exact",
    ),
    _theory(
        "variance_bound",
        "2.2.2, 2.2.3, theorems 6 and 8",
        "The asymptotic variance is bounded through the Poincare constant, also for adaptive"
        " masks.",
        "exact",
    ),
    _theory(
        "dirichlet_form", "2.2", "The Dirichlet form identity of weighted block dynamics.", "exact"
    ),
    _theory(
        "finite_sample_bound",
        "2.3, theorem 4",
        "The finite-sample bound on total variation.",
        "bound",
    ),
    _theory("convexity", "2.1", "k-MPLE is convex for Ising models.", "exact"),
    _theory(
        "larger_k_is_faster",
        "2.4.2, L.7, figure 3",
        "k-Gibbs reaches the larger mode, and faster for larger k.",
        "figure",
    ),
    _theory(
        "parallel_is_slower",
        "2.4.2, L.7, figure 3",
        "Independent parallel sampling does not reach the larger mode.",
        "figure",
    ),
    _theory("product_steps", "2.4.1", "A parallel step is a product distribution.", "exact"),
)
