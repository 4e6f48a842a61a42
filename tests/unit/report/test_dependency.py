"""Tables 4 and 5, predictors, heat maps and claims from a made-up analysis."""

import json
import re
from pathlib import Path

import pytest

from padir import layout
from padir.config import identity
from padir.config.rows import Row
from padir.files import InputError
from padir.report import dependency, heat_maps

KINDS = ("min", "mean", "max")
RANKS = ("self_first", "self_few", "same_first", "first_in_few")
NAMES = ("self_attention", "total_variation", "cosine")
MEASURES = (*(f"{name} {kind}" for name in NAMES for kind in KINDS), *RANKS)
NUMBERED = {measure: float(number) for number, measure in enumerate(MEASURES, 1)}
"""The mean of each measure; its other values are that and hundreds."""


def contrast(value: float) -> dict:
    return {
        "mean": value, "other_mean": 100 + value, "deviation": 200 + value,
        "other_deviation": 300 + value, "effect": -value,
        "effect_interval": [-400 - value, 400 + value], "p_value": value / 1000,
        "within": 500 + value, "within_interval": [600 + value, 700 + value],
        "within_effect": 800 + value,
    }  # fmt: skip


def area(target: str, pairs: str, value: float) -> dict:
    return {
        "target": target, "pairs": pairs, "predictor": "entropy", "auc": value,
        "interval": [value - 0.5, value + 0.25], "correlation": -value,
        "correlation_interval": [-value - 0.25, -value + 0.5],
    }  # fmt: skip


def claim(name: str, verdict: str) -> dict:
    return {
        "id": name, "section": "3.4", "statement": "closer", "paper": "0.1", "measured": "0.2",
        "interval": [-0.2, -0.1], "test": "below 0", "verdict": verdict, "dataset": "toy xs-xt",
        "seeds": [0],
    }  # fmt: skip


def analysis(training: str, targets: str, verdict: str = "reproduced", seed: int = 0) -> dict:
    head = {
        "effect": [[0.1, -2.0, -0.2]], "p_value": [[0.5, 0.01, 0.01]],
        "within_effect": [[0.1, -1.0, 0.4]],
    }  # fmt: skip
    passes = [
        {
            "pass": number, "stuttering": 30, "other": 300,
            "contrasts": {measure: contrast(value) for measure, value in NUMBERED.items()},
            "heads": {
                "self_attention": head | {"effect": [[3.0, 2.0, 1.0]]}, "total_variation": head,
            },
            "prediction": [
                area("stutter", "adjacent", 0.5), area("probe", "adjacent", 0.5625),
                area("probe", "near", 0.625),
                {"target": "stutter", "pairs": "adjacent", "predictor": "probe", "auc": None,
                 "interval": None},
            ],
        }
        for number in (1, 4)
    ]  # fmt: skip
    areas = [area("exact", "adjacent", 0.6875), area("exact", "near", 0.75)]
    exact = {"pass": 1, "prediction": areas}
    return {
        "dataset": "toy", "direction": "xs-xt", "training": training, "decoder": "padir",
        "system": "padir", "targets": targets, "seed": seed, "split": "test",
        "distance": 8, "passes": passes, "exact": exact,
        "claims": [claim("self_attention", verdict), claim("cross_attention", verdict)],
    }  # fmt: skip


def write(made_up, document) -> None:
    row = Row.parse(f"{document['training']}/padir/T1")
    seed = document["seed"]
    document["digests"] = identity.analysis_digests(made_up.config, *made_up.place, row, seed)
    made_up.write(layout.analysis_path(made_up.place, row, seed), document)


@pytest.fixture
def analysed(made_up):
    write(made_up, analysis("padir_raw", "raw"))
    write(made_up, analysis("padir", "own", "not reproduced"))
    # Neither a seed that nothing asked for nor provenance is a document of the report's.
    folder = "results/analysis/toy/xs-xt/padir"
    made_up.write(f"{folder}/padir.seed1.json", {"claims": []})
    made_up.write(f"{folder}/padir.seed0.json.provenance.json", {})
    return made_up


def test_tables_4_and_5_have_two_rows_of_each_model_and_pass(analysed):
    results = analysed.load("table4")
    for make in (dependency.table4, dependency.table5):
        table = make(results)
        labels = [(row["training"], row["pass"], row["stutter"]) for row in table.rows]
        assert labels == [
            (training, number, stutter)
            for training in ("padir_raw", "padir")
            for number in (1, 4)
            for stutter in ("yes", "no")
        ]
        assert "headings" in " ".join(table.notes)
    assert "Neighbour first" in dependency.table4(results).markdown()


