"""Settings of one training: targets, architecture, objective, optimizer, batches and steps.

The defaults are the paper's (sections 3.2, L.1, L.2); what the paper's text does not give is
a choice of ours and listed in docs/departures.md.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from padir.config.base import Direction, Name, Seed, Settings, added
from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.objective import Objective
from padir.config.systems import AUTOREGRESSIVE, SYSTEMS, training_preset
from padir.files import digest

if TYPE_CHECKING:
    SystemName = str
else:
    # A type made of data: the names are written once, in `SYSTEMS`.
    SystemName = Literal[*SYSTEMS]


class Architecture(Settings):
    """The T5-style encoder-decoder, shared by AR and PaDIR. Paper: L.2."""

    width: int = Field(default=512, ge=4, le=65_536, description="Embedding dimensions (E).")
    heads: int = Field(default=8, ge=1, le=65_536, description="Attention heads (H).")
    head_width: int = Field(default=64, ge=1, le=65_536)
    """Dimensions per attention head (D)."""
    encoder_layers: int = Field(default=6, ge=1, le=1_000, description="Encoder layers.")
    decoder_layers: int = Field(default=6, ge=1, le=1_000, description="Decoder layers.")
    feed_forward_width: int = Field(default=2048, ge=1, le=1_000_000)
    """Hidden units of the feed-forward block."""
    activation: Literal["relu", "gelu", "gated_gelu"] = "relu"
    """Feed-forward activation; gelu is the tanh form."""
    positional_attention: bool = True
    """Whether each layer of a parallel decoder attends by absolute position too."""
    input_positions: bool = False
    """Whether a position embedding is added to each input token of a parallel decoder; without it,
    mask tokens differ only in their distance to other tokens."""
    disentangled: bool = False
    """Whether keys and values of decoder self-attention are computed from the input embeddings in
    every layer, so that a position can be predicted from any subset of the others (DisCo)."""
    tied_output: bool = True
    """Whether the output matrix is the embedding table, divided by sqrt(width)."""
    extra_ids: int = Field(default=0, ge=0, le=10_000_000)
    """Unused rows added to the embedding table (T5 keeps 100)."""
    table_multiple: int = Field(default=1, ge=1, le=1_000_000)
    """The row count of the embedding table is rounded up to a multiple of this."""
    max_positions: int = Field(default=256, ge=8, le=1_000_000)
    """Maximum length of source and target, in tokens."""
    length_predictor: Literal["token", "pooled", "affine", "fertility", "oracle"] = "token"
    """Target length predictor. token: reads an extra source token; pooled: reads the mean of the
    encoder's output; affine: a linear function of the source length; fertility: a sum of learned
    fertilities; oracle: the length of the reference, as an upper bound."""
    length_classes: int = Field(default=128, ge=8, le=1_000_000)
    """Longest target length that can be predicted, EOS included. Longer targets are trained on, as
    far as `buckets` reach, but no such translation is written."""
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout rate.")
    attention_dropout: bool = True
    """Whether dropout applies to attention weights too."""
    compute_dtype: Literal["float32", "bfloat16"] = "float32"
    """Precision of activations; parameters stay float32."""
    rematerialise: bool = False
    """Recompute activations within each layer in the backward pass (gradient checkpointing): less
    memory, about a third more work, the same result."""


class Optimizer(Settings):
    """Adafactor with T5X defaults and the paper's schedule, or Adam. Paper: L.2."""

    kind: Literal["adafactor", "adam"] = Field(default="adafactor", description="Optimizer.")
    peak_learning_rate: float = Field(default=1e-2, gt=0)
    """Learning rate after warm-up."""
    final_learning_rate: float = Field(default=1e-5, ge=0)
    """Learning rate at the end of the cosine decay."""
    warmup_steps: int = Field(default=10_000, ge=0, le=1_000_000_000)
    """Warm-up steps, in which the learning rate rises linearly from 0."""
    relative_steps: bool = True
    """Scale the update of each parameter by its root mean square, as Adafactor does. Without it the
    embeddings, initialised from N(0, 1), learn too slowly under Adam."""
    adam_b1: float = Field(default=0.9, ge=0, lt=1)
    """Adam's beta 1, decay of the first moment."""
    adam_b2: float = Field(default=0.98, ge=0, lt=1)
    """Adam's beta 2, decay of the second moment."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay (Adam only)."""
    clip_norm: float = Field(default=0.0, ge=0)
    """Gradients are clipped to this norm; 0: not clipped (Adafactor clips updates)."""


