"""A small config that tests change in one place."""

import copy
from typing import Any

FILES = {"de": "x.de", "en": "x.en"}
SMALL: dict[str, Any] = {
    "datasets": {
        "toy": {"source": {"kind": "synthetic", "train": 10}, "directions": ["xs-xt"]},
        "real": {
            "source": {
                "kind": "files",
                "folder": "texts",
                "train": {"files": FILES},
                "valid": {"files": FILES},
                "test": {"files": FILES, "references": {"en": ["x.en.1"]}},
            },
            "directions": ["de-en", "en-de"],
        },
    },
    "teachers": {"ar": {"kind": "model", "row": "ar/beam"}},
    "training_defaults": {"training": {"steps": 30}, "optimizer": {"warmup_steps": 5}},
    "trainings": {
        "ar": {"system": "ar"},
        "padir": {"targets": "ar", "training": {"batch_tokens": 64}},
    },
    "theory": {},
}


def set_value(settings: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """The settings, changed in place at a path of keys."""
    *folders, last = path.split(".")
    here = settings
    for key in folders:
        here = here.setdefault(key, {})
    here[last] = value
    return settings


def changed(path: str, value: object) -> dict[str, Any]:
    """`SMALL` with one value changed."""
    return set_value(copy.deepcopy(SMALL), path, value)
