"""Ising models on any graph. Paper: definition 12 (equation 5) and equation 6.

p(x) is proportional to exp(sum_i h_i x_i + sum_{i<j} J_ij x_i x_j), x_i in {-1, +1}: each edge
is counted once. A reader of the paper who sums over ordered pairs halves our coupling.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from padir.config.theory import IsingModel
from padir.files import InputError


@dataclass(frozen=True)
class Ising:
    """A pairwise model of N spins.

    Attributes:
        field: h, shape (N,), natural-log units.
        coupling: J, shape (N, N), symmetric with a zero diagonal, natural-log units.
    """

    field: np.ndarray
    coupling: np.ndarray

    def __post_init__(self) -> None:
        field = np.asarray(self.field, dtype=np.float64)
        coupling = np.asarray(self.coupling, dtype=np.float64)
        if field.ndim != 1 or field.size == 0:
            raise InputError(f"field: shape {field.shape}, allowed is (N,) with N at least 1")
        n = field.size
        if coupling.shape != (n, n):
            raise InputError(f"coupling: shape {coupling.shape}, allowed is ({n}, {n})")
        for name, values in (("field", field), ("coupling", coupling)):
            if not np.all(np.isfinite(values)):
                index = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
                raise InputError(f"{name}{list(index)} is {values[index]}: must be finite")
        loops = np.flatnonzero(np.diag(coupling))
        if loops.size:
            i = int(loops[0])
            raise InputError(f"coupling[{i}, {i}] is {coupling[i, i]}: self-loops must be zero")
        asymmetric = np.argwhere(coupling != coupling.T)
        if asymmetric.size:
            i, j = (int(k) for k in asymmetric[0])
            raise InputError(
                f"coupling[{i}, {j}] is {coupling[i, j]} but coupling[{j}, {i}] is"
                f" {coupling[j, i]}: must be symmetric"
            )
        object.__setattr__(self, "field", field)
        object.__setattr__(self, "coupling", coupling)

    @property
    def spins(self) -> int:
        """Number of spins N."""
        return self.field.size

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Pairs i < j with a non-zero coupling, in lexicographic order."""
        return [(int(i), int(j)) for i, j in np.argwhere(np.triu(self.coupling) != 0)]

    def log_weight(self, states: np.ndarray) -> np.ndarray:
        """Log of the unnormalised probability; states has shape (..., N) with values -1 and 1."""
        x = np.asarray(states, dtype=np.float64)
        return x @ self.field + 0.5 * np.einsum("...i,...i->...", x @ self.coupling, x)

    def local_field(self, states: np.ndarray) -> np.ndarray:
        """h_i + sum_j J_ij x_j, so that p(x_i = 1 | rest) = 1 / (1 + exp(-2 local_field))."""
        return self.field + np.asarray(states, dtype=np.float64) @ self.coupling


def path_edges(spins: int) -> list[tuple[int, int]]:
    """Edges of the open chain 0 - 1 - ... - (N-1)."""
    return [(i, i + 1) for i in range(spins - 1)]


def cycle_edges(spins: int) -> list[tuple[int, int]]:
    """Edges of the closed chain of at least 3 spins."""
    if spins < 3:
        raise InputError(f"cycle of {spins} spins: at least 3 are needed")
    return [*path_edges(spins), (0, spins - 1)]


def complete_edges(spins: int) -> list[tuple[int, int]]:
    """All pairs."""
    return [(i, j) for i in range(spins) for j in range(i + 1, spins)]


def grid_edges(spins: int) -> list[tuple[int, int]]:
    """The open square lattice, row by row; the number of spins must be a square."""
    side = round(spins**0.5)
    if side * side != spins:
        raise InputError(f"grid of {spins} spins: must be a square number, such as {side * side}")
    right = [(site, site + 1) for site in range(spins) if (site + 1) % side]
    below = [(site, site + side) for site in range(spins - side)]
    return sorted(right + below)


