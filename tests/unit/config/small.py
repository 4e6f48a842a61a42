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
    "teachers": {"ar": {"kind": "model", "model": "ar"}},
    "model_defaults": {"training": {"steps": 30}, "optimizer": {"warmup_steps": 5}},
    "models": {
        "ar": {"system": "ar", "decode": ["greedy", "beam"]},
        "padir": {"targets": "ar", "decode": ["T1", "T4"], "training": {"batch_tokens": 64}},
    },
}


def changed(path: str, value: object) -> dict[str, Any]:
    """`SMALL` with one value changed."""
    config = copy.deepcopy(SMALL)
    *folders, last = path.split(".")
    here = config
    for key in folders:
        here = here.setdefault(key, {})
    here[last] = value
    return config
