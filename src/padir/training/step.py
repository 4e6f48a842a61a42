"""The compiled part of training: several optimizer steps in one call, on every device.

The batch and the random numbers of a step are functions of (seed, step), so that a resumed run
repeats an uninterrupted one.
"""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from padir.config.training import Training, TrainingRun
from padir.devices import (
    data_mesh,
    padded_rows,
    placed,
    replicated,
    sharded_leaves,
    split_sentences,
)
from padir.model.parameters import abstract, build, to_arrays, warm_start
from padir.training.objective import Losses, batch_losses
from padir.training.optimizer import make_optimizer

# Steps are counted from 0; validation's corruption uses this number instead.
VALIDATION_STEP = 2**31 - 1
REPORT_STEPS = 50
"""Steps of a line of metrics."""


class TrainState(NamedTuple):
    """The content of a checkpoint: parameters and optimizer state as nested dictionaries."""

    parameters: dict
    optimizer: optax.OptState
    step: Int[Array, ""]


class Totals(NamedTuple):
    """Sums over the steps of one call.

    Attributes:
        losses: of all steps.
        gradient_norm: of all steps, before clipping.
        finite: steps before the first one with a non-finite loss or gradient, which is not applied.
    """

    losses: Losses
    gradient_norm: Float[Array, ""]
    finite: Int[Array, ""]


def step_key(seed: UInt32[Array, ""], step: Int[Array, ""]) -> PRNGKeyArray:
    """Random key of one step of one run."""
    return jax.random.fold_in(jax.random.key(seed), step)


def most_steps(training: Training) -> int:
    """Most steps of one call, which is padded to so many: none goes past a report, a validation or
    a checkpoint."""
    pauses = REPORT_STEPS, training.validate_every, training.checkpoint_every
    return min(training.dispatch_steps, *pauses)


