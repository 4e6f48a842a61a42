rule write_vocabulary_settings:
    """Write the settings of a vocabulary."""
    output:
        spec="results/vocab/{dataset}/{first}-{second}/{further}settings.json",
    log:
        "results/vocab/{dataset}/{first}-{second}/{further}logs/settings.log",
    # Done at once; all else waits for it.
    priority: 150
    localrule: True
    params:
        settings=asked(jobs.vocabulary_settings, "dataset", "further"),
    script:
        "../workflow/scripts/write_spec.py"


rule vocab:
    """Learn one vocabulary for both languages of a pair from its training text."""
    input:
        spec="results/vocab/{dataset}/{first}-{second}/{further}settings.json",
        first="results/data/{dataset}/{first}-{second}/train.{first}",
        second="results/data/{dataset}/{first}-{second}/train.{second}",
        extra=asked(jobs.extra_text, "dataset", "further"),
        checksums=asked(jobs.dataset_statistics, "dataset"),
    output:
        model="results/vocab/{dataset}/{first}-{second}/{further}spm.model",
    log:
        "results/vocab/{dataset}/{first}-{second}/{further}logs/vocab.log",
    benchmark:
        "results/vocab/{dataset}/{first}-{second}/{further}logs/vocab.tsv"
    priority: asked(priorities.vocabulary_priority, "further")
    resources:
        mem_mb=growing(4000),
        runtime=240,
    shell:
        "padir vocab --settings {input.spec:q} --text {input.first:q} {input.second:q}"
        " --out {output.model:q} > {log:q} 2>&1"
