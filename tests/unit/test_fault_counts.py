"""benchmarks/faults: what is counted of a trial, and that the page shows what was counted."""

import os
import random
import time

import pytest

from benchmarks.faults import several, strikes
from benchmarks.faults.__main__ import POSSIBLE, RECORDS, count, rendered
from benchmarks.faults.commands import Command
from benchmarks.faults.records import Count, Outcome, merged, record, table, table_of
from benchmarks.faults.several import SeveralTrial
from benchmarks.faults.steps import Redone, Steps, watch
from benchmarks.faults.trial import Trial, fork
from padir.training.loop import Run, train
from tests.training import tiny_spec, write_toy


def counted(*outcomes: Outcome) -> Count:
    total = Count()
    for outcome in outcomes:
        total.add(outcome)
    return total


def test_a_wrong_or_lost_trial_stays_so_whatever_comes_after():
    total = counted(
        Outcome("wrong", 3), Outcome("lost", 2), Outcome("survived", 4), Outcome("refused")
    )
    assert (total.tried, total.strikes) == (4, 10)
    assert (total.survived, total.refused, total.wrong, total.lost) == (2, 1, 1, 1)


def test_a_trial_whose_fault_never_struck_is_not_counted():
    total = counted(Outcome("survived", 0), Outcome("refused", 0, note="damaged"))
    assert total == Count(missed=2)


@pytest.mark.parametrize("bad", ["untold", "left"])
def test_what_is_bad_counts_though_no_fault_struck_and_the_output_is_right(bad):
    total = counted(Outcome("survived", 0, **{bad: 1}))
    assert total.tried == total.survived == getattr(total, bad) == 1


@pytest.mark.parametrize("verdict", ["wrong", "lost"])
def test_a_bad_outcome_counts_also_where_no_fault_struck(verdict):
    total = counted(Outcome(verdict, 0, note="why"))
    assert total.tried == getattr(total, verdict) == 1
    assert total.notes == [f"{verdict}: why"]


class Scripted(Trial):
    """A trial whose runs end and leave what a test says.

    Args:
        runs: of each run its exit status, its output and what it prints.
    """

    def __init__(self, folder, *runs, restarts=False):
        self.command = Command("made up", lambda folder: [], (), (), restarts=restarts)
        self.folder, self.errors, self.runs = folder, folder.parent / "log", list(runs)
        self.arguments, self.output, self.commands = [], "", []
        self.expected = self.expected_model = "right"
        self.seconds = 1.0

    def finish(self, disturb=None):
        status, self.output, said = self.runs.pop(0)
        self.commands.append(list(self.arguments))
        self.errors.write_text(said)
        return status

    def outputs(self, patterns=None):
        return self.output

    def clear(self):
        pass


REFUSED = "padir made: error: checkpoints are damaged; --restart starts over\n"


@pytest.fixture
def trial(tmp_path):
    (tmp_path / "place").mkdir()

    def make(*runs, **settings):
        return Scripted(tmp_path / "place", *runs, **settings)

    return make


def test_a_disturbed_run_that_ends_well_with_a_wrong_output_is_wrong(trial):
    scripted = trial((0, "other", ""), (0, "right", ""))
    status = scripted.finish()
    assert scripted.judge("struck", 1, status).verdict == "wrong"


def test_a_wrong_output_of_the_same_command_is_wrong(trial):
    assert trial((0, "other", "")).judge("killed", 1).verdict == "wrong"


def test_a_command_that_never_ends_well_is_lost_though_it_says_why(trial):
    outcome = trial(*[(2, "", "padir made: error: no\n")] * 3).judge("killed", 1)
    assert (outcome.verdict, outcome.untold) == ("lost", 0)


def test_a_failure_without_one_line_is_counted_each_time(trial):
    traceback = (1, "", "Traceback (most recent call last):\npadir made: error: no\n")
    scripted = trial(traceback, (99, "", "Killed\n"), (0, "right", ""))
    outcome = scripted.judge("struck", 1, scripted.finish())
    assert (outcome.verdict, outcome.untold) == ("survived", 2)


