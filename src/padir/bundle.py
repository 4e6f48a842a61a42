"""Model bundles: a folder with parameters, settings, vocabulary and a model card."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from padir.cards import CARD_FILE
from padir.files import (
    InputError,
    digest,
    parse_json,
    read_bytes,
    read_json,
    sha256_file,
    shown,
    write_bytes,
    write_json,
    write_text,
)

BUNDLE_FORMAT = "padir bundle 1"
MODEL_DIGEST = "model_sha256"
MODEL_FILE, SPEC_FILE, VOCABULARY_FILE = "model.safetensors", "spec.json", "spm.model"
PARTS = (MODEL_FILE, SPEC_FILE, VOCABULARY_FILE)
"""Files that every bundle has."""
DECODERS = "decoders"
"""Folder of a bundle's tuned decoders."""


@dataclass(frozen=True)
class Bundle:
    """A trained model as it lies on disk.

    Attributes:
        arrays: parameters by "/"-joined path.
        spec: contents of spec.json, without the digest of the model file.
        vocabulary: path of the SentencePiece model.
        folder: the bundle's folder.
    """

    arrays: dict[str, np.ndarray]
    spec: dict[str, Any]
    vocabulary: Path
    folder: Path


def write_bundle(
    folder: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    spec: Mapping[str, Any],
    vocabulary: str | os.PathLike[str],
    card: str,
) -> None:
    """Write a model bundle; `model.safetensors` comes last, so its presence means a whole bundle.

    Equal arguments give equal bytes. The model file holds the digests of spec and vocabulary, so
    that parts of different bundles cannot be mixed unseen; `spec.json` gains the SHA-256 of the
    model file, so that damage shows.

    Raises:
        InputError: an array is not float32 or not finite; a file cannot be written.
    """
    folder = Path(folder)
    _check_arrays(folder / MODEL_FILE, arrays)
    pieces = read_bytes(vocabulary)
    header = {
        "format": BUNDLE_FORMAT,
        "spec": digest(dict(spec)),
        "vocabulary": hashlib.sha256(pieces).hexdigest(),
    }
    # One metadata key only: the writer stores several in an order that changes from run to run.
    content = safetensors.numpy.save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"padir": json.dumps(header, sort_keys=True)},
    )
    write_bytes(folder / VOCABULARY_FILE, pieces)
    write_json(folder / SPEC_FILE, {**spec, MODEL_DIGEST: hashlib.sha256(content).hexdigest()})
    write_text(folder / CARD_FILE, card)
    write_bytes(folder / MODEL_FILE, content)


def read_bundle(folder: str | os.PathLike[str]) -> Bundle:
    """Read a model bundle.

    Raises:
        InputError: no such folder; a file is missing, damaged, not one of ours, or of another
            bundle; an array is not float32 or not finite.
    """
    folder = Path(folder)
    if folder.is_file():
        raise InputError(f"{shown(folder)}: is a file: name the bundle's folder")
    if not folder.exists():
        raise InputError(
            f"{shown(folder)}: no such folder; is its training done? padir status shows it"
        )
    model, vocabulary = folder / MODEL_FILE, folder / VOCABULARY_FILE
    for part in (model, folder / SPEC_FILE, vocabulary):
        if not part.is_file():
            raise InputError(f"{shown(folder)}: not a model bundle: {part.name} is missing")
    try:
        with safetensors.safe_open(model, framework="numpy") as file:
            header = _bundle_header(model, file.metadata())
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(
            f"{shown(model)}: damaged or not a safetensors file: {shown(str(error))}"
        ) from error
    spec = read_json(folder / SPEC_FILE)
    recorded = spec.pop(MODEL_DIGEST, None) if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or digest(spec) != header["spec"]:
        raise InputError(
            f"{shown(folder / SPEC_FILE)}: is not the spec that {model.name} was written with"
        )
    if sha256_file(vocabulary) != header["vocabulary"]:
        raise InputError(
            f"{shown(vocabulary)}: is not the vocabulary that {model.name} was written with"
        )
    if sha256_file(model) != recorded:
        raise InputError(
            f"{shown(model)}: damaged: its SHA-256 is not the {MODEL_DIGEST} in {SPEC_FILE}"
        )
    _check_arrays(model, arrays)
    return Bundle(arrays=arrays, spec=spec, vocabulary=vocabulary, folder=folder)


def _check_arrays(model: Path, arrays: Mapping[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if array.dtype != np.float32:
            raise InputError(
                f"{shown(model)}: parameter {name!r} is {array.dtype}; float32 is allowed"
            )
        if not np.isfinite(array).all():
            raise InputError(f"{shown(model)}: parameter {name!r} holds NaN or infinity")


def _bundle_header(model: Path, metadata: dict[str, str] | None) -> dict[str, str]:
    if metadata is None or "padir" not in metadata:
        raise InputError(f"{shown(model)}: a safetensors file, but not a padir model")
    header = parse_json(model, metadata["padir"].encode("utf-8"), 1)
    if not isinstance(header, dict) or not {"format", "spec", "vocabulary"} <= header.keys():
        raise InputError(f"{shown(model)}: its padir header is incomplete")
    if header["format"] != BUNDLE_FORMAT:
        raise InputError(
            f"{shown(model)}: format {header['format']!r}; this version reads {BUNDLE_FORMAT!r}"
        )
    return header
