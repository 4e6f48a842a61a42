"""Reads YAML config files into one validated `Config`, and spec files into a `RunSpec`.

Several files are merged in order: mappings key by key, everything else replaced. `trainings.NAME`
is then `training_defaults` merged with the entry's differences, and likewise for decoders. `size`
names a preset that lies below `training_defaults`.
Validation is strict: no text where a number belongs, no true for 1, no unknown key. All errors are
reported, one line each: the key's path, what was found, what is allowed, and the nearest known
key.
"""

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

import pydantic
import yaml

from padir.checksums import CHECKSUM, read_with_checksum, rerun_remedy
from padir.config.base import Settings
from padir.config.contents import CONTENTS
from padir.config.data import Dataset, VocabularySpec
from padir.config.decoder import RefinementDecoder, SearchDecoder, builtin_decoders
from padir.config.errors import DEFAULTS, describe, key_as_written, types_at
from padir.config.experiment import Config
from padir.config.presets import SIZES, size_defaults
from padir.config.systems import SEARCHES
from padir.config.teacher import CloudTeacher
from padir.config.theory import EXPERIMENTS
from padir.config.training import RunSpec
from padir.config.unread import refuse_unread
from padir.files import InputError, read_bytes, shown

S = TypeVar("S", bound=Settings)


MOST_NODES = 100_000
MOST_INTEGER = 2**53
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {
    _TAG + kind
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge")
}


def _check_nodes(root: yaml.Node) -> None:
    """Refuse YAML that no config may contain.

    YAML itself forbids a key given twice; PyYAML keeps the last. Aliases may stand for more nodes
    than memory holds, or for themselves.

    Raises:
        InputError: with the line.
    """
    # Nodes below each node, aliases written out; 0 while they are counted.
    sizes: dict[int, int] = {}

    def count(node: yaml.Node) -> int:
        line = node.start_mark.line + 1
        if id(node) in sizes:
            if not sizes[id(node)]:
                raise InputError(f"line {line}: an alias stands for a value that holds it")
            return sizes[id(node)]
        if node.tag not in _PLAIN_TAGS:
            tag = node.tag.replace(_TAG, "!!")
            raise InputError(
                f"line {line}: tag {tag!r} is not allowed; allowed are text, numbers, true and"
                " false, null, lists and mappings"
            )
        sizes[id(node)] = 0
        parts: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            parts = node.value
        elif isinstance(node, yaml.MappingNode):
            _check_keys([key for key, _ in node.value])
            parts = [part for pair in node.value for part in pair]
        size = sizes[id(node)] = 1 + sum(map(count, parts))
        if size > MOST_NODES:
            raise InputError(
                f"line {line}: more than {MOST_NODES:,} values once aliases are written out"
            )
        return size

    count(root)


def _check_keys(keys: Iterable[yaml.Node]) -> None:
    seen: dict[str, int] = {}
    for key in keys:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise InputError(f"line {line}: a key is a list or a mapping; allowed is text")
        if key.value in seen and key.tag != _TAG + "merge":
            twice = f"key {key.value!r} given twice, first in line {seen[key.value]}"
            remedy = "merge the two, or put the second in a file of its own"
            raise InputError(f"line {line}: {twice}: {remedy}")
        seen[key.value] = line


