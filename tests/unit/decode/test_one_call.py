"""A sentence in one call of an accelerator: the results of the calls that a CPU makes.

Here the accelerator is a CPU that passes for a GPU.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.decode import autoregressive, one_call, programs
from padir.decode.candidates import LengthRule
from padir.decode.latency import CompileClock
from padir.decode.one_call import OneCall
from padir.decode.programs import pack, unpack
from tests.decoding import LINES, tiny_translator

RULE = LengthRule(0.6, 1.0)
POLICIES = {
    "default": ("padir", {}),
    "masks": ("cmlm", {}),
    "drawn": ("padir", {"temperature": 1.0, "top_p": 0.9, "stop": "fixed", "restarts": 2}),
    "shortlist": ("cmlm", {"shortlist": 12}),
    "joint": ("padir", {"joint": "neighbours", "joint_reach": 2}),
}


def passes_for_gpu(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")


def alone(translator):
    """The candidates of each line, decoded one by one."""
    sources = translator.encode([line for line in LINES if line])
    return [translator.candidates([source])[0] for source in sources]


def assert_same(ours, theirs):
    for ours_of, theirs_of in zip(ours, theirs, strict=True):
        assert [c.tokens for c in ours_of] == [c.tokens for c in theirs_of]
        assert [(c.length, c.passes) for c in ours_of] == [(c.length, c.passes) for c in theirs_of]
        for our, their in zip(ours_of, theirs_of, strict=True):
            assert our.log_probability == pytest.approx(their.log_probability, abs=1e-4)
            assert our.length_log_probability == pytest.approx(
                their.length_log_probability, abs=1e-4
            )


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize(("kind", "policies"), POLICIES.values(), ids=POLICIES)
def test_one_call_gives_what_two_calls_give(tmp_path, monkeypatch, kind, policies, passes):
    on_cpu = alone(tiny_translator(tmp_path / "cpu", kind, passes, RULE, **policies))
    passes_for_gpu(monkeypatch)
    # This model's lengths have nothing to do with its sources.
    monkeypatch.setattr(one_call, "ROOM", 16)
    translator = tiny_translator(tmp_path / "gpu", kind, passes, RULE, **policies)
    monkeypatch.setattr(translator.refiner, "decode", None)
    assert_same(alone(translator), on_cpu)


def test_lengths_without_room_are_decoded_in_two_calls(tmp_path, monkeypatch):
    on_cpu = alone(tiny_translator(tmp_path / "cpu", "padir", 3, RULE, buckets=(4, 8, 16)))
    passes_for_gpu(monkeypatch)
    monkeypatch.setattr(one_call, "ROOM_PER_TOKEN", 0)
    monkeypatch.setattr(one_call, "ROOM", 1)
    translator = tiny_translator(tmp_path / "gpu", "padir", 3, RULE, buckets=(4, 8, 16))
    calls, decode = [], translator.refiner.decode
    monkeypatch.setattr(
        translator.refiner, "decode", lambda *call: calls.append(call) or decode(*call)
    )
    assert_same(alone(translator), on_cpu)
    without_room = sum(max(c.length for c in row) > 4 for row in on_cpu)
    assert 0 < len(calls) == without_room


def test_several_sentences_are_decoded_in_two_calls(tmp_path, monkeypatch):
    def together(folder):
        translator = tiny_translator(tmp_path / folder, "padir", 3, RULE)
        return translator, translator.encode([line for line in LINES if line])

    translator, sources = together("cpu")
    on_cpu = translator.candidates(sources)
    passes_for_gpu(monkeypatch)
    translator, sources = together("gpu")
    monkeypatch.setattr(OneCall, "__call__", None)
    assert_same(translator.candidates(sources), on_cpu)


def test_all_passes_share_a_program(tmp_path, monkeypatch):
    passes_for_gpu(monkeypatch)
    translator = tiny_translator(tmp_path / "gpu", "padir", 2, RULE)
    sources = translator.encode(["ba ko mi"])
    translator.candidates(sources)
    clock = CompileClock()
    translator.with_passes(5).candidates(sources)
    assert clock.count == 0


def test_as_many_lengths_as_there_are_have_room(tmp_path, monkeypatch):
    on_cpu = alone(tiny_translator(tmp_path / "cpu", "padir", 2, RULE, length_candidates=11))
    passes_for_gpu(monkeypatch)
    monkeypatch.setattr(one_call, "ROOM_PER_TOKEN", 0)
    translator = tiny_translator(
        tmp_path / "gpu", "padir", 2, RULE, buckets=(4, 8, 16), length_candidates=11
    )
    monkeypatch.setattr(translator.refiner, "decode", None)
    assert_same(alone(translator), on_cpu)


@pytest.mark.parametrize("kind", ["padir", "greedy", "beam"])
def test_an_accelerator_writes_into_memory_of_the_host(tmp_path, monkeypatch, kind):
    passes = 2 if kind == "padir" else None
    returned = []

    def noted(array, *types):
        returned.append(array.sharding.memory_kind)
        return unpack(array, *types)

    monkeypatch.setattr(one_call, "unpack", noted)
    monkeypatch.setattr(autoregressive, "unpack", noted)
    if kind == "padir":
        monkeypatch.setattr(one_call, "ROOM", 16)
    on_cpu = alone(tiny_translator(tmp_path / "cpu", kind, passes, RULE))
    assert "pinned_host" not in returned
    returned.clear()
    passes_for_gpu(monkeypatch)
    assert_same(alone(tiny_translator(tmp_path / "gpu", kind, passes, RULE)), on_cpu)
    assert set(returned) == {"pinned_host"}


def test_an_accelerator_without_such_memory_decodes_too(tmp_path, monkeypatch):
    on_cpu = alone(tiny_translator(tmp_path / "cpu", "padir", 2, RULE))
    passes_for_gpu(monkeypatch)
    monkeypatch.setattr(programs, "PINNED", "no such memory")
    assert_same(alone(tiny_translator(tmp_path / "gpu", "padir", 2, RULE)), on_cpu)


def test_packed_arrays_are_unpacked_bit_by_bit():
    tokens = np.arange(12, dtype=np.int32).reshape(2, 2, 3) - 5
    scores = np.array([[-0.0, np.inf], [1e-42, -3.25]], np.float32)
    counts = np.array([[1, -2], [3, 2**31 - 1]], np.int32)
    array = pack(*map(jnp.asarray, (tokens, scores, counts)))
    assert array.shape == (2, 2, 5)
    ours = unpack(array, np.float32, np.int32)
    for our, theirs in zip(ours, (tokens, scores, counts), strict=True):
        assert our.dtype == theirs.dtype
        assert our.tobytes() == theirs.tobytes()
