"""The JSON schema of config files, and config/README.md, generated from the settings models.

The models are the only definition of a setting; a test compares both files with what this
module writes (`padir schema`).
"""

import json
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic.fields import FieldInfo

from padir.config.base import Settings
from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.errors import kinds, members
from padir.config.experiment import Config
from padir.config.presets import SIZES

SCHEMA_PATH = "workflow/schemas/config.schema.json"
README_PATH = "config/README.md"

INTRODUCTION = """\
# Settings

Written by `padir schema` from the models in `src/padir/config`; do not edit by hand.

- `snakemake --cores N` runs `config/config.yaml`. `--configfile config/multi30k.yaml` runs that
  file instead: a config file is complete in itself. Several files after `--configfile` are merged
  in order: mappings key by key, everything else is replaced. Targets stand before that option, or
  after `--`.
- `extends: grid.yaml` in a file makes `grid.yaml`, in the same folder, its base: one level of
  inheritance.
- `--config` sets single values on the command line:
  `snakemake --cores 2 --config 'trainings={padir: {training: {steps: 2000}}}'`. They are merged
  over the files and validated in the same way.
- `training_defaults` takes every key of an entry under `trainings`, and `decoder_defaults` every
  key of an entry under `decoders`. The entries give their differences from these defaults.
- A row is a training, its decoder and the number of passes: `padir/joint/T4`, or `ar/beam`.
- After an edit of a training, it is trained again; after an edit of a decoder, the rows that use it
  are decoded again. Results that depend on neither are kept.
- Threads, memory and accelerators are not settings: `workflow/profiles` sets them, and they change
  no result.
- Names of datasets, teachers, trainings and decoders become parts of paths: a letter, then letters,
  digits and underscores, at most 40 characters.
"""
SIZE_MEANING = "Preset of architecture, optimizer and training; `training_defaults` override it."


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a config file."""
    written = Config.model_json_schema()
    for settings in [written, *written["$defs"].values()]:
        for setting in settings.get("properties", {}).values():
            if "description" in setting:
                setting["description"] = " ".join(setting["description"].split())
    # Files are merged, and no key has to stand in each.
    del written["required"]
    written["properties"] |= {
        "extends": {"type": "string", "description": "Config file that this one is merged over."},
        "size": {"enum": list(SIZES), "description": SIZE_MEANING},
        "training_defaults": {
            "$ref": "#/$defs/TrainingRun",
            "description": "Settings of all trainings; keys as of an entry under `trainings`.",
        },
        "decoder_defaults": {
            "type": "object",
            "description": "Settings of all decoders; keys as of an entry under `decoders`.",
        },
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **written}


def schema_text() -> str:
    """Text of the schema file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def readme_text() -> str:
    """Text of config/README.md: one table per group of settings."""
    sections = [INTRODUCTION]
    for path, kind in groups():
        title = f"## `{path}`" if path else "## Top level"
        rows = [
            "| key | allowed | default | meaning |",
            "|---|---|---|---|",
            *(_row(name, field) for name, field in kind.model_fields.items()),
        ]
        if kind is Config:
            rows += [
                "| `training_defaults` | keys of a training | `{}` | Settings of all trainings. |",
                "| `decoder_defaults` | keys of a decoder | `{}` | Settings of all decoders. |",
                "| `extends` | text | none | Config file that this one is merged over. |",
                f"| `size` | {_type(Literal[*SIZES])} | none | {SIZE_MEANING} |",
            ]
        sections.append(
            "\n\n".join([title, " ".join((kind.__doc__ or "").split()), "\n".join(rows)])
        )
    sections.append(_sizes_text())
    return "\n\n".join(section.strip() for section in sections) + "\n"


def _sizes_text() -> str:
    """Table of the presets of `size`, one column each."""
    columns = [
        {
            f"{group}.{key}": value
            for group, values in size.training.items()
            for key, value in values.items()
        }
        for size in SIZES.values()
    ]
    keys = dict.fromkeys(key for column in columns for key in column)
    rows = [
        "| setting | " + " | ".join(SIZES) + " |",
        "|---|" + "---|" * len(SIZES),
        "| for | " + " | ".join(size.purpose for size in SIZES.values()) + " |",
    ]
    for key in keys:
        cells = [
            f"`{json.dumps(column[key])}`" if key in column else "default" for column in columns
        ]
        rows.append(f"| `{key}` | " + " | ".join(cells) + " |")
    return "\n\n".join(["## Presets of `size`", "\n".join(rows)])


def groups() -> list[tuple[str, type[Settings]]]:
    """Every group of settings with the path of its keys, outermost first."""
    groups: list[tuple[str, type[Settings]]] = []

    def visit(path: str, kind: type[Settings]) -> None:
        groups.append((path, kind))
        for name, field in kind.model_fields.items():
            for suffix, inner in _settings_in(field.annotation):
                visit(f"{path}.{name}{suffix}".lstrip("."), inner)

    visit("", Config)
    return groups


def _settings_in(annotation: Any, suffix: str = "") -> Iterator[tuple[str, type[Settings]]]:
    for kind in members(annotation):
        if get_origin(kind) is dict:
            yield from _settings_in(get_args(kind)[1], suffix + ".NAME")
        elif get_origin(kind) is list:
            yield from _settings_in(get_args(kind)[0], suffix + "[]")
        elif isinstance(kind, type) and issubclass(kind, Settings):
            tags = kinds(kind)
            # Vocabularies and optimizers have kinds too, but one group of settings for all of them.
            united = len(tags) > 1 and kind not in (SearchDecoder, RefinementDecoder)
            shown = f" (kind: {', '.join(tags)})" if tags and not united else ""
            yield suffix + shown, kind


def _row(name: str, field: FieldInfo) -> str:
    if field.is_required():
        default = "required"
    else:
        value = field.get_default(call_default_factory=True)
        groups = value if isinstance(value, list) else [value]
        grouped = any(isinstance(item, Settings) for item in groups)
        default = "its defaults" if grouped else f"`{json.dumps(value)}`"
    meaning = field.description or (
        "Selects this kind." if name == "kind" else "See its own section."
    )
    cells = (f"`{name}`", _allowed(field.annotation, field.metadata), default, meaning)
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _allowed(annotation: Any, metadata: list[Any]) -> str:
    limits = []
    for item in metadata:
        match item:
            case Ge(bound):
                limits.append(f"≥ {bound:,}")
            case Gt(bound):
                limits.append(f"> {bound:,}")
            case Le(bound):
                limits.append(f"≤ {bound:,}")
            case Lt(bound):
                limits.append(f"< {bound:,}")
            case MinLen(length):
                limits.append(f"at least {length} {_unit(annotation, length)}")
            case MaxLen(length):
                limits.append(f"at most {length} {_unit(annotation, length)}")
    return ", ".join([_type(annotation), *limits])


def _unit(annotation: Any, number: int) -> str:
    """What the limits of a length count."""
    one, more = ("character", "characters") if annotation is str else ("entry", "entries")
    return one if number == 1 else more


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0])
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(member) for member in arguments))
    if origin is dict:
        return f"mapping of {_type(arguments[1])}"
    if origin is list:
        item = arguments[0]
        fields = get_args(item)[1:] if get_origin(item) is Annotated else ()
        limits = [limit for field in fields for limit in getattr(field, "metadata", ())]
        return f"list of {_allowed(item, limits)}"
    names = {int: "integer", float: "number", bool: "`true` or `false`", str: "text"}
    names[type(None)] = "null"
    return names.get(annotation, "settings")
