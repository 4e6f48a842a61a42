"""`padir adopt`: the same parameters under another way of decoding, and nothing else."""

import json

import numpy as np
import pytest

from padir.commands.adopt import main
from padir.config.training import TrainingRun, RunSpec
from padir.decode.load import load
from padir.files import InputError, read_bundle
from tests.decoding import write_tiny_bundle


def spec_file(folder, owner, **changes):
    """The owner's spec with other decoding settings, as `spec.json`."""
    spec = RunSpec.model_validate(read_bundle(owner).spec["run_spec"])
    given = spec.run.model_dump()
    for key, value in changes.items():
        group, _, name = key.partition("__")
        given[group] = {**given[group], name: value} if name else value
    path = folder / "spec.json"
    made = spec.model_copy(update={"model": "other", "run": TrainingRun(**given)})
    path.write_text(json.dumps(made.model_dump(mode="json")), encoding="utf-8")
    return path


def adopt(folder, owner, spec):
    arguments = ["--bundle", owner, "--spec", spec, "--out", folder / "bundle"]
    return main([str(argument) for argument in arguments])


def test_parameters_stay_and_decoding_changes(tmp_path):
    owner = write_tiny_bundle(tmp_path / "owner", "padir")
    changes = {"decoding__remask": "none", "decoding__reranker": "tiny_ar"}
    spec = spec_file(tmp_path, owner, **changes, parameters="tiny_padir")
    assert adopt(tmp_path, owner, spec) == 0
    ours, theirs = read_bundle(tmp_path / "bundle"), read_bundle(owner)
    assert ours.arrays.keys() == theirs.arrays.keys()
    for name, array in theirs.arrays.items():
        np.testing.assert_array_equal(ours.arrays[name], array)
    loaded = load(tmp_path / "bundle")
    assert (loaded.spec.training, loaded.spec.run.decoding.remask) == ("other", "none")
    assert loaded.spec.run.decoding.reranker == "tiny_ar"
    assert "tiny_padir" in (tmp_path / "bundle" / "README.md").read_text()
    assert (tmp_path / "provenance.json").exists()


@pytest.mark.parametrize(
    "change", [{"objective__stages": 1}, {"training__steps": 9_000_000}, {"targets": "own"}]
)
def test_other_training_settings_are_refused(tmp_path, change):
    owner = write_tiny_bundle(tmp_path / "owner", "padir")
    with pytest.raises(InputError, match="its training settings are not those of"):
        adopt(tmp_path, owner, spec_file(tmp_path, owner, **change))


def test_what_is_no_bundle_is_refused(tmp_path):
    owner = write_tiny_bundle(tmp_path / "owner", "padir")
    spec = spec_file(tmp_path, owner)
    with pytest.raises(InputError, match="not a model bundle"):
        adopt(tmp_path, tmp_path, spec)
