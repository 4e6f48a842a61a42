"""What a sentence becomes depends on the model, the seed and the sentence: nothing else."""

from typing import get_args

import numpy as np
import pytest

from padir.config.decoder import RefinementDecoder
from padir.config.systems import SYSTEMS
from padir.decode.candidates import LengthRule
from padir.decode.policies import REMASKS, STOPS, UPDATES
from padir.ids import EOS, FIRST_PIECE
from tests.decoding import LINES, tiny_decoder, tiny_translator

pytestmark = pytest.mark.slow

RULE = LengthRule(0.6, 1.0)
LONGEST = 16
"""Longest source and target."""

KINDS = {
    "greedy": ("greedy", None, {}),
    "beam": ("beam", None, {}),
    **{system: (system, 3, {}) for system in SYSTEMS if system != "ar"},
    "window": (
        "padir",
        3,
        {
            **{"length_search": "window", "restarts": 2, "stop": "fixed"},
            **{"remask": "constant", "replacement": "summed"},
        },
    ),
    "uncertain": (
        "padir",
        3,
        {"update": "uncertain", "update_share": 0.4, "remask": "none", "stop": "fixed"},
    ),
    "confident": ("padir", 3, {"stop": "confidence", "stop_confidence": 0.3}),
    "joint": ("padir", 3, {"joint": "neighbours"}),
    "shortlist": ("padir", 4, {"shortlist": 16, "joint": "neighbours"}),
    "joint_attention": ("cmlm", 3, {"joint": "attention", "joint_penalty": 3.0}),
    "joint_far": ("padir", 3, {"joint": "neighbours", "joint_reach": 2}),
    "weaker": ("padir", 3, {"remask": "weaker_stutter"}),
    "coupled": ("padir", 3, {"remask": "coupled", "coupling_threshold": 0.3}),
    "coupled_by": (
        "padir",
        3,
        {
            **{"remask": "coupled", "update": "hidden", "stop": "fixed"},
            **{"coupled_by": "entropy", "coupling_threshold": 0.3},
        },
    ),
    "share": ("sundae", 3, {"remask": "count", "stop": "fixed"}),
    "judged": ("padir", 3, {"remask": "critic", "objective": {"critic_weight": 0.5}}),
    "drawn": ("padir", 3, {"temperature": 1.0, "top_p": 0.9, "top_k": 5, "stop": "fixed"}),
}


@pytest.fixture(scope="module", params=KINDS)
def translators(request, tmp_path_factory):
    """The same model decoding with small batches and close padding, and the other way round."""
    folder = tmp_path_factory.mktemp(request.param)
    kind, passes, policies = KINDS[request.param]
    return [
        tiny_translator(
            folder / str(sentences),
            kind,
            passes,
            RULE,
            sentences,
            buckets=buckets,
            length_classes=LONGEST,
            **policies,
        )
        for buckets, sentences in (((4, 5, 6, 9, 12, 14, LONGEST), 2), ((LONGEST,), 16))
    ]


def test_every_policy_is_in_a_decoder_above():
    used = set()
    for kind, passes, policies in KINDS.values():
        if passes:
            settings = tiny_decoder(
                kind, **{name: value for name, value in policies.items() if name != "objective"}
            ).settings
            used |= {settings.remask, settings.update, settings.stop, settings.joint}
    joint = get_args(RefinementDecoder.model_fields["joint"].annotation)
    assert not {*REMASKS, *UPDATES, *STOPS, *joint} - used


def same(ours, theirs):
    for hypothesis, other in zip(ours, theirs, strict=True):
        assert hypothesis.tokens_before_drop == other.tokens_before_drop
        assert (hypothesis.hypothesis, hypothesis.steps, hypothesis.length) == (
            other.hypothesis,
            other.steps,
            other.length,
        )
        assert hypothesis.log_probability == pytest.approx(other.log_probability, abs=1e-4)


