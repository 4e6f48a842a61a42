"""benchmarks/lattice.py: its chains have the law of the model, by exact enumeration."""

import importlib
import sys

import jax
import numpy as np
import pytest

from padir.theory.enumeration import all_states, exact_law
from padir.theory.ising import ising_on_graph

SIDE, COUPLING, FIELD = 4, 0.3, 0.2


@pytest.fixture(scope="module")
def lattice(repository):
    sys.path.insert(0, str(repository / "benchmarks"))
    try:
        yield importlib.import_module("lattice")
    finally:
        sys.path.remove(str(repository / "benchmarks"))


def torus_edges(side: int) -> list[tuple[int, int]]:
    sites = np.arange(side * side).reshape(side, side)
    return [
        (int(a), int(b))
        for axis in (0, 1)
        for a, b in zip(sites.ravel(), np.roll(sites, -1, axis).ravel(), strict=True)
    ]


def unpacked(lattice, state) -> np.ndarray:
    """Spins [chains, row, column], as the state's docstring places them."""
    colours = np.asarray(state.colours)
    _, words, rows, half = colours.shape
    spins = np.zeros((words, lattice.CHAINS_PER_WORD, rows, 2 * half))
    for chain in range(lattice.CHAINS_PER_WORD):
        bits = (colours >> np.uint32(chain)) & 1
        for colour in (0, 1):
            for row in range(rows):
                spins[:, chain, row, (row + colour) % 2 :: 2] = bits[colour][:, row]
    return 2 * spins.reshape(-1, rows, 2 * half) - 1


def test_magnetisation_and_bonds_are_those_of_the_exact_law(lattice):
    edges = torus_edges(SIDE)
    model = ising_on_graph(SIDE * SIDE, edges, COUPLING, FIELD)
    law, states = exact_law(model), all_states(SIDE * SIDE)
    bond = np.mean([states[:, a] * states[:, b] for a, b in edges], axis=0)
    sampler = lattice.LatticeGibbs(SIDE, SIDE, COUPLING, FIELD)
    state = sampler.init(jax.random.key(0), 4096)
    for key in jax.random.split(jax.random.key(1), 60):
        state = jax.jit(sampler.step)(key, state)
    spins = unpacked(lattice, state).reshape(-1, SIDE * SIDE)
    for exact, sampled in (
        (law @ states.mean(axis=1), spins.mean(axis=1)),
        (law @ bond, np.mean([spins[:, a] * spins[:, b] for a, b in edges], axis=0)),
    ):
        error = sampled.std() / len(sampled) ** 0.5
        assert abs(sampled.mean() - exact) < 4 * error
