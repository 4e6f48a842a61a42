"""The ledger's sums: what lets it grow long, and what is reserved."""

import pytest

from padir.distill import owners
from padir.distill.ledger import Ledger, LimitReached, Limits
from tests.unit.distill.test_ledger import FREE, TASK, lines_of


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
