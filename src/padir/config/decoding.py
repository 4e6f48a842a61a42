"""Settings of decoding: starts, passes, what is kept between them, and the choice at the end."""

from typing import Literal

from pydantic import Field, model_validator

from padir.config.base import Name, Settings


class Decoding(Settings):
    """How hypotheses are made. Paper: 3.2, L.1.1, L.2."""

    length_candidates: int = Field(
        default=5, ge=1, description="Target lengths tried per sentence (parallel systems)."
    )
    length_search: Literal["top", "window"] = Field(
        default="top", description="The likeliest lengths, or those around the likeliest."
    )
    restarts: int = Field(
        default=1, ge=1, description="Starts per length, with random tokens of their own."
    )
    start: Literal["random", "mask", "position_mask"] = Field(
        default="random",
        description="Initial hypothesis: random pieces, the mask token, or each position's own.",
    )
    context: Literal["all", "easy_first"] = Field(
        default="all",
        description="What a position sees of the hypothesis: all of it, or what the first pass"
        " was surer of (DisCo).",
    )
    temperature: float = Field(
        default=0.0, ge=0, description="Of sampled tokens; 0: the likeliest token."
    )
    top_k: int = Field(default=0, ge=0, description="Sample among so many tokens; 0: among all.")
    top_p: float = Field(
        default=1.0, gt=0, le=1, description="Sample among the likeliest that hold this mass."
    )
    update: Literal["all", "hidden", "share", "uncertain"] = Field(
        default="all",
        description="Positions that take a pass's prediction: all, those hidden before it, a"
        " random share, or the least certain share; the first pass fills all.",
    )
    update_share: float = Field(
        default=1.0, gt=0, le=1, description="That share (update: share, uncertain)."
    )
    rescore_kept: bool = Field(
        default=False,
        description="Whether kept tokens are judged by the latest pass's prediction at their"
        " position, likely or not to be the token kept, as in RDM.",
    )
    remask: Literal[
        "none",
        "stutter",
        "weaker_stutter",
        "coupled",
        "linear",
        "cosine",
        "constant",
        "count",
        "critic",
    ] = Field(
        default="stutter",
        description="What is hidden again between passes: nothing, tokens equal to their left"
        " neighbour, the less certain of two equal neighbours, what is less certain than every"
        " neighbour it is coupled with, the least probable in a number that falls"
        " linearly or as a cosine, a constant share or count of them, or what the model's critic"
        " says is wrong.",
    )
    coupled_by: Literal["attention", "predictions", "entropy"] = Field(
        default="attention",
        description="What couples neighbours: the overlap of their cross-attention, that of their"
        " predictions, or the smaller entropy of the two predictions, in nats (remask: coupled).",
    )
    coupling_threshold: float = Field(
        default=0.6,
        gt=0,
        description="Least coupling of neighbours that count as coupled: an overlap, at most 1, or"
        " nats (remask: coupled).",
    )
    joint: Literal["none", "neighbours", "attention"] = Field(
        default="none",
        description="How a pass's tokens are chosen: each for itself; or together, the likeliest"
        " sequence where equal tokens nearby cost `joint_cost`, or that times the overlap of their"
        " cross-attention. Sentences whose source repeats a token nearby are left alone.",
    )
    joint_reach: int = Field(
        default=1,
        ge=1,
        le=2,
        description="How far apart equal tokens cost: 1, neighbours; 2, also with one between"
        " (joint).",
    )
    joint_cost: float = Field(
        default=10.0, gt=0, le=100, description="Cost of a pair of equal tokens, in nats (joint)."
    )
    remask_share: float = Field(
        default=0.3, ge=0, le=1, description="Share hidden again (remask: constant)."
    )
    remask_count: int = Field(
        default=1, ge=1, description="Number hidden again (remask: count); all where fewer are."
    )
    replacement: Literal["start", "mask", "previous", "summed"] = Field(
        default="start",
        description="What stands at positions hidden again: their start token, the mask token, the"
        " token read by the pass before, or the likeliest by the summed logits of all passes.",
    )
    stop: Literal["fixed", "unchanged", "confidence"] = Field(
        default="unchanged",
        description="When a hypothesis is finished before the last pass: never, when the next pass"
        " would read what this one did, or when every token is surer than `stop_confidence`.",
    )
    stop_confidence: float = Field(
        default=0.9, gt=0, le=1, description="Least probability of every token (stop: confidence)."
    )
    drop_repeats: Literal["none", "words", "tokens"] = Field(
        default="words",
        description="What the final drop removes from the last hypothesis: nothing, repeated words,"
        " or repeated tokens (parallel systems). Repeats that the source has too are kept. Words"
        " of Chinese and Japanese are pieces.",
    )
    reranker: Name | None = Field(
        default=None,
        description="AR entry under `models` whose first seed ranks the candidates by its own"
        " log-probability (parallel systems); null: the model's own ranks them.",
    )
    tuning_passes: int = Field(
        default=4,
        ge=1,
        le=100,
        description="Decoder passes (T) with which validation chooses the length rule"
        " (parallel systems).",
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
        description="Weights of the length's log-probability that validation chooses from"
        " (parallel systems).",
    )
    beam: int = Field(default=5, ge=1, description="Beam width (AR).")
    batch_sentences: int = Field(
        default=64,
        ge=1,
        description="Sentences decoded together; the devices of the machine share them.",
    )

    @model_validator(mode="after")
    def _agrees(self) -> "Decoding":
        if self.joint != "none" and self.temperature > 0:
            raise ValueError(
                f"joint {self.joint} takes the likeliest tokens; with temperature"
                f" {self.temperature:g} tokens are sampled: temperature 0 or joint none are allowed"
            )
        if self.coupled_by != "entropy" and self.coupling_threshold > 1:
            raise ValueError(
                f"coupling_threshold {self.coupling_threshold:g} with coupled_by {self.coupled_by}:"
                " no overlap is above 1, allowed are 0 to 1"
            )
        blocks = self.remask == "coupled"
        if blocks and self.joint == "attention" and self.coupled_by != "attention":
            raise ValueError(
                f"joint attention and coupled_by {self.coupled_by} read different couplings of one"
                " pass: joint neighbours or coupled_by attention are allowed"
            )
        changing = {
            "temperature": self.temperature > 0,
            f"update: {self.update}": self.update != "all",
            "remask: linear": self.remask == "linear",
            "remask: cosine": self.remask == "cosine",
            "replacement: summed": self.replacement == "summed",
        }
        found = [name for name, on in changing.items() if on]
        if self.stop == "unchanged" and found:
            raise ValueError(
                f"stop unchanged ends a hypothesis whose next pass would repeat the last; with"
                f" {found[0]} it need not: stop fixed and confidence are allowed"
            )
        return self
