"""The whole experiment: datasets, models, teachers, evaluation."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from padir.config.base import Name, Settings
from padir.config.data import Dataset
from padir.config.model import ModelRun
from padir.config.theory import Theory


class ModelTeacher(Settings):
    """Targets written by one of the project's own models."""

    kind: Literal["model"] = "model"
    model: Name = Field(description="Entry under `models`; its first seed is the teacher.")
    decode: Literal["greedy", "beam"] = Field(
        default="beam", description="How the teacher decodes."
    )
    shards: int = Field(
        default=1, ge=1, le=1024, description="Parts that the training set is cut into."
    )


class FileTeacher(Settings):
    """Ready-made translations of the training (and validation) sources, line for line."""

    kind: Literal["files"] = "files"
    train: str = Field(description="Path of the translations of the cleaned training sources.")
    valid: str = Field(description="Path of the translations of the validation sources.")


Teacher = Annotated[ModelTeacher | FileTeacher, Field(discriminator="kind")]


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
    latency_sentences: int = Field(default=200, ge=10, description="Sentences timed at batch 1.")
    latency_repeats: int = Field(
        default=3, ge=1, description="Timings per sentence; the median counts."
    )


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
            if self.models[teacher.model].system != "ar":
                raise ValueError(f"teachers.{name}.model {teacher.model!r} must be an AR model")
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
