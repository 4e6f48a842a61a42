"""Small datasets of TensorFlow Datasets, by its real builders and its real writer."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import tensorflow_datasets as tfds
import tensorflow_datasets.translate

SPLITS = ("train", "validation", "test")
Pairs = Sequence[Mapping[str, str]]


def invented_pairs(first: str, second: str, split: str, count: int) -> list[dict[str, str]]:
    """Pairs that differ from each other and between splits."""
    return [{first: f"{split} {first} {i}", second: f"{split} {second} {i}"} for i in range(count)]


def write_copy(
    name: str, data_dir: Path, splits: Mapping[str, Pairs], file_format: str = "array_record"
) -> Path:
    """Prepare dataset `name` with given pairs instead of downloaded ones; return its folder."""
    builder = tfds.builder(name, data_dir=data_dir)
    builder._split_generators = lambda manager: [
        tfds.core.SplitGenerator(name=split, gen_kwargs={"split": split}) for split in splits
    ]
    builder._generate_examples = lambda split: (
        (f"{split}/{number}", dict(pair)) for number, pair in enumerate(splits[split])
    )
    tfds.disable_progress_bar()
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(try_download_gcs=False),
        file_format=file_format,
    )
    return Path(builder.data_path)
