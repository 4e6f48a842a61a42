rule write_report_settings:
    """Write the merged, validated config, which says what belongs to the report."""
    output:
        spec="results/report/config.json",
    log:
        "results/report/logs/settings.log",
    localrule: True
    params:
        settings=settings_of_all,
    script:
        "../workflow/scripts/write_spec.py"


rule measure_latency:
    """Time whole translations at batch 1: every model in one process, alone on the machine."""
    input:
        models=trained("model.safetensors"),
        rules=trained("decoding.json"),
        source=text("source", "test"),
    output:
        latency="results/latency/{dataset}/{source}-{target}/latency.json",
    log:
        "results/latency/{dataset}/{source}-{target}/logs/latency.log",
    benchmark:
        "results/latency/{dataset}/{source}-{target}/logs/latency.tsv"
    threads: workflow.cores
    params:
        bundles=trained_bundles,
        decodings=all_decodings,
        sentences=latency_sentences,
        repeats=latency_repeats,
    shell:
        "padir latency --runs {params.bundles:q} --decodings {params.decodings:q}"
        " --source {input.source:q} --sentences {params.sentences}"
        " --repeats {params.repeats} --out {output.latency:q} > {log:q} 2>&1"


rule report:
    """Put every result together: tables, figures, claims and one self-contained page."""
    input:
        settings="results/report/config.json",
        scores=all_scores,
        latency=all_latency,
        cards=all_cards,
        statistics=all_statistics,
        metrics=all_metrics,
        code=stage_code("commands/report", "report"),
    output:
        page="results/report/index.html",
        claims="results/report/claims.md",
        claims_data="results/report/claims.json",
        tables=expand(
            "results/report/tables/{table}.{kind}",
            table=["table1", "stutter", "latency"],
            kind=["csv", "md", "tex"],
        ),
        figures=expand(
            "results/report/figures/{figure}.{kind}",
            figure=["quality_passes", "training"],
            kind=["csv", "svg"],
        ),
    log:
        "results/report/logs/report.log",
    shell:
        "padir report --results results --config {input.settings:q} --out results/report"
        " > {log:q} 2>&1"