def micro_batches(
    ids: Int[np.ndarray, "T B L"], capacity: int, micro: int, devices: int
) -> Int[np.ndarray, "S M R L"]:
    """Split batches into micro-batches, padded to the compiled shape.

    The micro-batch of a sentence, and with it its corruption, does not depend on the device count.

    Args:
        ids: batches of T steps.
        capacity: steps of one compiled call (S), at least T.
        micro: micro-batches per step (M).
        devices: devices that share a micro-batch; its rows (R) are a multiple.
    """
    steps, rows, width = ids.shape
    micro_rows = -(-rows // micro)
    batches = np.zeros((capacity, micro * micro_rows, width), np.int32)
    batches[:steps, :rows] = ids
    split = np.zeros((capacity, micro, padded_rows(micro_rows, devices), width), np.int32)
    split[:, :, :micro_rows] = batches.reshape(capacity, micro, micro_rows, width)
    return split


# Validation reports cross-entropy, whatever training smooths or adds, and reveals nothing: a model
# that is wrong more often would be shown more of the targets. It keeps `time_weight`: RDM's
# parameters were selected so (departure D34).
OFF_IN_VALIDATION = {"label_smoothing": 0.0, "z_loss": 0.0, "glancing": 0.0, "consistency": 0.0}


class Trainer:
    """The training step of one model, compiled once per batch shape.

    Attributes:
        traces: how often the training step was traced: once per batch shape.
        finite: compiled function of the parameters: a boolean array [], whether all are finite.
    """

    def __init__(self, run: TrainingRun, table_size: int, vocabulary_size: int, seed: int):
        self.run, self.table_size, self.vocabulary_size = run, table_size, vocabulary_size
        # An argument of the compiled code, so that all seeds of a model share one program.
        self.seed = np.uint32(seed)
        self.mesh = data_mesh()
        self.traces = 0
        self._optimizer = make_optimizer(run.optimizer)
        plain = run.objective.model_copy(update=OFF_IN_VALIDATION)
        self._plain = run.model_copy(update={"objective": plain})
        self._graph, self._abstract = nnx.split(abstract(run, table_size))
        everywhere = replicated(self.mesh)
        steps, sentences = (split_sentences(self.mesh, axis) for axis in (2, 0))
        self._state_sharding = TrainState(everywhere, everywhere, everywhere)  # pyright: ignore
        if run.training.shard_parameters:
            shapes = jax.eval_shape(self._fresh_state, self.seed)
            self._state_sharding = sharded_leaves(self.mesh, shapes)
        self._steps = jax.jit(
            self._run_steps,
            in_shardings=(self._state_sharding, steps, steps, everywhere, everywhere, everywhere),
            out_shardings=(self._state_sharding, everywhere),
            donate_argnums=0,
        )
        parameters = self._state_sharding.parameters
        self._evaluate = jax.jit(
            self._run_evaluation,
            in_shardings=(parameters, sentences, sentences, everywhere, everywhere),
            out_shardings=everywhere,
        )
        self._replicated = jax.jit(lambda parameters: parameters, out_shardings=everywhere)
        self.finite = jax.jit(all_finite, out_shardings=everywhere)

    def model(self, parameters: dict):
        """The model with these parameters."""
        state = jax.tree.map(lambda leaf: leaf, self._abstract)
        nnx.replace_by_pure_dict(state, parameters)
        return nnx.merge(self._graph, state)

    def _fresh_state(self, seed: UInt32[Array, ""]) -> TrainState:
        parameters = nnx.to_pure_dict(nnx.state(build(self.run, self.table_size, seed)))
        return TrainState(parameters, self._optimizer.init(parameters), jnp.zeros((), jnp.int32))

    def initial_state(self) -> TrainState:
        """Fresh parameters from the seed, copied to every device or sharded over them.

        As one program only where parameters must not lie whole on one device, or are drawn by
        several processes: compiling the program takes longer than drawing one array after another.
        """
        if self.run.training.shard_parameters or jax.process_count() > 1:
            return jax.jit(self._fresh_state, out_shardings=self._state_sharding)(self.seed)
        return jax.device_put(self._fresh_state(jnp.uint32(self.seed)), self._state_sharding)

    def warm_start(self, state: TrainState, arrays: Mapping[str, np.ndarray]) -> TrainState:
        """A fresh state with the encoder and embedding table of another model.

        Raises:
            ValueError: the arrays do not fit.
        """
        parameters = warm_start(state.parameters, arrays)
        parameters = jax.device_put(parameters, self._state_sharding.parameters)
        return state._replace(parameters=parameters)

    def arrays(self, parameters: dict) -> dict[str, np.ndarray]:
        """Parameters by name, whole, in every process; all processes must call it."""
        return to_arrays(nnx.state(self.model(self._replicated(parameters)), nnx.Param))

    def _loss(
        self,
        parameters,
        source,
        target,
        corruption_key,
        dropout_key,
        progress,
        token_count,
        sentence_count,
    ):
        """The scalar to differentiate, and the sums to report."""
        losses = batch_losses(
            self.model(parameters),
            self.run,
            self.vocabulary_size,
            source,
            target,
            corruption_key,
            dropout_key,
            progress,
        )
        objective = self.run.objective
        # Dividing by all target tokens gives a position the same weight in every batch, however
        # many positions count there.
        loss = losses.token / token_count
        loss = loss + objective.length_loss_weight * losses.length / sentence_count
        return loss + objective.critic_weight * losses.critic / token_count, losses

    def _gradient(self, parameters, source, target, step, seed):
        """Gradient of the mean loss of a batch, and its sums, one micro-batch at a time."""
        corruption_key, dropout_key = jax.random.split(step_key(seed, step))
        token_count = jnp.maximum(jnp.sum(target != 0, dtype=jnp.float32), 1.0)
        sentence_count = jnp.maximum(jnp.sum(target[..., 0] != 0, dtype=jnp.float32), 1.0)
        # None where the loss does not follow it, so that runs of any length share one program.
        follows = self.run.objective.follows_progress
        progress = step / self.run.training.steps if follows else None
        differentiate = jax.grad(self._loss, has_aux=True)

        def micro(carry, batch):
            index, source, target = batch
            keys = jax.random.fold_in(corruption_key, index), jax.random.fold_in(dropout_key, index)
            gradient, losses = differentiate(
                parameters, source, target, *keys, progress, token_count, sentence_count
            )
            return jax.tree.map(jnp.add, carry, (gradient, losses)), None

        zeros = (
            jax.tree.map(jnp.zeros_like, parameters),
            Losses(*(jnp.zeros(()) for _ in Losses._fields)),
        )
        if source.shape[0] == 1:
            return micro(zeros, (0, source[0], target[0]))[0]
        indices = jnp.arange(source.shape[0])
        return jax.lax.scan(micro, zeros, (indices, source, target))[0]

    def _run_steps(self, state: TrainState, sources, targets, rates, count, seed):
        """Up to `count` steps; arrays are [step, micro-batch, sentence, token]."""
        self.traces += 1

        def body(index, carry):
            state, totals = carry
            source, target = sources[index], targets[index]
            gradient, losses = self._gradient(state.parameters, source, target, state.step, seed)
            norm = optax.global_norm(gradient)
            finite = jnp.isfinite(norm) & jnp.isfinite(losses.token + losses.length)
            updates, optimizer = self._optimizer.update(gradient, state.optimizer, state.parameters)
            rate = rates[index]
            updates = jax.tree.map(lambda update: rate * update, updates)
            parameters = jax.tree.map(jnp.add, state.parameters, updates)
            new = TrainState(parameters, optimizer, state.step + 1)
            going = (totals.finite == index) & finite
            kept = jax.tree.map(lambda a, b: jnp.where(going, a, b), new, state)
            if self.run.training.shard_parameters:
                kept = jax.lax.with_sharding_constraint(kept, self._state_sharding)
            summed = jax.tree.map(jnp.add, (totals.losses, totals.gradient_norm), (losses, norm))
            return kept, Totals(summed[0], summed[1], totals.finite + going)

        zero = jnp.zeros(())
        start = Totals(Losses(*(zero for _ in Losses._fields)), zero, jnp.zeros((), jnp.int32))
        return jax.lax.fori_loop(0, count, body, (state, start))

    def _run_evaluation(self, parameters, source, target, index, seed) -> Losses:
        key = jax.random.fold_in(step_key(seed, jnp.int32(VALIDATION_STEP)), index)
        return batch_losses(
            self.model(parameters), self._plain, self.vocabulary_size, source, target, key, None
        )

    def steps(
        self, state: TrainState, source: np.ndarray, target: np.ndarray, rates: list[float]
    ) -> tuple[TrainState, Totals]:
        """Train on consecutive batches of one bucket.

        Args:
            state: is consumed.
            source, target: [steps, sentences, tokens] ids.
            rates: learning rate of each step; at most `most_steps` of the training.
        """
        micro, capacity = self.run.training.accumulate, most_steps(self.run.training)
        count = len(source)
        padded = np.zeros(capacity, np.float32)
        padded[:count] = rates
        sharding = split_sentences(self.mesh, axis=2)
        batches = (
            placed(micro_batches(ids, capacity, micro, self.mesh.size), sharding)
            for ids in (source, target)
        )
        return self._steps(state, *batches, padded, np.int32(count), self.seed)

    def evaluate(
        self, parameters: dict, batches: list[tuple[np.ndarray, np.ndarray]]
    ) -> dict[str, float]:
        """Mean losses without dropout, smoothing, z-loss, glancing and consistency; corruption is
        the same at every call. `time_weight` weighs the sentences as in training."""
        sums = np.zeros(len(Losses._fields))
        for index, (source, target) in enumerate(batches):
            more = padded_rows(len(source), self.mesh.size) - len(source)
            sharding = split_sentences(self.mesh, axis=0)
            batch = (placed(np.pad(ids, ((0, more), (0, 0))), sharding) for ids in (source, target))
            losses = self._evaluate(parameters, *batch, np.int32(index), self.seed)
            sums += np.array(losses, np.float64)
        return means(Losses(*sums), self.run)


def all_finite(parameters: dict) -> Bool[Array, ""]:
    """Whether every value is a finite number."""
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(parameters)]).all()


def means(losses: Losses, run: TrainingRun) -> dict[str, float]:
    """Mean losses per token and per sentence, their weighted sum, and the accuracy.

    The sum weighs the critic against the tokens as training does: both are divided by the number
    of positions that count. `critic_loss` is given where a critic is trained.
    """
    objective = run.objective
    tokens, sentences = max(float(losses.tokens), 1.0), max(float(losses.sentences), 1.0)
    token, length = float(losses.token) / tokens, float(losses.length) / sentences
    named = {
        "loss": token + objective.length_loss_weight * length,
        "token_loss": token,
        "length_loss": length,
        "accuracy": float(losses.correct) / max(float(losses.predicted), 1.0),
    }
    if objective.critic_weight and run.parallel:
        named["critic_loss"] = float(losses.critic) / tokens
        named["loss"] += objective.critic_weight * named["critic_loss"]
    return named
