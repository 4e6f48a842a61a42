"""What single jobs read: specs cut out of the config, their files, and what training depends on."""

import json

import pytest

from padir.config.data import SyntheticSource
from padir.config.read import (
    check_config,
    data_spec,
    read_dataset,
    read_spec,
    read_vocabulary_settings,
    run_spec,
    training_digest,
    vocabulary_spec,
)
from padir.files import InputError
from tests.unit.config.small import SMALL, changed


def test_a_run_spec_survives_its_file(tmp_path):
    spec = run_spec(check_config(SMALL), "real", "en-de", "padir")
    path = tmp_path / "spec.json"
    path.write_text(spec.model_dump_json())
    assert read_spec(path) == spec


def test_one_more_seed_or_decoding_leaves_the_spec_of_what_is_trained():
    spec = run_spec(check_config(SMALL), "toy", "xs-xt", "padir")
    for path, value in (("models.padir.decode", ["T9"]), ("models.padir.seeds", [0, 1])):
        assert run_spec(check_config(changed(path, value)), "toy", "xs-xt", "padir") == spec


def test_a_spec_file_is_checked_like_a_config(tmp_path):
    spec = run_spec(check_config(SMALL), "toy", "xs-xt", "ar").model_dump(mode="json")
    spec["run"]["training"]["stpes"] = 1
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec))
    with pytest.raises(InputError, match=r"spec\.json: run\.training\.stpes: unknown key; nearest"):
        read_spec(path)
    path.write_text("{")
    with pytest.raises(InputError, match=r"spec\.json: not JSON"):
        read_spec(path)
    path.write_text("[]")
    with pytest.raises(InputError, match=r"spec\.json: found list, allowed: an object"):
        read_spec(path)


@pytest.mark.parametrize(
    ("dataset", "direction", "model", "expected"),
    [
        ("non", "de-en", "ar", "datasets: no entry 'non', allowed: toy, real"),
        ("real", "de-en", "non", "models: no entry 'non', allowed: ar, padir"),
        ("real", "de-fr", "ar", "datasets.real.directions: no 'de-fr', allowed: de-en, en-de"),
    ],
)
def test_a_spec_of_what_is_not_in_the_config_is_refused(dataset, direction, model, expected):
    with pytest.raises(InputError, match=expected):
        run_spec(check_config(SMALL), dataset, direction, model)


def test_a_dataset_survives_its_file_and_knows_nothing_of_vocabulary_and_direction(tmp_path):
    config = check_config(SMALL)
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(data_spec(config, "real")))
    dataset = read_dataset(path)
    assert dataset.source == config.datasets["real"].source
    assert dataset.pair == "de-en"
    assert not {"vocabulary", "vocabularies"} & data_spec(config, "real").keys()
    other = check_config(changed("datasets.real.vocabulary.size", 99))
    one_way = check_config(changed("datasets.real.directions", ["en-de"]))
    assert data_spec(other, "real") == data_spec(one_way, "real") == data_spec(config, "real")


@pytest.mark.parametrize(
    ("path", "value", "same"),
    [
        ("models.padir.decode", ["T9"], True),
        ("models.padir.seeds", [3, 4], True),
        ("models.padir.decoding.length_candidates", 2, True),
        ("models.padir.decoding.remask", "none", True),
        ("models.padir.decoding.reranker", "ar", True),
        ("models.padir.objective.hide_stutter", False, False),
        ("models.ar.decoding.remask", "none", False),  # decoding of the teacher, as a whole
        ("models.padir.training.steps", 31, False),
        ("models.ar.training.steps", 31, False),  # the teacher
        ("models.ar.decoding.beam", 2, False),
        ("teachers.ar.decode", "greedy", False),
        ("models.ar.seeds", [5], False),
        ("datasets.toy.source.seed", 8, False),
        ("models.padir.training.warm_start", "ar", False),
        ("datasets.toy.vocabulary.size", 40, False),
        ("datasets.real.vocabulary.size", 40, True),
        ("datasets.toy.vocabularies", {"other": {"size": 40}}, True),
        ("datasets.toy.vocabulary.foreign_pairs", 1, False),
        ("datasets.toy.vocabulary.extra_text", ["x"], False),
    ],
)
def test_training_starts_anew_exactly_when_something_it_depends_on_changes(path, value, same):
    key = ("toy", "xs-xt", "padir")
    before = training_digest(check_config(SMALL), *key)
    after = training_digest(check_config(changed(path, value)), *key)
    assert (before == after) is same


