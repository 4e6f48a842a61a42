"""Shapes of the documents that bring claims of their own: analyses, and theory experiments."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from padir.report.checked import Count, Ends, Label, Number, Numbers, Shape, equally_long

KINDS = ("min", "mean", "max")
Matrix = Annotated[list[Numbers], Field(min_length=1)]


class Verdict(Shape):
    """What every claim has; `padir.report.claims` says which verdicts there are."""

    id: str
    statement: str
    measured: Any
    verdict: str
    test: Any

    @model_validator(mode="after")
    def _says_something(self) -> "Verdict":
        for key in ("measured", "test"):
            if getattr(self, key) is None:
                raise ValueError(f"{key} is null")
        return self


class Claim(Verdict):
    """A claim of an analysis."""

    section: str | None = None
    paper: str | None = None
    dataset: str | None = None
    interval: Ends | None = None
    seeds: Count | list[Count] | None = None


# Analyses.


class Contrast(Shape):
    """Stuttering against other adjacent pairs in one measure."""

    mean: Number
    deviation: Number
    other_mean: Number
    other_deviation: Number
    effect: Number
    effect_interval: Ends
    within: Number
    within_interval: Ends
    within_effect: Number
    p_value: Number


class Heads(Shape):
    """The same by layer and head."""

    effect: Matrix
    within_effect: Matrix
    p_value: Matrix

    @model_validator(mode="after")
    def _same_shape(self) -> "Heads":
        width = len(self.effect[0])
        for name, matrix in self:
            equally_long({name: matrix}, len(self.effect))
            equally_long({f"{name}.{layer}": row for layer, row in enumerate(matrix)}, width)
        return self


class BothHeads(Shape):
    """Measures that have heat maps."""

    self_attention: Heads
    total_variation: Heads


class Prediction(Shape):
    """How well a predictor detects something."""

    target: str
    pairs: str
    predictor: str
    auc: Number | None
    interval: Ends | None = None
    correlation: Number | None = None
    correlation_interval: Ends | None = None

    @model_validator(mode="after")
    def _with_interval(self) -> "Prediction":
        if self.auc is not None and self.interval is None:
            raise ValueError("auc is there, interval is not")
        if self.target == "exact" and None in (self.correlation, self.correlation_interval):
            raise ValueError("correlation and correlation_interval are needed")
        return self


NEEDED = (
    *(f"self_attention {kind}" for kind in KINDS),
    *(f"total_variation {kind}" for kind in KINDS),
    *(f"cosine {kind}" for kind in KINDS),
    *("self_first", "self_few", "same_first", "first_in_few"),
)


class Pass(Shape):
    """Comparisons after one number of passes."""

    number: Annotated[Count, Field(alias="pass")]
    stuttering: Count
    other: Count
    contrasts: dict[str, Contrast]
    heads: BothHeads
    prediction: list[Prediction]

    @model_validator(mode="after")
    def _all_contrasts(self) -> "Pass":
        for name in NEEDED:
            if name not in self.contrasts:
                raise ValueError(f"contrasts has no {name!r}")
        return self


class Exact(Shape):
    """Prediction of exact dependence."""

    number: Annotated[Count, Field(alias="pass")]
    prediction: list[Prediction]


class Analysis(Shape):
    """Document of `padir analyse`."""

    dataset: str
    direction: str
    training: str
    decoder: str
    targets: str
    seed: Count
    distance: Count
    passes: list[Pass]
    exact: Exact | None
    claims: list[Claim]

    @staticmethod
    def labels(path: str) -> dict[str, str | int]:
        """What the document at such a path says that it is of."""
        *_, dataset, direction, training, name = path.split("/")
        decoder, _, seed = name.removesuffix(".json").rpartition(".seed")
        keys = ("dataset", "direction", "training", "decoder", "seed")
        return dict(zip(keys, (dataset, direction, training, decoder, int(seed)), strict=True))


# Theory.


class TheoryClaim(Verdict):
    """A claim with all that the table of theorems shows."""

    section: str
    paper: str
    dataset: str
    interval: Ends | None
    seeds: list[Count]


class Experiment(Shape):
    """Document of `padir theory`."""

    experiment: str
    seed: Count
    claims: list[TheoryClaim]

    @staticmethod
    def labels(path: str) -> dict[str, str | int]:
        """What the document at such a path says that it is of."""
        *_, experiment, name = path.split("/")
        seed = name.removeprefix("seed").removesuffix(".json")
        return {"experiment": experiment, "seed": int(seed)}


class ErrorPoint(Shape):
    """Error of an estimator at one k and one number of samples."""

    estimator: str
    samples: Count
    k: Count
    mean: Number
    theory: Number
    low: Number
    high: Number


class Errors(Shape):
    """Errors for one true model."""

    model: str
    parameters: Count
    points: list[ErrorPoint]


class Masses(Shape):
    """Probabilities of the two modes."""

    all_plus: Number
    all_minus: Number


class TwoErrors(Shape):
    """Errors for both models."""

    ordinary: Errors
    peaky: Errors


class TwoMasses(Shape):
    """Probabilities for both models."""

    ordinary: Masses
    peaky: Masses


class EstimationSettings(Shape):
    """What figures 1 and 2 show of the settings."""

    samples: list[Count]
    block_sizes: list[Count]
    trials: Count


class Estimation(Experiment):
    """Figures 1 and 2."""

    settings: EstimationSettings
    regimes: TwoMasses
    series: TwoErrors


class Curve(Shape):
    """Probability of a mode by step."""

    coupling: Number
    sampler: Label
    exact: Annotated[list[Number], Field(min_length=2)]
    simulated: list[Number]

    @model_validator(mode="after")
    def _same_steps(self) -> "Curve":
        equally_long({"simulated": self.simulated}, len(self.exact))
        return self


class GroupSettings(Shape):
    """A model of figure 3."""

    spins: Count
    clique: Count
    field: Number
    outside_field: Number
    chains: Count
    couplings: list[Number]


class CurveGroup(Shape):
    """Curves of one model."""

    settings: GroupSettings
    curves: list[Curve]


class ModeReachingSeries(Shape):
    """All models of figure 3."""

    panels: list[CurveGroup]
    weak: CurveGroup


class ModeReaching(Experiment):
    """Figure 3."""

    series: ModeReachingSeries


class KernelSettings(Shape):
    """Model of the product steps."""

    spins: Count
    couplings: list[Number]
    field: Number


class KernelRow(Shape):
    """Distances at one k and coupling."""

    k: Count
    given_found: Number
    given_bound: Number
    averaged_found: Number


class KernelSeries(Shape):
    """Rows of all k and couplings."""

    rows: list[KernelRow]


class ProductKernels(Experiment):
    """Drawing of product steps."""

    settings: KernelSettings
    series: KernelSeries

    @model_validator(mode="after")
    def _row_of_each_coupling(self) -> "ProductKernels":
        if self.settings.spins > len(self.series.rows):
            raise ValueError("key series.rows has too few rows")
        for k in range(1, self.settings.spins + 1):
            rows = [row for row in self.series.rows if row.k == k]
            equally_long({f"key series.rows of k = {k}": rows}, len(self.settings.couplings))
        return self


class Measures(Shape):
    """Measures of a mask distribution."""

    gap: Number
    efficiency: Number
    trace: Number


class RandomMeasures(Shape):
    """The same of random ones."""

    gap: list[Number]
    efficiency: list[Number]
    trace: list[Number]

    @model_validator(mode="after")
    def _as_many(self) -> "RandomMeasures":
        equally_long(dict(self), len(self.gap))
        return self


class MaskSeries(Shape):
    """All mask distributions."""

    sets: list[list[Count]]
    measures: dict[Label, Measures]
    random: RandomMeasures
    weights: dict[str, list[Number]]

    @model_validator(mode="after")
    def _weights_of_each(self) -> "MaskSeries":
        weights = {f"weights.{name}": self.weights.get(name, []) for name in self.measures}
        equally_long(weights, len(self.sets))
        return self


class MaskModel(Shape):
    """Model of the masks."""

    graph: str
    spins: Count
    coupling: Number | list[Number]
    field: Number | list[Number]


class MaskSettings(Shape):
    """What the caption says."""

    block_size: Count
    model: MaskModel


class MaskDesign(Experiment):
    """Drawing of masks."""

    settings: MaskSettings
    series: MaskSeries


DRAWN: dict[str, type[Experiment]] = {
    "estimation": Estimation,
    "mode_reaching": ModeReaching,
    "product_kernels": ProductKernels,
    "mask_design": MaskDesign,
}
