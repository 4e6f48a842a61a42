"""Lines are grouped as they come: none lost, none late, and what comes before an error is done."""

import queue

import pytest

from padir.decode.candidates import Candidate, LengthRule
from padir.decode.constrain import Constraints
from padir.decode.given import Speller
from padir.decode.stream import Alternative, batch_arriving_lines, ranked, translated
from padir.decode.translate import EMPTY_HYPOTHESIS
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


def test_warnings_name_the_line_of_the_whole_input(tmp_path, monkeypatch):
    translator = tiny_translator(tmp_path, "padir", 1, LengthRule())
    monkeypatch.setattr(translator, "candidates", lambda sources: [[] for _ in sources])
    # Of more characters than are read at all.
    groups = [["ba"], ["ko", "XX"], ["su", "ba " * 40_000], ["YY"]]
    told: list[str] = []
    assert len(list(translated(translator, groups, told.append))) == 6
    assert told == [
        "line 3 holds text that this model's vocabulary cannot spell, such as 'XX': it is read as"
        " <unk>",
        "line 5: 33334 tokens, cut to the first 15, all that this model reads",
    ]


def test_each_group_has_the_constraints_of_its_lines(tmp_path, monkeypatch):
    translator = tiny_translator(tmp_path, "padir", 1, LengthRule())
    asked = []

    def translate(self, sources, first=0):
        asked.append((len(sources), first))
        return [EMPTY_HYPOTHESIS] * len(sources)

    monkeypatch.setattr(Constraints, "translate", translate)
    constraints = Constraints(translator, Speller(translator), [None] * 3, "here")
    numbers = []
    with pytest.raises(InputError, match="the input has more than the 3 of here"):
        for line in translated(translator, [["ba"], ["ko", "su", "mi"]], print, constraints):
            numbers.append(line.number)
    assert (numbers, asked) == ([0, 1, 2], [(1, 0), (2, 1)])
    with pytest.raises(InputError, match="the input has 2, here has 3"):
        list(translated(translator, [["ba"], ["ko"]], print, constraints))
    assert len(list(translated(translator, [["ba"], ["ko", "su"]], print, constraints))) == 3


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
