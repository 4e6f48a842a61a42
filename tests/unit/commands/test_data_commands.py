"""`padir fetch`, `clean` and `vocab`, called as the workflow calls them."""

import json
from pathlib import Path

import pytest

from padir.cli import main
from padir.config.data import SyntheticSource
from padir.data.grammar import Grammar
from padir.data.synthetic import foreign_text
from padir.files import (
    read_aligned,
    read_json,
    read_lines,
    sha256_file,
    write_json,
    write_lines,
)
from padir.vocab import Vocabulary

SYNTHETIC = {
    "source": {"kind": "synthetic", "train": 300, "valid": 20, "test": 20, "seed": 3},
    "directions": ["xs-xt"],
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """fetch, clean and vocab of a small synthetic set, in a folder with an awkward name."""
    folder = tmp_path_factory.mktemp('it\'s; a "test"')
    write_json(folder / "dataset.json", SYNTHETIC)
    write_json(folder / "vocabulary.json", {"kind": "word", "size": 1000})
    spec, raw, out = (str(folder / name) for name in ("dataset.json", "raw", "data"))
    assert main(["fetch", "--config-dataset", spec, "--out", raw]) == 0
    assert main(["clean", "--config-dataset", spec, "--raw", raw, "--out", out]) == 0
    assert main(["fetch", "--config-dataset", spec, "--grammar", f"{out}/grammar.json"]) == 0
    text = [f"{out}/train.xs", f"{out}/train.xt"]
    settings, model = str(folder / "vocabulary.json"), str(folder / "spm.model")
    assert main(["vocab", "--settings", settings, "--text", *text, "--out", model]) == 0
    return folder


def test_the_data_verbs_write_every_declared_file(built):
    data = built / "data"
    expected = {"train.xs", "train.xt", "grammar.json", "statistics.json", "README.md"}
    expected |= {"provenance.json", "valid.xs", "test.xs", "valid.xt", "test.xt"}
    expected |= {f"{split}.xt.{i}" for split in ("valid", "test") for i in (1, 2, 3)}
    sides = [(split, language) for split in ("valid", "test") for language in ("xs", "xt")]
    expected |= {f"{split}.references.{language}.jsonl" for split, language in sides}
    assert {path.name for path in data.iterdir()} == expected
    grammar = Grammar.load(data / "grammar.json")
    sources, targets = read_lines(data / "test.xs"), read_lines(data / "test.xt.3")
    assert grammar.valid_lines(sources, targets, "test.xs") == [True] * 20
    assert read_json(data / "statistics.json")["splits"]["train"]["pairs_read"] == 300
    vocabulary = Vocabulary.load(built / "spm.model")
    lines = read_lines(data / "train.xt")
    assert vocabulary.decode(vocabulary.encode(lines)) == lines


def test_references_of_a_sentence_stand_in_one_line(built):
    data = built / "data"
    for split in ("valid", "test"):
        names = [f"{split}.xt", *(f"{split}.xt.{i}" for i in (1, 2, 3))]
        columns = [read_lines(data / name) for name in names]
        lines = read_lines(data / f"{split}.references.xt.jsonl")
        assert [json.loads(line) for line in lines] == [
            list(row) for row in zip(*columns, strict=True)
        ]
        lines = read_lines(data / f"{split}.references.xs.jsonl")
        sources = read_lines(data / f"{split}.xs")
        assert [json.loads(line) for line in lines] == [[source] for source in sources]
    assert read_aligned(data / "test.references.xt.jsonl") == columns


def test_the_grammar_depends_on_the_source_alone(built, tmp_path):
    spec = tmp_path / "spec.json"
    for change, same in (({"train": 5, "references": 1}, True), ({"seed": 4}, False)):
        write_json(spec, SYNTHETIC | {"source": SYNTHETIC["source"] | change})
        path = tmp_path / "grammar.json"
        assert main(["fetch", "--config-dataset", str(spec), "--grammar", str(path)]) == 0
        equal = path.read_bytes() == (built / "data/grammar.json").read_bytes()
        assert equal is same


def test_provenance_names_command_seed_and_inputs(built):
    fetched = read_json(built / "raw" / "provenance.json")
    assert fetched["command"][:2] == ["padir", "fetch"]
    assert fetched["seed"] == 3
    # Again, beside files of others: only what fetch itself wrote is named.
    (built / "raw" / "notes").mkdir()
    (built / "raw" / "train.notes").write_text("mine")
    raw, settings = str(built / "raw"), str(built / "dataset.json")
    assert main(["fetch", "--config-dataset", settings, "--out", raw]) == 0
    assert read_json(built / "raw" / "provenance.json")["outputs"] == fetched["outputs"]
    assert all(
        Path(path).name.startswith(("train.", "valid.", "test.")) for path in fetched["outputs"]
    )
    cleaned = read_json(built / "data" / "provenance.json")
    raw = str(built / "raw" / "train.xs")
    assert cleaned["inputs"][raw] == sha256_file(raw)
    assert (built / "spm.model.provenance.json").exists()


def test_carriage_returns_and_byte_order_marks_are_reported(tmp_path, capsys):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.de").write_bytes(f"{split} a\r\n{split} b\r\n".encode())
        (tmp_path / f"{split}.en").write_bytes(f"{split} c\n{split} d\n".encode())
    (tmp_path / "valid.en").write_bytes("valid c\n\ufeffvalid d\n".encode())
    files = {s: {"files": {"de": f"{s}.de", "en": f"{s}.en"}} for s in ("train", "valid", "test")}
    source = {"kind": "files", "folder": str(tmp_path), **files}
    spec, raw, out = (str(tmp_path / name) for name in ("spec.json", "raw", "out"))
    write_json(spec, {"source": source, "directions": ["de-en"]})
    assert main(["fetch", "--config-dataset", spec, "--out", raw]) == 0
    assert main(["clean", "--config-dataset", spec, "--raw", raw, "--out", out]) == 0
    assert read_lines(f"{out}/train.de") == ["train a", "train b"]
    errors = capsys.readouterr().err
    assert "padir clean: train.de: removed a carriage return from 2 lines" in errors
    assert "padir clean: valid.en: removed a byte order mark from 1 lines" in errors
    assert "train.en" not in errors


@pytest.mark.parametrize("bad", [2, 3])
def test_more_than_a_fifth_of_the_training_pairs_dropped_is_reported(tmp_path, capsys, bad):
    raw = tmp_path / "raw"
    raw.mkdir()
    for split, pairs in (("train", 10), ("valid", 1), ("test", 1)):
        for language in ("de", "en"):
            lines = [f"{split} {number}" for number in range(pairs)]
            if (split, language) == ("train", "en"):
                lines[:bad] = ["x " * 30, *[""] * (bad - 1)]
            write_lines(raw / f"{split}.{language}", lines)
    files = {s: {"files": {"de": f"{s}.de", "en": f"{s}.en"}} for s in ("train", "valid", "test")}
    spec, out = str(tmp_path / "spec.json"), str(tmp_path / "out")
    write_json(spec, {"source": {"kind": "files", **files}, "directions": ["de-en"]})
    assert main(["clean", "--config-dataset", spec, "--raw", str(raw), "--out", out]) == 0
    line = (
        "padir clean: train: dropped 3 of 10 pairs: empty 2 (cleaning.drop_empty), ratio 1"
        " (cleaning.max_ratio)"
    )
    notes = [each for each in capsys.readouterr().err.splitlines() if "dropped" in each]
    assert notes == ([line] if bad == 3 else [])


def test_extra_sources_leave_out_known_and_scored_sentences(built, tmp_path, capsys):
    data, spec, out = built / "data", tmp_path / "extra.json", tmp_path / "out"
    old, scored = read_lines(data / "train.xs")[0], read_lines(data / "test.xs")[0]
    write_lines(tmp_path / "more.xs", ["neu neu", old, scored])
    extra = {"files": {"xs": str(tmp_path / "more.xs")}}
    write_json(spec, {**SYNTHETIC, "extra_sources": extra})
    arguments = ["extra-sources", "--config-dataset", str(spec), "--out", str(out)]
    arguments += ["--train", str(data / "train.xs"), "--digests", '{"extra_sources": "e"}']
    for split in ("valid", "test"):
        arguments += [f"--{split}", str(data / f"{split}.references.xs.jsonl")]
    assert main([*arguments, "--language", "xs"]) == 0
    assert read_lines(out / "extra.xs") == ["neu neu"]
    statistics = read_json(out / "extra.xs.statistics.json")
    assert statistics["digests"] == {"extra_sources": "e"}
    assert (statistics["language"], statistics["file"]) == ("xs", "more.xs")
    assert statistics["dropped"]["overlap"]["first_lines"] == [3]
    inputs = read_json(out / "extra.xs.provenance.json")["inputs"]
    assert inputs[str(tmp_path / "more.xs")] == sha256_file(tmp_path / "more.xs")
    capsys.readouterr()
    assert main([*arguments, "--language", "xt"]) == 2
    assert capsys.readouterr().err == (
        f"padir extra-sources: error: {spec}: extra_sources.files has no 'xt', allowed: xs\n"
    )
    write_json(spec, SYNTHETIC)
    assert main([*arguments, "--language", "xs"]) == 2
    assert "allowed: none, as there are no extra_sources" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["fetch", "clean", "extra-sources", "vocab"])
