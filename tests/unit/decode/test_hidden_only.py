"""Given text and models that learnt to predict behind masks alone: they are asked nothing else."""

import numpy as np
import pytest

from padir.config.objective import Objective
from padir.decode.candidates import LengthRule
from padir.decode.constrain import Constraints
from padir.decode.given import Speller
from padir.decode.given_files import read_constraints
from padir.files import InputError, write_lines
from padir.ids import MASK
from tests.decoding import LINES, WORDS, tiny_translator

SOURCES = [line for line in LINES if line]
TERMS = [["ba ko", WORDS[index % 8]] for index in range(len(SOURCES))]


def translator_of(folder, system):
    return tiny_translator(folder, system, 3, LengthRule(0.6, 1.0))


@pytest.mark.parametrize(
    ("settings", "hidden_only"),
    [
        ({"stages": 1, "corruption": "mask", "loss_on": "hidden"}, True),
        ({"stages": 1, "corruption": "position_mask", "loss_on": "noised"}, True),
        ({"stages": 1, "corruption": "mask", "loss_on": "all"}, False),
        # Later stages count every position; a random piece may be right.
        ({"stages": 2, "corruption": "mask", "loss_on": "hidden"}, False),
        ({"stages": 1, "corruption": "random", "loss_on": "hidden"}, False),
        ({"stages": 1, "corruption": "mixed", "loss_on": "hidden"}, False),
        ({}, False),
    ],
)
def test_only_masks_with_a_loss_on_them_alone_train_hidden_positions_only(settings, hidden_only):
    assert Objective(**settings).hidden_only == hidden_only


def test_a_constant_filler_of_ones_own_counts_as_a_mask():
    masks = Objective(stages=1, corruption="mask", loss_on="hidden")
    assert masks.model_copy(update={"corruption": "own_mask"}).hidden_only


@pytest.mark.parametrize("system", ["cmlm", "rdm"])
def test_a_draft_is_refused(tmp_path, system):
    translator = translator_of(tmp_path / "model", system)
    write_lines(tmp_path / "drafts", ["ba ko"])
    with pytest.raises(InputError, match="model: this model learnt to predict hidden tokens alone"):
        read_constraints(translator, {"draft": tmp_path / "drafts"})


@pytest.mark.parametrize("system", ["cmlm", "rdm", "padir"])
def test_terms_stand_among_masks_or_in_the_free_translation(tmp_path, monkeypatch, system):
    translator = translator_of(tmp_path / "model", system)
    speller, refiner = Speller(translator), translator.refiner
    proposed, asked = refiner.proposed, []

    def record(sources, proposals, passes, openings=None):
        asked.extend((passes, proposal) for several in proposals for proposal in several)
        return proposed(sources, proposals, passes, openings)

    monkeypatch.setattr(refiner, "proposed", record)
    lines = [speller.terms("\t".join(line_terms), "here") for line_terms in TERMS]
    sources = translator.encode(SOURCES)
    translations = Constraints(translator, speller, lines, "here").translate(sources)
    for hypothesis, terms in zip(translations, TERMS, strict=True):
        assert all(f" {term} " in f" {hypothesis.hypothesis} " for term in terms)
        assert MASK not in hypothesis.tokens
    assert {passes for passes, _ in asked} == {1, 3}  # terms were tried in places, and refined
    free = np.array([t for _, p in asked for t, g in zip(p.tokens, p.given, strict=True) if not g])
    assert len(free) > 50
    assert np.all(free == MASK) if system != "padir" else not np.any(free == MASK)
