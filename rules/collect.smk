"""What the whole experiment consists of: every score, timing, card and Ising result."""

from padir.report.selection import (
    DEPENDENCY_DECODINGS,
    TABLE2_DECODINGS,
    analysed_models,
    compared_decoding,
    compared_systems,
    core_models,
    dependency_models,
    timing_of_systems,
)


def runs():
    """Every (dataset, direction, model, settings) of the experiment."""
    for dataset, settings in SETTINGS.datasets.items():
        for direction in settings.directions:
            for model, run in SETTINGS.models.items():
                yield dataset, direction, model, run


def decoded(pairs, measure, ending="json"):
    """One file of every seed, of these pairs of a model and one of its decodings."""
    split = SETTINGS.evaluation.split
    return [
        f"results/runs/{dataset}/{direction}/{model}/seed{seed}/{measure}/{split}.{decoding}.{ending}"
        for dataset, direction, model, run in runs()
        for seed in run.seeds
        for decoding in run.decode
        if (model, decoding) in pairs
    ]


def scores(pairs):
    return decoded(pairs, "score")


def decodings_of(models):
    return {(model, name) for model in models for name in SETTINGS.models[model].decode}


def core_scores(wildcards):
    return scores(decodings_of(core_models(SETTINGS)))


def system_scores(wildcards):
    pairs = decodings_of(compared_systems(SETTINGS))
    return scores({pair for pair in pairs if pair[1] in TABLE2_DECODINGS})


def dependency_scores(wildcards):
    pairs = decodings_of(dependency_models(SETTINGS))
    return scores({pair for pair in pairs if pair[1] in DEPENDENCY_DECODINGS})


def ablation_scores(wildcards):
    return scores(
        {
            (model, compared_decoding(SETTINGS, entry))
            for entry in SETTINGS.evaluation.ablations
            for model in (entry.base, entry.variant)
        }
    )


def core_ratings(wildcards):
    """Further scores of the core's models, by every scorer of the experiment."""
    pairs = decodings_of(core_models(SETTINGS))
    return [
        path
        for scorer in SETTINGS.evaluation.scorers
        for path in decoded(pairs, "rate", f"{scorer}.json")
    ]


def baseline_hypotheses(wildcards):
    """The output that paired tests compare with: the baseline's strongest decoding."""
    name = SETTINGS.evaluation.baseline
    run = SETTINGS.models[name]
    decoding = "beam" if "beam" in run.decode else run.decode[-1]
    folder = run_folder(wildcards, name, run.seeds[0])
    return f"{folder}/decode/{wildcards.split}.{decoding}.txt"


def baseline_name(wildcards):
    return SETTINGS.evaluation.baseline


def bootstrap_samples(wildcards):
    return SETTINGS.evaluation.bootstrap_samples


def timings(timing):
    return [
        f"results/latency/{dataset}/{direction}/{timing}.json"
        for dataset, settings in SETTINGS.datasets.items()
        for direction in settings.directions
    ]


def core_latency(wildcards):
    return timings("latency")


def system_latency(wildcards):
    return timings(timing_of_systems(SETTINGS))


def dependency_latency(wildcards):
    return timings("dependency") if dependency_models(SETTINGS) else []


def metrics(models):
    """Training metrics of these models' seeds, or of those whose parameters they take."""
    wanted = {
        (SETTINGS.models[name].parameters or name, seed)
        for name in models
        for seed in SETTINGS.models[name].seeds
    }
    return [
        f"results/runs/{dataset}/{direction}/{model}/seed{seed}/metrics.jsonl"
        for dataset, direction, model, run in runs()
        for seed in run.seeds
        if (model, seed) in wanted
    ]


def core_metrics(wildcards):
    return metrics(core_models(SETTINGS))


def system_metrics(wildcards):
    return metrics(compared_systems(SETTINGS))


def core_cards(wildcards):
    used = {SETTINGS.models[name].targets for name in core_models(SETTINGS)} - {"raw"}
    return [
        f"results/distill/{dataset}/{direction}/{teacher}/seed{teacher_seed(teacher)}/card.json"
        for dataset, settings in SETTINGS.datasets.items()
        for direction in settings.directions
        for teacher in sorted(used)
    ]


