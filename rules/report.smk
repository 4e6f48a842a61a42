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
        rerankers=timed_rerankers,
        source=text("source", "test"),
        code=stage_code("commands/latency", "analysis", "decode"),
    output:
        latency="results/latency/{dataset}/{source}-{target}/{timing}.json",
    log:
        "results/latency/{dataset}/{source}-{target}/logs/{timing}.log",
    benchmark:
        "results/latency/{dataset}/{source}-{target}/logs/{timing}.tsv"
    threads: workflow.cores
    params:
        bundles=trained_bundles,
        rerankers=bundle_flags("--reranker", "rerankers"),
        decodings=timed_decodings,
        sentences=latency_sentences,
        repeats=latency_repeats,
    shell:
        "padir latency --runs {params.bundles:q} {params.rerankers:q} --decodings {params.decodings:q}"
        " --source {input.source:q} --sentences {params.sentences}"
        " --repeats {params.repeats} --out {output.latency:q} > {log:q} 2>&1"


rule table:
    """One table as CSV, Markdown and LaTeX."""
    input:
        settings="results/report/config.json",
        results=results_of_part("table"),
        code=stage_code("commands/report", "report"),
    output:
        csv="results/report/tables/{table}.csv",
        markdown="results/report/tables/{table}.md",
        latex="results/report/tables/{table}.tex",
    log:
        "results/report/logs/{table}.table.log",
    shell:
        "padir report --results results --config {input.settings:q}"
        " --only {wildcards.table} --out results/report > {log:q} 2>&1"


rule figure:
    """One figure as SVG, with its points as CSV."""
    input:
        settings="results/report/config.json",
        results=results_of_part("figure"),
        code=stage_code("commands/report", "report"),
    output:
        drawing="results/report/figures/{figure}.svg",
        points="results/report/figures/{figure}.csv",
    log:
        "results/report/logs/{figure}.figure.log",
    shell:
        "padir report --results results --config {input.settings:q}"
        " --only {wildcards.figure} --out results/report > {log:q} 2>&1"


rule decide_claims:
    """The paper's claims, each with the test that decides it and the verdict."""
    input:
        settings="results/report/config.json",
        results=all_results,
        code=stage_code("commands/report", "report"),
    output:
        markdown="results/report/claims.md",
        data="results/report/claims.json",
    log:
        "results/report/logs/claims.log",
    shell:
        "padir report --results results --config {input.settings:q} --only claims"
        " --out results/report > {log:q} 2>&1"


rule page:
    """One self-contained page with every table, figure and claim."""
    input:
        settings="results/report/config.json",
        results=all_results,
        code=stage_code("commands/report", "report"),
    output:
        page="results/report/index.html",
    log:
        "results/report/logs/page.log",
    shell:
        "padir report --results results --config {input.settings:q} --only page"
        " --out results/report > {log:q} 2>&1"
