"""Reading settings: what is accepted, and that every mistake is one line that helps."""

import copy
import json
import re

import pytest

from padir.config.read import check_config, load_config, merge
from padir.files import InputError
from tests.unit.config.small import SMALL, changed


def message(config: object) -> str:
    with pytest.raises(InputError) as caught:
        check_config(config)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_training_is_the_defaults_with_its_own_differences():
    config = check_config(SMALL)
    assert config.trainings["ar"].training.steps == 30
    assert config.trainings["padir"].training.steps == 30
    assert config.trainings["padir"].training.batch_tokens == 64
    assert config.trainings["ar"].training.batch_tokens != 64


def test_the_default_rows_are_checked_too():
    wrong = changed("trainings.m", {"objective": {"corruption": "mask"}})
    expected = "config: evaluation.core (null: every training): training m: decoder padir starts"
    assert message(wrong).startswith(expected)
    # Also where the rows to analyse are given.
    wrong["evaluation"] = {"analysis": {"rows": ["padir/padir/T1"]}}
    assert message(wrong).startswith(expected)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        # Unknown keys, with the nearest known one and all that are allowed.
        (
            "trainings.padir.training.stpes",
            5,
            "training.stpes: unknown key; nearest known key: steps; allowed: accumulate",
        ),
        (
            "training_defaults.optimiser",
            {},
            "training_defaults.optimiser: unknown key; nearest known key: optimizer",
        ),
        # In a group of settings.
        (
            "trainings.padir.steps",
            5,
            "padir.steps: unknown key; nearest known key: training.steps; allowed: arch",
        ),
        ("datasetz", {}, "datasetz: unknown key; nearest known key: datasets"),
        (
            "training_default",
            {},
            "training_default: unknown key; nearest known key: training_defaults",
        ),
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
        (
            "datasets.real.source.test.newstest2016",
            {"files": {}},
            "datasets.real.source.test.newstest2016: unknown key; allowed: files, references",
        ),
        # Wrong values, found and allowed.
        (
            "trainings.padir.seeds",
            4,
            "trainings.padir.seeds: found 4; allowed: a list, such as [4]",
        ),
        (
            "training_defaults.training.steps",
            0,
            "training_defaults.training.steps: found 0; allowed: greater than or equal to 1",
        ),
        (
            "trainings.ar.training.steps",
            -3,
            "trainings.ar.training.steps: found -3; allowed: greater than",
        ),
        (
            "evaluation.scorers",
            {"x": {"kind": "comet"}},
            "evaluation.scorers.x: found kind 'comet'; allowed: 'bleurt', 'chrf++'",
        ),
        ("evaluation.scorers", {"x": {"kind": "bleurt"}}, "scorers.x.checkpoint: missing"),
        (
            "trainings.ar.training.steps",
            "many",
            'trainings.ar.training.steps: found "many"; allowed: integer',
        ),
        (
            "trainings.ar.training.steps",
            True,
            "trainings.ar.training.steps: found true; allowed: integer",
        ),
        (
            "trainings.ar.training.steps",
            2.5,
            "trainings.ar.training.steps: found 2.5; allowed: integer",
        ),
        (
            "trainings.ar.training.steps",
            None,
            "trainings.ar.training.steps: found null; allowed: integer",
        ),
        ("trainings.ar.training", 7, "trainings.ar.training: found 7; allowed: an object"),
        (
            "trainings.ar.architecture.tied_output",
            1,
            "trainings.ar.architecture.tied_output: found 1; allowed: boolean",
        ),
        (
            "trainings.ar.optimizer.kind",
            "sgd",
            "trainings.ar.optimizer.kind: found \"sgd\"; allowed: 'adafactor' or 'adam'",
        ),
        (
            "trainings.ar.optimizer.peak_learning_rate",
            float("inf"),
            "found Infinity; allowed: a finite number",
        ),
        (
            "trainings.ar.optimizer.peak_learning_rate",
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
        (
            "trainings.padir.seeds",
            [],
            "trainings.padir.seeds: found []; allowed: at least 1 entries",
        ),
        (
            "trainings.padir.seeds",
            [-1],
            "trainings.padir.seeds.0: found -1; allowed: greater than or equal to 0",
        ),
        (
            "trainings.padir.training.buckets",
            [8, "x"],
            'trainings.padir.training.buckets.1: found "x"; allowed: integer',
        ),
        (
            "trainings.padir.training.buckets",
            [8, 4],
            "trainings.padir.training: buckets [8, 4] must rise",
        ),
        ("trainings", {}, "trainings: found {}; allowed: at least 1 entries"),
        ("trainings", [], "trainings: found []; allowed: an object"),
        ("training_defaults", [], "training_defaults: found [], allowed: a mapping"),
        (
            "datasets.real.source.train.files.de",
            5,
            "datasets.real.source.train.files.de: found 5; allowed: string or",
        ),
        # What does not fit together.
        (
            "trainings.padir.targets",
            "gold",
            "trainings.padir.targets is 'gold': allowed are ar, raw",
        ),
        (
            "teachers.ar.row",
            "nobody/beam",
            "teachers.ar.row: the training of nobody/beam is 'nobody': allowed are ar, padir",
        ),
        (
            "teachers.ar.row",
            "ar/best",
            "teachers.ar.row: the decoder of ar/best is 'best': allowed are beam, cmlm, disco,",
        ),
        (
            "evaluation.baseline",
            "nobody/beam",
            "evaluation.baseline: the training of nobody/beam is 'nobody': allowed are ar, padir",
        ),
        # The grammar reads sources of one side.
        *(
            (
                "datasets.toy.directions",
                directions,
                "datasets.toy: directions of synthetic data are [xs-xt], as the grammar reads"
                f" sources of one side; found {', '.join(directions)}",
            )
            for directions in (["de-en"], ["xt-xs"], ["xs-xt", "xt-xs"])
        ),
        # Each row would count twice.
        (
            "datasets.real.directions",
            ["de-en", "de-en"],
            "datasets.real: directions de-en, de-en: one is given twice",
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
            "trainings.a b",
            {},
            'trainings.a b: found "a b"; allowed: a letter, then letters, digits and underscores',
        ),
        # Files of the user's reach rules, where braces are wildcards.
        (
            "datasets.real.source.train.files.de",
            "train{1}.de",
            "source.train.files.de: a path without braces and control characters, not beginning",
        ),
        ("datasets.real.source.folder", "a\nb", "source.folder"),
        ("datasets.real.source.train.files.de", "", "source.train.files.de: the path of a file is"),
        ("datasets.real.vocabulary", {"extra_text": ["more{a}.txt"]}, "found 'more{a}.txt'"),
        ("datasets.real.extra_sources", {"files": {"de": "a{b}.de"}}, "found 'a{b}.de'"),
        ("teachers.ready", {"kind": "files", "train": "-a", "valid": "b"}, "found '-a'"),
        (
            "teachers.ar",
            {"kind": "files", "train": "a", "valid": "b"},
            "teachers.ar has kind files, whose translations are those of one dataset in one"
            " direction, and this config has toy xs-xt, real de-en, real en-de",
        ),
        ("trainings.x;rm", {}, "trainings.x;rm: found"),
        ("trainings.../..", {}, "allowed: a letter, then letters"),
        ("datasets.real.directions", ["../../x-en"], "datasets.real.directions.0: found"),
        ("trainings.new\nline", {}, "trainings.'new\\nline': found"),
    ],
)
def test_each_mistake_is_one_line_with_key_value_and_what_is_allowed(path, value, expected):
    config = changed(path, value)
    if path == "trainings.../..":
        config = copy.deepcopy(SMALL)
        config["trainings"]["../.."] = {}
    lines = message(config).split("\n")
    hits = [line for line in lines if expected in line]
    assert len(hits) == 1, lines
    assert all(line.startswith(("config: ", path)) for line in lines)


