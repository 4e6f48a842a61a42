"""Speed of the Ising samplers: spin updates per second, against plain NumPy.

    python benchmarks/theory_samplers.py [--out F.json]

One process, best of several timed runs after compilation. The last table shows how
cost grows: 2^N where states are listed, linear in chains and samples.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from padir.theory.dynamics import block_dirichlet_form
from padir.theory.enumeration import exact_law
from padir.theory.ising import clique_model, cycle_edges, ising_on_graph
from padir.theory.local import LocalLoss, random_subsets, sample_cycle
from padir.theory.lumped import Clique
from padir.theory.masks import uniform_masks
from padir.theory.samplers import clique_gibbs_sampler, independent_parallel, k_gibbs

REPEATS = 5


def best_seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Shortest of several runs, the first (compilation) left out."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def clique_rates(chains: int, steps: int) -> list[dict[str, float | str | int]]:
    """Block-k updates on the clique of 6 among 12 spins; k spins count as k updates."""
    rows: list[dict[str, float | str | int]] = []
    lumped = Clique(12, 6, 0.5, 0.1)
    model = clique_model(12, 6, 0.5, 0.1)
    for k in (1, 3, 6, 11):
        for name, sampler in (
            ("counts", clique_gibbs_sampler(lumped, k)),
            ("any graph", k_gibbs(model, k)),
        ):
            start = sampler.init(jax.random.key(0), chains)

            @jax.jit
            def run(key, state, sampler=sampler):
                return jax.lax.scan(lambda s, key: (sampler.step(key, s)[0], None), state,
                                    jax.random.split(key, steps))[0]  # fmt: skip

            seconds = best_seconds(
                lambda run=run, start=start: jax.block_until_ready(run(jax.random.key(1), start)), 2
            )
            rows.append({"k": k, "method": name, "updates": k * chains * steps / seconds})
        rows.append({"k": k, "method": "NumPy", "updates": _clique_numpy(model, k, chains, steps)})
    return rows


def _clique_numpy(model, k: int, chains: int, steps: int) -> float:
    """Plain NumPy: all 2^k block states of every chain."""
    rng = np.random.default_rng(0)
    states = (((np.arange(2**k)[:, None] >> np.arange(k)) & 1) * 2 - 1).astype(np.float64)
    spins = np.where(rng.random((chains, 12)) < 0.5, 1.0, -1.0)
    rows = np.arange(chains)[:, None]
    steps = max(2, steps // 20)

    def run() -> None:
        for _ in range(steps):
            chosen = np.argpartition(rng.random((chains, 12)), k - 1, axis=1)[:, :k]
            block = model.coupling[chosen[:, :, None], chosen[:, None, :]]
            inside = spins[rows, chosen]
            field = (model.field + spins @ model.coupling)[rows, chosen]
            field = field - np.einsum("bij,bj->bi", block, inside)
            logits = field @ states.T + 0.5 * np.einsum("ci,bij,cj->bc", states, block, states,
                                                        optimize=True)  # fmt: skip
            law = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
            pick = np.sum(law <= rng.random((chains, 1)) * law[:, -1:], axis=1)
            spins[rows, chosen] = states[np.minimum(pick, 2**k - 1)]

    return k * chains * steps / best_seconds(run, 2)


def growth() -> list[dict[str, float | str | int]]:
    """Seconds against size."""
    rows: list[dict[str, float | str | int]] = []
    for n in (8, 10, 12, 14):
        model = ising_on_graph(n, cycle_edges(n), 0.3, 0.2)
        law, masks = exact_law(model), uniform_masks(n, 1)
        f = np.random.default_rng(0).standard_normal(2**n)
        seconds = best_seconds(
            lambda law=law, masks=masks, f=f: block_dirichlet_form(law, masks, f), 3
        )
        rows.append({"what": "Dirichlet form by enumeration (N 2^N)", "size": n,
                     "seconds": seconds})  # fmt: skip
    sampler = independent_parallel(clique_model(12, 6, 0.5, 0.1))
    for chains in (10_000, 20_000, 40_000, 80_000):
        state = sampler.init(jax.random.key(0), chains)

        @jax.jit
        def run(key, state):
            return jax.lax.scan(lambda s, key: (sampler.step(key, s)[0], None), state,
                                jax.random.split(key, 20))[0]  # fmt: skip

        seconds = best_seconds(
            lambda run=run, state=state: jax.block_until_ready(run(jax.random.key(1), state)), 3
        )
        rows.append({"what": "20 parallel steps (chains)", "size": chains, "seconds": seconds})
    rng = np.random.default_rng(0)
    for samples in (1000, 2000, 4000, 8000):
        spins = sample_cycle(rng, np.full(100, 0.2), np.full(100, 0.3), samples)
        loss = LocalLoss(spins, random_subsets(rng, samples, 100, 8), cycle_edges(100))
        seconds = best_seconds(lambda loss=loss: loss(np.zeros(200)), 3)
        rows.append({"what": "local loss, k = 8 (samples)", "size": samples, "seconds": seconds})
    return rows


def main() -> None:
    """Measure, print, and write JSON with --out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    clique = clique_rates(4000, 100)
    print("block-k updates, clique of 6 among 12 spins, 4000 chains")
    for row in clique:
        print(f"  k={row['k']:<3} {row['method']:<10} {float(row['updates']) / 1e6:8.2f} million/s")
    table = growth()
    print("growth of cost")
    for row in table:
        print(f"  {row['what']:<38} {row['size']:>6}  {1e3 * float(row['seconds']):8.2f} ms")
    if arguments.out:
        document = {"clique": clique, "growth": table}
        arguments.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
