rule sample:
    """Run k-Gibbs chains over the translations of one split."""
    input:
        model=sampled_bundle,
        source=text("source"),
        code=stage_code("commands/sample", "decode"),
    output:
        records="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.jsonl",
        text="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.txt",
    log:
        "results/samples/{dataset}/{source}-{target}/logs/{split}.{sampler}.log",
    benchmark:
        "results/samples/{dataset}/{source}-{target}/logs/{split}.{sampler}.tsv"
    threads: 1
    params:
        bundle=given_bundle,
        settings=sampler_flags,
    shell:
        "padir sample --bundle {params.bundle:q} --source {input.source:q} {params.settings:q}"
        " --out {output.records:q} --text {output.text:q} --threads {threads} > {log:q} 2>&1"


rule score_sample:
    """Score each sentence's text of least energy."""
    input:
        hypotheses="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.txt",
        spec=sampled_spec,
        reference=text("target"),
        code=stage_code("commands/score", "score"),
    output:
        score="results/samples/{dataset}/{source}-{target}/{split}.{sampler}.json",
    log:
        "results/samples/{dataset}/{source}-{target}/logs/{split}.{sampler}.score.log",
    params:
        references=references(),
        grammar=grammar_flags(),
        samples=bootstrap_samples,
        seed=sampled_seed,
    shell:
        "padir score --hypotheses {input.hypotheses:q} --references {params.references:q}"
        " --target-language {wildcards.target} {params.grammar:q} --samples {params.samples}"
        " --spec {input.spec:q} --seed {params.seed:q} --split {wildcards.split}"
        " --decoding {wildcards.sampler} --json {output.score:q} > {log:q} 2>&1"
