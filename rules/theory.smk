"""The Ising experiments of the paper's first half; they share nothing with translation."""

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


localrules:
    theory,
    figure1,
    figure2,
    figure3,


rule write_theory_settings:
    """Write one experiment's settings; an edit reruns that experiment alone."""
    output:
        spec="results/theory/{experiment}/settings.json",
    log:
        "results/theory/{experiment}/logs/settings.log",
    localrule: True
    params:
        settings=settings_of_theory,
    script:
        "../workflow/scripts/write_spec.py"


rule run_theory:
    """One experiment with one seed: series for figures, and claims with verdicts."""
    input:
        settings="results/theory/{experiment}/settings.json",
        code=stage_code("commands/theory", "config/theory", "theory"),
    output:
        results="results/theory/{experiment}/seed{seed}.json",
    log:
        "results/theory/{experiment}/logs/seed{seed}.log",
    benchmark:
        "results/theory/{experiment}/logs/seed{seed}.tsv"
    shell:
        "padir theory {wildcards.experiment} --settings {input.settings:q}"
        " --seed {wildcards.seed} --out {output.results:q} > {log:q} 2>&1"


rule draw_theory:
    """One figure of the theory experiments as SVG, with its points as CSV."""
    input:
        results=theory_of_figure,
        code=stage_code(
            "commands/theory_report", "report/theory_figures", "report/figures"
        ),
    output:
        drawing="results/report/figures/{drawing}.svg",
        points="results/report/figures/{drawing}.csv",
    log:
        "results/report/logs/{drawing}.theory.log",
    params:
        folder=subpath(output.drawing, parent=True),
    shell:
        "padir theory-report {wildcards.drawing} --results {input.results:q}"
        " --out {params.folder:q} > {log:q} 2>&1"


rule theorem_table:
    """Every statement of the theory with what was computed and the verdict."""
    input:
        results=all_theory,
        code=stage_code(
            "commands/theory_report", "report/theory_figures", "report/tables"
        ),
    output:
        csv="results/report/tables/theorems.csv",
        markdown="results/report/tables/theorems.md",
        latex="results/report/tables/theorems.tex",
    log:
        "results/report/logs/theorems.log",
    params:
        folder=subpath(output.csv, parent=True),
    shell:
        "padir theory-report theorems --results {input.results:q}"
        " --out {params.folder:q} > {log:q} 2>&1"


rule theory:
    """Figures 1 to 3 and every theorem, from nothing."""
    input:
        all_theory,
        shown_theory,


rule figure1:
    """Squared parameter error against k: an ordinary truth."""
    input:
        "results/report/figures/figure1.svg",


rule figure2:
    """Squared parameter error against k: a peaky truth with two modes."""
    input:
        "results/report/figures/figure2.svg",


rule figure3:
    """Steps until the larger mode is reached: k-Gibbs against independent parallel sampling."""
    input:
        "results/report/figures/figure3.svg",
