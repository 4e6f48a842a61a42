"""When a draft is replaced and by what, and how the rule is chosen."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from padir.decode import drafts as rule
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.constrain import Constraints
from padir.decode.drafts import DraftRule, edit_distance, gain, margin_that_keeps
from padir.decode.given import Speller
from padir.decode.pseudo import PseudoLikelihood
from padir.decode.tune import tune_draft_rule
from tests.decoding import LINES, tiny_translator

SOURCE = "su ba"
TEXTS = ["ko", "ba ko mi re", "ta ve ta su no ve", "mi no", "re re su ba"]


@pytest.fixture
def translator(tmp_path):
    return tiny_translator(tmp_path, "padir", 3, LengthRule(0.6, 1.0))


def replaced(translator, margin, kind="repair"):
    """What becomes of each text as a draft."""
    rule = None if margin is None else DraftRule(kind, margin)
    translator.decoder = replace(translator.decoder, draft_rule=rule)
    speller = Speller(translator)
    lines = [speller.draft(text, "here") for text in TEXTS]
    constraints = Constraints(translator, speller, lines, "here")
    hypotheses = constraints.translate(translator.encode([SOURCE] * len(TEXTS)))
    for text, each in zip(TEXTS, hypotheses, strict=True):
        # Repeats of a draft that stays, such as "re re", are its author's.
        assert each.before_drop != text or each.hypothesis == text
    return [each.before_drop for each in hypotheses]


def gains_one_by_one(translator, kind="repair", rewriting=4.0):
    """The plain twin: the gain of each draft, from its text and the text in its place."""
    changes, gains = replaced(translator, -math.inf, kind), []
    for draft, change in zip(TEXTS, changes, strict=True):
        before, after = translator.encode([draft, change])
        pair = [[Candidate(tuple(each), len(each) + 1, 0.0, 0.0, 1) for each in (before, after)]]
        [[kept, new]] = PseudoLikelihood(translator).score(translator.encode([SOURCE]), pair)
        changed = distance_by_recursion(tuple(before), tuple(after))
        if len(before) == len(after):
            changed = sum(a != b for a, b in zip(before, after, strict=True))
        nats, longest = new.log_probability - kept.log_probability, max(len(before), len(after))
        gains.append(nats / changed - rewriting * changed / longest if changed else -math.inf)
    return gains


def distance_by_recursion(first, second):
    """The definition: change, delete or insert the first item, then the rest."""
    if not first or not second:
        return len(first) + len(second)
    if first[0] == second[0]:
        return distance_by_recursion(first[1:], second[1:])
    changes = ((first[1:], second[1:]), (first[1:], second), (first, second[1:]))
    return 1 + min(distance_by_recursion(*rest) for rest in changes)


@given(*[st.lists(st.sampled_from("abc"), max_size=5)] * 2)
def test_the_edit_distance_is_the_recursion_s(first, second):
    assert edit_distance(first, second) == distance_by_recursion(first, second)


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [("abc", "abc", 0), ("abc", "bc", 1), ("ab", "cde", 3), ("", "ab", 2), ("abcd", "bcda", 2)],
)
def test_edit_distances_by_hand(first, second, edits):
    assert edit_distance(first, second) == edits


def test_a_change_of_many_tokens_needs_more_for_each_of_them():
    draft = Candidate((5, 6, 7, 8), 5, -20.0, 0.0, 1)
    few = Candidate((5, 6, 7, 9), 5, -12.0, 0.0, 1)
    many = Candidate((9, 9, 9, 9), 5, -20.0 + 4 * 8.0, 0.0, 1)
    assert gain(draft, few) == pytest.approx(8.0 - 4.0 / 4)
    assert gain(draft, many) == pytest.approx(8.0 - 4.0)
    assert gain(draft, replace(draft, log_probability=0.0)) == -math.inf
    shifted = Candidate((6, 7, 8, 5), 5, 0.0, 0.0, 1)
    assert gain(draft, shifted) == pytest.approx(20.0 / 4 - 4.0)
    longer = Candidate((5, 6, 9, 7, 8), 6, -15.0, 0.0, 1)
    assert gain(draft, longer) == gain(longer, draft) + 2 * 5.0 == pytest.approx(5.0 - 4.0 / 5)


def test_a_draft_with_unknown_tokens_is_always_replaced():
    draft = Candidate((5, 2), 3, -math.inf, 0.0, 1)
    assert gain(draft, Candidate((5, 6), 3, -30.0, 0.0, 1)) == math.inf
    # A repair that still has unknown tokens is never taken, whatever the margin.
    assert not gain(draft, Candidate((6, 2), 3, -math.inf, 0.0, 1)) > -math.inf


KINDS = pytest.mark.parametrize("kind", ["repair", "translation"])


@KINDS
def test_a_draft_stays_unless_its_replacement_gains_more_than_the_margin(translator, kind):
    assert replaced(translator, math.inf, kind) == TEXTS
    changes, gains = replaced(translator, -math.inf, kind), gains_one_by_one(translator, kind)
    assert sum(change != text for change, text in zip(changes, TEXTS, strict=True)) > 2
    for margin in (0.0, *(each + shift for each in gains for shift in (-0.01, 0.01))):
        chosen = zip(TEXTS, changes, gains, strict=True)
        assert replaced(translator, margin, kind) == [
            new if g > margin else old for old, new, g in chosen
        ]


def test_a_repair_keeps_the_length_and_a_translation_is_that_without_a_draft(translator):
    repairs = replaced(translator, -math.inf, "repair")
    assert [len(each.split()) for each in repairs] == [len(each.split()) for each in TEXTS]
    [plain] = translator.translate([SOURCE], "here")
    assert replaced(translator, -math.inf, "translation") == [plain.before_drop] * len(TEXTS)
    assert plain.before_drop not in repairs


def test_a_translation_reports_the_passes_of_all_its_candidates(translator):
    lines = [line for line in LINES if line]
    sources = translator.encode(lines)
    chosen = [translator.rule.choose(row).passes for row in translator.candidates(sources)]
    steps = [each.steps for each in translator.translate(lines, "here")]
    assert chosen != steps
    rule = DraftRule("translation", -math.inf)
    translator.decoder = replace(translator.decoder, draft_rule=rule)
    speller = Speller(translator)
    drafts = [speller.draft("ko ko ko", "here")] * len(lines)
    made = Constraints(translator, speller, drafts, "here").translate(sources)
    assert [each.steps for each in made] == steps


def test_without_a_tuned_rule_the_default_decides(translator, monkeypatch):
    best = max(gains_one_by_one(translator))
    for margin in (best - 0.01, best + 0.01):
        monkeypatch.setattr("padir.decode.constrain.UNTUNED", DraftRule("repair", margin))
        assert (replaced(translator, None) == TEXTS) == (margin > best)


def test_repeats_of_a_replacement_go_and_those_of_a_draft_stay(translator, monkeypatch):
    speller = Speller(translator)
    ba, ko = translator.encode(["ba ko"])[0]
    draft = speller.draft("ba ba ko", "here")
    kept = Candidate((ba, ba, ko), 4, -9.0, 0.0, 1)
    new = Candidate((ko, ko, ba), 4, -1.0, 0.0, 1)
    monkeypatch.setattr(Constraints, "replacements", lambda *_: [(kept, new)])
    texts = []
    for margin in (math.inf, -math.inf):
        constraints = Constraints(translator, speller, [draft], "here", margin)
        [made] = constraints.translate([[ba]])
        texts.append((made.before_drop, made.hypothesis))
    assert texts == [("ba ba ko", "ba ba ko"), ("ko ko ba", "ko ba")]


@KINDS
def test_a_margin_that_is_asked_for_replaces_the_tuned_one(translator, kind):
    for tuned, asked in ((math.inf, -math.inf), (-math.inf, math.inf)):
        translator.decoder = replace(translator.decoder, draft_rule=DraftRule(kind, tuned))
        speller = Speller(translator)
        lines = [None, *(speller.draft(text, "here") for text in TEXTS)]
        sources = translator.encode([SOURCE] * len(lines))
        made = Constraints(translator, speller, lines, "here", asked).translate(sources)[1:]
        assert [each.before_drop for each in made] == replaced(translator, asked, kind)
        assert ([each.before_drop for each in made] == TEXTS) == (asked > 0)


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


@pytest.mark.parametrize("oracle", [False, True])
def test_the_tuned_margin_keeps_the_share_of_the_references(
    translator, rewarded, oracle, monkeypatch
):
    """With an oracle's lengths the model translates nothing here, so that repairs are left."""
    translator.oracle_length = oracle
    kinds = ["repair"] if oracle else ["repair", "translation"]
    rules = []
    # 96% of five are all five.
    for share in (0.2, 0.6, rule.KEPT):
        monkeypatch.setattr("padir.decode.tune.KEPT", share)
        rules.append(tune_draft_rule(translator, [SOURCE] * len(TEXTS), TEXTS))
        margins = {
            kind: margin_that_keeps(gains_one_by_one(translator, kind, -20.0), share)
            for kind in kinds
        }
        best = min(margins, key=lambda kind: margins[kind] + (kind == "translation"))
        assert rules[-1].replacement == best
        assert rules[-1].margin == pytest.approx(margins[best], abs=1e-3)
        # Another batch shape changes the last digits.
        texts = replaced(translator, rules[-1].margin + 1e-3, best)
        assert sum(map(str.__eq__, texts, TEXTS)) >= round(share * len(TEXTS))
    assert 0 < rules[0].margin < rules[1].margin < rules[2].margin
    assert margin_that_keeps([float(n) for n in range(100)], rule.KEPT) == 95


