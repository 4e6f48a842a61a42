"""The compiled part of training: several optimizer steps in one call, on every device.

A step's random numbers are a function of (seed, step), its batch of (seed, step) too, so a
resumed run repeats an uninterrupted one.
"""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from padir.config.training import TrainingRun
from padir.devices import (
    data_mesh,
    padded_rows,
    placed,
    replicated,
    sharded_leaves,
    split_sentences,
)
from padir.model.parameters import build, to_arrays, warm_started
from padir.training.objective import Losses, batch_losses
from padir.training.optimizer import make_optimizer

# Steps are counted from 0; validation's noise uses this number instead.
VALIDATION_STEP = 2**31 - 1


class TrainState(NamedTuple):
    """What a checkpoint holds: parameters and optimizer state as nested dictionaries."""

    parameters: dict
    optimizer: optax.OptState
    step: Int[Array, ""]


class Totals(NamedTuple):
    """Sums over the steps of one call."""

    losses: Losses
    gradient_norm: Float[Array, ""]
    finite: Int[Array, ""]
    """Steps before the first one with a non-finite loss or gradient, which is not applied."""


def step_key(seed: UInt32[Array, ""], step: Int[Array, ""]) -> PRNGKeyArray:
    """The random key of one step of one run."""
    return jax.random.fold_in(jax.random.key(seed), step)


