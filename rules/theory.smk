rule write_theory_settings:
    """Write one experiment's settings; an edit reruns that experiment alone."""
    output:
        spec="results/theory/{experiment}/settings.json",
    log:
        "results/theory/{experiment}/logs/settings.log",
    # Done at once; all else waits for it.
    priority: 150
    localrule: True
    params:
        settings=settings_of_theory,
    script:
        "../workflow/scripts/write_spec.py"


rule run_theory:
    """One experiment with one seed: series for figures, and claims with verdicts."""
    input:
        settings="results/theory/{experiment}/settings.json",
        code=code_of_experiment,
    output:
        results="results/theory/{experiment}/seed{seed}.json",
    log:
        "results/theory/{experiment}/logs/seed{seed}.log",
    benchmark:
        "results/theory/{experiment}/logs/seed{seed}.tsv"
    shell:
        "padir theory {wildcards.experiment} --settings {input.settings:q}"
        " --seed {wildcards.seed} --out {output.results:q} > {log:q} 2>&1"
