"""Quality under parallelism, by hand and against a sum over many budgets."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from padir.report.parallelism import Budgets, mean_quality
from tests.unit.report.conftest import CORE, P50

PLACES = st.floats(0.1, 100.0)
ROWS = st.lists(st.tuples(PLACES, st.floats(0.0, 100.0)), min_size=1, max_size=6)


@given(ROWS)
def test_it_is_the_mean_over_budgets_of_the_best_row_within_the_budget(rows):
    budgets = Budgets(1.0, 40.0)
    edges = np.exp(np.linspace(0.0, np.log(40.0), 20001))
    middles = np.sqrt(edges[1:] * edges[:-1])
    best = [max([q for cost, q in rows if cost <= middle], default=0.0) for middle in middles]
    costs, qualities = zip(*rows, strict=True)
    # Of the 20,000 intervals those with a row's cost inside may be off.
    assert mean_quality(costs, qualities, budgets) == pytest.approx(np.mean(best), abs=0.05)


@pytest.fixture
def systems(made_up):
    made_up.evaluate(systems=CORE)
    return made_up


def test_the_averages_over_passes_and_time_are_those_by_hand(systems):
    systems.score("padir/padir/T1", 0, decoder_passes=1.0)
    systems.score("padir/padir/T1", 1, decoder_passes=1.0)
    for seed in (0, 1):
        systems.score("padir/padir/T10", seed, decoder_passes=4.0)
        systems.score("padir/padir/T4", seed, decoder_passes=2.0)
    for search in ("greedy", "beam"):
        systems.score(f"ar/{search}", decoder_passes=16.0)
    systems.latency(T1=1.0, T4=2.0, T10=4.0, greedy=4.0, beam=8.0)
    table = systems.table("parallelism")
    padir, search = ({row["training"]: row for row in table.rows}[name] for name in ("padir", "ar"))
    # Half a seed's 0.2 above seed 0. From 1 to 16 passes there are four doublings.
    assert padir["best"] == pytest.approx(39.7)
    assert padir["by_passes"] == pytest.approx((37.1 + 39.6 + 2 * 39.7) / 4)
    assert padir["by_time"] == pytest.approx((37.1 + 39.6 + 39.7) / 3)
    assert padir["by_passes_interval"] == pytest.approx(
        (padir["by_passes"] - 0.95, padir["by_passes"] + 0.95), abs=0.01
    )
    assert (search["decoders"], search["passes"]) == ("greedy, beam", "N")
    assert search["by_passes"] == 0.0
    # Greedy alone from 4 to 8 ms; with 8 ms there is no budget left.
    assert search["by_time"] == pytest.approx(39.0 / 3)


def test_the_best_row_need_not_have_the_most_passes(systems):
    systems.score("padir_raw/padir/T4", bleu=25.0)
    table = systems.table("parallelism")
    row = next(row for row in table.rows if row["training"] == "padir_raw")
    assert row["best"] == 25.0
    assert row["best_interval"] == pytest.approx((24.05, 25.95), abs=0.01)


def test_without_all_times_of_a_system_there_is_no_mean_over_them(systems):
    path = systems.latency()
    document = json.loads(path.read_text())
    document["rows"] = [row for row in document["rows"] if row["decoder"] != "beam"]
    path.write_text(json.dumps(document))
    unknown = {r["training"] for r in systems.table("parallelism").rows if r["by_time"] is None}
    assert unknown == {"ar"}


def test_without_a_range_of_budgets_there_is_no_mean_over_it(systems):
    for search in ("greedy", "beam"):
        systems.score(f"ar/{search}", decoder_passes=1.0)
    systems.latency(**dict.fromkeys(P50, 4.0))
    rows = systems.table("parallelism").rows
    assert {row["by_passes"] for row in rows} == {row["by_time"] for row in rows} == {None}
    assert all(row["best"] > 20 for row in rows)
