"""Settings of the Ising experiments. Paper: sections 2, 3.1, L.6 and L.7.

The paper gives no sizes or couplings; all defaults are our choices.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from padir.config.base import Seed, Settings

SampleSize = Annotated[int, Field(le=100_000_000)]
BlockSize = Annotated[int, Field(le=1_000)]


def _check_block_sizes(block_sizes: Sequence[int], largest: int) -> None:
    for k in block_sizes:
        if not 1 <= k <= largest:
            raise ValueError(f"block_sizes holds {k}: allowed is 1 to {largest}")


class IsingModel(Settings):
    """An Ising model: p(x) ~ exp(sum h_i x_i + sum_{i<j} J_ij x_i x_j), each edge once."""

    graph: Literal["path", "cycle", "complete", "grid", "edges"] = Field(
        default="cycle",
        description="Graph; grid is the open square lattice, edges takes the list `edges`.",
    )
    spins: int = Field(default=6, ge=2, le=16, description="Number of spins (N).")
    edges: list[list[Annotated[int, Field(le=15)]]] = Field(
        default=[], description="Pairs of vertices 0 to N-1; only for graph edges."
    )
    coupling: float | list[float] = Field(
        default=0.3,
        description="J: one number for all edges, or one per edge in lexicographic order.",
    )
    field: float | list[float] = Field(
        default=0.2, description="h: one number for all spins, or one per spin."
    )

    @model_validator(mode="after")
    def _edges_fit(self) -> "IsingModel":
        if (self.graph == "edges") != bool(self.edges):
            raise ValueError("edges must be given for graph edges, and for no other graph")
        if any(len(edge) != 2 for edge in self.edges):
            raise ValueError("edges must be pairs of vertices, such as [0, 1]")
        return self


class LargeEstimation(Settings):
    """k-pseudolikelihood beyond enumeration: a closed chain, through local conditionals."""

    spins: int = Field(default=100, ge=8, le=500, description="Number of spins (N).")
    coupling: float = Field(default=0.3, description="J of every edge.")
    field: float = Field(default=0.2, description="h of every spin.")
    block_sizes: list[BlockSize] = Field(default=[1, 4, 8], min_length=2, description="k.")
    samples: int = Field(default=4000, ge=100, le=100_000_000, description="Samples per trial.")
    trials: int = Field(default=5, ge=2, le=1_000_000, description="Independent data sets.")


class Estimation(Settings):
    """Figures 1 and 2: squared parameter error against k, one random mask per sample."""

    ordinary: IsingModel = Field(default=IsingModel(), description="Truth of figure 1.")
    peaky: IsingModel = Field(
        default=IsingModel(coupling=1.0, field=0.1),
        description="Truth of figure 2, with two modes.",
    )
    block_sizes: list[BlockSize] = Field(
        default=[1, 2, 3, 4, 5, 6], min_length=2, description="k, rising."
    )
    samples: list[SampleSize] = Field(
        default=[1000, 4000, 16000], min_length=1, description="Samples per data set, rising."
    )
    trials: int = Field(
        default=200, ge=30, le=1_000_000, description="Independent data sets per point."
    )
    large: LargeEstimation = LargeEstimation()

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Estimation":
        _check_block_sizes(self.block_sizes, min(self.ordinary.spins, self.peaky.spins))
        if sorted(set(self.block_sizes)) != list(self.block_sizes):
            raise ValueError(f"block_sizes {self.block_sizes} must rise")
        if sorted(set(self.samples)) != list(self.samples) or self.samples[0] < 1:
            raise ValueError(f"samples {self.samples} must rise and start at 1 or more")
        return self


class CliquePanel(Settings):
    """One panel of figure 3: equation 6 with equal fields, started in the smaller mode."""

    spins: int = Field(default=12, ge=2, le=1000, description="N.")
    clique: int = Field(default=6, ge=2, le=1_000, description="Size m of the clique.")
    couplings: list[float] = Field(default=[0.3, 0.5, 0.7], min_length=1, description="J.")
    field: float = Field(default=0.1, description="h on the clique.")
    outside_field: float = Field(default=0.0, description="h of the independent spins.")
    block_sizes: list[BlockSize] = Field(
        default=[1, 3, 6, 9, 11], min_length=1, description="k of k-Gibbs."
    )
    steps: int = Field(default=500, ge=1, le=1_000_000, description="Steps of every chain.")
    chains: int = Field(
        default=1000, ge=30, le=1_000_000, description="Simulated chains per sampler."
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> "CliquePanel":
        if self.clique > self.spins:
            raise ValueError(f"clique is {self.clique}, above spins {self.spins}")
        _check_block_sizes(self.block_sizes, self.spins)
        return self


class SeparationCase(Settings):
    """One model for the separation corollary (appendix H)."""

    spins: int = Field(default=300, ge=2, le=1_000_000, description="N.")
    clique: int = Field(default=12, ge=2, le=1_000_000, description="m.")
    coupling: float = Field(default=2.0, gt=0, description="J.")
    field: float = Field(default=0.16, description="h on the clique.")
    block_size: int = Field(default=299, ge=1, le=1_000_000, description="k.")
    delta: float = Field(default=0.2, gt=0, lt=1, description="Failure probability.")
    steps: int = Field(
        default=1000,
        ge=1,
        le=1_000_000_000,
        description="Steps that independent parallel is given (M).",
    )


class ModeReaching(Settings):
    """Figure 3: steps until the larger mode is reached from the smaller one."""

    panels: list[CliquePanel] = Field(
        default=[
            CliquePanel(),
            CliquePanel(
                spins=20, clique=8, couplings=[0.5], field=0.05, block_sizes=[1, 4, 8, 14, 18]
            ),
        ],
        min_length=1,
        description="Panels of figure 3.",
    )
    weak: CliquePanel = Field(
        default=CliquePanel(couplings=[0.02], block_sizes=[1, 3, 6, 9], steps=20),
        description="The weak-coupling panel, in which the order reverses for small k.",
    )
    separation: list[SeparationCase] = Field(
        default=[
            SeparationCase(),
            SeparationCase(spins=1000, clique=40, coupling=1.5, field=0.05, block_size=999),
        ],
        min_length=1,
        description="Models that satisfy assumptions 5 to 7.",
    )
    delta: float = Field(
        default=0.05, gt=0, lt=1, description="Failure probability of the step bounds."
    )


class Identities(Settings):
    """Every theorem of sections 2.1 and 2.2, by enumeration on random models."""

    models: int = Field(default=12, ge=1, le=1_000_000, description="Random models per statement.")
    spins: int = Field(default=4, ge=2, le=6, description="Spins of each.")
    coupling_scale: float = Field(
        default=0.6, gt=0, description="Standard deviation of the couplings."
    )
    field_scale: float = Field(default=0.4, gt=0, description="Standard deviation of the fields.")


class Tensorisation(Settings):
    """Approximate tensorisation of entropy and the finite-sample bound (section 2.3)."""

    spins: int = Field(
        default=3, ge=2, le=5, description="Spins of a complete graph with one h and one J."
    )
    couplings: list[float] = Field(
        default=[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5],
        min_length=2,
        description="J of the parameter grid.",
    )
    fields: list[float] = Field(
        default=[-0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4],
        min_length=1,
        description="h of the parameter grid.",
    )
    samples: list[SampleSize] = Field(default=[1000, 100_000], min_length=1, description="Samples.")
    masks_per_sample: int = Field(
        default=4, ge=1, le=1_000_000, description="Masks per sample (m)."
    )
    delta: float = Field(default=0.1, gt=0, lt=1, description="Failure probability.")
    trials: int = Field(default=200, ge=30, le=1_000_000, description="Independent data sets.")
    random_laws: int = Field(
        default=300,
        ge=10,
        le=1_000_000,
        description="Random laws that try to break each inequality.",
    )


class ProductKernels(Settings):
    """How far a k-Gibbs step is from every product law, as a function of the coupling."""

    spins: int = Field(default=4, ge=2, le=6, description="Spins of a complete graph.")
    couplings: list[float] = Field(
        default=[0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5], min_length=2, description="J."
    )
    field: float = Field(default=0.0, description="h of every spin.")


class MaskDesign(Settings):
    """Mask distributions better than uniform, over the k-subsets (section 2.2.2)."""

    model: IsingModel = Field(
        default=IsingModel(graph="path", spins=6, coupling=[1.5, 0.2, 1.5, 0.2, 1.5], field=0.1),
        description="A correlated chain.",
    )
    block_size: int = Field(default=2, ge=1, le=16, description="k.")
    random_weights: int = Field(
        default=300, ge=10, le=1_000_000, description="Random mask distributions compared."
    )


class DependentBlocks(Settings):
    """Blocks chosen by dependence against uniform ones of the same size (slides, future work)."""

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
        description="A clique among independent spins, a chain of strong pairs, an even chain.",
    )
    block_sizes: list[BlockSize] = Field(default=[2, 4], min_length=1, description="k.")
    samples: int = Field(
        default=500, ge=2, le=100_000_000, description="Samples that dependence is estimated from."
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> "DependentBlocks":
        _check_block_sizes(self.block_sizes, min(model.spins for model in self.models))
        return self


class Errata(Settings):
    """Statements as printed, and as they hold."""

    models: int = Field(
        default=60, ge=5, le=1_000_000, description="Random models in searches for counterexamples."
    )


class Theory(Settings):
    """The Ising experiments; they share nothing with translation but the report."""

    seeds: list[Seed] = Field(
        default=[0], description="Seeds to run with; none: these experiments are left out."
    )
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
