"""Settings of the evaluation: rows, scores, latency, ablations, samplers and analysis."""

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from padir.config.base import FilePath, Name, Settings
from padir.config.decoder import LARGEST_TEMPERATURE, SMALLEST_TEMPERATURE
from padir.config.rows import DEFAULT_PASSES, Passes, Rows, RowText


class BleurtScorer(Settings):
    """BLEURT, from a checkpoint of BLEURT-20's format; needs TensorFlow."""

    counts: ClassVar[str] = "padir.score.bleurt:checkpoint_counts"
    kind: Literal["bleurt"] = "bleurt"
    checkpoint: FilePath = Field(min_length=1)
    """Folder of the unpacked checkpoint; without it, tables say `not run`."""


class ChrfWordsScorer(Settings):
    """chrF++: chrF with word unigrams and bigrams."""

    counts: ClassVar[str] = "padir.score.bleu:chrf_words_counts"
    kind: Literal["chrf++"] = "chrf++"


# `counts` of each class is the function that `padir rate` calls with hypotheses and references, and
# where the class has a `checkpoint` also with its folder and the number of threads.
Scorer = Annotated[BleurtScorer | ChrfWordsScorer, Field(discriminator="kind")]
SCORERS = {scorer.model_fields["kind"].default: scorer for scorer in get_args(get_args(Scorer)[0])}
"""Settings class of each kind of scorer."""


class Ablation(Settings):
    """Two rows that differ in few settings, compared over seeds."""

    name: Name = Field(description="Name of the claim or question that the comparison is about.")
    base: RowText = Field(description="Row with the feature, such as padir/padir/T4.")
    variant: RowText = Field(description="Row without the feature, or with it changed.")
    helps: bool = True
    """What the claim says. true: base is better than variant; false: the two are within 1 BLEU."""


class ChainSampler(Settings):
    """k-Gibbs chains over translations, from a model's conditionals. Paper: 2.4, slides."""

    training: Name
    """Training of a parallel system; the model of its first seed is sampled."""
    chains: int = Field(default=4, ge=1, le=1_000_000, description="Chains per sentence.")
    steps: int = Field(default=100, ge=1, le=1_000_000_000, description="Steps per chain.")
    block: int = Field(default=1, ge=1, le=1_000_000, description="Tokens drawn per step (k).")
    temperature: float = Field(default=1.0, ge=SMALLEST_TEMPERATURE, le=LARGEST_TEMPERATURE)
    """Sampling temperature at the first step."""
    final_temperature: float = Field(default=1.0, ge=SMALLEST_TEMPERATURE, le=LARGEST_TEMPERATURE)
    """Sampling temperature at the last step; linear between."""
    metropolis: bool = False
    """Whether moves are accepted or refused by Metropolis-Hastings."""
    energy_every: int = Field(default=10, ge=1, le=1_000_000_000)
    """Steps between measurements of the energy; with `metropolis` every step."""


class Analysis(Settings):
    """Dependence between target positions (paper: 3.4, tables 4 and 5)."""

    rows: list[RowText] | None = None
    """Rows of parallel trainings that are analysed, such as padir/padir/T1; their T is ignored in
    favour of `passes`. null: each parallel training of `core` with its first decoder there."""
    seeds: Literal["first", "all"] = "first"
    """Seeds of each training that are analysed."""
    passes: list[Passes] = Field(default=[1, 2, 4], min_length=1)
    """Decoder passes that are analysed; the claims are about the first of them."""
    sentences: int = Field(default=500, ge=2, le=1_000_000_000)
    """Sentences analysed, evenly spread over the split."""
    distance: int = Field(default=8, ge=1, le=1_000_000)
    """Largest distance of a pair of target positions, in pieces."""
    alternatives: int = Field(default=4, ge=2, le=10_000)
    """Likeliest tokens that the probe substitutes at a position."""


class Evaluation(Settings):
    """Rows of the report, and how they are scored, timed and compared."""

    split: Literal["valid", "test"] = "test"
    """Split that is decoded and scored."""
    bootstrap_samples: int = Field(default=1000, ge=100, le=1_000_000)
    """Bootstrap resamples for intervals and paired tests."""
    baseline: RowText | None = None
    """AR row that paired tests compare with; null: the last AR row of the first AR training of
    `core`."""
    candidate: RowText | None = Field(
        default=None,
        description="PaDIR row that the claims are about; null: the first PaDIR training of `core`"
        f" on distilled targets, with up to {DEFAULT_PASSES} passes.",
    )
    core: list[Rows] | None = None
    """Rows of table 1, the figures and most claims; null: every training, AR with greedy and beam,
    parallel systems with their own decoder and T = 1, 2, 4, 8, 10."""
    systems: list[Rows] | None = None
    """Rows of table 2, which compares systems trained at similar cost; null: those of `core`."""
    dependency: list[Rows] = Field(default_factory=list)
    """Rows of table `dependency_decoding`, each compared with the same training under its system's
    decoder."""
    ablations: list[Ablation] = Field(default_factory=list)
    """Pairs of rows that table `ablations` compares."""
    samplers: dict[Name, ChainSampler] = Field(default_factory=dict)
    """k-Gibbs samplers of table `samplers`, by name."""
    scorers: dict[Name, Scorer] = Field(default_factory=dict)
    """Scorers of table 3 besides BLEU, by name; each runs in its own process."""
    analysis: Analysis = Analysis()
    latency_sentences: int = Field(default=200, ge=10, le=1_000_000)
    """Sentences translated at batch size 1 to measure latency; a claim on the 99th percentile can
    only be reproduced with 1,000 or more."""
    latency_repeats: int = Field(default=3, ge=1, le=10_000)
    """Latency measurements per sentence; their median is used."""
