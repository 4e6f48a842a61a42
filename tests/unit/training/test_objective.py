"""Every option of training against plain losses on the host, position by position."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import rel_entr

from padir.config.objective import Objective
from padir.config.training import TrainingRun
from padir.ids import EOS, FIRST_PIECE, PAD, START
from padir.model.parameters import build
from padir.training.corruption import contexts, first_hypothesis
from padir.training.objective import batch_losses
from tests.training import VOCABULARY, batch, numpy_cross_entropy, quiet, tiny_run

SOURCE, TARGET = (side[0] for side in batch(1, seed=3))
PIECES = [tuple(place) for place in np.argwhere((TARGET != PAD) & (TARGET != EOS))]
KEY = jax.random.key(5)


@pytest.fixture(scope="module")
def model():
    """Fresh parameters, with the head that tells right from wrong."""
    return build(quiet(tiny_run(), critic_weight=0.5), VOCABULARY, 5)


def likeliest(logits: np.ndarray) -> np.ndarray:
    """The likeliest piece at each position."""
    return logits[..., FIRST_PIECE:VOCABULARY].argmax(-1) + FIRST_PIECE


def drawn(logits: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """The piece at which the summed probabilities reach 1 - chance."""
    weights = np.exp(logits[..., FIRST_PIECE:VOCABULARY].astype(np.float64))
    upto = weights.cumsum(-1)
    return (upto < ((1 - chance) * upto[..., -1])[..., None]).sum(-1) + FIRST_PIECE


def chances(number: int) -> np.ndarray:
    """Uniform draws, one per position: 1 of glancing, 3 and on of the stages."""
    return np.asarray(jax.random.uniform(jax.random.fold_in(KEY, number), TARGET.shape), np.float64)


def weights(objective: Objective) -> np.ndarray:
    """Of each sentence's loss at stage 1: by the diffusion time that it draws, if it draws one."""
    if objective.time_weight == "none":
        return np.ones(len(TARGET))
    key, steps = KEY, objective.diffusion_steps
    for _ in range(2):
        key = jax.random.split(key)[0]
    times = [1 + int(u * steps) for u in jax.random.uniform(key, (len(TARGET),)).tolist()]
    linear = objective.time_weight == "linear"
    return np.array([1 - (time - 1) / steps if linear else 1 / time for time in times])


def glance(logits, tokens, hidden, share) -> None:
    """Show the hidden positions of the least chance, `share` of as many as are wrong in a row."""
    wrong, chance = likeliest(logits) != TARGET, chances(1)
    for row in range(len(TARGET)):
        count = int(share * sum(wrong[row] & hidden[row]))
        order = sorted(np.flatnonzero(hidden[row]), key=chance[row].__getitem__)
        for i in order[:count]:
            tokens[row, i], hidden[row, i] = TARGET[row, i], False


def smoothed_loss(logits: np.ndarray, objective: Objective) -> np.ndarray:
    """KL divergence of the prediction from the smoothed target, in nats, and the z-loss."""
    logits, smoothing = logits.astype(np.float64), objective.label_smoothing
    normaliser = np.log(np.exp(logits).sum(-1))
    smoothed = np.full(logits.shape, smoothing / (logits.shape[-1] - 1))
    np.put_along_axis(smoothed, TARGET[..., None], 1 - smoothing, -1)
    divergence = rel_entr(smoothed, np.exp(logits - normaliser[..., None])).sum(-1)
    return divergence + objective.z_loss * normaliser**2


