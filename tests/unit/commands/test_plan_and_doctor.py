"""`padir plan` counts by the models themselves; `padir doctor` finds what is wrong."""

import json
import re

import jax
import numpy as np
import pytest

from padir.cli import main
from padir.commands import doctor, plan
from padir.commands.arguments import read_arguments
from padir.config.read import check_config, load_config
from padir.files import InputError
from padir.planning.workload import sizes_of
from tests.unit.config.small import changed


def test_the_plan_of_the_default_config_counts_its_jobs(repository, capsys):
    path = repository / "config/config.yaml"
    config = load_config([path])
    assert main(["plan", "--config", str(path), "--gflops", "100"]) == 0
    fast = capsys.readouterr().out
    assert all(f"synthetic xs-xt {training} " in fast for training in config.trainings)
    core, everything = fast.split("\ncore:\n")[1].split("\neverything:\n")
    # Everything times three: the core, table 2 and the dependency-aware decoders.
    # Traces: of the core's AR baseline and two PaDIR models; of every training with further pairs.
    pairs, core_pairs = (
        {(row.training, row.decoding.decoder) for row in rows if row.decoding.passes}
        for rows in (config.all_rows(), config.core_rows())
    )
    further = len({training for training, _ in pairs - core_pairs})
    for text, rows, timings, traces in (
        (core, config.core_rows(), 1, 3),
        (everything, config.all_rows(), 3, 3 + further),
    ):
        core_alone = rows == config.core_rows()
        trainings = config.trainings_behind(rows) if core_alone else config.all_trainings()
        trained = sum(len(config.trainings[name].seeds) for name in trainings)
        decodings = sum(len(config.trainings[row.training].seeds) for row in rows)
        assert text.startswith(f"jobs: {trained} trainings, 1 distilled training sets,")
        assert (
            f" {decodings} decodings and scores, 0 further scores, {timings} latency runs,"
            f" {traces} traces\n" in text
        )
        besides = re.search("in no estimate of time: (.*)\n", text)
        assert (besides is None) == core_alone
    assert besides[1] == "2 analyses of dependence and 5 Gibbs samplers"
    assert config.trainings_behind(config.core_rows()) == [
        *("ar", "ar_distilled", "padir_raw", "padir_distilled"),
    ]
    trained = config.trainings
    lines = plan.describe(config, plan.Rates(50.0))
    hours = [float(line.split()[-1]) for line in lines[1 : 1 + len(trained)]]
    faster = [float(line.split()[-1]) for line in fast.splitlines()[1 : 1 + len(trained)]]
    assert np.allclose(hours, 2 * np.array(faster), atol=2e-3)


def plans(given):
    config = check_config(given)
    return list(plan.training_plans(config, sizes_of(config)))


def test_the_plan_counts_a_training_by_the_vocabulary_that_it_names():
    given = changed("datasets.toy.vocabularies", {"small": {"size": 1_000}})
    del given["datasets"]["real"]
    given["trainings"]["ar"]["vocabulary"] = "small"
    ar, padir = plans(given)
    del given["trainings"]["ar"]["vocabulary"]
    large, unchanged = plans(given)
    assert large.parameters - ar.parameters == (32_000 - 1_000) * 512
    assert padir == unchanged


def test_a_rate_that_is_no_rate_is_refused():
    with pytest.raises(InputError, match=r"--gflops is 0\.0: allowed are numbers above 0"):
        plan.main(["--gflops", "0"])


@pytest.mark.parametrize(
    ("version", "grade"), [((3, 10), "fix"), ((3, 11), "ok"), ((3, 12), "note")]
)
def test_the_tested_python_is_ok_and_an_older_one_is_not(version, grade):
    assert doctor.check_python(version).grade == grade


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    (finding,) = doctor.check_results(tmp_path / "not yet" / "there")
    assert finding.grade == "fix"
    assert finding.text == (
        f"{tmp_path}: cannot write: Permission denied; choose another folder:"
        " snakemake --directory FOLDER"
    )


