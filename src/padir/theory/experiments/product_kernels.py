"""Distance of a k-Gibbs step from product distributions. Paper: section 2.4.1, appendix I."""

from typing import Any

import numpy as np

from padir.config.theory import ProductKernels
from padir.theory.dynamics import block_kernel, constants, mask_kernels, parallel_kernel
from padir.theory.enumeration import all_states, exact_law, spin_count
from padir.theory.ising import complete_edges, ising_on_graph
from padir.theory.masks import uniform_masks
from padir.theory.product_kernels import (
    nearest_product,
    product_distance,
    two_point_bound,
    two_spin_distance,
)
from padir.theory.runs import Claim, Outcome

SEARCH_ERROR = 1e-6
EXACT = 1e-12


def run(settings: ProductKernels, seed: int) -> Outcome:
    """Smallest distances from product laws, given the block and averaged over blocks."""
    rng = np.random.default_rng(seed)
    n, couplings = settings.spins, settings.couplings
    rows, parallel, regimes = [], [], {}
    for coupling in couplings:
        model = ising_on_graph(n, complete_edges(n), coupling, settings.field)
        law = exact_law(model)
        regimes[f"J={coupling:g}"] = constants(model)
        parallel.append(_distance_from_conditionals(parallel_kernel(model), law))
        rows += [_row(law, coupling, k, rng) for k in range(1, n + 1)]
    pairs = [(coupling, *_two_spins(coupling, rng)) for coupling in couplings]
    return Outcome(
        regimes=regimes,
        series={"rows": rows, "two_spins": pairs},
        claims=[_parallel_claim(max(parallel)), *_claims(settings, rows, pairs)],
        dataset=f"complete graph of {n} spins, h = {settings.field:g}",
    )


def _distance_from_marginals(laws: np.ndarray) -> float:
    """Largest total variation of a law from the product of its marginals; laws (rows, 2^N)."""
    return _largest_distance(laws, laws @ (all_states(spin_count(laws[0])) > 0))


def _distance_from_conditionals(kernel: np.ndarray, law: np.ndarray) -> float:
    """Largest total variation of a row from the product of all p(x_i | x_-i); kernel (2^N, 2^N)."""
    spins = spin_count(law)
    given = mask_kernels(law, uniform_masks(spins, 1))
    up = [step @ (all_states(spins)[:, i] > 0) for i, step in enumerate(given)]
    return _largest_distance(kernel, np.stack(up, axis=1))


def _largest_distance(laws: np.ndarray, up: np.ndarray) -> float:
    return max(float(product_distance(*row)) for row in zip(laws, up, strict=True))


def _parallel_claim(distance: float) -> Claim:
    return Claim(
        "product_steps.parallel",
        "2.4.1",
        "A parallel step, in which all spins are drawn at once, is a product law.",
        "exact",
        f"largest distance from the product of the joint law's conditionals {distance:.2g}",
        f"below {EXACT:g} from every state at every coupling",
        distance < EXACT,
    )


def _claims(
    settings: ProductKernels, rows: list[dict[str, Any]], pairs: list[tuple[float, float, float]]
) -> list[Claim]:
    n, couplings = settings.spins, settings.couplings
    distances = {k: [r["given_found"] for r in rows if r["k"] == k] for k in range(1, n + 1)}
    coupled = [r["given_marginals"] for r in rows if r["k"] > 1 and r["coupling"] != 0]
    even = [line for k, line in distances.items() if k > 1 and (n - k) % 2 == 0]
    odd = [line for k, line in distances.items() if k > 1 and (n - k) % 2 == 1]
    measured = "; ".join(
        f"k={k}: " + ", ".join(f"{v:.4f}" for v in line) for k, line in distances.items()
    )
    measured += f" for J = {', '.join(f'{coupling:g}' for coupling in couplings)}"
    difference = max(abs(searched - exact) for _, searched, exact in pairs)
    return [
        Claim(
            "product_steps.k_gibbs",
            "2.4.1, appendix I",
            "A step of k-Gibbs with k > 1 is no product law, so no single parallel pass implements"
            " it.",
            "not implementable by parallel decoding",
            f"{measured}; from the product of its own marginals at least {min(coupled):.2g} at"
            " k > 1, J not 0",
            f"for k > 1 the distance from the product of its own marginals, which a product law"
            f" equals, is above {EXACT:g} at every J but 0",
            min(coupled) > EXACT,
        ),
        Claim(
            "product_steps.grows_with_coupling",
            "2.4.1, 2.4.2",
            "The distance grows with the coupling if the visible spins can balance; with an odd"
            " number of visible spins a strongly coupled block follows them and the distance falls"
            " again.",
            "not discussed",
            measured,
            "with an even number of visible spins the distance does not fall with J; with an"
            " odd number its largest J is not its peak",
            all(np.all(np.diff(line) >= -SEARCH_ERROR) for line in even)
            and all(line[-1] < max(line) for line in odd),
        ),
        Claim(
            "product_steps.two_spins",
            "2.4.1, appendix I",
            "For two spins that agree with probability r the smallest distance is sqrt(2r) - 1."
            + (" At J < 0 they disagree more often: sqrt(2 - 2r) - 1." if couplings[0] < 0 else ""),
            "not stated",
            f"largest difference between search and closed form {difference:.2g}",
            "below 1e-6 at every coupling",
            difference < SEARCH_ERROR,
            dataset="two spins without fields",
        ),
        Claim(
            "product_steps.one_gibbs_given",
            "2.4.1",
            "A step of 1-Gibbs is a product law given the resampled position.",
            "1-Gibbs encodes a product distribution for each transition",
            f"largest distance found {max(distances[1]):.2g}",
            "below 1e-9",
            max(distances[1]) < 1e-9,
        ),
    ]


def _two_spins(coupling: float, rng: np.random.Generator) -> tuple[float, float]:
    """Searched and exact distance for two spins without fields."""
    law = exact_law(ising_on_graph(2, [(0, 1)], coupling, 0.0))
    return nearest_product(law, rng)[0], two_spin_distance(1 / (1 + np.exp(-2 * coupling)))


def _row(law: np.ndarray, coupling: float, k: int, rng: np.random.Generator) -> dict[str, Any]:
    spins = spin_count(law)
    masks = uniform_masks(spins, k)
    # All k-subsets of a complete graph are equivalent: take the first, and every visible state.
    step = mask_kernels(law, masks)[0]
    conditionals = _different(np.stack([row[row > 0] for row in step]))
    # So are all states with as many spins up.
    averaged = block_kernel(law, masks)[[2**up - 1 for up in range(spins + 1)]]
    return {
        "coupling": coupling,
        "k": k,
        "block": masks.sets[0],
        "given_found": _largest_found(conditionals, rng),
        "given_bound": max(map(two_point_bound, conditionals)),
        "given_marginals": _distance_from_marginals(conditionals),
        "averaged_found": _largest_found(_different(averaged), rng),
    }


def _different(laws: np.ndarray) -> np.ndarray:
    """Laws (rows, 2^N) that differ, also if all spins turn: then distances are the same."""
    either = (min(row, row[::-1]) for row in np.round(laws, 12).tolist())
    return laws[list({tuple(row): i for i, row in enumerate(either)}.values())]


def _largest_found(laws: np.ndarray, rng: np.random.Generator) -> float:
    return max(nearest_product(law, rng, starts=24)[0] for law in laws)
