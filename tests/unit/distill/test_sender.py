"""What is sent, in which order, and where it ends, with a service in this process."""

import itertools
import threading

import pytest

from padir.distill import cloud, estimate, owners
from padir.distill.cloud import Sender, read_translations
from padir.distill.ledger import Ledger, Limits
from padir.distill.ledger_reader import Task
from padir.distill.packing import read_sources, text_digest
from padir.distill.service import CallError, Failure
from padir.files import InputError, write_lines

TASK = Task("somebody", "some/model", "de", "en")
LIMITS = Limits(usd=1.0, usd_per_million=10.0, characters_per_minute=10**9)


class Service:
    """Keeps the texts of each call; refuses requests with certain texts, or fails as told."""

    def __init__(self, *refused, fail=lambda texts: None):
        self.refused, self.fail, self.received = set(refused), fail, []

    def translate(self, texts):
        self.received.append(list(texts))
        if failure := self.fail(texts):
            raise CallError(failure, "told to fail")
        if self.refused & set(texts):
            raise CallError(Failure.ARGUMENT, "invalid")
        return [text.upper() for text in texts]


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**12,))
    return tmp_path / "a.de"


@pytest.fixture
def ledger(source):
    with Ledger(source.with_name("ledger.sqlite")) as opened:
        yield opened


def sender_of(service, ledger, source, **settings):
    """A sender of one line a request, one at a time, which waits for nothing."""
    fields = {
        "service": service, "ledger": ledger, "task": TASK, "limits": LIMITS, "concurrency": 1,
        "name": "a.de", "request_characters": 1, "sleep": lambda stop, seconds: stop.is_set(),
    }  # fmt: skip
    return Sender(**fields | settings)


def sent(service, ledger, source, lines, **settings):
    """Translate lines; the numbers of those that are left empty."""
    write_lines(source, lines)
    sender_of(service, ledger, source, **settings).translate(source, lambda n: None)
    empty: list[int] = []
    expected = ["" if line in service.refused else line.upper() for line in lines]
    assert list(read_translations(source, ledger, TASK, empty)) == expected
    return empty


def left_out(ledger):
    return ledger.left_out(ledger.task(TASK))


def test_waits_for_a_quota_double_and_outlast_its_minute(monkeypatch):
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    longest = list(itertools.islice(Sender.delays(), cloud.ATTEMPTS - 1))
    assert longest == [2, 4, 8, 16, 32, *[64] * 6]
    # Half of it on average, as its docstring says.
    assert sum(longest) / 2 == 223
    assert list(cloud.doubtful_delays()) == [18.75, 75, 375]
    monkeypatch.setattr("random.uniform", lambda low, high: low)
    assert list(cloud.doubtful_delays()) == [15, 60, 300]


def test_eight_refused_lines_before_any_translation_prove_the_request_wrong(ledger, source):
    lines = [f"schlecht {n}" for n in range(12)]
    service = Service(*lines)
    with pytest.raises(InputError, match=r"lines 1, 2, 3, 4, 5, 6, 7 and 8: .* refuses all"):
        sent(service, ledger, source, lines, leave_empty=True)
    assert len(service.received) == 8
    assert not left_out(ledger)


def test_seven_refused_lines_prove_nothing_while_there_are_others(ledger, source):
    lines = [*(f"schlecht {n}" for n in range(7)), "gut"]
    assert sent(Service(*lines[:7]), ledger, source, lines, leave_empty=True) == [*range(1, 8)]


@pytest.mark.parametrize("characters", [1, 999])
def test_after_a_translation_any_number_of_lines_may_be_refused(ledger, source, characters):
    lines = ["gut", *(f"schlecht {n}" for n in range(9)), "besser"]
    service = Service(*lines[1:-1])
    settings = {"leave_empty": True, "request_characters": characters}
    assert sent(service, ledger, source, lines, **settings) == [*range(2, 11)]
    # Each is written down once.
    query = "SELECT sum(length(digests)) FROM requests WHERE state = 'refused'"
    assert ledger._db.execute(query).fetchone() == (9 * 32,)


def test_one_refused_line_alone_is_left_empty(ledger, source):
    assert sent(Service("schlecht"), ledger, source, ["", "schlecht"], leave_empty=True) == [2]


def test_nothing_more_is_bought_once_a_neighbour_shows_the_line_at_fault(ledger, source):
    service = Service("schlecht")
    with pytest.raises(InputError, match="line 1: Cloud Translation refuses it"):
        sent(service, ledger, source, ["schlecht", "b", "c", "d"], request_characters=99)
    assert service.received == [["schlecht", "b", "c", "d"], ["schlecht", "b"], ["schlecht"], ["b"]]


def test_a_line_left_out_is_written_down_though_the_run_fails_later(ledger, source):
    service = Service("b", fail=lambda texts: Failure.FATAL if texts == ["c"] else None)
    with pytest.raises(InputError, match="told to fail"):
        sent(service, ledger, source, ["a", "b", "c"], leave_empty=True)
    assert left_out(ledger) == {text_digest("b")}