def test_a_cache_of_compiled_programs_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert list(doctor.check_compiled()) == []
    assert not list(tmp_path.iterdir())
    (tmp_path / "cache").touch()
    (finding,) = doctor.check_compiled()
    told = f"{tmp_path}/cache/padir/compiled: cannot write: Not a directory; each start compiles"
    assert finding.grade == "note" and finding.text.startswith(told)
    assert finding in doctor.findings(tmp_path / "results")


def test_a_link_to_a_folder_that_is_not_there_is_to_be_fixed(tmp_path):
    (tmp_path / "results").symlink_to(tmp_path / "gone")
    (finding,) = doctor.check_results(tmp_path / "results")
    assert finding.grade == "fix"
    assert finding.text.endswith(f"links to {tmp_path / 'gone'}, which does not exist; make that"
                                 " folder, or remove the link")  # fmt: skip


def test_a_full_disk_is_to_be_fixed(tmp_path, monkeypatch):
    usage = doctor.shutil.disk_usage(tmp_path)._replace(free=10**6)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: usage)
    (finding,) = doctor.check_results(tmp_path)
    assert finding.grade == "fix"
    assert "make room: du -sh" in finding.text


def test_an_absent_and_an_old_package_are_named(monkeypatch):
    monkeypatch.setattr(
        doctor.metadata, "requires", lambda name: ["surely-absent>=1", "numpy>=999", "jax"]
    )
    *wrong, ok = doctor.check_packages()
    assert [finding.grade for finding in wrong] == ["fix", "fix"]
    assert wrong[0].text.startswith("surely-absent is absent")
    assert ">=999" in wrong[1].text
    assert ok.grade == "ok"


def test_an_absent_installation_is_named():
    (finding,) = doctor.check_packages("padir-that-nobody-installed")
    assert finding.grade == "fix"
    assert finding.text.endswith("is not installed: make setup")


@pytest.mark.parametrize(
    ("platforms", "installed", "advice"),
    [
        ("", [], r"GPU is unused: make setup EXTRAS=cuda, or cuda12 .*\(after"),
        ("", ["jax-cuda13-plugin"], r"jax-cuda13-plugin 0.10.2 does not start; .*EXTRAS=cuda12"),
        ("cpu", ["jax-cuda13-plugin"], r"GPU is unused: JAX_PLATFORMS=cpu is set$"),
    ],
)
def test_doctor_says_why_a_gpu_is_unused(monkeypatch, platforms, installed, advice):
    jax.devices()  # It looks for its plugins once, among the packages that are really installed.
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(
        doctor.metadata, "distributions", lambda name: [name] if name in installed else []
    )
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "0.10.2")
    found = doctor.check_devices()
    assert found.grade == "note" and re.search(advice, found.text), found