def micro_batches(
    ids: Int[np.ndarray, "T B L"], capacity: int, micro: int, devices: int
) -> Int[np.ndarray, "S M R L"]:
    """Sentences dealt out to micro-batches, padded to what is compiled.

    Which micro-batch a sentence is in, and with it its noise, depends on no device count.

    Args:
        ids: of T steps.
        capacity: steps of one call (S), at least T.
        micro: micro-batches per step (M).
        devices: that split a micro-batch; its rows (R) are a multiple.
    """
    steps, rows, width = ids.shape
    each = -(-rows // micro)
    full = np.zeros((capacity, micro * each, width), np.int32)
    full[:steps, :rows] = ids
    more = padded_rows(each, devices) - each
    return np.pad(full.reshape(capacity, micro, each, width), ((0, 0), (0, 0), (0, more), (0, 0)))


class Trainer:
    """One model's training step, compiled once per batch shape.

    Attributes:
        traces: how often the training step was traced, once per shape after warm-up.
    """

    def __init__(self, run: TrainingRun, table_size: int, vocabulary_size: int, seed: int):
        self.run, self.table_size, self.vocabulary_size = run, table_size, vocabulary_size
        # Handed to compiled code as an argument: every seed of a model shares one program.
        self.seed = np.uint32(seed)
        self.mesh = data_mesh()
        self.traces = 0
        self._optimizer = make_optimizer(run.optimizer)
        # Validation reports plain cross-entropy, whatever training smooths.
        plain = run.objective.model_copy(update={"label_smoothing": 0.0, "z_loss": 0.0})
        self._plain = run.model_copy(update={"objective": plain})
        abstract = nnx.eval_shape(lambda: build(run, table_size))
        self._graph, self._abstract = nnx.split(abstract)
        everywhere = replicated(self.mesh)
        split = split_sentences(self.mesh, axis=2)
        self._state_sharding = TrainState(everywhere, everywhere, everywhere)  # pyright: ignore
        if run.training.shard_parameters:
            self._state_sharding = sharded_leaves(
                self.mesh, jax.eval_shape(self._fresh_state, self.seed)
            )
        self._steps = jax.jit(
            self._run_steps,
            in_shardings=(
                *(self._state_sharding, split, split),
                *(everywhere, everywhere, everywhere),
            ),
            out_shardings=(self._state_sharding, everywhere),
            donate_argnums=0,
        )
        one = split_sentences(self.mesh, axis=0)
        self._evaluate = jax.jit(
            self._run_evaluation,
            in_shardings=(self._state_sharding.parameters, one, one, everywhere, everywhere),
            out_shardings=everywhere,
        )
        self._whole = jax.jit(lambda parameters: parameters, out_shardings=everywhere)
        self._all_finite = jax.jit(all_finite, out_shardings=everywhere)

    def model(self, parameters: dict):
        """The model with these parameters."""
        state = jax.tree.map(lambda leaf: leaf, self._abstract)
        nnx.replace_by_pure_dict(state, parameters)
        return nnx.merge(self._graph, state)

    def parameter_state(self, parameters: dict) -> nnx.State:
        """Parameters as an nnx state, for `padir.model.parameters.to_arrays`."""
        return nnx.state(self.model(parameters), nnx.Param)

    def _fresh_state(self, seed: UInt32[Array, ""]) -> TrainState:
        parameters = nnx.to_pure_dict(nnx.state(build(self.run, self.table_size, seed)))
        return TrainState(parameters, self._optimizer.init(parameters), jnp.zeros((), jnp.int32))

    def initial_state(self) -> TrainState:
        """Fresh parameters from the seed, on every device or dealt out to them."""
        return jax.jit(self._fresh_state, out_shardings=self._state_sharding)(self.seed)

    def warm_started(self, state: TrainState, arrays: Mapping[str, np.ndarray]) -> TrainState:
        """A fresh state with another model's encoder and embedding table.

        Raises:
            ValueError: the arrays do not fit.
        """
        parameters = warm_started(state.parameters, arrays)
        parameters = jax.device_put(parameters, self._state_sharding.parameters)
        return state._replace(parameters=parameters)

    def arrays(self, parameters: dict) -> dict[str, np.ndarray]:
        """Parameters by name, whole, in every process; all processes must ask."""
        return to_arrays(self.parameter_state(self._whole(parameters)))

    def _loss(
        self, parameters, source, target, noise_key, dropout_key, progress, tokens, sentences
    ):
        """The scalar that is differentiated, and the sums that are reported."""
        losses = batch_losses(
            self.model(parameters),
            self.run,
            self.vocabulary_size,
            source,
            target,
            noise_key,
            dropout_key,
            progress,
        )
        objective = self.run.objective
        # Every system divides by all target tokens, so that its positions weigh alike in every
        # batch, however many of them count.
        loss = losses.token / tokens + objective.length_loss_weight * losses.length / sentences
        return loss + objective.critic_weight * losses.critic / tokens, losses

    def _gradient(self, parameters, source, target, step, seed):
        """Gradient of the batch's mean loss, in micro-batches that fit memory."""
        noise_key, dropout_key = jax.random.split(step_key(seed, step))
        tokens = jnp.maximum(jnp.sum(target != 0, dtype=jnp.float32), 1.0)
        sentences = jnp.maximum(jnp.sum(target[..., 0] != 0, dtype=jnp.float32), 1.0)
        # Only where it is read: programs of runs of other lengths are the same otherwise.
        progress = step / self.run.training.steps if self.run.objective.glancing else 1.0
        differentiate = jax.grad(self._loss, has_aux=True)

        def micro(carry, batch):
            index, source, target = batch
            keys = jax.random.fold_in(noise_key, index), jax.random.fold_in(dropout_key, index)
            gradient, losses = differentiate(
                parameters, source, target, *keys, progress, tokens, sentences
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
            rates: learning rate of each step; at most `training.dispatch_steps`.
        """
        micro, capacity = self.run.training.accumulate, self.run.training.dispatch_steps
        count = len(source)
        padded = np.zeros(capacity, np.float32)
        padded[:count] = rates
        split = split_sentences(self.mesh, axis=2)
        dealt = (micro_batches(ids, capacity, micro, self.mesh.size) for ids in (source, target))
        batches = (placed(ids, split) for ids in dealt)
        return self._steps(state, *batches, padded, np.int32(count), self.seed)

    def step_flops(self, source: np.ndarray, target: np.ndarray) -> float:
        """Floating-point operations of one step's gradient on [sentences, tokens] ids.

        XLA's own count; the update's few operations per parameter are left out.
        """
        cost = self._compiled_gradient(source[None], target[None]).cost_analysis()
        return float((cost or {}).get("flops", 0.0))

    def step_memory(self, micro_batches: int, sentences: int, tokens: int) -> int:
        """Bytes that one step's gradient needs on one device beside parameters and batch.

        XLA's own count for this machine's kind of device, gradients included.
        """
        shape = jax.ShapeDtypeStruct((micro_batches, sentences, tokens), jnp.int32)
        found = self._compiled_gradient(shape, shape).memory_analysis()
        if found is None:
            raise RuntimeError("this kind of device does not say how much memory a program needs")
        return int(found.temp_size_in_bytes + found.output_size_in_bytes)

    def _compiled_gradient(self, source, target):
        parameters = jax.eval_shape(self._fresh_state, self.seed).parameters
        step = jax.ShapeDtypeStruct((), jnp.int32)
        return jax.jit(self._gradient).lower(parameters, source, target, step, self.seed).compile()

    def finite(self, parameters: dict) -> bool:
        """Whether every parameter is a finite number."""
        return bool(self._all_finite(parameters))

    def evaluate(
        self, parameters: dict, batches: list[tuple[np.ndarray, np.ndarray]]
    ) -> dict[str, float]:
        """Mean plain losses, without dropout or smoothing; the noise is the same at every call."""
        sums = np.zeros(len(Losses._fields))
        for index, (source, target) in enumerate(batches):
            rows = padded_rows(len(source), self.mesh.size)
            grown = [np.pad(ids, ((0, rows - len(ids)), (0, 0))) for ids in (source, target)]
            split = split_sentences(self.mesh, axis=0)
            grown = [placed(ids, split) for ids in grown]
            found = self._evaluate(parameters, *grown, np.int32(index), self.seed)
            sums += np.array(found, np.float64)
        return means(Losses(*sums), self.run)


def all_finite(parameters: dict) -> Bool[Array, ""]:
    """Whether every value is a finite number."""
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(parameters)]).all()


def means(losses: Losses, run: TrainingRun) -> dict[str, float]:
    """Losses per token and per sentence, their weighted sum, and the share of right tokens."""
    tokens, sentences = max(float(losses.tokens), 1.0), max(float(losses.sentences), 1.0)
    token, length = float(losses.token) / tokens, float(losses.length) / sentences
    return {
        "loss": token + run.objective.length_loss_weight * length,
        "token_loss": token,
        "length_loss": length,
        "accuracy": float(losses.correct) / max(float(losses.predicted), 1.0),
    }
