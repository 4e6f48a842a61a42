"""The claims of the paper, and ours beside them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from padir.config.experiment import Config
from padir.report import ablations, paper, verdicts
from padir.report.catalogue import CATALOGUE, CORE_GROUPS

_PARTS = {part.name: part for part in CATALOGUE}


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and how it is tested.

    Attributes:
        id: identifier, such as `theory.product_steps`. A claim decided by another command replaces
            this one if its id is the same, or the same followed by a dot and more.
        title: a few plain words, for the page.
        paper: the paper's number, or words where it gives none.
        part: part of the report that shows the results behind the verdict, by its name in the
            catalogue.
        test: decides the claim from the report's results; None where another command decides it.
        when: whether the claim applies to a config; None if it applies to all.
    """

    id: str
    title: str
    section: str
    statement: str
    paper: str
    part: str
    test: verdicts.Test | None = None
    when: Callable[[Config], object] | None = None

    @property
    def group(self) -> str:
        """The claim's group on the page: the section that shows the results behind it."""
        return _PARTS[self.part].section

    @property
    def target(self) -> str:
        """The target of the workflow that makes the results for a verdict."""
        group = _PARTS[self.part].group
        return group if group in CORE_GROUPS else "everything"


def _span(numbers: Sequence[float]) -> str:
    return f"{min(numbers):+.2f} to {max(numbers):+.2f}"


def _faster(point: str, times: int, search: str, test: verdicts.Test) -> Claim:
    what, of = {
        "p50": ("Median latency", "median"),
        "p99": ("99th percentile of latency", "99th percentile"),
    }[point]
    how, than = {
        "greedy": ("AR decoded greedily", "greedy AR"),
        "beam": ("AR by beam search, as in table 1", "AR beam search"),
    }[search]
    faster = {2: "Twice", 5: "Five times"}[times]
    return Claim(
        f"latency_{point}_{search}",
        f"{faster} as fast as {than} ({of})",
        "3.3, Speed",
        f"{what}: more than {times} times AR's speed ({how}).",
        f"> {times} (TPU v3)",
        "latency",
        test,
    )


def _ablation(
    id: str,
    title: str,
    section: str,
    statement: str,
    paper: str = "no number",
    entry: str = "",
    helps: bool = True,
) -> Claim:
    """Decided from `entry` of evaluation.ablations, which has the claim's id where it is empty."""
    test = ablations.claim_test(entry or id, helps)
    return Claim(id, title, section, statement, paper, "ablations", test)


def _theory(name: str, title: str, section: str, statement: str, paper: str) -> Claim:
    return Claim(f"theory.{name}", title, section, statement, paper, "theorems")


