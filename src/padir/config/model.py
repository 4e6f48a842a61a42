"""Settings of one model run: architecture, objective, optimizer, training, decoding.

The defaults are the paper's (sections 3.2, L.1, L.2); what the paper's text does not give is
a choice of ours and listed in docs/departures.md.
"""

from collections.abc import Callable
from operator import not_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_serializer, model_validator

from padir.config.base import Direction, Name, Settings
from padir.config.decoding import Decoding
from padir.config.objective import Objective
from padir.config.systems import SYSTEMS, with_system

# What a random key is made of.
Seed = Annotated[int, Field(ge=0, lt=2**32)]

if TYPE_CHECKING:
    SystemName = str
else:
    # A type made of data: the names are written once, in `SYSTEMS`.
    SystemName = Literal[*SYSTEMS]


class Architecture(Settings):
    """The T5-style encoder-decoder, shared by AR and PaDIR. Paper: L.2."""

    width: int = Field(default=512, ge=4, description="Embedding dimensions (E).")
    heads: int = Field(default=8, ge=1, description="Attention heads (H).")
    head_width: int = Field(default=64, ge=1, description="Dimensions per head (D).")
    encoder_layers: int = Field(default=6, ge=1, description="Encoder layers.")
    decoder_layers: int = Field(default=6, ge=1, description="Decoder layers.")
    feed_forward_width: int = Field(
        default=2048, ge=1, description="Hidden units of the feed-forward block."
    )
    activation: Literal["relu", "gelu", "gated_gelu"] = Field(
        default="relu", description="Feed-forward activation; gelu is the tanh form."
    )
    positional_attention: bool = Field(
        default=True, description="Attention by absolute position in each parallel decoder layer."
    )
    input_positions: bool = Field(
        default=False,
        description="Add a vector of its absolute position to each token that a parallel decoder"
        " reads; without, mask tokens are told apart by their distance from other tokens alone.",
    )
    disentangled: bool = Field(
        default=False,
        description="Whether decoder keys and values stay those of the bare tokens and positions,"
        " so that a position can be predicted from any subset of the others (DisCo).",
    )
    tied_output: bool = Field(
        default=True, description="Output matrix = embedding table / sqrt(width)."
    )
    extra_ids: int = Field(
        default=0, ge=0, description="Unused rows added to the embedding table (T5 keeps 100)."
    )
    table_multiple: int = Field(
        default=1,
        ge=1,
        description="The embedding table's row count is rounded up to a multiple of this.",
    )
    max_positions: int = Field(
        default=256, ge=8, description="Longest source and target, in tokens."
    )
    length_predictor: Literal["token", "pooled", "affine", "fertility", "oracle"] = Field(
        default="token",
        description="How target lengths are predicted: from an extra source token, from the mean"
        " of the encoder's vectors, as a line through the source's length, as a sum of learned"
        " fertilities, or taken from the reference (a bound, no system).",
    )
    length_classes: int = Field(
        default=128, ge=8, description="Longest predictable target, EOS included."
    )
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout rate.")
    attention_dropout: bool = Field(
        default=True, description="Whether attention weights are dropped too."
    )
    compute_dtype: Literal["float32", "bfloat16"] = Field(
        default="float32", description="Precision of activations; parameters stay float32."
    )
    # Not written while false: what was trained without it stays valid.
    rematerialise: bool = Field(
        default=False,
        exclude_if=not_,
        description="Keep only each layer's input for the backward pass and compute the rest again:"
        " less memory, about a third more work, the same result.",
    )