def target_lengths(translator, monkeypatch) -> set[int]:
    """The padded lengths of targets in batches that are decoded from now on."""
    lengths: set[int] = set()
    compiled = translator._refiner._compiled
    original = compiled.padded_target

    def recorded(length: int, rows: int) -> int:
        lengths.add(original(length, rows))
        return original(length, rows)

    monkeypatch.setattr(compiled, "padded_target", recorded)
    return lengths


def test_batch_size_and_padding_do_not_change_output(translators, monkeypatch):
    parallel = translators[0].decoding.passes is not None
    padded = [target_lengths(t, monkeypatch) for t in translators if parallel]
    small, large = (translator.translate(LINES, "lines") for translator in translators)
    same(small, large)
    if parallel:
        # Else the padding of targets would be the same in both.
        assert len(padded[0]) > 1 and padded[1] == {LONGEST}
    assert (
        len({hypothesis.hypothesis for hypothesis in large}) >= 3
    )  # the model tells sentences apart


def test_order_and_neighbours_do_not_change_output(translators):
    translator = translators[1]
    straight = translator.translate(LINES, "lines")
    order = np.random.default_rng(0).permutation(len(LINES))
    shuffled = translator.translate([LINES[i] for i in order], "lines")
    same(shuffled, [straight[i] for i in order])
    same([translator.translate([LINES[4]], "lines")[0]], [straight[4]])


def test_decoding_is_deterministic(translators):
    once, again = (translators[0].translate(LINES, "lines") for _ in range(2))
    assert once == again


def test_only_pieces_are_predicted_and_lengths_hold(translators):
    """No hole, no special id, no row past the vocabulary, no EOS inside (quirks a, i, n)."""
    translator = translators[1]
    sources = translator.encode(LINES)
    size = translator.loaded.vocabulary.size
    for several in translator.candidates(sources):
        for candidate in several:
            assert all(FIRST_PIECE <= token < size for token in candidate.tokens)
            assert EOS not in candidate.tokens
            if translator.decoding.passes:
                assert candidate.length == len(candidate.tokens) + 1 >= 2
                assert 1 <= candidate.passes <= translator.decoding.passes


def test_candidates_of_a_sentence_have_distinct_lengths(translators):
    translator = translators[1]
    candidates = translator.candidates(translator.encode(LINES))
    if not translator.decoding.passes:
        assert all(len(several) <= 1 for several in candidates)
        return
    settings = translator.decoder.settings
    for several in filter(None, candidates):
        lengths = [candidate.length for candidate in several]
        assert len(lengths) == 3 * settings.restarts and len(set(lengths)) == 3
        scores = [candidate.length_log_probability for candidate in several]
        if settings.length_search == "top":
            assert scores == sorted(scores, reverse=True)
        else:
            assert scores[0] == max(scores) and max(lengths) - min(lengths) == 2
        if settings.restarts > 1:
            assert len({candidate.tokens for candidate in several}) > 3 or lengths[0] == 2


def test_an_empty_line_never_meets_the_model(translators):
    empty = translators[1].translate(["", "ba"], "lines")[0]
    assert (empty.hypothesis, empty.tokens, empty.steps, empty.candidates) == ("", (), 0, 0)


def test_start_tokens_are_drawn_for_the_longest_target_whatever_the_buffer(translators):
    """Else candidates of a sentence would start elsewhere in a batch padded otherwise."""
    translator = translators[0]
    if not translator.decoding.passes:
        assert translator._refiner is None
        return
    refiner, drawn = translator._refiner, []
    policy = refiner.start

    def recorded(source, candidates, length):
        drawn.append((candidates, length))
        return policy(source, candidates, length)

    encode = refiner._encode

    def short(*arguments):
        cross, lengths, scores = encode(*arguments)
        return cross, np.full(lengths.shape, [2, 3, 4], np.int32), scores

    refiner.start, refiner._encode = recorded, short
    translator.translate(LINES, "lines")
    refiner.start, refiner._encode = policy, encode
    assert set(drawn) == {(refiner.lengths * refiner.restarts, LONGEST)}
    assert len(drawn) == sum(map(bool, LINES))
