"""What the scripts in benchmarks/ make of times, and a small run of scaling.py."""

import importlib
import json
import re
import sys

import pytest

NAMES = ("speed", "roofline", "scaling", "batches", "breakdown")


@pytest.fixture(scope="module")
def scripts(repository):
    """The modules by name; they import each other as scripts do."""
    folder = str(repository / "benchmarks")
    sys.path.insert(0, folder)
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.path.remove(folder)


def test_a_round_counts_the_time_of_one_step(scripts):
    # Every reading of the clock is a second later than the one before.
    seconds = iter(range(1000))
    times = scripts["speed"].race({"engine": lambda: None}, 0, lambda: next(seconds), parts=2)
    assert times == {"engine": [500.0] * 3}


def test_training_is_timed_by_the_step(scripts, monkeypatch):
    speed, scaling = scripts["speed"], scripts["scaling"]
    parts = {}

    def race(group, seconds, clock, steps=1):
        parts[next(iter(group))] = steps
        return {name: [1.0] * 3 for name in group}

    monkeypatch.setattr(speed, "race", race)
    monkeypatch.setattr(speed, "limits", lambda *_: {"matmul_gflops": 1, "read_gb_per_s": 1})
    monkeypatch.setattr("padir.launch.prepare", lambda threads: None)
    for name in ("our_decoders", "our_training"):
        monkeypatch.setattr(speed.engines, name, lambda *_, name=name: {name: lambda: None})
    words = ["--sizes", "demo", "--training", "demo", "--batches", "--no-peers"]
    speed.run(speed.parser().parse_args(words))
    assert parts == {"our_decoders": 1, "our_training": speed.engines.STEPS}
    systems = {"system": {1: lambda: None}}
    monkeypatch.setattr(scaling, "curves", lambda: {"passes": systems, scaling.STEP_ROWS: systems})
    parts.clear()
    scaling.measure(0)
    assert parts == {"system/1": speed.engines.STEPS}


def test_decoders_steps_and_the_matrix_product_have_the_compute_dtype(scripts, monkeypatch):
    speed = scripts["speed"]
    dtypes = []

    def limits(clock, dtype):
        dtypes.append(dtype)
        return {"matmul_gflops": 1, "read_gb_per_s": 1}

    def engine(size, *rest):
        architecture = speed.engines.training_run(size, "padir").architecture
        dtypes.append(architecture.compute_dtype)
        return {"engine": lambda: None}

    monkeypatch.setattr(speed, "limits", limits)
    monkeypatch.setattr("padir.launch.prepare", lambda threads: None)
    for name in ("our_decoders", "our_training"):
        monkeypatch.setattr(speed.engines, name, engine)
    words = ["--sizes", "demo", "--training", "demo", "--batches", "--no-peers", "--minutes", "0"]
    report = speed.run(speed.parser().parse_args([*words, "--compute-dtype", "bfloat16"]))
    assert dtypes == ["bfloat16"] * 4
    assert report["compute_dtype"] == "bfloat16"


def test_a_ratio_is_the_median_over_rounds_of_the_ratio_within_a_round(scripts):
    # The machine slows down by ten in the last round, for both alike.
    times = {"ours": [1.0, 1.0, 10.0], "theirs": [2.0, 3.0, 40.0]}
    assert scripts["speed"].ratio(times, "ours", "theirs") == {
        "median": 3.0,
        "low": 2.5,
        "high": 3.5,
    }
    assert scripts["speed"].ratio(times, "ours", "absent") is None


@pytest.mark.parametrize(
    ("now", "drifts"),
    [
        ((1.0, 0.9, 1.1), False),
        ((1.3, 1.2, 1.4), True),
        ((0.7, 0.6, 0.8), True),
        ((1.3, 1.05, 1.4), False),  # within the quartiles of the earlier run
        ((1.14, 1.11, 1.2), False),  # outside of them, by less than `DRIFT`
    ],
)
def test_drift_is_a_change_beyond_both_the_bound_and_the_quartiles(scripts, now, drifts):
    def report(middle, low, high, engine="AR beam"):
        row = {"group": "demo", "engine": engine, "other": "HF T5", "target": None}
        return {"ratios": [{**row, "median": middle, "low": low, "high": high}]}

    compare = scripts["speed"].compare
    messages = compare(report(*now), report(1.0, 0.9, 1.1))
    assert bool(messages) == drifts
    assert all(f"is {now[0]:.2f}, committed 1.00" in message for message in messages)
    assert compare(report(*now), report(1.0, 0.9, 1.1, engine="AR greedy")) == []