class Optimizer(Settings):
    """Adafactor with T5X defaults and the paper's schedule, or Adam. Paper: L.2."""

    kind: Literal["adafactor", "adam"] = Field(default="adafactor", description="Optimizer.")
    peak_learning_rate: float = Field(
        default=1e-2, gt=0, description="Learning rate after warm-up."
    )
    final_learning_rate: float = Field(
        default=1e-5, ge=0, description="Learning rate at the end of the cosine decay."
    )
    warmup_steps: int = Field(
        default=10_000, ge=0, description="Steps of the linear ramp from zero."
    )
    relative_steps: bool = Field(
        default=True,
        description="Scale each parameter's step by its root mean square, as Adafactor does;"
        " the embeddings, which start at N(0, 1), learn too slowly under Adam without.",
    )
    adam_b1: float = Field(default=0.9, ge=0, lt=1, description="Adam's decay of the mean.")
    adam_b2: float = Field(default=0.98, ge=0, lt=1, description="Adam's decay of the square.")
    weight_decay: float = Field(
        default=0.0, ge=0, description="Decoupled weight decay (Adam only)."
    )
    clip_norm: float = Field(
        default=0.0,
        ge=0,
        description="Largest gradient norm; 0: no clipping by norm (Adafactor clips updates).",
    )


class Training(Settings):
    """How long and on what. A batch is `batch_tokens` padded target tokens of one length bucket."""

    steps: int = Field(default=500_000, ge=1, description="Optimizer steps.")
    batch_tokens: int = Field(
        default=262_144, ge=8, description="Padded target tokens per step, over all devices."
    )
    buckets: list[int] = Field(
        default=[16, 32, 64, 128],
        min_length=1,
        description="Padded lengths; a pair goes to the first that holds both sides, EOS included.",
    )
    warm_start: Name | None = Field(
        default=None,
        description="AR model whose trained encoder and embeddings training starts from (its first"
        " seed); null: all parameters start fresh. Reports and model cards say so.",
    )
    accumulate: int = Field(default=1, ge=1, description="Micro-batches per step.")
    # Not written while false: what was trained without it stays valid.
    shard_parameters: bool = Field(
        default=False,
        exclude_if=not_,
        description="Deal parameters and optimizer state out to the devices instead of copying them"
        " to each: less memory, more communication, the same result.",
    )
    dispatch_steps: int = Field(
        default=8, ge=1, description="Most steps per call of the compiled loop."
    )
    validate_every: int = Field(default=1_000, ge=1, description="Steps between validations.")
    checkpoint_every: int = Field(default=1_000, ge=1, description="Steps between checkpoints.")
    selection: Literal["last", "best", "average"] = Field(
        default="best",
        description="Which parameters are kept: last, best by validation loss, or the mean"
        " of the `average_count` best.",
    )
    average_count: int = Field(
        default=5, ge=1, description="Checkpoints averaged when selection is average."
    )

    @model_validator(mode="after")
    def _buckets_rise(self) -> "Training":
        if list(self.buckets) != sorted(set(self.buckets)) or self.buckets[0] < 2:
            raise ValueError(f"buckets {self.buckets} must rise and start at 2 or more")
        return self


