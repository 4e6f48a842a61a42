"""An edit reruns what depends on it and nothing else; a stand-in for `padir` writes the files."""

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from padir import invocation
from padir.config.read import merge
from tests.workflow.conftest import ROOT, TINY, job_counts

pytestmark = pytest.mark.slow
Edit = dict[str, Any]
REPORT = {
    *("write_report_settings", "table", "figure", "decide_claims", "page", "all"),
}
# The tiny experiment and, for one row, a decoder with a reranker: three trainings of one seed, five
# rows, four tuned decoders, two analysed rows.
CORE = [
    {"trainings": ["ar"], "decoders": ["greedy"]},
    {"trainings": ["raw"], "decoders": ["padir"], "passes": [1]},
    {"trainings": ["taught"], "decoders": ["padir"], "passes": [1, 2]},
    {"trainings": ["raw"], "decoders": ["reranked"], "passes": [2]},
]
EXPERIMENT = merge(
    yaml.safe_load(TINY),
    {
        "decoders": {"reranked": {"reranker": "ar", "length_candidates": 3}},
        "evaluation": {"core": CORE, "scorers": {"words": {"kind": "chrf++"}}},
        "theory": {"seeds": [0]},
    },
)
SAMPLER = {"training": "taught", "chains": 2, "steps": 4}
SAMPLES = {"sample": 1, "score_sample": 1}
DISTILL = {"distill": 3, "join_distilled": 1, "describe_distilled": 1}


def rows(count: int, traced: int) -> dict[str, int]:
    """Rows decoded anew, which are scored, rated and, with the others, timed; so many
    trainings have a new trace, one for all of their decoders."""
    return {
        "decode": count, "score": count, "rate": count, "measure_latency": 1, "trace": traced,
    }  # fmt: skip


def trained(count: int) -> dict[str, int]:
    return {"write_training_settings": count, "train": count}


DATA = {"write_data_settings": 1, "fetch": 1, "write_grammar": 1, "clean": 1, "vocab": 1}
# The settings of a decoder with a reranker carry a digest of the reranker's training.
ALL = {**trained(3), "write_decoder_settings": 1, "tune": 4, **DISTILL, **rows(5, 3), "analyse": 2}
ALL |= SAMPLES
TAUGHT = {**trained(1), "tune": 1, **rows(2, 1), "analyse": 1, **SAMPLES}
RAW = {**trained(1), "tune": 2, **rows(2, 1), "analyse": 1}
EXTRA = {"extra_sources": {"files": {"xs": {"url": "file:///extra", "sha256": "a" * 64}}}}
DECODER = {"write_decoder_settings": 1}
PASSES = {"name": "passes", "base": "taught/padir/T2", "variant": "taught/padir/T3"}
# Rated are the rows of the core alone.
GRID_ROW = {"decode": 1, "score": 1, "measure_latency": 1}
BEAM = {"trainings": ["ar"], "decoders": ["beam"]}
GRID = {"trainings": ["raw"], "decoders": ["padir"], "passes": [3]}
CMLM = {"trainings": ["cmlm"], "decoders": ["cmlm"]}
JOINT = {"trainings": ["raw"], "decoders": ["joint"], "passes": [1]}
SECOND = {"kind": "unigram", "size": 250}

