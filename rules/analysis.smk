rule analyse:
    """Tables 4 and 5 of one trained model, predictors of stutter, the probe and the exact dependence."""
    input:
        model=asked(jobs.bundle, "place", "training", "seed"),
        decoder="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/bundle/decoders/{decoder}.json",
        reranker=asked(jobs.reranker_bundle, "place", "decoder"),
        source=text("source", SETTINGS.evaluation.split),
        references=references(SETTINGS.evaluation.split),
        grammar=asked(jobs.grammar, "dataset"),
        code=code_of("commands.analyse"),
    output:
        analysis="results/analysis/{dataset}/{source}-{target}/{training}/{decoder}.seed{seed}.json",
    log:
        "results/analysis/{dataset}/{source}-{target}/{training}/logs/{decoder}.seed{seed}.log",
    benchmark:
        "results/analysis/{dataset}/{source}-{target}/{training}/logs/{decoder}.seed{seed}.tsv"
    threads: 1
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(8000),
    params:
        bundle=folder_of("model"),
        reranker=bundle_flags("--reranker", "reranker"),
        exact=exact_flags,
        options=asked(jobs.analysis_flags),
        digests=digests(jobs.analysis_digests, "place", "training", "decoder", "seed"),
    shell:
        "padir analyse --bundle {params.bundle:q} {params.reranker:q} --decoder {input.decoder:q}"
        " --source {input.source:q} --references {input.references:q}"
        " --target-language {wildcards.target} {params.exact:q} {params.options:q}"
        " --digests {params.digests:q} --out {output.analysis:q} --threads {threads} > {log:q} 2>&1"
