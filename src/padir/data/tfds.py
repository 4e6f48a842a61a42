"""The `tfds` data source: a prepared copy of a TensorFlow Datasets translation dataset as text.

Copies in array_record are read without TensorFlow, copies in TFRecord with it. Pairs keep the
order of the copy; TFDS shuffles the original files. A newline or NUL inside a sentence becomes a
space, and a leading byte order mark is removed; the number of changed sentences is reported.

Paper: section L.2 (wmt14_translate/de-en, wmt16_translate/ro-en, wmt17_translate/zh-en).
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from padir.config.data import TfdsSource
from padir.data.parallel import ordered
from padir.data.text import SPLITS, text_name
from padir.data.tfds_prepare import INFO_FILE, make_builder, prepare
from padir.files import InputError, atomic_path, shown
from padir.progress import Progress

BLOCK_PAIRS = 10_000
# Processes pay from this many blocks on.
_BLOCKS_PER_WORKER = 4


@dataclass(frozen=True)
class TextBlock:
    """Pairs as text: bytes of whole lines per language, and numbers of pairs and changes."""

    text: dict[str, bytes]
    pairs: int
    changed: int


def write_tfds_source(source: TfdsSource, pair: str, folder: Path, workers: int = 1) -> Path:
    """Write all splits of a dataset to `folder`, under the names of `text_name`.

    Args:
        pair: the two languages, such as de-en, in any order.
        workers: processes for reading.

    Returns:
        The path of the copy's dataset_info.json, which describes it.

    Raises:
        InputError: no such dataset, no translations, other languages (all said before anything is
            downloaded), nothing prepared (with `download` false), a half-prepared or damaged copy,
            a split that is missing, empty or of another size than `pairs` says, or TensorFlow
            needed and missing.
    """
    builder = make_builder(source)
    label = f"{source.name} in {shown(str(builder.data_path))}"
    # Before anything is downloaded.
    _check_languages(builder, pair, label)
    prepare(builder, source)
    sizes = {split: _checked_size(builder, source, split, label) for split in SPLITS}
    for split in SPLITS:
        _write_split(builder, getattr(source, split), split, sizes[split], folder, label, workers)
    return Path(builder.data_path) / INFO_FILE


def _check_languages(builder: Any, pair: str, label: str) -> None:
    import tensorflow_datasets as tfds

    features = builder.info.features or {}
    names = sorted(features)
    if not names or not all(isinstance(features[name], tfds.features.Text) for name in names):
        raise InputError(
            f"{label}: no dataset of translations: its examples hold"
            f" {shown(', '.join(names)) or 'nothing'}"
        )
    languages = sorted(pair.split("-"))
    if names != languages:
        raise InputError(
            f"{label}: its languages are {shown(', '.join(names))}; the directions need"
            f" {', '.join(languages)}"
        )


def _checked_size(builder: Any, source: TfdsSource, split: str, label: str) -> int:
    """Pairs of a split by the copy's own record; checks that no file is missing or empty."""
    name = getattr(source, split)
    splits = builder.info.splits
    try:
        part = splits[name]
    except (KeyError, ValueError) as error:
        raise InputError(
            f"{label}: source.{split} is {name!r}, but there are the splits"
            f" {', '.join(splits) or 'none'}"
        ) from error
    if not part.num_examples:
        raise InputError(f"{label}: split {name} is empty")
    for file in part.filepaths:
        path = Path(file)
        if not path.is_file() or not path.stat().st_size:
            state = "empty" if path.is_file() else "missing"
            raise InputError(
                f"{label}: half prepared: {shown(path.name)} is {state}; delete the folder and"
                " prepare it again"
            )
    if builder.info.file_format.value == "array_record":
        _check_records(part, label, name)
    expected = {str(key): count for key, count in source.pairs.items()}.get(split)
    if expected is not None and part.num_examples != expected:
        lift = f"; with source.leave_out set source.pairs.{split} to null"
        raise InputError(
            f"{label}: split {name} has {part.num_examples} pairs, source.pairs.{split} says"
            f" {expected}: another version, or text is missing"
            f"{lift if source.leave_out and split == 'train' else ''}"
        )
    return part.num_examples


def _check_records(part: Any, label: str, split_name: str) -> None:
    """Compare the record counts of a split's array_record files with the copy's description."""
    from array_record.python.array_record_module import ArrayRecordReader

    for instruction in part.file_instructions:
        try:
            # The count lies at the file's end, so nothing is read ahead.
            reader = ArrayRecordReader(instruction.filename, options="readahead_buffer_size:0")
            count = reader.num_records()
            reader.close()
        except (ValueError, IndexError, RuntimeError, OSError) as error:
            raise _damaged(label, split_name, error) from error
        if count != instruction.examples_in_shard:
            name = Path(instruction.filename).name
            raise InputError(
                f"{label}: split {split_name} is damaged: {shown(name)} has {count} pairs,"
                f" {INFO_FILE} says {instruction.examples_in_shard}; delete the folder and prepare"
                " it again"
            )


