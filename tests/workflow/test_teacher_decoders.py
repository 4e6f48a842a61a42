"""Two decoders of the AR teacher, with the real commands: an edit of the one that teaches makes its
translations and the students anew, an edit of the other one trains nothing."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from padir.config.read import merge
from tests.workflow.conftest import TINY, job_counts

pytestmark = pytest.mark.slow
RUNS = Path("results/runs/toy/xs-xt")
DISTILLED = Path("results/distill/toy/xs-xt/ar/seed0/train.xt")
# The teacher decodes greedily (TINY); rows decode the same model by beam search too.
EXPERIMENT = merge(
    yaml.safe_load(TINY),
    {
        "evaluation": {
            "core": [
                {"trainings": ["ar"], "decoders": ["beam"]},
                {"trainings": ["taught"], "decoders": ["padir"], "passes": [1]},
            ]
        }
    },
)


def test_an_edit_of_the_teacher_s_decoder_retrains_students_and_of_the_other_none(
    snakemake, tmp_path
):
    place, config = tmp_path / "place", tmp_path / "config.yaml"

    def run(decoders: dict) -> dict[str, int]:
        """Run to the scores; the number of jobs of each rule."""
        config.write_text(json.dumps(merge(EXPERIMENT, {"decoders": decoders})), encoding="utf-8")
        done = snakemake("--configfile", str(config), "--", "translation", folder=place)
        assert done.returncode == 0, done.stderr[-2000:]
        return job_counts(done.stdout + done.stderr)

    def state(path: Path) -> tuple[str, int]:
        """What a file holds and when it was written."""
        file = place / path
        return hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns

    def learnt_from() -> str:
        """Digest of the targets in the student's bundle."""
        spec = json.loads((place / RUNS / "taught/seed0/bundle/spec.json").read_text())
        return spec["run_spec"]["digests"]["targets"]

    models = [RUNS / name / "seed0/bundle/model.safetensors" for name in ("ar", "taught")]
    beam = RUNS / "ar/seed0/decode/test.beam.jsonl"
    run({})
    first = {path: state(path) for path in (*models, DISTILLED, beam)}

    # The decoder that does not teach: decoded and scored anew.
    jobs = run({"beam": {"beam": 2}})
    assert jobs["decode"] == 1
    assert not jobs.keys() & {"train", "distill", "join_distilled"}
    second = {path: state(path) for path in first}
    assert second[beam][1] != first[beam][1]
    assert {path for path in first if second[path] != first[path]} == {beam}

    targets = learnt_from()

    # The decoder that teaches: translations and student, but not the teacher.
    jobs = run({"beam": {"beam": 2}, "greedy": {"length_alphas": [0.5]}})
    assert jobs["train"] == 1
    assert jobs["distill"] == 3
    third = {path: state(path)[1] for path in first}
    rewritten = {path for path in first if third[path] != second[path][1]}
    assert {DISTILLED, models[1]} <= rewritten
    assert models[0] not in rewritten
    assert learnt_from() != targets