class ModelRun(Settings):
    """Everything that one model reads."""

    system: SystemName = Field(
        default="padir",
        description="Autoregressive, PaDIR, or another parallel system: its settings, as below,"
        " hold where the model gives none of its own.",
    )
    targets: Name = Field(
        default="raw",
        description="Training targets: raw, or the name of an entry under `teachers`.",
    )
    vocabulary: Name | None = Field(
        default=None,
        description="Entry of `vocabularies` that every dataset must have; null: its own.",
    )
    seeds: list[Seed] = Field(default=[0], min_length=1, description="Seeds to train with.")
    decode: list[str] = Field(
        default=["T1", "T2", "T4", "T8", "T10"],
        min_length=1,
        description="Decodings to run: T<passes> for parallel systems; greedy or beam for AR.",
    )
    parameters: Name | None = Field(
        default=None,
        description="Model whose trained parameters are used: only `decode` and `decoding` differ.",
    )
    architecture: Architecture = Architecture()
    objective: Objective = Objective()
    optimizer: Optimizer = Optimizer()
    training: Training = Training()
    decoding: Decoding = Decoding()

    @model_validator(mode="before")
    @classmethod
    def _of_its_system(cls, given: Any) -> Any:
        return with_system(given) if isinstance(given, dict) else given

    @property
    def parallel(self) -> bool:
        """Whether all positions are predicted at once: every system but AR."""
        return self.system != "ar"

    @model_validator(mode="after")
    def _fits(self) -> "ModelRun":
        for key, values in (("seeds", self.seeds), ("decode", self.decode)):
            if len(set(values)) < len(values):
                raise ValueError(f"{key} {list(values)} names one twice")
        allowed = (
            (lambda d: d in {f"T{passes}" for passes in range(1, 101)})
            if self.parallel
            else (lambda d: d in ("greedy", "beam"))
        )
        for decoding in self.decode:
            if not allowed(decoding):
                choices = "T1 to T100" if self.parallel else "greedy, beam"
                raise ValueError(
                    f"decode entry {decoding!r} does not fit system {self.system}:"
                    f" allowed {choices}"
                )
        self._check_system()
        if self.training.buckets[-1] > self.architecture.max_positions:
            raise ValueError(
                f"training.buckets ends at {self.training.buckets[-1]}, above"
                f" architecture.max_positions {self.architecture.max_positions}"
            )
        if self.optimizer.warmup_steps >= self.training.steps:
            raise ValueError(
                f"optimizer.warmup_steps {self.optimizer.warmup_steps} must be below"
                f" training.steps {self.training.steps}"
            )
        return self

    def _check_system(self) -> None:
        """Refuse choices that do not go together.

        Raises:
            ValueError: naming both.
        """
        if self.architecture.disentangled and self.architecture.input_positions:
            raise ValueError(
                "architecture.input_positions true does not fit disentangled true, which has"
                " positions of its own"
            )
        disentangled, hiding = self.architecture.disentangled, self.objective.hiding
        if disentangled != (hiding == "context") or disentangled != (
            self.decoding.context == "easy_first"
        ):
            raise ValueError(
                f"architecture.disentangled {disentangled}, objective.hiding {hiding} and"
                f" decoding.context {self.decoding.context} do not go together: a disentangled"
                " decoder needs hiding context and context easy_first, any other neither"
            )
        trained = {self.objective.corruption}
        if "mixed" in trained:
            trained = {"random", "mask"}
        read = {self.decoding.start}
        if self.decoding.remask != "none" and self.decoding.replacement == "mask":
            read.add("mask")
        if self.parallel and not disentangled and not read <= trained:
            raise ValueError(
                f"decoding starts from or hides behind {', '.join(sorted(read - trained))}, but"
                f" objective.corruption {self.objective.corruption} never trains that: start and"
                f" replacement may use {', '.join(sorted(trained))}"
            )
        if self.decoding.reranker is not None and not self.parallel:
            raise ValueError(
                f"decoding.reranker {self.decoding.reranker!r} ranks candidates of a parallel"
                f" model: a model of system {self.system} has none to rank"
            )
        if self.decoding.remask == "critic" and self.decoding.update != "all":
            raise ValueError(
                f"decoding.update {self.decoding.update} keeps tokens that the critic has not"
                " judged: remask critic needs update all"
            )
        if self.decoding.remask == "critic" and not self.objective.critic_weight:
            raise ValueError("decoding.remask critic needs objective.critic_weight above 0")
        own = "position_mask"
        if own in (self.objective.corruption, self.decoding.start) and (
            self.architecture.extra_ids < self.architecture.max_positions
        ):
            raise ValueError(
                f"position_mask needs a table row for each position: architecture.extra_ids is"
                f" {self.architecture.extra_ids}, at least {self.architecture.max_positions}"
                " (max_positions) are needed"
            )


class RunSpec(Settings):
    """What `spec.json` holds: one model on one dataset in one direction."""

    dataset: Name
    direction: Direction
    model: Name
    run: ModelRun

    @model_serializer(mode="wrap")
    def _without_own_vocabulary(self, write: Callable[["RunSpec"], Any]) -> dict[str, Any]:
        """The dataset's own vocabulary is not written: specs from before there were others, and
        what was trained by them, stay valid."""
        written = write(self)
        if "run" in written and self.run.vocabulary is None:
            written["run"] = {k: v for k, v in written["run"].items() if k != "vocabulary"}
        return written

    def training_part(self) -> dict[str, object]:
        """What training depends on, as JSON data: a change of the rest keeps a finished run."""
        only_later = {"seeds", "decode", "decoding", "parameters"}
        return self.model_dump(mode="json", exclude={"run": only_later})
