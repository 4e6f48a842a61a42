"""Catalogue of the report: every table and figure with the files it reads and its section.

Targets of the workflow, choices of `padir report --only`, the order of the page and the tests all
follow from `CATALOGUE`. A new table is one module and one entry here. Functions are named, not
imported, so that the workflow can read the catalogue without NumPy and Matplotlib.
"""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from padir import layout
from padir.config.experiment import Config
from padir.config.theory import EXPERIMENTS
from padir.files import InputError
from padir.layout import Artifact

Kind = Literal["table", "figure"]
Group = Literal["core", "grid", "analysis", "theory"]
Scope = Literal["core", "everything"]
Needs = Callable[[Config], list[Artifact]]
SCOPES: tuple[Scope, ...] = ("core", "everything")
CORE_GROUPS = ("core", "theory")


class Section(NamedTuple):
    """A section of the page. `intro` stands above its tables."""

    title: str
    intro: str = ""


SECTIONS: dict[str, Section] = {
    "quality": Section("Quality"),
    "systems": Section(
        "Systems",
        "Every system on the same data, with the same scorer, and with the same vocabulary and size"
        " unless its settings say otherwise. Steps, learning rate, label smoothing and the start"
        " from a teacher's encoder may differ, as the config says. The paper's table 2 sets its"
        " numbers beside those of other papers.",
    ),
    "decoding": Section(
        "Dependency-aware decoding",
        "Decoders that take the dependence between target positions into account, each against the"
        " plain decoder of the same training with as many passes.",
    ),
    "ablations": Section(
        "Ablations",
        "What each part of PaDIR does: two rows that differ in the settings named, and whether the"
        " difference would be seen again with other sentences and other seeds.",
    ),
    "samplers": Section(
        "Gibbs sampling",
        "The trained conditionals inside a k-Gibbs sampler, as in the paper's theory: one step of a"
        " chain is one decoder pass that redraws k tokens.",
    ),
    "stutter": Section("Stutter"),
    "latency": Section("Latency"),
    "training": Section("Training"),
    "data": Section("Data and distillation"),
    "dependency": Section(
        "Dependence between positions",
        "Which target positions depend on each other: what attention shows of it, what a probe"
        " finds, and, on the synthetic pair, what is true.",
    ),
    "theory": Section(
        "Theory",
        "Statements of the paper and its slides about Ising models, and our corrections. Most are"
        " checked by exact enumeration, those about estimates from data and about simulated chains"
        " by simulation.",
    ),
}


def _always(config: Config) -> bool:
    return True


@dataclass(frozen=True)
class Part:
    """A table or a figure.

    Attributes:
        name: of its files, of its target, and of `padir report --only`.
        kind: table or figure.
        function: `module:function` of this package, from `Results` to a `Table` or a `Picture`.
        needs: what it reads, and all that it reads.
        group: which scope it belongs to; `core` and `theory` make the core report.
        section: of the page, a key of `SECTIONS`.
        when: whether the config has this part at all.
    """

    name: str
    kind: Kind
    function: str
    needs: Needs
    group: Group
    section: str
    when: Callable[[Config], bool] = _always

    @property
    def files(self) -> list[str]:
        """Names of its files."""
        endings = ("csv", "md", "tex") if self.kind == "table" else ("svg", "csv")
        return [f"{self.name}.{ending}" for ending in endings]

    def make(self, results: Any) -> Any:
        """The table or picture of these results."""
        module, _, function = self.function.partition(":")
        return getattr(importlib.import_module(f"padir.report.{module}"), function)(results)


def _core_scores(config: Config) -> list[Artifact]:
    return layout.scores(config, config.core_rows())


def _core_metrics(config: Config) -> list[Artifact]:
    return layout.metrics(config, config.core_rows())


def _latency(config: Config) -> list[Artifact]:
    return [*_core_scores(config), *layout.latencies(config, "core")]


def _systems(config: Config) -> list[Artifact]:
    rows = config.system_rows()
    return [
        *layout.scores(config, rows),
        *layout.latencies(config, layout.timing_of_systems(config)),
        *layout.metrics(config, rows),
    ]


def _further_scores(config: Config) -> list[Artifact]:
    return [*_core_scores(config), *layout.ratings(config, config.core_rows())]


def _redundancy(config: Config) -> list[Artifact]:
    return layout.scores(config, config.dependency_rows())


def _dependency_decoding(config: Config) -> list[Artifact]:
    return [*_redundancy(config), *layout.latencies(config, "dependency")]


def _ablations(config: Config) -> list[Artifact]:
    return layout.scores(config, config.ablation_rows())


def _distillation(config: Config) -> list[Artifact]:
    return layout.cards(config, config.core_rows())


def _theorems(config: Config) -> list[Artifact]:
    return layout.theory(config, list(EXPERIMENTS))


