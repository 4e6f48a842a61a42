"""Reading settings: what is accepted, and that every mistake is one line that helps."""

import copy
import json

import pytest

from padir.config.read import (
    check_config,
    load_config,
    merge,
    read_yaml,
    refuse_repeated_keys,
)
from padir.files import InputError
from tests.unit.config.small import SMALL, changed


def message(config: object) -> str:
    with pytest.raises(InputError) as caught:
        check_config(config)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_model_is_the_defaults_with_its_own_differences():
    config = check_config(SMALL)
    assert config.models["ar"].training.steps == 30
    assert config.models["padir"].training.steps == 30
    assert config.models["padir"].training.batch_tokens == 64
    assert config.models["ar"].training.batch_tokens != 64


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        # Unknown keys, with the nearest known one and all that are allowed.
        (
            "models.padir.training.stpes",
            5,
            "training.stpes: unknown key; nearest known key: steps; allowed: accumulate",
        ),
        (
            "model_defaults.optimiser",
            {},
            "model_defaults.optimiser: unknown key; nearest known key: optimizer",
        ),
        ("datasetz", {}, "datasetz: unknown key; nearest known key: datasets"),
        ("model_default", {}, "model_default: unknown key; nearest known key: model_defaults"),
        (
            "datasets.toy.source.tran",
            2,
            "datasets.toy.source.tran: unknown key; nearest known key: train",
        ),
        (
            "datasets.real.source.fodler",
            ".",
            "nearest known key: folder; allowed: folder, kind, test",
        ),
        # Wrong values, found and allowed.
        (
            "model_defaults.training.steps",
            0,
            "model_defaults.training.steps: found 0; allowed: greater than or equal to 1",
        ),
        (
            "models.ar.training.steps",
            -3,
            "models.ar.training.steps: found -3; allowed: greater than",
        ),
        (
            "evaluation.scorers",
            {"x": {"kind": "comet"}},
            "evaluation.scorers.x: found kind 'comet'; allowed: 'bleurt', 'chrf++'",
        ),
        ("evaluation.scorers", {"x": {"kind": "bleurt"}}, "scorers.x.checkpoint: missing"),
        (
            "models.ar.training.steps",
            "many",
            'models.ar.training.steps: found "many"; allowed: integer',
        ),
        (
            "models.ar.training.steps",
            True,
            "models.ar.training.steps: found true; allowed: integer",
        ),
        ("models.ar.training.steps", 2.5, "models.ar.training.steps: found 2.5; allowed: integer"),
        (
            "models.ar.training.steps",
            None,
            "models.ar.training.steps: found null; allowed: integer",
        ),
        ("models.ar.training", 7, "models.ar.training: found 7; allowed: an object"),
        (
            "models.ar.architecture.tied_output",
            1,
            "models.ar.architecture.tied_output: found 1; allowed: boolean",
        ),
        (
            "models.ar.optimizer.kind",
            "sgd",
            "models.ar.optimizer.kind: found \"sgd\"; allowed: 'adafactor' or 'adam'",
        ),
        (
            "models.ar.optimizer.peak_learning_rate",
            float("inf"),
            "found Infinity; allowed: a finite number",
        ),
        (
            "models.ar.optimizer.peak_learning_rate",
            float("nan"),
            "found NaN; allowed: a finite number",
        ),
        (
            "datasets.toy.source.mode_strength",
            1.5,
            "mode_strength: found 1.5; allowed: less than or equal to 1",
        ),
        (
            "datasets.toy.source.kind",
            "sinthetic",
            "toy.source: found kind 'sinthetic'; allowed: 'synthetic', 'files'",
        ),
        (
            "datasets.toy.source",
            {},
            "datasets.toy.source: missing kind; allowed: kind: files, synthetic",
        ),
        ("models.padir.seeds", [], "models.padir.seeds: found []; allowed: at least 1 entries"),
        (
            "models.padir.seeds",
            [-1],
            "models.padir.seeds.0: found -1; allowed: greater than or equal to 0",
        ),
        (
            "models.padir.training.buckets",
            [8, "x"],
            'models.padir.training.buckets.1: found "x"; allowed: integer',
        ),
        (
            "models.padir.training.buckets",
            [8, 4],
            "models.padir.training: buckets [8, 4] must rise",
        ),
        ("models", {}, "models: found {}; allowed: at least 1 entries"),
        ("models", [], "models: found []; allowed: an object"),
        ("model_defaults", [], "model_defaults: found [], allowed: a mapping"),
        (
            "datasets.real.source.train.files.de",
            5,
            "datasets.real.source.train.files.de: found 5; allowed: string or",
        ),
        # What does not fit together.
        ("models.padir.targets", "gold", "models.padir.targets is 'gold': allowed are raw and"),
        ("teachers.ar.model", "nobody", "teachers.ar.model is 'nobody': allowed are ar, padir"),
        ("evaluation.baseline", "nobody", "evaluation.baseline is 'nobody': allowed are ar, padir"),
        (
            "models.padir.decode",
            ["beam"],
            "decode entry 'beam' does not fit system padir: allowed T1 to T100",
        ),
        ("models.padir.decode", ["T01"], "decode entry 'T01' does not fit system padir"),
        (
            "models.ar.decode",
            ["T1"],
            "decode entry 'T1' does not fit system ar: allowed greedy, beam",
        ),
        (
            "datasets.toy.directions",
            ["de-en"],
            "directions of synthetic data are of xs-xt, found de-en",
        ),
        ("datasets.real.directions", ["de-en", "de-fr"], "directions must be of one language pair"),
        ("datasets.real.directions", ["de-de"], "direction 'de-de' must name two languages"),
        (
            "datasets.real.source.test.files",
            {"de": "x"},
            "source.test.files must name the languages of de-en, found de",
        ),
        # Names become paths.
        (
            "models.a b",
            {},
            'models.a b: found "a b"; allowed: a letter, then letters, digits and underscores',
        ),
        ("models.x;rm", {}, "models.x;rm: found"),
        ("models.../..", {}, "allowed: a letter, then letters"),
        ("datasets.real.directions", ["../../x-en"], "datasets.real.directions.0: found"),
        ("models.new\nline", {}, "models.'new\\nline': found"),
    ],
)
def test_each_mistake_is_one_line_with_key_value_and_what_is_allowed(path, value, expected):
    config = changed(path, value)
    if path == "models.../..":
        config = copy.deepcopy(SMALL)
        config["models"]["../.."] = {}
    lines = message(config).split("\n")
    hits = [line for line in lines if expected in line]
    assert len(hits) == 1, lines
    assert all(line.startswith(("config: ", path)) for line in lines)