CLAIMS = (
    Claim(
        id="near_ar",
        title="Near AR with 4 passes",
        section="3.3, table 1",
        statement="With 4 passes PaDIR is near AR in BLEU.",
        paper=f"{_span(paper.gaps_to_ar(paper.TABLE1, 'T4'))} BLEU over six directions",
        part="table1",
        test=verdicts.near_ar,
    ),
    Claim(
        id="near_ar_joint",
        title="Near AR with joint decoding",
        section="ours",
        statement="With 4 passes and joint decoding PaDIR is near AR in BLEU.",
        paper="not in the paper",
        part="table1",
        test=verdicts.near_ar_joint,
        when=verdicts.joint_row,
    ),
    Claim(
        id="near_ar_bleurt",
        title="Near AR in BLEURT",
        section="3.3, table 3",
        statement="With 4 passes PaDIR is near AR in BLEURT.",
        paper=f"{_span(paper.gaps_to_ar(paper.TABLE3, 'T4'))} BLEURT over six directions",
        part="table3",
        test=verdicts.near_ar_bleurt,
    ),
    Claim(
        id="one_pass",
        title="One pass is already reasonable",
        section="1",
        statement="One pass already gives reasonable translations.",
        paper="no number",
        part="table1",
        test=verdicts.one_pass,
    ),
    Claim(
        id="saturation",
        title="BLEU saturates after 4 passes",
        section="L.4, table 1",
        statement="More passes than 4 hardly add BLEU.",
        paper=f"T10 - T4: {_span(paper.gains('T4', 'T10'))} BLEU",
        part="table1",
        test=verdicts.saturation,
    ),
    Claim(
        id="early_gain",
        title="The first passes gain most",
        section="ours",
        statement="Most of what passes add comes early.",
        paper="no number below T4",
        part="table1",
        test=verdicts.early_gain_larger,
    ),
    Claim(
        id="fewer_passes",
        title="Seven times fewer decoder passes than AR",
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
        title="Twice AR's stutter, in the final text",
        section="3.3",
        statement="Word-level stutter is at least twice AR's (as printed: final text).",
        paper=">= 2 times, all datasets",
        part="stutter",
        test=verdicts.stutter_twice_final,
    ),
    Claim(
        id="stutter_before_drop",
        title="Twice AR's stutter, before the final drop",
        section="3.3, L.2",
        statement="Word-level stutter is at least twice AR's before repeats are dropped.",
        paper="not printed",
        part="stutter",
        test=verdicts.stutter_twice_before_drop,
    ),
    _ablation(
        "distillation",
        "Distillation helps",
        "1",
        "Training on an AR model's output helps.",
    ),
    _ablation(
        "masking_ratio",
        "A large masking ratio helps",
        "1",
        "A large masking ratio in the first training stage helps.",
    ),
    _ablation(
        "unmasking",
        "Some unmasked tokens help",
        "ours",
        "Some unmasked tokens in the first training stage help.",
        paper="used (L.2); not claimed to help",
    ),
    _ablation(
        "positional_attention",
        "Positional attention helps",
        "1",
        "Positional attention helps.",
    ),
    _ablation(
        "custom_vocabulary",
        "A vocabulary of one's own helps",
        "1",
        "A vocabulary learnt on the pair's own text helps.",
        entry="vocabulary",
    ),
    _ablation(
        "second_stage",
        "A second training stage helps",
        "L.1.2, L.2",
        "A second training stage helps.",
    ),
    _ablation(
        "stutter_handling",
        "Stutter remasking helps",
        "ours",
        "Remasking stutter between passes helps.",
        paper="used (L.2); not claimed to help",
    ),
    _ablation(
        "length_candidates",
        "Several length candidates help",
        "ours",
        "Several length candidates help.",
        paper="used (L.1.1); not claimed to help",
    ),
    _ablation(
        "remasking",
        "The remasking schedule hardly matters",
        "L.2, footnote 26",
        "The remasking schedule hardly matters.",
        helps=False,
        paper="not visibly affected",
    ),
    Claim(
        id="self_attention",
        title="Self-attention is no larger at stutters",
        section="3.4, table 4",
        statement="Self-attention is no larger between stuttering positions than between other"
        " neighbours.",
        paper="mean 0.032 against 0.033",
        part="table4",
    ),
    Claim(
        id="cross_attention",
        title="Cross-attention is closer at stutters",
        section="3.4, table 5",
        statement="Cross-attention is closer at stutters.",
        paper="total variation 0.13 against 0.23 (mean)",
        part="table5",
    ),
    _theory(
        "masking_more",
        "Masking more lowers the estimation error",
        "3.1, figures 1 and 2",
        "Masking more lowers the estimation error.",
        "figure",
    ),
    _theory(
        "information_matrix",
        "Information-matrix equality",
        "2.2.1, appendix A",
        "Generalised information-matrix equality.",
        "exact",
    ),
    _theory(
        "covariance_order",
        "Covariance falls in k",
        "2.2, theorem 2",
        "The estimator's covariance falls in k, in the positive-semidefinite order.",
        "exact",
    ),
    _theory(
        "variance_bound",
        "Variance is bounded by mixing",
        "2.2.2, 2.2.3, theorems 6 and 8",
        "The asymptotic variance is bounded through the Poincare constant, also for adaptive"
        " masks.",
        "exact",
    ),
    _theory(
        "dirichlet_form",
        "Dirichlet form identity",
        "2.2",
        "The Dirichlet form identity of weighted block dynamics.",
        "exact",
    ),
    _theory(
        "finite_sample_bound",
        "Finite-sample bound",
        "2.3, theorem 4",
        "The finite-sample bound on total variation.",
        "bound",
    ),
    _theory("convexity", "k-MPLE is convex", "2.1", "k-MPLE is convex for Ising models.", "exact"),
    _theory(
        "larger_k_is_faster",
        "k-Gibbs reaches the larger mode, faster for larger k",
        "2.4.2, L.7, figure 3",
        "k-Gibbs reaches the larger mode, and faster for larger k.",
        "figure",
    ),
    _theory(
        "parallel_is_slower",
        "Independent parallel sampling misses the larger mode",
        "2.4.2, L.7, figure 3",
        "Independent parallel sampling does not reach the larger mode.",
        "figure",
    ),
    _theory(
        "product_steps",
        "A parallel step is a product distribution",
        "2.4.1",
        "A parallel step is a product distribution.",
        "exact",
    ),
)