def on_other(**other):
    """`SMALL`, its model padir on vocabulary `other` of both datasets."""
    config = changed("models.padir.vocabulary", "other")
    config["datasets"]["toy"]["vocabularies"] = {"other": other}
    config["datasets"]["real"]["vocabularies"] = {"other": {}}
    return config


@pytest.mark.parametrize(
    ("path", "value", "same"),
    [
        ("datasets.toy.vocabularies.other.size", 40, False),
        ("datasets.toy.vocabularies.other.foreign_pairs", 2, False),
        ("datasets.toy.vocabularies.other.extra_text", ["y"], False),
        ("datasets.toy.vocabularies.second", {}, True),
        ("datasets.real.vocabularies.other.size", 40, True),
        ("datasets.toy.vocabulary.size", 40, False),  # the teacher's
        ("models.ar.vocabulary", "other", False),
    ],
)
def test_training_depends_on_the_vocabulary_that_the_model_names(path, value, same):
    key = ("toy", "xs-xt", "padir")
    given = on_other(size=30, foreign_pairs=1, extra_text=["x"])
    before = training_digest(check_config(given), *key)
    assert before != training_digest(check_config(SMALL), *key)
    *folders, last = path.split(".")
    here = given
    for name in folders:
        here = here.setdefault(name, {})
    here[last] = value
    assert (training_digest(check_config(given), *key) == before) is same


def test_the_own_vocabulary_of_a_model_on_raw_targets_is_nothing_to_one_on_another():
    key = ("toy", "xs-xt", "padir")
    given = on_other()
    given["models"]["padir"]["targets"] = "raw"
    before = training_digest(check_config(given), *key)
    given["datasets"]["toy"]["vocabulary"] = {"size": 40}
    assert training_digest(check_config(given), *key) == before


def test_what_was_trained_before_there_were_other_vocabularies_keeps_its_settings(tmp_path):
    spec = run_spec(check_config(SMALL), "toy", "xs-xt", "padir")
    assert "vocabulary" not in spec.model_dump(mode="json")["run"]
    assert "vocabulary" not in json.loads(spec.model_dump_json())["run"]
    assert '"vocabulary"' not in json.dumps(spec.training_part())
    learnt = vocabulary_spec(check_config(SMALL), "toy", None)
    assert not {"foreign_pairs", "extra_text", "source"} & learnt.keys()
    other = run_spec(check_config(on_other()), "toy", "xs-xt", "padir")
    assert '"vocabulary": "other"' in json.dumps(other.training_part())
    path = tmp_path / "spec.json"
    path.write_text(other.model_dump_json())
    assert read_spec(path) == other


def test_the_settings_of_a_vocabulary_hold_the_source_of_foreign_pairs(tmp_path):
    config = check_config(on_other(foreign_pairs=2))
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(vocabulary_spec(config, "toy", "other")))
    assert read_vocabulary_settings(path).source == config.datasets["toy"].source
    assert "source" not in vocabulary_spec(config, "toy", None)
    # Real text has no source of its own that its foreign pairs could be like.
    real = check_config(changed("datasets.real.vocabularies", {"other": {"foreign_pairs": 3}}))
    path.write_text(json.dumps(vocabulary_spec(real, "real", "other")))
    assert read_vocabulary_settings(path).source == SyntheticSource()
    assert "source" not in vocabulary_spec(real, "real", None)
    path.write_text('{"foreign_pairs": 2}')
    with pytest.raises(InputError, match="foreign_pairs is 2, but there is no source"):
        read_vocabulary_settings(path)
