"""The workflow as written: its jobs, its form, and what it says to a wrong config."""

import importlib
import json
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path
from string import ascii_letters

import pytest
import yaml

from padir.cli import VERBS
from padir.commands.arguments import read_arguments
from padir.config.read import load_config, merge, read_yaml
from padir.report.catalogue import parts_in
from tests.workflow.conftest import job_counts

ONLY_LINT = "Specify a conda environment or container for each rule."
Triple = tuple[str, str, int | None]


def expand(groups: list[dict]) -> set[Triple]:
    """Training, decoder and passes of every row of a list in the YAML."""
    return {
        (training, decoder, passes)
        for group in groups
        for training in group["trainings"]
        for decoder in group["decoders"]
        for passes in group.get("passes", [None])
    }


def parse(row: str) -> Triple:
    training, decoder, *passes = row.split("/")
    return training, decoder, int(passes[0].removeprefix("T")) if passes else None


def expected_jobs(config: dict, scope: str) -> dict[str, int]:
    """Jobs per rule, counted from the YAML: one dataset, one direction, a teacher in one shard."""
    evaluation, trainings = config["evaluation"], config["trainings"]
    systems = {name: training.get("system", "padir") for name, training in trainings.items()}
    rows, samplers, analysed = expand(evaluation["core"]), {}, []
    timings = [rows]
    if scope == "everything":
        compared = expand(evaluation["dependency"])
        compared |= {(name, systems[name], passes) for name, _, passes in compared}
        timings += [expand(evaluation["systems"]), compared]
        rows = set.union(*timings)
        ablations = evaluation["ablations"]
        rows |= {parse(entry[side]) for entry in ablations for side in ("base", "variant")}
        samplers = evaluation["samplers"]
        analysed = [parse(row) for row in evaluation["analysis"]["rows"]]
    (teacher,) = (parse(entry["row"]) for entry in config["teachers"].values())
    rerankers = {config["decoders"].get(name, {}).get("reranker") for _, name, _ in rows} - {None}
    seeds = {name: len(training.get("seeds", [0])) for name, training in trainings.items()}
    # A model that others build on is trained with its first seed, a row's with all of its own.
    trained = {name: seeds[name] for name, _, _ in rows}
    first_seeds = {teacher[0], *rerankers, *(s["training"] for s in samplers.values())}
    starts = (trainings[name].get("training", {}).get("warm_start") for name in trained)
    for name in first_seeds | {name for name in starts if name}:
        trained.setdefault(name, 1)
    tuned = {(name, decoder): seeds[name] for name, decoder, _ in rows}
    for name, decoder, _ in [teacher, *analysed]:
        tuned.setdefault((name, decoder), 1)
    decodings = sum(seeds[name] for name, _, _ in rows)
    core = {row[:2] for row in expand(evaluation["core"]) if row[2]}
    further = {row[:2] for row in rows if row[2]} - core
    vocabularies = {trainings[name].get("vocabulary") for name in trained}
    kinds = [dataset["source"]["kind"] for dataset in config["datasets"].values()]
    jobs = {
        "write_data_settings": 1,
        "write_vocabulary_settings": len(vocabularies),
        "write_training_settings": len(trained),
        "write_decoder_settings": len({decoder for _, decoder in tuned}),
        "write_report_settings": 1,
        "fetch": 1,
        "clean": 1,
        "write_grammar": kinds.count("synthetic"),
        "vocab": len(vocabularies),
        "train": sum(trained.values()),
        "tune": sum(tuned.values()),
        "distill": 2,
        "join_distilled": 1,
        "describe_distilled": 1,
        "decode": decodings,
        # The baseline, each parallel training in the core, and each with a decoder that it lacks.
        "trace": 1 + len({name for name, _ in core}) + len({name for name, _ in further}),
        "score": decodings,
        "measure_latency": len(timings),
        "analyse": len(analysed),
        "sample": len(samplers),
        "score_sample": len(samplers),
        # Of everything and, before it, of the core.
        "decide_claims": len({"core", scope}),
        "page": len({"core", scope}),
        scope: 1,
    }
    return {rule: count for rule, count in jobs.items() if count}


REPORT_RULES = {"table", "figure"}
THEORY_RULES = {"write_theory_settings", "run_theory"}


def whole(path: Path) -> dict:
    """The mapping of a config file over the one that it extends."""
    config = read_yaml(path)
    return merge(read_yaml(path.parent / config.pop("extends")), config)