@pytest.mark.parametrize("ended", ["finish", "refuse"])
@pytest.mark.parametrize(
    ("characters", "calls"),
    [(1, [["a"], ["x"], ["c"]]), (99, [["a", "x", "c"], ["a"], ["x", "c"], ["x"], ["c"]])],
)
def test_lines_in_flight_elsewhere_are_waited_for(ledger, source, characters, calls, ended):
    """Whether the other process gets them translated, or they are sent from here after all."""
    write_lines(source, ["b"])
    waited = []
    with Ledger(ledger.path) as other:
        claim = other.claim(TASK, list(read_sources(source)), LIMITS)

        def sleep(stop, seconds):
            if seconds == cloud.ELSEWHERE_SECONDS:
                waited.append(seconds)
                if len(waited) == 2:
                    arguments = (claim.lines, ["B"]) if ended == "finish" else ()
                    getattr(other, ended)(claim.request, *arguments)
            return stop.is_set()

        service = Service("x")
        settings = {"request_characters": characters, "leave_empty": True, "sleep": sleep}
        assert sent(service, ledger, source, ["a", "b", "x", "c"], **settings) == [3]
    assert len(waited) == 2
    assert service.received == calls + ([] if ended == "finish" else [["b"]])


def test_a_line_in_flight_elsewhere_does_not_prove_that_the_request_is_right(ledger, source):
    write_lines(source, ["a"])
    with Ledger(ledger.path) as other:
        claim = other.claim(TASK, list(read_sources(source)), LIMITS)
        done = iter([other.refuse])

        def sleep(stop, seconds):
            if seconds == cloud.ELSEWHERE_SECONDS:
                next(done)(claim.request)
            return stop.is_set()

        # The last to be refused stands first.
        with pytest.raises(InputError, match=r"lines 1, 2 and 3: .* refuses all"):
            lines = ["a", "b", "c"]
            sent(Service(*lines), ledger, source, lines, leave_empty=True, sleep=sleep)
    assert not left_out(ledger)


def test_a_full_minute_is_waited_out_and_the_lines_are_sent_then(source):
    now = [0.0]

    def sleep(stop, seconds):
        now[0] += seconds / 2
        return stop.is_set()

    with Ledger(source.with_name("ledger.sqlite"), clock=lambda: now[0]) as ledger:
        limits = LIMITS._replace(characters_per_minute=5)
        assert sent(Service(), ledger, source, ["eins", "zwei"], limits=limits, sleep=sleep) == []
    assert now[0] > 60


def test_an_error_ends_the_waits_of_other_requests(ledger, source):
    waits = threading.Event()

    def fail(texts):
        if texts == ["a"]:
            return Failure.QUOTA
        assert waits.wait(10)
        return Failure.FATAL

    def sleep(stop, seconds):
        if seconds:
            waits.set()
        return stop.wait(2 * bool(seconds))

    service = Service(fail=fail)
    settings = {"concurrency": 2, "sleep": sleep, "delays": lambda: itertools.repeat(60.0)}
    with pytest.raises(InputError, match="told to fail"):
        sent(service, ledger, source, ["a", "b"], **settings)
    assert sorted(service.received) == [["a"], ["b"]]


def test_an_error_keeps_the_halves_of_another_request_back(ledger, source):
    at_work = threading.Event()

    def fail(texts):
        if "d" in texts:
            assert at_work.wait(10)
            return Failure.FATAL
        at_work.set()
        assert stop.wait(10)
        return Failure.ARGUMENT

    service = Service(fail=fail)
    settings = {"concurrency": 2, "request_characters": 3, "sleep": threading.Event.wait}
    sender = sender_of(service, ledger, source, **settings)
    stop = sender._stop
    write_lines(source, ["a", "b", "c", "d"])
    with pytest.raises(InputError, match="told to fail"):
        sender.translate(source, lambda n: None)
    assert sorted(service.received) == [["a", "b", "c"], ["d"]]


def test_the_text_is_read_no_further_than_requests_are_sent(ledger, source, monkeypatch):
    handed, third, held = [], threading.Event(), []
    pack = cloud.pack

    def counted(lines, characters):
        for request in pack(lines, characters):
            handed.append(request)
            if len(handed) == 3:
                third.set()
            yield request

    def note(texts):
        third.wait(0.1)
        held.append(len(handed))

    monkeypatch.setattr(cloud, "pack", counted)
    assert sent(Service(fail=note), ledger, source, list("abcd")) == []
    assert len(handed) == 4
    # One is being sent and one waits for its turn.
    assert held[0] <= 2


def test_a_text_of_many_lookups_is_counted_sent_and_read_whole(ledger, source, monkeypatch):
    monkeypatch.setattr(estimate, "WINDOW", 2)
    lines = ["a", "", "b", "c", "a", "d", "e"]
    service = Service()
    assert sent(service, ledger, source, lines) == []
    assert service.received == [["a"], ["b"], ["c"], ["d"], ["e"]]
    counted = estimate.estimate([source], {text_digest("e")}.intersection)
    assert counted == estimate.Estimate(lines=4, characters=4, paid_lines=1)