def _write_split(
    builder: Any, split_name: str, split: str, size: int, folder: Path, label: str, workers: int
) -> None:
    languages = sorted(builder.info.features)
    first, second = (folder / text_name(split, language) for language in languages)
    written = changed = 0
    with (
        atomic_path(first) as first_path,
        atomic_path(second) as second_path,
        first_path.open("wb") as first_file,
        second_path.open("wb") as second_file,
        Progress(size, "pairs", f"fetch {split}") as progress,
    ):
        for block in _blocks(builder, split_name, size, label, workers):
            first_file.write(block.text[languages[0]])
            second_file.write(block.text[languages[1]])
            written, changed = written + block.pairs, changed + block.changed
            progress.update(block.pairs)
        if written != size:
            raise InputError(
                f"{label}: split {split_name} has {written} pairs, {INFO_FILE} says {size}: damaged"
            )
    if changed:
        print(
            f"padir fetch: {split}: {changed} sentences held a newline, NUL or byte order mark",
            file=sys.stderr,
        )


def _blocks(
    builder: Any, split_name: str, size: int, label: str, workers: int
) -> Iterator[TextBlock]:
    """The split's pairs in order, block by block."""
    form = builder.info.file_format.value
    if form == "tfrecord":
        yield from _tfrecord_blocks(builder, split_name, label)
        return
    if form != "array_record":
        raise InputError(f"{label}: format {form}; allowed: array_record, tfrecord")
    blocks = [
        (file.filename, start, min(start + BLOCK_PAIRS, file.skip + file.take))
        for file in builder.info.splits[split_name].file_instructions
        for start in range(file.skip, file.skip + file.take, BLOCK_PAIRS)
    ]
    read = partial(_array_record_block, str(builder.data_path), split_name, label)
    yield from ordered(read, blocks, min(workers, len(blocks) // _BLOCKS_PER_WORKER))


def _array_record_block(
    folder: str, split_name: str, label: str, records: tuple[str, int, int]
) -> TextBlock:
    """Pairs of a file from a first one up to, not including, another.

    A reader has an index of its file in memory, 28 bytes per pair. TFDS's own data source has those
    of all files, and here it is the one's alone.
    """
    from array_record.python.array_record_module import ArrayRecordReader

    filename, first, end = records
    try:
        features = _features(folder)
        reader = ArrayRecordReader(filename, options="readahead_buffer_size:0")
        examples = [features.deserialize_example_np(row) for row in reader.read(first, end)]
        reader.close()
    except (ValueError, IndexError, RuntimeError, OSError) as error:
        raise _damaged(label, split_name, error) from error
    return _as_text(examples, label, split_name)


@cache
def _features(folder: str) -> Any:
    import tensorflow_datasets as tfds

    return tfds.builder_from_directory(folder).info.features


def _damaged(label: str, split_name: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return InputError(f"{label}: split {split_name} is damaged: {shown(reason)}")


def _tfrecord_blocks(builder: Any, split_name: str, label: str) -> Iterator[TextBlock]:
    if find_spec("tensorflow") is None:
        raise InputError(
            f"{label}: a copy in TFRecord, which only TensorFlow reads: install the extra tf"
            " (make setup EXTRAS=tf), or prepare the dataset as array_record in another data_dir"
        )
    import tensorflow as tf
    import tensorflow_datasets as tfds

    # Accelerators are for training; reading must not take their memory.
    tf.config.set_visible_devices([], "GPU")
    # One file after the other: the order does not depend on the machine.
    config = tfds.ReadConfig(interleave_cycle_length=1)
    try:
        dataset = builder.as_dataset(split=split_name, shuffle_files=False, read_config=config)
        examples = iter(dataset.as_numpy_iterator())
        while block := list(islice(examples, BLOCK_PAIRS)):
            yield _as_text(block, label, split_name)
    except (tf.errors.OpError, ValueError, OSError) as error:
        raise _damaged(label, split_name, error) from error


def _as_text(examples: list[dict[str, bytes | None]], label: str, split_name: str) -> TextBlock:
    text: dict[str, list[bytes]] = {language: [] for language in examples[0]}
    changed = 0
    for example in examples:
        for language, line in example.items():
            # A truncated file gives None for lost records.
            if line is None:
                raise _damaged(label, split_name, ValueError(f"a pair has no {language}"))
            if b"\n" in line or b"\0" in line or line.startswith(b"\xef\xbb\xbf"):
                line = line.removeprefix(b"\xef\xbb\xbf").replace(b"\n", b" ").replace(b"\0", b" ")
                changed += 1
            text[language].append(line)
    joined = {language: b"\n".join(lines) + b"\n" for language, lines in text.items()}
    return TextBlock(joined, len(examples), changed)
