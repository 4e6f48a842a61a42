"""Chinese and Romanian from plain text to scores: every command that a user runs, on few lines."""

import io
import json
import sys

import pytest

from padir.cli import main
from padir.commands import decode, train, translate
from padir.config.data import Cleaning, Dataset, FilesSource
from padir.data.clean import clean
from padir.files import read_json, read_lines, write_json
from tests.training import tiny_run

PEOPLE = {"我": "I", "你": "you", "我们": "we", "老师": "the teacher", "孩子们": "the children"}
ACTS = {"喜欢": "like", "看见": "see", "不要": "do not want", "买了": "bought"}
THINGS = {
    "很多书": "many books",
    "一只猫": "a cat",
    "新鲜水果": "fresh fruit",
    "这座山": "this hill",
}
ROMANIAN = {
    "eu": "I", "tu": "you", "noi": "we", "profesorul": "the teacher", "copiii": "the children",
    "văd": "see", "știu": "know", "ţin": "hold", "iau": "take",
    "această carte": "this book", "o pisică": "a cat", "fraţii": "the brothers",
    "mulți ani": "many years",
}  # fmt: skip


# Pieces of the vocabulary: as many as the few words allow.
SIZES = {"zh": 72, "ro": 56}


def chinese_pairs():
    """Sentences without a space, with Chinese punctuation."""
    return [
        (f"{p} {a} {t}.", f"{person}{act}{thing}。")
        for person, p in PEOPLE.items()
        for act, a in ACTS.items()
        for thing, t in THINGS.items()
    ]


def romanian_pairs():
    words = list(ROMANIAN.items())
    return [
        (f"{p} {a} {t}.", f"{person} {act} {thing}.")
        for person, p in words[:5]
        for act, a in words[5:9]
        for thing, t in words[9:]
    ]


@pytest.fixture(params=["zh", "ro"])
def place(request, tmp_path, monkeypatch):
    """(folder with a trained model from English, its target language)."""
    for module in (train, decode, translate):
        monkeypatch.setattr(module, "prepare", lambda threads: None)
    language = request.param
    pairs = {"zh": chinese_pairs, "ro": romanian_pairs}[language]()
    splits = {"train": pairs[10:], "valid": pairs[:5], "test": pairs[5:10]}
    (tmp_path / "text").mkdir()
    for split, lines in splits.items():
        for side, code in enumerate(("en", language)):
            text = "".join(f"{pair[side]}\n" for pair in lines)
            (tmp_path / "text" / f"{split}.{code}").write_text(text, encoding="utf-8")
    files = {s: {"files": {c: f"{s}.{c}" for c in ("en", language)}} for s in splits}
    dataset = Dataset(
        source=FilesSource(folder=str(tmp_path / "text"), **files),
        directions=[f"en-{language}"],
        cleaning={"drop_overlap": False}
        | ({"romanian_letters": "comma"} if language == "ro" else {}),
    )
    write_json(tmp_path / "dataset.json", dataset.model_dump(mode="json"))
    write_json(tmp_path / "settings.json", {"kind": "unigram", "size": SIZES[language]})
    data = tmp_path / "data"
    common = ["--config-dataset", tmp_path / "dataset.json", "--threads", 1]
    run("fetch", *common, "--out", tmp_path / "raw")
    run("clean", *common, "--raw", tmp_path / "raw", "--out", data)
    sides = [data / "train.en", data / f"train.{language}"]
    model = tmp_path / "spm.model"
    run("vocab", "--settings", tmp_path / "settings.json", "--text", *sides, "--out", model)
    made = tiny_run().model_dump(mode="json")
    made["architecture"] |= {"max_positions": 32, "length_classes": 32}
    made["training"]["buckets"] = [16, 32]
    spec = {"dataset": "toy", "direction": f"en-{language}", "training": "padir", "run": made}
    write_json(tmp_path / "spec.json", spec)
    arguments = ["--spec", tmp_path / "spec.json", "--vocabulary", model, "--seed", 0]
    for split in ("train", "valid"):
        arguments += [f"--{split}-source", data / f"{split}.en"]
        arguments += [f"--{split}-target", data / f"{split}.{language}"]
    run("train", *arguments, "--work", tmp_path / "work", "--out", tmp_path / "bundle")
    return tmp_path, language


