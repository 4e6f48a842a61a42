"""Requests within the service's limits: nothing lost, nothing twice, always the same."""

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from padir.distill import packing
from padir.distill.estimate import Estimate, estimate
from padir.distill.packing import Line, pack, read_sources, text_digest
from padir.files import InputError, write_lines


def lines_of(texts):
    return [Line(n, text, text_digest(text)) for n, text in enumerate(texts, start=1)]


@given(
    st.lists(st.text(min_size=1, max_size=12), max_size=40),
    st.integers(1, 30),
    st.integers(1, 5),
)
def test_requests_keep_the_order_and_the_limits(texts, characters, most):
    lines = lines_of(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "REQUEST_LINES", most)
        requests = list(pack(lines, characters))
        assert requests == list(pack(iter(lines), characters))
    for request in requests:
        requested = [line.text for line in request]
        assert 1 <= len(requested) <= most
        assert len(set(requested)) == len(requested)
        assert len(requested) == 1 or sum(map(len, requested)) <= characters
    sent = [line for request in requests for line in request]
    assert {line.text for line in sent} == set(texts)
    assert [line.number for line in sent] == sorted(line.number for line in sent)
    # No request could have taken the first line of the next one.
    for request, following in itertools.pairwise(requests):
        size = sum(line.characters for line in request) + following[0].characters
        assert len(request) == most or size > characters


def test_a_request_holds_1024_strings_and_30000_code_points():
    requests = list(pack(lines_of(f"{n:05d}" for n in range(3000)), 30_000))
    assert [len(request) for request in requests] == [1024, 1024, 952]
    # Code points count, not bytes: an emoji is one.
    requests = list(pack(lines_of(chr(0x1F600 + n) * 100 for n in range(60)) * 10, 30_000))
    assert [len(request) for request in requests] == [60]
    requests = list(pack(lines_of(f"{n:0100d}" for n in range(600)), 30_000))
    assert [len(request) for request in requests] == [300, 300]


def test_blank_lines_are_not_sent_and_a_long_one_is_named(tmp_path):
    path = tmp_path / "train.de"
    write_lines(path, ["one", "", " \t\u3000", "two\r", "\u2028", "x" * 30_000])
    lines = list(read_sources(path))
    assert [(line.number, line.text[:4]) for line in lines] == [
        (1, "one"),
        (4, "two"),
        (6, "xxxx"),
    ]
    assert lines[0].digest == hashlib.sha256(b"one").digest()
    write_lines(path, ["one", "é" * 30_001])
    with pytest.raises(InputError, match=r"train\.de: line 2 has 30001 characters; .* 30000 in a"):
        list(read_sources(path))


def test_an_estimate_counts_each_line_once_over_all_files(tmp_path):
    write_lines(tmp_path / "a", ["one", "two", "one", "", "three"])
    write_lines(tmp_path / "b", ["two", "four", "five"])
    known = {text_digest("two"), text_digest("nowhere")}
    counted = estimate([tmp_path / "a", tmp_path / "b"], known.intersection)
    assert counted == Estimate(lines=4, characters=3 + 5 + 4 + 4, paid_lines=1)
    # More lines than one byte tells apart.
    write_lines(tmp_path / "many", [f"{n:04d}" for n in range(1000)])
    assert estimate([tmp_path / "many"], known.intersection) == Estimate(1000, 4000, 0)
    write_lines(tmp_path / "empty", [])
    assert estimate([tmp_path / "empty"], known.intersection) == Estimate(0, 0, 0)


def test_a_carriage_return_that_ends_a_line_is_no_part_of_it(tmp_path):
    (tmp_path / "unix").write_bytes(b"eins\n\nzwei\rdrei\n")
    (tmp_path / "windows").write_bytes(b"eins\r\r\n\r\nzwei\rdrei\r\n")
    assert list(read_sources(tmp_path / "windows")) == list(read_sources(tmp_path / "unix"))
    assert [line.text for line in read_sources(tmp_path / "windows")] == ["eins", "zwei\rdrei"]
