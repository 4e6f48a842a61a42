"""Estimates of floating-point operations and bytes of training, decoding and scoring.

Operations are multiplications and additions of the matrix products alone: 2 for each parameter
that a position goes through, and twice that again for the backward pass. A source position goes
through the encoder, a target position through the decoder and the output layer, once a pass.
Attention between positions is left out: little at a sentence's length.
"""

from pathlib import Path
from typing import NamedTuple

from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.training import Training, TrainingRun

FLOAT_BYTES = 4
CHECKPOINTS = 2
# Padded positions of a decoded token: 31% of the positions of the paper's batches are padding, and
# decoding has the same buckets (docs/scale.md, measured).
PADDING = 1 / (1 - 0.31)
# Of a JSON line without its text and tokens.
RECORD_BYTES = 160
# BLEURT-20 (Pu et al. 2021), for where no checkpoint is there to ask.
BLEURT_PARAMETERS = 579_000_000


class Size(NamedTuple):
    """Parameters of a model, and those of its embedding table and its encoder among them."""

    parameters: int
    table: int
    encoder: int

    @property
    def after_encoder(self) -> int:
        """Parameters that each target position of a pass uses: the decoder and the output layer."""
        return self.parameters - self.encoder


def parameter_counts(run: TrainingRun, vocabulary: int) -> Size:
    """Parameters of a model with a vocabulary of so many pieces; allocates nothing."""
    import jax
    from flax import nnx

    from padir.model.parameters import abstract, flat_names, table_size

    rows = table_size(run.architecture, vocabulary)
    shapes = nnx.state(abstract(run, rows), nnx.Param)
    leaves = [leaf.size for leaf in jax.tree.leaves(shapes)]
    named = zip(flat_names(shapes), leaves, strict=True)
    encoder = sum(size for name, size in named if name.startswith("encoder/"))
    return Size(sum(leaves), rows * run.architecture.width, encoder)


def batch_tokens(training: Training) -> int:
    """Most padded target tokens of a batch, which has one pair at least, however long."""
    return max(training.batch_tokens, training.buckets[-1])


def training_flops(run: TrainingRun, size: Size) -> float:
    """Operations of one training: 6 per parameter and position, 2 forward and 4 backward.

    The decoder runs once per stage, each with the output layer, which is the embedding table.
    """
    each = 3 * (size.encoder + run.decoder_passes * size.after_encoder)
    if run.parallel and run.objective.glancing:
        each += size.after_encoder  # The pass that finds errors has no gradient.
    return 2.0 * each * run.training.steps * batch_tokens(run.training)


def decoding_flops(
    decoder: SearchDecoder | RefinementDecoder,
    passes: int | None,
    size: Size,
    source: float,
    target: float,
) -> float:
    """Operations of decoding one sentence: all passes, candidates or places of the beam.

    The most there can be: hypotheses that are finished before the last pass are counted on, and a
    reranker is not in it (see `reranking_flops`).

    Args:
        passes: decoder passes (T); None for AR decoders.
        size: of the model.
        source, target: tokens of the sentence with EOS, before padding.
    """
    if isinstance(decoder, RefinementDecoder):
        rows = (passes or 1) * decoder.length_candidates * decoder.restarts
    else:
        # With its cache a step goes through the decoder for one position alone.
        rows = decoder.beam if decoder.kind == "beam" else 1
    return 2.0 * PADDING * (size.encoder * source + rows * size.after_encoder * target)


def reranking_flops(size: Size, candidates: int, source: float, target: float) -> float:
    """Operations of reranking: one pass of an AR model over a sentence's length candidates."""
    return 2.0 * PADDING * (size.encoder * source + candidates * size.after_encoder * target)


def bleurt_parameters(checkpoint: Path) -> int:
    """Parameters of a BLEURT checkpoint, by the size of its variables; BLEURT-20's without one."""
    files = list((checkpoint / "variables").glob("variables.data-*"))
    return sum(path.stat().st_size for path in files) // FLOAT_BYTES or BLEURT_PARAMETERS


def rating_flops(parameters: int, reference: float, hypothesis: float) -> float:
    """Operations of BLEURT on one pair of so many pieces: a pass of one encoder over both."""
    return 2.0 * parameters * (reference + hypothesis)


def bundle_bytes(parameters: int) -> int:
    """Bytes of one seed's bundle."""
    return FLOAT_BYTES * parameters


def checkpoint_bytes(run: TrainingRun, parameters: int) -> int:
    """Bytes of one seed's work folder: `CHECKPOINTS` states of parameters and optimizer, and the
    parameters that validation may still choose."""
    state = 3 if run.optimizer.kind == "adam" else 1.1
    kept = {"last": 0, "best": 1, "average": run.training.average_count}[run.training.selection]
    return int(FLOAT_BYTES * parameters * (CHECKPOINTS * state + kept))


def encoded_bytes(vocabulary: int, lines: int, tokens: float) -> int:
    """Bytes of one side of the training text as ids, as `padir.data.encode` keeps it."""
    width = 2 if vocabulary <= 1 << 16 else 4
    return int(lines * (8 + width * tokens))


def decoded_bytes(vocabulary: int, line: float, tokens: float) -> float:
    """Bytes of one sentence's JSON line, which has text and tokens twice, and its line of text.

    Args:
        line: bytes of the text.
        tokens: without EOS.
    """
    return 3 * line + 2 * tokens * (len(str(vocabulary)) + 2) + RECORD_BYTES
