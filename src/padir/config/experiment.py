"""The whole experiment: datasets, teachers, trainings, decoders, evaluation and theory.

What a part of the report shows is a list of rows (`padir.config.rows`): a training, its decoder and
the number of passes.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field, model_validator

from padir.config.base import Name, Settings
from padir.config.data import Dataset
from padir.config.decoder import Decoder, RefinementDecoder, builtin_decoders
from padir.config.evaluation import Evaluation
from padir.config.rows import DEFAULT_PASSES, Decoding, Row, Rows
from padir.config.systems import AUTOREGRESSIVE, SEARCHES
from padir.config.teacher import FileTeacher, ModelTeacher, Teacher
from padir.config.theory import Theory
from padir.config.training import TrainingRun

SWEPT_PASSES = (1, 2, 4, 8, 10)


class Config(Settings):
    """The merged config of one experiment."""

    datasets: dict[Name, Dataset] = Field(min_length=1, description="Datasets, by name.")
    teachers: dict[Name, Teacher] = Field(default_factory=dict)
    """Teachers of distilled targets, by name."""
    trainings: dict[Name, TrainingRun] = Field(min_length=1)
    """Trainings, by name: their differences from `training_defaults`."""
    decoders: dict[Name, Decoder] = Field(default_factory=dict)
    """Decoders, by name: their differences from `decoder_defaults`. greedy, beam and one per
    parallel system exist without an entry."""
    evaluation: Evaluation = Evaluation()
    theory: Theory = Theory(seeds=[])
    """Ising experiments; without this key there are none, and `theory: {}` runs them with their
    defaults."""
    default_target: Literal["core", "everything"] = "everything"
    """What `snakemake` makes without a target."""

    def __hash__(self) -> int:
        """Hash of the object's identity, so that results computed from a config can be cached."""
        return id(self)

    # Rows of the report's parts, in the order of the config.

    def core_rows(self) -> list[Row]:
        """Rows of table 1, the figures and most claims."""
        if self.evaluation.core is not None:
            return _unique(self.evaluation.core)
        return [row for name in self.trainings for row in self._default_rows(name)]

    def system_rows(self) -> list[Row]:
        """Rows of table 2."""
        systems = self.evaluation.systems
        return self.core_rows() if systems is None else _unique(systems)

    def dependency_rows(self) -> list[Row]:
        """Rows of table dependency_decoding, each after its plain row."""
        rows = _unique(self.evaluation.dependency)
        return list(dict.fromkeys(row for named in rows for row in (self.plain_row(named), named)))

    def plain_row(self, row: Row) -> Row:
        """The row of the same training and passes with the decoder of the training's system."""
        return Row(row.training, row.decoding._replace(decoder=self.trainings[row.training].system))

    def ablation_rows(self) -> list[Row]:
        """Rows that ablations compare."""
        entries = self.evaluation.ablations
        texts = (text for entry in entries for text in (entry.base, entry.variant))
        return list(dict.fromkeys(map(Row.parse, texts)))

    def baseline(self) -> Row | None:
        """The AR row that paired tests compare with; None where no training is AR."""
        if self.evaluation.baseline is not None:
            return Row.parse(self.evaluation.baseline)
        rows = [row for row in self.core_rows() if not self.trainings[row.training].parallel]
        first = [row for row in rows if row.training == rows[0].training]
        return first[-1] if first else None

    def candidate(self) -> Row | None:
        """The PaDIR row that the claims are about; None where the core has no PaDIR training."""
        if self.evaluation.candidate is not None:
            return Row.parse(self.evaluation.candidate)
        core = [row for row in self.core_rows() if self.trainings[row.training].system == "padir"]
        distilled = [row for row in core if self.trainings[row.training].targets != "raw"]
        rows = distilled or core
        first = [
            row
            for row in rows
            if (row.training, row.decoding.decoder) == (rows[0].training, rows[0].decoding.decoder)
        ]
        few = [row for row in first if (row.decoding.passes or 0) <= DEFAULT_PASSES]
        return max(few or first, key=lambda row: row.decoding.passes or 0, default=None)

    def analysed_rows(self) -> list[Row]:
        """Parallel trainings of tables 4 and 5 with their decoders."""
        if self.evaluation.analysis.rows is not None:
            return [Row.parse(text) for text in self.evaluation.analysis.rows]
        first: dict[str, Row] = {}
        for row in self.core_rows():
            decoder = self.decoders[row.decoding.decoder]
            if isinstance(decoder, RefinementDecoder) and decoder.analysable:
                first.setdefault(row.training, row)
        return list(first.values())

    def analysed_seeds(self, training: str) -> list[int]:
        """Seeds of a training whose models are analysed."""
        run = self.trainings[training]
        return run.seeds if self.evaluation.analysis.seeds == "all" else [run.first_seed]

    def teacher_row(self, name: str) -> Row | None:
        """The AR row that a teacher translates with; None for files and paid services."""
        teacher = self.teachers.get(name)
        return Row.parse(teacher.row) if isinstance(teacher, ModelTeacher) else None

    def all_rows(self) -> list[Row]:
        """Every row that is decoded and scored."""
        lists = (
            *(self.core_rows(), self.system_rows(), self.ablation_rows(), self.dependency_rows()),
            [row for row in (self.baseline(), self.candidate()) if row],
        )
        return list(dict.fromkeys(row for rows in lists for row in rows))

    def trainings_behind(self, rows: Iterable[Row], further: Iterable[str] = ()) -> list[str]:
        """Trainings that rows and further trainings need: their own, rerankers, teachers and warm
        starts."""
        waiting = [
            *further,
            *(
                name
                for row in rows
                for name in (row.training, self.decoders[row.decoding.decoder].reranker)
            ),
        ]
        behind: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name is not None and name not in behind:
                behind.add(name)
                run, teacher = self.trainings[name], self.teacher_row(self.trainings[name].targets)
                waiting += [run.training.warm_start, teacher.training if teacher else None]
        return [name for name in self.trainings if name in behind]

    def all_trainings(self) -> list[str]:
        """Trainings of everything: of all rows, of those analysed for tables 4 and 5, and of
        samplers."""
        sampled = (sampler.training for sampler in self.evaluation.samplers.values())
        return self.trainings_behind([*self.all_rows(), *self.analysed_rows()], sampled)

    def _default_rows(self, name: str) -> list[Row]:
        run = self.trainings[name]
        if not run.parallel:
            return [Row(name, Decoding(search)) for search in SEARCHES]
        return [Row(name, Decoding(run.system, passes)) for passes in SWEPT_PASSES]

    @model_validator(mode="after")
    def _names_resolve(self) -> "Config":
        if "raw" in self.teachers:
            raise ValueError("teachers: the name raw is taken: it stands for raw targets")
        for name, run in self.trainings.items():
            _known(f"trainings.{name}.targets", run.targets, {"raw": None, **self.teachers})
            if run.vocabulary is not None:
                for dataset, settings in self.datasets.items():
                    where = f"null and datasets.{dataset}.vocabularies"
                    key = f"trainings.{name}.vocabulary"
                    _known(key, run.vocabulary, settings.vocabularies, where)
            self._warm_start_resolves(name, run)
        for name, decoder in self.decoders.items():
            if name in builtin_decoders() and decoder.kind != name:
                raise ValueError(
                    f"decoders.{name}.kind is {decoder.kind!r}: the built-in decoder {name} has"
                    f" kind {name}; give another decoder another name"
                )
            if decoder.reranker is not None:
                fresh = {n: r for n, r in self.trainings.items() if not r.parallel}
                _known(f"decoders.{name}.reranker", decoder.reranker, fresh, "AR trainings")
        for name in self.teachers:
            self._teacher_resolves(name)
        self._extra_sources_are_read()
        self._evaluation_resolves()
        return self

    def _teacher_resolves(self, name: str) -> None:
        if isinstance(self.teachers[name], FileTeacher):
            self._files_are_of_one_direction(name)
        row = self.teacher_row(name)
        if row is None:
            return
        self._row_resolves(f"teachers.{name}.row", row)
        run = self.trainings[row.training]
        if run.parallel or run.targets != "raw":
            raise ValueError(
                f"teachers.{name}.row is {row.name!r}: a teacher is an AR training on raw targets"
            )

    def _extra_sources_are_read(self) -> None:
        """Check that datasets have extra sources if, and only if, a teacher translates them."""
        teachers = {n: t for n, t in self.teachers.items() if isinstance(t, ModelTeacher)}
        wanted = [name for name, teacher in teachers.items() if teacher.extra_sources]
        given = [name for name, dataset in self.datasets.items() if dataset.extra_sources]
        if wanted and not given:
            raise ValueError(
                f"teachers.{wanted[0]}.extra_sources is true, but no dataset has extra_sources:"
                f" give datasets.{next(iter(self.datasets))}.extra_sources.files, or set it to"
                " false"
            )
        if given and not wanted:
            raise ValueError(
                f"datasets.{given[0]}.extra_sources is given, but no teacher translates it: set"
                f" teachers.{next(iter(teachers), 'NAME')}.extra_sources to true, or leave it out"
            )

    def _files_are_of_one_direction(self, name: str) -> None:
        places = [
            f"{dataset} {direction}"
            for dataset, settings in self.datasets.items()
            for direction in settings.directions
        ]
        used = any(run.targets == name for run in self.trainings.values())
        if used and len(places) > 1:
            raise ValueError(
                f"teachers.{name} has kind files, whose translations are those of one dataset in"
                f" one direction, and this config has {', '.join(places)}: give each a config of"
                " its own"
            )

    def _row_resolves(self, key: str, row: Row) -> None:
        """Check that a row names a training and a decoder that fits it."""
        _known(f"{key}: the training of {row.name}", row.training, self.trainings)
        _known(f"{key}: the decoder of {row.name}", row.decoding.decoder, self.decoders)
        run, decoder = self.trainings[row.training], self.decoders[row.decoding.decoder]
        try:
            run.check_decoder(row.decoding.decoder, decoder)
        except ValueError as error:
            raise ValueError(f"{key}: training {row.training}: {error}") from None
        if decoder.parallel and row.decoding.passes is None:
            raise ValueError(
                f"{key}: {row.name} needs a number of passes, such as {row.name}/T{DEFAULT_PASSES}"
                f" (or passes: [{DEFAULT_PASSES}])"
            )
        if not decoder.parallel and row.decoding.passes is not None:
            raise ValueError(
                f"{key}: {row.name}: {decoder.kind} search has no number of passes:"
                f" write {row._replace(decoding=row.decoding._replace(passes=None)).name}"
            )
        if decoder.reranker is not None:
            self._reranker_fits(key, row, self.trainings[decoder.reranker])

    def _reranker_fits(self, key: str, row: Row, reranker: TrainingRun) -> None:
        run = self.trainings[row.training]
        name = self.decoders[row.decoding.decoder].reranker
        if reranker.vocabulary != run.vocabulary:
            raise ValueError(
                f"{key}: {row.name}: reranker {name} has vocabulary {reranker.vocabulary}, the"
                f" training {run.vocabulary}"
            )
        reads, needed = (r.architecture.max_positions for r in (reranker, run))
        if reads < needed:
            raise ValueError(
                f"{key}: {row.name}: reranker {name} reads {reads} tokens"
                f" (architecture.max_positions), at least {needed} are needed"
            )

    def _evaluation_resolves(self) -> None:
        evaluation = self.evaluation
        for key in ("core", "systems", "dependency"):
            groups = getattr(evaluation, key)
            if groups == [] and key != "dependency":
                raise ValueError(f"evaluation.{key} is an empty list: allowed are rows, or null")
            rows, note = _unique(groups or []), ""
            if groups is None and key == "core":
                rows, note = self.core_rows(), " (null: every training)"
            for row in rows:
                self._row_resolves(f"evaluation.{key}{note}", row)
        for key in ("baseline", "candidate"):
            text = getattr(evaluation, key)
            if text is not None:
                row = Row.parse(text)
                self._row_resolves(f"evaluation.{key}", row)
                if row not in self.core_rows():
                    raise ValueError(
                        f"evaluation.{key} is {text!r}, which is no row of evaluation.core: allowed"
                        f" are {', '.join(row.name for row in self.core_rows())}"
                    )
                system = {"baseline": AUTOREGRESSIVE, "candidate": "padir"}[key]
                if self.trainings[row.training].system != system:
                    raise ValueError(
                        f"evaluation.{key} is {text!r}: a training of system {system} is needed"
                    )
        seen: set[tuple[str, str, str]] = set()
        for number, entry in enumerate(evaluation.ablations):
            for side in ("base", "variant"):
                key = f"evaluation.ablations.{number}.{side}"
                self._row_resolves(key, Row.parse(getattr(entry, side)))
            if entry.base == entry.variant:
                raise ValueError(
                    f"evaluation.ablations.{number}: base and variant are both {entry.base},"
                    " which has no difference to itself"
                )
            pair = (entry.name, entry.base, entry.variant)
            if pair in seen:
                raise ValueError(
                    f"evaluation.ablations.{number}: {', '.join(pair)} is given twice: Holm's"
                    " correction would count it twice"
                )
            seen.add(pair)
        parallel = {name: run for name, run in self.trainings.items() if run.parallel}
        for name, sampler in evaluation.samplers.items():
            key = f"evaluation.samplers.{name}.training"
            _known(key, sampler.training, parallel, "parallel trainings")
        for row in self.analysed_rows():
            self._row_resolves("evaluation.analysis.rows", row)
            decoder = self.decoders[row.decoding.decoder]
            if not isinstance(decoder, RefinementDecoder) or not decoder.analysable:
                raise ValueError(
                    f"evaluation.analysis.rows holds {row.name!r}: allowed are rows of parallel"
                    " trainings whose decoder has joint none and shortlist 0"
                )

    def _warm_start_resolves(self, name: str, run: TrainingRun) -> None:
        """Check that a warm start names an AR training, itself without one, of the same shape."""
        start = run.training.warm_start
        if start is None:
            return
        key = f"trainings.{name}.training.warm_start"
        trainings = self.trainings.items()
        fresh = {n: r for n, r in trainings if not r.parallel and r.training.warm_start is None}
        _known(key, start, fresh, "AR trainings that start fresh")
        shape = ("width", "heads", "head_width", "encoder_layers", "feed_forward_width")
        shape += ("activation", "extra_ids", "table_multiple")
        pairs = [("vocabulary", run.vocabulary, fresh[start].vocabulary)] + [
            (f"architecture.{field}", getattr(run.architecture, field), value)
            for field, value in fresh[start].architecture.model_dump(include=set(shape)).items()
        ]
        for field, here, there in pairs:
            if here != there:
                raise ValueError(f"{key} is {start!r}, whose {field} is {there}; here it is {here}")


def _unique(groups: list[Rows]) -> list[Row]:
    return list(dict.fromkeys(row for group in groups for row in group.rows()))


def _known(key: str, name: str, allowed: Mapping[str, object], kind: str = "") -> None:
    """Refuse a name that is not allowed; the error names the key, the name and what is allowed."""
    if name not in allowed:
        listed = ", ".join(sorted(allowed)) or "none"
        what = f"{kind} ({listed})" if kind else listed
        raise ValueError(f"{key} is {name!r}: allowed are {what}")