def test_help_has_an_example(verb, capsys):
    with pytest.raises(SystemExit) as caught:
        main([verb, "--help"])
    assert caught.value.code == 0
    assert f"examples:\n  padir {verb} --" in capsys.readouterr().out


def test_errors_are_one_line_and_status_2(built, tmp_path, capsys):
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(SYNTHETIC | {"sauce": 1}))
    raw = str(built / "raw")
    spec = str(built / "dataset.json")
    settings = tmp_path / "settings.json"
    settings.write_text('{"kind": "bpe", "size": 30000}')
    text = str(built / "data" / "train.xs")
    files = tmp_path / "files.json"
    split = {"files": {"de": "a.de", "en": "a.en"}}
    source = {"kind": "files", "train": split, "valid": split, "test": split}
    files.write_text(json.dumps({"source": source, "directions": ["de-en"]}))
    for argv, words in [
        (
            ["fetch", "--config-dataset", str(files), "--grammar", str(tmp_path / "g")],
            "--grammar: source is files; only synthetic data has one",
        ),
        (["fetch", "--config-dataset", str(bad), "--out", str(tmp_path / "x")], "sauce"),
        (["clean", "--config-dataset", spec, "--raw", raw, "--out", raw], "different folders"),
        (
            ["clean", "--config-dataset", spec, "--raw", str(tmp_path / "no"), "--out", "x"],
            "no/test.xs: cannot read: No such file",
        ),
        (
            ["vocab", "--settings", str(settings), "--text", text, "--out", "m"],
            "the text allows at most",
        ),
        (["vocab", "--settings", str(settings), "--text", "gone", "--out", "m"], "gone: cannot"),
    ]:
        assert main(argv) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"padir {argv[0]}: error: ")
        assert error.count("\n") == 1
        assert words in error


