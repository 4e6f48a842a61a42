"""Tiny random models for tests of decoding. Nothing here is trained: width 16, one layer each."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from flax import nnx

from padir.bundle import write_bundle
from padir.config.data import VocabularySettings
from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.systems import SEARCHES
from padir.config.training import RunSpec, TrainingRun
from padir.decode.candidates import LengthRule
from padir.decode.load import LoadedModel, TunedDecoder, load
from padir.decode.translate import Translator
from padir.files import write_json
from padir.model.parameters import build, to_arrays
from padir.vocab import Vocabulary, train_vocabulary

WORDS = ("ba", "ko", "mi", "re", "su", "ta", "no", "ve")
LINES = (
    "ba ko mi",
    "re su ta ba",
    "mi mi no",
    "su",
    "ta re ba ko su mi",
    "ko ba",
    "ba ba re",
    "ta ta ve ko",
    "",
    "re mi su ta ko ba re",
)


def tiny_run(
    system: str,
    buckets=(16,),
    decoder_layers: int = 1,
    extra_ids: int = 0,
    length_classes: int = 12,
    **settings,
) -> TrainingRun:
    """Settings of a tiny model.

    One bucket compiles one program; more show that padding does not matter.
    """
    return TrainingRun(
        system=system,
        architecture={
            "width": 16,
            "heads": 2,
            "head_width": 8,
            "encoder_layers": 1,
            "decoder_layers": decoder_layers,
            "feed_forward_width": 32,
            "max_positions": 16,
            "length_classes": length_classes,
            "extra_ids": extra_ids,
        },
        training={"buckets": list(buckets)},
        **settings,
    )


def tiny_decoder(
    kind: str, rule: LengthRule | None = None, name: str | None = None, **settings
) -> TunedDecoder:
    """A decoder of a tiny model, with settings of the test's choice.

    Args:
        kind: greedy, beam or a parallel system.
        rule: length rule.
        name: that of its kind by default.
        settings: over those of the kind.
    """
    if kind in SEARCHES:
        return TunedDecoder(name or kind, SearchDecoder(kind=kind, **{"beam": 3} | settings), rule)
    settings = {"length_candidates": 3} | settings
    return TunedDecoder(name or kind, RefinementDecoder(kind=kind, **settings), rule)


def write_decoder(path: Path, decoder: TunedDecoder, **more) -> Path:
    """The decoder's file, with a length rule if it has one."""
    content = {"name": decoder.name, "settings": decoder.settings.model_dump(mode="json"), **more}
    if decoder.rule is not None:
        content |= {"length_rule": {"alpha": decoder.rule.alpha, "weight": decoder.rule.weight}}
    write_json(path, content)
    return path


@cache
def random_parameters(run: str, rows: int, seed: int) -> dict[str, np.ndarray]:
    """Parameters of a tiny model by name; a run is given as JSON."""
    model = build(TrainingRun.model_validate_json(run), rows, seed=seed)
    # Stronger layers: at their first values, a tied output mostly repeats the token it is fed.
    return {
        name: array * 3 if name.endswith("kernel") else array
        for name, array in to_arrays(nnx.state(model, nnx.Param)).items()
    }


def write_tiny_bundle(
    folder: Path,
    system: str,
    seed: int = 2,
    words: Sequence[str] = WORDS,
    digests: dict[str, str] | None = None,
    **settings,
) -> Path:
    """A bundle of a random model that knows these words."""
    vocabulary_path = folder.parent / f"{folder.name}.vocabulary"
    pieces = VocabularySettings(kind="word", size=8 + len(words))
    train_vocabulary([" ".join(words)] * 3, pieces, vocabulary_path)
    run = tiny_run(system, **settings)
    size = Vocabulary.load(vocabulary_path).size
    spec = RunSpec(
        dataset="toy",
        direction="xs-xt",
        training=f"tiny_{system}",
        run=run,
        digests=digests or {},
    )
    # Two rows past the vocabulary, which may never be predicted.
    rows = size + max(2, run.architecture.extra_ids)
    content = {
        "format": 1,
        "run_spec": spec.model_dump(mode="json"),
        "table_size": rows,
        "vocabulary_size": size,
        "seed": seed,
        "steps_chosen": [1],
    }
    arrays = random_parameters(run.model_dump_json(), rows, seed)
    card = "---\nlicense: unknown\n---\n\na random model\n"
    write_bundle(folder, arrays, content, vocabulary_path, card)
    return folder


def tiny_model(folder: Path, system: str, seed: int = 2, **settings) -> LoadedModel:
    """The same, loaded."""
    return load(write_tiny_bundle(folder, system, seed, **settings))


def tiny_translator(
    folder: Path,
    kind: str,
    passes: int | None = None,
    rule: LengthRule | None = None,
    sentences: int | None = 8,
    buckets=(16,),
    length_classes: int = 12,
    objective: dict[str, float] | None = None,
    **decoder,
) -> Translator:
    """A translator of a tiny model of the decoder's system; `objective` is over the system's."""
    system = "ar" if kind in SEARCHES else kind
    settings = {"buckets": buckets, "length_classes": length_classes}
    loaded = tiny_model(folder, system, **settings, objective=objective or {})
    decoder = tiny_decoder(kind, rule, **decoder)
    return Translator(loaded, decoder, passes, sentences=sentences)


def run(module, *arguments) -> int:
    """Run a verb's module with arguments of any type."""
    return module.main([str(argument) for argument in arguments])


def decoding(place: Path, name: str, source: Path | None = None) -> list:
    """Options of a model, one of its decoders and sources; T2 is PaDIR's."""
    options = ["--bundle", place / ("padir" if name == "T2" else "ar")]
    options += ["--passes", 2] if name == "T2" else ["--decoder", name]
    return [*options, "--source", source or place / "source"]