def test_a_drift_is_told_and_is_no_failure(scripts, monkeypatch, tmp_path, capsys):
    speed = scripts["speed"]
    row = {"group": "demo", "engine": "AR beam", "other": "HF T5", "target": None}
    report = {"ratios": [{**row, "median": 2.0, "low": 1.9, "high": 2.1}]}
    # Also where the run replaces the file that it is compared with.
    committed = tmp_path / "committed.json"
    committed.write_text(json.dumps({"ratios": [{**row, "median": 1.0, "low": 0.9, "high": 1.1}]}))
    monkeypatch.setattr(speed, "run", lambda arguments: report)
    monkeypatch.setattr(speed, "page", lambda report: "the page")
    words = ["--compare", str(committed), "--out", str(committed)]
    monkeypatch.setattr(sys, "argv", ["speed.py", *words])
    assert speed.main() is None
    assert "drift: demo: HF T5 / AR beam is 2.00, committed 1.00" in capsys.readouterr().out


def test_the_crossover_is_the_batch_from_which_the_other_stays_ahead(scripts):
    crossover = scripts["batches"].crossover
    parallel = {1: 10.0, 4: 20.0, 16: 30.0}
    assert crossover(parallel, {1: 11.0, 4: 19.0, 16: 40.0}) == 16
    assert crossover(parallel, {1: 11.0, 4: 21.0, 16: 31.0}) == 1
    assert crossover(parallel, {1: 11.0, 4: 21.0, 16: 29.0}) is None
    assert scripts["batches"].rates({4: 2000.0}) == {4: 2.0}


def test_parts_are_differences_within_a_round(scripts):
    breakdown = scripts["breakdown"]
    times = {}
    for part in ("1", "5", *breakdown.WITHOUT):
        # A pass takes 2 ms; without one of the parts, 1.5.
        each = 2.0 if part in ("1", "5") else 1.5
        times |= {f"{part}/1 pass": [5.0] * 3, f"{part}/4 passes": [5.0 + 3 * each] * 3}
    for candidates in ("1", "5"):
        times |= {f"{candidates}/encoder": [1.0] * 3, f"{candidates}/call": [12.5] * 3}
    rows = breakdown.decoding_rows(times)
    assert rows["sentence"]["5"] == {
        "encoder and lengths": 1.0,
        "each pass": 2.0,
        "decoding outside of the passes": 3.0,
        "host": 0.5,
        "call with 4 passes": 12.5,
    }
    assert rows["pass"]["feed-forward"] == 0.5
    assert rows["pass"]["self- and cross-attention, normalisation"] == 0.5


def test_a_step_counts_each_product_three_times_and_the_decoder_at_each_stage(scripts):
    engines, speed = scripts["speed"].engines, scripts["speed"]
    # 56 x 12 positions; width 64, feed-forward 256, two layers, a vocabulary of 450.
    feed_forward, output = 2 * 64 * 256, 64 * 450
    encoder = 2 * (4 * 64 * 64 + feed_forward) + 2 * 2 * 64 * 64
    for system, projections, stages in (("ar", 6, 1), ("padir", 8, 2)):
        decoder = 2 * (projections * 64 * 64 + feed_forward) + output
        expected = 3 * 2e-9 * 56 * 12 * (encoder + stages * decoder)
        assert speed.step_gflop(engines.SIZES["demo"], system) == pytest.approx(expected)


def test_make_bench_compares_with_the_committed_ratios(repository):
    recipe = (repository / "Makefile").read_text().partition("\nbench:")[2].partition("\n\n")[0]
    assert "--compare benchmarks/speed.json" in recipe


