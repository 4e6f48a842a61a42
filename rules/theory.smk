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
