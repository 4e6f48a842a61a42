"""Smallest counterexamples to statements of the paper. docs/theory.md lists them."""

import itertools
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from padir.theory import dynamics, regimes
from padir.theory.covariance import hessian_by_mask, information
from padir.theory.enumeration import conditional_mean, exact_law
from padir.theory.estimators import fit, population_counts
from padir.theory.families import ising_family
from padir.theory.ising import complete_edges, ising_on_graph, path_edges, random_ising
from padir.theory.lumped import (
    Clique,
    clique_gibbs,
    clique_parallel,
    hitting_curve,
)
from padir.theory.masks import Masks, all_subsets, random_adaptive_masks, uniform_masks
from padir.theory.product_kernels import moves_bound, nearest_product
from padir.theory.tensorisation import tensorisation_ratio

COUPLINGS = (0.02, 0.1, 0.2, 0.3, 0.5, 0.7)
RATE_COUPLINGS = (0.5, 1.0, 2.0, 5.0)


def tied_path_hessians() -> np.ndarray:
    """H at k = 1, 2, 3 for a path of 3 spins with one shared coupling; equal at k = 2 and 3."""
    family = ising_family(ising_on_graph(3, path_edges(3), 0.7, 0.0), "tied_coupling")
    return np.array([hessian_by_mask(family, uniform_masks(3, k)).sum() for k in (1, 2, 3)])


def averaged_relative_variance() -> np.ndarray:
    """Variance of the averaged estimator over maximum likelihood's at k = 1, 2, 3."""
    family = ising_family(ising_on_graph(3, complete_edges(3), 1.0, 1.0), "tied_coupling")
    matrices = [information(family, uniform_masks(3, k)) for k in (1, 2, 3)]
    return np.array([float((m.asymptotic(np.inf) * m.fisher)[0, 0]) for m in matrices])


def averaged_order_violations(rng: np.random.Generator, models: int) -> tuple[int, int, int]:
    """Violations of the covariance order over adjacent k: (averaged estimator, pairs, one mask)."""
    violations = {np.inf: 0, 1.0: 0}
    pairs = 0
    for _ in range(models):
        family = ising_family(random_ising(rng, 4, complete_edges(4), 1.0, 1.0), "couplings")
        matrices = [information(family, uniform_masks(4, k)) for k in range(1, 5)]
        # In units of the inverse Fisher information, where 1 is maximum likelihood.
        root = np.linalg.cholesky(matrices[0].fisher)
        for before, after in itertools.pairwise(matrices):
            pairs += 1
            for masks_per_sample in violations:
                drop = before.asymptotic(masks_per_sample) - after.asymptotic(masks_per_sample)
                lowest = np.linalg.eigvalsh(root.T @ drop @ root)[0]
                violations[masks_per_sample] += int(lowest < -1e-7)
    return violations[np.inf], pairs, violations[1.0]


def lemma_2_conditionals() -> tuple[float, float]:
    """p(x_1 = 1 | x_2 = 0, S = {1}) and p(x_1 = 1 | x_2 = 0) for two fair bits."""
    law = np.full(4, 0.25)
    first_mask = np.array([0.75, 0.25, 0.25, 0.25])
    up = np.array([0.0, 0.0, 1.0, 1.0])
    given_mask = conditional_mean(law * first_mask, up, (0,))
    return float(given_mask[0]), float(conditional_mean(law, up, (0,))[0])


def adaptive_minimisers(rng: np.random.Generator) -> tuple[float, float]:
    """Distance of the population minimiser from the truth, with and without the mask's term."""
    model = random_ising(rng, 3, complete_edges(3), 0.5, 0.5)
    family = ising_family(model)
    masks = random_adaptive_masks(rng, 3, (*all_subsets(3, 1), *all_subsets(3, 2)))
    counts = population_counts(exact_law(model), masks)
    correct, naive = (
        float(np.linalg.norm(fit(family, masks, counts, naive=leave_out).theta[0] - family.truth))
        for leave_out in (False, True)
    )
    return correct, naive


def frozen_hessian_eigenvalue() -> tuple[float, float]:
    """Smallest eigenvalue of H if the mask reveals the spin that it hides, and if it need not."""
    family = ising_family(ising_on_graph(2, [(0, 1)], 0.5, 0.2), "fields")
    second_up = np.array([0.0, 1.0, 0.0, 1.0])
    eigenvalues = []
    for leak in (0.0, 0.1):
        first = leak + (1 - 2 * leak) * second_up
        masks = Masks(2, ((0,), (1,)), np.stack([first, 1 - first]))
        hessian = hessian_by_mask(family, masks).sum(axis=0)
        eigenvalues.append(float(np.linalg.eigvalsh(hessian)[0]))
    return eigenvalues[0], eigenvalues[1]


@dataclass(frozen=True)
class PairChain:
    """Defects and forms of the chain on pairs (S, x); adaptive masks unless named fixed."""

    defect_fixed: float
    defect_adaptive: float
    defect_x: float
    stationarity: float
    spectra: float
    form: float
    printed_form: float
    mask_variance: float
    mask_form: float
    constant: float
    worst_ratio: float


