"""Exports a parallel model with one decoder as a stand-alone program of `jax.export`.

The program has the parameters inside. It takes

    source  int32 [1, S]  piece ids, EOS, then PAD
    start   int32 [K, L]  the hypotheses to start from, one per length candidate: what they hold is
                          the decoder's choice (`HOLDS`)

and returns

    tokens           int32 [1, L]  the best candidate; its EOS and PAD after it
    length           int32 [1]     tokens with EOS
    log_probability  float32 [1]   of its tokens, natural logarithm

Lengths are predicted inside, and the length rule chooses the candidate. The final drop of repeats
is text processing and stays outside.
"""

import importlib.util
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from padir.config.decoder import RefinementDecoder
from padir.decode.candidates import length_penalty
from padir.decode.lengths import encoded_lengths
from padir.decode.predict import predictable
from padir.decode.refine import refine, refinement
from padir.decode.refiner import policies_of, predictor
from padir.decode.translate import Translator
from padir.files import InputError, write_bytes, write_json
from padir.ids import EOS, FIRST_PIECE, MASK, PAD

PLATFORMS = ("cpu", "cuda", "tpu")
HOLDS = {
    "random": f"ids of pieces to start from, from {FIRST_PIECE} to pieces - 1",
    "mask": f"the mask, {MASK}, everywhere",
    "position_mask": "pieces + i at position i, from 0",
}
"""What the input `start` holds, by the decoder's setting of that name."""


def exported(translator: Translator) -> Any:
    """Compile a translator into a program.

    Raises:
        InputError: an AR model, an oracle length predictor, or a decoder that draws, reranks or
            looks for repeats in the source.
    """
    settings = translator.decoder.settings
    if not isinstance(settings, RefinementDecoder) or translator.decoding.passes is None:
        raise InputError(f"decoder {translator.decoder.name}: only parallel models are exported")
    unfit = {
        "a reranker": settings.reranker is not None,
        f"joint {settings.joint}": settings.joint != "none",
        "more than one restart": settings.restarts > 1,
        "an oracle length predictor": translator.needs_lengths,
    }
    _refuse(translator, [name for name, on in unfit.items() if on])
    loaded, refiner = translator.loaded, translator.refiner
    longest, passes, rule = refiner.longest, translator.decoding.passes, translator.rule
    graph, state = nnx.split(loaded.network(settings.weights))
    policies = policies_of(settings)
    allowed = predictable(refiner.table_size, loaded.vocabulary.size, eos=False)

    def arguments(state, source, start, keys):
        """Those of `refine`, and the log-probabilities of the lengths."""
        model = nnx.merge(graph, state)
        cross, lengths, scores = encoded_lengths(
            model, source, start.shape[0], longest, settings.length_search
        )
        predict = predictor(model, cross, start.shape[1], allowed, settings)
        return (predict, start, lengths[0], jnp.int32(passes), policies, keys), scores[0]

    def one_pass(keys, state, source, start):
        begun = refinement(*arguments(state, source, start, keys)[0])
        return begun.one_pass(begun.state)

    def translate(
        source: Int[Array, "1 S"], start: Int[Array, "K L"]
    ) -> tuple[Int[Array, "1 L"], Int[Array, " 1"], Float[Array, " 1"]]:
        of_refine, scores = arguments(state, source, start, jnp.zeros(keys.shape, keys.dtype))
        refined, lengths = refine(*of_refine), of_refine[2]
        total = refined.log_probability.sum(axis=1)
        ranked = total / length_penalty(lengths, rule.alpha) + rule.weight * scores
        best = jnp.argmax(ranked)
        return refined.tokens[best][None], lengths[best][None], total[best][None]

    shapes = (
        jax.ShapeDtypeStruct((1, loaded.spec.run.architecture.max_positions), jnp.int32),
        jax.ShapeDtypeStruct((settings.length_candidates, longest), jnp.int32),
    )
    keys = jax.ShapeDtypeStruct((settings.length_candidates, 2), jnp.uint32)
    # An argument that nothing reads is left out of the lowered program. Of one pass, as a loop's
    # arguments are all kept.
    lowered = jax.export.export(jax.jit(one_pass))(keys, state, *shapes)
    if 0 in lowered.module_kept_var_idx:
        drawing = f"temperature {settings.temperature:g}, update {settings.update}"
        _refuse(translator, [f"random draws ({drawing}, remask {settings.remask})"])
    return jax.export.export(jax.jit(translate), platforms=PLATFORMS)(*shapes)


def _refuse(translator: Translator, reasons: list[str]) -> None:
    """Raise an `InputError` with the reasons, if there are any."""
    if reasons:
        raise InputError(
            f"decoder {translator.decoder.name} has {' and '.join(reasons)}, which a program does"
            " not hold; allowed are decoders without, such as padir"
        )


def write_program(translator: Translator, path: Path) -> None:
    """Write the program to `path`, and a description of inputs and outputs to `path`.json.

    Raises:
        InputError: as `exported`, a package that is missing, or a file that cannot be written.
    """
    if importlib.util.find_spec("flatbuffers") is None:
        raise InputError("a program needs the package flatbuffers: make setup EXTRAS=export")
    program, loaded = exported(translator), translator.loaded
    write_bytes(path, bytes(program.serialize()))
    source, start = (list(shape.shape) for shape in program.in_avals)
    settings = translator.decoder.settings
    holds = HOLDS[settings.start] if isinstance(settings, RefinementDecoder) else None
    write_json(
        path.with_name(path.name + ".json"),
        {
            **loaded.labels,
            "decoder": translator.decoder.name,
            "passes": translator.decoding.passes,
            "platforms": PLATFORMS,
            "source": {"shape": source, "dtype": "int32", "holds": "piece ids, EOS, then PAD"},
            "start": {"shape": start, "dtype": "int32", "holds": holds},
            "returns": ["tokens", "length", "log_probability"],
            "eos": EOS,
            "pad": PAD,
            "pieces": loaded.vocabulary.size,
            "run": "jax.export.deserialize(bytearray(open(FILE, 'rb').read())).call(source, start)",
        },
    )
