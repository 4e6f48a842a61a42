"""Terms that must appear somewhere, with tiny random models."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from padir.decode.candidates import Candidate
from padir.decode.constrain import Constraints, TermPlacement
from padir.decode.given import Speller
from padir.decode.pseudo import PseudoLikelihood
from padir.ids import MASK
from tests.constraining import TEXT, make, place_terms, stands
from tests.decoding import WORDS


@pytest.fixture(scope="module")
def cmlm(tmp_path_factory):
    return make(tmp_path_factory.mktemp("other") / "model", "cmlm")


@settings(max_examples=10)
@given(source=TEXT, terms=st.lists(TEXT, min_size=1, max_size=4))
def test_terms_stand_side_by_side(translator, source, terms):
    if sum(len(term.split()) for term in terms) > 11:
        return
    [hypothesis] = place_terms(translator, [source], [terms])
    words = hypothesis.hypothesis.split()
    for term in terms:  # each occurrence is used up once, longest first
        assert stands(term, hypothesis.hypothesis)
    for word in set(" ".join(terms).split()):
        assert words.count(word) >= " ".join(terms).split().count(word)


def test_a_term_that_is_already_present_keeps_its_place(padir):
    [plain] = padir.translate(["ta re ba ko su mi"], "x")
    words = plain.hypothesis.split()
    for place, word in enumerate(words):
        [hypothesis] = place_terms(padir, ["ta re ba ko su mi"], [[word]])
        assert hypothesis.hypothesis.split()[words.index(word)] == word, place


@pytest.mark.parametrize(
    "source", ["ta re ba ko su mi", "mi mi ta re su ko", "su ba ba ta mi re ko su"]
)
def test_a_missing_term_goes_where_the_whole_is_likeliest(padir, source):
    [plain] = padir.translate([source], "x")
    missing = next(word for word in WORDS if word not in plain.hypothesis)
    speller, refiner, encoded = Speller(padir), padir.refiner, padir.encode([source])
    judge = PseudoLikelihood(padir)
    [token] = speller.encode(missing, "here")
    tried = []
    # In place of a token, between two, or in place of two.
    for covered in (1, 2, 0):
        for place in range(len(plain.tokens) - covered + 1):
            tokens = [*plain.tokens[:place], token, *plain.tokens[place + covered :]]
            proposal = speller.proposal(tokens, [i == place for i in range(len(tokens))])
            [[candidate]] = judge.score(encoded, refiner.proposed(encoded, [[proposal]], 1))
            tried.append((padir.rule.score(candidate), place, candidate.tokens))
    assert len({len(tokens) for *_, tokens in tried}) == 3
    _, place, tokens = max(tried, key=lambda each: each[0])
    held = speller.proposal(tokens, [i == place for i in range(len(tokens))])
    [[expected]] = refiner.proposed(encoded, [[held]], 3)
    [hypothesis] = place_terms(padir, [source], [[missing]])
    assert hypothesis.tokens == expected.tokens


def test_without_pseudo_likelihood_the_term_goes_where_the_rest_is_likeliest(cmlm):
    source = "ta re ba ko su mi"
    [plain] = cmlm.translate([source], "x")
    missing = next(word for word in WORDS if word not in plain.hypothesis)
    speller, refiner, encoded = Speller(cmlm), cmlm.refiner, cmlm.encode([source])
    [token] = speller.encode(missing, "here")
    [start] = refiner.start(encoded[0], 1, refiner.longest).tolist()
    masks = start[: len(plain.tokens)]

    def held(place):
        tokens = [*masks[:place], token, *masks[place + 1 :]]
        return speller.proposal(tokens, [i == place for i in range(len(tokens))])

    tried = [refiner.proposed(encoded, [[held(place)]], 1)[0][0] for place in range(len(masks))]
    best = max(range(len(tried)), key=lambda place: tried[place].log_probability)
    [[expected]] = refiner.proposed(encoded, [[held(best)]], 3)
    [hypothesis] = place_terms(cmlm, [source], [[missing]])
    assert hypothesis.tokens == expected.tokens


def test_a_missing_term_takes_the_place_of_free_tokens_or_the_hypothesis_grows(padir):
    speller = Speller(padir)
    ba, ko, mi, re, su = (speller.encode(word, "here")[0] for word in WORDS[:5])

    def placement(tokens, *missing):
        return TermPlacement(tokens, list(missing), speller)

    state = placement([ba, ko, mi], (ko,), (ko,), (re, su))
    assert state.next_missing()
    assert (state.owner, state.missing) == ([0, 1, 0], [(ko,), (re, su)])
    assert [p.tokens for p in state.placements((0,))] == [[ko, ko, mi], [ba, ko, ko]]
    assert [p.tokens for p in state.placements((-1, 1))] == [
        # No two free neighbours for -1; a new place before, between, or after.
        [ko, ba, ko, mi],
        [ba, ko, ko, mi],
        [ba, ko, ko, mi],
        [ba, ko, mi, ko],
    ]
    placed = state.placements((0,))[1]
    assert (placed.owner, placed.missing) == ([0, 1, 2], [(re, su)])
    # No two free neighbours are left: the hypothesis grows, between terms but never inside one.
    assert [p.tokens for p in placed.placements((0,))] == [
        [re, su, ba, ko, ko],
        [ba, re, su, ko, ko],
        [ba, ko, re, su, ko],
        [ba, ko, ko, re, su],
    ]
    whole = placement([ba, ko], (ba, ko), (mi,))
    assert whole.next_missing()
    assert [p.tokens for p in whole.placements((0, -1))] == [[mi, ba, ko], [ba, ko, mi]]
    # At the model's limit the last free tokens make room.
    full = placement([ba, ko] * 5 + [ba], (ko, ba), (re,) * 9)
    assert full.next_missing()
    grown = full.placements((0, -1, 1))
    counts = [(len(p.tokens), p.tokens.count(re), p.owner.count(1)) for p in grown]
    assert counts == [(11, 9, 2)] * 11
    # There is a place for one token, and no room for one more.
    tight = placement([ba] * 11, (ko,))
    assert tight.next_missing()
    assert [len(p.tokens) for p in tight.placements((0, 1))] == [11] * 11


def test_past_the_limit_the_last_tokens_outside_terms_go(padir):
    speller = Speller(padir)
    ba, ko, mi, re, su = (speller.encode(word, "here")[0] for word in WORDS[:5])
    state = TermPlacement([ba, ko, mi, *[re] * 6, ko, su], [(ko,), (mi, ba)], speller)
    assert len(state.tokens) == speller.most and state.next_missing()
    grown = state._insert_missing(1, 1)
    assert grown.tokens == [ba, mi, ba, ko, mi, *[re] * 6]
    assert grown.owner == [0, 2, 2, 1, *[0] * 7]
    # The end is a term: what stands before it goes.
    state = TermPlacement([ba, ko, mi, *[re] * 6, su, ko], [(su, ko), (mi, ba)], speller)
    assert state.next_missing()
    assert state._insert_missing(0, 0).tokens == [mi, ba, ba, ko, mi, *[re] * 4, su, ko]


def test_a_term_is_present_only_where_a_word_ends_with_it(padir, monkeypatch):
    speller = Speller(padir)
    ba, ko, mi = (speller.encode(word, "here")[0] for word in WORDS[:3])
    monkeypatch.setattr(speller, "openings", speller.openings.copy())
    speller.openings[mi] = False
    state = TermPlacement([ko, mi, ba, ko, ba], [(ko,)], speller)
    assert not state.next_missing() and state.owner == [0, 0, 0, 1, 0]
    assert TermPlacement([ba, ko, mi], [(ko,)], speller).next_missing()
    assert not TermPlacement([ba, ko], [(ko,)], speller).next_missing()


def test_terms_are_placed_in_the_translation_without_its_stutter(cmlm, monkeypatch):
    ba, ko = (Speller(cmlm).encode(word, "here")[0] for word in WORDS[:2])
    placed = []

    def refined(_, sources, proposals, width):
        placed.extend((each.tokens, each.given) for [each] in proposals)
        return [[Candidate(each.tokens, 3, -1.0, 0.0, 1)] for [each] in proposals]

    translation = Candidate((ba, ba, ko), 4, -1.0, 0.0, 1)
    monkeypatch.setattr(cmlm, "candidates", lambda sources: [[translation] for _ in sources])
    monkeypatch.setattr(Constraints, "_refined", refined)
    place_terms(cmlm, ["mi"], [["ko"]])
    assert placed == [((MASK, ko), (False, True))]
