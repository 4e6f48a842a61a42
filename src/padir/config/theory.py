"""Settings of the Ising experiments. Paper: sections 2, 3.1, L.6 and L.7.

The paper gives no sizes or couplings; all defaults are our choices.
"""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from padir.config.base import Seed, Settings

SampleSize = Annotated[int, Field(ge=1, le=100_000_000)]
BlockSize = Annotated[int, Field(le=1_000)]


def _check_sizes(key: str, sizes: Iterable[int], largest: int, least: int = 1) -> None:
    for size in sizes:
        if not least <= size <= largest:
            raise ValueError(f"{key} {size}: allowed is {least} to {largest}")


def _check_rising(settings: Settings, *keys: str) -> None:
    """Claims compare neighbours in these lists, and first with last."""
    for key in keys:
        values = getattr(settings, key)
        if any(after <= before for before, after in pairwise(values)):
            raise ValueError(f"{key} {values} must rise")


class IsingModel(Settings):
    """An Ising model: p(x) ~ exp(sum h_i x_i + sum_{i<j} J_ij x_i x_j), each edge once."""

    graph: Literal["path", "cycle", "complete", "grid", "edges"] = "cycle"
    """Graph of the model; grid: the open square lattice; edges: the graph given by `edges`."""
    spins: int = Field(default=6, ge=2, le=16, description="Number of spins (N).")
    edges: list[list[Annotated[int, Field(le=15)]]] = Field(default=[])
    """Edges of the graph as pairs of vertices 0 to N-1 (graph: edges)."""
    coupling: float | list[float] = 0.3
    """Coupling J: one number for all edges, or one per edge in lexicographic order."""
    field: float | list[float] = 0.2
    """External field h: one number for all spins, or one per spin."""

    @model_validator(mode="after")
    def _edges_fit(self) -> "IsingModel":
        if (self.graph == "edges") != bool(self.edges):
            raise ValueError("edges must be given for graph edges, and for no other graph")
        vertices = set(range(self.spins))
        pairs = {
            frozenset(edge) for edge in self.edges if len(edge) == len(set(edge) & vertices) == 2
        }
        if len(pairs) < len(self.edges):
            raise ValueError(
                f"edges must be different pairs of different vertices from 0 to {self.spins - 1},"
                " such as [0, 1]"
            )
        return self

    @model_validator(mode="after")
    def _lists_fit(self) -> "IsingModel":
        side = math.isqrt(self.spins)
        if self.graph == "cycle" and self.spins < 3:
            raise ValueError(f"spins is {self.spins}: a cycle needs 3 or more")
        if self.graph == "grid" and side**2 != self.spins:
            raise ValueError(f"spins is {self.spins}: a grid needs a square number: 4, 9 or 16")
        edges = {
            "path": self.spins - 1,
            "cycle": self.spins,
            "complete": math.comb(self.spins, 2),
            "grid": 2 * side * (side - 1),
            "edges": len(self.edges),
        }[self.graph]
        for key, value, length in (
            ("coupling", self.coupling, edges),
            ("field", self.field, self.spins),
        ):
            if isinstance(value, list) and len(value) != length:
                raise ValueError(f"{key} holds {len(value)}: allowed are {length} numbers, or one")
        return self


class LargeEstimation(Settings):
    """k-pseudolikelihood on a closed chain too large to enumerate, from local conditionals."""

    spins: int = Field(default=100, ge=8, le=500, description="Number of spins (N).")
    coupling: float = Field(default=0.3, description="Coupling J of every edge.")
    field: float = Field(default=0.2, description="External field h of every spin.")
    block_sizes: list[BlockSize] = Field(default=[1, 4, 8], min_length=2)
    """Block sizes k of the k-pseudolikelihood, in ascending order."""
    samples: int = Field(default=4000, ge=100, le=100_000_000)
    """Samples per simulated data set."""
    trials: int = Field(default=5, ge=2, le=1_000_000)
    """Simulated data sets per block size."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> "LargeEstimation":
        _check_sizes("block_sizes holds", self.block_sizes, self.spins)
        _check_rising(self, "block_sizes")
        return self


class Estimation(Settings):
    """Figures 1 and 2: squared parameter error against k, one random mask per sample."""

    ordinary: IsingModel = IsingModel()
    """Ising model that generates the data of figure 1."""
    peaky: IsingModel = IsingModel(coupling=1.0, field=0.1)
    """Ising model, with two modes, that generates the data of figure 2."""
    block_sizes: list[BlockSize] = Field(default=[1, 2, 3, 4, 5, 6], min_length=2)
    """Block sizes k of the k-pseudolikelihood, in ascending order."""
    samples: list[SampleSize] = Field(default=[1000, 4000, 16000], min_length=1)
    """Samples per simulated data set, in ascending order."""
    trials: int = Field(default=200, ge=30, le=1_000_000)
    """Simulated data sets per point of the figures."""
    large: LargeEstimation = LargeEstimation()

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Estimation":
        largest = min(self.ordinary.spins, self.peaky.spins)
        _check_sizes("block_sizes holds", self.block_sizes, largest)
        _check_rising(self, "block_sizes", "samples")
        return self


class CliquePanel(Settings):
    """One panel of figure 3: equation 6 with equal fields, started in the smaller mode."""

    spins: int = Field(default=12, ge=2, le=1000, description="Number of spins (N).")
    clique: int = Field(default=6, ge=2, le=1_000, description="Number of spins in the clique (m).")
    couplings: list[Annotated[float, Field(gt=0)]] = Field(default=[0.3, 0.5, 0.7], min_length=1)
    """Couplings J of the edges of the clique, in ascending order; one model for each."""
    field: float = Field(default=0.1, gt=0)
    """External field h of each spin in the clique; above 0: all +1 is the larger mode."""
    outside_field: float = 0.0
    """External field h of each independent spin, outside the clique."""
    block_sizes: list[BlockSize] = Field(default=[1, 3, 6, 9, 11], min_length=2)
    """Block sizes k of k-Gibbs, in ascending order."""
    steps: int = Field(default=500, ge=1, le=1_000_000)
    """Steps of each simulated chain."""
    chains: int = Field(default=1000, ge=30, le=1_000_000)
    """Simulated chains per sampler."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> "CliquePanel":
        _check_sizes("clique is", [self.clique], self.spins, least=2)
        _check_sizes("block_sizes holds", self.block_sizes, self.spins)
        _check_rising(self, "couplings", "block_sizes")
        return self


