rule write_decoder_settings:
    """Write the settings of one decoder."""
    output:
        spec="results/decoders/{dataset}/{source}-{target}/{decoder}.json",
    log:
        "results/decoders/{dataset}/{source}-{target}/logs/{decoder}.log",
    # Done at once; all else waits for it.
    priority: 150
    localrule: True
    params:
        settings=asked(jobs.decoder_settings, "place", "decoder"),
    script:
        "../workflow/scripts/write_spec.py"


rule tune:
    """Choose a decoder's length rule and margin for drafts on validation data, and add the tuned
    decoder to the bundle."""
    input:
        spec="results/runs/{dataset}/{source}-{target}/{training}/spec.json",
        model=asked(jobs.bundle, "place", "training", "seed"),
        decoder="results/decoders/{dataset}/{source}-{target}/{decoder}.json",
        reranker=asked(jobs.reranker_bundle, "place", "decoder"),
        source=text("source", "valid"),
        references=references("valid"),
        code=code_of_tuning,
    output:
        decoder="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/bundle/decoders/{decoder}.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/tune.{decoder}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/tune.{decoder}.tsv"
    # As trainings.
    priority: asked(priorities.decoder_priority, "training", "decoder", level=10)
    threads: 1
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(8000),
    params:
        bundle=folder_of("model"),
        reranker=bundle_flags("--reranker", "reranker"),
        digests=digests(
            identity.decoder_digests, "dataset", "direction", "training", "decoder"
        ),
    shell:
        "padir tune --bundle {params.bundle:q} {params.reranker:q} --decoder {input.decoder:q}"
        " --source {input.source:q} --references {input.references:q} --out {output.decoder:q}"
        " --digests {params.digests:q} --threads {threads} > {log:q} 2>&1"


rule decode:
    """Translate one split with one trained model, one decoder and one number of passes."""
    input:
        spec="results/runs/{dataset}/{source}-{target}/{training}/spec.json",
        model=asked(jobs.bundle, "place", "training", "seed"),
        decoder=asked(jobs.row_decoder, "place", "row", "seed"),
        reranker=asked(jobs.row_reranker, "place", "row"),
        source=text("source"),
        reference=text("target"),
        code=code_of("commands.decode"),
    output:
        records="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.jsonl",
        text="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.txt",
        provenance="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.jsonl.provenance.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/decode.{split}.{decoding}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/decode.{split}.{decoding}.tsv"
    priority: asked(priorities.row_priority, "row", level=0)
    threads: 1
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(8000),
    params:
        bundle=folder_of("model"),
        reranker=bundle_flags("--reranker", "reranker"),
        passes=passes_flag,
        digests=digests(
            identity.hypotheses_digests, "dataset", "direction", "row", "seed"
        ),
    shell:
        "padir decode --bundle {params.bundle:q} {params.reranker:q} --decoder {input.decoder:q}"
        " {params.passes:q} --source {input.source:q} --references {input.reference:q}"
        " --out {output.records:q} --text {output.text:q} --split {wildcards.split}"
        " --digests {params.digests:q} --threads {threads} > {log:q} 2>&1"


rule trace:
    """Record each pass over the first sentences of a split, for the report's viewer: one job for all
    decoders of a model."""
    input:
        spec="results/runs/{dataset}/{source}-{target}/{training}/spec.json",
        model=asked(jobs.bundle, "place", "training", "seed"),
        decoders=asked(jobs.traced_decoders, "place", "training", "seed", "traced"),
        rerankers=asked(jobs.traced_rerankers, "place", "training", "traced"),
        source=text("source"),
        reference=text("target"),
        code=code_of("commands.trace"),
    output:
        trace="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/trace/{split}.{traced}.jsonl",
        provenance="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/trace/{split}.{traced}.jsonl.provenance.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/trace.{split}.{traced}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/trace.{split}.{traced}.tsv"
    threads: 1
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(8000),
    params:
        bundle=folder_of("model"),
        rows=asked(jobs.traced_names, "training", "traced"),
        rerankers=bundle_flags("--reranker", "rerankers"),
        digests=digests(layout.trace_digests, "place", "training", "seed", "traced"),
    shell:
        "padir trace --bundle {params.bundle:q} --rows {params.rows:q} {params.rerankers:q}"
        " --source {input.source:q} --references {input.reference:q} --out {output.trace:q}"
        " --split {wildcards.split} --digests {params.digests:q} --threads {threads} > {log:q} 2>&1"
