"""The score document of three sentences, by hand."""

import pytest

from padir.score.redundancy import Lexemes
from padir.score.significance import interval, resample_counts, share_interval
from padir.score.summary import DecoderOutput, score_corpus

RESAMPLES = resample_counts(3, 40)


@pytest.fixture(scope="module")
def scored():
    return score_corpus(
        ["a a b", "b b b c", "c a c"],
        [["a b b", "b c", "c a a"]],
        "en",
        decoded=DecoderOutput(
            tokens=[[1, 1], [2], [3, 4]],
            tokens_before_drop=[[1, 1, 1], [2, 2], [3, 4]],
            before_drop=["a a a b", "b b b c", "c a c c"],
        ),
        valid=[True, False, True],
        sources=["x y", "x x y", "x y"],
        lexemes=Lexemes({"x": 1, "y": 2}, {"a": 1, "b": 2}),
        samples=40,
    )


def test_units_and_what_counts_as_related_are_named(scored):
    assert (scored["stutter"]["unit"], scored["redundancy"]["related"]) == ("word", "lexeme")
    chinese = score_corpus(["我"], [["我"]], "zh", samples=2)
    assert (chinese["stutter"]["unit"], chinese["redundancy"]["related"]) == ("character", "ending")


def test_tokens_have_no_reference_to_exceed(scored):
    rates = {"per_100", "low", "high", "per_sentence", "sentences_share"}
    for key in ("tokens", "tokens_before_drop"):
        assert scored["stutter"][key].keys() == rates


def test_lengths_are_compared_with_the_mean_of_the_references():
    made = score_corpus(["a b c"], [["a b"], ["a b c d"]], "en", samples=2)
    assert made["redundancy"]["length_ratio"] == 1


def test_a_comparison_says_its_difference_once():
    made = score_corpus(["a b c d"], [["a b c d"]], "en", baseline=["a b c e"], samples=2)
    numbers = {"low", "high", "p_value", "p_value_bootstrap"}
    assert made["paired"].keys() == {"baseline", "bleu_difference", *numbers}


@pytest.mark.parametrize(
    ("name", "events", "of", "unit"),
    [
        ("stutter", [1, 2, 0], [3, 4, 3], 100),
        ("stutter_before_drop", [2, 2, 1], [4, 4, 4], 100),
        ("validity", [1, 0, 1], [1, 1, 1], 1),
        # The second source loses both "x" and the third its "y".
        ("dropped", [0, 2, 1], [2, 3, 2], 100),
    ],
)
def test_replicates_are_shares_of_each_resample(scored, name, events, of, unit):
    drawn = unit * (RESAMPLES @ events) / (RESAMPLES @ of)
    assert scored["replicates"][name] == pytest.approx(drawn, abs=1e-4)


def test_equal_neighbouring_tokens_are_counted_before_and_after_the_drop(scored):
    rates = [scored["stutter"][key]["per_100"] for key in ("tokens", "tokens_before_drop")]
    assert rates == pytest.approx([100 * 1 / 5, 100 * 3 / 7])


def test_runs_are_counted_before_and_after_the_drop(scored):
    assert scored["stutter"]["run_lengths"] == {"2": 1, "3": 1}
    assert scored["stutter"]["run_lengths_before_drop"] == {"2": 1, "3": 2}


def test_the_interval_of_validity_is_that_of_the_valid_share(scored):
    low, high = share_interval(2, 3)
    assert scored["validity"] == {"share": 2 / 3, "low": low, "high": high}


def test_the_test_set_s_digest_is_of_all_references():
    digests = {
        score_corpus(["a b"], references, "en", samples=2)["test_digest"]
        for references in ([["a"]], [["a"], ["b"]], [["a"], ["c"]])
    }
    assert len(digests) == 3


def test_redundancy_before_the_drop_is_that_of_the_words_before_it(scored):
    made = scored["redundancy"]
    rates = [
        made[words]["continuous_repetition"]["per_100"] for words in ("words", "words_before_drop")
    ]
    assert rates == pytest.approx([100 * 3 / 10, 100 * 5 / 12])


def test_dropped_words_have_the_rate_of_the_test_set_and_an_interval(scored):
    dropped = scored["redundancy"]["dropped"]
    drawn = 100 * (RESAMPLES @ [0, 2, 1]) / (RESAMPLES @ [2, 3, 2])
    assert dropped["per_100"] == pytest.approx(100 * 3 / 7)
    assert (dropped["low"], dropped["high"]) == pytest.approx(interval(drawn))