def test_a_wrong_default_is_named_once_as_the_default():
    text = message(changed("training_defaults.training.stpes", 5))
    assert text.count("\n") == 0
    assert text.startswith("config: training_defaults.training.stpes: unknown key")


def test_all_mistakes_are_reported():
    config = changed("trainings.ar.training.stpes", 5)
    config["datasets"]["toy"]["source"]["train"] = 0
    assert len(message(config).split("\n")) == 2


def test_missing_keys_are_named():
    config = changed("datasets.real.source", {"kind": "files", "train": {}})
    lines = message(config).split("\n")
    assert "config: datasets.real.source.train.files: missing" in lines
    assert "config: datasets.real.source.valid: missing" in lines


def test_a_language_that_yaml_reads_as_a_truth_value_is_explained():
    config = changed("datasets.real.source.train.files", {False: "x.no", "en": "x.en"})
    assert message(config) == (
        "datasets.real.source.train.files: key False is not text; put it in quotes"
    )


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
    second.write_text("trainings:\n  ar:\n    training: {steps: 7}\n    seeds: [3]\n")
    config = load_config([first, second], {"trainings": {"padir": {"training": {"steps": "9"}}}})
    assert config.trainings["ar"].training.steps == 7
    assert config.trainings["ar"].seeds == [3]
    assert config.trainings["padir"].training.steps == 9
    assert config.trainings["padir"].training.batch_tokens == 64


