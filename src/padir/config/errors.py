"""Errors of settings in one line each: key path, what was found, what is allowed."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pydantic

from padir.config.base import NAME_PATTERN, Settings
from padir.files import shown

SHOWN_CHARACTERS = 60

DEFAULTS = {"trainings": "training_defaults", "decoders": "decoder_defaults"}


def describe(
    error: pydantic.ValidationError,
    kind: type[Settings],
    settings: Mapping[str, Any],
    given: Mapping[str, Any],
) -> list[str]:
    """One line per wrong key.

    Args:
        error: what validation of `settings` found.
        kind: the settings that were expected.
        settings: what was validated.
        given: what the user wrote; a wrong default of all models is named as such, once.
    """
    allowed: dict[tuple[str, str], list[str]] = {}
    for problem, path in _of_closest_members(error.errors(include_url=False), settings):
        head, choices = _sentence(problem, path, kind, settings)
        known = allowed.setdefault((key_as_written(path, given), head), [])
        if choices not in known:
            known.append(choices)
    lines = []
    for (label, head), known in allowed.items():
        choices = " or ".join(filter(None, known))
        text = f"{label}: {head}" if label else head
        lines.append(f"{text}; allowed: {choices}" if choices else text)
    return lines


def key_as_written(path: Sequence[str], given: Mapping[str, Any]) -> str:
    """The key of a setting as the user wrote it, or its default."""
    return ".".join(map(shown, _as_written(list(path), given)))


def _of_closest_members(
    problems: Sequence[Any], settings: Mapping[str, Any]
) -> list[tuple[Any, list[str]]]:
    """Problems with their paths. Each member of a union has its own; where one takes values of the
    type that was found, only its problems tell what to change."""
    located = [(problem, _path(problem, settings)) for problem in problems]
    within: set[tuple[str, ...]] = set()
    for problem, path in located:
        if problem["loc"][-1:] != ("[key]",):
            depth = len(path) if _of_type(problem) else len(path) + 1
            within |= {tuple(path[:length]) for length in range(depth)}
    return [
        (problem, path)
        for problem, path in located
        if not (_of_type(problem) and tuple(path) in within)
    ]


def _of_type(problem: Any) -> bool:
    return problem["type"].endswith("_type")


def _sentence(
    problem: Any, path: list[str], kind: type[Settings], settings: Mapping[str, Any]
) -> tuple[str, str]:
    """One pydantic error in words: what is wrong, and what is allowed."""
    context = problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            keys = sorted(_keys_at(kind, path[:-1], settings))
            # Of keys that share few letters none is meant.
            nearest = difflib.get_close_matches(path[-1], keys, n=1, cutoff=0.5)
            inside = [f"{group}.{path[-1]}" for group in _groups_with(kind, path, settings)]
            advice = f"; nearest known key: {' or '.join(inside or nearest)}"
            advice = advice if inside or nearest else ""
            return f"unknown key{advice}", ", ".join(keys)
        case "missing":
            return "missing", ""
        case "value_error":
            return str(context["error"]), ""
        case "union_tag_not_found":
            tags = {tag for chosen in types_at(kind, path, settings) for tag in kinds(chosen)}
            allowed = "kind: " + ", ".join(sorted(tags))
            return f"missing {context['discriminator'].strip(chr(39))}", allowed
        case "union_tag_invalid":
            return f"found kind {context['tag']!r}", context["expected_tags"]
        case "string_pattern_mismatch" if context["pattern"] == NAME_PATTERN:
            allowed = "a letter, then letters, digits and underscores"
        case "literal_error":
            allowed = context["expected"]
        case "model_type" if context["class_name"] == "Rows":
            allowed = "rows, such as {trainings: [padir], decoders: [padir], passes: [1, 4]}"
        case "list_type" | "tuple_type":
            number = isinstance(problem["input"], int | float)
            allowed = f"a list, such as [{excerpt(problem['input'])}]" if number else "a list"
        case "too_short":
            allowed = f"at least {context['min_length']} entries"
        case "too_long":
            allowed = f"at most {context['max_length']} entries"
        case _:
            allowed = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    return f"found {excerpt(problem['input'])}", allowed


def excerpt(value: Any) -> str:
    """A value as JSON on one line, cut to `SHOWN_CHARACTERS`."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if text.isprintable() else json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def _path(problem: Any, settings: Mapping[str, Any]) -> list[str]:
    """Keys that lead to the error, without the union members in pydantic's location."""
    path: list[str] = []
    here: Any = settings
    location = [part for part in problem["loc"] if part != "[key]"]
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(here, Mapping) and here.get("kind") == part and not last:
            # The tag of a union, which may be a key as well (kind: model, kind: beam).
            continue
        inside_mapping = isinstance(here, Mapping) and part in here
        inside_list = isinstance(here, list) and isinstance(part, int) and part < len(here)
        if inside_mapping or inside_list:
            here = here[part]
            path.append(str(part))
        elif problem["type"] == "missing" and last:
            path.append(str(part))
    return path