def test_a_program_is_drawn_at_its_operations_per_byte_and_its_rate(scripts):
    # A search of 32 steps of 1 ms; a pass of 2 ms.
    times = {f"PaDIR T={t}, {n} candidates": [4.0 + 2 * t] * 3 for t in (1, 4) for n in (1, 5)}
    times |= {"AR greedy": [32.0] * 3, "AR beam": [64.0] * 3}
    report = {"groups": {"demo": times}, "limits": {"matmul_gflops": 60, "read_gb_per_s": 10}}
    points = {point["program"]: point for point in scripts["roofline"].points(report)}
    # Two layers of width 64: projections of 64 x 64, two of 64 x 256, and the output.
    ar, padir = (2 * (each * 64 * 64 + 2 * 64 * 256) + 64 * 450 for each in (6, 8))
    for program, rows, weights, seconds in (
        ("AR greedy step", 1, ar, 1e-3),
        ("AR beam step", 5, ar, 2e-3),
        ("PaDIR pass, 1 candidate", 32, padir, 2e-3),
        ("PaDIR pass, 5 candidates", 160, padir, 2e-3),
    ):
        point = points[program]
        assert point["gflops"] == pytest.approx(1e-9 * 2 * rows * weights / seconds)
        # A weight has four bytes, and is multiplied with and added to each row.
        assert point["flop_per_byte"] == 2 * rows / 4
    drawing = scripts["roofline"].draw(report)
    assert drawing.count("<title>demo: ") == 4


@pytest.mark.parametrize(("line", "slope"), [({1: 3.0, 2: 3.0, 4: 6.0}, 1), ({8: 2.0, 32: 2.0}, 0)])
def test_the_slope_is_of_the_two_largest_values(scripts, line, slope):
    assert scripts["scaling"].slope(line) == pytest.approx(slope)


@pytest.mark.slow
def test_scaling_is_measured_tabulated_and_drawn(scripts, tmp_path, monkeypatch):
    scaling = scripts["scaling"]
    for name, values in {
        **{"PASSES": (1, 2), "CANDIDATES": (1, 2), "LENGTHS": (16, 32), "BATCHES": (1, 2)},
        **{"VOCABULARIES": (500, 1000), "ROWS": (2, 4)},
    }.items():
        monkeypatch.setattr(scaling, name, values)
    monkeypatch.setattr(scaling, "SIZE", scaling.engines.SIZES["demo"])
    monkeypatch.setattr("padir.launch.prepare", lambda threads: None)
    page = tmp_path / "page.md"
    begin, end = scaling.output.marks("scaling")
    page.write_text(f"before\n{begin}\n{end}\nafter\n")
    out, picture = tmp_path / "scaling.json", tmp_path / "scaling.svg"
    words = ["--seconds", "0", "--out", out, "--page", page, "--picture", picture]
    monkeypatch.setattr(sys, "argv", ["scaling.py", *map(str, words)])
    scaling.main()
    times = json.loads(out.read_text())["times"]
    assert len(times) == 6
    lines = [line for systems in times.values() for line in systems.values()]
    assert all(milliseconds > 0 for line in lines for milliseconds in line.values())
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n")
    assert len(re.findall(r"^\| (?:PaDIR|AR)", text, re.MULTILINE)) == len(lines)
    drawn = picture.read_text()
    assert drawn.count("<title>") == sum(map(len, lines))


@pytest.mark.parametrize("name", ["batches", "scaling"])
def test_a_committed_picture_shows_the_committed_times(scripts, repository, name):
    """Also the table of the page has these times."""
    report = json.loads((repository / f"benchmarks/{name}.json").read_text())
    # JSON has texts where a report has numbers.
    lines = report["times"].values() if name == "scaling" else [report["times"]]
    for systems in lines:
        for system, times in systems.items():
            systems[system] = {int(value): each for value, each in times.items()}
    titles = re.findall(r"<title>.*?</title>", scripts[name].draw(report))
    assert len(titles) > 20
    drawn = (repository / f"docs/{name}.svg").read_text()
    assert titles == re.findall(r"<title>.*?</title>", drawn)
    page = (repository / "docs/performance.md").read_text()
    begin, end = scripts[name].output.marks(name)
    rows = [row for row in scripts[name].page(report).splitlines() if row.startswith("| ")]
    assert [
        row for row in page.split(begin)[1].split(end)[0].splitlines() if row[:2] == "| "
    ] == rows
