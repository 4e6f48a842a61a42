"""Settings of the training objective: corruption, prediction targets and loss weights."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from padir.config.base import Settings, added, policy_names

if TYPE_CHECKING:
    CorruptionName = str
    HidingName = str
else:
    # Each name is written once, beside its policy.
    _POLICIES = policy_names("training/corruption.py")
    CorruptionName, HidingName = Literal[*_POLICIES["FILLERS"]], Literal[*_POLICIES["HIDING"]]


class Objective(Settings):
    """The training objective. Paper: L.1.2, equation L.64 and multi-stage training."""

    stages: int = Field(default=2, ge=1, le=4)
    """Decoder passes per training step (S), each later one reading the predictions of the one
    before; AR models use one."""
    corruption: CorruptionName = "random"
    """Tokens at the hidden positions of stage 1. random: random pieces; mask: the mask token;
    position_mask: a mask token for each position; mixed: random pieces or the mask token, drawn per
    sentence."""
    hiding: HidingName = "rate"
    """Which target tokens are hidden at stage 1. rate: each with probability 1 - `unmasking_rate`;
    uniform_rate: each with a probability drawn per sentence (SUNDAE); uniform_count: a number of
    them, drawn uniformly from 1 to all (CMLM); time: each with probability t / `diffusion_steps`, t
    drawn per sentence (RDM); context: none, but each position sees a random subset of the others
    (DisCo)."""
    unmasking_rate: float = Field(default=0.1, ge=0, le=1)
    """Expected share of target tokens shown uncorrupted at stage 1 (hiding: rate)."""
    diffusion_steps: int = Field(default=50, ge=1, le=1_000_000)
    """Number n of diffusion times that training draws t from (hiding: time)."""
    time_weight: Literal["none", "linear", "reciprocal"] = "none"
    """Weight of a sentence's loss at diffusion time t of n. none: 1; linear: 1 - (t - 1) / n;
    reciprocal: 1 / t, which is MDLM's n / t divided by n. The loss of the length predictor keeps
    its own weight (hiding: time)."""
    coupled_times: bool = False
    """Whether each sentence is corrupted at two drawn times, the tokens hidden at the earlier one
    being among those of the later one, and the losses averaged (hiding: time); doubles the
    decoder's work."""
    loss_on: Literal["all", "hidden", "noised"] = "all"
    """Positions in the loss of stage 1. all: every position; hidden: hidden positions; noised:
    positions whose token differs from the target. Later stages: all."""
    unroll: Literal["argmax", "sample"] = "argmax"
    """Predictions of a stage that the next one reads. argmax: the likeliest tokens; sample: sampled
    tokens."""
    consistency: float = added(0.0, ge=0)
    """Weight of the consistency loss: the KL divergence of the first stage's prediction from the
    last stage's, through which no gradient flows, at the positions in the loss of stage 1, added
    before the mean over stages; 0: none."""
    hide_stutter: bool = True
    """Whether later stages read, instead of a predicted token equal to its left neighbour, what
    stage 1 read there: a random piece or mask, or the target token where it was visible."""
    glancing: float = Field(default=0.0, ge=0, le=1)
    """Glancing (Qian et al. 2021): hidden tokens revealed, as a share of the hidden tokens that a
    first pass predicts wrongly, at the start of training; 0: no glancing."""
    glancing_end: float = Field(default=0.3, ge=0, le=1)
    """Glancing share at the end of training; linear between (with `glancing`)."""
    critic_weight: float = Field(default=0.0, ge=0)
    """Weight of the loss of the critic, a head that estimates whether a predicted token is right;
    0: no critic."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Label smoothing: target mass spread over other tokens."""
    length_loss_weight: float = Field(default=0.1, ge=0)
    """Weight of the length predictor's loss, per sentence, in the total loss."""
    z_loss: float = Field(default=0.0, ge=0)
    """Weight of the z-loss: squared logsumexp of the logits, per token."""

    @property
    def trained_starts(self) -> set[str]:
        """Tokens at hidden positions, by their names as starts of decoding, that training shows."""
        return {"random", "mask"} if self.corruption == "mixed" else {self.corruption}

    @property
    def follows_progress(self) -> bool:
        """Whether the loss changes with the share of training steps done."""
        return self.glancing > 0

    @property
    def hidden_only(self) -> bool:
        """Whether only masked positions are trained: predictions elsewhere are meaningless."""
        # A random piece may be the target's: such a model learns to predict at every position.
        masks = self.corruption not in ("random", "mixed")
        return masks and self.loss_on != "all" and self.stages == 1

    @model_validator(mode="after")
    def _agrees(self) -> "Objective":
        if self.time_weight != "none" and self.hiding != "time":
            raise ValueError(f"time_weight {self.time_weight} needs hiding time: no time is drawn")
        if self.coupled_times and (self.hiding != "time" or self.glancing):
            raise ValueError("coupled_times needs hiding time and glancing 0")
        if self.consistency and self.stages < 2:
            raise ValueError("consistency needs 2 stages or more: one stage has no later one")
        if self.hiding == "context" and (self.stages > 1 or self.glancing or self.loss_on != "all"):
            raise ValueError(
                "hiding context predicts every position from a context of its own:"
                " stages 1, glancing 0 and loss_on all are allowed"
            )
        return self
