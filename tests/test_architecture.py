"""Who may import what, how long a module may be, and what may not stand in one."""

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "padir"
LONGEST = 400
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
FORBIDDEN_CALLS = {"eval", "exec"}

# Part of the package -> parts that it may import besides itself. A part is a module or a folder
# directly under src/padir.
ALLOWED: dict[str, set[str]] = {
    "shapes": set(),
    "ids": set(),
    "temporary": set(),
    "files": {"temporary"},
    "languages": {"files"},
    "bundle": {"cards", "files"},
    "cards": {"files"},
    "checksums": {"files"},
    "cleaned": {"checksums", "files"},
    "progress": set(),
    "devices": set(),
    "launch": {"peers"},
    "peers": {"files"},
    "locks": {"files", "provenance", "temporary"},
    "remote": {"files", "progress"},
    "imports": set(),
    "invocation": {"files"},
    "layout": {"config"},
    "jobs": {"config", "layout"},
    "priorities": {"config"},
    "config": {"checksums", "files", "languages"},
    "provenance": {"checksums", "files"},
    "tokens": {"ids", "shapes"},
    "vocab": {"config", "files", "ids"},
    "data": {
        *("cards", "checksums", "config", "files", "ids", "shapes", "temporary", "vocab"),
        *("languages", "progress"),
    },
    "model": {"cards", "config", "ids", "shapes"},
    "theory": {"config", "files", "progress"},
    "training": {
        *("config", "devices", "ids", "shapes", "tokens", "files", "progress", "vocab", "data"),
        *("bundle", "checksums", "imports", "model", "locks", "temporary"),
    },
    "decode": {
        *("config", "devices", "ids", "shapes", "tokens", "files", "vocab", "model", "progress"),
        *("bundle", "checksums", "launch"),
    },
    "distill": {
        *("checksums", "config", "files", "languages", "locks", "progress", "decode", "data"),
        "score",
    },
    "score": {"files", "languages"},
    "analysis": {
        *("config", "files", "ids", "tokens", "progress", "data", "decode", "model", "score"),
    },
    "library": {"config", "decode", "files", "score"},
    "hub": {"bundle", "cards", "files", "library", "model", "temporary"},
    "server": {"config", "files", "library"},
    "planning": {
        "checksums",
        "config",
        "data",
        "files",
        "languages",
        "launch",
        "locks",
        "model",
        "progress",
        "score",
        "temporary",
        "vocab",
    },
    "report": {
        *("cards", "checksums", "config", "files", "invocation", "layout", "provenance", "score"),
    },
    "outputs": {"config", "jobs", "layout", "report"},
}


def parts() -> list[str]:
    """Parts that the table must name: all but the command line."""
    names = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__", "cli"}
    names |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"commands"}
    return sorted(names)


def modules(part: str) -> list[Path]:
    folder = PACKAGE / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of all modules that a tree imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            yield from ([f"padir.{a.name}" for a in node.names] if module == "padir" else [module])


def own_parts(names: Iterator[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("padir.")}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
ALL = [*SOURCES, *TESTS, *sorted((ROOT / "workflow").rglob("*.py"))]
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("part", parts())
def test_a_part_imports_only_what_it_may(part):
    assert part in ALLOWED, f"say in tests/test_architecture.py what {part} may import"
    for path in modules(part):
        forbidden = own_parts(imported(parse(path))) - ALLOWED[part] - {part}
        assert not forbidden, f"{name_of(path)} must not import {sorted(forbidden)}"


def test_the_table_of_imports_has_no_cycle():
    done: set[str] = set()
    while len(done) < len(ALLOWED):
        ready = {part for part, needs in ALLOWED.items() if part not in done and needs <= done}
        assert ready, f"a cycle among {sorted(set(ALLOWED) - done)}"
        done |= ready


def test_nothing_imports_commands_but_the_command_line():
    for path in SOURCES:
        if path.parent.name == "commands" or path.stem in ("cli", "__main__"):
            continue
        assert not own_parts(imported(parse(path))) & {"commands", "cli"}, name_of(path)


def test_the_command_line_loads_nothing_heavy():
    """`padir --help` answers at once: commands import JAX inside main."""
    heavy = {"jax", "flax", "orbax", "tensorflow", "matplotlib", "snakemake", "sacrebleu"}
    for path in [*modules("commands"), PACKAGE / "cli.py", PACKAGE / "__main__.py"]:
        top = ast.Module(body=[n for n in parse(path).body if not is_block(n)], type_ignores=[])
        assert not {name.split(".")[0] for name in imported(top)} & heavy, name_of(path)


@pytest.mark.parametrize("path", [*ALL, *BENCHMARKS], ids=name_of)
def test_what_is_imported_from_the_package_exists(path):
    """Inside functions too, which a run may reach after hours, or never in the tests."""
    for node in ast.walk(parse(path)):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != "padir":
            continue
        module = importlib.import_module(str(node.module))
        for name in (alias.name for alias in node.names):
            if not hasattr(module, name):
                importlib.import_module(f"{node.module}.{name}")


def is_block(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_source_knows_snakemake_or_parses_arguments_below_the_commands(path):
    names = {name.split(".")[0] for name in imported(parse(path))}
    assert "snakemake" not in names
    if path.parent.name != "commands":
        assert "argparse" not in names


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_modules_are_short_and_free_of_unsafe_means(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert path.stem not in ("utils", "util", "helpers", "misc")
    tree = parse(path)
    if path not in TESTS:  # a test may forge a hostile file
        assert not {name.split(".")[0] for name in imported(tree)} & FORBIDDEN_IMPORTS
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"line {node.lineno}"
        if isinstance(node, ast.keyword) and node.arg in ("shell", "allow_pickle"):
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            assert value is False, f"line {node.value.lineno}: {node.arg}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_sources_check_input_without_assert_and_name_their_exceptions(path):
    for node in ast.walk(parse(path)):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}: raise an error instead"
        if isinstance(node, ast.ExceptHandler):
            names = ast.unparse(node.type) if node.type else "everything"
            assert names not in ("everything", "Exception", "BaseException"), f"line {node.lineno}"
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = ast.unparse(node.exc).split("(")[0]
            assert raised not in ("Exception", "BaseException"), f"line {node.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_every_public_thing_is_explained(path):
    tree = parse(path)
    public = [
        node
        for node in tree.body
        if is_block(node) and not getattr(node, "name", "_").startswith("_")
    ]
    if public:
        assert ast.get_docstring(tree), "module docstring"
    for node in public:
        assert ast.get_docstring(node), f"line {node.lineno}"  # type: ignore[arg-type]
