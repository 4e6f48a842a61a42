"""Check that a document has the shape that the report needs, before anything is made of it.

A shape has the keys that the report uses, with their types; other keys are passed over. A damaged
file, or one of another version, is one line that names file and key.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from padir.config.errors import excerpt
from padir.files import InputError, shown

T = TypeVar("T")
ADVICE = "damaged, or of another version of padir: delete the file and run again what makes it"
# So that sums, squares and ratios of numbers stay finite.
LARGEST = 1e100
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Time = Annotated[float, Field(ge=1 / LARGEST, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Numbers = Annotated[list[Number], Field(min_length=1)]
Ends = Annotated[list[Number], Field(min_length=2, max_length=2)]
# Matplotlib reads what stands between dollar signs as mathematics.
Label = Annotated[str, Field(pattern=r"^[^$]*$")]


class Shape(BaseModel):
    """Base of all shapes: no conversion, further keys are passed over."""

    model_config = ConfigDict(strict=True, extra="ignore", protected_namespaces=())


def checked(path: str, document: T, shape: type[Shape], line: int = 0) -> T:
    """The document itself, if it has the shape.

    Args:
        path: of its file.
        document: as parsed.
        shape: that it must have.
        line: its number in a file of JSON lines; 0 for a whole file.

    Raises:
        InputError: names the file, the line, a key that is wrong, and what it holds.
    """
    try:
        shape.model_validate(document)
    except ValidationError as error:
        # Of a union's members the one that the document fits best.
        problem = max(error.errors(include_url=False), key=lambda problem: len(problem["loc"]))
        where = f"{shown(path)}: line {line}" if line else shown(path)
        raise InputError(f"{where}: {_sentence(problem, document)}; {ADVICE}") from None
    return document


def _sentence(problem: Any, document: Any) -> str:
    keys, here = [], document
    for part in problem["loc"]:
        is_there = part in here if isinstance(here, Mapping) else isinstance(part, int)
        if is_there:
            here = here[part]
        # What else pydantic names are the members of a union.
        if is_there or problem["type"] == "missing":
            keys.append(shown(str(part)))
    if not keys:
        reason = problem.get("ctx", {}).get("error")
        return "not a JSON object" if reason is None else str(reason)
    key = f"key {'.'.join(keys)}"
    if problem["type"] == "missing" or problem["input"] is None:
        return f"{key} is missing or null"
    if problem["type"] == "value_error":
        return f"{key}: {problem['ctx']['error']}"
    allowed = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    return f"{key}: found {excerpt(problem['input'])}, allowed: {allowed}"


def equally_long(lists: Mapping[str, Sequence[Any] | None], length: int) -> None:
    """Refuse a list of another length; None is passed over."""
    for name, values in lists.items():
        if values is not None and len(values) != length:
            raise ValueError(f"{name} has {len(values)} values, {length} are needed")
