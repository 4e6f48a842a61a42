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


def test_the_printed_document_has_scores_intervals_and_stutter(files, capsys):
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


def test_a_score_has_all_measures_and_the_digests_of_its_text(files, tmp_path, capsys):
    records = [
        {"id": i, "hypothesis": text, "before_drop": text + " x x", "tokens": [9, 9],
         "tokens_before_drop": [9], "steps": 3 + i}
        for i, text in enumerate(OUTPUT)
    ]  # fmt: skip
    decode = files("d.jsonl", map(json.dumps, records))
    target = tmp_path / "score.json"
    labels = {"training": "padir", "seed": 3, "split": "test", "decoder": "padir", "passes": 4}
    carried = {"training": "t", "hypotheses": "h"}
    made_by = files("p", [json.dumps({"labels": labels, "digests": carried})])
    status, _, _ = run(
        capsys, "--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE),
        files("r1", REFERENCE), "--target-language", "en", "--decode", decode, "--baseline",
        files("b", REFERENCE), "--baseline-name", "ar", "--json", str(target), "--provenance",
        made_by, "--samples", "100",
    )  # fmt: skip
    document = json.loads(target.read_text())
    assert status == 0
    assert document.items() >= labels.items()
    assert (document["dataset"], document["digests"]) == (None, carried)
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
    assert made["labels"].items() >= labels.items() and made["digests"] == carried


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
        ({"--baseline-name": ["x"]}, "--baseline-name needs --baseline as well"),
        ({"--baseline-provenance": ["x"]}, "--baseline-provenance needs --baseline as well"),
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


@pytest.mark.parametrize("code", ["chinese", "x", "zh-", "zh CN", "zh1", "-"])
def test_a_language_that_is_no_code_is_refused(files, capsys, code):
    arguments = ["--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE)]
    with pytest.raises(SystemExit) as refused:
        run(capsys, *arguments, f"--target-language={code}")
    told = f"argument --target-language: found {code!r}, allowed: codes such as zh or de\n"
    assert refused.value.code == 2 and capsys.readouterr().err.endswith(told)


@pytest.mark.parametrize("code", ["xt", "zh-CN", "zh_Hans", "zho", "ZH", "sr-Latn-RS"])
def test_a_code_may_have_a_script_and_a_region(files, capsys, code):
    arguments = ["--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE)]
    status, out, _ = run(capsys, *arguments, "--target-language", code, "--samples", "40")
    assert (status, json.loads(out)["target_language"]) == (0, code)


def test_a_field_that_some_lines_lack(files, capsys):
    records = [{"hypothesis": text} for text in OUTPUT]
    records[0]["tokens"] = [1]
    decode = files("d.jsonl", map(json.dumps, records))
    status, _, err = run(
        capsys, "--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE),
        "--target-language", "en", "--decode", decode,
    )  # fmt: skip
    assert (status, err) == (2, f"padir score: error: {decode}: line 2: key tokens is missing\n")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tokens", "1 2"), ("tokens", [1, "2"]), ("tokens", 1), ("tokens_before_drop", [1.5]),
        ("before_drop", 3), ("before_drop", ["a"]), ("steps", "4"), ("steps", [4]), ("steps", True),
    ],
)  # fmt: skip
def test_a_field_of_another_kind(files, capsys, key, value):
    fields = {"tokens": [1], "tokens_before_drop": [1], "before_drop": "a", "steps": 4}
    records = [{"hypothesis": text, **fields} for text in OUTPUT]
    records[1][key] = value
    arguments = ("--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE))
    decode = files("d.jsonl", map(json.dumps, records))
    status, _, err = run(capsys, *arguments, "--target-language", "en", "--decode", decode)
    expected = f"padir score: error: {decode}: line 2: key {key}: found {value!r}\n"
    assert (status, err) == (2, expected)


@pytest.mark.parametrize("samples", ["3", "1000001", "1" + "0" * 30])
def test_too_few_or_too_many_resamples_are_refused(files, capsys, samples):
    arguments = ("--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE))
    status, _, err = run(capsys, *arguments, "--target-language", "en", "--samples", samples)
    given = samples if len(samples) < 9 else "a number of more than 15 digits"
    expected = f"padir score: error: --samples is {given}: allowed are 40 to 1000000\n"
    assert (status, err) == (2, expected)


def test_validity_is_the_share_that_the_grammar_allows(tmp_path, files, capsys):
    from padir.config.data import SyntheticSource
    from padir.data.synthetic import write_grammar, write_synthetic

    settings = SyntheticSource(train=20, valid=4, test=8)
    write_synthetic(settings, tmp_path)
    write_grammar(settings, tmp_path / "grammar.json")
    source = (tmp_path / "test.xs").read_text().splitlines()
    target = (tmp_path / "test.xt").read_text().splitlines()
    status, out, _ = run(
        capsys, "--hypotheses", files("h", [*target[:6], "nonsense", ""]),
        "--references", files("r", target), "--target-language", "xt",
        "--sources", files("s", source), "--grammar", str(tmp_path / "grammar.json"),
    )  # fmt: skip
    assert status == 0
    assert json.loads(out)["validity"]["share"] == pytest.approx(6 / 8)


VERBS = {"score": ["--target-language", "en"], "rate": ["--scorer", "chrf++"]}


@pytest.fixture(params=VERBS)
def verb(request) -> str:
    """A command that scores."""
    return request.param


def score(capsys, verb: str, *arguments: str) -> tuple[int, str, str]:
    status = cli.main([verb, *arguments, *VERBS[verb]])
    out, err = capsys.readouterr()
    return status, out, err


def test_all_references_in_one_file_score_like_plain_files(verb, files, capsys):
    other = ["a dog has bitten the man", "it rained", "never"]
    hypotheses = files("h", OUTPUT)
    together = files("r.jsonl", map(json.dumps, zip(REFERENCE, other, strict=True)))
    printed = [
        json.loads(score(capsys, verb, "--hypotheses", hypotheses, "--references", *paths)[1])
        for paths in ((files("r", REFERENCE), files("r1", other)), (together,))
    ]
    assert printed[0] == printed[1]
    assert printed[0]["references"] == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['["a"]', '["b"]'], "line counts differ"),
        (['["a"]', '["b", "c"]', '["d"]'], "line 2: found 2 texts, line 1 has 1"),
        (['["a"]', '"b"', '["d"]'], "line 2"),
        (['["a"]', "[1]", '["d"]'], "line 2"),
        (['["a"]', "[", '["d"]'], "line 2"),
        (["[]"] * 3, "line 1"),
    ],
)
def test_references_that_are_no_lists_of_one_length_are_refused(
    verb, files, capsys, lines, message
):
    paths = ("--hypotheses", files("h", OUTPUT), "--references", files("r.jsonl", lines))
    status, out, err = score(capsys, verb, *paths)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "r.jsonl" in err and message in err


