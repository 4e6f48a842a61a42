"""k-Gibbs over positions against exact enumeration: 3 pieces at 3 positions, 27 states.

The model is a table: logits for each input that the decoder can read, of a mask or a piece at each
position. No joint need belong to it, as with trained ones. The kernels that it is compared with are
written here in NumPy, from the formulas in the docstring of `padir.decode.gibbs`.
"""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode.gibbs import (
    Frame,
    KGibbs,
    Sampler,
    Sampling,
    State,
    choose_block,
    hiding_tokens,
)
from padir.ids import EOS, FIRST_PIECE, MASK
from tests.decoding import LINES, tiny_model

pytestmark = pytest.mark.slow

PIECES, LENGTH = 3, 3
STATES = np.array(list(itertools.product(range(PIECES), repeat=LENGTH)))
HIDDEN = PIECES
"""In the table's input: the mask token."""


def random_table(scale=1.0):
    """Logits [input at 0, at 1, at 2, position, piece]."""
    generator = np.random.default_rng(5)
    return scale * generator.normal(size=(PIECES + 1,) * LENGTH + (LENGTH, PIECES))


def consistent_table(joint):
    """Logits of a joint's conditionals where one position is hidden; zero elsewhere."""
    table = np.zeros((PIECES + 1,) * LENGTH + (LENGTH, PIECES))
    cube = np.log(joint).reshape((PIECES,) * LENGTH)
    for state in STATES:
        for i in range(LENGTH):
            inputs, index = list(state), list(state)
            inputs[i], index[i] = HIDDEN, slice(None)
            table[(*inputs, i)] = cube[tuple(index)]
    return table


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def fills(kind):
    """Fillers of all positions that are equally likely."""
    return [(HIDDEN,) * LENGTH] if kind == "mask" else list(map(tuple, STATES))


def exact_energy(table, fill):
    """E of all states."""
    total = np.zeros(len(STATES))
    for number, state in enumerate(STATES):
        for i in range(LENGTH):
            inputs = list(state)
            inputs[i] = fill[i]
            total[number] -= np.log(softmax(table[(*inputs, i)])[state[i]])
    return total


def exact_kernel(table, kind, block, temperature, energies=None):
    """The transition matrix; with Metropolis-Hastings where energies are given."""
    kernel = np.zeros((len(STATES), len(STATES)))
    blocks = list(itertools.combinations(range(LENGTH), block))
    share = 1 / len(blocks) / len(fills(kind))
    for chosen, fill, old in itertools.product(blocks, fills(kind), range(len(STATES))):
        inputs = [fill[i] if i in chosen else STATES[old][i] for i in range(LENGTH)]
        q = softmax(table[tuple(inputs)] / temperature)
        for new in range(len(STATES)):
            if all(STATES[old][i] == STATES[new][i] for i in range(LENGTH) if i not in chosen):
                forward = np.prod([q[i, STATES[new][i]] for i in chosen])
                back = np.prod([q[i, STATES[old][i]] for i in chosen])
                accept = 1.0
                if energies is not None:
                    change = np.exp((energies[old] - energies[new]) / temperature)
                    accept = min(1.0, change * back / forward)
                kernel[old, new] += share * forward * accept
                kernel[old, old] += share * forward * (1 - accept)
    return kernel


def law(energies, temperature):
    return softmax(-energies / temperature)


def chains_of(table, kind, sampling):
    """The code's kernel on the table."""
    # Ids 0 to 7 but the mask are never read, and never predicted.
    looked_up = jnp.asarray(table, jnp.float32)

    def conditionals(inputs, visible, hidden, at):
        seen = jnp.where(inputs == MASK, HIDDEN, inputs - FIRST_PIECE)[:, :LENGTH]
        logits = looked_up[seen[:, 0], seen[:, 1], seen[:, 2]]
        asked = jnp.take_along_axis(logits, jnp.minimum(at, LENGTH - 1)[..., None], axis=1)
        special = jnp.full((*asked.shape[:2], FIRST_PIECE), -jnp.inf)
        return jnp.concatenate([special, asked], axis=-1)

    return KGibbs(conditionals, partial(hiding_tokens, kind, FIRST_PIECE + PIECES), sampling)


def frame_of(rows, seed, energy_fill=(HIDDEN,) * LENGTH):
    """Chains of independent keys; EOS stands at the end."""
    position = jnp.broadcast_to(jnp.arange(LENGTH + 1)[None], (rows, LENGTH + 1))
    fill = np.array([*(MASK if f == HIDDEN else FIRST_PIECE + f for f in energy_fill), EOS])
    return Frame(
        keys=jax.random.split(jax.random.key(seed, impl="threefry2x32"), rows),
        is_piece=position < LENGTH,
        visible=position <= LENGTH,
        fill=jnp.asarray(np.broadcast_to(fill, position.shape), jnp.int32),
    )


