"""Settings of decoders and trainings that nothing reads are refused: they would seem to act."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, get_args

from padir.config.base import Settings, policy_names
from padir.config.experiment import Config
from padir.config.objective import Objective
from padir.config.systems import AUTOREGRESSIVE
from padir.config.training import Architecture, TrainingRun
from padir.files import InputError

_GIVEN_RATE = ("rate",)
"""Hidings that read `unmasking_rate`. Any other is refused it, or a rate that does nothing would
make another training of the same numbers."""
_HIDING = policy_names("training/corruption.py")["HIDING"]
_LENGTH_PREDICTORS = get_args(Architecture.model_fields["length_predictor"].annotation)
_READ_WITH: dict[str, tuple[str, tuple[str | bool, ...] | int]] = {
    "beam": ("kind", ("beam",)),
    "top_k": ("temperature", 0),
    "top_p": ("temperature", 0),
    "update_share": ("update", ("share", "uncertain")),
    "coupled_by": ("remask", ("coupled",)),
    "coupling_threshold": ("remask", ("coupled",)),
    "joint_reach": ("joint", ("neighbours", "attention")),
    "joint_penalty": ("joint", ("neighbours", "attention")),
    "remask_share": ("remask", ("constant",)),
    "remask_count": ("remask", ("count",)),
    "stop_confidence": ("stop", ("confidence",)),
    "architecture.attention_dropout": ("architecture.dropout", 0),
    "architecture.positional_attention": ("architecture.disentangled", (False,)),
    "objective.corruption": ("objective.hiding", tuple(n for n in _HIDING if n != "context")),
    "objective.length_loss_weight": (
        "architecture.length_predictor",
        tuple(name for name in _LENGTH_PREDICTORS if name != "oracle"),
    ),
    "objective.unmasking_rate": ("objective.hiding", _GIVEN_RATE),
    "objective.diffusion_steps": ("objective.hiding", ("time",)),
    "objective.glancing_end": ("objective.glancing", 0),
    "objective.unroll": ("objective.stages", 1),
    "objective.hide_stutter": ("objective.stages", 1),
    "optimizer.adam_b1": ("optimizer.kind", ("adam",)),
    "optimizer.adam_b2": ("optimizer.kind", ("adam",)),
    "optimizer.weight_decay": ("optimizer.kind", ("adam",)),
    "training.average_count": ("training.selection", ("average",)),
}
"""Settings that are read only where another one has one of these values, or is above a number."""
_READ_BY_AR = ("label_smoothing", "z_loss")
"""Settings of the objective that AR reads."""
_NOT_READ_BY_AR = ("positional_attention", "input_positions", "length_predictor")
"""Settings of the architecture that AR does not read; sizes may be shared with other trainings."""


def refuse_unread(given: Mapping[str, Any], config: Config) -> None:
    """Refuse entries of a config that set what their decoder or training does not read.

    Settings of `decoder_defaults` and `training_defaults` are not looked at: they hold where they
    are read. Nor are those of `results/report/config.json`, which holds the defaults in each entry.

    Args:
        given: the config as written.
        config: made of it.

    Raises:
        InputError: a value other than the default that nothing reads.
    """
    for name, entry in given.get("decoders", {}).items():
        decoder = config.decoders[name]
        for key in _chosen(entry, decoder):
            _refuse(f"decoders.{name}", decoder, key, decoder, key)
    for name, entry in given.get("trainings", {}).items():
        run = config.trainings[name]
        for group in ("architecture", "objective", "optimizer", "training"):
            settings = getattr(run, group)
            for key in _chosen((entry or {}).get(group), settings):
                _refuse(f"trainings.{name}", run, f"{group}.{key}", settings, key)


def _chosen(entry: Mapping[str, Any] | None, whole: Settings) -> Iterable[str]:
    """The settings that an entry gives; none where it gives all, as in files of the workflow."""
    given = entry or {}
    return () if given.keys() >= whole.model_dump().keys() else given


def _refuse(label: str, whole: Settings, path: str, owner: Settings, key: str) -> None:
    """Refuse `key` of `owner`, which is `path` in a decoder or training, unless it is read."""
    value = getattr(owner, key)
    if value == type(owner).model_fields[key].default:
        return
    read, needed = True, ""
    if path in _READ_WITH:
        switch, values = _READ_WITH[path]
        found = attrgetter(switch)(whole)
        if isinstance(values, tuple):
            allowed = " or ".join(str(value).lower() for value in values)
            read, needed = found in values, f"{switch} {allowed}"
        else:
            read, needed = found > values, f"{switch} above {values}"
    if isinstance(whole, TrainingRun) and not whole.parallel:
        of_objective = isinstance(owner, Objective) and key not in _READ_BY_AR
        if of_objective or (isinstance(owner, Architecture) and key in _NOT_READ_BY_AR):
            read, needed = False, f"a system other than {AUTOREGRESSIVE}"
    if not read:
        raise InputError(f"config: {label}.{path} is {value}, which is read only with {needed}")
