"""Settings of decoders: how hypotheses are made from a trained model.

A decoder is named once, under `decoders`, and decodes any training that it fits. `greedy`, `beam`
and one decoder per parallel system exist without an entry.
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from padir.config.base import Name, Settings, added, policy_names, short_digest
from padir.config.systems import PARALLEL_SYSTEMS, SEARCHES, decoder_preset

MOST_PASSES = 100


if TYPE_CHECKING:
    SystemName = str
    StartName = str
    UpdateName = str
    RemaskName = str
    StopName = str
else:
    # Types made of data: each name is written once, in `SYSTEMS` or beside its policy.
    SystemName = Literal[*PARALLEL_SYSTEMS]
    _POLICIES = policy_names("decode/policies.py")
    StartName, UpdateName = Literal[*_POLICIES["STARTS"]], Literal[*_POLICIES["UPDATES"]]
    RemaskName, StopName = Literal[*_POLICIES["REMASKS"]], Literal[*_POLICIES["STOPS"]]


LARGEST_WEIGHT = 100
"""Largest number of a length rule, of either sign; the power of a much larger one is infinite."""
RuleNumber = Annotated[float, Field(ge=-LARGEST_WEIGHT, le=LARGEST_WEIGHT)]
SMALLEST_TEMPERATURE, LARGEST_TEMPERATURE = 1e-6, 1_000_000
"""At which all pieces are about as likely; float32 has no number for much larger ones."""


def length_alphas(scope: str = "") -> Any:
    """The setting `length_alphas`, which beam search and refinement share."""
    return Field(
        default=[0.0, 0.6, 1.0, 1.5],
        min_length=1,
        description="Length penalties that validation chooses from: score = log-probability /"
        f" ((5 + length) / 6) ** alpha{scope}.",
    )


WeightPrecision = Literal["float32", "bfloat16"]


def weight_precision() -> Any:
    """The setting `weights`, which all decoders share."""
    return added(
        "float32",
        description="Precision of the weight matrices in decoding. bfloat16: matrices and the"
        " vectors that they multiply are rounded to bfloat16, their products summed in float32."
        " The same holds for the reranker's. A shortlist's tied output layer stays in float32;"
        " models with compute_dtype bfloat16 gain nothing. Faster for large models on processors"
        " with AMX, slower for small ones.",
    )


class SearchDecoder(Settings):
    """Left-to-right search with an AR model: greedy, or beam search after Wu et al. 2016."""

    kind: Literal["greedy", "beam"] = Field(description="Search algorithm.")
    beam: int = Field(default=5, ge=1, le=10_000, description="Beam width (kind: beam).")
    length_alphas: list[RuleNumber] = length_alphas(" (kind: beam)")
    weights: WeightPrecision = weight_precision()

    # It decodes AR models, and ranks its own hypotheses.
    parallel: ClassVar[bool] = False
    reranker: ClassVar[None] = None
    tuning_passes: ClassVar[None] = None

    @property
    def tuned(self) -> bool:
        """Whether its length rule is tuned on validation data: greedy search has none."""
        return self.kind == "beam"

    @property
    def tuning_decodings(self) -> int:
        """How often tuning decodes the validation text: once per alpha, as the penalty decides
        which hypotheses finish."""
        return len(self.length_alphas) if self.tuned else 0


class RefinementDecoder(Settings):
    """Parallel decoding by iterative refinement, T passes. Paper: 3.2, L.1.1, L.2."""

    kind: SystemName = "padir"
    """System whose decoder settings are the defaults of this entry."""
    length_candidates: int = Field(default=5, ge=1, le=10_000)
    """Length candidates: target lengths tried per sentence."""
    length_search: Literal["top", "window"] = "top"
    """Which lengths are tried. top: the likeliest ones; window: the likeliest one and its
    neighbours."""
    restarts: int = Field(default=1, ge=1, le=10_000)
    """Hypotheses per length, each from its own random start tokens."""
    start: StartName = "random"
    """Tokens of the initial hypothesis. random: random pieces; mask: the mask token; position_mask:
    a mask token for each position."""
    context: Literal["all", "easy_first"] = "all"
    """Target positions that each position attends to. all: every one; easy_first: those that the
    first pass predicted with more confidence (DisCo)."""
    temperature: float = Field(default=0.0, ge=0, le=LARGEST_TEMPERATURE)
    """Sampling temperature of the tokens; 0: the likeliest token."""
    top_k: int = Field(default=0, ge=0, le=10_000_000)
    """Tokens are sampled from the k likeliest; 0: from all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Tokens are sampled from the smallest set of likeliest ones with at least this probability
    mass."""
    update: UpdateName = "all"
    """Positions that take the prediction of a pass. all: every position; hidden: those hidden
    before the pass; share: a random share; uncertain: the share with the least probable tokens. The
    first pass fills all."""
    update_share: float = Field(default=1.0, gt=0, le=1)
    """Share of the positions that take the prediction (update: share, uncertain)."""
    rescore_kept: bool = False
    """Whether the confidence of a kept token is that of the latest pass at its position, also where
    that pass predicts another token (RDM)."""
    remask: RemaskName = "stutter"
    """Tokens remasked between passes. none: no token; stutter: tokens equal to their left
    neighbour; weaker_stutter: the less confident of two equal neighbours; coupled: tokens less
    confident than every coupled neighbour (blocks); linear, cosine: the n least confident tokens, n
    decaying to 0; constant, count: a fixed share or number of the least confident tokens; critic:
    tokens that the model's critic rejects."""
    coupled_by: Literal["attention", "predictions", "entropy"] = "attention"
    """Measure of the coupling of two neighbours. attention: overlap of their cross-attention;
    predictions: overlap of their predictions; entropy: the smaller entropy of their predictions, in
    nats (remask: coupled)."""
    coupling_threshold: float = Field(default=0.6, gt=0)
    """Smallest coupling at which neighbours count as coupled: an overlap, at most 1, or an entropy
    in nats (remask: coupled)."""
    joint: Literal["none", "neighbours", "attention"] = "none"
    """Joint decoding of the tokens of a pass. none: each token independently; neighbours: the
    likeliest sequence under a pairwise repetition penalty; attention: the same, the penalty scaled
    by the overlap of the two positions' cross-attention. No penalty where the source itself repeats
    a token at that distance or less."""
    joint_reach: int = Field(default=1, ge=1, le=2)
    """Largest distance of two equal tokens that are penalised. 1: neighbours; 2: also tokens with
    one between them (with `joint`)."""
    joint_penalty: float = Field(default=10.0, gt=0, le=100)
    """Pairwise repetition penalty of joint decoding, in nats (with `joint`)."""
    remask_share: float = Field(default=0.3, ge=0, le=1)
    """Share of tokens remasked between passes (remask: constant)."""
    remask_count: int = Field(default=1, ge=1, le=1_000_000)
    """Number of tokens remasked between passes, all of a shorter hypothesis (remask: count)."""
    replacement: Literal["start", "mask", "previous", "summed"] = "start"
    """Tokens at remasked positions. start: the start token of the position; mask: the mask token;
    previous: the token that the last pass read there; summed: the likeliest token by the summed
    logits of all passes."""
    shortlist: int = Field(default=0, ge=0, le=10_000_000)
    """Number of tokens that the passes after the first choose from: those that come nearest to
    being the likeliest at some position of the first pass, whose likeliest tokens are always among
    them. At least as many as the longest target has; 0: the whole vocabulary."""
    stop: StopName = "unchanged"
    """When a hypothesis is finished before the last pass. fixed: never; unchanged: when the next
    pass would read the same input as this one; confidence: when every token has probability
    `stop_confidence` or more."""
    stop_confidence: float = Field(default=0.9, gt=0, le=1)
    """Probability that every token of a finished hypothesis has at least (stop: confidence)."""
    drop_repeats: Literal["none", "words", "tokens"] = "words"
    """Adjacent repeats that the final drop removes from the finished hypothesis. none: no repeats;
    words: repeated words; tokens: repeated tokens. Repeats that the source has too are kept. Words
    of Chinese and Japanese are pieces."""
    reranker: Name | None = None
    """AR training whose model of the first seed ranks the length candidates by its own
    log-probability; null: the decoded model ranks them."""
    tuning_passes: int = Field(default=4, ge=1, le=MOST_PASSES)
    """Decoder passes (T) with which `padir tune` chooses the rules for lengths and drafts."""
    length_alphas: list[RuleNumber] = length_alphas()
    length_weights: list[RuleNumber] = Field(default=[0.0, 1.0], min_length=1)
    """Weights of the length's log-probability that `padir tune` chooses from."""
    weights: WeightPrecision = weight_precision()

    # It decodes parallel models, and its length rule is tuned on validation data, which are decoded
    # once: length candidates do not depend on the rule.
    parallel: ClassVar[bool] = True
    tuned: ClassVar[bool] = True
    tuning_decodings: ClassVar[int] = 1

    @property
    def analysable(self) -> bool:
        """Whether a pass chooses each token by itself from the whole vocabulary, as the analysis of
        dependency asks."""
        return self.joint == "none" and not self.shortlist

    @model_validator(mode="before")
    @classmethod
    def _of_its_system(cls, settings: Any) -> Any:
        return decoder_preset(settings) if isinstance(settings, dict) else settings

    @model_validator(mode="after")
    def _agrees(self) -> "RefinementDecoder":
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
        if self.shortlist and self.replacement == "summed":
            raise ValueError(
                f"shortlist {self.shortlist} with replacement summed, which sums the logits of the"
                " whole vocabulary: shortlist 0 or another replacement are allowed"
            )
        if self.remask == "critic" and self.update != "all":
            raise ValueError(
                f"update {self.update} keeps tokens that the critic has not judged: remask critic"
                " needs update all"
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
        unsteady = [name for name, on in changing.items() if on]
        if self.stop == "unchanged" and unsteady:
            raise ValueError(
                f"stop unchanged ends a hypothesis whose next pass would repeat the last; with"
                f" {unsteady[0]} it need not: stop fixed and confidence are allowed"
            )
        return self


Decoder = Annotated[SearchDecoder | RefinementDecoder, Field(discriminator="kind")]


def decoder_digest(
    decoder: SearchDecoder | RefinementDecoder,
    reranker: str | None = None,
    reranker_seed: int | None = None,
) -> str:
    """Digest of a decoder's settings, and of its reranker.

    Args:
        decoder: settings.
        reranker: digest of the reranker's training, where the settings name one.
        reranker_seed: of that training.
    """
    settings = decoder.model_dump(mode="json")
    if decoder.reranker is not None:
        settings["reranker"] = {"training": reranker, "seed": reranker_seed}
        if decoder.weights != "float32":
            # What was ranked when rerankers stayed in float32 is out of date.
            settings["reranker"]["weights"] = decoder.weights
    return short_digest(settings)


def builtin_decoders() -> list[str]:
    """Decoders that exist without an entry: the AR searches, and each parallel system's own."""
    return [*SEARCHES, *PARALLEL_SYSTEMS]