def _has_theory(config: Config) -> bool:
    return bool(config.theory.seeds)


def _passes(name: str, section: str) -> Part:
    """A figure against passes, where a core row has a number of them."""
    return Part(
        *(name, "figure", f"figures:{name}", _core_scores, "core", section),
        lambda config: any(row.decoding.passes is not None for row in config.core_rows()),
    )


def _of_systems(kind: Kind, function: str) -> Part:
    """A part beside table 2, where that has rows of its own."""
    return Part(
        *(function.partition(":")[2], kind, function, _systems, "grid", "systems"),
        lambda config: config.evaluation.systems is not None,
    )


def _decoding(name: str, function: str, needs: Needs) -> Part:
    return Part(
        *(name, "table", f"dependency_decoding:{function}", needs, "grid", "decoding"),
        lambda config: bool(config.evaluation.dependency),
    )


def _analysis(kind: Kind, name: str, function: str) -> Part:
    return Part(
        *(name, kind, function, layout.analyses, "analysis", "dependency"),
        lambda config: bool(config.analysed_rows()),
    )


def _drawing(name: str, experiment: str) -> Part:
    """A figure of an Ising experiment, of its first seed."""
    return Part(
        *(name, "figure", f"theory:{name}", lambda c: layout.theory(c, [experiment])[:1]),
        *("theory", "theory", _has_theory),
    )


CATALOGUE: tuple[Part, ...] = (
    Part("table1", "table", "translation:table1", _core_scores, "core", "quality"),
    _passes("quality_passes", "quality"),
    Part("quality_latency", "figure", "figures:quality_latency", _latency, "core", "quality"),
    Part(
        *("table3", "table", "further_scores:table3", _further_scores, "core", "quality"),
        lambda config: bool(config.evaluation.scorers),
    ),
    Part("table2", "table", "systems:table2", _systems, "grid", "systems"),
    _of_systems("table", "parallelism:parallelism"),
    _of_systems("figure", "figures:systems_passes"),
    _of_systems("figure", "figures:systems_latency"),
    _decoding("dependency_decoding", "comparison_table", _dependency_decoding),
    _decoding("redundancy", "redundancy_table", _redundancy),
    Part(
        *("ablations", "table", "ablations:ablations_table", _ablations, "grid", "ablations"),
        lambda config: bool(config.evaluation.ablations),
    ),
    Part(
        *("samplers", "table", "samplers:samplers_table", layout.samples, "grid", "samplers"),
        lambda config: bool(config.evaluation.samplers),
    ),
    Part("stutter", "table", "translation:stutter_table", _core_scores, "core", "stutter"),
    _passes("stutter_passes", "stutter"),
    Part("latency", "table", "translation:latency_table", _latency, "core", "latency"),
    Part("training", "figure", "figures:training_curve", _core_metrics, "core", "training"),
    Part("training_time", "figure", "figures:training_time", _core_metrics, "core", "training"),
    Part(
        *("distillation", "table", "data:distillation_table", _distillation, "core", "data"),
        lambda config: bool(_distillation(config)),
    ),
    Part("data", "table", "data:data_table", layout.statistics, "core", "data"),
    _analysis("table", "table4", "dependency:table4"),
    _analysis("table", "table5", "dependency:table5"),
    _analysis("table", "dependency", "dependency:dependency_table"),
    _analysis("figure", "self_attention_heads", "heat_maps:self_attention_heads"),
    _analysis("figure", "cross_attention_heads", "heat_maps:cross_attention_heads"),
    _drawing("figure1", "estimation"),
    _drawing("figure2", "estimation"),
    _drawing("figure3", "mode_reaching"),
    _drawing("product_steps", "product_kernels"),
    _drawing("mask_design", "mask_design"),
    Part("theorems", "table", "theory:theorems", _theorems, "theory", "theory", _has_theory),
)


def parts(config: Config) -> list[Part]:
    """The parts that the config has, in the page's order."""
    return [part for part in CATALOGUE if part.when(config)]


def parts_in(config: Config, scope: Scope) -> list[Part]:
    """Parts of a scope."""
    return [p for p in parts(config) if scope == "everything" or p.group in CORE_GROUPS]


def part(config: Config, name: str) -> Part:
    """One part by name.

    Raises:
        InputError: the config has no such part.
    """
    known = {entry.name: entry for entry in parts(config)}
    if name not in known:
        raise InputError(f"{name}: the config has no such part, allowed: {', '.join(known)}")
    return known[name]


def artifacts(config: Config, name: str) -> list[Artifact]:
    """Artifacts that one part reads."""
    return part(config, name).needs(config)


def needs_of(config: Config, entries: Iterable[Part]) -> list[Artifact]:
    """Artifacts that several parts read, each once."""
    return list({a.path: a for entry in entries for a in entry.needs(config)}.values())
