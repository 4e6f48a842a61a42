"""Model bundles and decoders, read from files and ready to decode."""

import difflib
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from padir.bundle import DECODERS, PARTS, SPEC_FILE, VOCABULARY_FILE, read_bundle
from padir.checksums import read_with_checksum, rerun_remedy
from padir.config.base import Settings
from padir.config.decoder import (
    Decoder,
    RuleNumber,
    SearchDecoder,
    WeightPrecision,
    builtin_decoders,
)
from padir.config.errors import describe
from padir.config.training import RunSpec
from padir.decode.candidates import LengthRule
from padir.decode.drafts import DraftRule
from padir.files import InputError, shown
from padir.model.parameters import from_arrays, with_rounded_weights
from padir.model.transformer import Transformer
from padir.vocab import Vocabulary

_SETTINGS = TypeAdapter(Decoder)
_DRAFT_RULE = TypeAdapter(DraftRule)
_DIGESTS = TypeAdapter(dict[str, str] | None)


class _DecoderFile(Settings):
    """What every decoder file holds; what `padir tune` adds is read apart."""

    settings: Decoder


class MissingLengthRuleError(InputError):
    """A decoder that compares hypotheses has no length rule."""


class _LengthRule(BaseModel, strict=True, allow_inf_nan=False):
    """As a file has it: both numbers are needed there."""

    alpha: RuleNumber
    weight: RuleNumber


