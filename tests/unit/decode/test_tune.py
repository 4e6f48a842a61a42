"""How often tuning decodes the validation text."""

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


def test_greedy_search_has_nothing_to_tune():
    """`padir tune` decodes nothing."""
    assert tiny_decoder("greedy").settings.tuning_decodings == 0
