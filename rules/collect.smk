"""Files and options of scorers, timings, samplers and analyses; parts of the report."""


def scorer_files(wildcards):
    """Input function: a scorer's checkpoint where it lies there; without it the score is "not run",
    and is made as soon as the checkpoint has come.
    """
    scorer = SETTINGS.evaluation.scorers[wildcards.scorer]
    if not hasattr(scorer, "checkpoint") or not Path(scorer.checkpoint).is_dir():
        return []
    return sorted(str(p) for p in Path(scorer.checkpoint).rglob("*") if p.is_file())


def scorer_flags(wildcards):
    scorer = SETTINGS.evaluation.scorers[wildcards.scorer]
    flags = ["--scorer", scorer.kind]
    if hasattr(scorer, "checkpoint"):
        flags += ["--checkpoint", scorer.checkpoint, "--allow-missing"]
    return flags


def sampler_flags(wildcards):
    sampler = SETTINGS.evaluation.samplers[wildcards.sampler]
    numbers = sampler.model_dump(exclude={"training", "metropolis"})
    options = [(f"--{key.replace('_', '-')}", value) for key, value in numbers.items()]
    flags = [part for option in options for part in option]
    return flags + (["--mh"] if sampler.metropolis else [])


def exact_flags(wildcards, input):
    """What lets dependence on a synthetic dataset be computed exactly."""
    if not input.grammar:
        return []
    strength = SETTINGS.datasets[wildcards.dataset].source.mode_strength
    return ["--grammar", input.grammar, "--mode-strength", strength]


def analysis_flags(wildcards):
    """Options of the analysis that the settings decide."""
    analysis, evaluation = SETTINGS.evaluation.analysis, SETTINGS.evaluation
    return [
        *("--passes", *analysis.passes, "--sentences", analysis.sentences),
        *("--distance", analysis.distance, "--alternatives", analysis.alternatives),
        *("--samples", evaluation.bootstrap_samples, "--split", evaluation.split),
    ]


def artifacts_of(kind):
    """Input function: what one table or figure is made of."""

    def paths(wildcards):
        return catalogue.paths(SETTINGS, [getattr(wildcards, kind)])

    return paths


def artifacts_in(scope):
    """Input function: what the claims and the page of a scope are made of."""

    def paths(wildcards):
        names = [part.name for part in catalogue.parts(SETTINGS, scope)]
        return catalogue.paths(SETTINGS, names)

    return paths


def files_of(*parts):
    return [f"results/report/{name}" for part in parts for name in part.files]


def files_in(scope):
    """The files of all parts of the report in a scope, and its claims and page."""
    folder = "results/report/core" if scope == "core" else "results/report"
    parts = catalogue.parts(SETTINGS, scope)
    return [*files_of(*parts), f"{folder}/claims.md", f"{folder}/index.html"]


def core_scores(wildcards):
    return [one.path for one in layout.scores(SETTINGS, SETTINGS.core_rows())]
