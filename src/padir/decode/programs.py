"""Compiled functions of one model, on one device or with the batch split over all devices.

Sentences do not mix, so no device waits for another: each runs the same program on its share, and
stops when its own rows are finished.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.sharding import SingleDeviceSharding
from jaxtyping import Array, Bool, Int, UInt32

from padir.config.training import TrainingRun
from padir.decode.batches import Batch, bucket_of, finer_buckets, padded_sources, plan_batches
from padir.devices import data_mesh, replicated, split_sentences
from padir.launch import cpu_threads
from padir.model.decoder import CrossMemory
from padir.model.transformer import Transformer

CPU_SENTENCES, ACCELERATOR_SENTENCES = 16, 256
PINNED = "pinned_host"
THREADED_WIDTHS = range(128, 512)
"""Widths of models whose candidates are decoded in several threads. At width 64 it gains and loses,
by number of passes; at 512 it loses (docs/performance.md)."""


class CompiledModel:
    """Compiles functions of a model and plans the batches that they are called with.

    A call whose rows the devices divide evenly is dealt out to them; any other, such as that of a
    single sentence, is one device's. With one device there is nothing but `jax.jit`.

    Args:
        model: the network.
        run: its settings.
        sentences: of a full batch; by default `CPU_SENTENCES` or `ACCELERATOR_SENTENCES`. It
            changes no result.

    Attributes:
        devices: that share the rows.
        buckets: padded lengths, rising: those of training, and the model's longest input.
        longest_target: most tokens of a target that the model can write, EOS included.
        table_size: rows of the embedding table.
        on_cpu: whether the devices are CPUs.
        threads: that decode the candidates of a single sentence; see `THREADED_WIDTHS`.
    """

    def __init__(self, model: Transformer, run: TrainingRun, sentences: int | None = None):
        graph, state = nnx.split(model)
        # Plain leaves: a module's own containers cost more to pass than a small model to run.
        self._leaves, structure = jax.tree.flatten(state)
        self._merged = lambda leaves: nnx.merge(graph, jax.tree.unflatten(structure, leaves))
        self._mesh = data_mesh()
        self.devices: int = self._mesh.size
        self.on_cpu = jax.default_backend() == "cpu"
        self._host_memory = None if self.on_cpu else host_memory(self._leaves[0])
        self.sentences = sentences or (CPU_SENTENCES if self.on_cpu else ACCELERATOR_SENTENCES)
        threaded = self.on_cpu and self.devices == 1 and run.architecture.width in THREADED_WIDTHS
        self.threads = cpu_threads() if threaded else 1
        self.table_size: int = model.embedder.embedding.shape[0]
        self.longest_target = min(run.architecture.length_classes, run.architecture.max_positions)
        self.buckets = sorted({*run.training.buckets, run.architecture.max_positions})
        self._buckets_alone = finer_buckets(self.buckets)

    def batches(
        self, sources: Sequence[Sequence[int]]
    ) -> Iterator[tuple[Batch, Int[np.ndarray, "B S"]]]:
        """Batches of sources, ordered by length, with their padded ids.

        Args:
            sources: piece ids without EOS; an empty one is in no batch.
        """
        lengths = [len(source) + 1 if source else 0 for source in sources]
        alone = sum(map(bool, lengths)) == 1
        buckets = self._buckets_alone if alone else self.buckets
        for batch in plan_batches(lengths, buckets, self.sentences, self.devices):
            yield batch, padded_sources(sources, batch)

    def padded(self, length: int, rows: int) -> int:
        """Padded length of up to `length` tokens, in a batch of so many sentences."""
        return bucket_of(length, self._buckets_alone if rows == 1 else self.buckets)

    def padded_target(self, length: int, rows: int) -> int:
        """Padded length of targets with up to `length` tokens, at most `longest_target`."""
        return min(self.padded(length, rows), self.longest_target)

    @cached_property
    def _copies(self) -> list[Any]:
        # When first needed: a model that is timed sentence by sentence stays on one device.
        return jax.device_put(self._leaves, replicated(self._mesh))

    def compiled(
        self,
        function: Callable[..., Any],
        has_rows: Sequence[Any],
        fixed: int = 0,
        to_host: bool = False,
    ) -> Callable[..., Any]:
        """Compile a function; the compiled one takes the arguments after the model.

        Args:
            function: of the model, of arguments that are arrays, trees of arrays or None, and of
                others that are fixed in the program. All that it returns has rows first, which
                depend on the same rows of its arguments.
            has_rows: of each argument of arrays, or of each of its fields, whether it has rows
                first, as the first array must; else every device gets it whole.
            fixed: number of the other arguments.
            to_host: whether the host alone reads what is returned; see `host_memory`.
        """
        arrays = len(has_rows)
        static = tuple(range(1 + arrays, 1 + arrays + fixed))

        def merged(leaves, *arguments):
            return function(self._merged(leaves), *arguments)

        memory = self._host_memory if to_host else None
        alone = partial(jax.jit(merged, static_argnums=static, out_shardings=memory), self._leaves)
        if self.devices == 1:
            return alone
        rows, whole = split_sentences(self._mesh, axis=0), replicated(self._mesh)
        by_row = jax.tree.map(lambda is_by_row: rows if is_by_row else whole, tuple(has_rows))
        placed = (whole, *by_row)

        def dealt_out(*arguments):
            share = jax.shard_map(
                lambda *arrays_of_share: merged(*arrays_of_share, *arguments[1 + arrays :]),
                mesh=self._mesh,
                in_specs=jax.tree.map(lambda sharding: sharding.spec, placed),
                out_specs=rows.spec,
                # Loops begin with values that are the same on all devices, and end with others.
                check_vma=False,
            )
            return share(*arguments[: 1 + arrays])

        together = jax.jit(dealt_out, static_argnums=static, in_shardings=placed)

        def call(*arguments):
            count = jax.tree.leaves(arguments[0])[0].shape[0]
            return alone(*arguments) if count % self.devices else together(self._copies, *arguments)

        return call


def host_memory(array: Array) -> SingleDeviceSharding | None:
    """Memory of the host into which the accelerator of an array writes; None where there is none.

    The program itself copies its result there; a copy that the host asks for afterwards takes 0.1
    to 0.3 ms more on an H200 (docs/results/multi30k/latency_gpu.md).
    """
    device, *others = array.devices()
    if others or PINNED not in {memory.kind for memory in device.addressable_memories()}:
        return None
    return SingleDeviceSharding(device, memory_kind=PINNED)


def pack(tokens: Int[Array, "*rows L"], *numbers: Array) -> Int[Array, "*rows N"]:
    """Tokens, and one or more 32-bit numbers per row, as one array; `unpack` undoes it.

    An accelerator's arrays take about 0.2 ms each to fetch, whatever their size.
    """
    bits = [jax.lax.bitcast_convert_type(each, jnp.int32)[..., None] for each in numbers]
    return jnp.concatenate([tokens, *bits], axis=-1)


def unpack(array: Int[Array, "*rows N"], *types: type[np.generic]) -> list[np.ndarray]:
    """Tokens and numbers of the given types, from what `pack` returned."""
    fetched = np.asarray(array)
    length = fetched.shape[-1] - len(types)
    numbers = (fetched[..., length + place].copy().view(kind) for place, kind in enumerate(types))
    return [fetched[..., :length], *numbers]


class Hypotheses(NamedTuple):
    """Initial hypotheses of encoded sources, and all that their refinement reads.

    Attributes:
        cross: the encoded sources.
        start: tokens before the first pass.
        lengths: of the hypotheses, with EOS.
        passes: decoder passes (T).
        keys: of each sentence's random draws.
        may_repeat: whether a joint choice leaves equal tokens alone, for each distance from 1;
            None: no joint choice.
        given: whether each token stays as it is; None: none does.
        opening: whether each token, where it is predicted, has to be one of `openings`; None: none
            has to.
        openings: ids that stand at an opening; None: no opening.
    """

    cross: CrossMemory
    start: Int[Any, "B K L"]
    lengths: Int[Any, "B K"]
    passes: Int[Any, ""]
    keys: UInt32[Any, "B 2"]
    may_repeat: Bool[Any, "B R"] | None = None
    given: Bool[Any, "B K L"] | None = None
    opening: Bool[Any, "B K L"] | None = None
    openings: Bool[Any, " V"] | None = None


HYPOTHESES_HAVE_ROWS = Hypotheses._make(
    field not in ("passes", "openings") for field in Hypotheses._fields
)


class CandidateThreads:
    """A compiled decoding of candidates, in several threads where there is a single sentence.

    XLA runs products as small as those of one sentence in one thread. Candidates do not read each
    other, so each thread decodes its share of them.

    Args:
        decode: from hypotheses to arrays [B, K, ...].
        threads: on a CPU; 1 leaves every call whole.
    """

    def __init__(self, decode: Callable[..., Any], threads: int):
        self._decode, self._threads = decode, threads
        self._pool = ThreadPoolExecutor(threads, "padir-candidates")

    def __call__(self, hypotheses: Hypotheses) -> Sequence[Any]:
        """Decode."""
        sentences, candidates, _ = hypotheses.start.shape
        count = min(self._threads, candidates)
        if sentences > 1 or count == 1:
            return self._decode(hypotheses)

        def share(chosen: slice) -> list[np.ndarray]:
            by_candidate = {
                field: array[:, chosen]
                for field in ("start", "lengths", "given", "opening")
                if (array := getattr(hypotheses, field)) is not None
            }
            # A candidate draws by its number.
            keys = hypotheses.keys + np.array([0, chosen.start], hypotheses.keys.dtype)
            decoded = self._decode(hypotheses._replace(keys=keys, **by_candidate))
            return [np.asarray(each) for each in decoded]

        ends = [candidates * number // count for number in range(count + 1)]
        chosen = [slice(*pair) for pair in pairwise(ends)]
        shares = list(self._pool.map(share, chosen))
        return [np.concatenate(parts, axis=1) for parts in zip(*shares, strict=True)]
