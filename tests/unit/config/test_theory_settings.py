"""Settings of `padir theory`: as strict as a config, and one line for each mistake."""

import json

import pytest

from padir import cli


def refusal(tmp_path, capsys, experiment: str, settings: object) -> str:
    """What `padir theory` says of a settings file, without the file's name."""
    path, out = tmp_path / "settings.json", tmp_path / "out.json"
    path.write_text(json.dumps(settings))
    assert cli.main(["theory", experiment, "--settings", str(path), "--out", str(out)]) == 2
    assert not out.exists()
    head, _, line = capsys.readouterr().err.partition(f"{path}: ")
    assert head == "padir theory: error: "
    assert line.count("\n") == 1
    return line.strip()


def on_graph(graph: str, **settings: object) -> dict[str, object]:
    return {"model": {"graph": graph, "spins": 4, **settings}}


@pytest.mark.parametrize(
    ("experiment", "settings", "expected"),
    [
        ("errata", [1], "found list, allowed: an object of settings"),
        ("errata", None, "found NoneType, allowed: an object of settings"),
        ("errata", {"modles": 5}, "modles: unknown key; nearest known key: models; allowed: mod"),
        ("errata", {"models": "7"}, 'models: found "7"; allowed: integer'),
        ("errata", {"models": 7.0}, "models: found 7.0; allowed: integer"),
        ("errata", {"models": True}, "models: found true; allowed: integer"),
        ("errata", {"models": 4}, "models: found 4; allowed: greater than or equal to 5"),
        ("errata", {"models": 10**30}, "models: found 1e+30; allowed: integers up to"),
        ("tensorisation", {"samples": [10, 0]}, "samples.1: found 0; allowed: greater than or eq"),
        ("tensorisation", {"fields": ["a"]}, 'fields.0: found "a"; allowed: number'),
        ("product_kernels", {"couplings": [-1, 0]}, "couplings [-1.0, 0.0]: one must be above 0"),
        ("mode_reaching", {"weak": {"clique": 13}}, "weak: clique is 13: allowed is 2 to 12"),
        ("mode_reaching", {"separation": [{"clique": 301}]}, "separation.0: clique is 301: allo"),
        (
            "mode_reaching",
            {"separation": [{"spins": 200}]},
            "separation.0: block_size is 299: allow",
        ),
        ("estimation", {"large": {"spins": 8, "block_sizes": [1, 9]}}, "large: block_sizes holds"),
        ("mask_design", {"block_size": 7}, "block_size is 7: allowed is 1 to 6"),
        ("mask_design", on_graph("tree"), "model.graph: found \"tree\"; allowed: 'path', 'cycle'"),
        ("mask_design", on_graph("path", coupling=[1, "x", 1]), 'model.coupling.1: found "x"; al'),
        ("mask_design", on_graph("path", coupling=[1]), "model: coupling holds 1: allowed are 3"),
        ("mask_design", on_graph("grid", coupling=[1]), "model: coupling holds 1: allowed are 4"),
        ("mask_design", on_graph("complete", coupling=[]), "model: coupling holds 0: allowed are "),
        ("mask_design", on_graph("cycle", field=[0] * 5), "model: field holds 5: allowed are 4 nu"),
        ("mask_design", on_graph("cycle", spins=2), "model: spins is 2: a cycle needs 3 or more"),
        ("mask_design", on_graph("grid", spins=5), "model: spins is 5: a grid needs a square num"),
        ("estimation", {"samples": [10, 5]}, "samples [10, 5] must rise"),
        ("estimation", {"large": {"block_sizes": [4, 4]}}, "large: block_sizes [4, 4] must rise"),
        ("tensorisation", {"couplings": [0.5, 0.1]}, "couplings [0.5, 0.1] must rise"),
        ("product_kernels", {"couplings": [1, 0.5]}, "couplings [1.0, 0.5] must rise"),
        ("mode_reaching", {"weak": {"block_sizes": [3, 1]}}, "weak: block_sizes [3, 1] must rise"),
        ("mode_reaching", {"weak": {"block_sizes": [1]}}, "weak.block_sizes: found"),
        (
            "mode_reaching",
            {"panels": [{"couplings": [0.5]}]},
            "panels: one must have two couplings or more",
        ),
        (
            "mode_reaching",
            {"weak": {"couplings": [0.02, 0.05]}},
            "weak.couplings: found [0.02, 0.05]; allowed: at most 1 entries",
        ),
        ("mode_reaching", {"weak": {"couplings": [0]}}, "weak.couplings.0: found 0; allowed: grea"),
        ("mode_reaching", {"panels": [{"field": -0.1}]}, "panels.0.field: found -0.1; allowed: gr"),
        (
            "mode_reaching",
            {"panels": [{"couplings": [-0.1, 0.5]}]},
            "panels.0.couplings.0: found -0.1; allowed: greater than 0",
        ),
        ("mode_reaching", {"separation": [{"field": 0}]}, "separation.0.field: found 0; allowed: "),
        *(
            (
                "dependent_blocks",
                {"models": [{"graph": "path", "spins": 4, **wrong}], "block_sizes": [2]},
                f"models: one has {shown}: allowed is 0 or more, with one above 0",
            )
            for wrong, shown in (
                ({"coupling": -1}, "coupling -1.0"),
                ({"coupling": 0}, "coupling 0.0"),
                ({"field": [0.2, 0, 0, -0.1]}, "field [0.2, 0.0, 0.0, -0.1]"),
                ({"field": 0}, "field 0.0"),
            )
        ),
        ("dependent_blocks", {"block_sizes": [1, 4]}, "block_sizes holds 1: allowed is 2 to 6"),
        ("dependent_blocks", {"block_sizes": [2, 7]}, "block_sizes holds 7: allowed is 2 to 6"),
        (
            "dependent_blocks",
            {"models": [{"graph": "path", "spins": 2}], "block_sizes": [2]},
            "models: one has 2 spins: allowed is 3 or more",
        ),
        ("mask_design", on_graph("edges"), "model: edges must be given for graph edges"),
        *(
            (
                "mask_design",
                on_graph("edges", edges=edges),
                "model: edges must be different pairs of different vertices from 0 to 3",
            )
            for edges in ([[0]], [[0, 0]], [[0, 4]], [[-1, 0]], [[0, 1], [1, 0]])
        ),
    ],
)
def test_each_mistake_is_one_line_with_file_and_key(
    tmp_path, capsys, experiment, settings, expected
):
    assert refusal(tmp_path, capsys, experiment, settings).startswith(expected)
