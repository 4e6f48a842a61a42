"""One sentence in one call of an accelerator: encoding, length candidates and all passes.

On an H100 a pass of a small model takes 0.2 ms, and the host about as long for each call and each
array that it fetches (docs/results/multi30k/latency_gpu.md). So one program does all that a
sentence needs; it reads the source and returns one array.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, UInt32

from padir.config.decoder import RefinementDecoder
from padir.decode.lengths import SHORTEST
from padir.decode.policies import CONSTANT_STARTS
from padir.decode.programs import CompiledModel, Hypotheses, pack, unpack
from padir.model.transformer import Transformer

ROOM_PER_TOKEN, ROOM = 1.5, 4
"""Targets are padded to `ROOM_PER_TOKEN` times the source's padded length and `ROOM` more, as their
lengths are not known before the call."""
DrawStart = Callable[[Sequence[int], int, int], Int[np.ndarray, "K L"]]


class OneCall:
    """Decodes sentences one by one, with the results of `Refiner.decode`.

    Args:
        compiled: the model.
        settings: of the decoder.
        start: draws initial tokens; see `padir.decode.policies.Start`.
        encode: from a model and a source to its memory, its lengths and their log-probabilities.
        decode: as `Refiner.decode`, of a model and hypotheses.
    """

    def __init__(
        self,
        compiled: CompiledModel,
        settings: RefinementDecoder,
        start: DrawStart,
        encode: Callable[..., Any],
        decode: Callable[..., Any],
    ):
        self._compiled, self._start = compiled, start
        self._candidates = candidates = settings.length_candidates * settings.restarts
        # Lengths are distinct.
        self._longest_at_least = SHORTEST - 1 + settings.length_candidates
        constant = None
        if settings.start in CONSTANT_STARTS:
            constant = start((), candidates, compiled.longest_target)[None]
        self._draws = constant is None

        def translate(model: Transformer, request, start, may_repeat, room: int):
            source, key, passes = request[:, :-3], request[:, -3:-1], request[0, -1]
            keys = jax.lax.bitcast_convert_type(key, jnp.uint32)
            cross, *predicted = encode(model, source)
            lengths, scores = (jnp.repeat(each, settings.restarts, axis=1) for each in predicted)
            start = jnp.asarray(start if constant is None else constant)
            hypotheses = Hypotheses(cross, start[:, :, :room], lengths, passes, keys, may_repeat)
            tokens, log_probability, used = decode(model, hypotheses)
            return pack(tokens, lengths, scores, log_probability, used)

        self._translate = compiled.compiled(translate, [True, True, True], fixed=1, to_host=True)

    def __call__(
        self,
        ids: Sequence[int],
        source: Int[np.ndarray, "1 S"],
        keys: UInt32[np.ndarray, "1 2"],
        may_repeat: Bool[np.ndarray, "1 R"] | None,
        passes: int,
    ) -> tuple[np.ndarray, ...] | None:
        """Decode a sentence.

        Args:
            ids: of the source, without EOS.
            source: padded, with EOS.
            keys, may_repeat: see `Refiner.draws_and_repeats`.
            passes: decoder passes (T).

        Returns:
            lengths [1, K], their log-probabilities, tokens [1, K, L], their summed log-probability
            and the passes used; None where a length is greater than the program has room for.
        """
        longest = self._compiled.longest_target
        wanted = max(int(ROOM_PER_TOKEN * source.shape[1]) + ROOM, self._longest_at_least)
        room = self._compiled.padded_target(min(wanted, longest), 1)
        start = None
        if self._draws:
            start = self._start(ids, self._candidates, longest)[None]
        request = np.concatenate([source, keys.view(np.int32), [[np.int32(passes)]]], axis=1)
        decoded = self._translate(request, start, may_repeat, room)
        tokens, lengths, scores, log_probability, used = unpack(
            decoded, np.int32, np.float32, np.float32, np.int32
        )
        return (lengths, scores, tokens, log_probability, used) if lengths.max() <= room else None
