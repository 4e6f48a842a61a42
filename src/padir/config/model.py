"""Settings of one model run: architecture, objective, optimizer, training, decoding.

The defaults are the paper's (sections 3.2, L.1, L.2); what the paper's text does not give is
a choice of ours and listed in docs/departures.md.
"""

from typing import Literal

from pydantic import Field, NonNegativeInt, model_validator

from padir.config.base import Direction, Name, Settings


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
    length_predictor: Literal["token"] = Field(
        default="token",
        description="How target lengths are predicted; token: an extra source token.",
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


class Objective(Settings):
    """What training asks of the model. Paper: L.1.2, equation L.64 and multi-stage training."""

    stages: int = Field(
        default=2, ge=1, le=4, description="Training stages (S); AR models use one pass."
    )
    unmasking_rate: float = Field(
        default=0.1, ge=0, le=1, description="Share of target tokens shown uncorrupted at stage 1."
    )
    label_smoothing: float = Field(
        default=0.0, ge=0, lt=1, description="Mass spread over other tokens."
    )
    length_loss_weight: float = Field(
        default=0.1,
        ge=0,
        description="Weight of the length loss, per sentence, beside the token loss.",
    )
    z_loss: float = Field(default=0.0, ge=0, description="Weight of logsumexp squared, per token.")


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
    accumulate: int = Field(default=1, ge=1, description="Micro-batches per step.")
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


class Decoding(Settings):
    """How hypotheses are made. Paper: 3.2, L.1.1, L.2."""

    length_candidates: int = Field(
        default=5, ge=1, description="Target lengths tried per sentence (PaDIR)."
    )
    start: Literal["random"] = Field(default="random", description="Initial hypothesis (PaDIR).")
    remask_stutter: bool = Field(
        default=True,
        description="Between passes, and between training stages, hide tokens equal to their left"
        " neighbour (PaDIR).",
    )
    drop_repeats: Literal["none", "words", "tokens"] = Field(
        default="words",
        description="What the final drop removes from the last hypothesis: nothing, repeated words,"
        " or repeated tokens (PaDIR). Repeats that the source has too are kept.",
    )
    tuning_passes: int = Field(
        default=4,
        ge=1,
        le=100,
        description="Decoder passes (T) with which validation chooses the length rule (PaDIR).",
    )
    length_alphas: list[float] = Field(
        default=[0.0, 0.6, 1.0, 1.5],
        min_length=1,
        description="Length penalties that validation chooses from: score = log-probability /"
        " ((5 + length) / 6) ** alpha.",
    )
    length_weights: list[float] = Field(
        default=[0.0, 1.0],
        min_length=1,
        description="Weights of the length's log-probability that validation chooses from (PaDIR).",
    )
    beam: int = Field(default=5, ge=1, description="Beam width (AR).")
    batch_sentences: int = Field(default=64, ge=1, description="Sentences decoded together.")


class ModelRun(Settings):
    """Everything that one model reads."""

    system: Literal["ar", "padir"] = Field(default="padir", description="Autoregressive or PaDIR.")
    targets: Name = Field(
        default="raw",
        description="Training targets: raw, or the name of an entry under `teachers`.",
    )
    seeds: list[NonNegativeInt] = Field(
        default=[0], min_length=1, description="Seeds to train with."
    )
    decode: list[str] = Field(
        default=["T1", "T2", "T4", "T8", "T10"],
        min_length=1,
        description="Decodings to run: T<passes> for PaDIR; greedy or beam for AR.",
    )
    architecture: Architecture = Architecture()
    objective: Objective = Objective()
    optimizer: Optimizer = Optimizer()
    training: Training = Training()
    decoding: Decoding = Decoding()

    @model_validator(mode="after")
    def _fits(self) -> "ModelRun":
        allowed = (
            (lambda d: d in ("greedy", "beam"))
            if self.system == "ar"
            else (lambda d: d in {f"T{passes}" for passes in range(1, 101)})
        )
        for decoding in self.decode:
            if not allowed(decoding):
                choices = "greedy, beam" if self.system == "ar" else "T1 to T100"
                raise ValueError(
                    f"decode entry {decoding!r} does not fit system {self.system}:"
                    f" allowed {choices}"
                )
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


class RunSpec(Settings):
    """What `spec.json` holds: one model on one dataset in one direction."""

    dataset: Name
    direction: Direction
    model: Name
    run: ModelRun

    def training_part(self) -> dict[str, object]:
        """What training depends on, as JSON data: a change of the rest keeps a finished run."""
        only_later = {"seeds", "decode", "decoding"}
        part = self.model_dump(mode="json", exclude={"run": only_later})
        if self.run.system == "padir" and not self.run.decoding.remask_stutter:
            # Later training stages read hypotheses as decoding passes do.
            part["remask_stutter"] = False
        return part
