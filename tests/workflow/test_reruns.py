"""Nothing runs that need not: seen on the whole workflow, with a stand-in that writes at once."""

import pytest

from tests.workflow.conftest import job_counts

REPORT = {"write_report_settings", "table", "figure", "decide_claims", "page", "all"}


@pytest.mark.slow
def test_an_edit_reruns_what_depends_on_it_and_nothing_else(snakemake, stand_in, tiny):
    def jobs(*override: str) -> dict[str, int]:
        arguments = ["--configfile", str(tiny), "--dry-run"]
        done = snakemake(*arguments, *(("--config", *override) if override else ()), env=stand_in)
        assert done.returncode == 0, done.stderr
        return job_counts(done.stdout + done.stderr)

    first = snakemake("--configfile", str(tiny), env=stand_in)
    assert first.returncode == 0, first.stderr[-3000:]
    assert jobs() == {}, "a second run does nothing"

    # One student: itself, and the tables that it is part of.
    found = jobs("models={raw: {objective: {stages: 1}}}")
    assert found["train"] == found["write_run_settings"] == found["tune"] == 1
    assert found["decode"] == found["score"] == 1
    assert not found.keys() & {"fetch", "clean", "vocab", "distill", "join_distilled"}

    # The teacher: itself, its translations, its student; the raw student is only compared anew
    # with the baseline, which is the teacher.
    found = jobs("models={ar: {objective: {label_smoothing: 0.1}}}")
    assert found["train"] == found["tune"] == 2
    assert found["write_run_settings"] == 1
    assert found["distill"] == 3
    assert found["decode"] == 3
    assert found["score"] == 4
    assert not found.keys() & {"fetch", "clean", "vocab"}

    # One more way of decoding trains nothing.
    found = jobs("models={raw: {decode: [T1, T3]}}")
    assert not found.keys() & {"train", "tune", "distill", "write_run_settings"}
    assert found["decode"] == found["score"] == 1

    # One more seed trains one model.
    found = jobs("models={raw: {seeds: [0, 1]}}")
    assert found["train"] == found["tune"] == found["decode"] == found["score"] == 1

    # Only what the report counts: the report, and the scores that carry the intervals.
    found = jobs("evaluation={bootstrap_samples: 200}")
    assert found.keys() - REPORT == {"score", "score_sample", "analyse"}

    # One more vocabulary that no model names changes nothing but the settings of the report; one
    # that a model names is learnt, and trains that model.
    other = "datasets={toy: {vocabularies: {other: {kind: unigram, foreign_pairs: 1}}}}"
    assert jobs(other).keys() <= REPORT
    found = jobs(other, "models={raw: {vocabulary: other}}")
    assert found["vocab"] == found["write_vocabulary_settings"] == 1
    assert found["train"] == found["write_run_settings"] == found["tune"] == 1
    assert not found.keys() & {"fetch", "clean", "distill"}

    # Another vocabulary keeps the data.
    found = jobs("datasets={toy: {vocabulary: {size: 250}}}")
    assert found["vocab"] == 1
    assert found["train"] == 3
    assert not found.keys() & {"fetch", "clean", "write_data_settings"}
