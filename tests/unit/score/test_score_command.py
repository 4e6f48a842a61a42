"""`padir score`: the printed contract, and every way in which its input can be wrong."""

import json

import pytest

from padir import cli
from padir.score.significance import resample_counts

REFERENCE = ["the dog bit the man", "it rained all day", "no"]
OUTPUT = ["the dog dog bit the man", "it rained all day", ""]


@pytest.fixture
def files(tmp_path):
    def write(name: str, lines) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)

    return write


def run(capsys, *arguments) -> tuple[int, str, str]:
    status = cli.main(["score", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_contract(files, capsys):
    status, out, _ = run(
        capsys, "--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE),
        "--target-language", "en",
    )  # fmt: skip
    document = json.loads(out)
    assert status == 0
    for metric in ("bleu", "chrf"):
        assert document[metric]["low"] <= document[metric]["score"] <= document[metric]["high"]
        assert "version:" in document[metric]["signature"]
    assert document["stutter"]["words"]["per_100"] == pytest.approx(100 * 1 / 10)
    assert document["stutter"]["run_lengths"] == {"2": 1}
    assert (document["sentences"], document["paired"], document["validity"]) == (3, None, None)
    assert "replicates" not in document


def test_everything_written(files, tmp_path, capsys):
    records = [
        {"id": i, "hypothesis": text, "before_drop": text + " x x", "tokens": [9, 9],
         "tokens_before_drop": [9], "steps": 3 + i}
        for i, text in enumerate(OUTPUT)
    ]  # fmt: skip
    decode = files("d.jsonl", map(json.dumps, records))
    target = tmp_path / "score.json"
    status, _, _ = run(
        capsys, "--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE),
        files("r1", REFERENCE), "--target-language", "en", "--decode", decode, "--baseline",
        files("b", REFERENCE), "--baseline-name", "ar", "--json", str(target), "--seed", "3",
        "--split", "test", "--decoding", "T4", "--samples", "100",
    )  # fmt: skip
    document = json.loads(target.read_text())
    assert status == 0
    assert (document["seed"], document["split"], document["decoding"]) == (3, "test", "T4")
    assert document["references"] == 2 and "nrefs:2" in document["bleu"]["signature"]
    assert document["decoder_passes"] == 4
    drawn = resample_counts(3, 100) @ [1, 4 / 3, 5 / 3]
    assert document["replicates"]["decoder_passes"] == pytest.approx(drawn, abs=1e-4)
    assert document["stutter"]["tokens"]["per_100"] == pytest.approx(50.0)
    assert document["stutter"]["words_before_drop"]["per_sentence"] == pytest.approx(4 / 3)
    assert document["paired"]["baseline"] == "ar" and document["paired"]["bleu_difference"] < 0
    assert len(document["replicates"]["bleu"]) == 100
    made = json.loads((tmp_path / "score.json.provenance.json").read_text())
    assert made["command"][1] == "score" and len(made["inputs"]) == 5


def test_equal_references_have_equal_digests(files, capsys):
    digests = []
    for name, lines in (("a", REFERENCE), ("b", REFERENCE), ("c", [*REFERENCE[:2], "yes"])):
        arguments = ("--hypotheses", files("h", OUTPUT), "--references", files(name, lines))
        digests.append(json.loads(run(capsys, *arguments, "--target-language", "en")[1]))
    first, same, other = (document["test_digest"] for document in digests)
    assert first == same != other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--references": REFERENCE[:2]}, "line counts differ: {h} has 3, {references} has 2"),
        ({"--baseline": [*REFERENCE, ""]}, "line counts differ: {h} has 3, {baseline} has 4"),
        ({"--hypotheses": [], "--references": []}, "{h}: empty: there is no sentence to score"),
        ({"--decode": ["{}"]}, "{decode}: 1 lines, but 3 hypotheses"),
        ({"--decode": ["{}"] * 3}, "{decode}: line 1: not the hypothesis that is being scored"),
        ({"--sources": REFERENCE}, "--grammar and --sources go together: give both or neither"),
    ],
)
def test_bad_input_is_one_line(files, capsys, change, message):
    given = {"--hypotheses": OUTPUT, "--references": REFERENCE} | change
    paths = {flag: files(flag.strip("-"), lines) for flag, lines in given.items()}
    arguments = [part for pair in paths.items() for part in pair]
    status, out, err = run(capsys, *arguments, "--target-language", "en")
    names = {flag.strip("-"): path for flag, path in paths.items()}
    expected = message.format(h=paths["--hypotheses"], **names)
    assert (status, out, err) == (2, "", f"padir score: error: {expected}\n")


@pytest.mark.parametrize("verb", ["score", "rate"])
def test_a_byte_order_mark_changes_no_score_and_is_noted(files, capsys, verb):
    plain, references = files("h", OUTPUT), files("r", REFERENCE)
    marked = files("marked", [f"\ufeff{OUTPUT[0]}", *OUTPUT[1:]])
    extra = ["--target-language", "en"] if verb == "score" else ["--scorer", "chrf++"]
    printed = []
    for hypotheses in (plain, marked):
        command = [verb, "--hypotheses", hypotheses, "--references", references, *extra]
        assert cli.main(command) == 0
        out, note = capsys.readouterr()
        printed.append(out)
    assert printed[0] == printed[1]
    assert note == f"{marked}: starts with a byte order mark, which was removed\n"


def test_a_field_that_some_lines_lack(files, capsys):
    records = [{"hypothesis": text} for text in OUTPUT]
    records[0]["tokens"] = [1]
    decode = files("d.jsonl", map(json.dumps, records))
    status, _, err = run(
        capsys, "--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE),
        "--target-language", "en", "--decode", decode,
    )  # fmt: skip
    assert (status, err) == (2, f"padir score: error: {decode}: line 2: key tokens is missing\n")


def test_too_few_resamples(files, capsys):
    arguments = ("--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE))
    status, _, err = run(capsys, *arguments, "--target-language", "en", "--samples", "3")
    assert (status, err) == (2, "padir score: error: --samples is 3: allowed are 40 and more\n")


def test_validity_of_synthetic_output(tmp_path, files, capsys):
    from padir.config.data import SyntheticSource
    from padir.data.synthetic import write_synthetic

    write_synthetic(SyntheticSource(train=20, valid=4, test=8), tmp_path)
    source = (tmp_path / "test.xs").read_text().splitlines()
    target = (tmp_path / "test.xt").read_text().splitlines()
    status, out, _ = run(
        capsys, "--hypotheses", files("h", [*target[:6], "nonsense", ""]),
        "--references", files("r", target), "--target-language", "xt",
        "--sources", files("s", source), "--grammar", str(tmp_path / "grammar.json"),
    )  # fmt: skip
    assert status == 0
    assert json.loads(out)["validity"]["share"] == pytest.approx(6 / 8)
