"""`padir latency` from files to one document, with tiny random models."""

import json

import pytest

from padir.commands import latency
from padir.decode.candidates import LengthRule
from padir.files import InputError, read_json, write_lines
from tests.decoding import LINES, run, tiny_decoder, write_decoder, write_tiny_bundle

pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with bundles of both systems, a tuned decoder and sources."""
    folder = tmp_path_factory.mktemp("latency")
    write_lines(folder / "source", LINES)
    for system in ("ar", "padir"):
        write_tiny_bundle(folder / system, system, digests={"data": "d", "training": "t"})
    decoder = tiny_decoder("padir", LengthRule(1.0, 0.0))
    write_decoder(folder / "padir" / "decoders" / "padir.json", decoder)
    return folder


def test_latency_writes_a_row_per_training_decoder_and_passes(place, tmp_path, monkeypatch):
    monkeypatch.setattr("padir.decode.latency.PEAK_SIZE", 64)
    out = tmp_path / "latency.json"
    names = ["ar:greedy", "padir:padir.T1", "padir:padir.T3"]
    arguments = ["--rows", *(f"{place}/{name}" for name in names)]
    digests = {"data": "d", "timing": "x"}
    arguments += [
        "--digests",
        json.dumps(digests),
        "--source",
        place / "source",
        "--sentences",
        3,
        "--repeats",
        2,
    ]
    assert run(latency, *arguments, "--out", out) == 0
    content = read_json(out)
    rows = [(row["training"], row["decoder"], row["passes"]) for row in content["rows"]]
    assert rows == [
        ("tiny_ar", "greedy", None),
        ("tiny_padir", "padir", 1),
        ("tiny_padir", "padir", 3),
    ]
    assert content["digests"] == digests
    assert len({row["digests"]["hypotheses"] for row in content["rows"]}) == 3
    assert (content["sentences"], content["repeats"]) == (3, 2)
    for row in content["rows"]:
        assert 0 < row["p50_ms"] <= row["p90_ms"] <= row["p99_ms"]
        assert row["recompiled"] == 0
    assert content["rows"][1]["passes_mean"] == 1
    assert content["rows"][0]["compile_s"] > content["rows"][2]["compile_s"] == 0
    assert content["machine"]["matmul_gflops"] > 0
    assert json.dumps(content)


def test_latency_leaves_out_lines_that_are_too_long_and_says_so(
    place, tmp_path, monkeypatch, capsys
):
    timed = []
    monkeypatch.setattr("padir.decode.latency.machine", lambda threads: {})
    monkeypatch.setattr(
        "padir.decode.latency.measure", lambda rows, lines, *rest: timed.extend(lines) or []
    )
    long = "ba" + 19 * " ba"
    write_lines(tmp_path / "long", ["ba", long, "ba ba"])
    write_lines(tmp_path / "all", [long])
    arguments = ["--rows", f"{place}/padir:padir.T1", "--out", tmp_path / "o"]
    assert run(latency, *arguments, "--source", tmp_path / "long") == 0
    assert timed == ["ba", "ba ba"]
    assert read_json(tmp_path / "o")["sentences"] == 2
    told = (
        f"padir latency: {tmp_path / 'long'}: 1 of 3 lines are too long for a model and not timed"
    )
    assert told in capsys.readouterr().err.splitlines()
    with pytest.raises(InputError, match="all: every line is too long for a model"):
        run(latency, *arguments, "--source", tmp_path / "all")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("ar:padir.T4", "padir .* does not fit system ar"),
        ("ar:greedy.T4", "greedy makes one pass per token"),
        ("padir:padir", "padir is parallel: the number of passes is missing"),
        ("padir:padir.T0", "--rows: 'padir.T0': passes are 'T0', allowed: T1 to T100"),
        ("padir", "--rows: .*padir': BUNDLE:DECODER or"),
    ],
)
def test_latency_refuses_rows_that_cannot_be(place, tmp_path, row, message):
    arguments = ["--rows", f"{place}/{row}", "--source", place / "source"]
    with pytest.raises(InputError, match=message):
        run(latency, *arguments, "--out", tmp_path / "o")


def test_latency_takes_sentences_from_all_over_the_file():
    assert latency.spread(list("abcdefghij"), 5) == list("acegi")
    assert latency.spread(list("abc"), 5) == list("abc")
