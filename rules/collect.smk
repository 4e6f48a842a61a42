"""Input and params functions of scoring, analysis and report."""


def scorer_files(wildcards):
    """Input function: files of a scorer's checkpoint, if it exists. Without it the score is "not run";
    once it exists, the score is made.
    """
    scorer = SETTINGS.evaluation.scorers[wildcards.scorer]
    if not hasattr(scorer, "checkpoint") or not Path(scorer.checkpoint).is_dir():
        return []
    return sorted(str(p) for p in Path(scorer.checkpoint).rglob("*") if p.is_file())


def exact_flags(wildcards, input):
    """Params function: options for the exact dependence, on a synthetic dataset."""
    if not input.grammar:
        return []
    strength = SETTINGS.datasets[wildcards.dataset].source.mode_strength
    return ["--grammar", input.grammar, "--mode-strength", strength]


def paths_of(artifacts):
    return [
        path for artifact in artifacts for path in (artifact.path, *artifact.beside)
    ]


def artifacts_of(kind):
    """Input function: results that one table or figure reads."""

    def paths(wildcards):
        return paths_of(catalogue.artifacts(SETTINGS, getattr(wildcards, kind)))

    return paths


def scope_of(wildcards):
    return "core" if wildcards.scope else "everything"


def section_of(kind):
    """Report function: the section of a table or figure."""

    def title(wildcards):
        part = catalogue.part(SETTINGS, getattr(wildcards, kind))
        return catalogue.SECTIONS[part.section].title

    return title


def labels_of(part):
    """Report function: labels of one part of the report of a scope: its name and the scope."""

    def labels(wildcards):
        return {"part": part, "scope": scope_of(wildcards)}

    return labels


def artifacts_in_scope(wildcards):
    """Input function: results that the claims of a scope read."""
    parts = catalogue.parts_in(SETTINGS, scope_of(wildcards))
    return paths_of(catalogue.needs_of(SETTINGS, parts))


def traces(wildcards):
    """Input function: traces that the viewer of a scope's page shows."""
    return paths_of(layout.traces(SETTINGS, scope_of(wildcards)))


def core_file(name):
    """Input function: the core's claims or page, before those of everything, which it stands in for
    until they are made."""

    def path(wildcards):
        return [] if wildcards.scope else f"results/report/core/{name}"

    return path


def files_of(parts):
    """The files of tables and figures: a deleted one is made again."""
    endings = {"table": ("csv", "md", "tex"), "figure": ("svg", "csv")}
    return [
        f"results/report/{part.kind}s/{part.name}.{ending}"
        for part in parts
        for ending in endings[part.kind]
    ]


def files_in(scope):
    """The files of all parts of the report in a scope, and its claims and page."""
    folder = "results/report/core" if scope == "core" else "results/report"
    parts = catalogue.parts_in(SETTINGS, scope)
    decided = (f"{folder}/claims.{ending}" for ending in ("md", "json"))
    return [*files_of(parts), *decided, f"{folder}/index.html"]


def made_in(scope):
    """Results of a scope, and the files that its scores are made of."""
    rows = SETTINGS.core_rows() if scope == "core" else SETTINGS.all_rows()
    results = catalogue.needs_of(SETTINGS, catalogue.parts_in(SETTINGS, scope))
    results += layout.traces(SETTINGS, scope)
    return [*jobs.behind(SETTINGS, rows), *paths_of(results)]


def deleted_files():
    """Files of finished results that are missing. Snakemake does not ask for them while what they made is there."""
    finished = [s for s in catalogue.SCOPES if not jobs.missing(files_in(s))]
    deleted = jobs.missing(path for scope in finished for path in made_in(scope))
    if deleted and workflow.is_main_process:
        print(
            f"padir: of finished results {len(deleted)} files are missing, such as {deleted[0]};"
            f" to make them again: {layout.command('restore', EXPERIMENT)}",
            file=sys.stderr,
        )
    return deleted


DELETED_FILES = deleted_files()