@pytest.mark.parametrize(
    ("status", "output", "verdict"),
    [(0, "right", "refused"), (0, "other", "wrong"), (2, "right", "lost")],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_refused_must_be_right_once_fixed(trial, restarts, status, output, verdict):
    fixed = []
    scripted = trial(*[(2, "", REFUSED)] * 3, (status, output, REFUSED), restarts=restarts)
    outcome = scripted.judge("damaged", 1, fix=lambda: fixed.append(True))
    assert outcome.verdict == verdict
    assert fixed == [True]
    assert scripted.commands == [[]] * 3 + [["--restart"] if restarts else []]


def test_a_temporary_file_that_stays_is_counted(trial):
    scripted = trial((0, "right", ""))
    (scripted.folder / "a.tmp").write_text("")
    assert counted(scripted.judge("killed", 1)).left == 1


@pytest.mark.parametrize(("at_work", "strikes_made"), [(True, 1), (False, 0)])
def test_kills_of_a_command_that_had_ended_do_not_count(trial, monkeypatch, at_work, strikes_made):
    monkeypatch.setattr(strikes, "KILLS", 1)
    scripted = trial((0, "right", ""))
    scripted.kill_after = lambda seconds: at_work
    outcome = strikes.kill(scripted, random.Random(0))
    assert (outcome.verdict, outcome.strikes) == ("survived", strikes_made)


def test_trials_of_one_kind_end_with_their_number(trial, monkeypatch, tmp_path_factory):
    """The folder of one that ended badly is kept."""
    place = tmp_path_factory.mktemp("kept")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    outcomes = [Outcome("survived"), Outcome("wrong", note="x"), Outcome("survived", 0)]
    monkeypatch.setitem(strikes.STRIKES, "kill", lambda trial, draw: outcomes.pop(0))
    total = count(trial(), "kill", Steps(), 3, 60.0, 0)
    assert (total.tried, total.survived, total.wrong, total.missed) == (2, 1, 1, 1)
    assert [path.name for path in place.glob("padir-wrong-*/*")] == ["folder"]


class Standing(SeveralTrial):
    """A trial of two real processes that end as a test says; what is judged is right."""

    def __init__(self, folder, notices: bool, line: str):
        self.errors, self.patience, self.seconds = folder / "log", 20.0, 0.0
        self.notices, self.line = notices, line

    def start(self, *arguments, **options):
        self.members.unlink(missing_ok=True)

        def other() -> int:
            time.sleep(0.5 if self.notices else 6.0)
            return 75

        def parent() -> int:
            children = [fork(other, self.errors.with_suffix(f".{i}")) for i in range(2)]
            self.announce(children)
            for child in children:
                os.waitpid(child, 0)
            # Not by print, which the tests' runner hears.
            os.write(2, f"{self.line}\n".encode())
            return 75

        return fork(parent, self.errors)

    def judge(self, what, strikes, status=None, fix=None):
        return Outcome("survived", strikes, note=what)


LINE = "padir train: error: process 1 of 2 (on 127.0.0.1) has not answered for 40 seconds"


@pytest.mark.parametrize(
    ("notices", "line", "untold"),
    [(True, LINE, 0), (True, "Fatal Python error: Aborted", 1), (False, LINE, 1)],
    ids=["in time, with a line", "without a line", "too late"],
)
def test_a_process_that_stands_still_is_noticed_in_time_and_with_a_line(
    tmp_path, monkeypatch, notices, line, untold
):
    monkeypatch.setattr(several, "STANDS_SECONDS", 60.0 if notices else 1.0)
    began = time.monotonic()
    outcome = several.still(Standing(tmp_path, notices, line), random.Random(0))
    assert (outcome.verdict, outcome.strikes, outcome.untold) == ("survived", 1, untold)
    # It was made to go on: nothing waits for it for ever.
    assert time.monotonic() - began < 60


def row(command="clean", fault="kill", seed=0, **counts):
    run = {"arguments": f"--seed {seed}", "commit": "abc", "seed": seed}
    return record(command, fault, Count(**counts), run)


def test_another_seed_adds_to_the_counts_and_the_same_seed_replaces_them():
    records = [row(tried=5, survived=5), row(fault="write", tried=1, wrong=1)]
    records = merged(records, row(seed=1, tried=7, survived=6, lost=1))
    records = merged(records, row(fault="write", tried=2, survived=2))
    possible = [("clean", "kill"), ("clean", "write"), ("clean", "full")]
    faults = {"kill": "killed", "write": "not written", "full": "disk full"}
    text = table(records, {"clean": "`padir clean`"}, faults, possible)
    assert "| `padir clean` | killed | 12 | 11 | 0 | 0 | 1 | 0 | 0 | 0 |  | 1, 2 |" in text
    assert "| `padir clean` | not written | 2 | 2 | 0 | 0 | 0 | 0 | 0 | 0 |  | 1 |" in text
    assert "| 2 | `python -m benchmarks.faults --seed 1` | abc |" in text
    assert "Totals: 14 tried, 13 survived, 0 wrong, 1 lost." in text
    assert "- `padir clean`: disk full\n" in text


def test_steps_that_are_done_again_are_counted_from_kill_to_start():
    steps = Steps()
    for start, reached in ((0, 57), (40, 40), (40, 60)):
        steps.start(start, 20)
        steps.reach(reached)
    # The first start resumes nothing; a kill before the first step costs nothing.
    steps.start(40, 20)
    assert steps.take() == Redone(resumed=3, redone=17 + 0 + 20, most=20, interval=20)
    steps.forget()
    steps.start(400, 20)
    assert steps.take() == Redone(interval=20)


def test_the_table_has_the_steps_that_are_done_again():
    rows = [row(seed=seed, tried=1, survived=1) for seed in (0, 1, 2)]
    del rows[0]["steps"]
    rows[1]["steps"] = {"resumed": 3, "redone": 37, "most": 20, "interval": 20}
    rows[2]["steps"] = {"resumed": 1, "redone": 1, "most": 1, "interval": 20}
    text = table(rows, {"clean": "x"}, {"kill": "killed"}, [("clean", "kill")])
    assert "| 9.5, at most 20 of 20 | 1, 2, 3 |" in text


class Killed(BaseException):
    """Ends a training as a kill does: nothing is saved."""


def test_a_killed_training_does_again_what_it_had_not_saved(tmp_path, monkeypatch):
    text, vocabulary = write_toy(tmp_path)
    spec = tiny_spec("ar", steps=12, checkpoint_every=5, dispatch_steps=1)
    pause = Run._pause

    def kill(run, state, step, report):
        if step == 8:
            raise Killed
        pause(run, state, step, report)

    steps = Steps()
    stop = watch(steps)
    try:
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Run, "_pause", kill)
            train(spec, vocabulary, text, 0, tmp_path / "work")
        train(spec, vocabulary, text, 0, tmp_path / "work")
    finally:
        stop()
    assert steps.take() == Redone(resumed=1, redone=3, most=3, interval=5)


def test_a_run_whose_faults_all_missed_does_not_hide_a_lost_trial():
    lost = [row(tried=1, lost=1)]
    assert merged(lost, row(missed=3)) == lost
    assert merged(lost, row(tried=1, survived=1)) == [row(tried=1, survived=1)]


def test_the_page_shows_what_was_counted(repository):
    page = (repository / "docs/reliability.md").read_text(encoding="utf-8")
    assert table_of(page) == rendered(RECORDS)


def test_every_trial_that_was_counted_had_one_outcome():
    from benchmarks.faults.records import read_records

    records = read_records(RECORDS)
    assert records
    for each in records:
        redone = Redone(**each.get("steps", {}))
        assert redone.most <= redone.interval
        assert (each["command"], each["fault"]) in POSSIBLE
        assert each["tried"] == each["survived"] + each["wrong"] + each["lost"]
        assert each["refused"] <= each["survived"]
