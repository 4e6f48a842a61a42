"""The smallest models on which a printed statement fails. docs/theory.md lists them."""

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
    mean_hitting_time,
)
from padir.theory.masks import (
    Masks,
    all_subsets,
    random_adaptive_masks,
    uniform_masks,
    weighted_masks,
)
from padir.theory.product_kernels import moves_bound, nearest_product
from padir.theory.tensorisation import tensorisation_ratio

COUPLINGS = (0.02, 0.1, 0.2, 0.3, 0.5, 0.7)


def subsets_overlap(spins: int, size: int) -> float:
    """How many k-subsets hold each position, over the 1 of a partition."""
    return sum(len(block) for block in all_subsets(spins, size)) / spins


def tied_path_hessians() -> np.ndarray:
    """H at k = 1, 2, 3 for a path of 3 spins with one shared coupling: k = 2 is already best."""
    family = ising_family(ising_on_graph(3, path_edges(3), 0.7, 0.0), "tied_coupling")
    return np.array([hessian_by_mask(family, uniform_masks(3, k)).sum() for k in (1, 2, 3)])


def averaged_relative_variance() -> np.ndarray:
    """Averaged estimator's variance over maximum likelihood's at k = 1, 2, 3; it rises at k = 2."""
    family = ising_family(ising_on_graph(3, complete_edges(3), 1.0, 1.0), "tied_coupling")
    found = [information(family, uniform_masks(3, k)) for k in (1, 2, 3)]
    return np.array([float((f.asymptotic(np.inf) * f.fisher)[0, 0]) for f in found])


def averaged_order_violations(rng: np.random.Generator, models: int) -> tuple[int, int, int]:
    """Adjacent k whose covariance order fails: (averaged estimator, pairs tried, one mask)."""
    averaged = one_mask = pairs = 0
    for _ in range(models):
        model = random_ising(rng, 4, complete_edges(4), 1.0, 1.0)
        family = ising_family(model, "couplings")
        found = [information(family, uniform_masks(4, k)) for k in range(1, 5)]
        # In units of the inverse Fisher information, where 1 is maximum likelihood.
        root = np.linalg.cholesky(found[0].fisher)
        for before, after in itertools.pairwise(found):
            pairs += 1
            for scheme in (np.inf, 1.0):
                drop = before.asymptotic(scheme) - after.asymptotic(scheme)
                violated = np.linalg.eigvalsh(root.T @ drop @ root)[0] < -1e-7
                averaged += violated and scheme == np.inf
                one_mask += violated and scheme == 1.0
    return int(averaged), pairs, int(one_mask)


def lemma_2_conditionals() -> tuple[float, float]:
    """p(x_1 = 1 | x_2 = 0, S = {1}) and p(x_1 = 1 | x_2 = 0) for two fair bits."""
    law = np.full(4, 0.25)
    first = np.array([0.75, 0.25, 0.25, 0.25])
    masks = Masks(2, ((0,), (1,)), np.stack([first, 1 - first]))
    up = np.array([0.0, 0.0, 1.0, 1.0])
    given = conditional_mean(law * masks.weights[0], up, (0,))
    return float(given[0]), float(conditional_mean(law, up, (0,))[0])


def adaptive_minimisers(rng: np.random.Generator) -> tuple[float, float]:
    """Distance of the population minimiser from the truth, with and without the mask's term."""
    model = random_ising(rng, 3, complete_edges(3), 0.5, 0.5)
    family = ising_family(model)
    masks = random_adaptive_masks(rng, 3, [*all_subsets(3, 1), *all_subsets(3, 2)])
    counts = population_counts(exact_law(model), masks)
    right, wrong = (fit(family, masks, counts, naive=naive) for naive in (False, True))
    return (
        float(np.linalg.norm(right.theta[0] - family.truth)),
        float(np.linalg.norm(wrong.theta[0] - family.truth)),
    )


def frozen_hessian_eigenvalue() -> tuple[float, float]:
    """Smallest eigenvalue of H if the mask reveals the spin it hides, and if it need not."""
    family = ising_family(ising_on_graph(2, [(0, 1)], 0.5, 0.2), "fields")
    second_up = np.array([0.0, 1.0, 0.0, 1.0])
    found = []
    for leak in (0.0, 0.1):
        first = leak + (1 - 2 * leak) * second_up
        masks = Masks(2, ((0,), (1,)), np.stack([first, 1 - first]))
        hessian = hessian_by_mask(family, masks).sum(axis=0)
        found.append(float(np.linalg.eigvalsh(hessian)[0]))
    return found[0], found[1]


@dataclass(frozen=True)
class PairChain:
    """Defects and forms of the chain on pairs (S, x), adaptive masks unless said otherwise."""

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
    sets = [*all_subsets(3, 1), *all_subsets(3, 2)]
    fixed = weighted_masks(3, sets, rng.dirichlet(np.ones(len(sets))))
    adaptive = random_adaptive_masks(rng, 3, sets)
    kernel = dynamics.pair_kernel(law, adaptive)
    weights = dynamics.pair_law(law, adaptive)
    on_x = dynamics.block_kernel(law, adaptive)
    short = np.sort(np.linalg.eigvals(on_x).real)[::-1]
    # A product A B and B A share their non-zero spectrum; the rest of the longer one is zero.
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


