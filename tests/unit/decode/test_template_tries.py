"""Which lengths and starts a template is tried with, by hand: no network is asked."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from padir.decode import constrain
from padir.decode.candidates import Candidate
from padir.decode.constrain import Constraints
from padir.decode.given import Speller, Template
from tests.constraining import make

BA, KO, MI, RE = 8, 9, 10, 11
STARTS = np.array([[20 + i for i in range(11)], [40 + i for i in range(11)], [60] * 11], np.int32)
FREE = [
    Candidate((MI, RE, RE, MI), 5, -1.0, -0.5, 3),
    Candidate((MI, RE, KO), 4, -2.0, -0.5, 3),
    Candidate((MI, RE), 3, -3.0, -0.5, 3),
    Candidate((MI,), 2, -4.0, -0.5, 3),
]


class TemplateTries:
    """Tries of the templates of a made-up translator, and what became of them."""

    def __init__(self, folder, monkeypatch, kind="padir"):
        self.translator = make(folder / kind, kind)
        self.refiner, self.patch = self.translator.refiner, monkeypatch
        self.judged, self.proposals = SimpleNamespace(score=self.score), []
        self.scores: dict[tuple[int, ...], float] = {}
        self.lengths(6, 3, 4)
        monkeypatch.setattr(self.refiner, "start", lambda source, count, length: STARTS[:count])
        monkeypatch.setattr(self.translator, "candidates", lambda sources: [FREE])
        monkeypatch.setattr(Constraints, "_refined", self.refined)

    def lengths(self, *lengths):
        """Predict these lengths."""
        predicted = [[(length, -0.25 * length) for length in lengths]]
        self.patch.setattr(self.refiner, "predicted", lambda sources: predicted)

    def refined(self, sources, proposals, width):
        self.proposals = [(each.tokens, each.given) for each in proposals[0]]
        lengths = [len(each.tokens) + 1 for each in proposals[0]]
        return [
            [
                Candidate(each.tokens, length, -9.0, 0.0, 2)
                for each, length in zip(proposals[0], lengths, strict=True)
            ]
        ]

    def score(self, sources, rows):
        return [
            [replace(each, log_probability=self.scores.get(each.tokens, -9.0)) for each in row]
            for row in rows
        ]

    def fill(self, *segments) -> list[Candidate]:
        """The candidates of a template."""
        speller = Speller(self.translator)
        constraints = Constraints(self.translator, speller, [None], "here")
        constraints.__dict__["_pseudo_likelihood"] = self.judged
        return constraints._fill([[BA, KO]], [Template(segments)])[0]

    def tokens(self, *segments) -> list[tuple[int, ...]]:
        """The hypotheses that a template is tried with."""
        self.fill(*segments)
        return [tokens for tokens, _ in self.proposals]


@pytest.fixture
def tries(tmp_path, monkeypatch):
    return TemplateTries(tmp_path, monkeypatch)


LONG, SHORT = (BA, 21, 22, 23, KO), (BA, 41, KO)
TRANSLATED = [(BA, RE, RE, KO), (BA, RE, KO)]


def test_lengths_that_hold_the_texts_are_tried_with_starts_of_their_own(tries):
    last = (BA, 60, KO)
    assert tries.tokens((BA,), None, (KO,)) == [LONG, last, *TRANSLATED]
    assert tries.proposals[0][1] == (True, False, False, False, True)


def test_the_smallest_length_is_tried_once_more_only_between_texts(tries):
    tries.lengths(6, 3, 5)
    least = (BA, 21, KO)
    assert tries.tokens((BA,), None, (KO,)) == [LONG, (BA, 60, 60, KO), least, *TRANSLATED]
    # The smallest of a prefix has one token after it.
    tries.lengths(6, 5)
    plain = [each.tokens for each in FREE if each.length >= 3]
    expected = [(BA, *tokens[1:]) for tokens in plain]
    assert tries.tokens((BA,), None) == [(BA, 21, 22, 23, 24), (BA, 41, 42, 43), *expected]
    tries.lengths(2)
    assert tries.tokens((BA,), None) == [(BA, 21), *expected]


def test_the_smallest_length_has_as_many_starts_as_each_length(tmp_path, monkeypatch):
    tries = TemplateTries(tmp_path, monkeypatch, "restarts")
    tries.lengths(6, 6, 3)
    expected = [LONG, (BA, 41, 42, 43, KO), (BA, 21, KO), SHORT, *TRANSLATED]
    assert tries.tokens((BA,), None, (KO,)) == expected


def test_a_text_without_gaps_is_tried_as_it_is(tries):
    assert tries.tokens((BA, KO)) == [(BA, KO)]
    tries.lengths(2, 5)
    assert tries.tokens((BA, KO)) == [(BA, KO)]


def test_a_model_whose_first_pass_reads_nothing_starts_from_no_translation(tries, monkeypatch):
    monkeypatch.setattr(tries.refiner, "easy_first", True)
    assert tries.tokens((BA,), None, (KO,)) == [LONG, (BA, 60, KO)]


def test_without_a_judge_the_lengths_keep_their_log_probabilities(tries):
    tries.judged = None
    tries.lengths(6, 3, 5)
    row = tries.fill((BA,), None, (KO,))
    # No translation is asked for, and the smallest length is no more than the others.
    assert [(each.length, each.length_log_probability) for each in row] == [(6, -1.5), (5, -1.25)]
    tries.lengths(3)
    [least] = tries.fill((BA,), None, (KO,))
    assert (least.tokens, least.length_log_probability) == ((BA, 21, KO), 0.0)


def test_a_translation_that_fits_after_the_final_drop_stays_unless_others_gain_more(tries):
    # The best translation by the length rule is the first, without its stutter.
    plain = (MI, RE, MI)
    tries.scores[plain] = -30.0
    changed = tries.fill(None, (RE, MI))
    # Of the four tries one became the same.
    assert [each.log_probability for each in changed] == [-9.0] * 3
    # Nothing gains more than the margin.
    tries.scores[plain] = -9.0 - constrain.MARGIN
    [kept] = tries.fill(None, (RE, MI))
    assert (kept.tokens, kept.length, kept.log_probability) == (plain, 4, -14.0)
    likelier = (20, 21, 22, RE, MI)
    tries.scores[likelier] = -8.5
    [other] = tries.fill(None, (RE, MI))
    assert other.tokens == likelier
    # One that does not fit is no candidate.
    assert plain not in {each.tokens for each in tries.fill((BA,), None)}
