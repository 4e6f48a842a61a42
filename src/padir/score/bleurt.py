"""BLEURT from a published checkpoint: a learned score of a candidate beside its reference.

A checkpoint of BLEURT-20's format is a folder: a TensorFlow SavedModel (`saved_model.pb`,
`variables/`), a SentencePiece model, and `bleurt_config.json`, which names it. TensorFlow is
imported when scoring begins.

Sources: Sellam et al. 2020, Pu et al. 2021; the pairing, trimming and padding of a pair are those
of the published tool, so that the same checkpoint gives the same scores.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sentencepiece import SentencePieceProcessor

from padir.files import InputError, digest, read_json_object, sha256_file, shown
from padir.score.bleu import CorpusCounts

CONFIG_FILE, BERT_CONFIG_FILE = "bleurt_config.json", "bert_config.json"
GRAPH_FILES = ("saved_model.pb", "variables/variables.index")
# Layers and longest input of BLEURT-20; its distilled forms have 12, 6 and 3 layers.
BLEURT_20_ARCHITECTURE = (32, 512)
# Beside a pair's pieces: [CLS] before it, [SEP] after each side.
MARKS = 3
PAD = 0
BATCH = 16


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's folder, checked.

    Attributes:
        folder: path of the folder.
        name: given by its own configuration.
        vocabulary: path of the SentencePiece model.
        max_length: most ids of a pair, marks included.
        dynamic: whether the graph takes shorter inputs.
        layers: given by bert_config.json; None where it gives no number.
    """

    folder: Path
    name: str
    vocabulary: Path
    max_length: int
    dynamic: bool
    layers: int | None

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all files that a score depends on."""
        paths = [self.folder / CONFIG_FILE, self.folder / GRAPH_FILES[0], self.vocabulary]
        paths += sorted((self.folder / "variables").iterdir())
        return digest({str(p.relative_to(self.folder)): sha256_file(p) for p in paths})

    @property
    def identity(self) -> dict[str, Any]:
        """Name, size, digest, and whether this is BLEURT-20 by its name and architecture."""
        names = {name.casefold().replace("_", "-") for name in (self.name, self.folder.name)}
        architecture = self.layers, self.max_length
        return {
            "name": self.name,
            "layers": self.layers,
            "max_length": self.max_length,
            "sha256": self.digest,
            "is_bleurt_20": "bleurt-20" in names and architecture == BLEURT_20_ARCHITECTURE,
        }


def read_checkpoint(folder: Path) -> Checkpoint:
    """Check a checkpoint's folder without loading its graph.

    Raises:
        InputError: the folder or one of its files is missing, or it is of another format.
    """
    if not folder.is_dir():
        raise InputError(f"{shown(folder)}: no such folder of a BLEURT checkpoint")
    config = folder / CONFIG_FILE
    if not config.is_file():
        raise InputError(f"{shown(folder)}: no BLEURT checkpoint: {CONFIG_FILE} is missing")
    settings = read_json_object(config)
    for key, kind in {"name": str, "max_seq_length": int}.items():
        if not isinstance(settings.get(key), kind) or isinstance(settings[key], bool):
            raise InputError(
                f"{shown(config)}: {key} is {settings.get(key)!r}, needed: {kind.__name__}"
            )
    if settings["max_seq_length"] <= MARKS:
        raise InputError(
            f"{shown(config)}: max_seq_length is {settings['max_seq_length']}: at least {MARKS + 1}"
        )
    if not isinstance(settings.get("sp_model"), str):
        raise InputError(
            f"{shown(config)}: sp_model is {settings.get('sp_model')!r}: only checkpoints with"
            " SentencePiece can be read (BLEURT-20 and its smaller forms)"
        )
    vocabulary = folder / f"{settings['sp_model']}.model"
    for path in (vocabulary, *(folder / name for name in GRAPH_FILES)):
        if not path.is_file():
            raise InputError(f"{shown(path)}: is missing from the BLEURT checkpoint")
    if not any((folder / "variables").glob("variables.data-*")):
        raise InputError(
            f"{shown(folder / 'variables')}: the BLEURT checkpoint's variables.data-* are missing"
        )
    bert = folder / BERT_CONFIG_FILE
    layers = read_json_object(bert).get("num_hidden_layers") if bert.is_file() else None
    return Checkpoint(
        folder,
        settings["name"],
        vocabulary,
        settings["max_seq_length"],
        settings.get("dynamic_seq_length") is True,
        layers if isinstance(layers, int) else None,
    )


def trimmed(reference: int, candidate: int, room: int) -> tuple[int, int]:
    """Number of pieces to keep of each side if both together exceed `room`.

    The longer side loses its last piece, the candidate where both are equal, until they fit.
    """
    if reference + candidate <= room:
        return reference, candidate
    # First the longer side alone falls to the other's length, then both in turn.
    shorter = min(reference, candidate)
    if 2 * shorter <= room:
        longer = room - shorter
        return (longer, shorter) if reference > candidate else (shorter, longer)
    return room - room // 2, room // 2


@dataclass(frozen=True)
class Encoder:
    """Encodes pairs of sentences with a checkpoint's vocabulary."""

    pieces: SentencePieceProcessor
    first: int
    between: int
    max_length: int

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> "Encoder":
        """Load a checkpoint's vocabulary.

        Raises:
            InputError: it is no SentencePiece model, or lacks the marks [CLS] and [SEP].
        """
        try:
            pieces = SentencePieceProcessor(model_file=str(checkpoint.vocabulary))
        except (OSError, RuntimeError) as error:
            raise InputError(
                f"{shown(checkpoint.vocabulary)}: not a SentencePiece model"
            ) from error
        marks = {mark: pieces.piece_to_id(mark) for mark in ("[CLS]", "[SEP]")}
        for mark, number in marks.items():
            if number == pieces.unk_id():
                raise InputError(f"{shown(checkpoint.vocabulary)}: has no piece {mark}")
        return cls(pieces, marks["[CLS]"], marks["[SEP]"], checkpoint.max_length)

    def pair(self, reference: str, candidate: str) -> tuple[list[int], list[int]]:
        """Ids and segments of [CLS] reference [SEP] candidate [SEP], unpadded.

        Returns:
            At most `max_length` ids, and for each 0 up to the first [SEP], 1 after it.
        """
        left, right = self.pieces.encode(reference), self.pieces.encode(candidate)
        keep = trimmed(len(left), len(right), self.max_length - MARKS)
        left, right = left[: keep[0]], right[: keep[1]]
        ids = [self.first, *left, self.between, *right, self.between]
        return ids, [0] * (len(left) + 2) + [1] * (len(right) + 1)