@dataclass(frozen=True)
class ParallelChain:
    """Independent parallel sampling on a clique against its closed-form stationary law."""

    smallest: float
    defect: float
    stationarity: float
    plus: float
    minus: float
    model_plus: float
    model_minus: float


def parallel_chain() -> ParallelChain:
    """A clique of 6 spins with J = 0.5 and h = 0.1."""
    model = ising_on_graph(6, complete_edges(6), 0.5, 0.1)
    kernel, law = dynamics.parallel_kernel(model), dynamics.parallel_law(model)
    own = exact_law(model)
    return ParallelChain(
        smallest=float(kernel.min()),
        defect=dynamics.reversibility_defect(law, kernel),
        stationarity=dynamics.stationarity_defect(law, kernel),
        plus=float(law[-1]),
        minus=float(law[0]),
        model_plus=float(own[-1]),
        model_minus=float(own[0]),
    )


def single_spin_kernel_distance(rng: np.random.Generator) -> tuple[float, float]:
    """1-Gibbs on 3 independent spins: proven distance from product laws, and the nearest found."""
    law = exact_law(ising_on_graph(3, [], 0.0, 0.1))
    kernel = dynamics.block_kernel(law, uniform_masks(3, 1))
    proven = max(moves_bound(kernel, state) for state in range(8))
    found = max(nearest_product(kernel[state], rng)[0] for state in range(8))
    return proven, found


def tensorisation_of_fit() -> tuple[float, float]:
    """C_AT of a truth of independent spins (exactly N / k), and KL(truth || fit) over its
    conditional form for a coupled fit: more than that constant allows."""
    truth = exact_law(ising_on_graph(3, [], 0.0, 1.0))
    fitted = exact_law(ising_on_graph(3, complete_edges(3), 0.5, 0.0))
    return 3.0, tensorisation_ratio(truth, fitted, uniform_masks(3, 1))


def hoeffding_floor() -> list[tuple[int, float, float, float]]:
    """(m, printed bound, Chernoff bound, exp(-m/2)) at a very strong coupling."""
    rows = []
    for m in (8, 16, 32):
        model = Clique(m, m, 5.0, 0.0)
        rows.append(
            (
                m,
                regimes.stay_failure_hoeffding(model),
                regimes.stay_failure_chernoff(model),
                float(np.exp(-m / 2)),
            )
        )
    return rows


def cover_shares() -> list[float]:
    """P(clique inside S) for blocks of 11 of 12, 290 of 300 and 299 of 300 spins."""
    cases = ((12, 6, 11), (300, 12, 290), (300, 12, 299))
    return [regimes.covers_clique(*case) for case in cases]


def clique_regimes() -> dict[str, regimes.Regime]:
    """Assumptions 5 to 7 for the clique models below, at delta = 0.05 and the steps they run."""
    return {
        f"J={coupling:g}, k={k}": regimes.regime(Clique(spins, clique, coupling, 0.1), k, 0.05, t)
        for spins, clique, coupling, k, t in (
            *((12, 6, j, 9, 10) for j in COUPLINGS),
            (10, 5, 0.02, 10, 10),
        )
    }


def hitting_against_coupling() -> list[tuple[float, float]]:
    """(J, P(larger mode within 10 steps of 9-Gibbs)) from the smaller mode; not monotone."""
    rows = []
    for coupling in COUPLINGS:
        kernel = clique_gibbs(Clique(12, 6, coupling, 0.1), 9)
        rows.append((coupling, float(hitting_curve(kernel, np.eye(7)[0], 6, 10)[-1])))
    return rows


def updates_at_weak_coupling() -> np.ndarray:
    """k times the mean hitting time for k = 1..10: rises with k at J = 0.02."""
    model = Clique(10, 5, 0.02, 0.1)
    return np.array([k * mean_hitting_time(clique_gibbs(model, k), 0, 5) for k in range(1, 11)])


def crossover_couplings() -> list[tuple[int, float]]:
    """(k, J) at which k-Gibbs and independent parallel sampling have equal mean times."""

    def advantage(coupling: float, k: int) -> float:
        model = Clique(12, 6, coupling, 0.1)
        gibbs = mean_hitting_time(clique_gibbs(model, k), 0, 6)
        return float(np.log(gibbs / mean_hitting_time(clique_parallel(model), 0, 6)))

    found = []
    for k in (1, 3, 6, 9):
        solved = scipy.optimize.root_scalar(
            advantage, args=(k,), bracket=(1e-3, 0.9), method="brentq", xtol=1e-6
        )
        found.append((k, float(solved.root)))
    return found
