"""Equal fingerprints among many: against plain sets, with and without a temporary file."""

import hashlib
import random

import numpy as np
import pytest

from padir.data import distinct as distinct_module
from padir.data.distinct import Spill, as_rows, distinct, later_repeats


def fingerprints(values):
    return as_rows(b"".join(hashlib.blake2b(b"%d" % v, digest_size=16).digest() for v in values))


@pytest.mark.parametrize("buffer_rows", [1, 17, 1 << 18])
@pytest.mark.parametrize("count", [0, 1, 40, 1000])
def test_as_a_set_finds_them(tmp_path, monkeypatch, buffer_rows, count):
    monkeypatch.setattr(distinct_module, "BUFFER_ROWS", buffer_rows)
    generator = random.Random(count)
    values = [generator.randrange(1 + count // 3) for _ in range(count)]
    plain, spill = Spill(2, tmp_path), Spill(3, tmp_path)
    start = 0
    while start < count:
        size = generator.randrange(1, 30)
        block = fingerprints(values[start : start + size])
        plain.add(block)
        rows = np.arange(start, start + len(block), dtype=np.uint64)
        spill.add(np.column_stack([block, rows]))
        start += size
    assert distinct(plain) == len(set(values))
    seen, expected = set(), []
    for row, value in enumerate(values):
        if value in seen:
            expected.append(row)
        seen.add(value)
    assert sorted(np.concatenate([[], *later_repeats(spill)])) == expected
    assert not list(tmp_path.iterdir())


def test_both_halves_of_a_fingerprint_count(tmp_path):
    spill = Spill(2, tmp_path)
    spill.add(np.array([[1, 2], [1, 3], [2, 2], [1, 2]], np.uint64))
    assert distinct(spill) == 3
