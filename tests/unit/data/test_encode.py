"""Encoded text on disk and in memory, whatever the blocks and threads."""

import numpy as np
import pytest

from padir.config.data import VocabularySettings
from padir.config.training import Training
from padir.data import encode
from padir.data.batches import BatchPlan, Ragged, flat_rows
from padir.data.encode import encode_pairs
from padir.files import InputError
from padir.ids import EOS
from padir.vocab import Vocabulary, train_vocabulary

LINES = [f"wort {i % 7} satz {i * i} 人民 " * (i % 4) for i in range(50)]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "spm.model"
    train_vocabulary(LINES, VocabularySettings(size=40), path)
    return Vocabulary.load(path)


@pytest.fixture
def text(tmp_path):
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in LINES))
    (tmp_path / "b").write_text("".join(f"{line}\n" for line in reversed(LINES)))
    return tmp_path / "a", tmp_path / "b"


@pytest.mark.parametrize("block", [1, 7, 50, 1000])
@pytest.mark.parametrize("on_disk", [False, True])
def test_ids_are_those_of_each_line(vocabulary, text, tmp_path, monkeypatch, block, on_disk):
    monkeypatch.setattr(encode, "BLOCK_LINES", block)
    folder = tmp_path / "work"
    folder.mkdir()
    pairs = encode_pairs(vocabulary, *text, folder if on_disk else None, threads=block % 3 + 1)
    for side, lines in ((pairs.source, LINES), (pairs.target, LINES[::-1])):
        assert side.values.dtype == np.uint16
        rows = [vocabulary.encode([line])[0] for line in lines]
        assert len(side) == len(rows)
        plain = Ragged(*flat_rows(rows, np.dtype(np.int32)))
        np.testing.assert_array_equal(side.lengths, plain.lengths)
        every = np.arange(-1, len(rows))
        np.testing.assert_array_equal(side.padded(every, 40), plain.padded(every, 40))
        assert [row[-1] for row in np.split(side.values, side.offsets[1:-1])] == [EOS] * len(rows)
    # Nothing is left behind, not even while the ids are in use.
    assert not list(folder.iterdir())


def test_batches_are_the_same_from_disk(vocabulary, text, tmp_path):
    training = Training(batch_tokens=128, buckets=[8, 16, 64])
    plans = [
        BatchPlan(encode_pairs(vocabulary, *text, folder), training, seed=3)
        for folder in (None, tmp_path)
    ]
    for step in range(3 * plans[0].steps_per_epoch):
        in_memory, on_disk = (plan.group_at(step) for plan in plans)
        assert in_memory.bucket == on_disk.bucket
        np.testing.assert_array_equal(in_memory.rows, on_disk.rows)


def test_large_vocabularies_take_more_bytes(vocabulary, text, monkeypatch):
    for size, dtype in ((1 << 16, np.uint16), ((1 << 16) + 1, np.int32)):
        monkeypatch.setattr(vocabulary, "size", size)
        assert encode_pairs(vocabulary, *text).source.values.dtype == dtype


def test_unequal_and_empty_text_is_refused(vocabulary, text, tmp_path):
    (tmp_path / "short").write_text("a\n")
    (tmp_path / "empty").write_text("")
    for folder in (None, tmp_path):
        with pytest.raises(InputError, match=r"a has 50 lines, .*short has 1: they must be"):
            encode_pairs(vocabulary, text[0], tmp_path / "short", folder)
        with pytest.raises(InputError, match="empty: is empty; at least one pair is needed"):
            encode_pairs(vocabulary, tmp_path / "empty", tmp_path / "empty", folder)
    with pytest.raises(InputError, match="nowhere: cannot keep the encoded text: No such file"):
        encode_pairs(vocabulary, *text, tmp_path / "nowhere")