def plain_losses(model, run: TrainingRun, progress: float | None) -> dict[str, float]:
    """What `batch_losses` sums over the batch, as the settings' descriptions read."""
    objective = run.objective
    cross, real = model.encode(jnp.asarray(SOURCE)).cross, TARGET != PAD
    first = first_hypothesis(KEY, jnp.asarray(TARGET), objective, VOCABULARY)
    tokens, hidden = np.array(first.tokens), np.array(first.hidden)

    seen = jnp.asarray(real)
    if objective.hiding == "context":
        seen = contexts(jax.random.fold_in(KEY, 2), jnp.asarray(TARGET))

    def look(read):
        vectors = model.hidden(jnp.asarray(read), cross, seen)[0]
        return np.asarray(model.logits(vectors)), np.asarray(model.critic_logits(vectors))

    if objective.glancing:
        share = objective.glancing * (1 - progress) + objective.glancing_end * progress
        glance(look(tokens)[0], tokens, hidden, share)
    counts = {"all": real, "hidden": hidden, "noised": tokens != TARGET}[objective.loss_on]
    if objective.hiding == "context":
        counts = real & (TARGET != EOS)
    weight = weights(objective)[:, None]
    read = tokens.copy()
    token = critic = number = 0.0
    log_probabilities, first_counts = [], counts
    for stage in range(objective.stages):
        logits, keeps = look(read)
        token += (weight * smoothed_loss(logits, objective))[counts].sum()
        number += counts.sum()
        log_probabilities.append(np.asarray(jax.nn.log_softmax(logits), np.float64))
        best = chosen = likeliest(logits)
        if objective.unroll == "sample":
            chosen = drawn(logits, chances(3 + stage))
        if objective.critic_weight:
            judged = numpy_cross_entropy(keeps, (chosen == TARGET).astype(int))
            critic += sum(judged[place] for place in PIECES)
        asked = [place for place in PIECES if counts[place]]
        for place in PIECES:
            read[place] = chosen[place]
        before = read.copy()
        for row, i in PIECES:
            if objective.hide_stutter and i and before[row, i] == before[row, i - 1]:
                read[row, i] = tokens[row, i]
        counts, weight = real, 1.0
    apart = (np.exp(log_probabilities[-1]) * (log_probabilities[-1] - log_probabilities[0])).sum(-1)
    token += objective.consistency * apart[first_counts].sum()
    return {
        "token": token / objective.stages,
        "tokens": number / objective.stages,
        "critic": critic / objective.stages,
        "correct": sum(best[place] == TARGET[place] for place in asked),
        "predicted": len(asked),
    }


GLANCING = {"stages": 1, "glancing": 0.75, "glancing_end": 0.25}
OPTIONS = {
    "one stage": {"stages": 1},
    "two stages": {},
    "three stages": {"stages": 3},
    "stutter stays": {"stages": 3, "hide_stutter": False},
    "sampled": {"stages": 3, "unroll": "sample"},
    "sampled, stutter stays": {"unroll": "sample", "hide_stutter": False},
    "of noised": {"loss_on": "noised"},
    "of hidden": {"loss_on": "hidden", "stages": 1},
    "weighed": {"hiding": "time", "diffusion_steps": 8, "time_weight": "linear"},
    "weighed by 1 / t": {"hiding": "time", "diffusion_steps": 8, "time_weight": "reciprocal"},
    "contexts": {"hiding": "context", "stages": 1},
    "consistent": {"consistency": 0.5, "stages": 3, "loss_on": "hidden"},
    "smoothed": {"label_smoothing": 0.1},
    "with z-loss": {"z_loss": 0.01},
    "critic": {"critic_weight": 0.5},
    "critic of samples": {"critic_weight": 0.5, "unroll": "sample"},
    "glancing": GLANCING,
    "glancing, of hidden": {**GLANCING, "loss_on": "hidden", "corruption": "mask"},
    "glancing, of noised": {**GLANCING, "loss_on": "noised", "stages": 2},
}


def package_losses(model, run: TrainingRun, progress: float | None):
    """The package's."""
    ids = jnp.asarray(SOURCE), jnp.asarray(TARGET)
    return batch_losses(model, run, VOCABULARY, *ids, KEY, None, progress)


