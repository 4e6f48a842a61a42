"""The model card names every system."""

from typing import get_args

from padir.config.model import ModelRun
from padir.model.card import NAMES


def test_every_system_has_a_name() -> None:
    systems = get_args(ModelRun.model_fields["system"].annotation)
    assert set(NAMES) == set(systems)
    assert len(set(NAMES.values())) == len(systems)
