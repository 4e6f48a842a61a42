"""Downloads and prepares TFDS datasets for the `tfds` source, part by part.

A dataset without some parts of its training text is TFDS's `wmt_translate` with its own config, as
TFDS documents it, so its folder differs from the whole dataset's.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from json import JSONDecodeError
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from padir.config.data import TfdsSource
from padir.files import InputError, read_json, sha256_file, shown

INFO_FILE = "dataset_info.json"
FEATURES_FILE = "features.json"


def make_builder(source: TfdsSource) -> Any:
    """TFDS's builder of a source; reads only a copy's description and downloads nothing.

    Raises:
        InputError: no such dataset or config; parts to leave out that it does not have; a copy's
            description cannot be read.
    """
    import tensorflow_datasets as tfds

    # This import also makes the translation datasets known by their names.
    from tensorflow_datasets.translate import WmtConfig, wmt

    builder = _named(tfds, source.name, source)
    if not source.leave_out:
        return builder
    if not isinstance(builder, wmt.WmtTranslate):
        raise InputError(f"{source.name}: source.leave_out is for WMT datasets only")
    parts = {str(split): list(names) for split, names in builder.subsets.items()}
    unknown = sorted(set(source.leave_out) - set(parts["train"]))
    if unknown:
        raise InputError(
            f"{source.name}: source.leave_out names {', '.join(unknown)}; its training text has"
            f" {', '.join(parts['train'])}"
        )
    parts["train"] = [name for name in parts["train"] if name not in source.leave_out]
    if not parts["train"]:
        raise InputError(f"{source.name}: source.leave_out leaves no training text")
    whole: Any = builder.builder_config
    config = WmtConfig(
        language_pair=whole.language_pair,
        name="-".join([builder.name, "without", *sorted(source.leave_out)]),
        version=builder.version,
        subsets=parts,
    )
    return _named(tfds, "wmt_translate", source, config=config)


def _named(tfds: Any, name: str, source: TfdsSource, **options: Any) -> Any:
    try:
        return tfds.builder(name, data_dir=source.data_dir, **options)
    except tfds.core.DatasetNotFoundError as error:
        raise InputError(
            f"source.name is {source.name!r}: TFDS {tfds.__version__} has no such dataset; the"
            " paper's are wmt14_translate/de-en, wmt16_translate/ro-en, wmt17_translate/zh-en"
        ) from error
    # TFDS turns errors that it cannot raise again, such as of UTF-8, into RuntimeError.
    except (*_unreadable(), RuntimeError, OSError) as error:
        raise InputError(
            f"{source.name} in {shown(source.data_dir)}: its description cannot be read:"
            f" {_of_builder(error)}"
        ) from error
    except (ValueError, AssertionError) as error:
        raise InputError(_no_config(tfds, source, error)) from error


def _unreadable() -> tuple[type[Exception], ...]:
    """TFDS's errors for a damaged JSON file of a copy; ValueError has other causes too."""
    from google.protobuf.json_format import Error

    return (Error, UnicodeDecodeError, JSONDecodeError, TypeError)


def _no_config(tfds: Any, source: TfdsSource, error: Exception) -> str:
    dataset, _, rest = source.name.partition("/")
    configs = sorted(tfds.builder_cls(dataset.partition(":")[0]).builder_configs)
    if not configs or rest.partition(":")[0] in configs:
        return f"source.name is {source.name!r}: {_of_builder(error)}"
    return (
        f"source.name is {source.name!r}: {dataset} has no config {rest.partition(':')[0]!r}; it"
        f" has {', '.join(configs)}"
    )


def _of_builder(error: Exception) -> str:
    """The error's message without TFDS's list of the builder's arguments."""
    reason = " ".join(str(error).split())
    return shown(re.sub(r'^(\w+: )?Failed to construct dataset .*?\}": ', "", reason)[:300])


def prepare(builder: Any, source: TfdsSource) -> None:
    """Make sure that the builder's copy is prepared; downloads only if the source says so.

    Raises:
        InputError: nothing is prepared and `download` is false, or TensorFlow is missing; the copy
            is half prepared; a part cannot be downloaded (all such parts are reported first, one
            line each); the disk is full; the text of a part is not as TFDS expects it.
    """
    import tensorflow_datasets as tfds

    folder = Path(builder.data_path)
    label = f"{source.name} in {shown(str(folder))}"
    if folder.exists():
        _check_description(builder, label)
        return
    if not source.download:
        unfinished = sorted(folder.parent.glob(f"incomplete.*_{folder.name}"))
        state = (
            f"an unfinished preparation lies in {shown(str(unfinished[0]))}"
            if unfinished
            else "nothing is prepared there"
        )
        raise InputError(
            f"{label}: {state}; set source.download to true to download and prepare it, or"
            " source.data_dir to the folder that has it"
        )
    # Extraction of archives, and addresses of other kinds than http, go through TensorFlow.
    if find_spec("tensorflow") is None:
        raise InputError(
            f"{label}: nothing is prepared there, and TFDS needs TensorFlow to prepare it: install"
            " the extra tf (make setup EXTRAS=tf)"
        )
    if hasattr(builder, "subsets"):
        builder._split_generators = _part_by_part(builder, source)
    tfds.disable_progress_bar()
    with _quiet():
        try:
            builder.download_and_prepare(
                download_config=tfds.download.DownloadConfig(try_download_gcs=False),
                file_format="array_record",
            )
        except InputError:
            raise
        except (*_download_errors(), AssertionError, ValueError) as error:
            raise InputError(f"{label}: cannot prepare: {_reason(error)}") from error


