"""Settings of decoders and trainings that nothing reads are refused: they would seem to act."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from padir.config.base import Settings, policy_names
from padir.config.experiment import Config
from padir.config.objective import Objective
from padir.config.systems import AUTOREGRESSIVE
from padir.config.training import TrainingRun
from padir.files import InputError

_DRAWN_RATE = ("uniform_rate", "uniform_count", "time", "context")
_GIVEN_RATE = tuple(
    name for name in policy_names("training/corruption.py")["HIDING"] if name not in _DRAWN_RATE
)
_READ_WITH: dict[str, tuple[str, tuple[str, ...] | int]] = {
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
        for group in ("objective", "optimizer", "training"):
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
            read, needed = found in values, f"{switch} {' or '.join(values)}"
        else:
            read, needed = found > values, f"{switch} above {values}"
    if isinstance(whole, TrainingRun) and isinstance(owner, Objective) and not whole.parallel:
        read, needed = key in _READ_BY_AR, f"a system other than {AUTOREGRESSIVE}"
    if not read:
        raise InputError(f"config: {label}.{path} is {value}, which is read only with {needed}")