def pair_chain(rng: np.random.Generator) -> PairChain:
    """The chain on pairs against the printed proposition C.3 and against the chain on x."""
    law = exact_law(random_ising(rng, 3, complete_edges(3), 0.5, 0.5))
    sets = (*all_subsets(3, 1), *all_subsets(3, 2))
    fixed = Masks(3, sets, rng.dirichlet(np.ones(len(sets))))
    adaptive = random_adaptive_masks(rng, 3, sets)
    kernel, weights = dynamics.pair_kernel(law, adaptive), dynamics.pair_law(law, adaptive)
    on_x = dynamics.block_kernel(law, adaptive)
    short = np.sort(np.linalg.eigvals(on_x).real)[::-1]
    # Products A B and B A share their non-zero spectrum; the other eigenvalues are zero.
    long = np.linalg.eigvals(kernel)
    long = long[np.argsort(-np.abs(long))][: len(short)]
    f = rng.standard_normal((len(sets), law.size))
    of_mask = np.repeat(rng.standard_normal(len(sets))[:, None], law.size, axis=1)
    mean = weights @ of_mask.ravel()
    constant = dynamics.poincare_constant(law, on_x)
    functions = [dynamics.spectrum(law, on_x)[1][:, 1], *rng.standard_normal((50, law.size))]
    ratios = [
        dynamics.variance(law, g) / dynamics.block_dirichlet_form(law, adaptive, g)
        for g in functions
    ]
    return PairChain(
        defect_fixed=dynamics.reversibility_defect(
            dynamics.pair_law(law, fixed), dynamics.pair_kernel(law, fixed)
        ),
        defect_adaptive=dynamics.reversibility_defect(weights, kernel),
        defect_x=dynamics.reversibility_defect(law, on_x),
        stationarity=dynamics.stationarity_defect(weights, kernel),
        spectra=float(np.abs(np.sort(long.real)[::-1] - short).max() + np.abs(long.imag).max()),
        form=dynamics.dirichlet_form(weights, kernel, f.ravel()),
        printed_form=_conditional_variance(law, adaptive, f),
        mask_variance=float(weights @ (of_mask.ravel() - mean) ** 2),
        mask_form=_conditional_variance(law, adaptive, of_mask),
        constant=constant,
        worst_ratio=max(ratios) / constant,
    )


def _conditional_variance(law: np.ndarray, masks: Masks, f: np.ndarray) -> float:
    """E Var(f(S, x) | x_{-S}, S), the form as printed; f has shape (M, 2^N)."""
    total = 0.0
    for block, weight, values in zip(masks.sets, masks.given_state(), f, strict=True):
        joint = law * weight
        total += float(joint @ (values - conditional_mean(joint, values, block)) ** 2)
    return total


def single_spin_kernel_distance(rng: np.random.Generator) -> tuple[float, float]:
    """1-Gibbs on 3 independent spins: proven distance from product laws, and the searched one."""
    law = exact_law(ising_on_graph(3, [], 0.0, 0.1))
    kernel = dynamics.block_kernel(law, uniform_masks(3, 1))
    proven = max(moves_bound(kernel, state) for state in range(8))
    searched = max(nearest_product(kernel[state], rng)[0] for state in range(8))
    return proven, searched


def tensorisation_of_fit() -> tuple[float, float]:
    """C_AT of a truth of independent spins, exactly N / k, and a larger ratio at a coupled fit.

    The ratio is KL(truth || fit) over its conditional form.
    """
    truth = exact_law(ising_on_graph(3, [], 0.0, 1.0))
    fitted = exact_law(ising_on_graph(3, complete_edges(3), 0.5, 0.0))
    return 3.0, tensorisation_ratio(truth, fitted, uniform_masks(3, 1))


def stay_failure_rates() -> dict[int, dict[str, np.ndarray]]:
    """Probability to leave sum(x_C) <= -2 in one step, exact and bounded, by m, along J."""
    ways = {
        "exact": regimes.stay_failure_exact,
        "Chernoff": regimes.stay_failure_chernoff,
        "Hoeffding": regimes.stay_failure_hoeffding,
    }
    return {
        m: {
            name: np.array([rate(Clique(m, m, coupling, 0.0)) for coupling in RATE_COUPLINGS])
            for name, rate in ways.items()
        }
        for m in (8, 16, 32)
    }


def clique_regimes() -> dict[str, regimes.Regime]:
    """Assumptions 5 to 7 for the clique models below, at delta = 0.05 and the steps they run."""
    cases = [*((12, 6, coupling, 9) for coupling in COUPLINGS), (10, 5, 0.02, 10)]
    return {
        f"J={coupling:g}, k={k}": regimes.regime(Clique(spins, clique, coupling, 0.1), k, 0.05, 10)
        for spins, clique, coupling, k in cases
    }


def hitting_against_coupling(k: int) -> list[tuple[float, float]]:
    """(J, P(larger mode within 10 steps of k-Gibbs)) from the smaller mode; not monotone for k up
    to the clique's size of 6."""
    kernels = [(j, clique_gibbs(Clique(12, 6, j, 0.1), k)) for j in COUPLINGS]
    return [(j, float(hitting_curve(kernel, np.eye(7)[0], 6, 10)[-1])) for j, kernel in kernels]


def updates_at_weak_coupling() -> np.ndarray:
    """k times the mean hitting time for k = 1..10: rises with k at J = 0.02."""
    model = Clique(10, 5, 0.02, 0.1)
    return np.array(
        [k * dynamics.mean_hitting_time(clique_gibbs(model, k), 0, 5) for k in range(1, 11)]
    )


def crossover_couplings() -> list[tuple[int, float]]:
    """(k, J) at which k-Gibbs and independent parallel sampling have equal mean times."""

    def advantage(coupling: float, k: int) -> float:
        model = Clique(12, 6, coupling, 0.1)
        gibbs = dynamics.mean_hitting_time(clique_gibbs(model, k), 0, 6)
        return float(np.log(gibbs / dynamics.mean_hitting_time(clique_parallel(model), 0, 6)))

    def root(k: int) -> float:
        bracket = (1e-3, 0.9)
        return scipy.optimize.root_scalar(
            advantage, args=(k,), bracket=bracket, method="brentq", xtol=1e-6
        ).root

    return [(k, float(root(k))) for k in (1, 3, 6, 9)]
