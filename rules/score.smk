rule score:
    """BLEU, chrF, stutter and, on synthetic data, validity, with intervals and significance."""
    input:
        hypotheses="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/decode/{split}.{decoding}.txt",
        records="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/decode/{split}.{decoding}.jsonl",
        spec="results/runs/{dataset}/{source}-{target}/{model}/spec.json",
        reference=text("target"),
        baseline=baseline_hypotheses,
        code=stage_code("commands/score", "score"),
    output:
        score="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/score/{split}.{decoding}.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/score.{split}.{decoding}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/score.{split}.{decoding}.tsv"
    params:
        references=references(),
        grammar=grammar_flags(),
        baseline=baseline_name,
        samples=bootstrap_samples,
    shell:
        "padir score --hypotheses {input.hypotheses:q} --references {params.references:q}"
        " --target-language {wildcards.target} --decode {input.records:q}"
        " --baseline {input.baseline:q} --baseline-name {params.baseline:q}"
        " {params.grammar:q} --samples {params.samples} --spec {input.spec:q}"
        " --seed {wildcards.seed} --split {wildcards.split} --decoding {wildcards.decoding}"
        " --json {output.score:q} > {log:q} 2>&1"


rule rate:
    """One further score of one output, by one scorer, in a process of its own."""
    input:
        hypotheses="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/decode/{split}.{decoding}.txt",
        spec="results/runs/{dataset}/{source}-{target}/{model}/spec.json",
        reference=text("target"),
        checkpoint=scorer_files,
        code=stage_code("commands/rate", "score"),
    output:
        rating="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/rate/{split}.{decoding}.{scorer}.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/rate.{split}.{decoding}.{scorer}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/rate.{split}.{decoding}.{scorer}.tsv"
    threads: 1
    params:
        references=references(),
        scorer=scorer_flags,
        samples=bootstrap_samples,
    shell:
        "padir rate {params.scorer:q} --hypotheses {input.hypotheses:q}"
        " --references {params.references:q} --samples {params.samples} --spec {input.spec:q}"
        " --seed {wildcards.seed} --split {wildcards.split} --decoding {wildcards.decoding}"
        " --threads {threads} --json {output.rating:q} > {log:q} 2>&1"
