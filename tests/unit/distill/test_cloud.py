"""The real client against a server on this machine that fails in every way, and its bill."""

import itertools
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from google.cloud.translate_v3 import TranslationServiceClient
from google.cloud.translate_v3.services.translation_service import transports

from padir.config.teacher import CloudTeacher
from padir.distill import cloud
from padir.distill.cloud import Sender, next_day, one_line, read_translations
from padir.distill.ledger import Ledger, LimitReached, Limits
from padir.distill.ledger_reader import Task
from padir.distill.packing import read_sources
from padir.distill.service import CloudTranslation, Failure, connect
from padir.files import InputError, read_lines, write_lines
from tests.translation_server import (
    DAILY_403,
    DOWN,
    DROP_AFTER,
    ERROR_AFTER,
    FORBIDDEN,
    GOOD,
    ONE_SHORT,
    QUOTA,
    RATE_403,
    TIMEOUT_AFTER,
    Behaviour,
    TranslationServer,
    translation,
)

LINES = [f"Satz {n % 90} & mehr <b>" for n in range(120)] + ["", "  ", "größer 😀", "a\rb\u2028c"]
UNIQUE = sum(len(line) for line in set(LINES) if line.strip())


@pytest.fixture
def source(tmp_path):
    write_lines(tmp_path / "train.de", LINES)
    return tmp_path / "train.de"


def sender_for(server, ledger, source, delay=0.0, **settings):
    """A sender that waits no longer than it is told."""
    settings = {"max_usd": 1.0, "request_characters": 200, **settings}
    teacher = CloudTeacher(endpoint=server.endpoint, **settings)
    task = Task.of(teacher, "de", "en")
    return Sender(
        service=connect(teacher, task),
        ledger=ledger,
        task=task,
        limits=Limits.of(teacher),
        name=str(source),
        concurrency=teacher.concurrency,
        request_characters=teacher.request_characters,
        delays=lambda: itertools.repeat(delay),
        doubtful_delays=lambda: itertools.repeat(delay),
        sleep=threading.Event.wait,
        leave_empty=teacher.refused == "leave_empty",
    )


def run(server, source, **settings) -> tuple[list[str], int]:
    """Translate; the translations, and the characters in doubt."""
    with Ledger(source.with_name("ledger.sqlite")) as ledger:
        sender = sender_for(server, ledger, source, **settings)
        counted: list[int] = []
        digests = [line.digest for line in read_sources(source)]
        known = ledger.known(ledger.task(sender.task), digests)
        sender.translate(source, counted.append)
        translations = list(read_translations(source, ledger, sender.task))
        assert sum(counted) == len(set(digests) - known)
        return translations, ledger.spent(sender.task.provider).doubt_characters


EXPECTED = [translation(line).replace("\r", " ") if line.strip() else "" for line in LINES]


def scripted(*behaviours):
    """The first calls behave so, all others well."""
    return lambda number, texts: behaviours[number] if number < len(behaviours) else GOOD


def test_each_line_is_billed_once_and_none_when_asked_again(source):
    with TranslationServer() as server:
        assert run(server, source) == (EXPECTED, 0)
        assert set(server.billed.values()) == {1}
        assert server.billed_characters == UNIQUE
        requests = len(server.received)
        assert requests > 5
        # The same again, in another order, in parts: nothing is sent.
        assert run(server, source) == (EXPECTED, 0)
        write_lines(source, LINES[50:][::-1])
        assert run(server, source)[0] == EXPECTED[50:][::-1]
        assert len(server.received) == requests


SLOW = Behaviour(wait=0.2)
FAILURES = {
    "quota": (QUOTA, 0),
    "403 rate": (RATE_403, 0),
    "down": (DOWN, 1),
    "error after success": (ERROR_AFTER, 1),
    "deadline after success": (TIMEOUT_AFTER, 1),
    "connection dropped after success": (DROP_AFTER, 1),
    "aborted": (Behaviour(status=grpc.StatusCode.ABORTED), 1),
    "cancelled": (Behaviour(status=grpc.StatusCode.CANCELLED), 1),
    "unknown": (Behaviour(status=grpc.StatusCode.UNKNOWN), 1),
}


