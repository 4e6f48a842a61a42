"""What an estimate counts as paid for, and what it says of limits, times and unreadable ledgers."""

import pytest

from padir.config.teacher import CloudTeacher
from padir.distill import owners
from padir.distill.estimate import (
    Estimate,
    describe,
    describe_spending,
    known_lines,
    open_to_read,
    time_in_words,
)
from padir.distill.ledger import Ledger
from padir.distill.ledger_reader import Spending, Task
from padir.distill.packing import Line, text_digest
from padir.files import InputError


def test_refused_lines_need_no_request_only_where_they_are_left_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**12,))
    digest = text_digest("schlecht")
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        task = Task.of(CloudTeacher(), "de", "en")
        ledger.leave_out(task, [Line(1, "schlecht", digest)])
        for refused, known in (("leave_empty", {digest}), ("stop", set())):
            lookup = known_lines(ledger, ledger.task(task), CloudTeacher(refused=refused))
            assert lookup([digest, text_digest("gut")]) == known


def test_an_estimate_is_one_line_with_its_price_and_least_time():
    teacher = CloudTeacher(
        usd_per_million=10.5, price_date="2026-01-02", characters_per_minute=40_000
    )
    assert describe(Estimate(12_000, 3_000_000, 1_500), teacher) == (
        "12,000 lines to send, 3,000,000 characters: 31.50 USD at 10.5 USD per million (price of"
        " 2026-01-02), at least 1.25 hours at 40,000 characters a minute; 1,500 lines are paid for"
        " already"
    )


@pytest.mark.parametrize(
    ("limit", "said"),
    [(None, "no limit is set"), (0.0, "max_usd is 0.00"), (1234.5, "max_usd is 1,234.50")],
)
def test_spending_is_said_with_what_is_in_doubt_and_the_limit(limit, said):
    spent = Spending(usd=1000.25, doubt_characters=37_500, doubt_usd=0.75)
    assert describe_spending(spent, CloudTeacher(max_usd=limit)) == (
        f"1,000.25 USD spent so far, 0.75 of it in doubt (sent, but no answer came); {said}"
    )


def test_times_are_in_hours_from_one_hour_on():
    assert [time_in_words(hours) for hours in (0.5, 0.99, 1.0)] == [
        "30.00 minutes",
        "59.40 minutes",
        "1.00 hours",
    ]


def test_a_ledger_below_a_file_is_absent_and_one_out_of_reach_an_error(tmp_path):
    (tmp_path / "file").touch()
    assert open_to_read(tmp_path / "file" / "ledger.sqlite") is None
    with pytest.raises(InputError, match="xx: cannot read: File name too long"):
        open_to_read(tmp_path / ("x" * 300))
