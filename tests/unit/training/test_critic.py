"""The learned critic learns where predictions are wrong.

The toy language (targets are the reversed sources), but one word's translation is drawn among
three: whatever is predicted in its place is wrong two times in three, and nothing else need be.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.data import VocabularySettings
from padir.decode.policies import random_start
from padir.files import read_lines
from padir.ids import EOS, FIRST_PIECE, PAD
from padir.model.parameters import from_arrays
from padir.training.loop import TrainingText, train
from padir.vocab import Vocabulary, train_vocabulary
from tests.training import learning_spec, write_toy

pytestmark = pytest.mark.slow

DRAWN = ("lu", "ne", "po")


def write_drawn_toy(folder: Path) -> tuple[TrainingText, Path]:
    """Aligned files of that language, and their vocabulary."""
    text, _ = write_toy(folder, pairs=600)
    random = np.random.default_rng(2)
    for path in (text.train_target, text.valid_target):
        words = [
            [str(random.choice(DRAWN)) if word == "ta" else word for word in line.split()]
            for line in read_lines(path)
        ]
        path.write_text("".join(" ".join(line) + "\n" for line in words), encoding="utf-8")
    both = [*read_lines(text.train_source), *read_lines(text.train_target)]
    vocabulary = folder / "drawn.model"
    train_vocabulary(both, VocabularySettings(kind="word", size=20), vocabulary)
    return text, vocabulary


def test_critic_rejects_unpredictable_tokens_and_keeps_the_rest(tmp_path: Path) -> None:
    text, vocabulary = write_drawn_toy(tmp_path)
    spec = learning_spec("padir", {"critic_weight": 1.0})
    pieces = Vocabulary.load(vocabulary)
    size = pieces.size
    trained = train(spec, vocabulary, text, 0, tmp_path / "work")
    model = from_arrays(spec.run, size, trained.arrays)

    rejected: dict[bool, list[bool]] = {True: [], False: []}
    right: dict[bool, list[bool]] = {True: [], False: []}
    for line, reference in zip(
        *map(read_lines, (text.valid_source, text.valid_target)), strict=True
    ):
        source = pieces.encode([line])[0]
        length = len(source)
        read = [*random_start(0, size, source, 1, length)[0], EOS]
        cross = model.encode(jnp.asarray([[*source, EOS]], jnp.int32)).cross
        hidden, _ = model.hidden(
            jnp.asarray([read], jnp.int32), cross, jnp.asarray([read], jnp.int32) != PAD
        )
        keep = np.asarray(jax.nn.softmax(model.critic_logits(hidden), axis=-1))[0, :length, 1]
        logits = np.asarray(model.logits(hidden))[0, :length, :size]
        predicted = FIRST_PIECE + logits[:, FIRST_PIECE:].argmax(-1)
        reference_tokens = pieces.encode([reference])[0]
        for word, probability, token, reference_token in zip(
            reversed(line.split()), keep, predicted, reference_tokens, strict=True
        ):
            rejected[word == "ta"].append(bool(probability < 0.5))
            right[word == "ta"].append(bool(token == reference_token))
    assert np.mean(right[False]) > 0.9 and np.mean(right[True]) < 0.7, right
    # A start token that is one of the three by chance may be taken for one that was shown.
    assert np.mean(rejected[True]) > 0.7
    assert np.mean(rejected[False]) < 0.1