def state_of(kernel, frame, numbers):
    """Given states with their energies."""
    ends = np.full((len(numbers), 1), EOS)
    tokens = jnp.asarray(np.hstack([STATES[numbers] + FIRST_PIECE, ends]), jnp.int32)
    measured = jax.jit(kernel.energy)(frame, tokens)
    return State(tokens, measured, tokens, measured)


def number_of(tokens):
    """Which of the 27 states; EOS must have stayed."""
    tokens = np.asarray(tokens)
    assert (tokens[:, LENGTH] == EOS).all()
    return (tokens[:, :LENGTH] - FIRST_PIECE) @ PIECES ** np.arange(LENGTH)[::-1]


def assert_frequencies(counts, probability, draws):
    """Within five standard errors, of at least one draw; what is impossible never happens."""
    counts, probability = np.broadcast_arrays(counts, probability)
    error = np.sqrt(np.maximum(probability * (1 - probability), 1 / draws) / draws)
    worst = np.abs(counts / draws - probability) / error
    assert worst.max() < 5, (worst.max(), np.unravel_index(worst.argmax(), worst.shape))
    assert (counts[probability == 0] == 0).all()


KERNELS = [
    *((kind, k, mh) for kind in ("mask", "random") for k in (1, 2) for mh in (False, True)),
    ("mask", 3, True),
]


@pytest.mark.parametrize(("kind", "block", "metropolis"), KERNELS)
def test_one_step_is_that_of_the_enumerated_kernel(kind, block, metropolis):
    draws, temperature, table = 4000, 0.7, random_table()
    fill = (2, 0, 1) if kind == "random" else (HIDDEN,) * LENGTH
    kernel = chains_of(table, kind, Sampling(9, block, metropolis=metropolis))
    start = np.repeat(np.arange(len(STATES)), draws)
    frame = frame_of(len(start), 3, fill)
    state = state_of(kernel, frame, start)
    energies = exact_energy(table, fill)
    np.testing.assert_allclose(state.energy, energies[start], rtol=1e-5)
    after, taken = jax.jit(kernel.step)(frame, state, jnp.int32(4), jnp.float32(temperature))
    counts = np.zeros((len(STATES), len(STATES)))
    np.add.at(counts, (start, number_of(after.tokens)), 1)
    exact = exact_kernel(table, kind, block, temperature, energies if metropolis else None)
    assert_frequencies(counts, exact, draws)
    assert bool(taken.all()) != metropolis
    ended = number_of(after.tokens)
    if metropolis:
        assert (ended == start)[~np.asarray(taken)].all()
        np.testing.assert_allclose(after.energy, energies[ended], rtol=1e-5)
        least = np.minimum(energies[start], energies[ended])
        np.testing.assert_allclose(after.best_energy, least, rtol=1e-5)


