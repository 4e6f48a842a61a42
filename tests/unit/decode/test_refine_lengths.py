"""Length candidates: distinct, in range, likeliest first."""

import jax.numpy as jnp
import numpy as np
import pytest

from padir.analysis.attention import Extractor
from padir.config.decoder import RefinementDecoder
from padir.config.training import TrainingRun
from padir.decode.candidates import LengthRule
from padir.decode.lengths import length_candidates
from padir.files import InputError
from tests.decoding import LINES, tiny_translator


def test_length_one_and_lengths_too_long_are_never_tried():
    logits = jnp.array([[9.0, 1, 3, 2, 8, 8]])
    lengths, scores = length_candidates(logits, 3, 4)
    assert lengths.tolist() == [[3, 4, 2]]
    expected = np.array([3.0, 2, 1]) - np.log(np.exp([1, 3, 2]).sum())
    np.testing.assert_allclose(scores[0], expected, atol=1e-6)


def test_ties_go_to_the_shorter():
    assert length_candidates(jnp.zeros((1, 6)), 3, 6)[0].tolist() == [[2, 3, 4]]


def test_more_than_there_are():
    with pytest.raises(ValueError, match="7 asked, at most 6"):
        length_candidates(jnp.zeros((1, 6)), 7, 6)


@pytest.mark.parametrize("rule", [LengthRule(4.0, 0.0), LengthRule(2.0, 0.1)])
def test_the_best_after_one_pass_are_kept(tmp_path, rule):
    def translator(name, passes, **settings):
        settings = {"length_candidates": 5, "remask": "linear", "stop": "fixed"} | settings
        return tiny_translator(tmp_path / name, "padir", passes, rule, **settings)

    every, one_pass = translator("every", 4), translator("one", 1)
    kept = translator("kept", 4, keep_candidates=2)
    sources = every.encode(LINES)
    rows = zip(*(each.candidates(sources) for each in (kept, every, one_pass)), strict=True)
    changed = 0
    for best, whole, first in rows:
        ranks = sorted(range(len(first)), key=lambda k: -rule.score(first[k]))
        assert [c.tokens for c in best] == [whole[k].tokens for k in sorted(ranks[:2])]
        assert [c.length for c in best] == [whole[k].length for k in sorted(ranks[:2])]
        changed += sorted(ranks[:2]) != [0, 1][: len(ranks)]
    assert changed, "the likeliest lengths always won: nothing was tested"


def test_another_rule_keeps_others(tmp_path):
    translator = tiny_translator(
        tmp_path / "model", "padir", 2, LengthRule(), length_candidates=5, keep_candidates=1
    )
    sources = translator.encode(LINES)
    lengths = []
    for rule in (LengthRule(0.0, 0.0), LengthRule(4.0, 0.0)):
        translator.use(rule)
        lengths.append([row[0].length for row in translator.candidates(sources) if row])
    assert sum(lengths[1]) > sum(lengths[0])


@pytest.mark.parametrize("keep", [3, 4])
def test_keeping_all_is_refused(keep):
    with pytest.raises(ValueError, match=r"drops none of 3 candidates .* 1 to 2 or null"):
        RefinementDecoder(length_candidates=3, keep_candidates=keep)


def test_one_candidate_leaves_no_choice():
    with pytest.raises(ValueError, match="needs more than one candidate"):
        RefinementDecoder(length_candidates=1, keep_candidates=1)


def test_a_reranker_of_one_candidate_is_refused():
    with pytest.raises(ValueError, match="reranker ar has nothing to rank"):
        RefinementDecoder(keep_candidates=1, reranker="ar")


def test_an_oracle_has_too_few_candidates_to_drop():
    run = TrainingRun(system="padir", architecture={"length_predictor": "oracle"})
    run.check_decoder("few", RefinementDecoder(restarts=3, keep_candidates=2))
    with pytest.raises(ValueError, match=r"1 candidates .*, keep_candidates 2 drops none"):
        run.check_decoder("few", RefinementDecoder(keep_candidates=2))


def test_the_analysis_refuses_dropped_candidates(tmp_path):
    translator = tiny_translator(tmp_path / "model", "padir", 2, LengthRule(), keep_candidates=2)
    with pytest.raises(InputError, match="keep_candidates 2: the analysis follows all"):
        Extractor(translator.loaded, translator.decoder, 2, 4)
