rule score:
    """BLEU, chrF, stutter and, on synthetic data, validity, with intervals and significance."""
    input:
        hypotheses="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.txt",
        records="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.jsonl",
        provenance="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.jsonl.provenance.json",
        spec="results/runs/{dataset}/{source}-{target}/{training}/spec.json",
        source=text("source"),
        references=references(),
        grammar=asked(jobs.grammar, "dataset"),
        baseline=asked(jobs.baseline_hypotheses, "place", "split"),
        baseline_provenance=asked(
            jobs.baseline_hypotheses, "place", "split", ending="jsonl.provenance.json"
        ),
        code=code_of("commands.score"),
    output:
        score="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/score/{split}.{decoding}.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/score.{split}.{decoding}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/score.{split}.{decoding}.tsv"
    priority: asked(priorities.row_priority, "row", level=30)
    resources:
        mem_mb=growing(2000),
    params:
        grammar=grammar_flags,
        baseline=baseline_flags,
        samples=SETTINGS.evaluation.bootstrap_samples,
        digests=digests(identity.score_digests, "dataset", "direction", "row", "seed"),
    shell:
        "padir score --hypotheses {input.hypotheses:q} --references {input.references:q}"
        " --target-language {wildcards.target} --decode {input.records:q} {params.baseline:q}"
        " {params.grammar:q} --samples {params.samples} --provenance {input.provenance:q}"
        " --digests {params.digests:q} --json {output.score:q} > {log:q} 2>&1"


rule rate:
    """Score one output with one further scorer, in its own process."""
    input:
        hypotheses="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.txt",
        provenance="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/decode/{split}.{decoding}.jsonl.provenance.json",
        spec="results/runs/{dataset}/{source}-{target}/{training}/spec.json",
        references=references(),
        checkpoint=scorer_files,
        code=code_of_scorer,
    output:
        rating="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/rate/{split}.{decoding}.{scorer}.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/rate.{split}.{decoding}.{scorer}.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/rate.{split}.{decoding}.{scorer}.tsv"
    threads: 1
    resources:
        # BLEURT-20 has 579 million parameters, and TensorFlow itself takes a gigabyte.
        mem_mb=growing(8000),
        runtime=240,
    params:
        scorer=asked(jobs.scorer_flags, "scorer"),
        samples=SETTINGS.evaluation.bootstrap_samples,
        digests=digests(
            identity.rating_digests, "dataset", "direction", "row", "seed", "scorer"
        ),
    shell:
        "padir rate {params.scorer:q} --hypotheses {input.hypotheses:q}"
        " --references {input.references:q} --samples {params.samples}"
        " --provenance {input.provenance:q} --digests {params.digests:q}"
        " --threads {threads} --json {output.rating:q} > {log:q} 2>&1"
