"""The workflow as written: its jobs, its form, and what it says to a wrong config."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.workflow.conftest import (
    ANALYSIS_TABLES,
    CORE_TABLES,
    DEFAULT_TABLES,
    DEPENDENCY_TABLES,
    FIGURES,
    HEAT_MAPS,
    job_counts,
)

ONLY_LINT = "Specify a conda environment or container for each rule."


def expected_jobs(config: dict, everything: bool = False) -> dict[str, int]:
    """Jobs per rule, counted from the YAML alone; one dataset, one direction, no shards.

    Of the core, or with the systems of table 2 and the ablations.
    """
    defaults = config.get("model_defaults", {})
    core = config["evaluation"].get("core", list(config["models"]))
    chosen = {
        name: {**defaults, **model}
        for name, model in config["models"].items()
        if everything or name in core
    }
    seeds = {name: len(model.get("seeds", [0])) for name, model in chosen.items()}
    decodings = sum(n * len(chosen[name]["decode"]) for name, n in seeds.items())
    if everything:  # Neither of these is scored where it stands in a table alone.
        ablated = {m for e in config["evaluation"]["ablations"] for m in (e["base"], e["variant"])}
        named = {*core, *config["evaluation"]["systems"], *config["evaluation"]["dependency"]}
        assert named | ablated == set(config["models"])
    samplers = len(config["evaluation"].get("samplers", {}))
    parallel = [name for name in core if config["models"][name].get("system", "padir") != "ar"]
    analysed = config["evaluation"].get("analysis", {}).get("models", parallel)
    # Without its models in the core the analysis is made where it is asked for.
    left_out = not everything and not set(analysed) <= set(core)
    further = {model.get("vocabulary") for model in chosen.values()} - {None}
    return {
        "write_data_settings": 1,
        "write_vocabulary_settings": 1 + len(further),
        "write_run_settings": len(chosen),
        "write_report_settings": 1,
        "fetch": 1,
        "clean": 1,
        "vocab": 1 + len(further),
        **_training_jobs(chosen),
        "tune": sum(seeds.values()),
        "distill": 2,
        "join_distilled": 1,
        "describe_distilled": 1,
        "decode": decodings,
        "score": decodings,
        # Of the core; of everything also table 2's models, and those that mind dependence.
        "measure_latency": 3 if everything else 1,
        **({} if left_out else {"analyse": len(analysed)}),
        "table": (
            len(DEFAULT_TABLES | DEPENDENCY_TABLES)
            if everything
            else len(DEFAULT_TABLES if len(core) == len(config["models"]) else CORE_TABLES)
        )
        - (len(ANALYSIS_TABLES) if left_out else 0),
        "figure": len(FIGURES) - (len(HEAT_MAPS) if left_out else 0),
        **({"sample": samplers, "score_sample": samplers} if everything and samplers else {}),
        "decide_claims": 1,
        "page": 1,
        "everything" if everything else "all": 1,
    }


def _training_jobs(models: dict) -> dict[str, int]:
    """A model with borrowed parameters adopts them; every other one trains."""
    seeds = {name: len(model.get("seeds", [0])) for name, model in models.items()}
    borrowed = sum(n for name, n in seeds.items() if "parameters" in models[name])
    jobs = {"train": sum(seeds.values()) - borrowed, "adopt": borrowed}
    return {rule: count for rule, count in jobs.items() if count}


THEORY_RULES = {"write_theory_settings", "run_theory", "draw_theory", "theorem_table"}


def test_the_default_experiment_has_the_jobs_its_config_asks_for(snakemake, repository):
    config = yaml.safe_load((repository / "config/config.yaml").read_text())
    done = snakemake("--dry-run")
    assert done.returncode == 0, done.stderr
    found = job_counts(done.stdout + done.stderr)
    assert found.keys() >= THEORY_RULES
    assert found["run_theory"] == found["write_theory_settings"] > 1
    translation = {rule: count for rule, count in found.items() if rule not in THEORY_RULES}
    assert translation == expected_jobs(config)


def test_everything_trains_each_model_once_and_decodes_it_in_several_ways(snakemake, repository):
    config = yaml.safe_load((repository / "config/config.yaml").read_text())
    done = snakemake("--dry-run", "everything")
    assert done.returncode == 0, done.stderr
    found = job_counts(done.stdout + done.stderr)
    translation = {rule: count for rule, count in found.items() if rule not in THEORY_RULES}
    assert translation == expected_jobs(config, everything=True)


def test_the_claims_wait_for_the_ablations_only_where_these_are_asked_for(snakemake, repository):
    def trained(*targets):
        done = snakemake("--dry-run", *targets)
        assert done.returncode == 0, done.stderr
        return job_counts(done.stdout + done.stderr)["train"]

    # table2 and ablations bring their own models into the claims and the page, and no others.
    assert trained("claims") < trained("claims", "table2") < trained("everything")
    assert trained("claims") < trained("claims", "ablations") < trained("everything")
    # Table 2's RDM is one seed of a model that another table asks for three seeds of.
    config = yaml.safe_load((repository / "config/config.yaml").read_text())
    models = config["models"]
    trainings = {
        (models[name].get("parameters", name), seed)
        for name in config["evaluation"]["systems"]
        for seed in models[name].get("seeds", [0])
    }
    assert trained("table2") == len(trainings)
    # Decoders that mind dependence train no more than the models whose parameters they take, with
    # three seeds each: PaDIR and RDM, distilled and raw.
    assert trained("claims", "dependency_decoding") == trained("claims") + 4 * 3


def test_multi30k_reads_the_folder_named_on_the_command_line(snakemake, repository, tmp_path):
    config = yaml.safe_load((repository / "config/multi30k.yaml").read_text())
    folder = tmp_path / 'it\'s; a "folder" $(x)'
    folder.mkdir()
    for name in ("train", "valid", "test2016"):
        for language in ("de", "en"):
            (folder / f"{name}.{language}").write_text("a\n")
    override = {"multi30k": {"source": {"folder": str(folder)}}}
    done = snakemake(
        *("--configfile", str(repository / "config/multi30k.yaml")),
        *("--config", f"datasets={json.dumps(override)}", "--dry-run"),
    )
    assert done.returncode == 0, done.stderr
    # It stands instead of config.yaml: no synthetic dataset beside it.
    assert job_counts(done.stdout + done.stderr) == expected_jobs(config)


def test_a_model_on_another_vocabulary_trains_from_its_file(snakemake, tiny, tmp_path):
    config = yaml.safe_load(tiny.read_text())
    (tmp_path / "more.txt").write_text("a\n")
    more = {"kind": "word", "foreign_pairs": 2, "extra_text": [str(tmp_path / "more.txt")]}
    config["datasets"]["toy"]["vocabularies"] = {"generic": more, "unused": {}}
    config["models"]["taught"]["vocabulary"] = "generic"
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
    own, generic = (
        json.loads((tmp_path / "place" / folder / name / "settings.json").read_text())
        for name in ("", "generic")
    )
    assert own.items() >= {"kind": "word", "size": 300}.items()
    assert generic.items() >= more.items()
    assert (own.keys() | {"foreign_pairs", "extra_text", "source"}) == generic.keys()


def test_a_reranker_is_an_input_of_what_ranks_with_it_and_of_nothing_else(snakemake, tiny):
    arguments = ["--dry-run", "--printshellcmds", "--configfile", str(tiny)]
    override = "models={taught: {decoding: {reranker: ar}}}"
    done = snakemake(*arguments, "--config", override)
    assert done.returncode == 0, done.stderr
    shells = re.findall(r"padir (tune|decode|latency) (.*)", done.stdout + done.stderr)
    bundle = "results/runs/toy/xs-xt/ar/seed0/bundle"
    for verb, rest in shells:
        ranked = verb == "latency" or "/taught/" in rest
        assert (f" --reranker {bundle} " in rest) is ranked, (verb, rest)
    assert sorted(verb for verb, _ in shells) == ["decode"] * 4 + ["latency"] + ["tune"] * 3
    jobs = (done.stdout + done.stderr).split("rule ")
    ranks = [job for job in jobs if "model=taught" in job and job.startswith(("tune", "decode"))]
    assert len(ranks) == 3
    for job in ranks:
        assert f"{bundle}/model.safetensors" in job.partition("output:")[0]
    without = snakemake(*arguments)
    assert without.returncode == 0, without.stderr
    assert "--reranker" not in without.stdout + without.stderr


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
    done = snakemake(*targets, "--cores", "1", "--max-jobs-per-timespan", "1/4s")
    assert done.returncode == 0, done.stderr
    assert "Job rate limit reached" in done.stdout + done.stderr


def test_a_timing_is_of_the_decodings_that_its_table_shows(snakemake):
    done = snakemake("--dry-run", "--printshellcmds", "table2", "dependency_decoding")
    assert done.returncode == 0, done.stderr
    timed = re.findall(
        r"padir latency .* --decodings (.*?) --source .*/(\w+)\.json >", done.stdout + done.stderr
    )
    assert {name: decodings.split() for decodings, name in timed} == {
        "systems": ["greedy", "beam", "T1", "T2", "T4", "T10"],
        "dependency": ["T2", "T4", "T8"],
    }


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
            "models={ar: {training: {stpes: 5}}}",
            r"config: models\.ar\.training\.stpes: unknown key; nearest known key: steps; .*",
        ),
        (
            None,
            "evaluation={split: train}",
            r"config: evaluation\.split: found \"train\"; allowed: 'valid' or 'test'",
        ),
        (
            "datasets: {}\nmodels: {}\ndatasets: {}\n",
            None,
            r".*bad\.yaml: line 3: key 'datasets' given twice, first in line 1",
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
    ours = [line for line in done.stderr.splitlines() if not line.startswith("Config file ")]
    assert len(ours) == 1, done.stderr
    assert re.fullmatch(expected, ours[0])
    assert not (tmp_path / "place" / "results").exists()


def test_lint_finds_nothing_but_the_missing_environments(snakemake):
    done = snakemake("--lint")
    titles = re.findall(r"^ +\* (.*?):?$", done.stdout + done.stderr, re.MULTILINE)
    assert set(titles) <= {ONLY_LINT, ONLY_LINT + ":"}, set(titles)
    assert titles, "the lint ran"


def test_snakefmt_changes_nothing(repository):
    done = subprocess.run(
        ["snakefmt", "--check", "Snakefile", "rules"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


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
