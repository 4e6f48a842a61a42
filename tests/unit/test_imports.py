"""Which source files a stage's result depends on, by what its command imports."""

import ast
import re
from pathlib import Path

import pytest

from padir import imports
from padir.cli import VERBS
from padir.imports import PACKAGE, source_files

SOURCES = sorted(PACKAGE.rglob("*.py"))


def parts(*modules: str) -> set[str]:
    """Packages and modules directly below `padir` that modules depend on."""
    return {path.relative_to(PACKAGE).parts[0] for path in source_files(*modules)}


@pytest.mark.parametrize(
    ("command", "depends_on", "independent_of"),
    [
        (
            "decode",
            {"model", "decode", "config", "tokens.py", "vocab.py", "files.py", "ids.py"},
            {"analysis", "report", "score", "theory", "training", "data", "distill", "planning"},
        ),
        (
            "latency",
            {"model", "decode", "tokens.py", "vocab.py"},
            {"analysis", "report", "theory", "training", "distill"},
        ),
        ("report", {"report", "config", "files.py"}, {"model", "decode", "training", "vocab.py"}),
        ("score", {"score", "files.py"}, {"model", "decode", "analysis", "report", "training"}),
        ("analyse", {"analysis", "decode", "model"}, {"report", "theory", "distill"}),
    ],
)
def test_a_stage_depends_on_what_it_computes_with(command, depends_on, independent_of):
    imported = parts(f"padir.commands.{command}")
    assert depends_on <= imported
    assert not independent_of & imported


def test_the_model_s_code_is_all_there_for_decoding():
    files = set(source_files("padir.commands.decode"))
    names = ("model/transformer.py", "model/attention.py", "decode/refine.py", "tokens.py")
    assert {PACKAGE / name for name in names if (PACKAGE / name).exists()} <= files
    assert PACKAGE / "tokens.py" in files and PACKAGE / "vocab.py" in files


@pytest.mark.parametrize("verb", ["decode", "tune", "distill", "latency", "analyse", "translate"])
def test_every_decoding_verb_depends_on_the_policies(verb):
    """Settings read their names as text, which is no import."""
    assert PACKAGE / "decode/policies.py" in source_files(f"padir.commands.{verb}")


def test_sources_that_change_no_result_are_left_out():
    everything = {path for verb in VERBS.values() for path in source_files(verb[0])}
    for name in imports.WITHOUT_EFFECT:
        path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        assert path.is_file(), name
        assert path not in everything


def test_importing_a_package_includes_its_modules():
    folder = PACKAGE / "report"
    files = set(source_files("padir.report"))
    assert set(folder.rglob("*.py")) <= files
    assert set(folder.glob("templates/*")) <= files


@pytest.mark.parametrize("name", ["padir.nothing", "padir.commands.nothing", "padir.files.nothing"])
def test_an_unknown_module_is_refused(name):
    with pytest.raises(ValueError, match=rf"^no module {re.escape(name)}$"):
        source_files(name)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of this name with modules of one's own."""

    def write(**modules: str) -> None:
        for name, text in modules.items():
            path = tmp_path.joinpath(*name.split("__")).with_suffix(".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    monkeypatch.setattr(imports, "PACKAGE", tmp_path)
    return write


def names(*modules: str) -> list[str]:
    return [str(path.relative_to(imports.PACKAGE)) for path in source_files(*modules)]


@pytest.mark.parametrize(
    "statement",
    [
        "import padir.inner.b",
        "import padir.inner.b as renamed",
        "from padir.inner import b",
        "from padir.inner.b import name",
        "from padir.inner.b import *",
        "def f():\n    from padir.inner import b",
        "class C:\n    def f(self):\n        if True:\n            import padir.inner.b",
        "if TYPE_CHECKING:\n    from padir.inner.b import name",
        "try:\n    from padir.inner import b\nexcept ImportError:\n    pass",
    ],
)
def test_an_import_counts_wherever_it_stands(package, statement):
    package(a=statement, inner__b="import numpy\nname = 1", inner__c="", d="import padir.a")
    assert names("padir.a") == ["a.py", "inner/b.py"]
    assert names("padir.d") == ["a.py", "d.py", "inner/b.py"]


def test_modules_may_import_each_other(package):
    package(a="import padir.b", b="from padir import a", c="")
    assert names("padir.a") == names("padir.b") == ["a.py", "b.py"]
    assert names("padir.a", "padir.c") == ["a.py", "b.py", "c.py"]


def test_names_like_ours_are_not_ours(package):
    package(a="import padirs.b\nfrom padirs import b\nimport numpy", b="")
    assert names("padir.a") == ["a.py"]


def test_sources_use_no_relative_import_and_no_package_with_code_of_its_own():
    """Neither is followed: `source_files` reads absolute imports, and no `__init__`.

    The library's names are in the root package and in `padir.score`, for `import padir` alone.
    """
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        relative = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]
        assert not relative, path
        if path.name == "__init__.py" and path.parent not in (PACKAGE, PACKAGE / "score"):
            assert not [n for n in tree.body if not isinstance(n, ast.Expr)], path


def test_a_number_of_passes_is_parsed_in_one_place():
    """`T4` is read by `padir.config.rows`, and by no pattern or prefix elsewhere."""
    reading = re.compile(
        r"""["']\^?\(?\\?\.?T(\(|\[|\\d)|(removeprefix|lstrip|startswith|split|partition)"""
        r"""\(["']\.?T["']\)"""
    )
    readers = [path for path in SOURCES if reading.search(path.read_text(encoding="utf-8"))]
    assert [str(path.relative_to(PACKAGE)) for path in readers] == [str(Path("config/rows.py"))]
