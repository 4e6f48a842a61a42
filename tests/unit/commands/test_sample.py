"""`padir sample` from files to files, with tiny random models."""

import numpy as np
import pytest

from padir.commands import sample
from padir.files import InputError, read_json, read_jsonl, write_lines
from padir.vocab import Vocabulary
from tests.decoding import LINES, write_tiny_bundle

KEYS = [
    "chain", "length", "text", "energy", "best_text", "best_energy", "acceptance", "energies",
    "taken",
]  # fmt: skip
USED = (LINES[0], " ", LINES[4])


pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    write_lines(folder / "source", USED)
    for system in ("ar", "padir"):
        write_tiny_bundle(folder / system, system, digests={"training": "t"})
    return folder


def run(place, out, *arguments, system="padir", source="source"):
    given = ["--bundle", place / system, "--source", place / source, "--out", out, *arguments]
    return sample.main([str(argument) for argument in given])


def test_the_text_is_that_of_least_energy(place, tmp_path):
    assert (
        run(place, tmp_path / "out", "--chains", 3, "--steps", 9, "--text", tmp_path / "text") == 0
    )
    lines = (tmp_path / "text").read_text().split("\n")[:-1]
    assert len(lines) == len(USED) and lines[1] == ""
    for line, record in zip(lines, read_jsonl(tmp_path / "out"), strict=True):
        by_energy = sorted((chain["best_energy"], chain["chain"]) for chain in record["chains"])
        assert not by_energy or line == record["chains"][by_energy[0][1]]["best_text"]
    assert len({chain["best_text"] for chain in read_jsonl(tmp_path / "out")[0]["chains"]}) > 1


def test_a_sample_has_a_record_per_sentence_a_summary_and_provenance(place, tmp_path, capsys):
    options = ["--chains", 2, "--steps", 120, "--temperature", 1, "--final-temperature", 0.5]
    assert run(place, tmp_path / "out", *options, "--mh", "--seed", 9) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    *_, last = captured.err.splitlines()
    assert last.startswith("sample: 4 chains of 120 steps: acceptance 0.")
    records = read_jsonl(tmp_path / "out")
    assert [record["id"] for record in records] == [0, 1, 2]
    assert records[1] == {"id": 1, "step": [], "temperature": [], "chains": []}
    for record in (records[0], records[2]):
        assert (record["step"][0], record["step"][-1], len(record["step"])) == (0, 120, 100)
        assert (record["temperature"][0], record["temperature"][-1]) == (1.0, 0.5)
        assert [chain["chain"] for chain in record["chains"]] == [0, 1]
        for chain in record["chains"]:
            assert list(chain) == KEYS
            assert len(chain["energies"]) == 100 == len(chain["taken"]) + 1
            assert chain["energy"] == chain["energies"][-1]
            assert chain["best_energy"] <= min(chain["energies"])
            moves = np.dot(chain["taken"], np.diff(record["step"]))
            assert moves == pytest.approx(120 * chain["acceptance"], abs=0.1)
            assert len(chain["text"].split()) <= chain["length"] - 1
    made = read_json(tmp_path / "out.provenance.json")
    assert made["seed"] == 9
    assert made["labels"] == {
        **{"dataset": "toy", "direction": "xs-xt", "training": "tiny_padir"},
        **{"system": "padir", "targets": "raw", "seed": 2},
    }
    assert made["digests"] == {"training": "t"}
    # Again, and with another seed.
    run(place, tmp_path / "again", *options, "--mh", "--seed", 9)
    run(place, tmp_path / "other", *options, "--mh", "--seed", 8)
    assert read_jsonl(tmp_path / "again") == records
    assert read_jsonl(tmp_path / "other") != records


def test_plain_chains_take_every_move_and_energy_may_be_rare(place, tmp_path, capsys):
    options = ["--chains", 1, "--steps", 7, "--block", 2, "--energy-every", 5]
    assert run(place, tmp_path / "out", *options) == 0
    first = read_jsonl(tmp_path / "out")[0]
    assert first["step"] == [0, 5, 7]
    assert first["chains"][0]["taken"] == [1.0, 1.0]
    assert "acceptance 1.000" in capsys.readouterr().err
    assert read_json(tmp_path / "out.provenance.json")["seed"] == 2


def test_a_model_of_other_settings_is_refused(place, tmp_path):
    with pytest.raises(InputError, match="was trained with other settings"):
        run(place, tmp_path / "out", "--digests", '{"training": "x"}')
    digests = '{"training": "t", "hypotheses": "h"}'
    run(place, tmp_path / "out", "--chains", 1, "--steps", 1, "--digests", digests)
    provenance = read_json(tmp_path / "out.provenance.json")
    assert provenance["digests"] == {"training": "t", "hypotheses": "h"}


def test_traces_are_thinned_evenly_with_both_ends():
    energies = np.arange(1001.0)
    energies[1::2] = np.nan
    points = sample.thinned(energies)
    assert (points[0], points[-1], len(points)) == (0, 1000, 100)
    assert all(step % 2 == 0 for step in points)
    assert set(np.diff(points)) <= {10, 12}
    assert sample.thinned(np.arange(5.0)) == [0, 1, 2, 3, 4]


def test_empty_lines_alone_make_no_chain(place, tmp_path, capsys):
    write_lines(place / "empty", ["", ""])
    assert run(place, tmp_path / "out", source="empty") == 0
    assert [record["chains"] for record in read_jsonl(tmp_path / "out")] == [[], []]
    assert capsys.readouterr().err.endswith("\nsample: no sentence, no chain\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", 0], "steps is 0: allowed are 1 and more"),
        (["--temperature", 0], "temperature is 0.0"),
        (
            ["--temperature", "1e308"],
            r"temperature is 1e\+308: allowed are numbers from 1e-06 to",
        ),
        (["--final-temperature", "nan"], "final_temperature is nan"),
        (["--chains", 0], "0 chains: allowed are 1 and more"),
        (["--seed", -1], "--seed is -1"),
    ],
)
def test_bad_options_are_refused_in_one_line(place, tmp_path, options, message):
    with pytest.raises(InputError, match=message) as refusal:
        run(place, tmp_path / "out", *options)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "out").exists()


def test_an_ar_model_and_long_lines_are_refused(place, tmp_path):
    with pytest.raises(InputError, match=r"ar: k-Gibbs needs a parallel system, not ar$"):
        run(place, tmp_path / "out", system="ar")
    write_lines(place / "long", ["ba", "ba " * 20])
    with pytest.raises(InputError, match=r"long: line 2: 2. tokens, this model reads at most 15"):
        run(place, tmp_path / "out", source="long")
    assert not (tmp_path / "out").exists()


def test_texts_are_those_of_the_vocabulary(place, tmp_path):
    run(place, tmp_path / "out", "--chains", 1, "--steps", 2)
    vocabulary = Vocabulary.load(place / "padir.vocabulary")
    for record in read_jsonl(tmp_path / "out"):
        for chain in record["chains"]:
            (ids,) = vocabulary.encode([chain["text"]])
            assert len(ids) == chain["length"] - 1
