"""How often tuning decodes the validation text, and what it compares."""

import pytest

from padir.decode.candidates import LengthRule
from padir.decode.tune import tune
from tests.decoding import LINES, tiny_decoder, tiny_translator


@pytest.mark.parametrize(("kind", "passes", "times"), [("beam", None, 3), ("padir", 2, 1)])
def test_tuning_decodes_as_often_as_its_decoder_says(tmp_path, kind, passes, times):
    alphas = [0.0, 0.5, 1.0]
    translator = tiny_translator(tmp_path, kind, passes, LengthRule(), length_alphas=alphas)
    finished = []
    tune(translator, LINES, "lines", lambda texts: 0.0, LINES, finished.append)
    assert sum(finished) == times * len(LINES)
    assert translator.decoder.settings.tuning_decodings == times


def test_each_alpha_of_a_beam_is_tried_in_a_search_of_its_own(tmp_path):
    alphas = [0.0, 8.0]
    translator = tiny_translator(tmp_path, "beam", None, LengthRule(), length_alphas=alphas)
    tried = []
    rules = tune(translator, LINES, "lines", lambda texts: tried.append(list(texts)) or 0.0, LINES)
    assert [rule for rule, _ in rules] == [LengthRule(alpha) for alpha in alphas]
    assert tried[0] != tried[1]
    for (rule, _), texts in zip(rules, tried, strict=True):
        translator.use(rule)
        assert [each.hypothesis for each in translator.translate(LINES, "lines")] == texts


def test_an_oracle_length_is_that_of_the_references(tmp_path):
    translator = tiny_translator(tmp_path, "padir", 1, LengthRule(), drop_repeats="none")
    translator.oracle_length = True
    tried = []
    tune(translator, LINES[:4], "lines", lambda texts: tried.append(list(texts)) or 0.0, LINES[1:5])
    for texts in tried:
        assert [len(text.split()) for text in texts] == [len(line.split()) for line in LINES[1:5]]


def test_greedy_search_has_nothing_to_tune():
    """`padir tune` decodes nothing."""
    assert tiny_decoder("greedy").settings.tuning_decodings == 0