@pytest.mark.parametrize("scope", ["core", "everything"])
def test_the_demo_has_the_jobs_that_its_config_asks_for(snakemake, repository, scope):
    path = repository / "config/config.yaml"
    done = snakemake("--dry-run", scope)
    assert done.returncode == 0, done.stderr
    jobs = job_counts(done.stdout + done.stderr)
    assert jobs["run_theory"] == jobs["write_theory_settings"] > 1
    parts = [part.kind for part in parts_in(load_config([path]), scope)]
    assert {kind: jobs[kind] for kind in REPORT_RULES} == {
        kind: parts.count(kind) for kind in REPORT_RULES
    }
    others = {n: count for n, count in jobs.items() if n not in REPORT_RULES | THEORY_RULES}
    assert others == expected_jobs(whole(path), scope)


@pytest.mark.parametrize("options", [(), ("--config", "default_target=core")])
def test_verbs_understand_the_commands_of_a_run_without_a_config_file(snakemake, options):
    done = snakemake("--dry-run", "--printshellcmds", *options)
    assert done.returncode == 0, done.stderr
    commands = re.findall(
        r"^Shell command: +(padir .*?) > ", done.stdout + done.stderr, re.MULTILINE
    )
    verbs = set()
    for verb, *words in (shlex.split(command)[1:] for command in commands):
        module = importlib.import_module(VERBS[verb][0])
        # A word that is not understood ends the process.
        read_arguments(verb, None, module.OPTIONS, words)
        verbs.add(verb)
    assert {"train", "decode", "score", "latency", "theory", "report"} <= verbs


def test_a_table_brings_its_own_trainings_and_no_others(snakemake, repository):
    config = whole(repository / "config/config.yaml")

    def trained(*targets):
        done = snakemake("--dry-run", *targets)
        assert done.returncode == 0, done.stderr
        return job_counts(done.stdout + done.stderr)["train"]

    rows = expand(config["evaluation"]["systems"])
    # PaDIR and RDM have three seeds; the teacher is among the rows, and starts the warm trainings.
    seeds = {name: len(config["trainings"][name].get("seeds", [0])) for name, _, _ in rows}
    assert trained("table2") == sum(seeds.values())
    assert trained("table1") == 4
    # Decoders train nothing: PaDIR and RDM, distilled and raw, three seeds each; padir_distilled
    # of the core; the teacher, which also starts RDM.
    assert trained("dependency_decoding") == 4 * 3 + 2


def test_multi30k_reads_the_folder_named_on_the_command_line(snakemake, repository, tmp_path):
    folder = tmp_path / 'it\'s; a "folder" $(x)'
    folder.mkdir()
    for name in ("train", "valid", "test2016"):
        for language in ("de", "en"):
            (folder / f"{name}.{language}").write_text(f"{ascii_letters}\n")
    small = {"kind": "unigram", "size": 62}
    override = {"multi30k": {"source": {"folder": str(folder)}, "vocabulary": small}}
    override["multi30k"]["vocabularies"] = {"generic": small | {"foreign_pairs": 7}}
    done = snakemake(
        *("--configfile", str(repository / "config/multi30k.yaml")),
        *("--config", f"datasets={json.dumps(override)}", "--dry-run"),
    )
    assert done.returncode == 0, done.stderr
    # It stands instead of config.yaml: no synthetic dataset beside it.
    jobs = job_counts(done.stdout + done.stderr)
    expected = expected_jobs(whole(repository / "config/multi30k.yaml"), "core")
    expected["all"] = expected.pop("core")
    extra = REPORT_RULES | THEORY_RULES
    assert {rule: count for rule, count in jobs.items() if rule not in extra} == expected