@pytest.fixture(scope="module")
def default_losses(model) -> tuple[float, ...]:
    """Losses without any of the options."""
    losses = package_losses(model, quiet(tiny_run(), unmasking_rate=0.3), None)
    return tuple(map(float, losses))


@pytest.mark.parametrize("name", OPTIONS)
def test_parallel_losses_equal_a_plain_loop(name: str, model, default_losses) -> None:
    run = quiet(tiny_run(), **{"unmasking_rate": 0.3, **OPTIONS[name]})
    seen = [] if name == "two stages" else [default_losses]
    for progress in (0.0, 0.5, 1.0) if run.objective.follows_progress else (None,):
        losses = package_losses(model, run, progress)
        seen.append(tuple(map(float, losses)))
        for key, value in plain_losses(model, run, progress).items():
            np.testing.assert_allclose(getattr(losses, key), value, rtol=1e-5, err_msg=key)
        lengths = (TARGET != PAD).sum(1)
        logits = np.asarray(model.encode(jnp.asarray(SOURCE)).length_logits)
        length = numpy_cross_entropy(logits, lengths - 1).sum()
        np.testing.assert_allclose(losses.length, length, rtol=1e-5)
    # Else neither loop would show that the option, or the share of steps done, is not read.
    assert len(set(seen)) == len(seen)


def test_rows_of_padding_count_nowhere(model) -> None:
    """They fill batches up. Nothing is hidden: what is drawn depends on the number of rows."""
    run = quiet(tiny_run(), unmasking_rate=1.0, stages=1, critic_weight=0.5)
    sides = [np.pad(side, ((0, 3), (0, 0))) for side in (SOURCE, TARGET)]
    padded = batch_losses(model, run, VOCABULARY, *map(jnp.asarray, sides), KEY, None, None)
    np.testing.assert_allclose(padded, package_losses(model, run, None), rtol=1e-5)


@pytest.mark.parametrize("name", ["one stage", "smoothed", "with z-loss"])
def test_losses_of_ar_are_those_by_hand(name: str) -> None:
    run = quiet(tiny_run("ar"), **OPTIONS[name])
    model = build(run, VOCABULARY, 5)
    losses = package_losses(model, run, 1.0)
    read = np.pad(TARGET[:, :-1], ((0, 0), (1, 0)), constant_values=START)
    cross, real = model.encode(jnp.asarray(SOURCE)).cross, TARGET != PAD
    logits = np.asarray(model.decode(jnp.asarray(read), cross, jnp.ones(TARGET.shape, bool)))
    np.testing.assert_allclose(
        losses.token, smoothed_loss(logits, run.objective)[real].sum(), rtol=1e-5
    )
    assert losses.correct == (logits.argmax(-1) == TARGET)[real].sum()
    assert losses.tokens == losses.predicted == real.sum()
    assert (losses.length, losses.critic, losses.sentences) == (0, 0, len(TARGET))


def test_the_options_matter_on_this_batch(model) -> None:
    """Else the loop above could not tell one from another."""
    counts = {}
    for loss_on in ("all", "noised", "hidden"):
        run = quiet(tiny_run(), stages=1, unmasking_rate=0.3, loss_on=loss_on)
        counts[loss_on] = float(package_losses(model, run, 1.0).tokens)
    # Some random pieces are by chance the target's.
    assert counts["noised"] < counts["hidden"] < counts["all"] == (TARGET != PAD).sum()
    glancing = quiet(tiny_run(), **GLANCING, unmasking_rate=0.3, loss_on="hidden")
    shown = [
        float(package_losses(model, glancing, progress).tokens) for progress in (0.0, 0.5, 1.0)
    ]
    assert shown[0] < shown[1] < shown[2] < counts["hidden"]
    # A head judges both right and wrong tokens, and neither are half of them.
    right = package_losses(model, quiet(tiny_run(), stages=1, unmasking_rate=0.3), 1.0).correct
    assert 0 < float(right) < len(PIECES) / 3
