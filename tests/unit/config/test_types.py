"""Settings of several types, and text that reads as a number."""

import copy

import pytest
from snakemake.cli import parse_config

from padir.config.read import check_config, merge
from padir.files import InputError
from tests.unit.config.small import SMALL, changed, set_value


def message(config: object) -> str:
    with pytest.raises(InputError) as caught:
        check_config(config)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 0.001), ("2.5E-3", 0.0025), ("0.01", 0.01), ("5", 5.0)]
)
def test_numbers_that_yaml_or_the_command_line_leave_as_text_are_numbers(text, value):
    config = check_config(changed("trainings.ar.optimizer.peak_learning_rate", text))
    assert config.trainings["ar"].optimizer.peak_learning_rate == value


def test_null_of_the_command_line_resets_a_setting():
    settings = parse_config(["trainings={ar: {training: {warm_start: null}}}"])
    config = check_config(merge(changed("trainings.ar.training", {"warm_start": "x"}), settings))
    assert config.trainings["ar"].training.warm_start is None


def test_text_that_is_no_number_stays_text():
    folder = "/data/1e-3 and; more"
    assert (
        check_config(changed("datasets.real.source.folder", folder))
        .datasets["real"]
        .source.local_files()[0]
        .is_relative_to(folder)
    )


@pytest.mark.parametrize("text", ["123", "1e-3", "007", "true", "1" * 31])
def test_text_of_digits_stays_text_where_a_setting_is_text(text):
    """Snakemake itself drops the quotes of nested values of `--config`."""
    teacher = f'{{cloud: {{kind: cloud, project: "{text}"}}}}'
    settings = parse_config([f"teachers={teacher}", "theory={errata: {models: 7}}"])
    settings["datasets"] = {"real": {"vocabulary": {"extra_text": [text]}}}
    config = check_config(merge(changed("datasets.real.source.folder", text), settings))
    assert config.theory.errata.models == 7
    assert config.teachers["cloud"].project == text
    assert config.datasets["real"].vocabulary.extra_text == [text]
    files = config.datasets["real"].source.local_files()
    assert {path.parent.name for path in files} == {text}


def test_text_of_digits_in_place_of_a_name_is_shown_as_text():
    assert message(changed("trainings.padir.targets", "123")) == (
        'config: trainings.padir.targets: found "123"; allowed: a letter, then letters, digits and'
        " underscores"
    )


SPLIT_FILES = "datasets.real.source.valid.files"
COUPLING = "theory.estimation.ordinary.coupling"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        # A path, or a file to download.
        (f"{SPLIT_FILES}.de", "", f"{SPLIT_FILES}.de: the path of a file is needed, found ''"),
        (f"{SPLIT_FILES}.de", 5, f"{SPLIT_FILES}.de: found 5; allowed: string or an object"),
        (f"{SPLIT_FILES}.de", {"url": "https://x.de"}, f"{SPLIT_FILES}.de.sha256: missing"),
        (
            "datasets.real.source.test.references",
            {"en": ["a", {"url": 3, "sha256": "0" * 64}]},
            "datasets.real.source.test.references.en.1.url: found 3; allowed: string",
        ),
        # One coupling for all edges, or one for each.
        (COUPLING, "x", f'{COUPLING}: found "x"; allowed: number or a list'),
        (COUPLING, [0.1, "x"], f'{COUPLING}.1: found "x"; allowed: number'),
        (COUPLING, [[1]], f"{COUPLING}.0: found [1]; allowed: number"),
        (COUPLING, [float("nan")], f"{COUPLING}.0: found NaN; allowed: a finite number"),
        (COUPLING, float("inf"), f"{COUPLING}: found Infinity; allowed: a finite number"),
    ],
)
def test_a_mistake_in_a_setting_of_several_types_is_one_line(path, value, expected):
    settings = copy.deepcopy(SMALL)
    # `SMALL` shares one mapping among its splits.
    settings["datasets"]["real"]["source"]["valid"] = {"files": {"de": "x.de", "en": "x.en"}}
    assert message(set_value(settings, path, value)) == f"config: {expected}"


def test_a_wrong_name_hides_no_mistake_below_it():
    config = copy.deepcopy(SMALL)
    config["trainings"] |= {"a b": 7, "c d": {"seeds": 1}}
    lines = [line.partition("; allowed")[0] for line in message(config).splitlines()]
    assert lines == [
        *('config: trainings.a b: found "a b"', "config: trainings.a b: found 7"),
        *('config: trainings.c d: found "c d"', "config: trainings.c d.seeds: found 1"),
    ]