def all_statistics(wildcards):
    return [
        f"results/data/{dataset}/{settings.pair}/statistics.json"
        for dataset, settings in SETTINGS.datasets.items()
    ]


# Samplers


def sampler_of(wildcards):
    return SETTINGS.evaluation.samplers[wildcards.sampler]


def sampled_bundle(wildcards):
    return bundle_of(wildcards, sampler_of(wildcards).model)


def sampled_seed(wildcards):
    return SETTINGS.models[sampler_of(wildcards).model].seeds[0]


def sampled_spec(wildcards):
    direction = f"{wildcards.source}-{wildcards.target}"
    folder = f"results/runs/{wildcards.dataset}/{direction}"
    return f"{folder}/{sampler_of(wildcards).model}/spec.json"


def sampler_flags(wildcards):
    chosen = sampler_of(wildcards)
    return [
        *("--chains", chosen.chains, "--steps", chosen.steps, "--block", chosen.block),
        *("--temperature", chosen.temperature),
        *("--final-temperature", chosen.final_temperature),
        *("--energy-every", chosen.energy_every),
        *(["--mh"] if chosen.metropolis else []),
    ]


def samples(wildcards):
    split = SETTINGS.evaluation.split
    return [
        f"results/samples/{dataset}/{direction}/{split}.{name}.{ending}"
        for dataset, settings in SETTINGS.datasets.items()
        for direction in settings.directions
        for name in SETTINGS.evaluation.samplers
        for ending in ("json", "jsonl")
    ]


def analyses(wildcards):
    return [
        f"results/analysis/{dataset}/{direction}/{model}/seed{run.seeds[0]}.json"
        for dataset, direction, model, run in runs()
        if model in analysed_models(SETTINGS)
    ]


RESULTS_OF_PART = {
    "table1": [core_scores],
    "table2": [system_latency, system_scores, system_metrics],
    "table3": [core_ratings],
    "ablations": [ablation_scores],
    "samplers": [samples],
    "dependency_decoding": [dependency_latency, dependency_scores],
    "redundancy": [dependency_scores],
    "stutter": [core_scores],
    "latency": [core_latency, core_scores],
    "table4": [analyses],
    "table5": [analyses],
    "dependency": [analyses],
    "self_attention_heads": [analyses],
    "cross_attention_heads": [analyses],
    "distillation": [core_cards],
    "data": [all_statistics],
    "quality_passes": [core_scores],
    "quality_latency": [core_latency, core_scores],
    "stutter_passes": [core_scores],
    "training": [core_metrics],
    "training_time": [core_metrics],
}
CORE_TABLES = ["table1", "stutter", "latency", "distillation", "data"]
if SETTINGS.evaluation.scorers:
    CORE_TABLES.append("table3")
GRID_TABLES = ["table2", "ablations", "samplers"] + (
    ["dependency_decoding", "redundancy"] if dependency_models(SETTINGS) else []
)
ANALYSIS_TABLES = ["table4", "table5", "dependency"]
HEAT_MAPS = ["self_attention_heads", "cross_attention_heads"]
# Where every model is core, the tables of the grid cost no training; so with the analysis.
ANALYSIS_IS_CORE = set(analysed_models(SETTINGS)) <= set(core_models(SETTINGS))
DEFAULT_TABLES = [
    *CORE_TABLES,
    *([] if SETTINGS.evaluation.core else GRID_TABLES),
    *(ANALYSIS_TABLES if ANALYSIS_IS_CORE else []),
]
FIGURES = [
    *("quality_passes", "quality_latency", "stutter_passes"),
    *("training", "training_time"),
    *(HEAT_MAPS if ANALYSIS_IS_CORE else []),
]


def results_of_part(kind):
    """Input function: what one table or figure of the report is made of."""

    def paths(wildcards):
        return [
            path
            for gather in RESULTS_OF_PART[getattr(wildcards, kind)]
            for path in gather(wildcards)
        ]

    return paths


