"""The model card names every system, and the vocabulary."""

from typing import get_args

from padir.config.model import ModelRun
from padir.model.card import NAMES, model_card
from tests.training import tiny_spec


def test_every_system_has_a_name() -> None:
    systems = get_args(ModelRun.model_fields["system"].annotation)
    assert set(NAMES) == set(systems)
    assert len(set(NAMES.values())) == len(systems)


def test_the_vocabulary_stands_by_its_name() -> None:
    spec = tiny_spec()
    other = spec.model_copy(update={"run": spec.run.model_copy(update={"vocabulary": "generic"})})
    summary = {"parameters": 1, "pairs": 1, "pairs_too_long": 0, "epochs": 1.0}
    assert "| Vocabulary | the dataset's own |" in model_card(spec, 0, summary, {}, [1])
    assert "| Vocabulary | generic |" in model_card(other, 0, summary, {}, [1])
