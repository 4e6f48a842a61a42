"""Settings of a decoder or training that nothing would read are refused."""

import jax
import jax.numpy as jnp
import pytest

from padir.config import unread
from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.objective import Objective
from padir.config.read import check_config
from padir.config.training import Architecture, Optimizer, Training
from padir.files import InputError
from padir.ids import FIRST_PIECE
from padir.training.corruption import HIDING, first_hypothesis
from tests.unit.config.small import changed, set_value

UNREAD = {
    "beam": (3, {"kind": "beam"}, {"kind": "greedy"}),
    "top_k": (5, {"temperature": 0.5, "stop": "fixed"}, {}),
    "top_p": (0.5, {"temperature": 0.5, "stop": "fixed"}, {}),
    "update_share": (0.5, {"update": "share", "stop": "fixed"}, {}),
    "coupled_by": ("entropy", {"remask": "coupled"}, {}),
    "coupling_threshold": (0.5, {"remask": "coupled"}, {}),
    "joint_reach": (2, {"joint": "neighbours"}, {}),
    "joint_penalty": (5.0, {"joint": "attention"}, {}),
    "remask_share": (0.5, {"remask": "constant"}, {}),
    "remask_count": (2, {"remask": "count"}, {}),
    "stop_confidence": (0.5, {"stop": "confidence"}, {}),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_setting_that_its_decoder_does_not_read_is_refused(name):
    value, reading, other = UNREAD[name]
    read = changed("decoders.x", {name: value, **reading})
    assert getattr(check_config(read).decoders["x"], name) == value
    message = f"^config: decoders.x.{name} is {value}, which is read only with "
    with pytest.raises(InputError, match=message):
        check_config(changed("decoders.x", {name: value, **other}))
    # A default holds where it is read, and says nothing elsewhere.
    check_config(set_value(changed("decoders.x", other), f"decoder_defaults.{name}", value))
    default = type(check_config(read).decoders["x"]).model_fields[name].default
    check_config(changed("decoders.x", {name: default, **other}))


AR = {"system": "ar"}
# Value, entry that reads it, entry that does not.
OF_TRAININGS = {
    "objective.unmasking_rate": (0.5, {}, {"system": "cmlm"}),
    "objective.diffusion_steps": (9, {"system": "rdm"}, {}),
    "objective.glancing_end": (0.1, {"objective": {"glancing": 0.5}}, {}),
    "objective.unroll": ("sample", {}, {"objective": {"stages": 1}}),
    "objective.hide_stutter": (False, {}, {"objective": {"stages": 1}}),
    "objective.stages": (3, {}, AR),
    "objective.glancing": (0.5, {}, AR),
    "objective.length_loss_weight": (0.5, {}, {"architecture": {"length_predictor": "oracle"}}),
    "architecture.attention_dropout": (False, {}, {"architecture": {"dropout": 0.0}}),
    "architecture.positional_attention": (False, {}, {"system": "disco"}),
    "architecture.input_positions": (True, {}, AR),
    "architecture.length_predictor": ("affine", {}, AR),
    "optimizer.adam_b1": (0.8, {"optimizer": {"kind": "adam"}}, {}),
    "optimizer.adam_b2": (0.9, {"optimizer": {"kind": "adam"}}, {}),
    "optimizer.weight_decay": (0.1, {"optimizer": {"kind": "adam"}}, {}),
    "training.average_count": (3, {"training": {"selection": "average"}}, {}),
}


@pytest.mark.parametrize("path", OF_TRAININGS)
def test_a_setting_that_its_training_does_not_read_is_refused(path):
    value, reading, other = OF_TRAININGS[path]
    group, name = path.split(".")

    def given(entry, value=value):
        settings = entry.get(group, {}) | {name: value}
        return changed("trainings.x", entry | {group: settings})

    training = check_config(given(reading)).trainings["x"]
    assert getattr(getattr(training, group), name) == value
    message = f"^config: trainings.x.{path} is {value}, which is read only with [a-z]"
    with pytest.raises(InputError, match=message):
        check_config(given(other))
    check_config(set_value(changed("trainings.x", other), f"training_defaults.{path}", value))
    default = type(getattr(training, group)).model_fields[name].default
    check_config(given(other, default))


# Read by every decoder or training, or checked by its model's own rules.
ALWAYS_READ = {
    SearchDecoder: {"kind", "length_alphas", "weights"},
    RefinementDecoder: {
        *("kind", "length_candidates", "length_search", "restarts", "start", "context"),
        *("temperature", "update", "rescore_kept", "remask", "joint", "replacement", "shortlist"),
        *("stop", "drop_repeats", "reranker", "tuning_passes", "length_alphas", "length_weights"),
        "weights",
    },
    Objective: {
        *("stages", "hiding", "time_weight", "coupled_times", "loss_on", "consistency", "glancing"),
        *("critic_weight", "label_smoothing", "z_loss"),
    },
    Architecture: {
        *("width", "heads", "head_width", "encoder_layers", "decoder_layers", "feed_forward_width"),
        *("activation", "input_positions", "disentangled", "tied_output", "extra_ids"),
        *("table_multiple", "max_positions", "length_predictor", "length_classes", "dropout"),
        *("compute_dtype", "rematerialise"),
    },
    Optimizer: {
        *("kind", "peak_learning_rate", "final_learning_rate", "warmup_steps", "relative_steps"),
        "clip_norm",
    },
    Training: {
        *("steps", "batch_tokens", "buckets", "warm_start", "accumulate", "shard_parameters"),
        *("dispatch_steps", "validate_every", "checkpoint_every", "selection"),
    },
}


@pytest.mark.parametrize("model", ALWAYS_READ)
def test_every_setting_says_when_it_is_read(model):
    """Else one that belongs to another policy is taken, and seems to act."""
    of_decoder = model in (SearchDecoder, RefinementDecoder)
    group = "" if of_decoder else f"{model.__name__.lower()}."
    conditional = {name for name in model.model_fields if group + name in unread._READ_WITH}
    unsaid = set(model.model_fields) - conditional - ALWAYS_READ[model]
    assert not unsaid, "name what reads them in `_READ_WITH` of padir/config/unread.py, or here"
    assert not conditional & ALWAYS_READ[model]


def test_disco_reads_no_corruption():
    entry = {"system": "disco", "objective": {"corruption": "mask"}}
    message = r"^config: trainings.x.objective.corruption is mask, which is read only with "
    with pytest.raises(InputError, match=message):
        check_config(changed("trainings.x", entry))


def test_settings_that_the_workflow_writes_are_read_again():
    """They have defaults and systems' settings in each entry, whether or not it reads them."""
    config = changed("trainings.sundae", {"system": "sundae", "objective": {"stages": 1}})
    set_value(config, "decoders.sundae", {"kind": "sundae", "update": "all"})
    for path, (value, *_) in OF_TRAININGS.items():
        set_value(config, f"training_defaults.{path}", value)
    for name, (value, *_) in UNREAD.items():
        set_value(config, f"decoder_defaults.{name}", value)
    whole = check_config(config)
    assert whole.trainings["ar"].objective.unmasking_rate == 0.5
    assert check_config(whole.model_dump(mode="json")) == whole


def test_ar_takes_label_smoothing_and_z_loss():
    entry = AR | {"objective": {"label_smoothing": 0.1, "z_loss": 0.01}}
    assert check_config(changed("trainings.x", entry)).trainings["x"].objective.z_loss == 0.01


@pytest.mark.parametrize("name", HIDING)
def test_the_hidings_that_read_the_unmasking_rate_are_named(name):
    """Others are refused it; `_GIVEN_RATE` of padir/config/unread.py names them."""
    target = jnp.full((20, 30), FIRST_PIECE, jnp.int32)
    few, many = (
        first_hypothesis(
            jax.random.key(0), target, Objective(hiding=name, unmasking_rate=rate, stages=1), 20
        ).hidden
        for rate in (0.2, 0.8)
    )
    assert (few != many).any() == (name in unread._GIVEN_RATE)
