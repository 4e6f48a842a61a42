"""One pass of parallel decoding against one step of k-Gibbs. Paper: section 2.4.1, appendix I."""

from typing import Any

import numpy as np

from padir.config.theory import ProductKernels
from padir.theory.claims import Claim, Outcome
from padir.theory.dynamics import block_kernel, mask_kernels
from padir.theory.enumeration import exact_law
from padir.theory.experiments.models import constants
from padir.theory.ising import complete_edges, ising_on_graph
from padir.theory.masks import uniform_masks
from padir.theory.product_kernels import (
    moves_bound,
    nearest_product,
    two_point_bound,
    two_spin_distance,
)


def run(settings: ProductKernels, seed: int) -> Outcome:
    """Smallest distances from product laws, given the block and averaged over blocks."""
    rng = np.random.default_rng(seed)
    n = settings.spins
    rows = []
    regime = {}
    for coupling in settings.couplings:
        model = ising_on_graph(n, complete_edges(n), coupling, settings.field)
        law = exact_law(model)
        regime[f"J={coupling:g}"] = constants(model)
        rows += [_row(law, coupling, k, rng) for k in range(1, n + 1)]
    dataset = f"complete graph of {n} spins, h = {settings.field:g}"
    given = {k: [r["given_found"] for r in rows if r["k"] == k] for k in range(1, n + 1)}
    bounds = {k: [r["given_bound"] for r in rows if r["k"] == k] for k in range(1, n + 1)}
    joint = {k: line for k, line in given.items() if k > 1}
    coupled = [
        v for line in joint.values() for j, v in zip(settings.couplings, line, strict=True) if j > 0
    ]
    even = {k: line for k, line in joint.items() if (n - k) % 2 == 0}
    odd = {k: line for k, line in joint.items() if (n - k) % 2 == 1}
    shown = (
        "; ".join(f"k={k}: " + ", ".join(f"{v:.4f}" for v in line) for k, line in given.items())
        + f" for J = {', '.join(f'{c:g}' for c in settings.couplings)}"
    )
    pairs = [(c, *_two_spins(c, rng)) for c in settings.couplings]
    gap = max(abs(found - exact) for _, found, exact in pairs)
    return Outcome(
        regimes=regime,
        series={"rows": rows, "two_spins": pairs},
        claims=[
            Claim(
                "product_steps.k_gibbs",
                "2.4.1, appendix I",
                "A step of k-Gibbs with k > 1 is not a product law, so one parallel pass cannot"
                " make it.",
                "not implementable by parallel decoding",
                shown,
                "for k > 1 the smallest distance found is above 1e-6 at every J > 0, and for each"
                " such k the proven lower bound is positive at some J",
                bool(min(coupled) > 1e-6 and all(max(b) > 0 for k, b in bounds.items() if k > 1)),
                dataset,
            ),
            Claim(
                "product_steps.grows_with_coupling",
                "2.4.1, 2.4.2",
                "The distance grows with the coupling if the visible spins can balance; else it"
                " falls again, as a strongly coupled block follows its surroundings.",
                "not discussed",
                shown,
                "with an even number of visible spins the distance does not fall with J; with an"
                " odd number its largest J is not its peak",
                bool(
                    all(np.all(np.diff(v) >= -1e-6) for v in even.values())
                    and all(v[-1] < max(v) for v in odd.values())
                ),
                dataset,
            ),
            Claim(
                "product_steps.two_spins",
                "2.4.1, appendix I",
                "For two spins agreeing with probability r the smallest distance is sqrt(2r) - 1.",
                "not stated",
                f"largest difference between search and closed form {gap:.2g}",
                "below 1e-6 at every coupling",
                bool(gap < 1e-6),
                "two spins without fields",
            ),
            Claim(
                "product_steps.one_gibbs_given",
                "2.4.1",
                "A step of 1-Gibbs is a product law, given the chosen position.",
                "1-Gibbs encodes a product distribution for each transition",
                f"largest distance found {max(given[1]):.2g}",
                "below 1e-9",
                bool(max(given[1]) < 1e-9),
                dataset,
            ),
        ],
    )


def _two_spins(coupling: float, rng: np.random.Generator) -> tuple[float, float]:
    """Search and closed form for two spins without fields."""
    law = exact_law(ising_on_graph(2, [(0, 1)], coupling, 0.0))
    return nearest_product(law, rng)[0], two_spin_distance(1 / (1 + np.exp(-2 * coupling)))


def _row(law: np.ndarray, coupling: float, k: int, rng: np.random.Generator) -> dict[str, Any]:
    n = int(law.size).bit_length() - 1
    masks = uniform_masks(n, k)
    # Every k-subset of a complete graph is alike: take the first, and all states of the rest.
    block = masks.sets[0]
    step = mask_kernels(law, masks)[0]
    found, bound = 0.0, 0.0
    seen: set[tuple[float, ...]] = set()
    for state in range(law.size):
        conditional = step[state][step[state] > 0]
        name = tuple(np.round(conditional, 12))
        if name in seen:
            continue
        seen.add(name)
        distance, _ = nearest_product(conditional, rng, starts=24)
        found = max(found, distance)
        bound = max(bound, two_point_bound(conditional))
    averaged = block_kernel(law, masks)
    worst, up = max(
        (nearest_product(averaged[state], rng, starts=24) for state in (0, 1, law.size - 1)),
        key=lambda pair: pair[0],
    )
    return {
        "coupling": coupling,
        "k": k,
        "block": list(block),
        "given_found": found,
        "given_bound": bound,
        "averaged_found": worst,
        "averaged_up": up,
        "averaged_bound_by_moves": moves_bound(averaged, 0) if k == 1 else None,
    }