@dataclass(frozen=True)
class LoadedModel:
    """A bundle in memory.

    Attributes:
        model: the network.
        vocabulary: its text pieces.
        spec: what it was trained as.
        seed: of the training run; random start tokens derive from it too.
        folder: of the bundle.
    """

    model: Transformer
    vocabulary: Vocabulary
    spec: RunSpec
    seed: int
    folder: Path

    def network(self, weights: WeightPrecision) -> Transformer:
        """The model with its weight matrices in a precision; the rounded one is made once and kept
        beside that in float32."""
        return self.model if weights == "float32" else self._rounded

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line, none for a blank one, without a limit on the length.

        White space around a line, such as the end of one from another system, is no part of it. A
        NUL character is a space.
        """
        return self.vocabulary.encode([line.replace("\0", " ").strip() for line in lines])

    @cached_property
    def _rounded(self) -> Transformer:
        return with_rounded_weights(self.model)

    @property
    def files(self) -> list[Path]:
        """Files that decoding depends on, for provenance."""
        return [self.folder / part for part in PARTS]

    @property
    def labels(self) -> dict[str, Any]:
        """Dataset, direction and training, as provenance and documents name them."""
        spec = self.spec
        return {
            "dataset": spec.dataset,
            "direction": spec.direction,
            "training": spec.training,
            "system": spec.run.system,
            "targets": spec.run.targets,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class TunedDecoder:
    """A decoder's settings, and the rules for lengths and drafts that validation chose for a model.

    Attributes:
        name: of the decoder.
        settings: how it decodes.
        rule: None where none was chosen.
        path: of the file that it was read from; None for a built-in decoder.
        digests: of the settings that the file depends on, by stage.
        draft_rule: None where none was chosen.
    """

    name: str
    settings: Decoder
    rule: LengthRule | None = None
    path: Path | None = None
    digests: dict[str, str] | None = None
    draft_rule: DraftRule | None = None


def load(folder: Path) -> LoadedModel:
    """Read a bundle.

    Raises:
        InputError: not a whole bundle of ours, or parts that do not fit each other.
    """
    bundle = read_bundle(folder)
    path = bundle.folder / SPEC_FILE
    counts = [_count(bundle.spec, key, path) for key in ("table_size", "vocabulary_size", "seed")]
    table_size, vocabulary_size, seed = counts
    if bundle.spec.get("format") != 1:
        raise InputError(f"{shown(path)}: format {bundle.spec.get('format')!r}, this reads 1")
    try:
        spec = RunSpec.model_validate(bundle.spec.get("run_spec"))
    except ValidationError as error:
        raise _invalid(path, "run_spec", error) from error
    vocabulary = Vocabulary.load(bundle.vocabulary)
    if vocabulary.size != vocabulary_size:
        raise InputError(
            f"{shown(path)}: vocabulary_size is {vocabulary_size}, but {VOCABULARY_FILE} has"
            f" {vocabulary.size} pieces: the bundle's files do not belong together"
        )
    if vocabulary.size > table_size:
        raise InputError(
            f"{shown(bundle.vocabulary)}: {vocabulary.size} pieces, but the model's table has"
            f" {table_size} rows"
        )
    try:
        model = from_arrays(spec.run, table_size, bundle.arrays)
    except ValueError as error:
        raise InputError(f"{shown(bundle.folder)}: {error}") from error
    model.embedder.keep_columns()
    return LoadedModel(model, vocabulary, spec, seed, bundle.folder)


def _count(spec: dict[str, Any], key: str, path: Path) -> int:
    value = spec.get(key)
    # Below 2^32, as in the config: a random key is made of the seed.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**32:
        raise InputError(
            f"{shown(path)}: {key} is {value!r}; a whole number from 0 to 4294967295 is needed"
        )
    return value


def _invalid(path: Path, key: str, error: ValidationError) -> InputError:
    first = error.errors()[0]
    return InputError(f"{shown(path)}: {'.'.join(map(str, (key, *first['loc'])))}: {first['msg']}")


def read_decoder(path: Path) -> TunedDecoder:
    """Read a decoder from its file: settings alone, or as `padir tune` writes it.

    Raises:
        InputError: not such a file, or not as `padir tune` wrote it.
    """
    content = read_with_checksum(path, f"{rerun_remedy(path)}, or padir tune")
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        keys = ", ".join(map(shown, [*content][:5])) if isinstance(content, dict) else ""
        raise InputError(
            f"{shown(path)}: no decoder: found {'keys ' + keys if keys else 'no object with keys'};"
            ' needed is {"name": "NAME", "settings": {...}}'
        )
    written = {key: value for key, value in content.items() if key == "settings"}
    try:
        settings = _DecoderFile.model_validate(written).settings
    except ValidationError as error:
        wrong = describe(error, _DecoderFile, written, written)
        raise InputError(f"{shown(path)}: {wrong[0]}") from error
    rule = None
    if "length_rule" in content:
        try:
            rule = LengthRule(**_LengthRule.model_validate(content["length_rule"]).model_dump())
        except ValidationError as error:
            raise _invalid(path, "length_rule", error) from error
    draft_rule = None
    if content.get("draft_rule") is not None:
        try:
            draft_rule = _DRAFT_RULE.validate_python(content["draft_rule"])
        except ValidationError as error:
            raise _invalid(path, "draft_rule", error) from error
    try:
        digests = _DIGESTS.validate_python(content.get("digests"), strict=True)
    except ValidationError as error:
        raise _invalid(path, "digests", error) from error
    return TunedDecoder(content["name"], settings, rule, path, digests, draft_rule)


def find_decoder(
    loaded: LoadedModel, choice: str | None, default: str | None = None
) -> TunedDecoder:
    """The decoder that a command line names.

    Args:
        loaded: the model that it decodes.
        choice: the name of one of the bundle's decoders or of a built-in one, or a file, which are
            tried in this order.
        default: name of the decoder where none is chosen, never a file; otherwise
            `default_decoder`.

    Raises:
        InputError: there is no such decoder.
    """
    name = (default or default_decoder(loaded)) if choice is None else choice
    if name in tuned_decoders(loaded):
        # Its file may have been copied, or tuned from a decoder of another name.
        return replace(read_decoder(_tuned_path(loaded, name)), name=name)
    if name in builtin_decoders():
        return TunedDecoder(name, _SETTINGS.validate_python({"kind": name}))
    if choice and Path(choice).is_file():
        return read_decoder(Path(choice))
    fitting = [each for each in decoder_names(loaded) if _fits(loaded, each)]
    nearest = difflib.get_close_matches(name, fitting, n=1)
    raise InputError(
        f"decoder {shown(name)}: no such file, nor a decoder of {shown(loaded.folder)}: allowed"
        f" are {', '.join(dict.fromkeys([*nearest, *fitting]))}"
    )


def _fits(loaded: LoadedModel, name: str) -> bool:
    """Whether a named decoder can be read and fits the model."""
    try:
        loaded.spec.run.check_decoder(name, find_decoder(loaded, name).settings)
    except ValueError:
        return False
    return True


def default_decoder(loaded: LoadedModel) -> str:
    """The decoder of a model when none is named: its system's, or beam search for AR. If the bundle
    has other tuned decoders alone, the first of them that fits and needs no reranker.
    """
    run = loaded.spec.run
    if not run.parallel:
        return "beam"
    tuned = tuned_decoders(loaded)
    if run.system not in tuned:
        for name in tuned:
            # What cannot be read, or does not fit, is no default.
            with suppress(ValueError):
                settings = read_decoder(_tuned_path(loaded, name)).settings
                run.check_decoder(name, settings)
                if settings.reranker is None:
                    return name
    return run.system


def own_rule(decoder: TunedDecoder, loaded: LoadedModel) -> LengthRule:
    """A decoder's length rule: the tuned one, the only one of its settings, or any where it needs
    none. Raises MissingLengthRuleError where it is not tuned and its settings have several.
    """
    if decoder.rule:
        return decoder.rule
    settings = decoder.settings
    searches = isinstance(settings, SearchDecoder)
    weights = [0.0] if searches else settings.length_weights
    if len(settings.length_alphas) == len(weights) == 1:
        return LengthRule(settings.length_alphas[0], weights[0])
    if not (settings.kind == "greedy" if searches else settings.length_candidates == 1):
        folder, choice = loaded.folder, str(decoder.path or decoder.name)
        source, target = loaded.spec.direction.split("-")
        words = ["padir", "tune", "--bundle", shown(folder)]
        words += [] if choice == default_decoder(loaded) else ["--decoder", shown(choice)]
        words += ["--source", f"valid.{source}", "--references", f"valid.{target}"]
        words += ["--out", shown(_tuned_path(loaded, decoder.name))]
        raise MissingLengthRuleError(
            f"{shown(folder)}: decoder {decoder.name} has no length rule yet: run"
            f" {shlex.join(words)}"
        )
    return LengthRule()


def _tuned_path(loaded: LoadedModel, name: str) -> Path:
    return loaded.folder / DECODERS / f"{name}.json"


def tuned_decoders(loaded: LoadedModel) -> list[str]:
    """Names of the bundle's own decoders."""
    stems = sorted(path.stem for path in (loaded.folder / DECODERS).glob("*.json"))
    return [stem for stem in stems if not stem.endswith(".provenance")]


def decoder_names(loaded: LoadedModel) -> list[str]:
    """The bundle's decoders and the built-in ones, whether or not they fit the model."""
    return list(dict.fromkeys([*tuned_decoders(loaded), *builtin_decoders()]))
