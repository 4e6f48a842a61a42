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


def artifacts_of(kind):
    """Input function: results that one table or figure reads."""

    def paths(wildcards):
        return outputs.paths_of(catalogue.artifacts(SETTINGS, getattr(wildcards, kind)))

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
    return outputs.paths_of(catalogue.needs_of(SETTINGS, parts))


def traces(wildcards):
    """Input function: traces that the viewer of a scope's page shows."""
    return outputs.paths_of(layout.traces(SETTINGS, scope_of(wildcards)))


def core_file(name):
    """Input function: the core's claims or page, before those of everything, which it stands in for
    until they are made."""

    def path(wildcards):
        return [] if wildcards.scope else f"results/report/core/{name}"

    return path


DELETED_FILES = outputs.deleted(SETTINGS)
if DELETED_FILES and workflow.is_main_process:
    print(
        f"padir: of finished results {len(DELETED_FILES)} files are missing, such as {DELETED_FILES[0]};"
        f" to make them again: {invocation.command('restore', EXPERIMENT)}",
        file=sys.stderr,
    )
