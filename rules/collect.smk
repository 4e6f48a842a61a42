"""What the whole experiment consists of: every score, timing, card and Ising result."""

from padir.report.selection import (
    TABLE2_DECODINGS,
    compared_decoding,
    compared_systems,
)


def runs():
    """Every (dataset, direction, model, settings) of the experiment."""
    for dataset, settings in SETTINGS.datasets.items():
        for direction in settings.directions:
            for model, run in SETTINGS.models.items():
                yield dataset, direction, model, run


def scores(pairs):
    """Scores of every seed, of these pairs of a model and one of its decodings."""
    split = SETTINGS.evaluation.split
    return [
        f"results/runs/{dataset}/{direction}/{model}/seed{seed}/score/{split}.{decoding}.json"
        for dataset, direction, model, run in runs()
        for seed in run.seeds
        for decoding in run.decode
        if (model, decoding) in pairs
    ]


def decodings_of(models):
    return {(model, name) for model in models for name in SETTINGS.models[model].decode}


def all_scores(wildcards):
    return scores(decodings_of(SETTINGS.models))


def system_scores(wildcards):
    pairs = decodings_of(compared_systems(SETTINGS))
    return scores({pair for pair in pairs if pair[1] in TABLE2_DECODINGS})


def ablation_scores(wildcards):
    return scores(
        {
            (model, compared_decoding(SETTINGS, entry))
            for entry in SETTINGS.evaluation.ablations
            for model in (entry.base, entry.variant)
        }
    )


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


def all_latency(wildcards):
    return [
        f"results/latency/{dataset}/{direction}/latency.json"
        for dataset, settings in SETTINGS.datasets.items()
        for direction in settings.directions
    ]


def all_metrics(wildcards):
    return [
        f"results/runs/{dataset}/{direction}/{model}/seed{seed}/metrics.jsonl"
        for dataset, direction, model, run in runs()
        if run.parameters is None
        for seed in run.seeds
    ]


def all_cards(wildcards):
    used = {run.targets for run in SETTINGS.models.values()} - {"raw"}
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


RESULTS_OF_PART = {
    "table1": [all_scores],
    "table2": [all_latency, system_scores],
    "ablations": [ablation_scores],
    "stutter": [all_scores],
    "latency": [all_latency, all_scores],
    "distillation": [all_cards],
    "data": [all_statistics],
    "quality_passes": [all_scores],
    "quality_latency": [all_latency, all_scores],
    "stutter_passes": [all_scores],
    "training": [all_metrics],
    "training_time": [all_metrics],
}
TABLES = [
    *("table1", "table2", "ablations", "stutter"),
    *("latency", "distillation", "data"),
]
FIGURES = [
    *("quality_passes", "quality_latency", "stutter_passes"),
    *("training", "training_time"),
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


def all_results(wildcards):
    gatherers = [
        *(all_scores, all_latency, all_cards, all_statistics, all_metrics, all_theory)
    ]
    return [path for gather in gatherers for path in gather(wildcards)]


def trained(name):
    """Input function: one file of the bundle of every model of table 2, first seeds, for timing."""

    def paths(wildcards):
        return [
            f"{run_folder(wildcards, model, SETTINGS.models[model].seeds[0])}/bundle/{name}"
            for model in compared_systems(SETTINGS)
        ]

    return paths


def trained_bundles(wildcards, input):
    return [str(Path(model).parent) for model in input.models]


def timed_rescorers(wildcards):
    """Input function: the AR models that rank candidates of the models of table 2."""
    used = {SETTINGS.models[m].decoding.rescorer for m in compared_systems(SETTINGS)}
    return [
        f"{run_folder(wildcards, name, SETTINGS.models[name].seeds[0])}/bundle/model.safetensors"
        for name in sorted(used - {None})
    ]


def timed_rescorer_flags(wildcards, input):
    """Params function: what names their bundles, if there are any."""
    bundles = [str(Path(model).parent) for model in input.rescorers]
    return ["--rescorer", *bundles] if bundles else []


def all_decodings(wildcards):
    names = [
        decoding
        for model in compared_systems(SETTINGS)
        for decoding in SETTINGS.models[model].decode
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
