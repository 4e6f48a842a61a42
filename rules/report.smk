rule write_report_settings:
    """Write the merged and validated config, from which the report is made."""
    output:
        spec="results/report/config.json",
    log:
        "results/report/logs/settings.log",
    # Done at once; all else waits for it.
    priority: 150
    localrule: True
    params:
        settings=settings_of_all,
    script:
        "../workflow/scripts/write_spec.py"


rule measure_latency:
    """Time whole translations at batch 1: every row in one process, alone on the machine."""
    input:
        models=asked(jobs.timed_bundles, "place", "timing"),
        decoders=asked(jobs.timed_decoders, "place", "timing"),
        rerankers=asked(jobs.timed_rerankers, "place", "timing"),
        source=text("source", "test"),
        code=code_of("commands.latency"),
    output:
        latency="results/latency/{dataset}/{source}-{target}/{timing}.json",
    log:
        "results/latency/{dataset}/{source}-{target}/logs/{timing}.log",
    benchmark:
        "results/latency/{dataset}/{source}-{target}/logs/{timing}.tsv"
    threads: all_cores
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(8000),
    params:
        rows=asked(jobs.timed_names, "place", "timing"),
        rerankers=bundle_flags("--reranker", "rerankers"),
        sentences=SETTINGS.evaluation.latency_sentences,
        repeats=SETTINGS.evaluation.latency_repeats,
        digests=digests(layout.timing_digests, "place", "timing"),
    shell:
        "padir latency --rows {params.rows:q} {params.rerankers:q} --source {input.source:q}"
        " --sentences {params.sentences} --repeats {params.repeats} --threads {threads}"
        " --digests {params.digests:q} --out {output.latency:q} > {log:q} 2>&1"


rule table:
    """One table as CSV, Markdown and LaTeX."""
    input:
        settings="results/report/config.json",
        results=artifacts_of("table"),
        code=code_of_part("table"),
    output:
        csv=report(
            "results/report/tables/{table}.csv",
            caption="../workflow/report/table.rst",
            category=section_of("table"),
            labels={"part": "{table}"},
        ),
        markdown="results/report/tables/{table}.md",
        latex="results/report/tables/{table}.tex",
    log:
        "results/report/logs/{table}.table.log",
    # As soon as it can be made.
    priority: 140
    localrule: True
    params:
        options=experiment_options,
    shell:
        "padir report --config {input.settings:q} --only {wildcards.table} --options={params.options:q}"
        " --out results/report > {log:q} 2>&1"


rule figure:
    """One figure as SVG, with its points as CSV."""
    input:
        settings="results/report/config.json",
        results=artifacts_of("figure"),
        code=code_of_part("figure"),
    output:
        drawing=report(
            "results/report/figures/{figure}.svg",
            caption="../workflow/report/figure.rst",
            category=section_of("figure"),
            labels={"part": "{figure}"},
        ),
        points="results/report/figures/{figure}.csv",
    log:
        "results/report/logs/{figure}.figure.log",
    # As soon as it can be made.
    priority: 140
    localrule: True
    params:
        options=experiment_options,
    shell:
        "padir report --config {input.settings:q} --only {wildcards.figure} --options={params.options:q}"
        " --out results/report > {log:q} 2>&1"


rule decide_claims:
    """Verdicts on the paper's claims, each with its statistical test."""
    input:
        settings="results/report/config.json",
        core=core_file("claims.json"),
        results=artifacts_in_scope,
        code=code_of("commands.report", "report"),
    output:
        markdown=report(
            "results/report/{scope}claims.md",
            caption="../workflow/report/claims.rst",
            category="Report",
            labels=labels_of("claims"),
        ),
        data="results/report/{scope}claims.json",
    log:
        "results/report/{scope}logs/claims.log",
    priority: 140
    params:
        scope=scope_of,
        options=experiment_options,
    shell:
        "padir report --config {input.settings:q} --only claims --scope {params.scope:q}"
        " --options={params.options:q} --out results/report > {log:q} 2>&1"


rule page:
    """One self-contained page with every table, figure and claim of a scope."""
    input:
        settings="results/report/config.json",
        core=core_file("index.html"),
        results=artifacts_in_scope,
        traces=traces,
        code=code_of("commands.report", "report"),
    output:
        page=report(
            "results/report/{scope}index.html",
            caption="../workflow/report/page.rst",
            category="Report",
            labels=labels_of("page"),
        ),
    log:
        "results/report/{scope}logs/page.log",
    priority: 140
    params:
        scope=scope_of,
        options=experiment_options,
    shell:
        "padir report --config {input.settings:q} --only page --scope {params.scope:q}"
        " --options={params.options:q} --out results/report > {log:q} 2>&1"
