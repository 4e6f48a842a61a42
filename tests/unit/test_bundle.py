"""Model bundles on disk: whole, ours, undamaged, or one line that says what is wrong."""

import json
import pickle
import random
import re
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from padir.bundle import read_bundle, write_bundle
from padir.files import InputError, sha256_file, write_json


def fails(message: str):
    """Expect an InputError of one line that ends in `message`."""
    return pytest.raises(InputError, match=r"\A[^\n]*" + re.escape(message) + r"\Z")


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def bundle(tmp_path):
    (tmp_path / "spm").write_bytes(b"pieces")
    arrays = {
        "encoder/layer_0/kernel": np.arange(6, dtype=np.float32).reshape(2, 3),
        "a": np.array(1.5, np.float32),
        "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    }
    write_bundle(tmp_path / "bundle", arrays, {"dataset": "demo"}, tmp_path / "spm", "# Card\n")
    return tmp_path / "bundle", arrays


def test_a_bundle_is_read_as_it_was_written(bundle):
    folder, arrays = bundle
    bundle = read_bundle(folder)
    assert bundle.spec == {"dataset": "demo"}
    assert bundle.vocabulary.read_bytes() == b"pieces"
    assert (folder / "README.md").read_text() == "# Card\n"
    assert names(folder) == [
        "README.md",
        "model.safetensors",
        "spec.json",
        "spm.model",
    ]
    assert bundle.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert bundle.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(bundle.arrays[name], array)


def test_bundle_bytes_depend_on_its_contents_only(bundle, tmp_path):
    folder, arrays = bundle
    for attempt in range(5):
        other = tmp_path / str(attempt)
        reordered = dict(reversed(arrays.items()))
        write_bundle(other, reordered, {"dataset": "demo"}, tmp_path / "spm", "# Card\n")
        assert sha256_file(other / "model.safetensors") == sha256_file(folder / "model.safetensors")


@pytest.mark.parametrize("name", ["model.safetensors", "spec.json", "spm.model"])
def test_a_bundle_without_one_of_its_files_is_refused(bundle, name):
    folder, _ = bundle
    (folder / name).unlink()
    with fails(f"bundle: not a model bundle: {name} is missing"):
        read_bundle(folder)


def test_a_missing_folder_and_a_file_are_told_apart_from_a_folder_that_is_no_bundle(bundle):
    folder, _ = bundle
    with fails("bundel: no such folder; is its training done? padir status shows it"):
        read_bundle(folder.with_name("bundel"))
    with fails("model.safetensors: is a file: name the bundle's folder"):
        read_bundle(folder / "model.safetensors")


@pytest.mark.parametrize("keep", [0, 5, 40, 200, -1])
def test_a_truncated_model_is_refused(bundle, keep):
    model = bundle[0] / "model.safetensors"
    model.write_bytes(model.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"model\.safetensors: damaged or not a safetensors file"):
        read_bundle(bundle[0])


def test_a_file_that_is_no_model_of_ours_is_refused(bundle):
    model = bundle[0] / "model.safetensors"
    model.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(InputError, match="damaged or not a safetensors file"):
        read_bundle(bundle[0])
    for metadata in (None, {"format": "pt"}):
        model.write_bytes(safetensors.numpy.save({"a": np.zeros(3)}, metadata=metadata))
        with fails("model.safetensors: a safetensors file, but not a padir model"):
            read_bundle(bundle[0])
    header = json.dumps({"format": "padir bundle 9", "spec": "", "vocabulary": ""})
    model.write_bytes(safetensors.numpy.save({"a": np.zeros(3)}, metadata={"padir": header}))
    with fails("format 'padir bundle 9'; this version reads 'padir bundle 1'"):
        read_bundle(bundle[0])
    model.write_bytes(safetensors.numpy.save({"a": np.zeros(3)}, metadata={"padir": "{}"}))
    with fails("its padir header is incomplete"):
        read_bundle(bundle[0])


def test_parts_of_two_bundles_do_not_mix(bundle):
    folder, _ = bundle
    (folder / "spm.model").write_bytes(b"other pieces")
    with fails("is not the vocabulary that model.safetensors was written with"):
        read_bundle(folder)
    (folder / "spm.model").write_bytes(b"pieces")
    write_json(folder / "spec.json", {"dataset": "other"})
    with fails("is not the spec that model.safetensors was written with"):
        read_bundle(folder)


def test_a_flipped_bit_in_the_model_is_noticed(bundle):
    model = bundle[0] / "model.safetensors"
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    with fails("model.safetensors: damaged: its SHA-256 is not the model_sha256 in spec.json"):
        read_bundle(bundle[0])


@pytest.mark.parametrize("name", ["model.safetensors", "spec.json", "spm.model"])
def test_each_of_100_flipped_bits_is_refused_or_means_nothing(bundle, name):
    folder, arrays = bundle
    path, generator = folder / name, random.Random(name)
    whole = path.read_bytes()
    for _ in range(100):
        place, bit = generator.randrange(len(whole)), generator.randrange(8)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        where = f"bit {bit} of byte {place}"
        try:
            bundle = read_bundle(folder)
        except InputError as error:
            message = str(error)
            assert "\n" not in message and message.isprintable() and str(folder) in message, where
            continue
        # What is accepted says the same: one kind of white space between tokens for another.
        assert name == "spec.json" and json.loads(damaged) == json.loads(whole), where
        assert bundle.spec == {"dataset": "demo"} and bundle.arrays.keys() == arrays.keys(), where


def test_a_bundle_without_a_model_digest_is_refused(bundle):
    folder, _ = bundle
    spec = json.loads((folder / "spec.json").read_text())
    assert spec.pop("model_sha256") == sha256_file(folder / "model.safetensors")
    write_json(folder / "spec.json", spec)
    with fails("model.safetensors: damaged: its SHA-256 is not the model_sha256 in spec.json"):
        read_bundle(folder)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([1, np.nan], np.float32), "parameter 'b' holds NaN or infinity"),
        (np.array([-np.inf], np.float32), "parameter 'b' holds NaN or infinity"),
        (np.array([1.0]), "parameter 'b' is float64; float32 is allowed"),
        (np.array([1], np.int32), "parameter 'b' is int32; float32 is allowed"),
    ],
)
def test_bundles_refuse_wrong_arrays(bundle, tmp_path, monkeypatch, array, message):
    (tmp_path / "spm").write_bytes(b"pieces")
    arrays = {"a": np.ones(2, np.float32), "b": array}
    arguments = tmp_path / "other", arrays, {}, tmp_path / "spm", "card"
    with fails(f"model.safetensors: {message}"):
        write_bundle(*arguments)
    assert not (tmp_path / "other").exists()
    monkeypatch.setattr("padir.bundle._check_arrays", lambda *_: None)
    write_bundle(*arguments)
    monkeypatch.undo()
    with fails(f"model.safetensors: {message}"):
        read_bundle(tmp_path / "other")
