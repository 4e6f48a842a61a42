"""The time that a run still takes is told from evidence, and not before there is any."""

import pytest

from padir.planning.remaining import RunningJob, in_words, time_left


def test_without_evidence_there_is_no_estimate():
    assert time_left({"train": 4}, {}, [], 10.0) == "estimating"
    # One rule of many jobs has not been timed.
    assert time_left({"clean": 2, "train": 4}, {"clean": [1.0]}, [], 10.0) == "estimating"


def test_jobs_to_come_take_the_mean_of_their_rule():
    ended = {"train": [100.0, 140.0]}
    assert time_left({"train": 12}, ended, [], 240.0) == "about 20 min left"
    # Two at a time so far.
    assert time_left({"train": 12}, ended, [], 120.0) == "about 10 min left"


def test_progress_of_a_running_job_informs_the_estimate_of_its_rule():
    at_work = [RunningJob("train", 60.0, 240.0)]
    assert time_left({"train": 3}, {}, at_work, 60.0) == "about 14 min left"
    assert time_left({"train": 3}, {"train": [300.0, 300.0]}, at_work, 60.0) == "about 4 min left"


def test_a_running_job_without_progress_takes_what_is_left_of_the_mean():
    at_work = [RunningJob("decode", 40.0, None)]
    assert time_left({"decode": 2}, {"decode": [100.0]}, at_work, 140.0) == "about 60 s left"


def test_an_estimate_that_leaves_out_jobs_is_a_lower_bound():
    ended = {"decode": [60.0] * 2}
    assert time_left({"decode": 9, "page": 2}, ended, [], 120.0) == "at least 7 min left"


@pytest.mark.parametrize(
    "seconds, text",
    [(0.4, "0 s"), (89.0, "89 s"), (90.0, "2 min"), (4000.0, "67 min"), (5400.0, "1 h 30 min")],
)
def test_durations_are_words(seconds, text):
    assert in_words(seconds) == text
