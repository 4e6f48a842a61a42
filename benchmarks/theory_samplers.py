"""Speed of the Ising samplers: spin updates per second, against plain NumPy and thrml.

    python benchmarks/theory_samplers.py [--side 256] [--chains 64] [--out F.json]

One process. On the lattice the samplers take turns, and a ratio is the median over rounds of the
ratio within a round; elsewhere the best of several runs after compilation counts. thrml is timed
only where it is installed. Random numbers alone are timed too: the same words are drawn and folded
into one. The last table shows how cost grows: 2^N where states are listed, linear in chains and
samples.
"""

import argparse
import importlib.util
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import speed
from lattice import PRECISION, LatticeGibbs, key_words, threefry_words

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


def lattice_packed(side: int, chains: int, sweeps: int) -> dict[str, Callable[[], object]]:
    """The packed sampler, and its random words alone; a call makes `sweeps` sweeps."""
    sampler = LatticeGibbs(side, side, 0.4)
    state = sampler.init(jax.random.key(0), chains)

    @jax.jit
    def run(key, state):
        return jax.lax.scan(lambda s, key: (sampler.step(key, s), None), state,
                            jax.random.split(key, sweeps))[0]  # fmt: skip

    sites = jnp.arange(state.colours[0].size, dtype=jnp.uint32).reshape(state.colours[0].shape)

    @jax.jit
    def words(key):
        def sweep(total, key):
            def draw(turn, total):
                left, right = threefry_words(key_words(key), sites, turn.astype(jnp.uint32))
                return total ^ left ^ right

            return jax.lax.fori_loop(0, PRECISION // 2, draw, total), None

        keys = jax.random.split(key, 2 * sweeps)
        return jax.lax.scan(sweep, jnp.zeros_like(sites), keys)[0]

    return {
        "lattice": lambda: jax.block_until_ready(run(jax.random.key(1), state)),
        "lattice, random numbers": lambda: jax.block_until_ready(words(jax.random.key(1))),
    }


def lattice_numpy(side: int, chains: int, sweeps: int) -> dict[str, Callable[[], object]]:
    """The same sweeps in plain NumPy: one float32 uniform per spin."""
    rng = np.random.default_rng(0)
    rows, columns = np.indices((side, side))
    colours = [((rows + columns) % 2 == c)[None] for c in (0, 1)]
    spins = np.where(rng.random((chains, side, side), np.float32) < 0.5, 1, -1).astype(np.int8)

    def run() -> None:
        nonlocal spins
        for _ in range(sweeps):
            for colour in colours:
                total = sum(np.roll(spins, shift, axis) for shift in (1, -1) for axis in (1, 2))
                table = 1 / (1 + np.exp(-0.8 * np.arange(-4, 5, dtype=np.float32)))
                draw = rng.random(spins.shape, np.float32) < table[total + 4]
                spins = np.where(colour, 2 * draw.astype(np.int8) - 1, spins)

    def words() -> None:
        for _ in range(2 * sweeps):
            rng.random(spins.shape, np.float32)

    return {"NumPy": run, "NumPy, random numbers": words}


def lattice_thrml(side: int, chains: int, sweeps: int) -> dict[str, Callable[[], object]]:
    """thrml's block Gibbs on the same torus, if it is installed."""
    if importlib.util.find_spec("thrml") is None:
        return {}
    from thrml import Block, SamplingSchedule, SpinNode, sample_states
    from thrml.models import IsingEBM, IsingSamplingProgram, hinton_init

    nodes = [[SpinNode() for _ in range(side)] for _ in range(side)]
    edges = [
        (nodes[r][c], nodes[(r + i) % side][(c + j) % side])
        for r in range(side)
        for c in range(side)
        for i, j in ((0, 1), (1, 0))
    ]
    flat = [node for row in nodes for node in row]
    model = IsingEBM(flat, edges, jnp.zeros(len(flat)), jnp.full(len(edges), 0.4), jnp.array(1.0))
    free = [
        Block([nodes[r][c] for r in range(side) for c in range(side) if (r + c) % 2 == colour])
        for colour in (0, 1)
    ]
    program = IsingSamplingProgram(model, free, clamped_blocks=[])
    start_key, run_key = jax.random.split(jax.random.key(0))
    start = hinton_init(start_key, model, free, (chains,))
    schedule = SamplingSchedule(n_warmup=sweeps, n_samples=1, steps_per_sample=1)
    run = jax.jit(
        jax.vmap(lambda s, k: sample_states(k, program, schedule, s, [], [Block(flat[:1])]))
    )
    keys = jax.random.split(run_key, chains)
    return {"thrml": lambda: jax.block_until_ready(run(start, keys))}


def lattice_rates(side: int, chains: int, sweeps: int, seconds: float) -> dict[str, dict]:
    """Spin updates per second of each sampler, and how many times longer it takes than `lattice`.

    Returns:
        by sampler: "updates" per second in the median round, "random_share" of its time where
        random numbers were timed alone, and "ratio" with the quartiles over rounds.
    """
    group = {
        **lattice_packed(side, chains, sweeps),
        **lattice_thrml(side, chains, sweeps),
        **lattice_numpy(side, chains, sweeps),
    }
    times = speed.race(group, seconds, time.perf_counter)
    rates = {}
    for name in ("lattice", "thrml", "NumPy"):
        if name in times:
            median = float(np.median(times[name]))
            rates[name] = {
                "updates": 1e3 * side * side * chains * sweeps / median,
                "ratio": speed.ratio(times, "lattice", name),
                "rounds": len(times[name]),
            }
            alone = times.get(f"{name}, random numbers")
            if alone:
                rates[name]["random_share"] = float(np.median(alone)) / median
    return rates


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
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--chains", type=int, default=64)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60, help="of the lattice's rounds")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    lattice = lattice_rates(arguments.side, arguments.chains, arguments.sweeps, arguments.seconds)
    print(f"load average {load:.2f} at the start")
    print(f"1-Gibbs, {arguments.side} x {arguments.side} torus, {arguments.chains} chains")
    for name, row in lattice.items():
        share = f", random numbers {row['random_share']:.0%}" if "random_share" in row else ""
        ratio = row["ratio"]
        print(
            f"  {name:<8} {row['updates'] / 1e6:8.0f} million spin updates/s{share}; takes"
            f" {ratio['median']:.1f} times as long as lattice ({ratio['low']:.1f} to"
            f" {ratio['high']:.1f}, {row['rounds']} rounds)"
        )
    clique = clique_rates(4000, 100)
    print("block-k updates, clique of 6 among 12 spins, 4000 chains")
    for row in clique:
        print(f"  k={row['k']:<3} {row['method']:<10} {float(row['updates']) / 1e6:8.2f} million/s")
    table = growth()
    print("growth of cost")
    for row in table:
        print(f"  {row['what']:<38} {row['size']:>6}  {1e3 * float(row['seconds']):8.2f} ms")
    if arguments.out:
        document = {"load_average": load, "lattice": lattice, "clique": clique, "growth": table}
        arguments.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