def test_a_training_on_another_vocabulary_reads_its_file(snakemake, tiny, tmp_path):
    config = yaml.safe_load(tiny.read_text())
    (tmp_path / "more.txt").write_text("a\n")
    more = {"kind": "word", "foreign_pairs": 2, "extra_text": [str(tmp_path / "more.txt")]}
    config["datasets"]["toy"]["vocabularies"] = {"generic": more, "unused": {}}
    config["trainings"]["taught"]["vocabulary"] = "generic"
    tiny.write_text(yaml.safe_dump(config))
    done = snakemake("--configfile", str(tiny), "--dry-run", "--printshellcmds", "translation")
    assert done.returncode == 0, done.stderr
    printed = done.stdout + done.stderr
    jobs = job_counts(printed)
    assert jobs["vocab"] == jobs["write_vocabulary_settings"] == 2
    folder = "results/vocab/toy/xs-xt"
    learnt = re.findall(r"padir vocab --settings (\S+) .* --out (\S+) >", printed)
    assert sorted(learnt) == [
        (f"{folder}/generic/settings.json", f"{folder}/generic/spm.model"),
        (f"{folder}/settings.json", f"{folder}/spm.model"),
    ]
    inputs = re.findall(r"\nrule vocab:\n    input: (.*)\n    output: (\S+)", printed)
    reads = {output: str(tmp_path / "more.txt") in given for given, output in inputs}
    assert reads == {f"{folder}/generic/spm.model": True, f"{folder}/spm.model": False}
    trained = re.findall(r"padir train --spec \S+/(\w+)/spec\.json --vocabulary (\S+) ", printed)
    assert dict(trained) == {
        "ar": f"{folder}/spm.model",
        "raw": f"{folder}/spm.model",
        "taught": f"{folder}/generic/spm.model",
    }
    settings = [learnt_from for learnt_from, _ in learnt]
    done = snakemake(*settings, "--configfile", str(tiny))
    assert done.returncode == 0, done.stderr
    specific, generic = (
        json.loads((tmp_path / "place" / folder / name / "settings.json").read_text())
        for name in ("", "generic")
    )
    assert specific.items() >= {"kind": "word", "size": 300}.items()
    assert generic.items() >= more.items()
    written = {"foreign_pairs", "extra_text", "source", "contents"}
    assert (specific.keys() | written) == generic.keys()


def test_a_reranker_is_an_input_of_its_decoder_and_of_nothing_else(snakemake, tiny):
    arguments = ["--dry-run", "--printshellcmds", "--configfile", str(tiny)]
    config = yaml.safe_load(tiny.read_text())
    config["decoders"] = {"reranked": {"reranker": "ar"}}
    config["evaluation"]["core"][2]["decoders"] = ["reranked"]
    tiny.write_text(yaml.safe_dump(config))
    done = snakemake(*arguments)
    assert done.returncode == 0, done.stderr
    shells = re.findall(r"padir (tune|decode|trace|latency) (.*)", done.stdout + done.stderr)
    bundle = "results/runs/toy/xs-xt/ar/seed0/bundle"
    for verb, rest in shells:
        reranks = verb == "latency" or "/taught/" in rest
        assert (f" --reranker {bundle} " in rest) is reranks, (verb, rest)
    # The rows, and a trace of each training.
    counts = Counter(verb for verb, _ in shells)
    assert counts == {"decode": 4, "trace": 3, "latency": 1, "tune": 3}
    jobs = (done.stdout + done.stderr).split("rule ")
    reranked = [
        job for job in jobs if "training=taught" in job and job.startswith(("tune", "decode"))
    ]
    assert len(reranked) == 3
    for job in reranked:
        assert f"{bundle}/model.safetensors" in job.partition("output:")[0]


def test_on_one_machine_snakemake_looks_for_jobs_once_a_job(snakemake):
    """With its default limit it looks again every second while one of these jobs waits."""
    target = "results/vocab/synthetic/xs-xt/spm.model"
    done = snakemake(target, "--cores", "1", "--verbose")
    assert done.returncode == 0, done.stderr
    printed = done.stdout + done.stderr
    assert printed.count("Finished jobid: ") == 5
    assert printed.count("Selected jobs: ") <= 5


def test_another_limit_of_jobs_stays(snakemake):
    targets = ["results/report/config.json", "results/vocab/synthetic/xs-xt/settings.json"]
    done = snakemake(*targets, "--cores", "1", "--max-jobs-per-timespan", "1/4s", "-p")
    assert done.returncode == 0, done.stderr
    assert "Job rate limit reached" in done.stdout + done.stderr


def test_a_timing_is_of_the_rows_that_its_table_shows(snakemake, repository):
    evaluation = whole(repository / "config/config.yaml")["evaluation"]
    done = snakemake("--dry-run", "--printshellcmds", "table2", "dependency_decoding")
    assert done.returncode == 0, done.stderr
    commands = r"padir latency --rows (.*?) --source .*/(\w+)\.json >"
    printed = done.stdout + done.stderr
    timed = {name: rows.split() for rows, name in re.findall(commands, printed)}
    assert timed.keys() == {"systems", "dependency"}
    for name, rows in timed.items():
        expected = expand(evaluation[name])
        if name == "dependency":
            expected |= {(t, "rdm" if "rdm" in t else "padir", passes) for t, _, passes in expected}
        assert len(rows) == len(expected)
        for training, decoder, passes in expected:
            decoding = decoder if passes is None else f"{decoder}.T{passes}"
            assert f"results/runs/synthetic/xs-xt/{training}/seed0/bundle:{decoding}" in rows