def test_hypotheses_have_one_text_a_line(verb, files, capsys):
    pairs = files("h.jsonl", map(json.dumps, zip(OUTPUT, OUTPUT, strict=True)))
    paths = ("--hypotheses", pairs, "--references", files("r", REFERENCE))
    status, out, err = score(capsys, verb, *paths)
    message = (
        f"padir {verb}: error: {pairs}: allowed is plain text, one sentence a line, not .jsonl"
    )
    assert (status, out, err) == (2, "", f"{message}\n")


def test_labels_and_digests_come_from_provenance_and_config(verb, files, tmp_path, capsys):
    carried = {"training": "t", "decoder": "d"}
    labels = {"dataset": "toy", "training": "padir", "passes": 4}
    document = {"labels": labels, "digests": carried, "command": ["padir", "decode"]}
    paths = ("--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE))
    options = ("--provenance", files("p", [json.dumps(document)]), "--json", str(tmp_path / "s"))
    expected = {"training": "t", "score": "s"}
    status, _, _ = score(capsys, verb, *paths, *options, "--digests", json.dumps(expected))
    assert status == 0
    written = json.loads((tmp_path / "s").read_text())
    assert written["digests"] == {**carried, "score": "s"}
    assert (written["dataset"], written["training"], written["passes"]) == ("toy", "padir", 4)
    assert written["decoder"] is None


@pytest.mark.parametrize(
    ("digests", "message"),
    [
        (
            '{"decoder": "other"}',
            "{h}: was made with other settings (decoder d, the config has other): run"
            " snakemake --force {h}",
        ),
        (
            '{"training": "other"}',
            "{h}: was trained with other settings (training t, the config has other): run"
            " snakemake --force {h}",
        ),
        ("{", "--digests: not JSON: Expecting property name enclosed in double quotes: line 1"),
        ("[" * 100_000, "--digests: not JSON: maximum recursion depth exceeded"),
        ('["t"]', """--digests: found ["t"], allowed: an object of texts by stage"""),
        ('{"training": 1}', "--digests: found"),
    ],
)
def test_digests_that_differ_are_refused(verb, files, tmp_path, capsys, digests, message):
    hypotheses = files("h", OUTPUT)
    made_by = files("p", [json.dumps({"digests": {"training": "t", "decoder": "d"}})])
    paths = ("--hypotheses", hypotheses, "--references", files("r", REFERENCE))
    options = ("--provenance", made_by, "--digests", digests, "--json", str(tmp_path / "s"))
    status, out, err = score(capsys, verb, *paths, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"padir {verb}: error: {message.replace('{h}', hypotheses)}")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("text", ["[]", "3", '{"labels": []}', '{"digests": 1}', "{"])
def test_a_file_that_is_not_a_provenance_is_refused(verb, files, capsys, text):
    made_by = files("p", [text])
    paths = ("--hypotheses", files("h", OUTPUT), "--references", files("r", REFERENCE))
    status, out, err = score(capsys, verb, *paths, "--provenance", made_by)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"padir {verb}: error: {made_by}: ")


@pytest.mark.parametrize("verb", ["fetch", "clean", "rate", "decode", "tune", "latency"])
@pytest.mark.parametrize("count", ["0", "-3", "two", "1.5", "", "1025", "1" + "0" * 30])
def test_a_number_of_threads_is_1_to_1024(verb, count, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main([verb, f"--threads={count}"])
    assert caught.value.code == 2
    expected = f"argument --threads: found {count!r}, allowed: 1 to 1024\n"
    assert capsys.readouterr().err.endswith(expected)
