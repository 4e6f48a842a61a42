"""Propositions E to G on models of equation 6 with unequal fields, by enumeration. Section 2.4.2.

The models are random and satisfy assumption 5; fields of the clique may be negative.
"""

import numpy as np

from padir.theory import regimes
from padir.theory.dynamics import block_kernel, parallel_kernel
from padir.theory.enumeration import all_states, exact_law
from padir.theory.ising import Ising, complete_edges, ising_on_graph
from padir.theory.masks import uniform_masks
from padir.theory.regimes import UnequalClique


def random_cliques(rng: np.random.Generator, models: int) -> list[UnequalClique]:
    """Models of 3 to 6 spins that satisfy assumption 5, with normal fields."""
    cliques: list[UnequalClique] = []
    while len(cliques) < models:
        spins = int(rng.integers(3, 7))
        fields = rng.normal(0, 0.15, spins)
        model = UnequalClique(int(rng.integers(2, spins + 1)), rng.uniform(0.1, 2), fields)
        if min(regimes.field_gap(model), regimes.coupling_margin(model)) > 0:
            cliques.append(model)
    return cliques


def _enumerated(model: UnequalClique) -> tuple[Ising, np.ndarray]:
    """The Ising model, and the sum over the clique in each state, shape (2^N,)."""
    edges = complete_edges(model.clique)
    ising = ising_on_graph(model.spins, edges, model.coupling, model.fields.tolist())
    return ising, all_states(model.spins)[:, : model.clique].sum(axis=1)


def mode_slack(model: UnequalClique) -> tuple[float, float]:
    """Proposition E: by how much the least log-ratios of probabilities exceed 2 J_0 and 2 h_G.

    The first is of a state in a mode to one in none, the second of a state in R1 to that in R-1
    with the same spins outside the clique.
    """
    ising, total = _enumerated(model)
    log_law = np.log(exact_law(ising))
    modes = np.abs(total) == model.clique
    to_rest = log_law[modes].min() - log_law[~modes].max()
    to_smaller = (log_law[total == model.clique] - log_law[total == -model.clique]).min()
    return (
        to_rest - 2 * regimes.coupling_margin(model),
        to_smaller - 2 * regimes.field_gap(model),
    )


def fast_ratio(model: UnequalClique) -> float:
    """Proposition F: least ratio, over k from m to N, of the exact probability to the bound.

    The probability is that of reaching R1 in one step of k-Gibbs from the worst state.
    """
    ising, total = _enumerated(model)
    law, larger_mode = exact_law(ising), total == model.clique
    return min(
        block_kernel(law, uniform_masks(model.spins, k))[:, larger_mode].sum(axis=1).min()
        / regimes.fast_step_probability(model, k)
        for k in range(model.clique, model.spins + 1)
    )


def slow_enumerated(model: UnequalClique, delta: float) -> regimes.Slow:
    """Proposition G from the full chain."""
    ising, total = _enumerated(model)
    return regimes.slow(model, parallel_kernel(ising), total <= -2, delta)