class WeakPanel(CliquePanel):
    """Last panel of figure 3, where parallel sampling is faster than k-Gibbs with a small k."""

    couplings: list[Annotated[float, Field(gt=0)]] = Field(
        default=[0.02], min_length=1, max_length=1
    )
    """The weak coupling J of the edges of the clique."""
    block_sizes: list[BlockSize] = Field(default=[1, 3, 6, 9], min_length=2)
    """Block sizes k of k-Gibbs, in ascending order."""
    steps: int = Field(default=20, ge=1, le=1_000_000)
    """Steps of each simulated chain."""


class SeparationCase(Settings):
    """A model for the corollary that separates k-Gibbs from parallel sampling (appendix H)."""

    spins: int = Field(default=300, ge=2, le=1_000_000, description="Number of spins (N).")
    clique: int = Field(default=12, ge=2, le=1_000_000)
    """Number of spins in the clique (m)."""
    coupling: float = Field(default=2.0, gt=0, description="Coupling J of the edges of the clique.")
    field: float = Field(default=0.16, gt=0)
    """External field h of each spin in the clique; above 0: all +1 is the larger mode."""
    block_size: int = Field(default=299, ge=1, le=1_000_000, description="Block size k of k-Gibbs.")
    delta: float = Field(default=0.2, gt=0, lt=1)
    """Failure probability delta of the corollary."""
    steps: int = Field(default=1000, ge=1, le=1_000_000_000)
    """Steps of independent parallel sampling (M)."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> "SeparationCase":
        _check_sizes("clique is", [self.clique], self.spins, least=2)
        _check_sizes("block_size is", [self.block_size], self.spins)
        return self


class ModeReaching(Settings):
    """Figure 3: steps from the smaller mode until the larger one is reached."""

    panels: list[CliquePanel] = Field(
        default=[
            CliquePanel(),
            CliquePanel(
                spins=20, clique=8, couplings=[0.5], field=0.05, block_sizes=[1, 4, 8, 14, 18]
            ),
        ],
        min_length=1,
    )
    """Panels of figure 3: one clique size with its couplings each."""
    weak: WeakPanel = WeakPanel()
    """Panel with weak coupling."""
    separation: list[SeparationCase] = Field(
        default=[
            SeparationCase(),
            SeparationCase(spins=1000, clique=40, coupling=1.5, field=0.05, block_size=999),
        ],
        min_length=1,
    )
    """Models for the separation corollary, which satisfy assumptions 5 to 7."""
    delta: float = Field(default=0.05, gt=0, lt=1)
    """Failure probability delta of the bounds on the steps."""

    @model_validator(mode="after")
    def _couplings_compare(self) -> "ModeReaching":
        if all(len(panel.couplings) < 2 for panel in self.panels):
            raise ValueError("panels: one must have two couplings or more, to be compared")
        return self


class Identities(Settings):
    """Checks of every theorem of sections 2.1 and 2.2 on random models, by exact enumeration."""

    models: int = Field(default=12, ge=1, le=1_000_000)
    """Random models on which each theorem is checked."""
    spins: int = Field(default=4, ge=2, le=6, description="Number of spins of each random model.")
    coupling_scale: float = Field(default=0.6, gt=0)
    """Standard deviation of the random couplings."""
    field_scale: float = Field(default=0.4, gt=0)
    """Standard deviation of the random external fields."""


class Tensorisation(Settings):
    """Approximate tensorisation of entropy and the finite-sample bound (section 2.3)."""

    spins: int = Field(default=3, ge=2, le=5)
    """Number of spins of a complete graph with equal fields and equal couplings."""
    couplings: list[float] = Field(
        default=[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5], min_length=2
    )
    """Couplings J of the parameter grid, in ascending order."""
    fields: list[float] = Field(
        default=[-0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4], min_length=1
    )
    """External fields h of the parameter grid, in ascending order."""
    samples: list[SampleSize] = Field(default=[1000, 100_000], min_length=1)
    """Samples per simulated data set, in ascending order."""
    masks_per_sample: int = Field(default=4, ge=1, le=1_000_000)
    """Random masks per sample (m)."""
    delta: float = Field(default=0.1, gt=0, lt=1)
    """Failure probability delta of the bound."""
    trials: int = Field(default=200, ge=30, le=1_000_000)
    """Simulated data sets, for the coverage of the bound."""
    random_laws: int = Field(default=300, ge=10, le=1_000_000)
    """Random distributions on which each inequality is tested."""

    @model_validator(mode="after")
    def _lists_rise(self) -> "Tensorisation":
        _check_rising(self, "couplings", "fields", "samples")
        return self


class ProductKernels(Settings):
    """Distance of a k-Gibbs step from the nearest product distribution, against the coupling."""

    spins: int = Field(default=4, ge=2, le=6, description="Number of spins of the complete graph.")
    couplings: list[float] = Field(default=[0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5], min_length=2)
    """Couplings J at which the distance is computed, in ascending order."""
    field: float = Field(default=0.0, description="External field h of every spin.")

    @model_validator(mode="after")
    def _some_are_coupled(self) -> "ProductKernels":
        if max(self.couplings) <= 0:
            raise ValueError(f"couplings {self.couplings}: one must be above 0")
        _check_rising(self, "couplings")
        return self


class MaskDesign(Settings):
    """Mask distributions over all k-subsets that are better than uniform (section 2.2.2)."""

    model: IsingModel = IsingModel(
        graph="path", spins=6, coupling=[1.5, 0.2, 1.5, 0.2, 1.5], field=0.1
    )
    """Ising model whose mask distribution is optimised."""
    block_size: int = Field(default=2, ge=1, le=16, description="Number of spins in each mask (k).")
    random_weights: int = Field(default=300, ge=10, le=1_000_000)
    """Random mask distributions that the optimised ones are compared with."""

    @model_validator(mode="after")
    def _size_fits(self) -> "MaskDesign":
        _check_sizes("block_size is", [self.block_size], self.model.spins)
        return self


class DependentBlocks(Settings):
    """Blocks chosen by dependence against uniform blocks of the same size (slides, future work)."""

    models: list[IsingModel] = Field(
        default=[
            IsingModel(
                graph="edges",
                spins=7,
                edges=[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]],
                coupling=0.6,
                field=[0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0],
            ),
            IsingModel(
                graph="path", spins=8, coupling=[1.2, 0.2, 1.2, 0.2, 1.2, 0.2, 1.2], field=0.1
            ),
            IsingModel(graph="path", spins=8, coupling=0.8, field=0.1),
        ],
        min_length=1,
    )
    """Ising models on which blocks are compared. By default: a clique among independent spins, a
    chain with alternating couplings, and a chain with equal ones."""
    block_sizes: list[BlockSize] = Field(default=[2, 4], min_length=1)
    """Block sizes k of k-Gibbs, from 2 to one less than the spins of the smallest model."""
    samples: int = Field(default=500, ge=2, le=100_000_000)
    """Samples from which the dependence between spins is estimated."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> "DependentBlocks":
        # All choices of blocks of 1 spin, or of all spins, are the same.
        largest = min(model.spins for model in self.models) - 1
        if largest < 2:
            raise ValueError("models: one has 2 spins: allowed is 3 or more")
        for model in self.models:
            for key, value in (("coupling", model.coupling), ("field", model.field)):
                values = value if isinstance(value, list) else [value]
                if min(values) < 0 or max(values) == 0:
                    raise ValueError(
                        f"models: one has {key} {value}: allowed is 0 or more, with one above 0,"
                        " as all +1 is the larger mode"
                    )
        _check_sizes("block_sizes holds", self.block_sizes, largest, least=2)
        return self


class Errata(Settings):
    """Counterexamples to statements of the paper, and the corrected statements."""

    models: int = Field(default=60, ge=5, le=1_000_000)
    """Random models searched for counterexamples."""


class Theory(Settings):
    """The Ising experiments. They share only the report with the translation experiments."""

    seeds: list[Seed] = Field(default=[0])
    """Random seeds, one run of every experiment each; []: no Ising experiments."""
    estimation: Estimation = Estimation()
    mode_reaching: ModeReaching = ModeReaching()
    identities: Identities = Identities()
    tensorisation: Tensorisation = Tensorisation()
    product_kernels: ProductKernels = ProductKernels()
    mask_design: MaskDesign = MaskDesign()
    dependent_blocks: DependentBlocks = DependentBlocks()
    errata: Errata = Errata()

    @model_validator(mode="after")
    def _seeds_differ(self) -> "Theory":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds {self.seeds} names a seed twice")
        return self


# Name -> settings. The module of the same name in `padir.theory.experiments` runs it.
EXPERIMENTS = {name: type(value) for name, value in Theory() if isinstance(value, Settings)}
