"""Estimate of the memory per device that a training needs, from its settings alone.

What is kept for the backward pass is counted in values per token, from the network's blocks; the
logits, in single precision, are much of it where the vocabulary is large. Training stages exchange
tokens, not gradients, so that one stage's backward pass ends before the next stage begins and only
one counts. docs/scale.md sets the estimate beside the compiler's own count.
"""

from dataclasses import dataclass

from padir.config.training import Architecture, TrainingRun
from padir.planning.cost import Size

FLOAT = 4
# Logits, their probabilities, and the gradient of both.
LOGIT_COPIES = 3


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes on one device.

    Attributes:
        state: parameters and optimizer state.
        gradients: those of a micro-batch, and their sum.
        activations: what a micro-batch leaves for the backward pass, logits left out.
        logits: the output layer.
    """

    state: int
    gradients: int
    activations: int
    logits: int

    @property
    def total(self) -> int:
        """Total bytes."""
        return self.state + self.gradients + self.activations + self.logits


def layer_values(architecture: Architecture, length: int) -> int:
    """Activations per token that one attention block and one feed-forward block keep.

    Attention: its normed input, queries, keys, values and mixed values, and the weights before and
    after dropout, one per head and other token. Feed-forward: its normed input and the hidden units
    before and after the activation.
    """
    inner = architecture.heads * architecture.head_width
    attention = 2 * architecture.width + 4 * inner + 3 * architecture.heads * length
    return attention + 2 * architecture.width + 3 * architecture.feed_forward_width


def device_memory(run: TrainingRun, parameters: int, table: int, devices: int) -> DeviceMemory:
    """What one of `devices` devices holds while a step runs on the longest bucket.

    Args:
        run: the model's settings.
        parameters: of the whole model.
        table: of them, in the embedding table; its rows are the logits of a token.
        devices: over which a batch is split, and with `training.shard_parameters` the state too.
    """
    architecture, training = run.architecture, run.training
    length = training.buckets[-1]
    # One pair at least, however long.
    tokens = max(length, -(-training.batch_tokens // (devices * training.accumulate)))
    moments = 2.0 if run.optimizer.kind == "adam" else 0.1
    share = devices if training.shard_parameters else 1
    layer = layer_values(architecture, length)
    attentions = _attentions(run)
    decoder_layer = layer + (attentions - 1) * (layer - 3 * architecture.feed_forward_width)
    kept = layer * architecture.encoder_layers + decoder_layer * architecture.decoder_layers
    if architecture.rematerialise:
        layers = architecture.encoder_layers + architecture.decoder_layers
        kept = architecture.width * layers + decoder_layer
    width = 2 if architecture.compute_dtype == "bfloat16" else FLOAT
    rows = table // architecture.width
    return DeviceMemory(
        state=int(FLOAT * parameters * (1 + moments) / share),
        gradients=int(2 * FLOAT * parameters / share),
        activations=tokens * kept * width,
        logits=LOGIT_COPIES * tokens * rows * FLOAT,
    )


def _attentions(run: TrainingRun) -> int:
    """Attentions of a decoder layer: to the hypothesis, to the source, and positional."""
    architecture = run.architecture
    positional = architecture.positional_attention and not architecture.disentangled
    return 3 if run.parallel and positional else 2


def about_parameters(run: TrainingRun, vocabulary: int) -> Size:
    """Parameters of a model, within a few per cent: matrices and embeddings alone, without JAX.

    `padir.planning.cost.parameter_counts` counts exactly.
    """
    architecture = run.architecture
    attention = 4 * architecture.width * architecture.heads * architecture.head_width
    gated = architecture.activation == "gated_gelu"
    feed_forward = (3 if gated else 2) * architecture.width * architecture.feed_forward_width
    attentions = _attentions(run)
    encoder = architecture.encoder_layers * (attention + feed_forward)
    decoder = architecture.decoder_layers * (attentions * attention + feed_forward)
    table = (vocabulary + architecture.extra_ids) * architecture.width
    output = 0 if architecture.tied_output else table
    positions = architecture.max_positions * architecture.width if run.parallel else 0
    return Size(table + output + encoder + decoder + positions, table, encoder)