@pytest.mark.parametrize(
    ("make", "prefix", "name", "ranks"),
    [
        (dependency.table4, "", "self_attention", RANKS[:2]),
        (dependency.table5, "tv_", "total_variation", RANKS[2:]),
        (dependency.table5, "cosine_", "cosine", RANKS[2:]),
    ],
)
def test_each_column_of_tables_4_and_5_shows_its_own_measure(analysed, make, prefix, name, ranks):
    yes, no = make(analysed.load("table4")).rows[:2]
    assert (yes["pairs"], no["pairs"]) == (30, 300)
    means = {f"{prefix}{kind}": NUMBERED[f"{name} {kind}"] for kind in KINDS}
    means |= {rank: NUMBERED[rank] for rank in ranks}
    for column, mean in means.items():
        assert (yes[column], no[column]) == (mean, 100 + mean)
        if column not in ranks:
            assert (yes[f"{column}_sd"], no[f"{column}_sd"]) == (200 + mean, 300 + mean)
    mean = NUMBERED[f"{name} mean"]
    # What p is of stands beside it, with its own sign.
    compared = {
        "effect": -mean, "interval": (-400 - mean, 400 + mean), "within": 500 + mean,
        "within_interval": (600 + mean, 700 + mean), "within_effect": 800 + mean, "p": mean / 1000,
    }  # fmt: skip
    assert {key: yes[f"{prefix}{key}"] for key in compared} == compared
    assert all(no[f"{prefix}{key}"] is None for key in compared)


def test_a_line_has_a_predictor_beside_what_it_predicts(analysed):
    table = dependency.dependency_table(analysed.load("table4"))
    rows = {(row["training"], row["pass"], row["predictor"]): row for row in table.rows}
    entropy = rows["padir", 1, dependency.PREDICTOR_NAMES["entropy"]]
    columns = ("stutter", "probe_adjacent", "probe_near", "exact_adjacent", "exact_near")
    areas = [entropy[column] for column in columns]
    assert areas == [0.5, 0.5625, 0.625, 0.6875, 0.75]
    intervals = [entropy[f"{column}_interval"] for column in columns]
    assert intervals == [(value - 0.5, value + 0.25) for value in areas]
    assert (entropy["correlation"], entropy["correlation_interval"]) == (-0.75, (-1.0, -0.25))
    # The exact side is about one pass.
    assert rows["padir", 4, dependency.PREDICTOR_NAMES["entropy"]]["exact_near"] is None
    assert rows["padir", 1, "probe"]["stutter"] is None


def test_heat_maps_correct_for_the_number_of_heads(analysed):
    maps = heat_maps.cross_attention_heads(analysed.load("table4"))
    assert [(m.row, m.column) for m in maps.maps][:2] == [
        ("padir_raw padir", "pass 1"),
        ("padir_raw padir", "pass 4"),
    ]
    assert maps.maps[0].p_value == [[0.5, pytest.approx(0.03), pytest.approx(0.03)]]
    of_self = heat_maps.self_attention_heads(analysed.load("table4"))
    effects = [[[0.1, -2.0, -0.2]], [[3.0, 2.0, 1.0]]]
    assert [maps.maps[0].effect, of_self.maps[0].effect] == effects
    cells = maps.table().rows
    assert len(cells) == 2 * 2 * 3
    assert cells[1] == {
        "panel": "padir_raw padir", "pass": "pass 1", "layer": 1, "head": 2, "effect": -2.0,
        "within": -1.0, "p_value": pytest.approx(0.03),
    }  # fmt: skip
    again = heat_maps.HeatMaps(maps.name, maps.title, maps.maps)
    assert maps.svg == again.svg
    # Arrows point where stutters lie within their sentences, whatever the pooled sign.
    texts = [f"-2.0{heat_maps.DOWN}<", f"-0.2{heat_maps.UP}<", ">0.1<"]
    assert [maps.svg.count(text) for text in texts] == [4, 4, 4]
    assert maps.svg.count("↑") == maps.svg.count("↓") == 4


def test_each_cell_of_a_heat_map_says_where_it_stands_and_its_values(analysed):
    maps = heat_maps.cross_attention_heads(analysed.load("table4"))
    titles = re.findall(r"<path [^>]*><title>(.*?)</title></path>", maps.svg)
    assert len(titles) == 2 * 2 * 3
    second = "padir_raw padir, pass 1, layer 1, head 2: d -2.00; within sentences -1.00, p 0.030"
    assert titles[1] == second
    assert titles[-1].startswith("padir padir, pass 4, layer 1, head 3: d -0.20;")
    # Each map's largest effect stands in the words that a screen reader says.
    assert maps.description.count("head 2: d -2.00") == 4
    assert "head 1" not in maps.description