GRAPHS = {
    "path": path_edges,
    "cycle": cycle_edges,
    "complete": complete_edges,
    "grid": grid_edges,
}


def check_edges(spins: int, edges: Sequence[tuple[int, int]]) -> None:
    """Raise InputError unless the edges form a simple graph on 0..N-1."""
    seen: set[tuple[int, int]] = set()
    for i, j in edges:
        if not (0 <= i < spins and 0 <= j < spins):
            raise InputError(f"edge ({i}, {j}): vertices are 0 to {spins - 1}")
        if i == j:
            raise InputError(f"edge ({i}, {j}): self-loops are not allowed")
        if (min(i, j), max(i, j)) in seen:
            raise InputError(f"edge ({i}, {j}) is listed twice")
        seen.add((min(i, j), max(i, j)))


def ising_on_graph(
    spins: int,
    edges: Sequence[tuple[int, int]],
    coupling: float | Sequence[float],
    field: float | Sequence[float],
) -> Ising:
    """An Ising model on a graph.

    Args:
        edges: pairs of different vertices, each pair once, in either order.
        coupling: J, one number for all edges or one per edge, in the order of `edges`.
        field: h, one number for all spins or one per spin.

    Raises:
        InputError: the edges form no simple graph on 0..N-1, or a list has the wrong length.
    """
    if np.ndim(coupling) == 1 and np.size(coupling) != len(edges):
        raise InputError(f"coupling: {np.size(coupling)} numbers for {len(edges)} edges")
    per_edge = np.broadcast_to(np.asarray(coupling, dtype=np.float64), (len(edges),))
    if np.ndim(field) == 1 and np.size(field) != spins:
        raise InputError(f"field: {np.size(field)} numbers for {spins} spins")
    check_edges(spins, edges)
    matrix = np.zeros((spins, spins))
    for (i, j), value in zip(edges, per_edge, strict=True):
        matrix[i, j] = matrix[j, i] = value
    return Ising(np.broadcast_to(np.asarray(field, dtype=np.float64), (spins,)).copy(), matrix)


def clique_model(
    spins: int,
    clique: int,
    coupling: float,
    field: float,
    outside_field: float = 0.0,
) -> Ising:
    """The model of equation 6: a clique on the first `clique` vertices, the others independent.

    Args:
        clique: size m of the clique, 2 to N.
        coupling: J inside the clique.
        field: h on the clique.
        outside_field: h on the independent vertices.
    """
    if not 2 <= clique <= spins:
        raise InputError(f"clique of {clique} among {spins} spins: allowed is 2 to {spins}")
    fields = [field] * clique + [outside_field] * (spins - clique)
    return ising_on_graph(spins, complete_edges(clique), coupling, fields)


def random_ising(
    rng: np.random.Generator,
    spins: int,
    edges: Sequence[tuple[int, int]],
    coupling_scale: float = 0.5,
    field_scale: float = 0.5,
) -> Ising:
    """Normal couplings and fields of the given standard deviations."""
    return ising_on_graph(
        spins,
        edges,
        (coupling_scale * rng.standard_normal(len(edges))).tolist(),
        (field_scale * rng.standard_normal(spins)).tolist(),
    )


def build(settings: IsingModel) -> Ising:
    """The Ising model that the settings describe."""
    if settings.graph == "edges":
        edges = [(edge[0], edge[1]) for edge in settings.edges]
    else:
        edges = GRAPHS[settings.graph](settings.spins)
    return ising_on_graph(settings.spins, edges, settings.coupling, settings.field)


def describe(settings: IsingModel) -> str:
    """The model in one line, for captions and claims."""
    coupling, field = (
        f"{value:g}" if isinstance(value, int | float) else ", ".join(f"{v:g}" for v in value)
        for value in (settings.coupling, settings.field)
    )
    return f"{settings.graph} of {settings.spins} spins, J = {coupling}, h = {field}"
