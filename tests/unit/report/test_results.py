"""Reading results: averages by hand, and files that must not be believed."""

import json

import numpy as np
import pytest

from padir.files import InputError
from padir.report.results import estimate, load_results
from padir.report.translation import difference


def test_seeds_are_averaged_by_hand():
    found = estimate([10.0, 14.0], [[9.0, 10.0, 11.0], [13.0, 14.0, 18.0]])
    assert found.value == 12.0
    assert found.spread == pytest.approx(np.sqrt(8.0))
    assert found.replicates.tolist() == [11.0, 12.0, 14.5]
    assert (found.low, found.high) == (11.0, 14.5)
    assert estimate([3.0], [[3.0]]).spread is None


def test_rows_follow_the_config(made_up):
    results = load_results(made_up.folder, made_up.config)
    assert [row.label for row in results.rows][:3] == ["ar greedy", "ar beam", "padir_raw T1"]
    row = results.row(("toy", "xs-xt"), "padir", "T4")
    assert row is not None and row.seeds == (0, 1)
    assert row.bleu().value == pytest.approx(39.6)
    assert row.bleu().spread == pytest.approx(0.2 / np.sqrt(2))
    assert row.steps == 4
    assert (results.missing, results.left_out) == ((), 0)


def test_a_paired_difference_has_no_common_noise(made_up):
    results = load_results(made_up.folder, made_up.config)
    group = ("toy", "xs-xt")
    four, beam = results.row(group, "padir", "T4"), results.row(group, "ar", "beam")
    assert four is not None and beam is not None
    # Each alone spans two points; together they rise and fall and the difference does not move.
    assert four.bleu().high - four.bleu().low > 1.8
    assert difference(four, beam) == pytest.approx((-0.4, -0.4, -0.4))


def test_missing_and_foreign_scores_are_counted(made_up):
    made_up.score("padir", "T4", seed=1).unlink()
    made_up.write("runs/toy/xs-xt/padir/seed9/score/test.T4.json", {})
    results = load_results(made_up.folder, made_up.config)
    assert results.missing == ("runs/toy/xs-xt/padir/seed1/score/test.T4.json",)
    assert results.left_out == 1
    row = results.row(("toy", "xs-xt"), "padir", "T4")
    assert row is not None and row.seeds == (0,)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"bleu": {"score": 1.0, "low": 0.0, "high": 2.0, "signature": "BLEU|y"}},
         r"BLEU signature differs: BLEU\|x in .*ar/seed0/score/test.greedy.json, BLEU\|y in"),
        ({"chrf": {"score": 1.0, "low": 0.0, "high": 2.0, "signature": "c"}}, "chrF signature"),
        ({"test_digest": "other"}, "test-set digest differs: abc123 in .*, other in .*T4.json"),
        ({"sentences": 199}, "number of sentences differs: 200 in .*, 199 in"),
    ],
)  # fmt: skip
def test_unlike_scores_never_share_a_table(made_up, change, what):
    path = made_up.score("padir", "T4", seed=1)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=f"scores cannot share a table, {what}") as caught:
        load_results(made_up.folder, made_up.config)
    assert "\n" not in str(caught.value)


def test_a_score_in_another_place_is_refused(made_up):
    made_up.score("padir", "T4", targets="raw")
    with pytest.raises(
        InputError, match=r"T4.json: targets is 'raw'; the path and config say 'own'"
    ):
        load_results(made_up.folder, made_up.config)


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("runs/toy/xs-xt/ar/seed0/score/test.beam.json", {}, "key dataset is missing or null"),
        ("runs/toy/xs-xt/ar/seed0/score/test.beam.json", [], "not a JSON object"),
        ("latency/toy/xs-xt/latency.json", {"machine": {}, "rows": [{"model": "ar"}]},
         "key decoding is missing"),
        ("theory/x/seed0.json", {"claims": [{"id": "x"}]}, "key statement is missing"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named(made_up, path, content, message):
    made_up.write(path, content)
    with pytest.raises(InputError, match=f"{path}: {message}"):
        load_results(made_up.folder, made_up.config)


def test_no_folder(made_up, tmp_path):
    with pytest.raises(InputError, match="no such folder of results"):
        load_results(tmp_path / "absent", made_up.config)
