"""`size` stands below the user's settings, and a config without theory settings runs none."""

import copy

import pytest

from padir.config import identity
from padir.config.presets import SIZES, size_defaults
from padir.config.read import check_config, load_config, merge
from padir.files import InputError
from padir.report import catalogue
from tests.unit.config.small import SMALL


def sized(name: object, **more: object) -> dict[str, object]:
    given = copy.deepcopy(SMALL)
    given["training_defaults"] = {}
    return {**given, "size": name, **more}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_is_the_same_as_its_settings_written_out(name):
    written = check_config(sized(None, training_defaults=size_defaults(name)))
    config = check_config(sized(name))
    assert config == written
    run = identity.run_spec(config, "real", "de-en", "padir")
    assert run.digests == identity.run_spec(written, "real", "de-en", "padir").digests


def test_sizes_rise():
    widths, steps = [], []
    for name in SIZES:
        run = check_config(sized(name)).trainings["ar"]
        widths.append(run.architecture.width)
        steps.append(run.training.steps)
    assert widths == sorted(set(widths)) and steps == sorted(set(steps))


def test_settings_win_over_the_size():
    trainings = merge(SMALL["trainings"], {"ar": {"training": {"steps": 700}}})
    defaults = {"architecture": {"width": 32}}
    config = check_config(sized("tiny", training_defaults=defaults, trainings=trainings))
    ar, padir = config.trainings["ar"], config.trainings["padir"]
    assert (ar.training.steps, padir.training.steps) == (700, 3_000)
    assert ar.architecture.width == padir.architecture.width == 32
    assert ar.architecture.encoder_layers == 2
    assert padir.training.batch_tokens == 64


def test_a_size_comes_from_an_extended_file_and_from_the_command_line(tmp_path):
    base, path = tmp_path / "base.yaml", tmp_path / "own.yaml"
    base.write_text("size: small\ntrainings: {ar: {system: ar}}\n")
    path.write_text(
        "extends: base.yaml\ndatasets: {toy: {source: {kind: synthetic}, directions: [xs-xt]}}\n"
    )
    assert load_config([path]).trainings["ar"].architecture.width == 128
    assert load_config([path], {"size": "tiny"}).trainings["ar"].architecture.width == 64


@pytest.mark.parametrize("size", ["huge", 3, ["tiny"]])
def test_an_unknown_size_is_refused(size):
    with pytest.raises(InputError, match=r"^size: found .*; allowed: tiny, small, base, paper$"):
        check_config(sized(size))


def test_a_short_training_says_which_warm_up_fits():
    trainings = {"ar": {"system": "ar", "training": {"steps": 150}}}
    with pytest.raises(InputError, match=r"warmup_steps 200 must be below .* 150: .* usual, 15"):
        check_config(sized("tiny", trainings=trainings, teachers={}))


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("model_defaults", "nearest known key: decoder_defaults"),
        ("sise", "nearest known key: size"),
    ],
)
def test_an_override_under_an_unknown_key_is_an_error(key, advice, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(
        "size: tiny\ntrainings: {ar: {system: ar}}\n"
        "datasets: {toy: {source: {kind: synthetic}, directions: [xs-xt]}}\n"
    )
    with pytest.raises(InputError, match=f"^config: {key}: unknown key; {advice}"):
        load_config([path], {key: {"training": {"steps": 100}}})


def test_theory_runs_only_where_it_is_asked_for(repository):
    def has_theory(config):
        return "theory" in {part.group for part in catalogue.parts(config)}

    given = copy.deepcopy(SMALL)
    assert has_theory(check_config(given))
    del given["theory"]
    assert not has_theory(check_config(given))
    assert has_theory(load_config([repository / "config/config.yaml"]))