def learn(built, folder, **settings):
    """The vocabulary that `padir vocab` makes of the built data's text."""
    write_json(folder / "settings.json", {"kind": "word", "size": 3000, **settings})
    text = [str(built / "data" / f"train.{language}") for language in ("xs", "xt")]
    out = folder / "spm.model"
    spec = str(folder / "settings.json")
    assert main(["vocab", "--settings", spec, "--text", *text, "--out", str(out)]) == 0
    return out.read_bytes(), Vocabulary.load(out)


def pieces(vocabulary):
    return {vocabulary.piece(token) for token in range(vocabulary.size)}


def test_foreign_pairs_have_other_words_and_the_same_ones_each_time(built, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    source = SYNTHETIC["source"]
    once, vocabulary = learn(built, tmp_path / "one", foreign_pairs=2, source=source)
    again, _ = learn(built, tmp_path / "two", foreign_pairs=2, source=source)
    assert once == again
    pieces_without = pieces(Vocabulary.load(built / "spm.model"))
    # Every word of the pair's own, and those of the pairs of the next two seeds.
    expected = set(pieces_without)
    for seed in (4, 5):
        write_json(tmp_path / "spec.json", SYNTHETIC | {"source": source | {"seed": seed}})
        raw = tmp_path / f"raw{seed}"
        argv = ["fetch", "--config-dataset", str(tmp_path / "spec.json"), "--out", str(raw)]
        assert main(argv) == 0
        lines = [*read_lines(raw / "train.xs"), *read_lines(raw / "train.xt")]
        expected |= {f"\u2581{word}" for line in lines for word in line.split()}
    assert pieces(vocabulary) == expected
    assert len(expected) > 2 * len(pieces_without)


def test_foreign_text_weighs_as_much_as_the_own():
    source = SyntheticSource(**SYNTHETIC["source"])
    assert len(list(foreign_text(source, 3))) == 3 * 2 * source.train
    assert list(foreign_text(source, 0)) == []


def test_extra_text_is_learnt_from_and_stands_in_the_provenance(built, tmp_path):
    extra = tmp_path / "extra.txt"
    extra.write_text("zzyzx\n")
    _, vocabulary = learn(built, tmp_path, extra_text=[str(extra)])
    pieces_without = pieces(Vocabulary.load(built / "spm.model"))
    assert pieces(vocabulary) == pieces_without | {"\u2581zzyzx"}
    provenance = read_json(tmp_path / "spm.model.provenance.json")
    assert provenance["inputs"][str(extra)] == sha256_file(extra)


def test_extra_text_is_not_written_over(built, tmp_path, capsys):
    extra, settings = tmp_path / "extra.txt", tmp_path / "settings.json"
    extra.write_text("mine\n")
    write_json(settings, {"kind": "word", "size": 3000, "extra_text": [str(extra)]})
    text = str(built / "data" / "train.xs")
    words = ["vocab", "--settings", str(settings), "--text", text, "--out", str(extra)]
    assert main(words) == 2
    assert "extra.txt: is a file of extra_text, allowed is another one" in capsys.readouterr().err
    assert extra.read_text() == "mine\n"
