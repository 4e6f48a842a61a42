"""Further scorers: `padir rate` gets every setting that a rating's digest counts."""

from typing import Any

import pytest

from padir.commands.rate import OPTIONS
from padir.config.base import Settings
from padir.config.evaluation import SCORERS, BleurtScorer, ChrfWordsScorer
from padir.config.read import check_config
from padir.jobs import scorer_flags
from tests.unit.config.small import SMALL


class CasedScorer(Settings):
    kind: str = "cased"
    case_sensitive: bool = True
    order: int = 4


def flags(scorer: Settings) -> list[Any]:
    config = check_config(SMALL)
    evaluation = config.evaluation.model_copy(update={"scorers": {"x": scorer}})
    return scorer_flags(config.model_copy(update={"evaluation": evaluation}), "x")


def test_every_setting_of_a_scorer_is_in_its_command():
    """Else two scorers that differ in it have two digests and one number."""
    order = ["--order", 4]
    assert flags(CasedScorer()) == ["--scorer", "cased", "--case-sensitive", *order]
    assert flags(CasedScorer(case_sensitive=False)) == ["--scorer", "cased", *order]


def test_the_commands_of_the_scorers():
    assert flags(ChrfWordsScorer()) == ["--scorer", "chrf++"]
    bleurt = ["--scorer", "bleurt", "--checkpoint", "data/B", "--allow-missing"]
    assert flags(BleurtScorer(checkpoint="data/B")) == bleurt


@pytest.mark.parametrize("kind", SCORERS)
def test_the_command_has_an_option_for_every_setting_of_a_scorer(kind):
    options = {option.name for option in OPTIONS}
    further = {f"--{name.replace('_', '-')}" for name in SCORERS[kind].model_fields} - {"--kind"}
    assert further <= options, "add the option to padir rate, and give it to `counts`"