EDITS: dict[str, tuple[Edit, dict[str, int]]] = {
    "nothing": ({}, {}),
    "data_size": ({"datasets": {"toy": {"source": {"train": 401}}}}, DATA | ALL),
    "cleaning": ({"datasets": {"toy": {"cleaning": {"max_words": 60}}}}, DATA | ALL),
    "vocabulary": (
        {"datasets": {"toy": {"vocabulary": {"size": 250}}}},
        {"write_vocabulary_settings": 1, "vocab": 1, **ALL},
    ),
    "license": ({"datasets": {"toy": {"license": "cc-by-4.0"}}}, {}),
    "unused_vocabulary": ({"datasets": {"toy": {"vocabularies": {"second": SECOND}}}}, {}),
    "vocabulary_of_one_training": (
        {
            "datasets": {"toy": {"vocabularies": {"second": SECOND}}},
            "trainings": {"taught": {"vocabulary": "second"}},
        },
        {"write_vocabulary_settings": 1, "vocab": 1, **TAUGHT},
    ),
    "objective_of_a_student": ({"trainings": {"taught": {"objective": {"stages": 1}}}}, TAUGHT),
    "architecture_of_a_student": (
        {"trainings": {"taught": {"architecture": {"dropout": 0.2}}}},
        TAUGHT,
    ),
    "optimizer_of_a_student": (
        {"trainings": {"taught": {"optimizer": {"peak_learning_rate": 4e-3}}}},
        TAUGHT,
    ),
    "steps_of_a_student": ({"trainings": {"taught": {"training": {"steps": 21}}}}, TAUGHT),
    "targets": ({"trainings": {"raw": {"targets": "ar"}}}, RAW),
    "training_defaults": ({"training_defaults": {"optimizer": {"warmup_steps": 6}}}, ALL),
    # Its translations, its student and what it reranks; the rows left are compared with it anew.
    "training_of_the_teacher": (
        {"trainings": {"ar": {"objective": {"label_smoothing": 0.1}}}},
        {**trained(2), **DECODER, "tune": 3, **DISTILL, **rows(4, 3), "analyse": 1, **SAMPLES}
        | {"score": 5},
    ),
    # The data and what is trained on them stay as they are.
    "extra_sources": (
        {"datasets": {"toy": EXTRA}, "teachers": {"ar": {"extra_sources": True}}},
        {"write_extra_settings": 1, "extra_sources": 1, "join_sources": 1, **DISTILL, **TAUGHT},
    ),
    "decoder_of_the_teacher": (
        {"decoders": {"greedy": {"length_alphas": [0.5]}}},
        {**TAUGHT, **DECODER, "tune": 2, **DISTILL, **rows(3, 2), "score": 5},
    ),
    "decoder": (
        {"decoders": {"padir": {"length_candidates": 4}}},
        {**DECODER, "tune": 2, **rows(3, 2), "analyse": 2},
    ),
    "decoder_of_one_row": (
        {"decoders": {"reranked": {"length_candidates": 4}}},
        {**DECODER, "tune": 1, **rows(1, 1)},
    ),
    "reranker": (
        {"decoders": {"reranked": {"reranker": None}}},
        {**DECODER, "tune": 1, **rows(1, 1)},
    ),
    # The same translations in other files: the student is written again from its work folder.
    "shards": (
        {"teachers": {"ar": {"shards": 3}}},
        {rule: count for rule, count in TAUGHT.items() if rule != "write_training_settings"}
        | {**DISTILL, "distill": 4},
    ),
    "passes": (
        {"evaluation": {"core": [*CORE[:2], {**CORE[2], "passes": [1, 2, 3]}, CORE[3]]}},
        rows(1, 1),
    ),
    "seeds": (
        {"trainings": {"raw": {"seeds": [0, 1]}}},
        {"train": 1, "tune": 2, "decode": 2, "score": 2, "rate": 2},
    ),
    "bootstrap_samples": (
        {"evaluation": {"bootstrap_samples": 200}},
        {"score": 5, "rate": 5, "score_sample": 1, "analyse": 2},
    ),
    "split": (
        {"evaluation": {"split": "valid"}},
        {"decode": 5, "score": 5, "rate": 5, "trace": 3, "analyse": 2, **SAMPLES},
    ),
    "baseline": (
        {"evaluation": {"core": [BEAM, *CORE], "baseline": "ar/beam"}},
        {**DECODER, "tune": 1, **rows(1, 1), "score": 6},
    ),
    "candidate": ({"evaluation": {"candidate": "taught/padir/T1"}}, {}),
    "ablation_of_rows_that_are_there": (
        {"evaluation": {"ablations": [{**PASSES, "variant": "taught/padir/T1"}]}},
        {},
    ),
    "ablation_of_another_row": (
        {"evaluation": {"ablations": [PASSES]}},
        {"decode": 1, "score": 1},
    ),
    "grid_row": (
        {"evaluation": {"systems": [GRID]}},
        GRID_ROW,
    ),
    "grid_row_of_another_training": (
        {"trainings": {"cmlm": {"system": "cmlm"}}, "evaluation": {"systems": [{**GRID, **CMLM}]}},
        {**trained(1), **DECODER, "tune": 1, **GRID_ROW, "trace": 1},
    ),
    "dependency_row": (
        {"decoders": {"joint": {"joint": "neighbours"}}, "evaluation": {"dependency": [JOINT]}},
        {**DECODER, "tune": 1, **GRID_ROW, "trace": 1},
    ),
    "default_target": ({"default_target": "core"}, {}),
    "latency_sentences": ({"evaluation": {"latency_sentences": 12}}, {"measure_latency": 1}),
    "sampler": ({"evaluation": {"samplers": {"gibbs": {"steps": 6}}}}, SAMPLES),
    "analysis": ({"evaluation": {"analysis": {"distance": 4}}}, {"analyse": 2}),
    "analysed_rows": ({"evaluation": {"analysis": {"rows": ["taught/padir/T1"]}}}, {}),
    "another_sampler": ({"evaluation": {"samplers": {"other": SAMPLER}}}, SAMPLES),
    "scorer": ({"evaluation": {"scorers": {"again": {"kind": "chrf++"}}}}, {"rate": 5}),
    "theory": (
        {"theory": {"errata": {"models": 50}}},
        {"write_theory_settings": 1, "run_theory": 1},
    ),
    "seeds_of_the_theory": ({"theory": {"seeds": [0, 1]}}, {"run_theory": 8}),
}


