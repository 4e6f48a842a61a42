"""Files that targets of the workflow ask for: of parts and scopes, and what they are made of."""

from collections.abc import Iterable

from padir import jobs, layout
from padir.config.experiment import Config
from padir.layout import RESULTS, Artifact
from padir.report import catalogue
from padir.report.catalogue import Part, Scope


def paths_of(artifacts: Iterable[Artifact]) -> list[str]:
    """Paths of artifacts, each with the files beside it."""
    return [path for artifact in artifacts for path in (artifact.path, *artifact.beside)]


def files_of(parts: Iterable[Part]) -> list[str]:
    """Files of tables and figures: a deleted one is made again."""
    return [f"{RESULTS}/report/{part.kind}s/{name}" for part in parts for name in part.files]


def files_in(config: Config, scope: Scope) -> list[str]:
    """Files of all parts of the report in a scope, and its claims and page."""
    folder = f"{RESULTS}/report/core" if scope == "core" else f"{RESULTS}/report"
    decided = (f"{folder}/{name}" for name in ("claims.md", "claims.json", "index.html"))
    return [*files_of(catalogue.parts_in(config, scope)), *decided]


def made_in(config: Config, scope: Scope) -> list[str]:
    """Results of a scope, and the files that its scores are made of."""
    results = catalogue.needs_of(config, catalogue.parts_in(config, scope))
    results += layout.traces(config, scope)
    if scope == "core":
        rows = config.core_rows()
        behind = jobs.behind(config, rows, config.trainings_behind(rows))
    else:
        behind = jobs.behind(config, config.all_rows(), config.all_trainings())
        behind += jobs.analysed_models(config)
    return [*behind, *paths_of(results)]


def deleted(config: Config) -> list[str]:
    """Files of finished results that are missing. Snakemake does not ask for them while what they
    made is there."""
    finished: list[Scope] = [s for s in catalogue.SCOPES if not jobs.missing(files_in(config, s))]
    return jobs.missing(path for scope in finished for path in made_in(config, scope))
