"""Which models and decodings the parts of the report are about, as the config alone says."""

from padir.config.experiment import Ablation, Config

TABLE2_DECODINGS = ("greedy", "beam", "T1", "T2", "T4", "T10")
DEPENDENCY_DECODINGS = ("T2", "T4", "T8")
QUALITY_PASSES = 4
_SEARCHES = ("greedy", "beam")


def core_models(config: Config) -> list[str]:
    """Models of table 1, the figures and the page, in the config's order."""
    core = config.evaluation.core
    return [name for name in config.models if core is None or name in core]


def analysed_models(config: Config) -> list[str]:
    """Models of tables 4 and 5, in the config's order: `evaluation.analysis.models`, or the core's
    parallel models whose tokens are chosen apart."""
    named = config.evaluation.analysis.models
    if named is not None:
        return [name for name in config.models if name in named]
    runs = {name: config.models[name] for name in core_models(config)}
    return [name for name, run in runs.items() if run.parallel and run.decoding.joint == "none"]


def candidate(config: Config) -> str | None:
    """The PaDIR model that the claims speak of: `evaluation.candidate`, or the first distilled."""
    if config.evaluation.candidate is not None:
        return config.evaluation.candidate
    padir = [name for name in core_models(config) if config.models[name].system == "padir"]
    distilled = [name for name in padir if config.models[name].targets != "raw"]
    return (distilled or padir or [None])[0]


def papers_model(config: Config, system: str) -> str | None:
    """The model that stands for a system where the paper's numbers stand beside ours: the baseline,
    the candidate, or the first of its system.
    """
    if system == config.models[config.evaluation.baseline].system:
        return config.evaluation.baseline
    if system == "padir":
        return candidate(config)
    return next((name for name, run in config.models.items() if run.system == system), None)


def compared_systems(config: Config) -> list[str]:
    """Models of table 2, in the config's order: `evaluation.systems`.

    Without it all models but those that `evaluation.ablations` names. The baseline, the candidate
    and the first model of each system stay whatever is said of them there.
    """
    if config.evaluation.systems is not None:
        return [name for name in config.models if name in config.evaluation.systems]
    ablated = {
        name for entry in config.evaluation.ablations for name in (entry.base, entry.variant)
    }
    first = {run.system: name for name, run in reversed(config.models.items())}
    kept = {config.evaluation.baseline, candidate(config), *first.values()}
    return [name for name in config.models if name in kept or name not in ablated]


def dependency_models(config: Config) -> list[str]:
    """Models of table dependency_decoding, in the config's order: `evaluation.dependency`, and the
    models whose parameters they take, which they are compared with."""
    named = config.evaluation.dependency
    owners = {config.models[name].parameters for name in named}
    return [name for name in config.models if name in named or name in owners]


def reference_system(config: Config) -> str | None:
    """The model that table 2 compares the others with: the candidate, or the first PaDIR there."""
    systems = compared_systems(config)
    if candidate(config) in systems:
        return candidate(config)
    return next((name for name in systems if config.models[name].system == "padir"), None)


def timing_of_systems(config: Config) -> str:
    """Which timing run table 2 shows: `latency`, of the core, or `systems`, one of its own."""
    return "latency" if set(compared_systems(config)) <= set(core_models(config)) else "systems"


def compared_decoding(config: Config, entry: Ablation) -> str | None:
    """The decoding in which an ablation's models are compared; None where they share none.

    The one that the entry names; else the most passes up to 4 that both decode with, else the
    most passes, and beam search before greedy.
    """
    if entry.decoding is not None:
        return entry.decoding
    theirs = config.models[entry.variant].decode
    common = [name for name in config.models[entry.base].decode if name in theirs]
    if not common:
        return None
    few = [name for name in common if _passes(name) <= QUALITY_PASSES]
    return max(few or common, key=_passes)


def _passes(decoding: str) -> int:
    # AR searches by rising strength, below any number of passes: the two never stand together.
    return _SEARCHES.index(decoding) - 1 if decoding in _SEARCHES else int(decoding[1:])
