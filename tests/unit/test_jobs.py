"""Options of commands that follow from settings."""

import pytest

from padir import jobs
from padir.config.read import check_config
from tests.unit.config.small import changed

EVALUATION = {
    "split": "valid",
    "bootstrap_samples": 120,
    "analysis": {"passes": [2, 3], "sentences": 5, "distance": 6, "alternatives": 7},
    "samplers": {
        "all": {
            "training": "padir", "chains": 3, "steps": 11, "block": 2, "temperature": 1.5,
            "final_temperature": 0.5, "energy_every": 4, "metropolis": True,
        },
        "plain": {"training": "padir"},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def config():
    return check_config(changed("evaluation", EVALUATION))


def test_every_setting_of_the_analysis_is_an_option(config):
    options = "--passes 2 3 --sentences 5 --distance 6 --alternatives 7 --samples 120 --split valid"
    assert " ".join(map(str, jobs.analysis_flags(config))) == options


def test_every_setting_of_a_sampler_is_an_option(config):
    flags = [str(flag) for flag in jobs.sampler_flags(config, "all")]
    assert flags.pop() == "--mh"
    assert dict(zip(flags[::2], flags[1::2], strict=True)) == {
        "--chains": "3", "--steps": "11", "--block": "2", "--temperature": "1.5",
        "--final-temperature": "0.5", "--energy-every": "4",
    }  # fmt: skip
    assert "--mh" not in jobs.sampler_flags(config, "plain")