@pytest.mark.parametrize("kind", ["mask", "random"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_the_correction_is_in_detailed_balance(kind, block):
    table, temperature = random_table(), 0.7
    energies = exact_energy(table, fills(kind)[5 % len(fills(kind))])
    kernel = exact_kernel(table, kind, block, temperature, energies)
    np.testing.assert_allclose(kernel.sum(axis=1), 1, atol=1e-12)
    flow = law(energies, temperature)[:, None] * kernel
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    plain = exact_kernel(table, kind, block, temperature)
    assert np.abs(law(energies, temperature) @ plain - law(energies, temperature)).max() > 1e-3


@pytest.mark.parametrize(("kind", "block"), [("mask", 1), ("mask", 2), ("random", 2)])
def test_corrected_chains_reach_the_law_of_their_energy(kind, block):
    """Independent chains, each read once: no autocorrelation. They start from one wrong state."""
    chains, steps, temperature, table = 20_000, 60, 0.8, random_table(0.4)
    fill = (2, 0, 1) if kind == "random" else (HIDDEN,) * LENGTH
    energies = exact_energy(table, fill)
    target = law(energies, temperature)
    exact = exact_kernel(table, kind, block, temperature, energies)
    assert np.abs(np.linalg.matrix_power(exact, steps) - target).max() < 1e-4
    sampling = Sampling(steps, block, temperature, temperature, metropolis=True)
    kernel = chains_of(table, kind, sampling)
    frame = frame_of(chains, 11, fill)
    last, trace, taken = jax.jit(kernel.run)(frame, jnp.asarray(sampling.temperatures))
    ended = number_of(last.tokens)
    assert_frequencies(np.bincount(ended, minlength=len(STATES)), target, chains)
    trace = np.asarray(trace)
    assert trace.shape == (chains, steps + 1)
    np.testing.assert_allclose(trace[:, -1], energies[ended], rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(last.best_energy), trace.min(axis=1))
    np.testing.assert_allclose(energies[number_of(last.best)], trace.min(axis=1), rtol=1e-5)
    same = trace[:, 1:] == trace[:, :-1]
    assert same[~np.asarray(taken)].all()
    assert 0.2 < taken.mean() < 0.99


@pytest.mark.parametrize(("block", "keeps"), [(1, True), (2, False)])
def test_single_positions_of_consistent_conditionals_keep_their_joint(block, keeps):
    """At temperature T, the joint to the power 1 / T. Independent draws in a block lose it."""
    joint, temperature, chains = softmax(np.random.default_rng(2).normal(size=27)), 0.6, 60_000
    table = consistent_table(joint)
    cold = softmax(np.log(joint) / temperature)
    kernel = chains_of(table, "mask", Sampling(1, block))
    exact = exact_kernel(table, "mask", block, temperature)
    assert (np.abs(cold @ exact - cold).max() < 1e-12) == keeps
    start = np.random.default_rng(3).choice(len(STATES), size=chains, p=cold)
    frame = frame_of(chains, 7)
    state = state_of(kernel, frame, start)
    for number in (1, 2, 3):
        state, _ = jax.jit(kernel.step)(frame, state, jnp.int32(number), jnp.float32(temperature))
    counts = np.bincount(number_of(state.tokens), minlength=len(STATES))
    if keeps:
        assert_frequencies(counts, cold, chains)
    else:
        with pytest.raises(AssertionError):
            assert_frequencies(counts, cold, chains)


def test_blocks_are_uniform_subsets_and_padding_changes_none():
    rows = 30_000
    keys = jax.random.split(jax.random.key(1), rows)
    is_piece = jnp.broadcast_to((jnp.arange(6) < 4)[None], (rows, 6))
    at, counts = choose_block(keys, is_piece, 2)
    assert bool(counts.all())
    pairs = np.sort(np.asarray(at), axis=1)
    blocks, number = np.unique(pairs, axis=0, return_counts=True)
    assert blocks.tolist() == [list(p) for p in itertools.combinations(range(4), 2)]
    assert_frequencies(number, np.full(6, 1 / 6), rows)
    padded = jnp.pad(is_piece, ((0, 0), (0, 5)))
    np.testing.assert_array_equal(choose_block(keys, padded, 2)[0], at)
    few, counts = choose_block(keys[:5], jnp.arange(6)[None] < jnp.arange(5)[:, None], 3)
    assert counts.sum(axis=1).tolist() == [0, 1, 2, 3, 3]
    assert (np.asarray(few) < np.arange(5)[:, None])[np.asarray(counts)].all()


def test_plain_chains_measure_energy_only_when_due():
    sampling = Sampling(8, 1, 1.0, 0.5, energy_every=3)
    np.testing.assert_allclose(sampling.temperatures[[0, -1]], [1.0, 0.5])
    kernel = chains_of(random_table(), "mask", sampling)
    frame = frame_of(50, 1)
    last, trace, taken = jax.jit(kernel.run)(frame, jnp.asarray(sampling.temperatures))
    measured = ~np.isnan(trace)
    assert measured[0].nonzero()[0].tolist() == [0, 3, 6, 8]
    assert (measured == measured[0]).all()
    np.testing.assert_array_equal(last.best_energy, np.nanmin(trace, axis=1))
    assert bool(taken.all())
    every = chains_of(random_table(), "mask", Sampling(8, 1, 1.0, 0.5))
    again, full, _ = jax.jit(every.run)(frame, jnp.asarray(sampling.temperatures))
    np.testing.assert_array_equal(again.tokens, last.tokens)
    np.testing.assert_array_equal(np.asarray(full)[measured], np.asarray(trace)[measured])


def test_cold_chains_take_the_likeliest_piece():
    table = random_table(3.0)
    kernel = chains_of(table, "mask", Sampling(1, 3))
    frame = frame_of(40, 2)
    first = kernel.init(frame, jnp.float32(1e-3)).tokens
    expected = table[HIDDEN, HIDDEN, HIDDEN].argmax(axis=-1) + FIRST_PIECE
    assert (np.asarray(first)[:, :LENGTH] == expected).all()


SYSTEMS = ["padir", "cmlm", "disco", "mixed"]
PLAIN = Sampling(6, 2, 1.0, 0.3, energy_every=2)
TESTED = Sampling(6, 1, 1.0, 0.3, metropolis=True)


def results(sampler, lines):
    """The chains of each line, empty ones included."""
    sources = sampler.vocabulary.encode(lines)
    filled = [index for index, source in enumerate(sources) if source]
    samples = [[] for _ in lines]
    for batch, several in sampler.batches([sources[index] for index in filled]):
        for index, chains in zip(batch.indices, several, strict=True):
            samples[filled[index]] = chains
    return samples


def sampler_of(loaded, sampling, chains=3, sentences=8):
    sampler = Sampler(loaded, sampling, 4, chains, sentences)
    sampler.vocabulary = loaded.vocabulary
    return sampler


def same(ours, theirs):
    for our_chains, their_chains in zip(ours, theirs, strict=True):
        for mine, yours in zip(our_chains, their_chains, strict=True):
            assert (mine.tokens, mine.best) == (yours.tokens, yours.best)
            np.testing.assert_array_equal(mine.taken, yours.taken)
            np.testing.assert_allclose(mine.energies, yours.energies, atol=1e-4)


@pytest.mark.parametrize(("system", "sampling"), [("padir", TESTED), ("cmlm", PLAIN)])
def test_a_chain_depends_on_model_seed_sentence_and_number_alone(system, sampling, tmp_path):
    """Not on the batch, its padding, the neighbours or the number of chains."""
    lines = [*LINES[2:6], ""]
    small = tiny_model(tmp_path / "small", system, buckets=(6,))
    large = tiny_model(tmp_path / "large", system, buckets=(16,))
    sampler = sampler_of(large, sampling, sentences=16)
    expected = results(sampler, lines)
    same(
        [several[:3] for several in results(sampler_of(small, sampling, 5, sentences=2), lines)],
        expected,
    )
    order = np.random.default_rng(0).permutation(len(lines))
    same(results(sampler, [lines[i] for i in order]), [expected[i] for i in order])
    states = [chain.tokens for several in expected for chain in several]
    assert len(set(states)) > 8
    assert any(several[0].tokens != several[2].tokens for several in expected if several)
    size = large.vocabulary.size
    for several in filter(None, expected):
        assert len({len(chain.tokens) for chain in several}) == 1
        assert all(
            FIRST_PIECE <= t < size for chain in several for t in (*chain.tokens, *chain.best)
        )
    sampler.seed += 1
    assert [chain.tokens for several in results(sampler, lines) for chain in several] != states


@pytest.mark.parametrize("system", SYSTEMS)
def test_energy_is_minus_the_sum_of_log_probabilities_hidden_alone(system, tmp_path):
    """Position by position, with the model's own pass over one hypothesis of its own length."""
    # Half of its sentences in training were hidden by masks.
    mixed = {"objective": {"corruption": "mixed"}} if system == "mixed" else {}
    loaded = tiny_model(tmp_path / "model", "padir" if mixed else system, **mixed)
    sampler = sampler_of(loaded, Sampling(3, 2), chains=1)
    source = loaded.vocabulary.encode([LINES[4]])[0]
    ((_, ((chain,),)),) = list(sampler.batches([source]))
    cross = loaded.model.encode(jnp.asarray([[*source, EOS]])).cross
    size, total = loaded.vocabulary.size, 0.0
    if system == "padir":
        # The filler, from the sentence's own stream.
        from padir.decode.policies import sentence_keys

        raw = sentence_keys(4, [source], 1)
        keys = jax.random.wrap_key_data(jnp.asarray(raw), impl="threefry2x32")
        keys = jax.vmap(lambda key: jax.random.fold_in(key, 0))(keys)
        fill = np.asarray(hiding_tokens("random", size, keys, len(chain.tokens)))[0]
        assert len(set(fill.tolist())) > 1
    count = len(chain.tokens)
    alone = np.eye(count, count + 1, dtype=bool)
    filler = np.append(fill, 0) if system == "padir" else MASK
    inputs = jnp.asarray(np.where(alone, filler, [*chain.tokens, EOS]), jnp.int32)
    seen = np.ones((count, count + 1), bool)
    if system == "disco":
        seen = np.repeat(~alone[:, None], count + 1, axis=1)
    logits = np.asarray(loaded.model.decode(inputs, cross, jnp.asarray(seen)))
    for i, token in enumerate(chain.tokens):
        total -= logits[i, i, token] - np.log(np.exp(logits[i, i, FIRST_PIECE:size]).sum())
    assert chain.energies[-1] == pytest.approx(total, abs=1e-4)