class Training(Settings):
    """Length of training, batches and checkpoints. A batch holds pairs of one length bucket."""

    steps: int = Field(default=500_000, ge=1, le=1_000_000_000, description="Optimizer steps.")
    batch_tokens: int = Field(default=262_144, ge=8, le=1_000_000_000)
    """Batch size: padded target tokens per step, over all devices."""
    buckets: list[Annotated[int, Field(le=1_000_000)]] = Field(
        default=[16, 32, 64, 128], min_length=1
    )
    """Padded lengths of batches, in tokens with EOS; a pair goes to the first bucket that holds
    both of its sides."""
    warm_start: Name | None = None
    """AR training whose encoder and embeddings, of its first seed, initialise this training; null:
    random initialisation. Reports and model cards say so."""
    accumulate: int = Field(default=1, ge=1, le=1_000_000)
    """Gradient accumulation: micro-batches per step."""
    shard_parameters: bool = False
    """Shard parameters and optimizer state over the devices instead of copying them to each: less
    memory, more communication, the same result."""
    dispatch_steps: int = Field(default=8, ge=1, le=1_000_000)
    """Maximum number of steps per call of the compiled loop. Batches of one bucket come in runs of
    as many, so another number is another order of batches."""
    validate_every: int = Field(default=1_000, ge=1, le=1_000_000_000)
    """Steps between validations."""
    checkpoint_every: int = Field(default=1_000, ge=1, le=1_000_000_000)
    """Steps between checkpoints."""
    selection: Literal["last", "best", "average"] = "best"
    """Parameters of the finished model. last: those of the last step; best: those with the lowest
    validation loss; average: the mean of the `average_count` best."""
    average_count: int = Field(default=5, ge=1, le=10_000)
    """Number of checkpoints that are averaged (selection: average)."""

    @model_validator(mode="after")
    def _buckets_rise(self) -> "Training":
        if list(self.buckets) != sorted(set(self.buckets)) or self.buckets[0] < 2:
            raise ValueError(f"buckets {self.buckets} must rise and start at 2 or more")
        return self


