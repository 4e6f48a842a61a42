"""Settings of the training objective: what is hidden, what the model is asked, how it counts."""

from typing import Literal

from pydantic import Field, model_validator

from padir.config.base import Settings


class Objective(Settings):
    """What training asks of the model. Paper: L.1.2, equation L.64 and multi-stage training."""

    stages: int = Field(
        default=2, ge=1, le=4, description="Training stages (S); AR models use one pass."
    )
    corruption: Literal["random", "mask", "position_mask", "mixed"] = Field(
        default="random",
        description="What stands at hidden positions of stage 1: random pieces, the mask token, a"
        " mask token of each position's own, or per sentence either random pieces or the mask.",
    )
    hiding: Literal["rate", "uniform_rate", "uniform_count", "time", "context"] = Field(
        default="rate",
        description="Which target tokens are hidden at stage 1. rate: each one, but for"
        " `unmasking_rate`; uniform_rate: each one at a rate drawn per sentence (SUNDAE);"
        " uniform_count: 1 to all of them, the number drawn uniformly (CMLM); time: each one at a"
        " drawn share of `diffusion_steps` (RDM); context: none, but every position sees a drawn"
        " subset of the others (DisCo).",
    )
    unmasking_rate: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Share of target tokens shown uncorrupted at stage 1 (hiding: rate).",
    )
    diffusion_steps: int = Field(
        default=50, ge=1, le=1_000_000, description="Times that training draws from (hiding: time)."
    )
    time_weight: Literal["none", "linear", "reciprocal"] = Field(
        default="none",
        description="Weight of a sentence's loss at time t of n: 1, 1 - (t - 1) / n, or 1 / t"
        " (hiding: time).",
    )
    coupled_times: bool = Field(
        default=False,
        description="Whether a sentence is hidden at two drawn times, the fewer tokens among the"
        " more, whose losses are averaged (hiding: time); twice the decoder's work.",
    )
    loss_on: Literal["all", "hidden", "noised"] = Field(
        default="all",
        description="Positions whose prediction counts: all, those hidden, or those whose token"
        " differs from the target; later stages count all.",
    )
    unroll: Literal["argmax", "sample"] = Field(
        default="argmax",
        description="What a later stage reads of the one before: likeliest or sampled tokens.",
    )
    hide_stutter: bool = Field(
        default=True,
        description="Between training stages, hide tokens equal to their left neighbour.",
    )
    glancing: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Target tokens shown in addition, as a share of those that a first look got"
        " wrong (Qian et al. 2021), at the start of training; 0: no first look.",
    )
    glancing_end: float = Field(
        default=0.3, ge=0, le=1, description="That share at the end of training."
    )
    critic_weight: float = Field(
        default=0.0,
        ge=0,
        description="Weight of the loss of a head that tells right predictions from wrong ones;"
        " 0: no such head.",
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

    @property
    def hidden_only(self) -> bool:
        """Whether predictions count behind mask tokens alone: those at others mean nothing."""
        masks = self.corruption in ("mask", "position_mask")
        return masks and self.loss_on != "all" and self.stages == 1

    @model_validator(mode="after")
    def _agrees(self) -> "Objective":
        if self.time_weight != "none" and self.hiding != "time":
            raise ValueError(f"time_weight {self.time_weight} needs hiding time: no time is drawn")
        if self.coupled_times and (self.hiding != "time" or self.glancing):
            raise ValueError("coupled_times needs hiding time and glancing 0")
        if self.hiding == "context" and (self.stages > 1 or self.glancing or self.loss_on != "all"):
            raise ValueError(
                "hiding context predicts every position from a context of its own:"
                " stages 1, glancing 0 and loss_on all are allowed"
            )
        return self
