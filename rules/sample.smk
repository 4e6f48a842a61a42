rule sample:
    """Sample translations of one split with k-Gibbs chains."""
    input:
        model=asked(jobs.sampled_bundle, "place", "sampler"),
        source=text("source"),
        code=code_of("commands.sample"),
    output:
        records="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.jsonl",
        text="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.txt",
        provenance="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.jsonl.provenance.json",
    log:
        "results/samples/{dataset}/{source}-{target}/logs/{split}.{sampler}.log",
    benchmark:
        "results/samples/{dataset}/{source}-{target}/logs/{split}.{sampler}.tsv"
    threads: 1
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(8000),
    params:
        bundle=folder_of("model"),
        settings=asked(jobs.sampler_flags, "sampler"),
        digests=digests(identity.chain_digests, "dataset", "direction", "sampler"),
    shell:
        "padir sample --bundle {params.bundle:q} --source {input.source:q} {params.settings:q}"
        " --out {output.records:q} --text {output.text:q} --digests {params.digests:q}"
        " --threads {threads} > {log:q} 2>&1"


rule score_sample:
    """Score each sentence's text of least energy."""
    input:
        hypotheses="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.txt",
        provenance="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.jsonl.provenance.json",
        source=text("source"),
        references=references(),
        grammar=asked(jobs.grammar, "dataset"),
        code=code_of("commands.score"),
    output:
        score="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.json",
    log:
        "results/samples/{dataset}/{source}-{target}/logs/{split}.{sampler}.score.log",
    params:
        grammar=grammar_flags,
        samples=SETTINGS.evaluation.bootstrap_samples,
        digests=digests(identity.sample_digests, "dataset", "direction", "sampler"),
    shell:
        "padir score --hypotheses {input.hypotheses:q} --references {input.references:q}"
        " --target-language {wildcards.target} {params.grammar:q} --samples {params.samples}"
        " --provenance {input.provenance:q} --digests {params.digests:q}"
        " --json {output.score:q} > {log:q} 2>&1"