class TrainingRun(Settings):
    """One training: system, targets, vocabulary, seeds and everything that is learnt from them."""

    system: SystemName = "padir"
    """Published system whose settings are the defaults of this training."""
    targets: Name = "raw"
    """Training targets: raw, or distilled by an entry under `teachers`."""
    vocabulary: Name | None = None
    """Name of a vocabulary that every dataset has under `vocabularies`; null: the dataset's
    `vocabulary`."""
    seeds: list[Seed] = Field(default=[0], min_length=1, description="Random seeds, one run each.")
    architecture: Architecture = Architecture()
    objective: Objective = Objective()
    optimizer: Optimizer = Optimizer()
    training: Training = Training()

    @model_validator(mode="before")
    @classmethod
    def _of_its_system(cls, given: Any) -> Any:
        return training_preset(given) if isinstance(given, dict) else given

    @property
    def parallel(self) -> bool:
        """Whether the system is parallel: every system but AR."""
        return self.system != AUTOREGRESSIVE

    @property
    def decoder_passes(self) -> int:
        """Decoder passes of a training step that have a gradient: one per stage and diffusion time;
        one of AR."""
        objective = self.objective
        return objective.stages * (1 + objective.coupled_times) if self.parallel else 1

    @property
    def first_seed(self) -> int:
        """The seed used where one model is enough: teachers, rerankers, timings and analyses."""
        return self.seeds[0]

    def check_decoder(self, name: str, decoder: SearchDecoder | RefinementDecoder) -> None:
        """Refuse a decoder that does not fit this training.

        Args:
            name: name of the decoder, for the message.
            decoder: settings of the decoder.

        Raises:
            ValueError: with what would fit.
        """
        if isinstance(decoder, SearchDecoder) or not self.parallel:
            if decoder.parallel != self.parallel:
                fitting = "a decoder of a parallel system" if self.parallel else "greedy or beam"
                raise ValueError(
                    f"decoder {name} (kind {decoder.kind}) does not fit system {self.system}:"
                    f" allowed is {fitting}"
                )
            return
        architecture, trained = self.architecture, self.objective.trained_starts
        if architecture.disentangled != (decoder.context == "easy_first"):
            raise ValueError(
                f"decoder {name} has context {decoder.context}, the training has"
                f" architecture.disentangled {str(architecture.disentangled).lower()}: a"
                " disentangled model needs context easy_first, any other context all"
            )
        read = {decoder.start}
        if decoder.remask != "none" and decoder.replacement == "mask":
            read.add("mask")
        if not architecture.disentangled and not read <= trained:
            raise ValueError(
                f"decoder {name} starts from or remasks with {', '.join(sorted(read - trained))},"
                f" but objective.corruption {self.objective.corruption} never trains that: start"
                f" and replacement may use {', '.join(sorted(trained))}"
            )
        if architecture.disentangled and decoder.remask != "none":
            raise ValueError(
                f"decoder {name} has remask {decoder.remask}, but a disentangled model reads no"
                " masked token in training: it needs remask none"
            )
        if self.objective.hidden_only and decoder.update != "hidden":
            raise ValueError(
                f"decoder {name} has update {decoder.update}, but this training predicts masked"
                f" tokens alone (objective.loss_on {self.objective.loss_on}, stages 1): it needs"
                " update hidden"
            )
        if decoder.remask == "critic" and not self.objective.critic_weight:
            raise ValueError(f"decoder {name}: remask critic needs objective.critic_weight above 0")

    @model_validator(mode="after")
    def _fits(self) -> "TrainingRun":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds {self.seeds} names a seed twice")
        architecture, objective = self.architecture, self.objective
        if architecture.disentangled and architecture.input_positions:
            raise ValueError(
                "architecture.input_positions true does not fit disentangled true, which has"
                " positions of its own"
            )
        if architecture.disentangled != (objective.hiding == "context"):
            raise ValueError(
                f"architecture.disentangled {architecture.disentangled} and objective.hiding"
                f" {objective.hiding} do not go together: a disentangled decoder needs hiding"
                " context, and only it"
            )
        rows, needed = architecture.extra_ids, architecture.max_positions
        if objective.corruption == "position_mask" and rows < needed:
            raise ValueError(
                "objective.corruption position_mask needs a table row for each position:"
                f" architecture.extra_ids is {rows}, at least {needed} (max_positions) are needed"
            )
        if self.training.buckets[-1] > architecture.max_positions:
            raise ValueError(
                f"training.buckets ends at {self.training.buckets[-1]}, above"
                f" architecture.max_positions {architecture.max_positions}"
            )
        if self.optimizer.warmup_steps >= self.training.steps:
            raise ValueError(
                f"optimizer.warmup_steps {self.optimizer.warmup_steps} must be below"
                f" training.steps {self.training.steps}: a tenth of them is usual,"
                f" {self.training.steps // 10}"
            )
        return self


class RunSpec(Settings):
    """Content of `spec.json`: one training on one dataset in one direction.

    `digests` identifies what the training depends on (see `padir.config.identity`).
    """

    dataset: Name
    direction: Direction
    training: Name
    run: TrainingRun
    extra_sources: bool = added(False)
    """Whether the targets cover the dataset's extra sources too."""
    digests: dict[str, str] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Digest of everything that the training depends on; without digests, of its settings."""
        settings = self.run.model_dump(mode="json", exclude={"seeds"})
        return self.digests.get("training") or digest(settings)
