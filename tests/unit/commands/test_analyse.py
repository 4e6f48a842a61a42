"""`padir analyse` from files to one document, with tiny random models."""

import pytest

from padir.commands import analyse
from padir.commands.arguments import read_arguments
from padir.config.evaluation import Analysis
from padir.decode.candidates import LengthRule
from padir.files import InputError, read_json, write_json, write_lines
from tests.decoding import LINES, tiny_decoder, write_decoder, write_tiny_bundle

PREDICTED = {("stutter", "adjacent"), ("probe", "adjacent"), ("probe", "near")}


pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyse")
    write_lines(folder / "source", LINES)
    write_lines(folder / "reference", [f"{line} ba" for line in LINES])
    write_lines(folder / "short", LINES[:3])
    for system in ("ar", "padir"):
        write_tiny_bundle(folder / system, system, digests={"training": "t"})
    for name, changed in (
        {"padir": {}, "joint": {"joint": "neighbours"}, "short": {"shortlist": 12}}
    ).items():
        decoder = tiny_decoder("padir", LengthRule(0.0, 1.0), name, **changed)
        write_decoder(folder / "padir" / "decoders" / f"{name}.json", decoder)
    return folder


def run(place, out, *arguments, system="padir", reference="reference"):
    given = [
        *("--bundle", place / system, "--source", place / "source", "--out", out),
        *("--references", place / reference, "--target-language", "xt", "--samples", 60),
        *arguments,
    ]
    return analyse.main([str(argument) for argument in given])


def test_lines_that_are_too_long_are_not_analysed(place, tmp_path, capsys):
    full = [line for line in LINES if line]
    outs = []
    for name, lines in (("long", [full[0], "ba" + 19 * " ba", *full[1:]]), ("short", full)):
        write_lines(tmp_path / name, lines)
        outs.append(tmp_path / f"{name}.json")
        given = ["--source", tmp_path / name, "--references", tmp_path / name, "--passes", 1]
        assert run(place, outs[-1], *given, "--distance", 1, "--alternatives", 2) == 0
    long, short = map(read_json, outs)
    assert long == short
    told = f"{tmp_path / 'long'}: 1 of {len(full) + 1} lines are too long for the model"
    assert f"padir analyse: {told} and not analysed" in capsys.readouterr().err.splitlines()


def test_the_document_has_labels_digests_and_a_record_per_pass(place, tmp_path):
    out = tmp_path / "analysis.json"
    assert run(place, out, "--passes", 1, 2, "--distance", 3, "--alternatives", 2) == 0
    document = read_json(out)
    labels = ("dataset", "direction", "training", "decoder", "system", "targets", "seed", "split")
    assert [document[label] for label in labels] == [
        "toy", "xs-xt", "tiny_padir", "padir", "padir", "raw", 2, "test",
    ]  # fmt: skip
    assert document["digests"].keys() == {"training", "decoder"}
    # Empty lines are no sentences.
    assert document["sentences"] == len([line for line in LINES if line])
    assert document["exact"] is None
    assert [record["pass"] for record in document["passes"]] == [1, 2]
    for record in document["passes"]:
        assert record["stuttering"] + record["other"] + record["licensed"] == record["adjacent"]
        assert 0 < record["adjacent"] < record["pairs"]
        assert {(row["target"], row["pairs"]) for row in record["prediction"]} == PREDICTED
        assert {len(rows) for head in record["heads"].values() for rows in head["effect"]} == {2}
        attention = record["contrasts"]["self_attention mean"]
        assert 0 < attention["other_mean"] < 1
    ids = [claim["id"] for claim in document["claims"]]
    assert ids == ["self_attention", "cross_attention"]
    # Nine sentences are too few for a verdict.
    assert {claim["verdict"] for claim in document["claims"]} == {"not run"}
    assert read_json(tmp_path / "analysis.json.provenance.json")["command"][:2] == [
        "padir",
        "analyse",
    ]


def test_hypotheses_of_punctuation_alone_have_no_stutter(tmp_path):
    for name in ("source", "reference"):
        write_lines(tmp_path / name, [". , ! ?", "? ! ,"])
    write_tiny_bundle(
        tmp_path / "padir", "padir", words=tuple(".,!?;:()"), digests={"training": "t"}
    )
    decoder = tiny_decoder("padir", LengthRule(0.0, 1.0))
    write_decoder(tmp_path / "padir" / "decoders" / "padir.json", decoder)
    assert run(tmp_path, tmp_path / "out", "--passes", 1) == 0
    [record] = read_json(tmp_path / "out")["passes"]
    assert record["words_per_100"] == 0


def test_the_same_call_gives_the_same_document(place, tmp_path):
    for name in ("a", "b"):
        run(place, tmp_path / name, "--passes", 2, "--sentences", 4)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_json(tmp_path / "a")["sentences"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--passes", "0"], "--passes holds 0: allowed are 1 to 100"),
        (["--distance", "0"], "--distance is 0: allowed are 1 to 1000000"),
        (["--sentences", "1"], "--sentences is 1: allowed are 2 to 1000000"),
        (["--mode-strength", "0.5"], "--grammar and --mode-strength go together"),
        (["--grammar", "g", "--mode-strength", "2"], "--mode-strength is 2.0: allowed are"),
    ],
)
def test_numbers_out_of_range_are_refused(place, tmp_path, arguments, message):
    with pytest.raises(InputError, match=message):
        run(place, tmp_path / "out", *arguments)
    assert not (tmp_path / "out").exists()


def test_models_and_files_that_do_not_fit(place, tmp_path):
    for name in ("joint", "short"):
        with pytest.raises(InputError, match=f"decoder {name} does not fit: .* and shortlist 0"):
            run(place, tmp_path / "out", "--decoder", name)
    with pytest.raises(InputError, match="beam makes one pass per token"):
        run(place, tmp_path / "out", system="ar")
    with pytest.raises(InputError, match="short"):
        run(place, tmp_path / "out", reference="short")
    write_json(tmp_path / "g", {})
    with pytest.raises(InputError, match="not a grammar"):
        run(place, tmp_path / "out", "--grammar", tmp_path / "g", "--mode-strength", 0.5)


def test_more_alternatives_than_pieces_are_refused(place, tmp_path):
    with pytest.raises(InputError, match=r"alternatives is 5000: allowed are 2 to \d+, the pieces"):
        run(place, tmp_path / "analysis.json", "--alternatives", 5000)


def test_the_verb_takes_every_number_that_a_config_may_have():
    bounds = {
        field: next(m.le for m in Analysis.model_fields[field].metadata if hasattr(m, "le"))
        for field in ("sentences", "distance", "alternatives")
    }
    for field, most in bounds.items():
        options = ["--out", "o", "--bundle", "b", "--source", "s", "--references", "r"]
        options += ["--target-language", "xt"]
        given = read_arguments("analyse", "", analyse.OPTIONS, [*options, f"--{field}", str(most)])
        assert getattr(given, field) == most
