"""Lines are grouped as they come: none lost, none late, and what comes before an error is done."""

import queue

import pytest

from padir.decode.candidates import Candidate, LengthRule
from padir.decode.stream import Alternative, batch_arriving_lines, ranked, translated
from padir.files import InputError
from tests.decoding import tiny_translator


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


def test_lines_are_numbered_through_all_groups(tmp_path):
    translator = tiny_translator(tmp_path, "padir", 1, LengthRule())
    lines = translated(translator, [[""], [""], ["", ""], [""]], print)
    assert [line.number for line in lines] == [0, 1, 2, 3, 4]


def test_alternatives_are_the_best_candidates_of_distinct_text(tmp_path):
    translator = tiny_translator(tmp_path, "padir", 1, LengthRule(0.0, 1.0))
    first, third = Candidate((8, 9), 3, -1.0, -0.5, 2), Candidate((11,), 2, -9.0, -0.5, 1)
    second, same = Candidate((10,), 2, -2.0, -0.125, 4), Candidate((8, 9, 9), 4, -3.0, -0.25, 1)
    texts = translator.loaded.vocabulary.decode([first.tokens, second.tokens, third.tokens])
    alternatives = (
        Alternative(texts[0], -1.5, 3, 2, -1.0, -0.5),
        Alternative(texts[1], -2.125, 2, 4, -2.0, -0.125),
        Alternative(texts[2], -9.5, 2, 1, -9.0, -0.5),
    )
    for number in (1, 2, 3):
        best = ranked(translator, [8], [same, third, second, first], number)
        assert best == alternatives[:number]
