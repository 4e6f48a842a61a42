"""Options and files of commands that follow from settings."""

import pytest

from padir import jobs
from padir.config.read import check_config
from padir.layout import Place
from tests.unit.config.small import changed, set_value

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
    "scorers": {
        "learnt": {"kind": "bleurt", "checkpoint": "BLEURT-20"}, "chrf": {"kind": "chrf++"},
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


def test_a_scorer_that_has_a_checkpoint_may_lack_it(config):
    checkpoint = ["--checkpoint", "BLEURT-20", "--allow-missing"]
    assert jobs.scorer_flags(config, "learnt") == ["--scorer", "bleurt", *checkpoint]
    assert jobs.scorer_flags(config, "chrf") == ["--scorer", "chrf++"]


def test_extra_sources_follow_those_of_the_training_text():
    given = changed("datasets.real.extra_sources", {"files": {"de": "captions.de"}})
    config = check_config(set_value(given, "teachers.ar.extra_sources", True))
    folder = "results/data/real/de-en"
    joined = jobs.joined_sources(config, Place("real", "de-en"), "ar")
    assert joined == [f"{folder}/train.de", f"{folder}/extra.de"]


def test_a_card_names_the_teacher_s_row_or_its_kind():
    files = {"kind": "files", "train": "train.en", "valid": "valid.en"}
    config = check_config(changed("teachers.made", files))
    names = [jobs.teacher_decoding(config, name) for name in ("ar", "made")]
    assert names == ["ar/beam", "files"]