def test_a_heat_map_of_one_layer_and_one_head_has_cells_with_an_area():
    single = [[-2.0]]
    heat_map = heat_maps.HeatMap("padir", "pass 1", single, single, [[0.01]])
    svg = heat_maps.HeatMaps("heads", "Heads", [heat_map]).svg
    (outline,) = re.findall(r'<path d="([^"]*)"[^>]*><title>padir, pass 1', svg)
    points = re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", outline)
    assert all(len(set(coordinates)) == 2 for coordinates in zip(*points, strict=True))


def test_a_document_of_an_older_version_is_one_message_and_keeps_no_other_table_back(analysed):
    old = analysis("padir", "own")
    del old["passes"][0]["heads"]["self_attention"]["within_effect"]
    write(analysed, old)
    assert analysed.table("table1").rows
    for name in ("table4", "dependency", "self_attention_heads"):
        key = "passes.0.heads.self_attention.within_effect"
        with pytest.raises(InputError, match=rf"seed0.json: key {key} is missing or null; .*again"):
            analysed.load(name)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("dataset", "other"), ("direction", "de-en"), ("training", "other"), ("decoder", "joint"),
        ("seed", 1),
    ],
)  # fmt: skip
def test_an_analysis_in_another_place_is_refused(analysed, label, value):
    path = layout.analysis_path(analysed.place, Row.parse("padir_raw/padir/T1"), 0)
    analysed.write(path, json.loads(Path(path).read_text()) | {label: value})
    with pytest.raises(InputError, match=f"{path}: {label} is {value!r}; the path and config say"):
        analysed.claims()


def test_claims_come_from_the_analysis(analysed):
    claims = analysed.claims()
    verdicts = [claim["verdict"] for claim in claims if claim["id"] == "cross_attention"]
    assert verdicts == ["reproduced", "not reproduced"]


@pytest.mark.parametrize(("seeds", "shown"), [(0, [0]), (None, []), ([0, 1], [0, 1])])
def test_the_seeds_of_a_supplied_claim_are_a_list(made_up, seeds, shown):
    document = analysis("padir_raw", "raw")
    document["claims"] = [each | {"seeds": seeds} for each in document["claims"]]
    write(made_up, document)
    (claim,) = (c for c in made_up.claims() if c["id"] == "cross_attention")
    assert claim["seeds"] == shown


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("reproduced", "reproduced", "reproduced"),
        ("reproduced", "not run", "not run"),
        ("not run", "reproduced", "not run"),
        ("not reproduced", "reproduced", "not reproduced"),
        ("not run", "not reproduced", "not reproduced"),
    ],
)
def test_a_claim_about_several_seeds_is_one_and_holds_where_it_holds_with_each(
    made_up, first, second, together
):
    made_up.train(padir={**made_up.settings["trainings"]["padir"], "seeds": [0, 1]})
    made_up.evaluate(analysis={"seeds": "all"})
    write(made_up, analysis("padir", "own", first))
    other = analysis("padir", "own", second, seed=1)
    other["claims"] = [each | {"measured": "0.3"} for each in other["claims"]]
    write(made_up, other)
    (claim,) = (c for c in made_up.claims() if c["id"] == "cross_attention")
    assert (claim["verdict"], claim["seeds"], claim["interval"]) == (together, [0, 1], None)
    assert claim["measured"] == "Seed 0: 0.2, [-0.2, -0.1]. Seed 1: 0.3, [-0.2, -0.1]"
    assert claim["test_says"] == "with each seed: below 0"
    results = made_up.load("table4")
    rows = dependency.table4(results).rows
    assert [(row["seed"], row["pass"], row["stutter"]) for row in rows] == [
        (seed, number, stutter) for seed in (0, 1) for number in (1, 4) for stutter in ("yes", "no")
    ]
    panels = [heat_map.row for heat_map in heat_maps.self_attention_heads(results).maps]
    assert panels == ["padir padir seed 0"] * 2 + ["padir padir seed 1"] * 2


def test_a_claim_about_several_seeds_waits_for_all(made_up):
    made_up.train(padir={**made_up.settings["trainings"]["padir"], "seeds": [0, 1]})
    made_up.evaluate(analysis={"seeds": "all"})
    write(made_up, analysis("padir", "own", seed=1))
    (claim,) = (c for c in made_up.claims() if c["id"] == "cross_attention")
    assert claim["verdict"] == "not run"
    assert claim["measured"] == "Seed 0: not run. Seed 1: 0.2, [-0.2, -0.1]"


def test_without_an_analysis_tables_are_empty_and_claims_name_the_command(made_up):
    results = made_up.load("table4")
    assert dependency.table4(results).rows == []
    assert heat_maps.self_attention_heads(results).empty()
    waiting = next(claim for claim in made_up.claims() if claim["id"] == "self_attention")
    assert waiting["verdict"] == "not run"
    assert waiting["command"] == "snakemake --cores all everything"
