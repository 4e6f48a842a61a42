"""When a repaired draft takes the place of the draft, and how the margin is chosen."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from padir.decode import drafts as rule
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.constrain import Constraints
from padir.decode.drafts import gain, margin_that_keeps
from padir.decode.given import Speller
from padir.decode.pseudo import PseudoLikelihood
from padir.decode.tune import tune_draft_margin
from tests.decoding import tiny_translator

SOURCE = "su ba"
TEXTS = ["ko", "ba ko mi re", "ta ve ta su no ve", "mi no", "re re su ba"]


@pytest.fixture
def translator(tmp_path):
    return tiny_translator(tmp_path, "padir", 3, LengthRule(0.6, 1.0))


def repaired(translator, margin):
    """What becomes of each text as a draft."""
    translator.decoder = replace(translator.decoder, draft_margin=margin)
    speller = Speller(translator)
    lines = [speller.draft(text, "here") for text in TEXTS]
    constraints = Constraints(translator, speller, lines, "here")
    hypotheses = constraints.translate(translator.encode([SOURCE] * len(TEXTS)))
    return [each.before_drop for each in hypotheses]


def gains_one_by_one(translator, rewriting=4.0):
    """The plain twin: the gain of each draft, from its text and the text that it became."""
    changes, gains = repaired(translator, -math.inf), []
    for draft, change in zip(TEXTS, changes, strict=True):
        before, after = translator.encode([draft, change])
        pair = [[Candidate(tuple(each), len(each) + 1, 0.0, 0.0, 1) for each in (before, after)]]
        [[kept, new]] = PseudoLikelihood(translator).score(translator.encode([SOURCE]), pair)
        changed = sum(a != b for a, b in zip(before, after, strict=True))
        nats = new.log_probability - kept.log_probability
        gains.append(nats / changed - rewriting * changed / len(before) if changed else -math.inf)
    return gains


def test_a_change_of_many_tokens_needs_more_for_each_of_them():
    draft = Candidate((5, 6, 7, 8), 5, -20.0, 0.0, 1)
    few = Candidate((5, 6, 7, 9), 5, -12.0, 0.0, 1)
    many = Candidate((9, 9, 9, 9), 5, -20.0 + 4 * 8.0, 0.0, 1)
    assert gain(draft, few) == pytest.approx(8.0 - 4.0 / 4)
    assert gain(draft, many) == pytest.approx(8.0 - 4.0)
    assert gain(draft, replace(draft, log_probability=0.0)) == -math.inf


def test_unknown_tokens_of_a_draft_are_always_worth_a_repair():
    draft = Candidate((5, 2), 3, -math.inf, 0.0, 1)
    assert gain(draft, Candidate((5, 6), 3, -30.0, 0.0, 1)) == math.inf
    # A repair that still has unknown tokens is never taken, whatever the margin.
    assert not gain(draft, Candidate((6, 2), 3, -math.inf, 0.0, 1)) > -math.inf


def test_a_draft_stays_unless_its_repair_gains_more_than_the_margin(translator):
    assert repaired(translator, math.inf) == TEXTS
    changes, gains = repaired(translator, -math.inf), gains_one_by_one(translator)
    assert sum(change != text for change, text in zip(changes, TEXTS, strict=True)) > 2
    for margin in (0.0, *(each + shift for each in gains for shift in (-0.01, 0.01))):
        chosen = zip(TEXTS, changes, gains, strict=True)
        assert repaired(translator, margin) == [
            new if g > margin else old for old, new, g in chosen
        ]


def test_without_a_tuned_margin_the_default_decides(translator, monkeypatch):
    best = max(gains_one_by_one(translator))
    for margin in (best - 0.01, best + 0.01):
        monkeypatch.setattr("padir.decode.constrain.UNTUNED_MARGIN", margin)
        assert (repaired(translator, None) == TEXTS) == (margin > best)


def test_a_margin_that_is_asked_for_replaces_the_tuned_one(translator):
    for tuned, asked in ((math.inf, 0.0), (0.0, math.inf)):
        translator.decoder = replace(translator.decoder, draft_margin=tuned)
        speller = Speller(translator)
        lines = [None, *(speller.draft(text, "here") for text in TEXTS)]
        sources = translator.encode([SOURCE] * len(lines))
        made = Constraints(translator, speller, lines, "here", asked).translate(sources)[1:]
        assert [each.before_drop for each in made] == repaired(translator, asked)


@given(st.lists(st.floats(-20, 20) | st.just(-math.inf), min_size=1), st.floats(0.01, 1))
def test_the_margin_is_the_smallest_that_keeps_the_share(gains, share):
    margin = margin_that_keeps(gains, share)
    assert margin >= 0
    assert sum(each <= margin for each in gains) >= share * len(gains)
    if margin > 0:
        assert sum(each < margin for each in gains) < share * len(gains)


@pytest.fixture
def rewarded(monkeypatch):
    """Large changes gain: with a random model margins would otherwise be 0."""
    monkeypatch.setattr(rule, "REWRITING", -20.0)


def test_the_tuned_margin_keeps_the_share_of_the_references(translator, rewarded):
    gains, margins = gains_one_by_one(translator, -20.0), []
    for share in (0.2, 0.6, 1.0):
        margins.append(tune_draft_margin(translator, [SOURCE] * len(TEXTS), TEXTS, share))
        assert margins[-1] == pytest.approx(margin_that_keeps(gains, share), abs=1e-3)
        # Another batch shape changes the last digits.
        kept = sum(map(str.__eq__, repaired(translator, margins[-1] + 1e-3), TEXTS))
        assert kept == round(share * len(TEXTS))
    assert 0 < margins[0] < margins[1] < margins[2]
    # 96% of five are all five.
    assert tune_draft_margin(translator, [SOURCE] * len(TEXTS), TEXTS) == margins[2]
    assert margin_that_keeps([float(n) for n in range(100)], rule.KEPT) == 95


def test_references_that_do_not_fit_and_empty_lines_tune_nothing(translator, rewarded):
    alone = tune_draft_margin(translator, [SOURCE], TEXTS[1:2])
    assert alone is not None and alone > 0
    sources = [SOURCE, "ba " * 200, "", SOURCE, SOURCE, SOURCE]
    references = [TEXTS[1], TEXTS[2], TEXTS[2], "", "ba " * 200, "ba unknown"]
    assert tune_draft_margin(translator, sources, references) == pytest.approx(alone, abs=1e-3)
    assert tune_draft_margin(translator, sources[1:], references[1:]) is None


def test_at_most_so_many_references_are_repaired(translator, monkeypatch):
    seen = []

    def record(self, sources, drafts):
        seen.append((sources, [translator.loaded.vocabulary.decode([d.tokens])[0] for d in drafts]))
        return []

    monkeypatch.setattr(Constraints, "repairs", record)
    monkeypatch.setattr("padir.decode.tune.MOST_DRAFTS", 4)
    for count, numbers in ((1, [0]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3]), (8, [0, 2, 4, 6])):
        lines = [" ".join(["su"] * (1 + number)) for number in range(count)]
        assert tune_draft_margin(translator, lines, [*TEXTS, *TEXTS][:count]) is None
        sources, drafts = seen.pop()
        assert [len(source) - 1 for source in sources] == numbers
        assert drafts == [[*TEXTS, *TEXTS][number] for number in numbers]


@pytest.mark.parametrize(("kind", "passes"), [("beam", None), ("cmlm", 3), ("disco", 3)])
def test_models_that_take_no_drafts_have_no_margin(tmp_path, kind, passes):
    translator = tiny_translator(tmp_path, kind, passes, LengthRule())
    assert tune_draft_margin(translator, [SOURCE], TEXTS[:1]) is None
