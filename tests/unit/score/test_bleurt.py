"""BLEURT: pairing, trimming and batches as the published tool does them, and every bad folder."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from padir import cli
from padir.files import InputError
from padir.score import bleurt
from tests.bleurt import (
    SENTENCES,
    expected,
    inputs,
    write_checkpoint,
    write_config,
    write_vocabulary,
)

REFERENCES = list(SENTENCES)
CANDIDATES = [*SENTENCES[1:], "", *SENTENCES[:1]][: len(SENTENCES)]


@pytest.fixture(scope="module", params=[True, False], ids=["dynamic", "fixed"])
def checkpoint(request, tmp_path_factory):
    pytest.importorskip("tensorflow", reason="installed by make test, or make setup EXTRAS=tf")
    folder = tmp_path_factory.mktemp("bleurt") / "tiny"
    return write_checkpoint(folder, dynamic=request.param)


@pytest.fixture
def bare(tmp_path):
    """A checkpoint whose graph is an empty file: all that can be checked before it is loaded."""
    write_vocabulary(tmp_path)
    write_config(tmp_path, 12, True)
    (tmp_path / "variables").mkdir()
    for name in ("saved_model.pb", "variables/variables.index", "variables/variables.data-0"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40))
def test_trimming_is_piece_by_piece(reference, candidate, room):
    left, right = reference, candidate
    while left + right > room:
        if left > right:
            left -= 1
        else:
            right -= 1
    assert bleurt.trimmed(reference, candidate, room) == (left, right)


def test_a_pair_is_encoded_as_by_hand_and_the_longer_side_cut(bare):
    encoder = bleurt.Encoder.of(bleurt.read_checkpoint(bare))
    first, between = (encoder.pieces.piece_to_id(mark) for mark in ("[CLS]", "[SEP]"))
    left, right = encoder.pieces.encode("no"), encoder.pieces.encode("it")
    ids, segments = encoder.pair("no", "it")
    assert ids == [first, *left, between, *right, between]
    assert segments == [0] * (2 + len(left)) + [1] * (1 + len(right))
    assert encoder.pair("", "") == ([first, between, between], [0, 0, 1])
    ids, segments = encoder.pair(SENTENCES[3], SENTENCES[3])
    # Twelve ids hold nine pieces: the candidate loses one more than the reference.
    assert (len(ids), segments.count(0), segments.count(1)) == (12, 1 + 5 + 1, 4 + 1)


@pytest.mark.parametrize("width", [None, 9])
def test_batches_hold_every_pair_once_and_pad_with_zeros(width):
    rng = np.random.default_rng(0)
    pairs = [([7] * n, [1] * n) for n in rng.integers(1, 9, 37)]
    seen = []
    for rows, given_inputs in bleurt.batches(pairs, width):
        # Pairs of one length stand together where that saves padding.
        order = [len(pairs[row][0]) if width is None else row for row in (*seen, *rows)]
        assert order == sorted(order)
        assert tuple(given_inputs) == inputs()
        widest = max(len(pairs[row][0]) for row in rows)
        for array in given_inputs.values():
            assert array.shape == (len(rows), width or widest) and array.dtype == np.int64
        for place, row in enumerate(rows):
            size = len(pairs[row][0])
            assert given_inputs["input_mask"][place].tolist()[:size] == [1] * size
            assert not any(array[place, size:].any() for array in given_inputs.values())
        seen += rows.tolist()
    assert sorted(seen) == list(range(37))


def test_scores_are_those_of_the_rules_written_out(checkpoint):
    scores = bleurt.score_pairs(bleurt.read_checkpoint(checkpoint), REFERENCES, CANDIDATES)
    wanted = [expected(checkpoint, *pair) for pair in zip(REFERENCES, CANDIDATES, strict=True)]
    np.testing.assert_allclose(scores, wanted, rtol=1e-5)
    # Others in the batch change nothing.
    alone = bleurt.score_pairs(bleurt.read_checkpoint(checkpoint), REFERENCES[:1], CANDIDATES[:1])
    np.testing.assert_allclose(alone, scores[:1], rtol=1e-6)


def test_of_several_references_the_best_counts(checkpoint):
    opened = bleurt.read_checkpoint(checkpoint)
    counts = bleurt.bleurt_counts(opened, CANDIDATES, [REFERENCES, CANDIDATES])
    both = [bleurt.score_pairs(opened, lines, CANDIDATES) for lines in (REFERENCES, CANDIDATES)]
    assert counts.score() == pytest.approx(100 * np.maximum(*both).mean())
    assert counts.signature == f"BLEURT|tiny|refs:2|sha256:{opened.digest[:16]}"


def test_the_verb_in_a_process_of_its_own_gives_the_expected_scores(checkpoint, tmp_path):
    for name, lines in (("h", CANDIDATES), ("r", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "padir", "rate", "--scorer", "bleurt", "--threads", "1"]
    command += ["--checkpoint", str(checkpoint), "--hypotheses", str(tmp_path / "h")]
    command += ["--references", str(tmp_path / "r"), "--json", str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "out.json").read_text())
    wanted = [expected(checkpoint, *pair) for pair in zip(REFERENCES, CANDIDATES, strict=True)]
    assert document["score"] == pytest.approx(100 * np.mean(wanted), rel=1e-5)
    assert document["low"] <= document["score"] <= document["high"]
    assert (document["status"], document["sentences"]) == ("run", len(REFERENCES))
    assert json.loads(done.stdout)["signature"] == document["signature"]
    assert document["checkpoint"] == bleurt.read_checkpoint(checkpoint).identity


@pytest.mark.parametrize(
    ("name", "length", "layers", "expected"),
    [
        ("BLEURT-20", 512, 32, True),
        ("bleurt_20", 512, 32, True),
        ("BLEURT-20-D12", 512, 12, False),
        ("BLEURT-20", 512, 12, False),
        ("BLEURT-20", 128, 32, False),
        ("BLEURT-20", 512, None, False),
        ("tuned", 512, 32, False),
    ],
)
def test_only_bleurt_20_is_taken_for_the_paper_s_checkpoint(bare, name, length, layers, expected):
    write_config(bare, length, True, name=name)
    config = {} if layers is None else {"num_hidden_layers": layers}
    (bare / "bert_config.json").write_text(json.dumps(config))
    checkpoint = bleurt.read_checkpoint(bare)
    assert checkpoint.identity == {
        "name": name, "layers": layers, "max_length": length, "sha256": checkpoint.digest,
        "is_bleurt_20": expected,
    }  # fmt: skip


def test_bleurt_20_is_known_by_the_name_of_its_folder_too(bare):
    folder = bare / "BLEURT-20"
    folder.mkdir()
    for path in [path for path in bare.iterdir() if path != folder]:
        path.rename(folder / path.name)
    write_config(folder, 512, True, name="published")
    for layers, known in ((32, True), ("32", False)):
        (folder / "bert_config.json").write_text(json.dumps({"num_hidden_layers": layers}))
        assert bleurt.read_checkpoint(folder).identity["is_bleurt_20"] == known


@pytest.mark.parametrize(
    "name",
    [
        "bleurt_config.json", "saved_model.pb", "sent_piece.model", "variables/variables.index",
        "variables/variables.data-0",
    ],
)  # fmt: skip
def test_another_file_is_another_signature(bare, name):
    before = bleurt.read_checkpoint(bare).digest
    content = (bare / name).read_bytes()
    (bare / name).write_bytes(content + b"\n")
    assert bleurt.read_checkpoint(bare).digest != before
    (bare / name).write_bytes(content)
    assert bleurt.read_checkpoint(bare).digest == before


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("bleurt_config.json", "no BLEURT checkpoint: bleurt_config.json is missing"),
        ("sent_piece.model", "sent_piece.model: is missing"),
        ("saved_model.pb", "saved_model.pb: is missing"),
        ("variables/variables.index", "variables.index: is missing"),
        ("variables/variables.data-0", "variables.data-\\* are missing"),
    ],
)
def test_a_folder_that_lacks_a_file(bare, missing, message):
    (bare / missing).unlink()
    with pytest.raises(InputError, match=message):
        bleurt.read_checkpoint(bare)


@pytest.mark.parametrize("missing", ["bleurt_config.json", "saved_model.pb", "sent_piece.model"])
def test_the_command_says_in_one_line_what_a_folder_lacks(bare, missing, tmp_path, capsys):
    (bare / missing).unlink()
    arguments = ("--scorer", "bleurt", "--checkpoint", str(bare), "--allow-missing")
    status, out, err = rate(tmp_path, capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("padir rate: error: ") and err.count("\n") == 1
    assert f"{missing}" in err and "is missing" in err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sp_model": None, "vocab_file": "vocab.txt"}, "sp_model is None: only checkpoints with"),
        ({"max_seq_length": 3}, "max_seq_length is 3: at least 4"),
        ({"max_seq_length": "512"}, "max_seq_length is '512', needed: int"),
        ({"max_seq_length": True}, "max_seq_length is True, needed: int"),
        ({"name": None}, "name is None, needed: str"),
    ],
)
def test_a_checkpoint_of_another_format_is_refused(bare, changes, message):
    write_config(bare, 12, True, **changes)
    with pytest.raises(InputError, match=message):
        bleurt.read_checkpoint(bare)


def test_a_vocabulary_that_is_none_or_lacks_its_marks(bare):
    (bare / "sent_piece.model").write_bytes(b"\x00\xffno model")
    with pytest.raises(InputError, match="not a SentencePiece model"):
        bleurt.Encoder.of(bleurt.read_checkpoint(bare))


def test_a_graph_that_cannot_be_loaded(bare):
    pytest.importorskip("tensorflow")
    with pytest.raises(InputError, match="cannot be loaded"):
        bleurt.score_pairs(bleurt.read_checkpoint(bare), ["a"], ["b"])


def test_a_checkpoint_whose_variables_were_cut_is_refused(tmp_path):
    pytest.importorskip("tensorflow")
    folder = write_checkpoint(tmp_path / "tiny")
    (variables,) = (folder / "variables").glob("variables.data-*")
    content = variables.read_bytes()
    for size in (0, len(content) // 2, len(content) - 1):
        variables.write_bytes(content[:size])
        with pytest.raises(InputError, match="tiny: cannot be loaded: Read less bytes") as caught:
            bleurt.load_graph(bleurt.read_checkpoint(folder))
        assert "\n" not in str(caught.value)


def test_accelerators_are_hidden_from_tensorflow(checkpoint, monkeypatch):
    import tensorflow as tf

    hidden = []
    monkeypatch.setattr(
        tf.config, "set_visible_devices", lambda devices, kind: hidden.append((devices, kind))
    )
    bleurt.load_graph(bleurt.read_checkpoint(checkpoint))
    assert hidden == [([], "GPU"), ([], "TPU")]


def test_a_score_that_is_no_number_is_refused_by_its_line(bare, monkeypatch):
    # Sorted by length the second line comes first.
    monkeypatch.setattr(
        bleurt, "load_graph", lambda *_: lambda inputs: np.array([np.nan, 0.25], np.float32)
    )
    with pytest.raises(InputError, match="the score of line 2 is not a number"):
        bleurt.score_pairs(bleurt.read_checkpoint(bare), ["it rained all day", "no"], ["no", "no"])


@pytest.mark.parametrize(
    ("signatures", "reads"),
    [({}, "nothing"), ({"serving_default": ["input_ids", "input_mask"]}, "input_ids, input_mask")],
)
def test_a_graph_with_other_inputs_is_refused(bare, monkeypatch, signatures, reads):
    graphs = {
        name: SimpleNamespace(structured_input_signature=((), dict.fromkeys(inputs)))
        for name, inputs in signatures.items()
    }
    config = SimpleNamespace(set_visible_devices=lambda devices, kind: None)
    saved = SimpleNamespace(load=lambda folder: SimpleNamespace(signatures=graphs))
    errors = SimpleNamespace(OpError=OSError)
    stub = SimpleNamespace(config=config, saved_model=saved, errors=errors)
    monkeypatch.setitem(sys.modules, "tensorflow", stub)
    with pytest.raises(InputError, match=f"its graph reads {reads}; a BLEURT checkpoint reads"):
        bleurt.load_graph(bleurt.read_checkpoint(bare))


def test_without_tensorflow_it_says_what_to_install(bare, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(InputError, match="make setup EXTRAS=tf"):
        bleurt.score_pairs(bleurt.read_checkpoint(bare), ["a"], ["b"])


def rate(tmp_path, capsys, *arguments: str) -> tuple[int, str, str]:
    for name, lines in (("h", CANDIDATES), ("r", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = ["--hypotheses", str(tmp_path / "h"), "--references", str(tmp_path / "r")]
    status = cli.main(["rate", *files, *arguments])
    return status, *capsys.readouterr()


def test_a_missing_folder_is_an_error_or_where_allowed_not_run(tmp_path, capsys):
    arguments = ("--scorer", "bleurt", "--checkpoint", str(tmp_path / "none"))
    status, _, err = rate(tmp_path, capsys, *arguments)
    assert status == 2 and "no such folder of a BLEURT checkpoint" in err
    status, out, _ = rate(tmp_path, capsys, *arguments, "--allow-missing")
    document = json.loads(out)
    assert status == 0 and document["status"] == "not run"
    assert "none" in document["reason"] and "score" not in document
    # A folder that is there and is wrong is never passed over.
    (tmp_path / "none").mkdir()
    status, _, err = rate(tmp_path, capsys, *arguments, "--allow-missing")
    assert status == 2 and "bleurt_config.json is missing" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scorer", "bleurt"), "needs --checkpoint"),
        (("--scorer", "chrf++", "--checkpoint", "x"), "takes no --checkpoint"),
        (("--scorer", "chrf++", "--samples", "3"), "--samples is 3"),
    ],
)
def test_arguments_that_do_not_fit_the_scorer_are_refused(tmp_path, capsys, arguments, message):
    status, _, err = rate(tmp_path, capsys, *arguments)
    assert status == 2 and message in err


def test_chrf_with_words_takes_the_same_way(tmp_path, capsys):
    status, out, _ = rate(tmp_path, capsys, "--scorer", "chrf++")
    document = json.loads(out)
    assert status == 0 and "nw:2" in document["signature"] and document["checkpoint"] is None
    assert document["low"] <= document["score"] <= document["high"]
