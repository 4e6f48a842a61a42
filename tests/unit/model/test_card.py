"""The model card names every system, and the vocabulary."""

from padir.config.systems import SYSTEMS
from padir.model.card import model_card
from tests.training import tiny_spec


def test_no_two_systems_share_a_name() -> None:
    assert len({system.words for system in SYSTEMS.values()}) == len(SYSTEMS)


def test_the_vocabulary_stands_by_its_name() -> None:
    spec = tiny_spec()
    other = spec.model_copy(update={"run": spec.run.model_copy(update={"vocabulary": "generic"})})
    summary = {"parameters": 1, "pairs": 1, "pairs_too_long": 0, "pairs_empty": 0, "epochs": 1.0}
    assert "| Vocabulary | the dataset's own |" in model_card(spec, 0, summary, {}, [1])
    assert "| Vocabulary | generic |" in model_card(other, 0, summary, {}, [1])


def test_pairs_without_a_translation_are_told() -> None:
    summary = {"parameters": 1, "pairs": 5000, "pairs_too_long": 2, "epochs": 1.0}
    for count, words in ((0, ""), (1200, " and 1,200 with an empty side")):
        card = model_card(tiny_spec(), 0, {**summary, "pairs_empty": count}, {}, [1])
        assert f"| Training pairs | 5,000, of which 2 too long{words} |" in card
