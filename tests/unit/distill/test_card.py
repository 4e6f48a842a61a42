"""The card of distilled targets: what it compares, and what it cannot."""

import pytest

from padir.distill.card import describe
from padir.files import InputError, sha256_file, write_json, write_lines


def test_a_card_needs_a_translation_among_the_lines_compared_with_raw_targets(tmp_path):
    files = {"train": ["", "", "of an extra source"], "raw": ["a", "b"], "valid": ["x"]}
    for name, lines in files.items():
        write_lines(tmp_path / name, lines)
    extra = tmp_path / "extra.json"
    kept = {"language": "de", "file": "f", "pairs_kept": 1, "dropped": {}}
    write_json(extra, {**kept, "files": [{"sha256": "5" * 64}]})
    train, valid = (
        (tmp_path / "train", tmp_path / "raw"),
        (tmp_path / "valid", [tmp_path / "valid"]),
    )
    with pytest.raises(InputError, match=r"train: of the lines compared .* none has a translation"):
        describe("t", "beam", train, valid, lambda rows: {}, extra=extra)


def test_of_much_text_every_nth_line_is_compared_with_the_raw_targets(tmp_path, monkeypatch):
    monkeypatch.setattr("padir.distill.card.AGREEMENT_LINES", 3)
    for name, count in (("train", 10), ("raw", 7), ("valid", 1)):
        write_lines(tmp_path / name, [f"{name} {n}" if n != 3 else "" for n in range(count)])
    write_json(
        tmp_path / "extra.json",
        {"language": "xs", "file": "f", "pairs_kept": 3, "dropped": {}, "files": [{"sha256": "a"}]},
    )

    compared = []

    def bleu(aligned):
        compared.append(list(aligned))
        return {"score": 0.0}

    card = describe(
        "ar",
        "ar/beam",
        (tmp_path / "train", tmp_path / "raw"),
        (tmp_path / "valid", [tmp_path / "valid"]),
        bleu,
        extra=tmp_path / "extra.json",
    )
    # Lines 0, 3 and 6, of which 3 is empty; the last three are of extra sources.
    assert compared[1] == [("train 0", "raw 0"), ("train 6", "raw 6")]
    assert card["agreement_with_raw"] == {"score": 0.0, "every_line": 3}
    assert card["lines"]["train"] == 10


def test_the_card_compares_distilled_with_raw_targets(tmp_path):
    files = {
        "train": ["a b", "", "c"],
        "raw": ["a b", "b", "d"],
        "valid": ["x "],
        "reference": ["x"],
        "reference.1": ["y"],
    }
    for name, lines in files.items():
        write_lines(tmp_path / name, lines)
    calls = []

    def bleu(aligned):
        calls.append(list(aligned))
        return {"score": float(len(calls)), "signature": "s"}

    card = describe(
        "ar",
        "beam",
        (tmp_path / "train", tmp_path / "raw"),
        (tmp_path / "valid", [tmp_path / "reference", tmp_path / "reference.1"]),
        bleu,
    )
    assert calls == [[("x ", "x", "y")], [("a b", "a b"), ("c", "d")]]
    assert card["teacher_bleu"]["score"] == 1.0
    assert card["agreement_with_raw"]["score"] == 2.0
    assert (card["lines"], card["validity"]) == ({"train": 3, "valid": 1}, None)
    checksums = [sha256_file(tmp_path / name) for name in ("train", "valid")]
    assert [card["sha256"], card["valid_sha256"]] == checksums
    assert card["empty"] == {"train": 1, "valid": 0}
    write_lines(tmp_path / "raw", ["a"])
    with pytest.raises(InputError, match="line counts differ"):
        describe(
            "ar", "beam", (tmp_path / "train", tmp_path / "raw"), (tmp_path / "valid", []), bleu
        )
    for name in ("train", "raw"):
        write_lines(tmp_path / name, [])
    with pytest.raises(InputError, match="train: is empty"):
        describe(
            "ar", "beam", (tmp_path / "train", tmp_path / "raw"), (tmp_path / "valid", []), bleu
        )


def test_the_card_counts_extra_sources_and_compares_none_of_them_with_raw_targets(tmp_path):
    files = {"train": ["a b", "", "c", "d"], "raw": ["a b", "b"], "valid": ["x"], "r": ["y"]}
    for name, lines in files.items():
        write_lines(tmp_path / name, lines)
    dropped = {"empty": {"pairs": 0, "first_lines": []}, "overlap": {"pairs": 3}}
    statistics = {"language": "de", "file": "captions.de", "pairs_kept": 2, "dropped": dropped}
    statistics["files"] = [{"sha256": "5" * 64}]
    extra = tmp_path / "extra.json"
    write_json(extra, statistics)
    calls = []
    train, valid = (tmp_path / "train", tmp_path / "raw"), (tmp_path / "valid", [tmp_path / "r"])
    card = describe(
        "t", "beam", train, valid, lambda rows: calls.append(list(rows)) or {}, extra=extra
    )
    assert calls == [[("x", "y")], [("a b", "a b")]]
    assert card["lines"] == {"train": 4, "valid": 1}
    assert card["extra_sources"] == {
        **{"language": "de", "file": "captions.de", "lines": 2, "dropped": {"overlap": 3}},
        "sha256": "5" * 64,
    }
    with pytest.raises(InputError, match=r"train has 4, \S*raw has 2$"):
        describe("t", "beam", train, valid, lambda rows: None)
    write_json(extra, {**statistics, "pairs_kept": 3})
    with pytest.raises(InputError, match=r"train has 4, \S*raw has 2 and \S*extra.json says 3$"):
        describe("t", "beam", train, valid, lambda rows: None, extra=extra)


def test_the_card_is_of_the_translated_lines(tmp_path, monkeypatch):
    files = {"train": ["ok", "", "bad"], "valid": ["", "v"], "s": ["1", "2", "3"], "r": ["4", "5"]}
    for name, lines in files.items():
        write_lines(tmp_path / name, lines)
    calls, asked = [], []

    class Rules:
        def is_valid(self, source, target):
            asked.append((source, target))
            return target == "ok"

    monkeypatch.setattr("padir.data.grammar.Grammar.load", lambda path: Rules())
    train, valid = (tmp_path / "train", tmp_path / "s"), (tmp_path / "valid", [tmp_path / "r"])
    grammar = (tmp_path / "grammar", tmp_path / "s")
    card = describe("t", "beam", train, valid, lambda rows: calls.append(list(rows)) or {}, grammar)
    assert calls == [[("v", "5")], [("ok", "1"), ("bad", "3")]]
    assert asked == [("1", "ok"), ("3", "bad")]
    assert card["empty"] == {"train": 1, "valid": 1}
    assert card["validity"] == {"share": 0.5, "sentences": 2}
    write_lines(tmp_path / "valid", ["", " "])
    with pytest.raises(InputError, match="valid: all lines are empty"):
        describe("t", "beam", train, valid, lambda rows: None)