def run(*arguments):
    assert main([str(argument) for argument in arguments]) == 0


def score(capsys, *arguments):
    capsys.readouterr()
    run("score", *arguments)
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_romanian_and_chinese_go_from_raw_text_to_scores(place, monkeypatch, capsys):
    folder, language = place
    references = folder / "data" / f"test.{language}"
    statistics = read_json(folder / "data" / "statistics.json")
    sides = {f["file"]: f for f in statistics["splits"]["train"]["files"]}
    assert statistics["splits"]["train"]["pairs_kept"] == 70
    unit = {"zh": "characters", "ro": "words"}[language]
    assert sides[f"train.{language}"]["length_unit"] == unit
    if language == "ro":
        # Cedillas became commas, in the references too.
        assert "ţ" not in "".join(read_lines(folder / "data" / "train.ro"))
        assert "ţin" in "".join(read_lines(folder / "raw" / "train.ro"))
        assert sides["train.ro"]["romanian_lines_changed"] > 0
    source = (folder / "data" / "test.en").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source), encoding="utf-8"))
    capsys.readouterr()
    rule = ["--length-alpha", 0, "--length-weight", 1]
    run("translate", "--model", folder / "bundle", "--steps", 2, *rule)
    lines = capsys.readouterr().out.removesuffix("\n").split("\n")
    assert len(lines) == 5
    (folder / "out").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    common = ["--references", references, "--target-language", language]
    scores = score(capsys, "--hypotheses", folder / "out", *common)
    tokenizer = {"zh": "zh", "ro": "13a"}[language]
    assert f"tok:{tokenizer}|" in scores["bleu"]["signature"]
    perfect = score(capsys, "--hypotheses", references, *common)
    assert perfect["bleu"]["score"] == pytest.approx(100)
    assert perfect["stutter"]["words"]["per_100"] == 0


def test_stutter_of_chinese_counts_characters(tmp_path, capsys):
    (tmp_path / "reference").write_text("妈妈喜欢新鲜水果。\n我们看见一只猫。\n")
    (tmp_path / "hypothesis").write_text("妈妈妈喜欢欢新鲜水果。\n我们看见见一只猫。。\n")
    common = ["--references", tmp_path / "reference", "--target-language", "zh"]
    scores = score(capsys, "--hypotheses", tmp_path / "hypothesis", *common)
    # Three characters follow themselves beyond the reference; 10 and 8 characters in all.
    assert scores["stutter"]["words"]["per_100"] == pytest.approx(100 * 3 / 18)


@pytest.mark.parametrize("language", ["zh", "th"])
def test_limits_of_length_hold_for_characters_of_text_without_spaces(tmp_path, language):
    """Limits hold for characters: 250 words would pass a whole page of Chinese or Thai."""
    pairs = [
        ("a b c", "我" * 250),
        ("a b c", "我" * 251),
        ("a " * 30, "我们" * 30),
        ("a", "我们好你们好我们好"),
        ("a", "我们好你们好我们好你"),
    ]
    for split in ("train", "valid", "test"):
        for side, code in enumerate(("en", language)):
            lines = pairs if split == "train" else [(f"{split} x", f"{split}人")]
            text = "".join(f"{pair[side]}\n" for pair in lines)
            (tmp_path / f"{split}.{code}").write_text(text, encoding="utf-8")
    statistics = clean(Cleaning(), f"en-{language}", tmp_path, tmp_path / "o")
    dropped = statistics["splits"]["train"]["dropped"]
    reasons = {reason: each["first_lines"] for reason, each in dropped.items() if each["pairs"]}
    assert reasons == {"ratio": [1, 5], "too_long": [2]}