def test_a_wrong_default_is_named_once_as_the_default():
    text = message(changed("model_defaults.training.stpes", 5))
    assert text.count("\n") == 0
    assert text.startswith("config: model_defaults.training.stpes: unknown key")


def test_all_mistakes_are_reported():
    config = changed("models.ar.training.stpes", 5)
    config["datasets"]["toy"]["source"]["train"] = 0
    assert len(message(config).split("\n")) == 2


def test_missing_keys_are_named():
    config = changed("datasets.real.source", {"kind": "files", "train": {}})
    lines = message(config).split("\n")
    assert "config: datasets.real.source.train.files: missing" in lines
    assert "config: datasets.real.source.valid: missing" in lines


@pytest.mark.parametrize(
    ("text", "value"), [("1e-3", 0.001), ("2.5E-3", 0.0025), ("0.01", 0.01), ("5", 5.0)]
)
def test_numbers_that_yaml_or_the_command_line_leave_as_text_are_numbers(text, value):
    config = check_config(changed("models.ar.optimizer.peak_learning_rate", text))
    assert config.models["ar"].optimizer.peak_learning_rate == value


def test_text_that_is_no_number_stays_text():
    folder = "/data/1e-3 and; more"
    assert (
        check_config(changed("datasets.real.source.folder", folder))
        .datasets["real"]
        .source.local_files()[0]
        .is_relative_to(folder)
    )


def test_a_language_that_yaml_reads_as_a_truth_value_is_explained():
    config = changed("datasets.real.source.train.files", {False: "x.no", "en": "x.en"})
    assert message(config) == (
        "datasets.real.source.train.files: key False is not text; put it in quotes"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: key 'a' given twice, first in line 1"),
        ("m:\n  x: 1\n  x: 2\n", "line 3: key 'x' given twice, first in line 2"),
        ("a: [1\n", "not YAML"),
        ("", "found nothing, allowed: a mapping"),
        ("- 1\n", "found list, allowed: a mapping"),
        ("a: !!python/object/apply:os.getcwd []\n", "not YAML: could not determine a constructor"),
        ("a: \x00\n", "not YAML"),
    ],
)
def test_what_is_no_config_file_is_refused_with_its_name(tmp_path, text, expected):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_yaml(path)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        refuse_repeated_keys([path])


def test_missing_and_undecodable_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml: cannot read: No such file"):
        load_config([tmp_path / "none.yaml"])
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(InputError, match=r"latin\.yaml: byte 3: not valid UTF-8"):
        load_config([tmp_path / "latin.yaml"])
    with pytest.raises(InputError, match="no config file"):
        load_config([])


def test_later_files_and_overrides_win(tmp_path):
    first, second = tmp_path / "1.json", tmp_path / "2.yaml"
    first.write_text(json.dumps(SMALL))
    second.write_text("models:\n  ar:\n    training: {steps: 7}\n    decode: [beam]\n")
    config = load_config([first, second], {"models": {"padir": {"training": {"steps": "9"}}}})
    assert config.models["ar"].training.steps == 7
    assert config.models["ar"].decode == ["beam"]
    assert config.models["padir"].training.steps == 9
    assert config.models["padir"].training.batch_tokens == 64


def test_merge_leaves_its_arguments_alone():
    base, changes = {"a": {"b": 1}}, {"a": {"c": 2}}
    assert merge(base, changes) == {"a": {"b": 1, "c": 2}}
    assert base == {"a": {"b": 1}}
    assert changes == {"a": {"c": 2}}
