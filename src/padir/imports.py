"""Source files that a module depends on: the closure of its imports within this package.

The workflow lists them as input of cheap stages: an edit of the code reruns what it changes. Only
imports are followed. `padir.config` reads the names of policies from the text of
`padir.decode.policies` and `padir.training.corruption`: they decide which settings are valid, and
no result. What decodes or trains imports the policies themselves.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
# They say how far a process is, or what made a file, and change no result.
WITHOUT_EFFECT = frozenset({"padir.launch", "padir.progress", "padir.provenance"})


def source_files(*modules: str) -> list[Path]:
    """Source files of modules and of everything of this package that they import, sorted.

    Args:
        modules: full names, such as `padir.commands.decode`; a package stands for all in it.

    Raises:
        ValueError: there is no such module.
    """
    waiting, files = list(modules), set()
    while waiting:
        name = waiting.pop()
        if name in WITHOUT_EFFECT:
            continue
        for path in _files(name):
            if path not in files:
                files.add(path)
                waiting += _imported(path)
    return sorted(files)


def _files(name: str) -> list[Path]:
    path = PACKAGE.joinpath(*name.split(".")[1:])
    if path.is_dir():
        # Templates of pages are code too.
        suffixes = (".py", ".html", ".css", ".js")
        return sorted(file for file in path.rglob("*") if file.suffix in suffixes)
    if not path.with_suffix(".py").is_file():
        raise ValueError(f"no module {name}")
    return [path.with_suffix(".py")]


@cache
def _imported(path: Path) -> list[str]:
    """Modules of this package that a file imports, wherever the statement stands."""
    if path.suffix != ".py":
        return []
    return sorted(set(_names(ast.parse(path.read_text(encoding="utf-8")))))


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those of blocks too; `ast.walk` would enter every expression."""
    for statement in body:
        yield statement
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(statement, field, []))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("padir."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "padir":
            for alias in node.names:
                # What is imported is a module, or a name of one.
                inner = PACKAGE.joinpath(*f"{node.module}.{alias.name}".split(".")[1:])
                is_module = inner.with_suffix(".py").is_file() or inner.is_dir()
                yield f"{node.module}.{alias.name}" if is_module else str(node.module)
