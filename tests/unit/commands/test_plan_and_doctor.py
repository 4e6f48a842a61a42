"""`padir plan` counts by the models themselves; `padir doctor` finds what is wrong."""

import re

import numpy as np
import pytest
import yaml

from padir.cli import main
from padir.commands import doctor, plan
from padir.config.model import Architecture, ModelRun, Objective, Training
from padir.config.read import check_config, load_config
from padir.files import InputError
from tests.unit.config.small import changed
from tests.workflow.paper_mini import paper, with_copies


def test_the_paper_s_size_has_the_paper_s_parameters():
    run = ModelRun(architecture=Architecture(extra_ids=100, table_multiple=128))
    parameters, table = plan.parameter_counts(run, 32_000)
    assert table == 32_128 * 512
    assert round(parameters, -3) == 66_998_000


def test_a_second_stage_costs_one_more_decoder_pass():
    def flops(stages: int) -> float:
        run = ModelRun(
            objective=Objective(stages=stages), training=Training(steps=10_001, batch_tokens=128)
        )
        # 18 blocks of one size: 6 in the encoder, 12 in the decoder (its layers count twice).
        return plan.training_flops(run, parameters=18 + 5, table=5)

    tokens = 10_001 * 128
    assert flops(1) == pytest.approx(6 * tokens * (6 + 12 + 5))
    assert flops(2) == pytest.approx(6 * tokens * (6 + 2 * (12 + 5)))


def test_the_plan_of_the_default_config_counts_its_jobs(repository, capsys):
    path = repository / "config/config.yaml"
    config = load_config([path])
    assert main(["plan", "--config", str(path), "--gflops", "100"]) == 0
    fast = capsys.readouterr().out
    trained = [name for name, run in config.models.items() if run.parameters is None]
    assert 4 < len(trained) < len(config.models)
    for model in config.models:
        # What takes another model's parameters is not trained.
        assert (f"synthetic xs-xt {model} " in fast) is (model in trained)
    core, everything = fast.split("\ndefault target:\n")[1].split("\neverything:\n")
    for text, names, timings in (
        (core, config.evaluation.core, 1),
        (everything, config.models, 2),
    ):
        runs = [config.models[name] for name in names]
        trainings = sum(len(run.seeds) for run in runs if run.parameters is None)
        decodings = sum(len(run.decode) * len(run.seeds) for run in runs)
        assert text.startswith(f"jobs: {trainings} trainings, 1 distilled training sets,")
        assert (
            f" {decodings} decodings and scores, 0 further scores, {timings} latency runs" in text
        )
    lines = plan.describe(config, plan.Rates(50.0))
    hours = [float(line.split()[-1]) for line in lines[1 : 1 + len(trained)]]
    faster = [float(line.split()[-1]) for line in fast.splitlines()[1 : 1 + len(trained)]]
    assert np.allclose(hours, 2 * np.array(faster), atol=2e-3)


def test_the_plan_counts_a_model_by_the_vocabulary_that_it_names():
    given = changed("datasets.toy.vocabularies", {"small": {"size": 1_000}})
    del given["datasets"]["real"]
    given["models"]["ar"]["vocabulary"] = "small"
    ar, padir = plan.training_plans(check_config(given))
    del given["models"]["ar"]["vocabulary"]
    own, unchanged = plan.training_plans(check_config(given))
    assert own.parameters - ar.parameters == (32_000 - 1_000) * 512
    assert padir == unchanged


def test_a_rate_that_is_no_rate_is_refused():
    with pytest.raises(InputError, match=r"--gflops is 0\.0: allowed are numbers above 0"):
        plan.main(["--gflops", "0"])


@pytest.mark.parametrize(
    ("version", "grade"), [((3, 10), "mend"), ((3, 11), "ok"), ((3, 12), "note")]
)
def test_the_tested_python_is_ok_and_an_older_one_is_not(version, grade):
    assert doctor.check_python(version).grade == grade


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    (found,) = doctor.check_results(tmp_path / "not yet" / "there")
    assert found.grade == "mend"
    assert found.text == f"{tmp_path}: cannot write: Permission denied; choose another folder"


def test_a_full_disk_is_to_be_mended(tmp_path, monkeypatch):
    usage = doctor.shutil.disk_usage(tmp_path)._replace(free=10**6)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: usage)
    (found,) = doctor.check_results(tmp_path)
    assert found.grade == "mend"
    assert "make room" in found.text


def test_an_absent_and_an_old_package_are_named(monkeypatch):
    monkeypatch.setattr(
        doctor.metadata, "requires", lambda name: ["surely-absent>=1", "numpy>=999", "jax"]
    )
    *wrong, ok = doctor.check_packages()
    assert [finding.grade for finding in wrong] == ["mend", "mend"]
    assert wrong[0].text.startswith("surely-absent is absent")
    assert ">=999" in wrong[1].text
    assert ok.grade == "ok"


def test_a_missing_program_is_named(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert [finding.grade for finding in doctor.check_tools()] == ["mend", "note"]


def test_the_exit_status_says_whether_something_is_to_be_mended(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(doctor, "findings", lambda results: iter([doctor.Finding("mend", "x: do")]))
    assert doctor.main(["--results", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "mend  x: do\n1 to mend\n"
    monkeypatch.setattr(doctor, "findings", lambda results: iter([doctor.Finding("note", "y")]))
    assert doctor.main([]) == 0
    assert capsys.readouterr().out.endswith("ready\n")


def test_the_plan_of_the_papers_grid(capsys, tmp_path):
    path = tmp_path / "paper.yaml"
    path.write_text(yaml.safe_dump(with_copies(paper(), tmp_path / "copies")))
    arguments = ["--devices", "8", "--gflops", "200000", "--usd-per-hour", "8"]
    assert main(["plan", "--config", str(path), *arguments]) == 0
    out = capsys.readouterr().out
    assert (
        "jobs: 36 trainings, 6 distilled training sets, 72 decodings and scores, 72 further" in out
    )
    hours = float(re.search(r"estimate: ([\d.]+) hours", out)[1])  # type: ignore[index]
    assert f"estimate: {hours * 8:,.0f} dollars" in out
    # The paper's size: 67 million parameters, 500,000 steps of 2048 x 128 tokens.
    assert re.search(r"wmt14 de-en padir +1 +500000 +66,99\d,\d+ +131072.00 M", out)
    assert "on each of 8 devices" in out


@pytest.mark.parametrize("option", ["--devices=0", "--gflops=0", "--usd-per-hour=-1"])
def test_numbers_out_of_range(option, repository, capsys):
    assert main(["plan", "--config", str(repository / "config/config.yaml"), option]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err