def _check_description(builder: Any, label: str) -> None:
    import tensorflow_datasets as tfds

    folder = Path(builder.data_path)
    # Copies in TFRecord from old versions of TFDS have one file only, and are read without.
    old = builder.info.file_format is not None and builder.info.file_format.value == "tfrecord"
    for file in (INFO_FILE,) if old else (INFO_FILE, FEATURES_FILE):
        if not (folder / file).is_file():
            raise InputError(
                f"{label}: half prepared: {file} is missing; delete the folder and prepare it again"
            )
        read_json(folder / file)
    if not old:
        try:
            tfds.features.FeatureConnector.from_config(str(folder))
        except (*_unreadable(), ValueError, LookupError, AttributeError) as error:
            raise InputError(
                f"{label}: {FEATURES_FILE} cannot be read: {_of_builder(error)}"
            ) from error


def _checksums(source: TfdsSource) -> dict[str, Any]:
    """TFDS's checksums of the addresses of the source's dataset."""
    import tensorflow_datasets as tfds

    return tfds.builder_cls(source.name.partition("/")[0]).url_infos or {}


def _part_by_part(builder: Any, source: TfdsSource) -> Callable[[Any], Any]:
    """The builder's `_split_generators`, after a separate download of each part.

    TFDS downloads all parts at once and fails with the first; parts fetched here are in its cache.
    """
    from tensorflow_datasets.translate import wmt

    whole = builder._split_generators
    known = _checksums(source)

    def split_generators(manager: Any) -> Any:
        language = builder.builder_config.language_pair[0]
        parts = [(str(split), name) for split, names in builder.subsets.items() for name in names]
        failed = []
        for number, (split, name) in enumerate(parts, start=1):
            for address in wmt.DATASET_MAP[name].get_url(language):
                # The host alone: an address may hold a password.
                host = urlsplit(address).hostname or "this machine"
                label = f"part {number} of {len(parts)}: {name} ({split}, {host})"
                reason = _fetch(manager, address, known)
                print(f"padir fetch: {label}: {reason or 'there'}", file=sys.stderr, flush=True)
                if reason:
                    failed.append(name if split == "train" else f"{name} ({split})")
        if failed:
            also = [name for name in dict.fromkeys(failed) if " " not in name]
            lift = ", and source.pairs.train: null" if "train" in source.pairs else ""
            advice = (
                f"; or go on without training text that cannot be had: source.leave_out:"
                f" [{', '.join([*source.leave_out, *also])}]{lift}"
                if also
                else ""
            )
            raise InputError(
                f"{len(failed)} of {len(parts)} parts could not be downloaded:"
                f" {', '.join(dict.fromkeys(failed))}; what was downloaded is kept, so try again"
                f" later{advice}"
            )
        return whole(manager)

    return split_generators


def _fetch(manager: Any, address: str, known: dict[str, Any]) -> str | None:
    """Download one address into TFDS's cache; return why that failed, or None."""
    try:
        path = manager.download(address)
    except _download_errors() as error:
        return _reason(error)
    expected = known.get(address)
    actual = sha256_file(path)
    if expected is not None and expected.checksum != actual:
        # Removed from the cache to be downloaded again; files that a user put there stay.
        cached = Path(path)
        if cached.parent.name != "manual":
            cached.unlink()
            cached.with_name(f"{cached.name}.INFO").unlink(missing_ok=True)
        return f"wrong checksum: SHA-256 of {shown(str(path))} is {actual}, not {expected.checksum}"
    return None


def _download_errors() -> tuple[type[Exception], ...]:
    # OSError: also those of requests and urllib, and a full disk.
    import tensorflow_datasets as tfds
    from tensorflow_datasets.core.download.download_manager import NonMatchingChecksumError

    return (tfds.download.DownloadError, NonMatchingChecksumError, OSError)


def _reason(error: Exception) -> str:
    """An error in one line, without the passwords of addresses."""
    from tensorflow_datasets.core.download.download_manager import NonMatchingChecksumError

    kind = "wrong checksum: " if isinstance(error, NonMatchingChecksumError) else ""
    reason = re.sub(r"://\S*@", "://", " ".join(str(error).split()))
    return kind + (shown(reason[:500]) or type(error).__name__)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Prevent TFDS from printing addresses, which may contain passwords."""
    from absl import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)
