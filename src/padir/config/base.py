"""Base class and shared types of all settings."""

import ast
import re
from functools import partial
from operator import eq
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from padir.files import digest

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_]*$"

# Names become parts of paths: letters, digits and underscore only.
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=40)]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]
Direction = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}-[a-z]{2,3}$")]


def _usable_path(path: str) -> str:
    """Refuse an empty path, braces, which Snakemake would read as wildcards, and control
    characters."""
    if not path.strip():
        raise ValueError(f"the path of a file is needed, found {path!r}")
    wrong = re.search(r"[{}\x00-\x1f\x7f]", path)
    if wrong or path.startswith("-"):
        raise ValueError(
            f"a path without braces and control characters, not beginning with '-', is needed,"
            f" found {path!r}: rename it, or name a link to it"
        )
    return path


# The path of a file of the user's.
FilePath = Annotated[str, AfterValidator(_usable_path)]

# What a result depends on: a digest by stage (see `padir.config.identity`).
Digests = dict[str, str]


def short_digest(value: Any) -> str:
    """The first 16 hexadecimal digits of the digest of JSON data."""
    return digest(value)[:16]


def policy_names(source: str) -> dict[str, list[str]]:
    """Names of policies that settings may choose from, by mapping of a module.

    Args:
        source: the module's path in this package. Its text is read: importing it would load JAX
            wherever settings are read.
    """
    text = Path(__file__).parents[1].joinpath(source).read_text(encoding="utf-8")
    return {
        node.target.id: [ast.literal_eval(key) for key in node.value.keys if key]
        for node in ast.parse(text).body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(node.value, ast.Dict)
    }


def added(default: Any, **options: Any) -> Any:
    """A field that came after models had been trained: what is dumped, and with it every digest,
    holds it only where it is not at its default, so that older results stay valid.

    Args:
        default: what the code did before there was the field. It never changes: a digest could not
            tell the old one from the new one.
        options: of `pydantic.Field`.
    """
    return Field(default=default, exclude_if=partial(eq, default), **options)


# What a random key is made of.
Seed = Annotated[int, Field(ge=0, lt=2**32)]


class Settings(BaseModel):
    """Base of all settings: frozen, finite, unknown keys refused, defaults validated.

    What a setting means stands in its `description`, or in a docstring below it.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
