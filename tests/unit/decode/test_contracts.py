"""What every parallel system keeps to, whatever its policies; batches and order:
`tests/property/test_decode_independence.py`, the whole loop: `tests/parity/test_refine.py`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.config.systems import SYSTEMS
from padir.decode.candidates import LengthRule
from padir.decode.translate import Translator
from padir.files import InputError
from padir.ids import EOS, FIRST_PIECE
from tests.decoding import LINES, tiny_decoder, tiny_model

PARALLEL = [name for name in SYSTEMS if name != "ar"]
# Each length is compiled on its own: three sentences of other lengths do.
SOME = LINES[2:5]


def one_forward_pass(model, size: int, source: list[int], start: list[int], sees_all: bool):
    """Likeliest pieces and their summed log-probability: one sentence, no padding, no loop."""
    cross = model.encode(jnp.asarray([[*source, EOS]], jnp.int32)).cross
    tokens = jnp.asarray([[*start, EOS]], jnp.int32)
    length = tokens.shape[1]
    visible = jnp.ones((1, length), bool)
    if not sees_all:
        visible = jnp.broadcast_to(jnp.arange(length) == length - 1, (1, length, length))
    hidden, _ = model.hidden(tokens, cross, visible)
    pieces = jax.nn.log_softmax(model.logits(hidden)[0, :-1, FIRST_PIECE:size])
    best = np.asarray(pieces.argmax(-1))
    return tuple(best + FIRST_PIECE), float(pieces.max(-1).sum())


@pytest.mark.parametrize("system", PARALLEL)
def test_one_pass_is_one_forward_pass(system, tmp_path):
    model = tiny_model(tmp_path / "model", system)
    decoder = tiny_decoder(system, LengthRule(0.6, 1.0), temperature=0.0, stop="fixed")
    translator = Translator(model, decoder, 1)
    sources = translator.encode(SOME)
    refiner = translator.refiner
    sees_all = decoder.settings.context == "all"
    compared = 0
    for source, several in zip(sources, translator.candidates(sources), strict=True):
        starts = refiner.start(source, len(several), refiner.longest)
        for start, candidate in zip(starts, several, strict=True):
            given = start[: candidate.length - 1].tolist()
            expected = one_forward_pass(model.model, model.vocabulary.size, source, given, sees_all)
            assert candidate.tokens == expected[0]
            assert candidate.log_probability == pytest.approx(expected[1], abs=1e-4)
            assert candidate.passes == 1
            compared += 1
    assert compared == 3 * len(SOME)


@pytest.mark.parametrize("system", SYSTEMS)
def test_decoders_of_the_other_kind_are_refused(system, tmp_path):
    model = tiny_model(tmp_path / "model", system)
    with pytest.raises(InputError, match="allowed"):
        Translator(model, tiny_decoder("padir" if system == "ar" else "beam", LengthRule()), 4)