def _load_yaml(text: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_nodes(node)
        return loader.construct_document(node)
    except RecursionError:
        raise InputError("not YAML: nested too deeply") from None
    finally:
        loader.dispose()


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read one YAML mapping; a key given twice is an error.

    Raises:
        InputError: the file is missing, no YAML, not a mapping, repeats a key, or holds what is no
            setting.
    """
    name, content = shown(str(path)), read_bytes(path)
    try:
        settings = _load_yaml(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start}: not valid UTF-8") from error
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise InputError(f"{name}: line {line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError) as error:
        # ValueError: a date that is none, or an integer of thousands of digits.
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: not YAML: {reason}") from error
    if not isinstance(settings, dict):
        kind = "nothing" if settings is None else type(settings).__name__
        raise InputError(f"{name}: found {kind}, allowed: a mapping of settings")
    # The settings of a whole run, which the workflow writes as JSON, serve as a config file, too.
    return read_with_checksum(path, rerun_remedy(path)) if CHECKSUM in settings else settings


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes`: mappings are merged key by key, anything else is replaced."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = merge(old, value)
        merged[key] = value
    return merged


def _plain(value: Any, path: tuple[str, ...] = ()) -> Any:
    """A value as JSON types."""
    where = ".".join(path)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{where or 'config'}: key {key!r} is not text; put it in quotes")
        return {key: _plain(item, (*path, shown(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, str(index))) for index, item in enumerate(value)]
    if isinstance(value, datetime.date):
        raise InputError(f"{where}: found the date {value}; put it in quotes if it is text")
    if isinstance(value, Path):
        return str(value)
    if value is not None and not isinstance(value, str | int | float):
        raise InputError(f"{where}: found {type(value).__name__}, allowed: what JSON can hold")
    return value


def _with_numbers(kind: type[Settings], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in which text that YAML 1.2 reads as a number or truth value is one, unless the
    setting may be text, and as null where the setting may be null.

    YAML 1.1 takes 1e-3 for text, and Snakemake hands over every nested value of `--config` as text,
    without its quotes.
    """

    def converted(value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: converted(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [converted(item, (*path, str(index))) for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        types = types_at(kind, path, settings)
        if value == "null" and NoneType in types:
            return None
        scalar = _scalar(value)
        return value if isinstance(scalar, str) or str in types else scalar

    return {key: converted(item, (key,)) for key, item in settings.items()}


def _scalar(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    if not text or not set(text) <= set("0123456789+-.eE") or not any(map(str.isdigit, text)):
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _with_defaults(mapping: dict[str, Any]) -> dict[str, Any]:
    """Replace defaults and differences by whole trainings and decoders; add built-in decoders."""
    settings = dict(mapping)
    size = settings.pop("size", None)
    if size is not None and (not isinstance(size, str) or size not in SIZES):
        raise InputError(f"size: found {size!r}; allowed: {', '.join(SIZES)}")
    for key, kind in DEFAULTS.items():
        defaults = settings.pop(kind, {})
        if not isinstance(defaults, dict):
            raise InputError(f"{kind}: found {defaults!r}, allowed: a mapping of settings")
        if size is not None and key == "trainings":
            defaults = merge(size_defaults(size), defaults)
        entries = settings.get(key, {} if key == "decoders" else None)
        if not isinstance(entries, dict):
            continue
        if key == "decoders":
            if "kind" in defaults:
                raise InputError(
                    f"{kind}.kind: decoders share no kind; allowed: decoders.NAME.kind"
                )
            entries = {**{name: {} for name in builtin_decoders()}, **entries}
        settings[key] = {
            name: _whole(key, name, defaults, {} if entry is None else entry)
            for name, entry in entries.items()
        }
    return settings


def _whole(key: str, name: str, defaults: dict[str, Any], entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    if key == "decoders":
        # A built-in decoder is of the kind that it is named after, any other PaDIR's by default.
        entry = {"kind": name if name in builtin_decoders() else "padir", **entry}
        search, refinement = SearchDecoder.model_fields, RefinementDecoder.model_fields
        if entry["kind"] in SEARCHES:
            defaults = {field: value for field, value in defaults.items() if field in search}
        else:
            others = search.keys() - refinement
            defaults = {field: value for field, value in defaults.items() if field not in others}
    return merge(defaults, entry)


def _too_large(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Path and size of each integer beyond what a JSON number holds exactly."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    elif isinstance(value, int) and abs(value) > MOST_INTEGER:
        # Python writes no integer of thousands of digits out.
        yield path, f"{value:.3g}" if abs(value) < 10**300 else "an integer beyond 1e+300"
    for key, item in items:
        yield from _too_large(item, (*path, str(key)))


def _validate(kind: type[S], mapping: Mapping[str, Any], given: Mapping[str, Any], label: str) -> S:
    large = {key_as_written(path, given): number for path, number in _too_large(mapping)}
    if large:
        allowed = f"allowed: integers up to {MOST_INTEGER}"
        lines = [f"{label}{key}: found {number}; {allowed}" for key, number in large.items()]
        raise InputError("\n".join(lines))
    try:
        return kind.model_validate_json(json.dumps(mapping), strict=True)
    except pydantic.ValidationError as error:
        lines = describe(error, kind, mapping, given)
        raise InputError("\n".join(f"{label}{line}" for line in lines)) from None


def check_config(mapping: Mapping[str, Any]) -> Config:
    """Validate a merged mapping, such as Snakemake's `config`; InputError has a line per error."""
    given = _plain(mapping)
    # Snakemake merges files as they are; `read_yaml` has compared it.
    given.pop(CHECKSUM, None)
    settings = _with_numbers(Config, _with_defaults(given))
    config = _validate(Config, settings, given, "config: ")
    refuse_unread(given, config)
    return config


def with_base(mapping: Mapping[str, Any], paths: Sequence[str | Path]) -> dict[str, Any]:
    """Merge a mapping over the file that its key `extends` names.

    Args:
        mapping: of all config files and the command line.
        paths: the config files; `extends` is relative to the one that has it.

    Raises:
        InputError: it names no file, or a file that extends another.
    """
    given = dict(mapping)
    base = given.pop("extends", None)
    if base is None:
        return given
    if not isinstance(base, str):
        raise InputError(f"extends: found {base!r}, allowed: the path of a config file")
    bases = {
        Path(path).parent / str(written): str(written)
        for path in paths
        if (written := read_yaml(path).get("extends")) is not None
    }
    if len({path.resolve() for path in bases}) > 1:
        listed = " and ".join(map(shown, bases))
        raise InputError(f"extends: the config files extend {listed}; allowed is one file")
    # One from the command line is relative to the working folder.
    extended = next((path for path, written in bases.items() if written == base), Path(base))
    below = read_yaml(extended)
    if "extends" in below:
        raise InputError(
            f"{shown(str(extended))}: a file that is extended extends no other; extend"
            " what it extends, and give both files after --configfile"
        )
    return merge(below, given)


def load_config(paths: Sequence[str | Path], overrides: Mapping[str, Any] | None = None) -> Config:
    """Read, merge and validate YAML files.

    Args:
        paths: later files override earlier ones.
        overrides: merged over all files.
    """
    if not paths:
        raise InputError("no config file was given")
    merged: dict[str, Any] = {}
    for path in paths:
        merged = merge(merged, read_yaml(path))
    return check_config(with_base(merge(merged, overrides or {}), paths))


def refuse_repeated_keys(paths: Iterable[str | Path]) -> None:
    """Refuse files in which a key is given twice, which merging would hide."""
    for path in paths:
        read_yaml(path)


def _read_json_settings(kind: type[S], path: str | Path) -> S:
    label, mapping = f"{shown(path)}: ", read_with_checksum(path, rerun_remedy(path))
    if not isinstance(mapping, dict):
        raise InputError(f"{label}found {type(mapping).__name__}, allowed: an object of settings")
    if kind in (Dataset, VocabularySpec):
        # The workflow writes it beside the settings.
        mapping.pop(CONTENTS, None)
    return _validate(kind, mapping, mapping, label)


def read_spec(path: str | Path) -> RunSpec:
    """Read a run's `spec.json`. Raises InputError with one line per error."""
    return _read_json_settings(RunSpec, path)


def read_dataset(path: str | Path) -> Dataset:
    """Read a dataset's settings as written by `data_spec`."""
    return _read_json_settings(Dataset, path)


def read_vocabulary_settings(path: str | Path) -> VocabularySpec:
    """Read the settings of a vocabulary as written by `vocabulary_spec`."""
    return _read_json_settings(VocabularySpec, path)


def read_experiment(name: str, path: str | Path | None) -> Settings:
    """Read the settings of an Ising experiment.

    Args:
        name: of the experiment, one of `EXPERIMENTS`.
        path: JSON file; None: all defaults.
    """
    kind = EXPERIMENTS[name]
    return kind() if path is None else _read_json_settings(kind, path)


def cloud_teacher(path: str | Path | None, changes: Mapping[str, Any]) -> CloudTeacher:
    """The settings of a Cloud Translation teacher, with changes from the command line.

    Args:
        path: JSON file of an entry under `teachers`, or the JSON itself; None: all defaults.
        changes: values by key.
    """
    if isinstance(path, str) and path.startswith("{"):
        try:
            given = json.loads(path)
        except ValueError as error:
            raise InputError(f"teacher: not JSON: {error}") from error
    else:
        read = CloudTeacher() if path is None else _read_json_settings(CloudTeacher, path)
        given = read.model_dump(mode="json")
    mapping = {**given, **changes}
    return _validate(CloudTeacher, mapping, mapping, "teacher: ")