@pytest.mark.parametrize(
    "path",
    [
        *("training_defaults.training.steps", "trainings.ar.architecture.width"),
        *("datasets.toy.source.train", "datasets.toy.vocabulary.size", "decoders.beam.beam"),
        *("evaluation.bootstrap_samples", "evaluation.latency_repeats", "theory.errata.models"),
    ],
)
@pytest.mark.parametrize("value", [10**30, "1" * 31, 2**53 + 1, -(10**30)])
def test_integers_that_json_cannot_hold_are_refused(path, value):
    text = message(changed(path, value))
    assert re.fullmatch(
        rf"config: {re.escape(path)}: found (-?[0-9.]+e\+[0-9]+|an integer beyond 1e\+300);"
        r" allowed: integers up to 9007199254740992",
        text,
    )


def test_an_integer_of_thousands_of_digits_is_one_line():
    expected = "config: theory.seeds.1: found an integer beyond 1e+300; allowed: integers up to"
    assert message(changed("theory.seeds", [0, 10**5000])).startswith(expected)


@pytest.mark.parametrize("value", [b"ar", {1, 2}, object()])
def test_values_that_no_config_file_holds_are_refused(value):
    kind = type(value).__name__
    assert message(changed("trainings.ar.system", value)) == (
        f"trainings.ar.system: found {kind}, allowed: what JSON can hold"
    )
    key = message(changed("trainings.ar", {b"system": "ar"}))
    assert key == "trainings.ar: key b'system' is not text; put it in quotes"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "evaluation.core",
            ["ar"],
            'evaluation.core.0: found "ar"; allowed: rows, such as {trainings: [padir], decoders:',
        ),
        ("evaluation.baseline", "ar", "'ar' is no row: write TRAINING/DECODER/T4, or"),
    ],
)
def test_a_name_in_place_of_a_row_says_how_to_write_one(path, value, expected):
    text = message(changed(path, value))
    assert expected in text
    assert text.count("\n") == 0


def test_merge_leaves_its_arguments_alone():
    base, changes = {"a": {"b": 1}}, {"a": {"c": 2}}
    assert merge(base, changes) == {"a": {"b": 1, "c": 2}}
    assert base == {"a": {"b": 1}}
    assert changes == {"a": {"c": 2}}