@pytest.mark.parametrize(
    ("gains", "chosen"),
    [
        ((3.25, 2.0), ("translation", 2.0)),
        ((2.75, 2.0), ("repair", 2.75)),
        ((2.0, 3.0), ("repair", 2.0)),
        ((2.0, 2.0), ("repair", 2.0)),
    ],
)
def test_the_replacement_with_the_clearly_smaller_margin_is_taken(
    translator, monkeypatch, gains, chosen
):
    """Every draft of a kind has the same gain."""
    monkeypatch.setattr(rule, "REWRITING", 0.0)
    by_kind = dict(zip(("repair", "translation"), gains, strict=True))

    def replacements(self, sources, drafts, kind):
        draft = Candidate((5, 6), 3, -9.0, 0.0, 1)
        return [(draft, replace(draft, tokens=(5, 7), log_probability=by_kind[kind] - 9.0))]

    monkeypatch.setattr(Constraints, "replacements", replacements)
    assert tune_draft_rule(translator, [SOURCE], TEXTS[:1]) == DraftRule(*chosen)


def test_references_that_do_not_fit_and_empty_lines_tune_nothing(translator, rewarded):
    alone = tune_draft_rule(translator, [SOURCE], TEXTS[1:2])
    assert alone is not None and alone.margin > 0
    sources = [SOURCE, "ba " * 200, "", SOURCE, SOURCE, SOURCE]
    references = [TEXTS[1], TEXTS[2], TEXTS[2], "", "ba " * 200, "ba unknown"]
    padded = tune_draft_rule(translator, sources, references)
    assert padded is not None and padded.replacement == alone.replacement
    assert padded.margin == pytest.approx(alone.margin, abs=1e-3)
    assert tune_draft_rule(translator, sources[1:], references[1:]) is None


def test_at_most_so_many_references_are_given(translator, monkeypatch):
    seen = []

    def record(self, sources, drafts, kind):
        texts = [translator.loaded.vocabulary.decode([d.tokens])[0] for d in drafts]
        seen.append((kind, [len(source) - 1 for source in sources], texts))
        return []

    monkeypatch.setattr(Constraints, "replacements", record)
    monkeypatch.setattr("padir.decode.tune.MOST_DRAFTS", 4)
    for count, numbers in ((1, [0]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3]), (8, [0, 2, 4, 6])):
        lines = [" ".join(["su"] * (1 + number)) for number in range(count)]
        assert tune_draft_rule(translator, lines, [*TEXTS, *TEXTS][:count]) is None
        given_texts = [[*TEXTS, *TEXTS][number] for number in numbers]
        for kind in ("translation", "repair"):
            assert seen.pop() == (kind, numbers, given_texts)


@pytest.mark.parametrize(("kind", "passes"), [("beam", None), ("cmlm", 3), ("disco", 3)])
def test_models_that_take_no_drafts_have_no_rule(tmp_path, kind, passes):
    translator = tiny_translator(tmp_path, kind, passes, LengthRule())
    assert tune_draft_rule(translator, [SOURCE], TEXTS[:1]) is None
