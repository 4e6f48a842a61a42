rule tune:
    """Choose the length rule of decoding on validation data."""
    input:
        model="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/model.safetensors",
        reranker=reranker_bundle,
        source=text("source", "valid"),
        reference=text("target", "valid"),
    output:
        rule="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/decoding.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/tune.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/tune.tsv"
    # What others wait for goes first.
    priority: 10
    threads: 1
    params:
        bundle=given_bundle,
        reranker=bundle_flags("--reranker", "reranker"),
        references=references("valid"),
    shell:
        "padir tune --bundle {params.bundle:q} {params.reranker:q} --source {input.source:q}"
        " --references {params.references:q} --out {output.rule:q}"
        " --threads {threads} > {log:q} 2>&1"


rule decode:
    """Translate one split with one model, one seed and one way of decoding."""
    input:
        model="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/model.safetensors",
        rule="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/decoding.json",
        reranker=reranker_bundle,
        source=text("source"),
        reference=text("target"),
        code=stage_code("commands/decode", "decode"),
    output:
        records="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/decode/{split}.{decoding}.jsonl",
        text="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/decode/{split}.{decoding}.txt",
    log:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/decode.{split}.{decoding}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/decode.{split}.{decoding}.tsv"
    threads: 1
    params:
        bundle=given_bundle,
        reranker=bundle_flags("--reranker", "reranker"),
    shell:
        "padir decode --bundle {params.bundle:q} {params.reranker:q} --decoding {wildcards.decoding}"
        " --source {input.source:q} --references {input.reference:q} --out {output.records:q} --text {output.text:q}"
        " --threads {threads} > {log:q} 2>&1"
