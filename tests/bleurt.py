"""A tiny checkpoint in BLEURT-20's format, and what it must say of a pair, in plain Python.

The graph is no BERT: it is a sum over positions in which each id, position, segment and the mask
counts, so that any slip in encoding changes the score, and the right score can be added up by hand.
"""

import json
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

SENTENCES = (
    "the dog bit the man", "it rained all day", "no", "a b c d e f g h i j k l m n o p q r s",
    "der Hund biss den Mann", "Zürich; 3.5% über",
)  # fmt: skip
FACTOR = 0.01


def write_vocabulary(folder: Path) -> None:
    """`sent_piece.model` and `.vocab`, with the marks that BERT needs; padding has id 0."""
    SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 4),
        model_prefix=str(folder / "sent_piece"),
        vocab_size=60,
        model_type="unigram",
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        pad_piece="[PAD]",
        unk_piece="[UNK]",
        control_symbols=["[CLS]", "[SEP]"],
        hard_vocab_limit=False,
        minloglevel=2,
    )


def write_config(folder: Path, length: int, dynamic: bool, **changes) -> None:
    """`bleurt_config.json` with the published one's keys."""
    content = {
        "name": "tiny", "vocab_file": None, "do_lower_case": None, "sp_model": "sent_piece",
        "bert_config_file": "bert_config.json", "dynamic_seq_length": dynamic,
        "max_seq_length": length,
    }  # fmt: skip
    (folder / "bleurt_config.json").write_text(json.dumps(content | changes))
    (folder / "bert_config.json").write_text("{}")


def write_checkpoint(folder: Path, length: int = 24, dynamic: bool = True) -> Path:
    """The whole folder; needs TensorFlow."""
    import tensorflow as tf

    folder.mkdir(parents=True)
    columns = None if dynamic else length
    spec = [tf.TensorSpec([None, columns], tf.int64, name) for name in inputs()]

    class Graph(tf.Module):
        def __init__(self):
            super().__init__()
            self.factor = tf.Variable(FACTOR, dtype=tf.float32)

        @tf.function(input_signature=spec)
        def score(self, input_ids, input_mask, segment_ids):
            ids, mask, segments = (
                tf.cast(x, tf.float32) for x in (input_ids, input_mask, segment_ids)
            )
            position = tf.range(1, tf.shape(input_ids)[1] + 1, dtype=tf.int32)
            weight = tf.sqrt(tf.cast(position, tf.float32))[None, :]
            return {
                "predictions": self.factor * tf.reduce_sum(mask * weight * ids * (1 + segments), 1)
            }

    graph = Graph()
    tf.saved_model.save(graph, str(folder), signatures={"serving_default": graph.score})
    write_vocabulary(folder)
    write_config(folder, length, dynamic)
    return folder


def inputs() -> tuple[str, str, str]:
    """Names of the graph's inputs."""
    return "input_ids", "input_mask", "segment_ids"


def expected(folder: Path, reference: str, candidate: str, length: int = 24) -> float:
    """The score of one pair, by the published tool's rules written out one piece at a time."""
    pieces = SentencePieceProcessor(model_file=str(folder / "sent_piece.model"))
    left = pieces.encode(reference, out_type=str)
    right = pieces.encode(candidate, out_type=str)
    while len(left) + len(right) > length - 3:
        (left if len(left) > len(right) else right).pop()
    tokens = ["[CLS]", *left, "[SEP]", *right, "[SEP]"]
    second = len(left) + 2
    total = 0.0
    for place, token in enumerate(tokens):
        total += np.sqrt(place + 1) * pieces.piece_to_id(token) * (2 if place >= second else 1)
    return FACTOR * total