def test_a_missing_program_is_named(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert [finding.grade for finding in doctor.check_tools()] == ["fix", "note"]


def test_slurm_jobs_that_no_node_can_hold_are_named(tmp_path, monkeypatch):
    lines = (
        f"7|PartitionConfig|{tmp_path}|rule_train_wildcards_x",
        f"8|Priority|{tmp_path}|rule_score",
        "9|PartitionConfig|/elsewhere|rule_train",
    )
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (finding,) = doctor.check_queue(tmp_path)
    assert finding.grade == "fix"
    assert finding.text.startswith(
        "Slurm job 7 (rule_train_wildcards_x) waits for ever (PartitionC"
    )
    assert "scancel 7, then run with --cores N" in finding.text
    # It would replace the profile's threads of all rules, and leave this job's.
    assert "--set-threads" not in finding.text
    squeue.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(doctor.check_queue(tmp_path)) == []


def test_the_exit_status_says_whether_something_is_to_be_fixed(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(doctor, "findings", lambda results: iter([doctor.Finding("fix", "x: do")]))
    assert doctor.main(["--results", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "fix   x: do\n1 to fix\n"
    monkeypatch.setattr(doctor, "findings", lambda results: iter([doctor.Finding("note", "y")]))
    assert doctor.main([]) == 0
    assert capsys.readouterr().out.endswith("ready\n")


def test_the_plan_of_the_papers_grid_counts_its_jobs_and_hours(
    repository, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    arguments = ["--devices", "8", "--gflops", "200000", "--usd-per-hour", "8"]
    assert main(["plan", "--config", str(repository / "config/paper.yaml"), *arguments]) == 0
    out = capsys.readouterr().out
    assert (
        "jobs: 48 trainings, 6 distilled training sets, 96 decodings and scores, 96 further" in out
    )
    # The paper's size: 67 million parameters, 500,000 steps of 2048 x 128 tokens.
    assert re.search(r"wmt14 de-en padir +1 +500000 +66,99\d,\d+ +131072.00 M", out)
    assert "on each of 8 devices" in out
    for text in ("wmt14 de-en: 4,508,785", "wmt16 en-ro: 610,320", "wmt17 en-zh: 25,136,609"):
        # 160 bytes a line, five to a token, and EOS.
        assert f"text of {text} training pairs, 33.0 and 33.0 tokens a line (estimated" in out
    numbers = (float(number.replace(",", "")) for number in re.findall(ESTIMATES, out)[0])
    hours, distilling, decoding, rate, together, scoring, disk, dollars = numbers
    decoding /= 60
    # An AR model of the paper's size: 18.9 million parameters in the encoder, 25.2 in the decoder
    # and 16.4 in the table. Its beam of five reads 30 million sentences of 33 tokens, twice.
    beam = 2 * 33 / 0.69 * (18.9e6 + 5 * (25.2e6 + 16.4e6))
    assert rate == 25_000
    assert distilling == pytest.approx(2 * 30_262_716 * beam / 25e12 / 3600, rel=0.01)
    # Positional attention makes 31.6 million of the decoder.
    passes = [2 * 33 / 0.69 * (18.9e6 + T * 5 * (31.6e6 + 16.4e6)) for T in (4, 10)]
    greedy = 2 * 33 / 0.69 * (18.9e6 + (25.2e6 + 16.4e6))
    # A deep encoder has twice the layers, a shallow decoder one of six.
    deep, shallow = 2 * 18.9e6, 25.2e6 / 6 + 16.4e6
    # 7,003 sentences of the test sets, 7,001 of validation, in two directions; four parallel
    # models and four AR ones, whose rules are chosen by four beams.
    by_hand = 4 * (7003 * sum(passes) + 7001 * passes[0])
    by_hand += 2 * (7003 * (greedy + beam) + 4 * 7001 * beam)
    greedy, beam = (2 * 33 / 0.69 * (deep + width * shallow) for width in (1, 5))
    by_hand += 2 * (7003 * (greedy + beam) + 4 * 7001 * beam)
    assert decoding == pytest.approx(2 * by_hand / 25e12 / 3600, rel=0.05)
    assert together == pytest.approx((distilling + decoding) / 8, abs=0.01)
    assert dollars == pytest.approx((hours + together) * 8, abs=1)
    # 96 decodings, a third of them of each pair, by BLEURT-20 on one core.
    bleurt = 16 * 2 * 7003 * 66 * 2 * 579e6 / 50e9 / 3600
    assert scoring == pytest.approx(bleurt, rel=0.02)
    # Text and its copies 320 bytes a pair, targets of two directions 160 each, and 36 models of
    # 265 MB and 12 with a deep encoder, with two checkpoints and the best parameters.
    pairs = 30_255_714 + 7001 + 7003
    bundles = 36 * 265e6 + 12 * 234e6
    by_hand = 2 * 320 * pairs + 2 * 160 * (pairs - 7003) + bundles * (1 + 2 * 1.1 + 1)
    assert disk * 1e9 == pytest.approx(by_hand, rel=0.02)


ESTIMATES = (
    r"estimate: ([\d.]+) hours of training .*\n"
    r"estimate: ([\d.]+) hours of distillation and ([\d.]+) minutes of decoding .* at ([\d.]+)"
    r" GFLOP/s, far more than AR decoding reaches: measure --decode-gflops; side by side on 8:"
    r" ([\d.]+) hours\n"
    r"estimate: ([\d.]+) hours of scoring .*\n"
    r"estimate: ([\d.]+) GB of disk .*\n"
    r"estimate: .* devices, .*\n"
    r"estimate: ([\d,]+) dollars"
)


def test_a_rate_of_decoding_changes_the_time_of_decoding_alone(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(changed("datasets.real", CHINESE)))

    def printed(*options):
        assert main(["plan", "--config", "config.json", "--gflops", "1000", *options]) == 0
        return capsys.readouterr().out.splitlines()

    shared, decoded = printed("--devices", "4"), printed("--devices", "4", "--decode-gflops", "25")
    different = [pair for pair in zip(shared, decoded, strict=True) if pair[0] != pair[1]]
    ((before, after),) = different
    assert "on one device at 250 GFLOP/s, far more than AR decoding reaches: measure" in before
    assert "on one device at 25 GFLOP/s; side by side" in after
    slow, fast = (float(line.split()[1]) for line in (after, before))
    assert slow == pytest.approx(10 * fast, abs=0.06)


def test_the_plan_for_other_devices_warns_of_nothing_that_this_machine_lacks(
    repository, capsys, monkeypatch
):
    monkeypatch.setattr("padir.planning.fit.has_accelerator", lambda: False)
    paper = ["plan", "--config", str(repository / "config/paper.yaml")]
    assert main(paper) == 0
    assert "this machine has" in capsys.readouterr().err
    for elsewhere in (["--devices", "8"], ["--gflops", "200000"]):
        assert main([*paper, *elsewhere]) == 0
        assert "this machine has" not in capsys.readouterr().err


CHINESE = {
    "source": {
        "kind": "tfds",
        "name": "wmt17_translate/zh-en",
        "pairs": {"train": 3_000_000, "valid": 2_000, "test": 2_000},
    },
    "directions": ["zh-en"],
}


def test_text_of_unknown_size_is_reported_as_left_out(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(changed("datasets.toy.directions", ["xs-xt"])))
    assert main(["plan", "--config", "config.json"]) == 0
    out = capsys.readouterr().out
    assert "text of real de-en: its size is not known before it is there; what depends on" in out
    assert "text of toy xs-xt: 10 training pairs, 11.4 and 11.4 tokens a line (estimated" in out


def test_a_config_file_without_its_option_is_told_where_it_belongs(capsys):
    with pytest.raises(SystemExit):
        main(["plan", "corpus.yaml"])
    told = "arguments: corpus.yaml; config files come after --config: --config corpus.yaml\n"
    assert capsys.readouterr().err.endswith(told)
    with pytest.raises(SystemExit):
        main(["plan", "--confg"])
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: --confg\n")


def test_an_option_that_is_given_twice_has_the_values_of_both():
    def config(*words: str) -> list[str]:
        return [str(path) for path in read_arguments("plan", "", plan.OPTIONS, words).config]

    assert config("--config", "a", "b", "--devices", "2", "--config", "c") == ["a", "b", "c"]
    assert config("--config", "a") == ["a"]


@pytest.mark.parametrize(
    "option", ["--devices=0", "--gflops=0", "--decode-gflops=0", "--usd-per-hour=-1"]
)
def test_a_number_out_of_range_is_refused_by_its_option(option, repository, capsys):
    assert main(["plan", "--config", str(repository / "config/config.yaml"), option]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err