@pytest.fixture(scope="module")
def jobs_after(module_snakemake, stand_in) -> Callable[[Edit], dict[str, int]]:
    """Jobs that an edit of the finished experiment makes, without those of the report."""

    def run(edit: Edit, *arguments: str):
        config = json.dumps(merge(EXPERIMENT, edit))
        return module_snakemake(config, *arguments, env=stand_in)

    run({})

    def jobs(edit: Edit) -> dict[str, int]:
        counts = job_counts(run(edit, "--dry-run"))
        return {rule: count for rule, count in counts.items() if rule not in REPORT}

    return jobs


@pytest.fixture(scope="module")
def report_jobs(module_place, module_snakemake, stand_in) -> Callable[..., dict[str, int]]:
    """Jobs of the report after an edit of the finished experiment, or after files were deleted."""

    def jobs(edit: Edit, *deleted: str) -> dict[str, int]:
        config = json.dumps(merge(EXPERIMENT, edit))
        for name in deleted:
            (module_place / name).unlink()
        printed = module_snakemake(config, "--dry-run", env=stand_in)
        if deleted:
            module_snakemake(config, env=stand_in)
        counts = job_counts(printed)
        return {rule: count for rule, count in counts.items() if rule in REPORT - {"all"}}

    return jobs


def test_any_edit_remakes_the_whole_report_as_its_parts_read_the_config(jobs_after, report_jobs):
    jobs_after({})
    assert report_jobs({}) == {}
    every = report_jobs({"datasets": {"toy": {"vocabularies": {"second": SECOND}}}})
    assert every.pop("write_report_settings") == 1
    assert every.keys() == {"table", "figure", "decide_claims", "page"}
    # Of the core, and of everything.
    assert every["decide_claims"] == every["page"] == 2
    assert every == {
        key: value
        for key, value in report_jobs({"evaluation": {"latency_sentences": 12}}).items()
        if key != "write_report_settings"
    }


def test_a_license_remakes_the_report_alone(jobs_after, report_jobs):
    stated = {"datasets": {"toy": {"license": "cc-by-4.0"}}}
    jobs_after({})
    assert jobs_after(stated) == {}
    assert report_jobs(stated) == report_jobs({"evaluation": {"latency_sentences": 12}})


@pytest.mark.parametrize(
    ("deleted", "rule"),
    [
        ("tables/table1.csv", "table"),
        ("tables/table1.md", "table"),
        ("tables/table1.tex", "table"),
        ("figures/training.svg", "figure"),
        ("figures/training.csv", "figure"),
        ("claims.json", "decide_claims"),
        ("claims.md", "decide_claims"),
        ("index.html", "page"),
    ],
)
def test_a_deleted_file_of_the_report_is_made_again(jobs_after, report_jobs, deleted, rule):
    jobs_after({})
    assert report_jobs({}, f"results/report/{deleted}").get(rule) == 1


def test_commands_of_the_report_work_in_the_folder_of_the_run(
    module_place, module_snakemake, stand_in
):
    module_snakemake(json.dumps(EXPERIMENT), env=stand_in)
    # The stand-in writes down its arguments.
    page = (module_place / "results/report/index.html").read_text()
    options = page.partition("--options=")[2].partition(" --out ")[0]
    shell = {"shell": True, "cwd": module_place, "env": stand_in, "capture_output": True}
    command = invocation.command("table1", options)
    done = subprocess.run(f"{command} --dry-run", text=True, **shell)
    assert done.returncode == 0, done.stderr
    assert "Nothing to be done" in done.stdout + done.stderr