def test_one_table_alone_needs_no_latency_and_no_other_part_of_the_report(snakemake):
    done = snakemake("--dry-run", "table1")
    jobs = job_counts(done.stdout + done.stderr)
    assert jobs["table"] == 1
    assert not jobs.keys() & {"measure_latency", "figure", "decide_claims", "page"}


@pytest.mark.parametrize(
    ("config", "override", "expected"),
    [
        (
            None,
            "trainings={ar: {training: {stpes: 5}}}",
            r"config: trainings\.ar\.training\.stpes: unknown key; nearest known key: steps; .*",
        ),
        (
            None,
            "evaluation={split: train}",
            r"config: evaluation\.split: found \"train\"; allowed: 'valid' or 'test'",
        ),
        (
            "datasets: {}\ntrainings: {}\ndatasets: {}\n",
            None,
            r".*bad\.yaml: line 3: key 'datasets' given twice, first in line 1: merge .*",
        ),
    ],
)
def test_a_wrong_config_is_one_line_before_any_job(snakemake, tmp_path, config, override, expected):
    arguments = ["--config", override] if override else []
    if config:
        (tmp_path / "bad.yaml").write_text(config)
        arguments += ["--configfile", str(tmp_path / "bad.yaml")]
    done = snakemake(*arguments)
    assert done.returncode == 1
    its_own = ("Config file ", "Using workflow specific profile ")
    ours = [line for line in done.stderr.splitlines() if not line.startswith(its_own)]
    assert len(ours) == 1, done.stderr
    assert re.fullmatch(expected, ours[0])
    assert not (tmp_path / "place" / "results").exists()


def test_braces_in_the_name_of_a_config_are_no_wildcards(snakemake, tiny, tmp_path):
    config = tiny.rename(tmp_path / "c{x}.yaml")
    planned = snakemake("-n", "--configfile", str(config), "--", "table1")
    assert planned.returncode == 0, planned.stderr


def test_lint_finds_nothing_but_the_missing_environments(snakemake):
    done = snakemake("--lint")
    titles = re.findall(r"^ +\* (.*?):?$", done.stdout + done.stderr, re.MULTILINE)
    assert set(titles) <= {ONLY_LINT, ONLY_LINT + ":"}, set(titles)
    assert titles, "the lint ran"


def test_the_snakefile_of_the_catalogue_plans_the_same_jobs(snakemake, repository):
    plans = []
    for name in ("Snakefile", "workflow/Snakefile"):
        done = snakemake("-n", "--snakefile", str(repository / name), "core")
        plans.append(job_counts(done.stdout + done.stderr))
    assert plans[0] and plans[0] == plans[1]


def test_snakefmt_changes_nothing(repository):
    done = subprocess.run(
        ["snakefmt", "--check", "Snakefile", "workflow/Snakefile", "rules"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_graph_of_jobs_is_drawn_without_a_number_of_cores(snakemake, tiny):
    drawn = snakemake("--configfile", str(tiny), "--dag", "--", "table1", "latency", cores=())
    assert drawn.returncode == 0, drawn.stderr
    assert "digraph" in drawn.stdout and "measure_latency" in drawn.stdout


def rules(text: str) -> dict[str, str]:
    return dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL))


def rule_files() -> list[Path]:
    return sorted((Path(__file__).resolve().parents[2] / "rules").glob("*.smk"))


@pytest.mark.parametrize("path", rule_files(), ids=lambda path: path.name)
def test_rules_have_the_form_that_contributing_asks_for(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for name, body in rules(text).items():
        assert re.match(r'\s+"""', body), f"{name}: docstring"
        assert "\n    log:\n" in body, f"{name}: log"
        assert "lambda" not in body, f"{name}: lambda"
        assert "config[" not in body, f"{name}: config in a rule"
        assert "\n    run:" not in body, f"{name}: run"
        shell = body.partition("shell:")[2]
        safe = r"\{(wildcards\.\w+|threads|params\.(samples|sentences|repeats))\}"
        for value in re.findall(r"\{[^}]+\}", shell):
            assert value.endswith(":q}") or re.fullmatch(safe, value), f"{name}: {value} unquoted"
        made = re.findall(r'"(results/[^"]+)"', body.partition("output:")[2].partition("log:")[0])
        log = re.search(r'log:\s+"([^"]+)"', body)
        assert made, f"{name}: literal output paths"
        assert log, f"{name}: literal log path"
        wildcards = {frozenset(re.findall(r"\{(\w+)\}", p)) for p in made}
        assert frozenset(re.findall(r"\{(\w+)\}", log[1])) in wildcards, f"{name}: log's wildcards"
