"""The whole experiment: datasets, models, teachers, evaluation."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from padir.config.base import Name, Settings
from padir.config.data import Dataset
from padir.config.model import ModelRun
from padir.config.teacher import ModelTeacher, Teacher
from padir.config.theory import Theory


class BleurtScorer(Settings):
    """BLEURT, from a checkpoint of BLEURT-20's format; needs TensorFlow."""

    kind: Literal["bleurt"] = "bleurt"
    checkpoint: str = Field(
        min_length=1,
        description="Folder of the checkpoint, as unpacked; where there is none, its scores say"
        " `not run`.",
    )


class ChrfWordsScorer(Settings):
    """chrF++: chrF with words and pairs of words."""

    kind: Literal["chrf++"] = "chrf++"


Scorer = Annotated[BleurtScorer | ChrfWordsScorer, Field(discriminator="kind")]


class Ablation(Settings):
    """Two models that differ in little: what the difference does."""

    name: Name = Field(description="Claim or question that the comparison decides.")
    base: Name = Field(description="Entry under `models` with the feature.")
    variant: Name = Field(description="Entry under `models` without it, or with it changed.")
    decoding: str | None = Field(
        default=None, description="Decoding compared; null: the largest common T up to 4."
    )
    helps: bool = Field(
        default=True,
        description="Whether the claim is that base is better, or else within 1 BLEU.",
    )


class ChainSampler(Settings):
    """k-Gibbs chains over translations, in the trained conditionals. Paper: 2.3, 2.4, slides."""

    model: Name = Field(description="Parallel model under `models`; its first seed.")
    chains: int = Field(default=4, ge=1, description="Chains per sentence.")
    steps: int = Field(default=100, ge=1, description="Steps per chain.")
    block: int = Field(default=1, ge=1, description="Tokens drawn per step (k).")
    temperature: float = Field(default=1.0, gt=0, description="At the first step.")
    final_temperature: float = Field(
        default=1.0, gt=0, description="At the last step, linear between."
    )
    metropolis: bool = Field(
        default=False, description="Whether moves are accepted or refused by Metropolis-Hastings."
    )
    energy_every: int = Field(
        default=10, ge=1, description="Steps between energies; with `metropolis` every step."
    )


class Analysis(Settings):
    """Dependence between target positions (paper: 3.4, tables 4 and 5)."""

    models: list[Name] | None = Field(
        default=None,
        description="Parallel models looked at, each with its first seed; null: those of `core`.",
    )
    passes: list[int] = Field(
        default=[1, 2, 4],
        min_length=1,
        description="Decoder passes looked at; the claims are about the first.",
    )
    sentences: int = Field(default=500, ge=2, description="Evenly spread over the split.")
    distance: int = Field(default=8, ge=1, description="Largest distance of a pair, in pieces.")
    alternatives: int = Field(
        default=4, ge=2, description="Likeliest tokens that the probe tries at a position."
    )


class Evaluation(Settings):
    """What is scored, and how sure we are of it."""

    split: Literal["valid", "test"] = Field(default="test", description="Split that tables report.")
    bootstrap_samples: int = Field(
        default=1000, ge=100, description="Resamples for intervals and tests."
    )
    baseline: Name = Field(default="ar", description="Model that paired tests compare with.")
    candidate: Name | None = Field(
        default=None,
        description="PaDIR model that the claims speak of; null: the first on distilled targets.",
    )
    core: list[Name] | None = Field(
        default=None,
        description="Models of table 1, the figures, the claims and the page; the others are"
        " trained when targets table2, ablations or everything are asked for. null: all models.",
    )
    systems: list[Name] | None = Field(
        default=None,
        description="Models of table 2, trained at like cost; null: all but those that only"
        " `ablations` names.",
    )
    ablations: list[Ablation] = Field(
        default_factory=list, description="Comparisons of table `ablations`."
    )
    samplers: dict[Name, ChainSampler] = Field(
        default_factory=dict, description="Rows of table `samplers`, by name."
    )
    scorers: dict[Name, Scorer] = Field(
        default_factory=dict,
        description="Further scorers of table 3, by name; each runs in a process of its own.",
    )
    dependency: list[Name] = Field(
        default_factory=list,
        description="Models of table `dependency_decoding`, each compared with the one whose"
        " parameters it takes.",
    )
    analysis: Analysis = Analysis()
    latency_sentences: int = Field(default=200, ge=10, description="Sentences timed at batch 1.")
    latency_repeats: int = Field(
        default=3, ge=1, description="Timings per sentence; the median counts."
    )