def test_deleted_files_of_finished_results_are_named_and_made_again(
    module_place, module_snakemake, stand_in
):
    config = json.dumps(EXPERIMENT)

    def run(*arguments: str) -> str:
        return module_snakemake(config, *arguments, env=stand_in)

    run()
    assert "are missing" not in run()
    runs = "results/runs/toy/xs-xt"
    deleted = [
        "results/data/toy/xs-xt/train.xs",
        "results/vocab/toy/xs-xt/spm.model",
        "results/distill/toy/xs-xt/ar/seed0/train.xt",
        f"{runs}/ar/seed0/bundle/spm.model",
        f"{runs}/raw/seed0/decode/test.padir.T1.txt",
        f"{runs}/taught/seed0/score/test.padir.T2.json",
    ]
    for name in deleted:
        (module_place / name).unlink()
    printed = run()
    assert f"of finished results {len(deleted)} files are missing, such as {deleted[0]};" in printed
    # The folder has no workflow of its own.
    command = f"snakemake --snakefile {ROOT / 'Snakefile'} --configfile config.yaml --cores all"
    assert f"to make them again: {command} restore" in printed
    assert not (module_place / deleted[0]).exists()
    run("--", "restore")
    assert all((module_place / name).exists() for name in deleted)
    assert "are missing" not in run()


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_reruns_what_depends_on_it_and_nothing_else(jobs_after, kind):
    edit, expected = EDITS[kind]
    assert jobs_after(edit) == expected


def test_the_bytes_of_text_decide_what_is_made_anew_and_not_its_date(snakemake, stand_in, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    splits = {}
    # More than the megabyte that Snakemake reads of itself.
    lines = "".join(f"{number} a{number} b{number}\n" for number in range(60_000))
    for split in ("train", "valid", "test"):
        splits[split] = {"files": {code: f"{split}.{code}" for code in ("de", "en")}}
        for name in splits[split]["files"].values():
            (place / name).write_text(lines, encoding="utf-8")
    dataset = {"source": {"kind": "files", **splits}, "directions": ["de-en"]}
    dataset["vocabulary"] = {"kind": "unigram", "size": 60}
    settings = yaml.safe_load(TINY) | {
        "datasets": {"own": dataset},
        "trainings": {"ar": {"system": "ar"}},
        "teachers": {},
        "evaluation": {"core": [{"trainings": ["ar"], "decoders": ["greedy"]}]},
    }
    config = tmp_path / "own.yaml"
    config.write_text(json.dumps(settings), encoding="utf-8")
    arguments = ("--configfile", str(config))
    done = snakemake(*arguments, "--", "table1", env=stand_in)
    assert done.returncode == 0, done.stderr[-2000:]

    def jobs() -> dict[str, int]:
        planned = snakemake(*arguments, "--dry-run", "--", "table1", env=stand_in)
        assert planned.returncode == 0, planned.stderr[-2000:]
        counts = job_counts(planned.stdout + planned.stderr)
        return {rule: count for rule, count in counts.items() if rule not in {*REPORT, "table1"}}

    assert jobs() == {}
    text = place / "test.en"
    text.touch()
    assert jobs() == {}
    before = text.stat()
    text.write_text(lines.replace("7", "8"), encoding="utf-8")
    os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))
    data = {rule: count for rule, count in DATA.items() if rule != "write_grammar"}
    assert jobs() == {**data, **trained(1), "tune": 1, "decode": 1, "score": 1}


def test_edited_ready_made_translations_are_taken_even_with_an_old_date(
    snakemake, stand_in, tmp_path
):
    place = tmp_path / "place"
    place.mkdir()
    for split in ("train", "valid"):
        (place / f"{split}.xt").write_text("a\n", encoding="utf-8")
    settings = yaml.safe_load(TINY)
    settings["teachers"] = {"ready": {"kind": "files", "train": "train.xt", "valid": "valid.xt"}}
    settings["trainings"]["taught"]["targets"] = "ready"
    config = tmp_path / "ready.yaml"
    config.write_text(json.dumps(settings), encoding="utf-8")
    target = "results/runs/toy/xs-xt/taught/seed0/metrics.jsonl"
    arguments = ("--configfile", str(config), "--", target)
    done = snakemake(*arguments, env=stand_in)
    assert done.returncode == 0, done.stderr[-2000:]
    text = place / "train.xt"
    before = text.stat()
    text.write_text("b\n", encoding="utf-8")
    os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))
    planned = snakemake("--dry-run", *arguments, env=stand_in)
    counts = job_counts(planned.stdout + planned.stderr)
    assert counts == {"take_ready_made": 2, **trained(1)}
