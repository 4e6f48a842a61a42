rule analyse:
    """Tables 4 and 5 of one model, predictors of stutter, the probe and the exact dependence."""
    input:
        model="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/model.safetensors",
        rule="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/decoding.json",
        reranker=reranker_bundle,
        source=text("source", SETTINGS.evaluation.split),
        reference=text("target", SETTINGS.evaluation.split),
        code=stage_code("commands/analyse", "analysis", "decode"),
    output:
        analysis="results/analysis/{dataset}/{source}-{target}/{model}/seed{seed}.json",
    log:
        "results/analysis/{dataset}/{source}-{target}/{model}/logs/seed{seed}.log",
    benchmark:
        "results/analysis/{dataset}/{source}-{target}/{model}/logs/seed{seed}.tsv"
    threads: 1
    params:
        bundle=given_bundle,
        reranker=bundle_flags("--reranker", "reranker"),
        references=references(SETTINGS.evaluation.split),
        exact=exact_flags,
        options=analysis_options,
    shell:
        "padir analyse --bundle {params.bundle:q} {params.reranker:q} --source {input.source:q}"
        " --references {params.references:q} --target-language {wildcards.target}"
        " {params.exact:q} {params.options:q} --out {output.analysis:q}"
        " --threads {threads} > {log:q} 2>&1"
