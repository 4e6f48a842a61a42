"""Settings of what is scored, timed, compared, sampled and analysed."""

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from padir.config.base import FilePath, Name, Settings
from padir.config.rows import DEFAULT_PASSES, Passes, Rows, RowText


class BleurtScorer(Settings):
    """BLEURT, from a checkpoint of BLEURT-20's format; needs TensorFlow."""

    counts: ClassVar[str] = "padir.score.bleurt:checkpoint_counts"
    kind: Literal["bleurt"] = "bleurt"
    checkpoint: FilePath = Field(
        min_length=1,
        description="Folder of the checkpoint, as unpacked; where there is none, its scores say"
        " `not run`.",
    )


class ChrfWordsScorer(Settings):
    """chrF++: chrF with words and pairs of words."""

    counts: ClassVar[str] = "padir.score.bleu:chrf_words_counts"
    kind: Literal["chrf++"] = "chrf++"


# `counts` of each class is the function that `padir rate` calls with hypotheses and references, and
# where the class has a `checkpoint` also with its folder and the number of threads.
Scorer = Annotated[BleurtScorer | ChrfWordsScorer, Field(discriminator="kind")]
SCORERS = {scorer.model_fields["kind"].default: scorer for scorer in get_args(get_args(Scorer)[0])}
"""Settings class of each kind of scorer."""


class Ablation(Settings):
    """Two rows that differ in little: what the difference does."""

    name: Name = Field(description="Claim or question that the comparison decides.")
    base: RowText = Field(description="Row with the feature, such as padir/padir/T4.")
    variant: RowText = Field(description="Row without it, or with it changed.")
    helps: bool = Field(
        default=True,
        description="Whether the claim is that base is better, or else within 1 BLEU.",
    )


class ChainSampler(Settings):
    """k-Gibbs chains over translations, in the trained conditionals. Paper: 2.3, 2.4, slides."""

    training: Name = Field(description="Training of a parallel system; its first seed.")
    chains: int = Field(default=4, ge=1, le=1_000_000, description="Chains per sentence.")
    steps: int = Field(default=100, ge=1, le=1_000_000_000, description="Steps per chain.")
    block: int = Field(default=1, ge=1, le=1_000_000, description="Tokens drawn per step (k).")
    temperature: float = Field(default=1.0, gt=0, description="At the first step.")
    final_temperature: float = Field(
        default=1.0, gt=0, description="At the last step, linear between."
    )
    metropolis: bool = Field(
        default=False, description="Whether moves are accepted or refused by Metropolis-Hastings."
    )
    energy_every: int = Field(
        default=10,
        ge=1,
        le=1_000_000_000,
        description="Steps between energies; with `metropolis` every step.",
    )


class Analysis(Settings):
    """Dependence between target positions (paper: 3.4, tables 4 and 5)."""

    rows: list[RowText] | None = Field(
        default=None,
        description="Parallel trainings and their decoders, such as padir/padir/T1, each with its"
        " first seed; the passes looked at are those of `passes`. null: the parallel trainings of"
        " `core`, each with its first decoder there.",
    )
    passes: list[Passes] = Field(
        default=[1, 2, 4],
        min_length=1,
        description="Decoder passes looked at; the claims are about the first.",
    )
    sentences: int = Field(
        default=500, ge=2, le=1_000_000_000, description="Evenly spread over the split."
    )
    distance: int = Field(
        default=8, ge=1, le=1_000_000, description="Largest distance of a pair, in pieces."
    )
    alternatives: int = Field(
        default=4,
        ge=2,
        le=10_000,
        description="Likeliest tokens that the probe tries at a position.",
    )


class Evaluation(Settings):
    """What is scored, and how sure we are of it."""

    split: Literal["valid", "test"] = Field(default="test", description="Split that tables report.")
    bootstrap_samples: int = Field(
        default=1000, ge=100, le=1_000_000, description="Resamples for intervals and tests."
    )
    baseline: RowText | None = Field(
        default=None,
        description="AR row that paired tests compare with; null: the last AR row of the first AR"
        " training of `core`.",
    )
    candidate: RowText | None = Field(
        default=None,
        description="PaDIR row that the claims speak of; null: the first PaDIR training of `core`"
        f" on distilled targets, with up to {DEFAULT_PASSES} passes.",
    )
    core: list[Rows] | None = Field(
        default=None,
        description="Rows of table 1, the figures and most claims; null: every training, AR with"
        " greedy and beam, parallel systems with their decoder and T = 1, 2, 4, 8 and 10.",
    )
    systems: list[Rows] | None = Field(
        default=None, description="Rows of table 2, trained at like cost; null: those of `core`."
    )
    dependency: list[Rows] = Field(
        default_factory=list,
        description="Rows of table `dependency_decoding`, each compared with the same training"
        " under its system's decoder.",
    )
    ablations: list[Ablation] = Field(
        default_factory=list, description="Comparisons of table `ablations`."
    )
    samplers: dict[Name, ChainSampler] = Field(
        default_factory=dict, description="Rows of table `samplers`, by name."
    )
    scorers: dict[Name, Scorer] = Field(
        default_factory=dict,
        description="Further scorers of table 3, by name; each runs in a process of its own.",
    )
    analysis: Analysis = Analysis()
    latency_sentences: int = Field(
        default=200, ge=10, le=1_000_000, description="Sentences timed at batch 1."
    )
    latency_repeats: int = Field(
        default=3, ge=1, le=10_000, description="Timings per sentence; the median counts."
    )
