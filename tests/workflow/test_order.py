"""When jobs run: those of table 1 first; and what wrong dates of files do."""

import os
import re
import time

from padir import priorities
from padir.config.read import load_config

TABLE = "results/report/tables/table1.md"


def ended_jobs(printed: str) -> list[str]:
    """Names of the jobs of a run, in the order in which they ended."""
    return re.findall(r"^\d+ of \d+: (.+), \d+ s$", printed, re.MULTILINE)


def test_table_1_comes_before_anything_that_it_does_not_need(snakemake, stand_in, tiny):
    text = tiny.read_text()
    raw = "    - {trainings: [raw], decoders: [padir], passes: [1]}\n"
    assert raw in text and "  bootstrap_samples" in text
    systems = (
        "  systems:\n    - {trainings: [ar], decoders: [beam]}\n"
        "    - {trainings: [raw, taught], decoders: [padir], passes: [1, 4]}\n"
    )
    text = text.replace(raw, "").replace("  bootstrap_samples", f"{systems}  bootstrap_samples")
    tiny.write_text(text)
    # On one core, the order in which jobs end is that in which they were chosen.
    done = snakemake("--configfile", str(tiny), env=stand_in, cores=("--cores", "1"))
    assert done.returncode == 0, done.stderr
    order = ended_jobs(done.stderr)
    table = order.index("table table1")
    for of_others in ("train toy xs-xt raw seed 0", "decode toy xs-xt ar seed 0 test beam"):
        assert order.index(of_others) > table, "\n".join(order)
    others = [job for job in order[:table] if re.search(r"\braw\b|T4|beam", job)]
    assert all(job.startswith("write_") for job in others), others
    assert sum(job.startswith("score ") for job in order[:table]) == 3


def test_teachers_are_trained_first_then_the_longest_and_those_of_table_1_before_others(repository):
    config = load_config([repository / "config/config.yaml"])
    levels = {name: priorities.training_priority(config, name, 20) for name in config.trainings}
    core = {row.training for row in config.core_rows()}
    assert min(levels[name] for name in core) > max(
        priority for name, priority in levels.items() if name not in core
    )
    # The teacher, 3,000 steps of two passes, and 2,000 of one.
    assert levels["ar"] > levels["padir_distilled"] > levels["ar_distilled"]
    # A score takes a second, and is not put off.
    rows = config.core_rows()
    assert max(levels.values()) < min(priorities.row_priority(config, row, 30) for row in rows)


def test_files_of_the_future_are_dated_to_now_and_the_run_goes_on(
    snakemake, stand_in, tiny, tmp_path
):
    """Such as after a clock was wrong: Snakemake refuses outputs that are older than an input."""
    arguments = ("--configfile", str(tiny), "--", TABLE)
    snakemake(*arguments, env=stand_in)
    place = tmp_path / "place"
    model = place / "results/runs/toy/xs-xt/ar/seed0/bundle/model.safetensors"
    (place / TABLE).unlink()
    later = time.time() + 10 * 365 * 86_400
    os.utime(model, (later, later))
    planned = snakemake("--dry-run", *arguments, env=stand_in)
    assert planned.returncode == 0 and model.stat().st_mtime == later
    again = snakemake(*arguments, env=stand_in)
    assert again.returncode == 0, again.stderr
    assert "1 file(s) were dated after the system's clock, first results/runs/toy" in again.stderr
    assert model.stat().st_mtime <= time.time()
    assert (place / TABLE).exists()
    assert "Nothing to be done" in snakemake(*arguments, env=stand_in).stderr