def parallel_models(models: dict[str, ModelRun]) -> list[str]:
    """Names of the models that predict all positions at once."""
    return sorted(name for name, run in models.items() if run.parallel)


class Config(Settings):
    """The merged configuration of one experiment."""

    datasets: dict[Name, Dataset] = Field(min_length=1, description="Datasets by name.")
    teachers: dict[Name, Teacher] = Field(default_factory=dict, description="Teachers by name.")
    models: dict[Name, ModelRun] = Field(
        min_length=1, description="Models by name: differences from `model_defaults`."
    )
    evaluation: Evaluation = Evaluation()
    theory: Theory = Theory()

    @model_validator(mode="after")
    def _references_resolve(self) -> "Config":
        for name, model in self.models.items():
            if model.targets != "raw" and model.targets not in self.teachers:
                raise ValueError(
                    f"models.{name}.targets is {model.targets!r}: allowed are raw"
                    f" and the entries of teachers ({', '.join(sorted(self.teachers)) or 'none'})"
                )
        for name, teacher in self.teachers.items():
            if not isinstance(teacher, ModelTeacher):
                continue
            if teacher.model not in self.models:
                raise ValueError(
                    f"teachers.{name}.model is {teacher.model!r}:"
                    f" allowed are {', '.join(sorted(self.models))}"
                )
            if self.models[teacher.model].targets != "raw":
                raise ValueError(
                    f"teachers.{name}.model {teacher.model!r} must itself train on raw targets"
                )
            if self.models[teacher.model].parallel:
                raise ValueError(f"teachers.{name}.model {teacher.model!r} must be an AR model")
        self._evaluation_resolves()
        self._vocabularies_resolve()
        self._ablations_resolve()
        self._parameters_resolve()
        self._warm_starts_resolve()
        self._rerankers_resolve()
        for name, sampler in self.evaluation.samplers.items():
            if sampler.model not in parallel_models(self.models):
                allowed = ", ".join(parallel_models(self.models)) or "none"
                raise ValueError(
                    f"evaluation.samplers.{name}.model is {sampler.model!r}: allowed are parallel"
                    f" models ({allowed})"
                )
        if "raw" in self.teachers:
            raise ValueError("teachers: the name raw is taken by the original targets")
        if self.evaluation.baseline not in self.models:
            raise ValueError(
                f"evaluation.baseline is {self.evaluation.baseline!r}:"
                f" allowed are {', '.join(sorted(self.models))}"
            )
        candidate = self.evaluation.candidate
        parallel = sorted(name for name, run in self.models.items() if run.system == "padir")
        if candidate is not None and candidate not in parallel:
            raise ValueError(
                f"evaluation.candidate is {candidate!r}: allowed are {', '.join(parallel)}"
            )
        return self

    def _warm_starts_resolve(self) -> None:
        """A warm start needs an AR model that starts fresh, with an encoder of the same shape."""
        shape = ("width", "heads", "head_width", "encoder_layers", "feed_forward_width")
        shape += ("activation", "extra_ids", "table_multiple")
        fresh = {n: m for n, m in self.models.items() if not m.parallel}
        fresh = {n: m for n, m in fresh.items() if m.training.warm_start is None}
        for name, run in self.models.items():
            start = run.training.warm_start
            if start is None:
                continue
            if start not in fresh or fresh[start].parameters is not None:
                raise ValueError(
                    f"models.{name}.training.warm_start is {start!r}: allowed are AR models that"
                    f" start fresh ({', '.join(sorted(fresh)) or 'none'})"
                )
            if run.vocabulary != fresh[start].vocabulary:
                raise ValueError(
                    f"models.{name}.training.warm_start is {start!r}, whose vocabulary is"
                    f" {fresh[start].vocabulary}; here it is {run.vocabulary}"
                )
            for key in shape:
                ours, theirs = (getattr(m.architecture, key) for m in (run, fresh[start]))
                if ours != theirs:
                    raise ValueError(
                        f"models.{name}.training.warm_start is {start!r}, whose architecture.{key}"
                        f" is {theirs}; here it is {ours}"
                    )

    def _evaluation_resolves(self) -> None:
        evaluation = self.evaluation
        lists = {
            "core": evaluation.core,
            "systems": evaluation.systems,
            "dependency": evaluation.dependency or None,
        }
        for key, names in lists.items():
            unknown = [name for name in names or () if name not in self.models]
            if unknown or names == []:
                found = repr(unknown[0]) if unknown else "an empty list"
                raise ValueError(
                    f"evaluation.{key} holds {found}: allowed are {', '.join(sorted(self.models))}"
                )
        apart = [n for n in parallel_models(self.models) if self.models[n].decoding.joint == "none"]
        for name in evaluation.analysis.models or ():
            if name not in apart:
                raise ValueError(
                    f"evaluation.analysis.models holds {name!r}: allowed are parallel models with"
                    f" decoding.joint none ({', '.join(apart) or 'none'})"
                )
        core = evaluation.core
        for key in ("baseline", "candidate"):
            name = getattr(evaluation, key)
            if core is not None and name is not None and name not in core:
                raise ValueError(
                    f"evaluation.{key} is {name!r}, which evaluation.core leaves out: allowed are"
                    f" {', '.join(core)}"
                )

    def _vocabularies_resolve(self) -> None:
        for name, run in self.models.items():
            for dataset, settings in self.datasets.items():
                if run.vocabulary is None or run.vocabulary in settings.vocabularies:
                    continue
                entries = ", ".join(sorted(settings.vocabularies)) or "none"
                raise ValueError(
                    f"models.{name}.vocabulary is {run.vocabulary!r}: allowed are null and the"
                    f" entries of datasets.{dataset}.vocabularies ({entries})"
                )

    def _ablations_resolve(self) -> None:
        for number, ablation in enumerate(self.evaluation.ablations):
            for side in (ablation.base, ablation.variant):
                if side not in self.models:
                    raise ValueError(
                        f"evaluation.ablations.{number}: no model {side!r}:"
                        f" allowed are {', '.join(sorted(self.models))}"
                    )
                if ablation.decoding not in (None, *self.models[side].decode):
                    raise ValueError(
                        f"evaluation.ablations.{number}.decoding is {ablation.decoding!r}:"
                        f" {side} has {', '.join(self.models[side].decode)}"
                    )

    def _parameters_resolve(self) -> None:
        """A model with borrowed parameters differs from their owner in decoding alone."""
        later = {"seeds", "decode", "decoding", "parameters"}
        for name, run in self.models.items():
            if run.parameters is None:
                continue
            owner = self.models.get(run.parameters)
            if owner is None or owner.parameters is not None:
                owners = sorted(n for n, m in self.models.items() if m.parameters is None)
                raise ValueError(
                    f"models.{name}.parameters is {run.parameters!r}:"
                    f" allowed are {', '.join(owners)}"
                )
            ours, theirs = run.model_dump(exclude=later), owner.model_dump(exclude=later)
            for group in ours:
                if ours[group] != theirs[group]:
                    raise ValueError(
                        f"models.{name}.parameters is {run.parameters!r}, but {group} differs:"
                        " only decode and decoding may"
                    )
            if not set(run.seeds) <= set(owner.seeds):
                raise ValueError(
                    f"models.{name}.seeds {run.seeds} must be among those of {run.parameters}:"
                    f" {owner.seeds}"
                )

    def _rerankers_resolve(self) -> None:
        """A reranker is an AR model trained under its own name, which reads all that it ranks."""
        for name, run in self.models.items():
            reranker = run.decoding.reranker
            if reranker is None:
                continue
            found = self.models.get(reranker)
            if found is None or found.parallel or found.parameters is not None:
                trained = [n for n, m in self.models.items() if not (m.parallel or m.parameters)]
                raise ValueError(
                    f"models.{name}.decoding.reranker is {reranker!r}: allowed are AR models with"
                    f" parameters of their own ({', '.join(sorted(trained)) or 'none'})"
                )
            if found.vocabulary != run.vocabulary:
                raise ValueError(
                    f"models.{name}.decoding.reranker is {reranker!r}, whose vocabulary is"
                    f" {found.vocabulary}; here it is {run.vocabulary}"
                )
            reads, needed = (one.architecture.max_positions for one in (found, run))
            if reads < needed:
                raise ValueError(
                    f"models.{name}.decoding.reranker {reranker!r} reads {reads} tokens"
                    f" (architecture.max_positions), at least {needed} are needed"
                )
