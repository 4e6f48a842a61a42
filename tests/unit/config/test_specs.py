"""What single jobs read: specs cut out of the config, their files, and what training depends on."""

import json

import pytest

from padir.config.read import (
    check_config,
    data_spec,
    read_dataset,
    read_spec,
    run_spec,
    training_digest,
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
    assert "vocabulary" not in data_spec(config, "real")
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
        ("models.padir.decoding.rescorer", "ar", True),
        ("models.padir.objective.hide_stutter", False, False),
        ("models.ar.decoding.remask", "none", False),  # decoding of the teacher, as a whole
        ("models.padir.training.steps", 31, False),
        ("models.ar.training.steps", 31, False),  # the teacher
        ("models.ar.decoding.beam", 2, False),
        ("teachers.ar.decode", "greedy", False),
        ("models.ar.seeds", [5], False),
        ("datasets.toy.source.seed", 8, False),
        ("datasets.toy.vocabulary.size", 40, False),
        ("datasets.real.vocabulary.size", 40, True),
    ],
)
def test_training_starts_anew_exactly_when_something_it_depends_on_changes(path, value, same):
    key = ("toy", "xs-xt", "padir")
    before = training_digest(check_config(SMALL), *key)
    after = training_digest(check_config(changed(path, value)), *key)
    assert (before == after) is same
