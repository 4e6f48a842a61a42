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


def test_jobs_run_one_after_another_at_least():
    # A run that waited half its time is not taken to go on waiting.
    assert time_left({"train": 12}, {"train": [120.0, 120.0]}, [], 480.0) == "about 20 min left"
    assert time_left({"train": 3}, {"train": [120.0]}, [], 0.0) == "about 4 min left"


def test_running_jobs_tell_how_many_run_at_once():
    at_work = [RunningJob("train", 600.0, 600.0)] * 2
    # Two of 20 minutes are half done and four are to come.
    assert time_left({"train": 6}, {}, at_work, 600.0) == "about 50 min left"


def test_the_longest_running_job_is_waited_for():
    at_work = [RunningJob("train", 600.0, 1200.0), RunningJob("train", 600.0, 60.0)]
    assert time_left({"train": 2}, {}, at_work, 600.0) == "about 20 min left"


def test_a_job_beyond_the_mean_of_its_rule_is_about_to_end():
    at_work = [RunningJob("decode", 40.0, None)]
    assert time_left({"decode": 2}, {"decode": [10.0]}, at_work, 50.0) == "about 1 s left"
    assert time_left({"decode": 3}, {"decode": [10.0]}, at_work, 50.0) == "about 10 s left"


def test_jobs_that_ran_again_leave_no_fewer_of_others():
    ended = {"train": [60.0] * 3, "decode": [70.0]}
    assert time_left({"train": 1, "decode": 2}, ended, [], 250.0) == "about 70 s left"


def test_an_estimate_needs_nine_tenths_of_the_jobs_and_a_lower_bound_half():
    ended = {"decode": [60.0]}
    assert time_left({"decode": 10, "page": 1}, ended, [], 60.0) == "about 9 min left"
    assert time_left({"decode": 9, "page": 1}, ended, [], 60.0) == "at least 8 min left"
    assert time_left({"decode": 2, "page": 1}, ended, [], 60.0) == "at least 60 s left"
    assert time_left({"decode": 2, "page": 2}, ended, [], 60.0) == "estimating"
    # Nor is a running job known that says nothing and has no mean.
    silent = [RunningJob("page", 5.0, None)]
    assert time_left({"decode": 2, "page": 1}, ended, silent, 60.0) == "at least 55 s left"


@pytest.mark.parametrize(
    "seconds, text",
    [(0.4, "0 s"), (89.0, "89 s"), (90.0, "2 min"), (4000.0, "67 min"), (5400.0, "1 h 30 min")],
)
def test_durations_are_words(seconds, text):
    assert in_words(seconds) == text