def batches(
    pairs: Sequence[tuple[list[int], list[int]]], width: int | None
) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Padded inputs of the graph, `BATCH` pairs at a time.

    Args:
        pairs: from `Encoder.pair`.
        width: ids per row; None: those of the batch's longest pair, with pairs sorted by length.

    Yields:
        Indices of the pairs, and int64 [B, T] inputs by name.
    """
    order = np.arange(len(pairs))
    if width is None:
        order = np.argsort([len(ids) for ids, _ in pairs], kind="stable")
    for start in range(0, len(pairs), BATCH):
        rows = order[start : start + BATCH]
        columns = width or max(len(pairs[row][0]) for row in rows)
        names = ("input_ids", "input_mask", "segment_ids")
        inputs = {name: np.full((len(rows), columns), PAD, np.int64) for name in names}
        for place, row in enumerate(rows):
            ids, segments = pairs[row]
            inputs["input_ids"][place, : len(ids)] = ids
            inputs["input_mask"][place, : len(ids)] = 1
            inputs["segment_ids"][place, : len(ids)] = segments
        yield rows, inputs


def load_graph(checkpoint: Checkpoint, threads: int | None = None) -> Any:
    """The checkpoint's function from inputs to predictions.

    Raises:
        InputError: TensorFlow is not installed, or the graph cannot be loaded or is another one.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise InputError(
            "scorer bleurt needs TensorFlow: install it with `make setup EXTRAS=tf`"
        ) from error
    # Accelerators are for models. A TensorFlow already in use keeps its devices.
    with suppress(RuntimeError):
        for kind in ("GPU", "TPU"):
            tf.config.set_visible_devices([], kind)
    if threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    try:
        loaded = tf.saved_model.load(str(checkpoint.folder))
    # LookupError: truncated variables.
    except (OSError, ValueError, LookupError, tf.errors.OpError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{shown(checkpoint.folder)}: cannot be loaded: {first[:200]}") from error
    graph = loaded.signatures.get("serving_default")
    names = set() if graph is None else set(graph.structured_input_signature[1])
    if graph is None or names != {"input_ids", "input_mask", "segment_ids"}:
        raise InputError(
            f"{shown(checkpoint.folder)}: its graph reads {', '.join(sorted(names)) or 'nothing'};"
            " a BLEURT checkpoint reads input_ids, input_mask and segment_ids"
        )

    def predict(inputs: dict[str, np.ndarray]) -> np.ndarray:
        # The graph lives as long as the object that it was loaded with.
        _ = loaded
        return graph(**{k: tf.constant(v) for k, v in inputs.items()})["predictions"].numpy()

    return predict


def score_pairs(
    checkpoint: Checkpoint,
    references: Sequence[str],
    candidates: Sequence[str],
    threads: int | None = None,
) -> np.ndarray:
    """One score per pair, float64, in the order given; about 0 to 1 with BLEURT-20.

    Raises:
        InputError: as in `load_graph`, or a score that is not a finite number.
    """
    encoder, predict = Encoder.of(checkpoint), load_graph(checkpoint, threads)
    pairs = [encoder.pair(*pair) for pair in zip(references, candidates, strict=True)]
    scores = np.full(len(pairs), np.nan)
    width = None if checkpoint.dynamic else checkpoint.max_length
    for rows, inputs in batches(pairs, width):
        scores[rows] = np.asarray(predict(inputs), np.float64).reshape(len(rows))
    if not np.isfinite(scores).all():
        number = int(np.flatnonzero(~np.isfinite(scores))[0]) + 1
        raise InputError(f"{shown(checkpoint.folder)}: the score of line {number} is not a number")
    return scores


def bleurt_counts(
    checkpoint: Checkpoint,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    threads: int | None = None,
) -> CorpusCounts:
    """Counts for the mean score times 100; of several references the best one counts.

    Args:
        checkpoint: from `read_checkpoint`.
        hypotheses: one detokenised sentence each.
        references: one list per reference, each as long as `hypotheses`.
        threads: most CPU threads; None: all.
    """
    flat = [sentence for lines in references for sentence in lines]
    scores = score_pairs(checkpoint, flat, list(hypotheses) * len(references), threads)
    best = scores.reshape(len(references), len(hypotheses)).max(axis=0)
    signature = f"BLEURT|{checkpoint.name}|refs:{len(references)}|sha256:{checkpoint.digest[:16]}"
    return CorpusCounts(np.stack([best, np.ones_like(best)], axis=1), mean_formula, signature)


def checkpoint_counts(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    folder: Path,
    threads: int | None = None,
) -> tuple[CorpusCounts, dict[str, Any]]:
    """Counts as in `bleurt_counts`, and the identity of the checkpoint in a folder."""
    checkpoint = read_checkpoint(folder)
    return bleurt_counts(checkpoint, hypotheses, references, threads), checkpoint.identity


def mean_formula(sums: np.ndarray) -> np.ndarray:
    """100 times a mean: sums are [R, 2], of scores and of sentences."""
    return 100.0 * sums[:, 0] / sums[:, 1]
