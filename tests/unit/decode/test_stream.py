"""Lines are grouped as they come: none lost, none late, and what comes before an error is done."""

import queue

import pytest

from padir.decode.stream import batch_arriving_lines
from padir.files import InputError


@pytest.mark.parametrize("count", [0, 1, 2, 7, 300])
@pytest.mark.parametrize("most", [1, 3, 64])
def test_all_lines_come_in_order_and_the_first_alone(count, most):
    lines = [str(number) for number in range(count)]
    groups = list(batch_arriving_lines(iter(lines), most))
    assert [line for group in groups for line in group] == lines
    assert all(len(group) <= most for group in groups)
    assert not groups or len(groups[0]) == 1


def test_a_line_is_answered_before_the_next_one_comes():
    waiting: queue.Queue[str | None] = queue.Queue()
    groups = batch_arriving_lines(iter(waiting.get, None), 64)
    for line in ("a", "b", "c"):
        waiting.put(line)
        assert next(groups) == [line]
    waiting.put(None)
    assert list(groups) == []


@pytest.mark.parametrize("error", [InputError, OSError, MemoryError, SystemExit])
def test_lines_before_an_error_come_first(error):
    def lines():
        yield from ("a", "b")
        raise error("line 3")

    received = []
    with pytest.raises(error, match="line 3"):
        received += [line for group in [*batch_arriving_lines(lines(), 2)] for line in group]
    groups = batch_arriving_lines(lines(), 1)
    assert [next(groups), next(groups)] == [["a"], ["b"]]
    with pytest.raises(error, match="line 3"):
        next(groups)
