"""Tiny random models for tests of decoding. Nothing here is trained: width 16, one layer each."""

from collections.abc import Sequence
from pathlib import Path

from flax import nnx

from padir.config.data import VocabularySettings
from padir.config.training import TrainingRun, RunSpec
from padir.decode.load import LoadedModel, load
from padir.files import write_bundle
from padir.model.parameters import build, to_arrays
from padir.vocab import Vocabulary, train_vocabulary

WORDS = ("ba", "ko", "mi", "re", "su", "ta", "no", "ve")
LINES = (
    "ba ko mi",
    "re su ta ba",
    "mi mi no",
    "su",
    "ta re ba ko su mi",
    "ko ba",
    "ba ba re",
    "ta ta ve ko",
    "",
    "re mi su ta ko ba re",
)


def tiny_run(system: str, buckets=(16,), decoder_layers: int = 1, **decoding) -> TrainingRun:
    """Settings of a tiny model with decoding settings of the test's choice.

    One bucket compiles one program; more show that padding does not matter.
    """
    return TrainingRun(
        system=system,
        decode=["greedy", "beam"] if system == "ar" else ["T1", "T4"],
        architecture={
            "width": 16,
            "heads": 2,
            "head_width": 8,
            "encoder_layers": 1,
            "decoder_layers": decoder_layers,
            "feed_forward_width": 32,
            "max_positions": 16,
            "length_classes": 12,
        },
        training={"buckets": list(buckets)},
        decoding={"length_candidates": 3, "batch_sentences": 8, "beam": 3} | decoding,
    )


def write_tiny_bundle(
    folder: Path, system: str, seed: int = 2, words: Sequence[str] = WORDS, **settings
) -> Path:
    """A bundle of a random model that knows these words."""
    vocabulary_path = folder.parent / f"{folder.name}.vocabulary"
    pieces = VocabularySettings(kind="word", size=8 + len(words))
    train_vocabulary([" ".join(words)] * 3, pieces, vocabulary_path)
    run = tiny_run(system, **settings)
    size = Vocabulary.load(vocabulary_path).size
    # Two rows past the vocabulary, which may never be predicted.
    model = build(run, size + 2, seed=seed)
    spec = RunSpec(dataset="toy", direction="xs-xt", model=f"tiny_{system}", run=run)
    content = {
        "format": 1,
        "run_spec": spec.model_dump(mode="json"),
        "table_size": size + 2,
        "vocabulary_size": size,
        "seed": seed,
        "steps_chosen": [1],
    }
    # Stronger layers: at their first values, a tied output mostly repeats the token it is fed.
    arrays = {
        name: array * 3 if name.endswith("kernel") else array
        for name, array in to_arrays(nnx.state(model, nnx.Param)).items()
    }
    write_bundle(folder, arrays, content, vocabulary_path, "a random model\n")
    return folder


def tiny_model(folder: Path, system: str, seed: int = 2, **settings) -> LoadedModel:
    """The same, loaded."""
    return load(write_tiny_bundle(folder, system, seed, **settings))
