"""The catalogue: what each part needs, and what follows from it."""

import subprocess
import sys
from pathlib import Path

import pytest

from padir.config.read import load_config
from padir.files import InputError
from padir.report import catalogue

DEMO = Path(__file__).resolve().parents[3] / "config" / "config.yaml"


def paths(config, *names: str) -> set[str]:
    return {a.path for name in names for a in catalogue.artifacts(config, name)}


def test_the_catalogue_loads_neither_plotting_nor_statistics():
    code = "import sys, padir.report.catalogue; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"matplotlib", "scipy", "jinja2", "jax"} & set(loaded)


def test_names_are_unique_and_sections_exist():
    names = [part.name for part in catalogue.CATALOGUE]
    assert len(names) == len(set(names))
    assert {part.section for part in catalogue.CATALOGUE} == set(catalogue.SECTIONS)


def test_the_demo_has_every_part_but_further_scores():
    config = load_config([DEMO])
    everything = {part.name for part in catalogue.parts(config)}
    assert {part.name for part in catalogue.CATALOGUE} - everything == {"table3"}
    core = {part.name for part in catalogue.parts_in(config, "core")}
    systems = {"table2", "parallelism", "systems_passes", "systems_latency"}
    grid = systems | {"dependency_decoding", "redundancy", "ablations", "samplers"}
    assert core.isdisjoint(grid | {"table4", "table5", "dependency"})
    assert {part.name for part in catalogue.parts(config) if part.group == "grid"} == grid


def test_the_core_needs_no_training_of_the_grid():
    config = load_config([DEMO])
    needed = catalogue.needs_of(config, catalogue.parts_in(config, "core"))
    trainings = {artifact.path.split("/")[4] for artifact in needed if "/runs/" in artifact.path}
    assert trainings == {"ar", "ar_distilled", "padir_raw", "padir_distilled"}


def test_parts_need_what_they_show():
    config = load_config([DEMO])
    assert any("/latency/" in path for path in paths(config, "table2", "dependency_decoding"))
    assert all("/score/" in path for path in paths(config, "table1", "ablations"))
    assert paths(config, "figure1") == {"results/theory/estimation/seed0.json"}


@pytest.mark.parametrize("name", ["table3", "table9"])
def test_a_part_that_the_config_lacks_is_refused(name):
    with pytest.raises(InputError, match=f"{name}: the config has no such part, allowed: table1"):
        catalogue.part(load_config([DEMO]), name)
