"""Model bundles ready to decode, and which decodings fit which model."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from padir.config.training import RunSpec
from padir.decode.rank import LengthRule
from padir.files import (
    MODEL_FILE,
    SPEC_FILE,
    VOCABULARY_FILE,
    InputError,
    read_bundle,
    read_json,
    shown,
)
from padir.model.parameters import from_arrays
from padir.model.transformer import Transformer
from padir.vocab import Vocabulary

RULE_FILE = "decoding.json"
MOST_PASSES = 100


@dataclass(frozen=True)
class Decoding:
    """One way to decode.

    Attributes:
        name: T<passes>, greedy or beam.
        passes: decoder passes (T); 0 for AR decodings.
    """

    name: str
    passes: int = 0

    @classmethod
    def parse(cls, name: str) -> "Decoding":
        """Read a decoding's name.

        Raises:
            InputError: it is none.
        """
        if name in ("greedy", "beam"):
            return cls(name)
        found = re.fullmatch(r"T([1-9][0-9]{0,2})", name)
        if not found or int(found[1]) > MOST_PASSES:
            raise InputError(
                f"decoding {shown(name)}: allowed are greedy, beam and T1 to T{MOST_PASSES}"
            )
        return cls(name, int(found[1]))

    @property
    def parallel(self) -> bool:
        """Whether it is for parallel systems rather than AR."""
        return self.passes > 0


@dataclass(frozen=True)
class LoadedModel:
    """A bundle in memory.

    Attributes:
        model: the network.
        vocabulary: its text pieces.
        spec: what it was trained as.
        seed: of the training run; random start tokens derive from it too.
        rule: the length rule chosen on validation data, None where none was chosen yet.
        folder: where it lies.
    """

    model: Transformer
    vocabulary: Vocabulary
    spec: RunSpec
    seed: int
    rule: LengthRule | None
    folder: Path

    @property
    def files(self) -> list[Path]:
        """What decoding depends on, for provenance."""
        parts = (MODEL_FILE, SPEC_FILE, VOCABULARY_FILE, RULE_FILE)
        return [self.folder / part for part in parts if (self.folder / part).exists()]

    def check(self, decoding: Decoding) -> None:
        """Refuse a decoding that does not fit the model.

        Raises:
            InputError: with the decodings that do.
        """
        run = self.spec.run
        if decoding.parallel != run.parallel:
            allowed = f"T1 to T{MOST_PASSES}" if run.parallel else "greedy and beam"
            raise InputError(
                f"{shown(self.folder)}: decoding {decoding.name} does not fit a model of system"
                f" {run.system}: allowed are {allowed}"
            )


def load(folder: Path) -> LoadedModel:
    """Read a bundle.

    Raises:
        InputError: not a whole bundle of ours, or parts that do not fit each other.
    """
    bundle = read_bundle(folder)
    path = bundle.folder / SPEC_FILE
    table_size, seed = (_count(bundle.spec, key, path) for key in ("table_size", "seed"))
    if bundle.spec.get("format") != 1:
        raise InputError(f"{shown(path)}: format {bundle.spec.get('format')!r}, this reads 1")
    try:
        spec = RunSpec.model_validate(bundle.spec.get("run_spec"))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, ("run_spec", *first["loc"])))
        raise InputError(f"{shown(path)}: {key}: {first['msg']}") from error
    vocabulary = Vocabulary.load(bundle.vocabulary)
    if vocabulary.size > table_size:
        raise InputError(
            f"{shown(bundle.vocabulary)}: {vocabulary.size} pieces, but the model's table has"
            f" {table_size} rows"
        )
    try:
        model = from_arrays(spec.run, table_size, bundle.arrays)
    except ValueError as error:
        raise InputError(f"{shown(bundle.folder)}: {error}") from error
    rule = bundle.folder / RULE_FILE
    return LoadedModel(
        model=model,
        vocabulary=vocabulary,
        spec=spec,
        seed=seed,
        rule=read_rule(rule) if rule.exists() else None,
        folder=bundle.folder,
    )


def _count(spec: dict[str, Any], key: str, path: Path) -> int:
    value = spec.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"{shown(path)}: {key} is {value!r}; a whole number from 0 is needed")
    return value


def read_rule(path: Path) -> LengthRule:
    """The length rule that `padir tune` chose.

    Raises:
        InputError: not such a file.
    """
    content = read_json(path)
    chosen = content.get("chosen") if isinstance(content, dict) else None
    if isinstance(chosen, dict):
        alpha, weight = chosen.get("alpha"), chosen.get("weight")
        if isinstance(alpha, int | float) and isinstance(weight, int | float):
            return LengthRule(float(alpha), float(weight))
    raise InputError(f"{shown(path)}: no numbers chosen.alpha and chosen.weight; run padir tune")
