"""The ledger's sums: what lets it grow long, and what is reserved."""

import sqlite3

import pytest

from padir.config.teacher import CloudTeacher
from padir.distill import ledger_reader, owners
from padir.distill.ledger import Ledger, LimitReached, Limits
from padir.distill.ledger_reader import LedgerReader
from padir.distill.packing import text_digest
from tests.unit.distill.test_ledger import FREE, TASK, all_digests, lines_of


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**16,))
    return tmp_path / "ledger.sqlite"


def test_the_limit_knows_what_was_sent_before_and_since(path):
    dear = FREE._replace(usd_per_million=1e4)
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines_of("eins"), FREE)
        ledger.finish(claim.request, claim.lines, ["one"])
        ledger.refuse(ledger.claim(TASK, lines_of("zwei"), FREE).request)
        ledger.doubt(ledger.claim(TASK, lines_of("zwei"), dear).request)
    with Ledger(path) as ledger:
        ledger.claim(TASK, lines_of("drei"), dear)
        ledger.claim(TASK._replace(target="fr"), lines_of("eins"), dear)
        spent = ledger.spent("somebody").usd
        assert spent == pytest.approx(0.12004)
        low, enough = (dear._replace(usd=spent + 0.05 + add) for add in (-1e-6, 1e-6))
        with pytest.raises(LimitReached, match=r"0\.120040 USD are spent"):
            ledger.claim(TASK, lines_of("fünf!"), low)
        assert ledger.claim(TASK, lines_of("fünf!"), enough).request
        other = TASK._replace(provider="another")
        assert ledger.claim(other, lines_of("fünf!"), dear._replace(usd=0.05)).request


def test_a_claim_reads_no_request_that_is_over(path):
    read = []
    with Ledger(path) as ledger:
        for digit in range(9):
            claim = ledger.claim(TASK, lines_of(f"{digit}"), FREE)
            ledger.finish(claim.request, claim.lines, ["there"])
        plan = ledger._db.execute
        ledger._db.set_trace_callback(read.append)
        ledger.claim(TASK, lines_of("zehn"), FREE)
        ledger._db.set_trace_callback(None)
        steps = [
            step[3]
            for query in read
            if query.startswith("SELECT")
            for step in plan(f"EXPLAIN QUERY PLAN {query}")
        ]
    assert any("requests" in step for step in steps)
    assert not [step for step in steps if step == "SCAN requests"]


def test_what_is_refused_is_reserved_again(path):
    limits = Limits(1.0, 1e4, 10**9)
    with Ledger(path) as first, Ledger(path) as second:
        first.reserve("somebody", 0.8, limits)
        for _ in range(2):
            first.refuse(first.claim(TASK, lines_of("a" * 40), limits).request)
        with pytest.raises(LimitReached, match=r"and 0\.80 reserved"):
            second.reserve("somebody", 0.3, limits)
        second.reserve("somebody", 0.2, limits)


def test_a_limit_may_be_used_up_to_the_cent(path):
    limits = Limits(0.3, 1e4, 10**9)
    with Ledger(path) as ledger:
        ledger.claim(TASK, lines_of("a" * 10), limits)
        # As floats, 0.1 and 0.2 are more than 0.3.
        assert ledger.claim(TASK, lines_of("b" * 20), limits).request
        with pytest.raises(LimitReached):
            ledger.claim(TASK, lines_of("c"), limits)


def test_a_teacher_without_a_limit_may_spend_nothing(path):
    with Ledger(path) as ledger, pytest.raises(LimitReached, match=r"max_usd is 0\.0000"):
        ledger.claim(TASK, lines_of("a"), Limits.of(CloudTeacher()))


def test_what_is_spent_counts_against_what_is_to_be_reserved(path):
    limits = Limits(1.0, 1e4, 10**9)
    with Ledger(path) as ledger:
        ledger.claim(TASK, lines_of("a" * 60), limits)
        with pytest.raises(LimitReached, match=r"1\.10 USD in all are needed, 0\.60 of them spent"):
            ledger.reserve("somebody", 0.5, limits)
        ledger.reserve("somebody", 0.4, limits)


def test_spending_past_a_reservation_gives_nothing_to_others(path):
    limits = Limits(1.0, 1e4, 10**9)
    with Ledger(path) as first, Ledger(path) as second:
        first.reserve("somebody", 0.1, limits)
        first.claim(TASK, lines_of("a" * 50), limits)
        with pytest.raises(LimitReached):
            second.reserve("somebody", 0.6, limits)
        second.reserve("somebody", 0.5, limits)