@pytest.mark.parametrize(("behaviour", "doubtful"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_failures_that_pass_cost_at_most_what_is_in_doubt(source, behaviour, doubtful, concurrency):
    with TranslationServer(script=scripted(GOOD, behaviour, GOOD, behaviour)) as server:
        # The client takes a second to make a broken connection anew, on a busy machine more.
        delay = 2.0 if behaviour is DROP_AFTER else 0.0
        translations, doubt = run(server, source, concurrency=concurrency, delay=delay)
        assert translations == EXPECTED
        failed = [server.received[number] for number in (1, 3)]
        characters = sum(len(text) for texts in failed for text in texts)
        if behaviour is DROP_AFTER:
            # The connection takes other calls with it.
            assert UNIQUE < server.billed_characters <= UNIQUE + doubt
        else:
            assert doubt == doubtful * characters
            assert server.billed_characters == UNIQUE + characters * (doubtful and behaviour.bill)


def test_a_call_that_takes_too_long_is_doubtful(source, monkeypatch):
    monkeypatch.setattr("padir.distill.service.CALL_SECONDS", 0.5)
    with TranslationServer(script=scripted(GOOD, Behaviour(wait=1.5))) as server:
        translations, doubt = run(server, source, concurrency=1)
        assert translations == EXPECTED
        late = sum(map(len, server.received[1]))
        assert doubt >= late
        assert UNIQUE + late <= server.billed_characters <= UNIQUE + doubt


def test_answers_in_another_order_go_to_their_own_lines(source):
    def slow_at_first(number, texts):
        return Behaviour(wait=0.3 - 0.05 * number) if number < 6 else GOOD

    with TranslationServer(script=slow_at_first) as server:
        assert run(server, source, concurrency=6) == (EXPECTED, 0)
        assert server.billed_characters == UNIQUE


def test_calls_run_at_once_and_no_more_than_allowed(source):
    together = threading.Barrier(3)
    with TranslationServer(arrived=lambda number: together.wait(20) and None) as server:
        write_lines(source, [f"{n:0100d}" for n in range(6)])
        with Ledger(source.with_name("l.sqlite")) as ledger:
            sender_for(server, ledger, source, concurrency=3, request_characters=100).translate(
                source, lambda n: None
            )
        assert len(server.received) == 6


def test_the_day_s_quota_stops_cleanly_and_says_when_to_go_on(source, monkeypatch):
    day = Behaviour(
        bill=False, status=grpc.StatusCode.RESOURCE_EXHAUSTED, message="limit 'characters per day'"
    )
    for behaviour in (DAILY_403, day):
        with TranslationServer(script=scripted(GOOD, GOOD, *[behaviour] * 99)) as server:
            with pytest.raises(InputError, match=r"quota of the day is used up .* after 20\d\d-"):
                run(server, source, concurrency=2)
            billed = server.billed_characters
            assert len(server.received) <= 2 + 2 + 2
        with TranslationServer() as server:
            translations, doubt = run(server, source)
            assert (translations, doubt) == (EXPECTED, 0)
            assert billed + server.billed_characters == UNIQUE
        source.with_name("ledger.sqlite").unlink()


def test_the_service_s_day_ends_at_midnight_in_california():
    winter = datetime(2026, 11, 21, 7, 59, tzinfo=UTC)
    assert next_day(winter) == datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
    assert next_day(datetime(2026, 7, 1, 7, 30, tzinfo=UTC)) == datetime(2026, 7, 2, 7, tzinfo=UTC)


def test_a_request_that_never_works_is_given_up(source, monkeypatch):
    monkeypatch.setattr(cloud, "ATTEMPTS", 5)
    always = {QUOTA: 5, ERROR_AFTER: cloud.DOUBTFUL_ATTEMPTS}
    for behaviour, attempts in always.items():
        with (
            TranslationServer(script=lambda number, texts, b=behaviour: b) as server,
            pytest.raises(InputError, match=rf"does not answer after {attempts} attempts \("),
        ):
            run(server, source, concurrency=1)
        assert len(server.received) == attempts
        source.with_name("ledger.sqlite").unlink()


def test_an_outage_of_minutes_costs_few_attempts_and_ends_nothing(source):
    outage, now = 300.0, [0.0]

    def sleep(stop, seconds):
        now[0] += seconds
        return stop.is_set()

    def script(number, texts):
        return DOWN if now[0] < outage else GOOD

    with TranslationServer(script=script) as server, Ledger(source.with_name("l")) as ledger:
        sender = sender_for(server, ledger, source, concurrency=1)
        waits = {"sleep": sleep, "doubtful_delays": cloud.doubtful_delays}
        replace(sender, **waits).translate(source, lambda n: None)
        assert outage < now[0]
        assert list(read_translations(source, ledger, sender.task)) == EXPECTED
        lost = cloud.DOUBTFUL_ATTEMPTS - 1
        assert ledger.spent("loopback").doubt_characters == lost * sum(map(len, server.received[0]))


def test_an_outage_that_lasts_costs_each_request_its_attempts_and_no_more(source):
    with (
        TranslationServer(script=lambda number, texts: DOWN) as server,
        Ledger(source.with_name("l")) as ledger,
    ):
        with pytest.raises(InputError, match="does not answer after 4 attempts"):
            sender_for(server, ledger, source, concurrency=3).translate(source, lambda n: None)
        doubt = ledger.spent("loopback").doubt_characters
        assert doubt == sum(len(text) for texts in server.received for text in texts)
        # The bound of docs/cloud-translation.md.
        assert doubt <= 4 * 3 * 200
    assert cloud.DOUBTFUL_ATTEMPTS == 4
    for _ in range(20):
        assert 375 <= sum(cloud.doubtful_delays()) <= 469


def test_a_wrong_number_of_translations_is_an_error_and_not_asked_for_again(source):
    for spoil in (ONE_SHORT.spoil, lambda texts: [*texts, "more"], lambda texts: []):
        with (
            TranslationServer(script=scripted(Behaviour(spoil=spoil))) as server,
            pytest.raises(InputError, match=r"translations came back for \d+ lines"),
        ):
            run(server, source, concurrency=1)
        (asked,) = server.received
    with TranslationServer() as server:
        translations, doubt = run(server, source)
        assert translations == EXPECTED
        # Each of the three runs asked for the same lines first.
        assert doubt == 3 * sum(map(len, asked))


def test_a_refusal_stops_at_once_and_leaves_nothing_in_doubt(source):
    with TranslationServer(script=lambda number, texts: FORBIDDEN) as server:
        with pytest.raises(InputError, match=r"PERMISSION_DENIED: .* has not been used in project"):
            run(server, source, concurrency=3)
        assert len(server.received) <= 3
    with TranslationServer() as server:
        assert run(server, source) == (EXPECTED, 0)


def test_a_server_that_is_not_there_leaves_nothing_in_doubt(source, monkeypatch):
    monkeypatch.setattr(cloud, "ATTEMPTS", 2)
    with TranslationServer() as server:
        pass
    with pytest.raises(InputError, match=r"does not answer after 2 attempts .*UNAVAILABLE"):
        run(server, source)
    with Ledger(source.with_name("ledger.sqlite")) as ledger:
        assert ledger.spent("loopback") == (0.0, 0, 0.0)


def test_the_limit_stops_before_it_is_passed(source):
    # Each answer is lost once: the whole costs twice what was estimated.
    seen: set[str] = set()

    def lose_first(number, texts):
        first = texts[0] not in seen
        seen.update(texts)
        return ERROR_AFTER if first else GOOD

    limit = UNIQUE * 20e-6 * 1.5
    with TranslationServer(script=lose_first) as server:
        with pytest.raises(LimitReached, match="the next request would make that"):
            run(server, source, concurrency=4, max_usd=limit)
        assert server.billed_characters * 20e-6 <= limit
        assert server.billed_characters > UNIQUE


def test_several_senders_share_a_ledger_and_pay_once(source):
    def work(_):
        with Ledger(source.with_name("ledger.sqlite")) as ledger:
            sender_for(server, ledger, source, concurrency=2).translate(source, lambda n: None)

    slow = Behaviour(wait=0.02)
    with TranslationServer(script=lambda number, texts: slow) as server:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(server.billed.values()) == {1}
        assert run(server, source) == (EXPECTED, 0)
        assert server.billed_characters == UNIQUE


def test_translations_keep_to_their_line(source):
    odd = {"ein": "a\nb", "zwei": "\ufeffc\r\nd\0", "drei": "e\u2028f", "vier": ""}
    write_lines(source, ["ein", "zwei", "drei", "vier", "ein"])
    with (
        TranslationServer(translate=lambda text, *_: odd[text]) as server,
        Ledger(source.with_name("ledger.sqlite")) as ledger,
    ):
        sender = sender_for(server, ledger, source)
        sender.translate(source, lambda n: None)
        write_lines(source.with_name("out"), read_translations(source, ledger, sender.task))
        written = read_lines(source.with_name("out"))
        source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
        assert list(read_translations(source, ledger, sender.task)) == written
    assert written == ["a b", "c d", "e\u2028f", "", "a b"]
    assert one_line("plain") == "plain"


def test_a_line_that_appears_while_others_are_translated_is_named(source):
    with TranslationServer() as server, Ledger(source.with_name("ledger.sqlite")) as ledger:
        sender = sender_for(server, ledger, source)
        sender.translate(source, lambda n: None)
        write_lines(source, [*LINES, "new"])
        with pytest.raises(InputError, match=rf"train\.de: line {len(LINES) + 1} changed while"):
            list(read_translations(source, ledger, sender.task))


def test_the_client_asks_for_plain_text_the_model_and_the_languages(source):
    asked: Counter[tuple[str, ...]] = Counter()

    def note(text, source_language, target_language):
        asked[source_language, target_language] += 1
        return text

    with TranslationServer(translate=note) as server:
        expected = [line.replace("\r", " ") if line.strip() else "" for line in LINES]
        assert run(server, source)[0] == expected
    assert set(asked) == {("de", "en")}


def test_a_test_server_s_work_is_never_taken_for_the_service_s():
    real, test = CloudTeacher(), CloudTeacher(endpoint="127.0.0.1:1")
    assert Task.of(real, "de", "en").provider != Task.of(test, "de", "en").provider


def test_the_server_refuses_what_the_service_refuses(tmp_path):
    """So that a request over a limit would be seen above."""
    with TranslationServer() as server:
        channel = grpc.insecure_channel(server.endpoint)
        transport = transports.TranslationServiceGrpcTransport(channel=channel)
        client = TranslationServiceClient(transport=transport)
        task = Task.of(CloudTeacher(endpoint=server.endpoint), "de", "en")
        service = CloudTranslation(client, "projects/p/locations/global", task)
        for texts in (["a"] * 1025, ["a" * 30_001], ["a", ""]):
            with pytest.raises(cloud.CallError) as caught:
                service.translate(texts)
            assert caught.value.failure is Failure.ARGUMENT
        assert service.translate(["a<b"]) == [translation("a<b")]


def test_no_file_holds_a_credential(tmp_path):
    """The client's credentials are the only ones, and nothing of ours reads them."""
    package = Path(cloud.__file__).parents[1]
    reading = [
        path.name
        for path in package.rglob("*.py")
        if "google.auth.default" in path.read_text(encoding="utf-8")
    ]
    assert reading == ["service.py"]
