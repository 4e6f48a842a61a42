"""Lines that the service refuses: named, or left empty where that is wanted."""

import grpc
import pytest

from padir.config.teacher import CloudTeacher
from padir.distill.cloud import read_translations
from padir.distill.ledger import Ledger
from padir.distill.ledger_reader import Task
from padir.files import InputError, write_lines
from tests.translation_server import Behaviour, TranslationServer, translation
from tests.unit.distill.test_cloud import EXPECTED, LINES, run, sender_for

BAD = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture
def source(tmp_path):
    write_lines(tmp_path / "train.de", LINES)
    return tmp_path / "train.de"


def test_a_refused_line_is_isolated_and_named(source):
    bad = LINES[57]
    with TranslationServer(invalid={bad}) as server:
        with pytest.raises(InputError, match=r"train\.de: line 58: .* refuses it \(INVALID_ARG"):
            run(server, source, concurrency=1)
        assert bad not in server.billed
        assert set(server.billed.values()) == {1}
        calls = len(server.received)
        assert calls < 20
    with TranslationServer() as server:
        assert run(server, source)[0] == EXPECTED
        assert bad in server.billed


def test_neighbours_that_are_refused_are_not_the_languages_fault_where_others_came_through(source):
    with (
        TranslationServer(invalid={LINES[57], LINES[58]}) as server,
        pytest.raises(InputError, match=r"train\.de: line 58: .* refuses it \(INVALID_ARG"),
    ):
        run(server, source, concurrency=1)


def test_a_lone_line_that_is_refused_is_named(source):
    write_lines(source, ["gut", "schlecht"])
    with (
        TranslationServer(invalid={"schlecht"}) as server,
        pytest.raises(InputError, match=r"train\.de: line 2: Cloud Translation refuses it"),
    ):
        run(server, source, concurrency=1, request_characters=8)


def test_refusal_of_every_line_is_an_error_of_the_request(source):
    with TranslationServer(script=lambda n, texts: Behaviour(bill=False, status=BAD)) as server:
        with pytest.raises(InputError, match=r"lines 1 and 2: .* refuses both .* languages de-en"):
            run(server, source, concurrency=1)
        assert len(server.received) < 10
        assert not server.billed


def bought(server, source, **settings):
    """Translate where refused lines are left empty: the translations, and those lines' numbers."""
    with Ledger(source.with_name("ledger.sqlite")) as ledger:
        sender = sender_for(server, ledger, source, refused="leave_empty", **settings)
        sender.translate(source, lambda n: None)
        empty: list[int] = []
        return list(read_translations(source, ledger, sender.task, empty)), empty


@pytest.mark.parametrize("concurrency", [1, 4])
def test_refused_lines_are_left_empty_where_that_is_wanted_and_asked_for_once(source, concurrency):
    bad = {LINES[0], LINES[1], LINES[57], LINES[122]}
    expected = ["" if line in bad else there for line, there in zip(LINES, EXPECTED, strict=True)]
    numbers = [n for n, line in enumerate(LINES, start=1) if line in bad]
    assert len(numbers) == 6
    with TranslationServer(invalid=bad) as server:
        assert bought(server, source, concurrency=concurrency) == (expected, numbers)
        assert set(server.billed.values()) == {1}
        assert not bad & set(server.billed)
        # Nothing is asked for again, in any order.
        calls = len(server.received)
        write_lines(source, LINES[::-1])
        assert bought(server, source)[0] == expected[::-1]
        assert len(server.received) == calls
    # Who wants no empty lines is told of them, or gets them where the service now takes them.
    with TranslationServer(invalid=bad) as server:
        with pytest.raises(InputError, match="set `refused: leave_empty` of the teacher"):
            run(server, source, concurrency=1, request_characters=1)
        write_lines(source, LINES)
        task = Task.of(CloudTeacher(endpoint=server.endpoint), "de", "en")
        with (
            Ledger(source.with_name("ledger.sqlite")) as ledger,
            pytest.raises(InputError, match="line 1 changed"),
        ):
            list(read_translations(source, ledger, task))
    with TranslationServer() as server:
        assert run(server, source)[0] == EXPECTED
    with TranslationServer() as server:
        assert bought(server, source) == (EXPECTED, [])
        assert not server.received


@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_line_is_left_empty_where_every_line_is_refused(source, concurrency):
    with TranslationServer(script=lambda n, texts: Behaviour(bill=False, status=BAD)) as server:
        with pytest.raises(InputError, match=r"lines 1, .* refuses all .* the location are wrong"):
            bought(server, source, concurrency=concurrency)
        assert len(server.received) < 40 * concurrency
    with TranslationServer() as server:
        assert bought(server, source) == (EXPECTED, [])


def test_lines_that_are_all_refused_in_a_file_of_few(source):
    write_lines(source, ["schlecht", "", "schlimm"])
    with TranslationServer(invalid={"schlecht", "schlimm"}) as server:
        with pytest.raises(InputError, match=r"lines 1 and 3: .* refuses both"):
            bought(server, source)
        write_lines(source, ["schlecht", "gut", "schlimm"])
        assert bought(server, source) == (["", translation("gut"), ""], [1, 3])
        # Few, where others have come through in another run.
        server.invalid |= {"übel", "mies"}
        write_lines(source, ["übel", "gut", "mies"])
        assert bought(server, source) == (["", translation("gut"), ""], [1, 3])