def grid_results(wildcards):
    """What the tables of the grid and of the analysis are made of, where these are asked for in the
    same call: the claims and the page wait for it. They show what there is in any case.
    """
    asked = set(workflow.dag_settings.targets)
    parts = {
        part: RESULTS_OF_PART[part]
        for part in [*GRID_TABLES, *ANALYSIS_TABLES]
        if {part, "everything"} & asked
    }
    return [
        path for part in parts.values() for gather in part for path in gather(wildcards)
    ]


def all_results(wildcards):
    gatherers = [
        *(
            core_scores,
            core_ratings,
            core_latency,
            core_cards,
            all_statistics,
            core_metrics,
        ),
        *(all_theory, grid_results),
        *([analyses] if ANALYSIS_IS_CORE else []),
    ]
    found = [path for gather in gatherers for path in gather(wildcards)]
    return list(dict.fromkeys(found))


def timed_models(wildcards):
    models = {
        "latency": core_models,
        "systems": compared_systems,
        "dependency": dependency_models,
    }
    return models[wildcards.timing](SETTINGS)


def trained(name):
    """Input function: one file of the bundle of every model to time, of its first seed."""

    def paths(wildcards):
        return [
            f"{run_folder(wildcards, model, SETTINGS.models[model].seeds[0])}/bundle/{name}"
            for model in timed_models(wildcards)
        ]

    return paths


def trained_bundles(wildcards, input):
    return [str(Path(model).parent) for model in input.models]


def timed_rerankers(wildcards):
    """Input function: the AR models that rank candidates of the models to time."""
    used = {SETTINGS.models[m].decoding.reranker for m in timed_models(wildcards)}
    return [bundle_of(wildcards, name) for name in sorted(used - {None})]


def timed_decodings(wildcards):
    """Decodings of the models to time: all of the core's, else those that the table shows."""
    shown = {"systems": TABLE2_DECODINGS, "dependency": DEPENDENCY_DECODINGS}
    names = [
        decoding
        for model in timed_models(wildcards)
        for decoding in SETTINGS.models[model].decode
        if decoding in shown.get(wildcards.timing, [decoding])
    ]
    return list(dict.fromkeys(names))


def latency_sentences(wildcards):
    return SETTINGS.evaluation.latency_sentences


def latency_repeats(wildcards):
    return SETTINGS.evaluation.latency_repeats


# Theory

# Drawing -> the experiment that it is made of.
THEORY_FIGURES = {
    "figure1": "estimation",
    "figure2": "estimation",
    "figure3": "mode_reaching",
    "product_steps": "product_kernels",
    "mask_design": "mask_design",
}
THEORY_EXPERIMENTS = (
    "dependent_blocks",
    "errata",
    "estimation",
    "identities",
    "mask_design",
    "mode_reaching",
    "product_kernels",
    "tensorisation",
)


wildcard_constraints:
    experiment="|".join(THEORY_EXPERIMENTS),
    drawing="|".join(THEORY_FIGURES),


def settings_of_theory(wildcards):
    return getattr(SETTINGS.theory, wildcards.experiment).model_dump(mode="json")


def theory_of_figure(wildcards):
    """Input function: the results that one drawing shows, of the first seed."""
    experiment = THEORY_FIGURES[wildcards.drawing]
    return f"results/theory/{experiment}/seed{SETTINGS.theory.seeds[0]}.json"


def all_theory(wildcards):
    return [
        f"results/theory/{experiment}/seed{seed}.json"
        for experiment in THEORY_EXPERIMENTS
        for seed in SETTINGS.theory.seeds
    ]


def shown_theory(wildcards):
    """Input function: what the report shows of the theory; nothing where it has no seeds."""
    if not SETTINGS.theory.seeds:
        return []
    drawings = [f"results/report/figures/{drawing}.svg" for drawing in THEORY_FIGURES]
    return [*drawings, "results/report/tables/theorems.md"]
