"""The card of distilled targets where nothing can be compared."""

import pytest

from padir.distill.card import describe
from padir.files import InputError, write_json, write_lines


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