def test_a_closed_ledger_holds_no_reservation(path):
    with Ledger(path) as ledger:
        ledger.reserve("somebody", 0.1, FREE)
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM reservations").fetchone() == (0,)
    db.close()


def test_lines_that_are_not_sent_are_not_paid_for(path):
    limits = Limits(1.0, 1e4, 40)
    with Ledger(path) as first, Ledger(path) as second:
        claim = first.claim(TASK, lines_of("a" * 20), limits)
        first.finish(claim.request, claim.lines, ["there"])
        first.claim(TASK, lines_of("b" * 10), limits)
        lines = lines_of("a" * 20, "b" * 10, "c" * 10)
        waits = second.claim(TASK, [*lines, *lines_of("d")], limits)
        assert (waits.request, waits.wait > 0, waits.elsewhere) == (None, True, True)
        assert second.claim(TASK, lines, limits).lines == (lines[2],)
        assert first.spent("somebody").usd == pytest.approx(0.4)


def test_a_line_that_was_translated_twice_keeps_its_first_translation(path):
    lines = lines_of("eins")
    with Ledger(path) as ledger:
        late = ledger.claim(TASK, lines, FREE)
        ledger.doubt(late.request)
        claim = ledger.claim(TASK, lines, FREE)
        ledger.finish(claim.request, claim.lines, ["one"])
        ledger.finish(late.request, late.lines, ["a single one"])
        known = ledger.translations(ledger.task(TASK), all_digests(lines))
        assert known == {text_digest("eins"): "one"}


def test_translations_that_are_not_one_per_line_are_not_stored(path):
    lines = lines_of("eins", "zwei")
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines, FREE)
        for texts in (["one"], ["one", "two", "three"]):
            with pytest.raises(ValueError, match="argument 2 is"):
                ledger.finish(claim.request, claim.lines, texts)
        assert ledger.known(ledger.task(TASK), all_digests(lines)) == set()


def test_a_clock_that_was_set_back_makes_no_request_wait_for_more_than_its_turn(path):
    now = [10_000.0]
    limits = Limits(1.0, 1.0, 100)
    with Ledger(path, clock=lambda: now[0]) as ledger:
        ledger.claim(TASK, lines_of("a" * 60), limits)
        now[0] -= 30
        # A minute, and the time that a request may be on its way.
        assert ledger.claim(TASK, lines_of("b" * 60), limits).wait == 65.0
        now[0] -= 3_600
        assert ledger.claim(TASK, lines_of("b" * 60), limits).request


def test_a_refused_request_has_arrived_and_counts_in_its_minute(path):
    limits = Limits(1.0, 1.0, 100)
    with Ledger(path, clock=lambda: 1000.0) as ledger:
        ledger.refuse(ledger.claim(TASK, lines_of("a" * 60), limits).request)
        assert ledger.claim(TASK, lines_of("b" * 60), limits).wait == 65.0
        assert ledger.claim(TASK, lines_of("b" * 40), limits).request


def test_lines_are_looked_up_in_parts_and_none_is_missed(path, monkeypatch):
    monkeypatch.setattr(ledger_reader, "QUERY_DIGESTS", 2)
    lines = lines_of("eins", "zwei", "drei", "vier", "fünf")
    texts = ["one", "two", "three", "four", "five"]
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines, FREE)
        ledger.finish(claim.request, claim.lines, texts)
        known = ledger.translations(ledger.task(TASK), all_digests(lines))
        assert known == dict(zip(all_digests(lines), texts, strict=True))


def test_a_line_is_left_out_in_its_own_languages_alone(path):
    lines, french = lines_of("eins", "zwei"), TASK._replace(target="fr")
    with Ledger(path) as ledger:
        # A request that is refused as a whole says nothing of its lines.
        ledger.refuse(ledger.claim(TASK, lines_of("drei"), FREE).request)
        ledger.leave_out(TASK, lines)
        assert ledger.left_out(ledger.task(TASK)) == set(all_digests(lines))
        assert ledger.left_out(ledger.task(french)) == set()


def test_of_requests_in_flight_those_of_dead_processes_alone_are_doubtful(path):
    with Ledger(path) as ledger:
        ledger.claim(TASK, lines_of("a" * 10), FREE)
        dead = ledger.claim(TASK, lines_of("b" * 20), FREE).request
        ledger._db.execute("UPDATE requests SET owner = 'gone' WHERE id = ?", (dead,))
        with LedgerReader(path) as reader:
            assert reader.spent("somebody") == (
                pytest.approx(3e-4), 20, pytest.approx(2e-4),
            )  # fmt: skip
