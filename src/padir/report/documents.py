"""Shapes of scores, times, metrics, statistics, cards and sentences, as the report reads them."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from padir.report.checked import Count, Number, Numbers, Shape, Time, equally_long


class Share(Shape):
    """A share of sentences, and its interval."""

    share: Number
    low: Number | None = None
    high: Number | None = None


class Per100(Shape):
    """A rate."""

    per_100: Number


class Rates(Per100):
    """Rates of stutter."""

    reference_per_100: Number | None = None
    excess_per_100: Number | None = None
    excess_low: Number | None = None
    excess_high: Number | None = None
    sentences_share: Number | None = None


class CorpusScore(Shape):
    """A score with the signature of its scorer."""

    score: Number
    signature: str


class Bleu(CorpusScore):
    """BLEU with its interval."""

    low: Number
    high: Number
    paper_signature: str


Runs = dict[Annotated[str, Field(pattern="^([2-9]|[1-9][0-9]{1,8})$")], Count]


class Stutter(Shape):
    """Stutter before and after the final drop of repeats, and lengths of runs."""

    unit: str
    words: Rates
    words_before_drop: Rates | None
    tokens: Rates | None = None
    tokens_before_drop: Rates | None = None
    run_lengths: Runs
    run_lengths_before_drop: Runs | None

    @model_validator(mode="after")
    def _both_before_drop(self) -> "Stutter":
        if self.words_before_drop is not None and self.run_lengths_before_drop is None:
            raise ValueError("words_before_drop is there, run_lengths_before_drop is not")
        return self


class Redundancy(Shape):
    """Redundancy by kind, and dropped words."""

    related: str
    words: dict[str, Per100] | None = None
    words_before_drop: dict[str, Per100] | None = None
    length_ratio: Number | None = None
    dropped: Per100 | None = None


class Replicates(Shape):
    """Scores on each bootstrap resample."""

    samples: Annotated[int, Field(ge=1)]
    seed: int

    @model_validator(mode="after")
    def _one_each(self) -> "Replicates":
        equally_long(dict(self) | {"samples": None, "seed": None}, self.samples)
        return self


class ScoreReplicates(Replicates):
    """Those of a score."""

    bleu: Numbers
    stutter: Numbers
    stutter_before_drop: Numbers | None = None
    validity: Numbers | None = None
    dropped: Numbers | None = None
    decoder_passes: Numbers | None = None


class Paired(Shape):
    """Comparison with the baseline."""

    p_value: Number


class Score(Shape):
    """Document of `padir score`."""

    sentences: Count
    test_digest: str
    bleu: Bleu
    chrf: CorpusScore
    paired: Paired | None = None
    stutter: Stutter
    redundancy: Redundancy | None = None
    validity: Share | None = None
    decoder_passes: Number | None = None
    replicates: ScoreReplicates

    @model_validator(mode="after")
    def _resampled_before_drop(self) -> "Score":
        if self.stutter.words_before_drop and self.replicates.stutter_before_drop is None:
            raise ValueError("key replicates.stutter_before_drop is missing or null")
        return self


class RatingReplicates(Replicates):
    """Those of a rating."""

    score: Numbers


class Rated(Shape):
    """Document of `padir rate` where the scorer ran."""

    score: Number
    signature: str
    test_digest: str
    replicates: RatingReplicates


class NotRated(Shape):
    """Document of `padir rate` where the scorer did not run."""

    reason: str


# Times, training and data.


class TimedRow(Shape):
    """A row of a timing run."""

    training: str
    decoder: str
    passes: Count | None
    digests: dict[str, Any] | None = None
    p50_ms: Time
    p90_ms: Time
    p99_ms: Time
    passes_mean: Number
    mean_ms: Number | None = None
    tokens_mean: Number | None = None
    compile_s: Number | None = None
    times_ms: Annotated[list[Time], Field(min_length=1)]


class Latency(Shape):
    """Document of `padir latency`."""

    machine: dict[str, Any]
    rows: list[TimedRow]

    @model_validator(mode="after")
    def _same_sentences(self) -> "Latency":
        if len({len(row.times_ms) for row in self.rows}) > 1:
            raise ValueError("key rows: times_ms is not equally long in all rows")
        return self


class Metrics(Shape):
    """A line of metrics.jsonl."""

    step: Count = 0
    seconds: Number | None = None
    cpu_seconds: Number | None = None
    valid_loss: Number | None = None
    valid_accuracy: Number | None = None


class Git(Shape):
    """Version of the code."""

    commit: str | None = None


class Provenance(Shape):
    """Provenance of a file."""

    digests: dict[str, Any] | None = None
    git: Git | None = None
    devices: list[str] | None = None


class Lines(Shape):
    """Numbers of lines of the splits that a teacher translates."""

    train: Count
    valid: Count


class ExtraSources(Shape):
    """Monolingual text that a teacher translated too."""

    lines: Count
    dropped: dict[str, Count]
    language: str
    file: str
    sha256: str


class DistillCard(Shape):
    """Card of distilled targets."""

    teacher: str
    row: str
    lines: Lines
    sha256: str
    teacher_bleu: CorpusScore
    agreement_with_raw: CorpusScore
    validity: Share | None
    extra_sources: ExtraSources | None = None
    empty: Lines


class Dropped(Shape):
    """Pairs dropped for a reason."""

    pairs: Count


class Side(Shape):
    """One file of a split."""

    file: str
    length_mean: Number
    length_unit: str


class Split(Shape):
    """Counts of one split."""

    pairs_read: Count
    pairs_kept: Count
    dropped: dict[str, Dropped] = Field(default_factory=dict)
    files: list[Side]


class Statistics(Shape):
    """Statistics of a cleaned dataset."""

    splits: dict[str, Split]


# Sentences.


class Chain(Shape):
    """One Gibbs chain."""

    acceptance: Number
    energies: Numbers
    energy: Number
    best_energy: Number


class Chains(Shape):
    """A line of `padir sample`."""

    chains: list[Chain]


class State(Shape):
    """A hypothesis after a pass."""

    tokens: list[str]
    hidden: list[Count] | None = None
    confidence: list[Number] | None = None
    attended: list[Count] | None = None


class LengthCandidate(Shape):
    """One length candidate of a trace."""

    length: Count
    length_log_probability: Number
    log_probability: Number
    score: Number
    passes: Count
    states: Annotated[list[State], Field(min_length=1)]


class Trace(Shape):
    """A line of `padir trace`."""

    decoder: str
    passes: Count | None
    id: Count
    source: str
    hypothesis: str
    reference: str | None = None
    source_pieces: list[str]
    chosen: Count | None = None
    candidates: list[LengthCandidate]

    @model_validator(mode="after")
    def _chosen_is_there(self) -> "Trace":
        if self.candidates and not (self.chosen or 0) < len(self.candidates):
            raise ValueError(f"key chosen: found {self.chosen} of {len(self.candidates)}")
        return self
