"""Candidates of a single sentence, decoded in several threads."""

import threading

import pytest

from padir.decode import programs
from padir.decode.candidates import LengthRule
from padir.decode.programs import CandidateThreads
from padir.launch import cores, cpu_threads
from tests.decoding import LINES, tiny_run, tiny_translator

RULE = LengthRule(0.6, 1.0)
POLICIES = {
    "default": {},
    "drawn": {"temperature": 1.0, "top_p": 0.9, "stop": "fixed", "restarts": 2},
    "shortlist": {"shortlist": 12},
    "joint": {"joint": "neighbours"},
}


@pytest.mark.parametrize("policies", POLICIES.values(), ids=POLICIES)
def test_threads_do_not_change_output(tmp_path, monkeypatch, policies):
    outputs = {}
    monkeypatch.setattr(programs, "THREADED_WIDTHS", [tiny_run("padir").architecture.width])
    for threads in (1, 2, 3):
        monkeypatch.setenv("NPROC", str(threads))
        calls: list[str] = []
        whole = CandidateThreads.__init__

        def listen(self, decode, threads, calls=calls, whole=whole):
            def heard(*arguments):
                calls.append(threading.current_thread().name)
                return decode(*arguments)

            whole(self, heard, threads)

        monkeypatch.setattr(CandidateThreads, "__init__", listen)
        translator = tiny_translator(
            tmp_path / str(threads), "padir", 3, RULE, sentences=1, **policies
        )
        monkeypatch.setattr(CandidateThreads, "__init__", whole)
        sources = translator.encode([line for line in LINES if line])
        outputs[threads] = [translator.candidates([source])[0] for source in sources]
        assert any(name.startswith("padir-candidates") for name in calls) == (threads > 1)
    for threads in (2, 3):
        for ours, theirs in zip(outputs[threads], outputs[1], strict=True):
            assert [c.tokens for c in ours] == [c.tokens for c in theirs]
            assert [c.passes for c in ours] == [c.passes for c in theirs]
            for ours_of, theirs_of in zip(ours, theirs, strict=True):
                assert ours_of.log_probability == pytest.approx(theirs_of.log_probability, abs=1e-4)


@pytest.mark.parametrize(("number", "threads"), [("3", 3), ("1", 1)])
def test_threads_are_those_that_xla_is_given(monkeypatch, number, threads):
    monkeypatch.setenv("NPROC", number)
    assert cpu_threads() == threads


def test_without_a_number_all_cores_are_used(monkeypatch):
    monkeypatch.delenv("NPROC", raising=False)
    assert cpu_threads() == cores()