def _as_written(path: list[str], given: Mapping[str, Any]) -> list[str]:
    """The key as written: `training_defaults.KEY` for a `trainings.NAME.KEY` that is set there."""
    if len(path) < 3 or path[0] not in DEFAULTS or _holds(given, path):
        return path
    written = [DEFAULTS[path[0]], *path[2:]]
    return written if _holds(given, written) else path


def _holds(here: Any, path: list[str]) -> bool:
    for part in path:
        if isinstance(here, Mapping) and part in here:
            here = here[part]
        elif isinstance(here, list) and part.isdigit() and int(part) < len(here):
            here = here[int(part)]
        else:
            return False
    return True


def _keys_at(kind: type[Settings], path: list[str], settings: Mapping[str, Any]) -> set[str]:
    keys = {key for chosen in types_at(kind, path, settings) for key in _fields(chosen)}
    top = not path and "trainings" in keys
    return keys | ({*DEFAULTS.values(), "extends", "size"} if top else set())


def _groups_with(
    kind: type[Settings], path: Sequence[str], settings: Mapping[str, Any]
) -> Iterator[str]:
    """Groups beside the key that a path ends in which have a key of its name: `training` for a
    training's `steps`. Of a tagged union, only the selected member counts."""
    for candidate in types_at(kind, path[:-1], settings):
        for name, field in _fields(candidate).items():
            group = [*path[:-1], name]
            given = _holds(settings, group)
            types = types_at(kind, group, settings) if given else members(field.annotation)
            if any(path[-1] in _fields(member) for member in types):
                yield name


def types_at(kind: type[Settings], path: Sequence[str], settings: Mapping[str, Any]) -> list[Any]:
    """Types allowed at a path; of a tagged union, only the selected member."""
    candidates: list[Any] = [kind]
    here: Any = settings
    for part in path:
        following: list[Any] = []
        for candidate in candidates:
            if get_origin(candidate) is dict:
                following += members(get_args(candidate)[1])
            elif get_origin(candidate) is list:
                following += members(get_args(candidate)[0])
            elif part in _fields(candidate):
                following += members(_fields(candidate)[part].annotation)
        here = here[int(part)] if isinstance(here, list) else here[part]
        tag = here.get("kind") if isinstance(here, Mapping) else None
        candidates = [candidate for candidate in following if tag in kinds(candidate)] or following
    return candidates


def _fields(candidate: Any) -> dict[str, Any]:
    """Fields of a class of settings; none of another type."""
    return getattr(candidate, "model_fields", {})


def kinds(candidate: Any) -> tuple[str, ...]:
    """The kinds that a class of settings stands for."""
    fields = _fields(candidate)
    return get_args(fields["kind"].annotation) if "kind" in fields else ()


def members(annotation: Any) -> Iterator[Any]:
    """The types inside Annotated and unions."""
    if get_origin(annotation) is Annotated:
        yield from members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from members(member)
    elif get_origin(annotation) is not Literal:
        yield annotation
