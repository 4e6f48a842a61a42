"""The table of benchmarks/defects.py, without training: comparisons, signs, and where it goes."""

from pathlib import Path

import pytest

from benchmarks.defects import BEGIN, END, METRICS, compared, filled, parser, table
from padir.config.decoder import RefinementDecoder
from tests.defects.measured import VARIANTS
from tests.defects.variants import Defects


def made_up_scores(seed: int) -> dict[str, dict]:
    """Made-up scores: variant number n has n BLEU less, and n stutters more."""
    scores = {}
    for number, variant in enumerate(VARIANTS):
        values = {"bleu": 90.0 + seed - number, "before": 2.0 + number, "final": 1.0 + number}
        scores[variant.name] = {
            key: {"value": value, "replicates": [value - 0.5, value, value + 0.5] * 20}
            for key, value in values.items()
        } | {"batch_share": 10.0 * seed if variant.batches else None}
    return scores


def test_variants_name_their_base_and_valid_settings():
    by_name = {variant.name: variant for variant in VARIANTS}
    assert len(by_name) == len(VARIANTS)
    for variant in VARIANTS:
        settings = RefinementDecoder(**variant.settings)
        defects = Defects(**dict.fromkeys(variant.defects, True))
        assert not defects.deletes_start or settings.drop_repeats == "none"
        if variant.base is not None:
            base = by_name[variant.base]
            assert base.base is None
            assert settings.remask == RefinementDecoder(**base.settings).remask
        else:
            assert defects == Defects()
            assert not variant.padding


def test_differences_are_with_the_defect_minus_ours():
    rows = compared({str(seed): made_up_scores(seed) for seed in range(3)})
    names = [variant.name for variant in VARIANTS]
    shown = [variant for variant in VARIANTS if variant.base]
    assert [row["name"] for row in rows] == [variant.name for variant in shown]
    for row, variant in zip(rows, shown, strict=True):
        distance = names.index(variant.name) - names.index(variant.base or "")
        assert row["bleu"]["difference"] == pytest.approx(-distance)
        assert row["bleu"]["with"] - row["bleu"]["shipped"] == pytest.approx(-distance)
        assert row["final"]["difference"] == pytest.approx(distance)
        assert row["bleu"]["low"] == pytest.approx(-distance)
        assert row["batch_share"] == ([10.0, 10.0] if variant.batches else None)


def test_the_table_says_what_was_measured():
    report = {
        "model": "padir_distilled",
        "steps": 3000,
        "seeds": [0, 1, 2],
        "passes": "T4",
        "batch_sentences": 64,
        "sentences": 500,
        "references": 4,
        "signature": "nrefs:4",
        "test_digest": "0123456789abcdef",
        "seeds_resampled": True,
        "rows": compared({str(seed): made_up_scores(seed) for seed in range(3)}),
    }
    text = table(report)
    lines = text.splitlines()
    row = next(line for line in lines if "padding visible" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:5] == ["91.00", "89.00", "−2.00", "[−2.00, −2.00]"]
    assert len([line for line in lines if line.startswith("| ")]) == 2 + sum(
        variant.base is not None for variant in VARIANTS
    )
    for number in ("3000 training steps", "500 test sentences", "4 references", "0123456789ab."):
        assert number in text


def test_the_table_takes_its_place_and_no_other(repository: Path):
    document = f"# A\n\n{BEGIN}\nold\n{END}\n\nB\n"
    once = filled(document, "new\n")
    assert once == f"# A\n\n{BEGIN}\n\nnew\n\n{END}\n\nB\n"
    assert filled(once, "new") == once
    for broken in ("", BEGIN, f"{END}{BEGIN}", document + document):
        with pytest.raises(ValueError, match="once each"):
            filled(broken, "new")
    default = parser().get_default("document")
    filled((repository / default).read_text(encoding="utf-8"), "new")
    assert set(METRICS) == {"bleu", "before", "final"}
