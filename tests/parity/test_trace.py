"""A trace ends in what decoding gives: the same passes, one after another."""

import jax
import jax.numpy as jnp
import pytest

from padir.decode.candidates import LengthRule
from padir.decode.trace import traces
from padir.decode.translate import Translator
from padir.ids import EOS, FIRST_PIECE, MASK
from tests.decoding import LINES, tiny_decoder, tiny_model, tiny_translator

RULE = LengthRule(0.6, 1.0)
KINDS = {
    "beam": ("beam", None, {}),
    "padir": ("padir", 4, {}),
    "cmlm": ("cmlm", 4, {}),
    "disco": ("disco", 4, {}),
    "joint": ("padir", 4, {"joint": "neighbours"}),
    "shortlist": ("padir", 4, {"shortlist": 12}),
    "restarts": ("padir", 3, {"restarts": 2, "replacement": "summed", "stop": "fixed"}),
}


@pytest.fixture(scope="module", params=KINDS)
def traced(request, tmp_path_factory):
    """A translator, its candidates, hypotheses and trace."""
    kind, passes, settings = KINDS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    translator = tiny_translator(folder / "model", kind, passes, RULE, **settings)
    sources = translator.encode(LINES)
    candidates = translator.candidates(sources)
    hypotheses = translator.finish(sources, candidates)
    return translator, candidates, hypotheses, traces(translator, LINES, "lines", LINES)


def test_a_trace_ends_in_the_candidates_of_decoding(traced):
    translator, candidates, hypotheses, records = traced
    piece = translator.loaded.vocabulary.piece
    assert [record["id"] for record in records] == list(range(len(LINES)))
    for record, row, hypothesis in zip(records, candidates, hypotheses, strict=True):
        assert record["hypothesis"] == hypothesis.hypothesis
        assert len(record["candidates"]) == len(row)
        for entry, candidate in zip(record["candidates"], row, strict=True):
            assert entry["states"][-1]["tokens"] == [piece(token) for token in candidate.tokens]
            assert (entry["length"], entry["passes"]) == (candidate.length, candidate.passes)
            assert entry["log_probability"] == pytest.approx(candidate.log_probability, abs=2e-3)
        if row:
            chosen = record["candidates"][record["chosen"]]
            assert chosen["score"] == max(entry["score"] for entry in record["candidates"])
            assert chosen["length"] == hypothesis.length


def test_masks_of_positions_are_shown_as_masks(tmp_path):
    settings = {"objective": {"corruption": "position_mask"}, "extra_ids": 16}
    decoder = tiny_decoder("padir", RULE, start="position_mask")
    translator = Translator(tiny_model(tmp_path / "model", "padir", **settings), decoder, 2)
    (record,) = traces(translator, LINES[:1], "lines", LINES[:1])
    mask = translator.loaded.vocabulary.piece(MASK)
    for candidate in record["candidates"]:
        first, *later = (state["tokens"] for state in candidate["states"])
        assert first == [mask] * (candidate["length"] - 1)
        assert len(later) == candidate["passes"]


def test_states_are_those_of_passes_made_one_by_one(tmp_path):
    loaded = tiny_model(tmp_path / "model", "padir", decoder_layers=2)
    decoder = tiny_decoder("padir", RULE, remask="stutter", stop="fixed")
    translator, model = Translator(loaded, decoder, 3), loaded.model
    (record,) = traces(translator, LINES[4:5], "lines", LINES[:1])
    assert (record["source"], record["reference"]) == (LINES[4], LINES[0])
    source = translator.encode(LINES[4:5])
    cross = model.encode(jnp.array([[*source[0], EOS]])).cross
    text = [loaded.vocabulary.piece(token) for token in range(loaded.vocabulary.size)]
    hidden_again = 0
    for entry, candidate in zip(record["candidates"], *translator.candidates(source), strict=True):
        likeliest = pytest.approx(candidate.length_log_probability, abs=1e-3)
        assert entry["length_log_probability"] == likeliest
        assert entry["score"] == pytest.approx(RULE.score(candidate), abs=2e-3)
        first, *states = entry["states"]
        start = inputs = [text.index(piece) for piece in first["tokens"]]
        for number, state in enumerate(states):
            vectors, attentions = model.hidden(jnp.array([[*inputs, EOS]]), cross)
            logits = model.logits(vectors)[0, :-1, FIRST_PIECE : len(text)]
            law, attended = jax.nn.softmax(logits), attentions.cross_attention[0, -1].mean(axis=0)
            tokens = (law.argmax(axis=1) + FIRST_PIECE).tolist()
            assert state["tokens"] == [text[token] for token in tokens]
            assert state["confidence"] == pytest.approx(law.max(axis=1).tolist(), abs=1e-3)
            assert state["attended"] == attended[:-1].argmax(axis=1).tolist()
            again = [i for i in range(1, len(tokens)) if tokens[i] == tokens[i - 1]]
            assert state["hidden"] == (again if number < 2 else [])
            inputs = [start[i] if i in again else token for i, token in enumerate(tokens)]
            hidden_again += len(state["hidden"])
    assert hidden_again


def test_there_is_a_state_before_and_after_each_pass(traced):
    translator, _, _, records = traced
    refines = translator.decoding.passes is not None
    entries = [entry for record in records for entry in record["candidates"]]
    for entry in entries:
        states = entry["states"]
        assert len(states) == (entry["passes"] + 1 if refines else 1)
        for number, state in enumerate(states):
            count = len(state["tokens"])
            if refines:
                assert len(state["tokens"]) == entry["length"] - 1
                assert set(state["hidden"]) <= set(range(count))
                assert number < entry["passes"] or not state["hidden"]
            if refines and number:
                assert all(0 <= share <= 1 for share in state["confidence"])
                assert len(state["confidence"]) == len(state["attended"]) == count
    if refines:
        # The passes do something: otherwise equal ends would show nothing.
        assert any(
            entry["states"][1]["tokens"] != entry["states"][0]["tokens"] for entry in entries
        )


def test_positions_attended_to_are_in_the_source(traced):
    for record in traced[-1]:
        for entry in record["candidates"]:
            for state in entry["states"]:
                assert all(
                    place < len(record["source_pieces"]) for place in state.get("attended", [])
                )


def test_an_empty_line_has_no_candidates(traced):
    record = traced[-1][LINES.index("")]
    assert (record["candidates"], record["chosen"], record["hypothesis"]) == ([], None, "")
    assert record["reference"] == ""


def test_passes_are_compiled_once_per_refiner(traced):
    translator, _, _, records = traced
    passes = translator.decoding.passes
    if passes is None:
        return
    compiled = translator.refiner.tracers[passes]
    assert traces(translator, LINES, "lines", LINES) == records
    assert translator.refiner.tracers == {passes: compiled}
