rule write_data_settings:
    """Write the settings that the data of one dataset depends on."""
    output:
        spec="results/data/{dataset}/{first}-{second}/dataset.json",
    log:
        "results/data/{dataset}/{first}-{second}/logs/settings.log",
    # Done at once; all else waits for it.
    priority: 150
    localrule: True
    params:
        settings=asked(identity.data_spec, "dataset"),
    script:
        "../workflow/scripts/write_spec.py"


rule fetch:
    """Fetch the raw text of all splits, or generate it from the grammar."""
    input:
        spec="results/data/{dataset}/{first}-{second}/dataset.json",
        files=asked(jobs.local_sources, "dataset"),
    output:
        raw=temp(directory("results/data/{dataset}/{first}-{second}/raw")),
    log:
        "results/data/{dataset}/{first}-{second}/logs/fetch.log",
    benchmark:
        "results/data/{dataset}/{first}-{second}/logs/fetch.tsv"
    priority: 130
    retries: 2
    threads: few_cores
    resources:
        mem_mb=memory_of_fetch,
        runtime=720,
    shell:
        "padir fetch --config-dataset {input.spec:q} --out {output.raw:q}"
        " --threads {threads} > {log:q} 2>&1"


rule clean:
    """Drop unusable pairs, count them by reason, and write the data card."""
    input:
        spec="results/data/{dataset}/{first}-{second}/dataset.json",
        raw="results/data/{dataset}/{first}-{second}/raw",
    output:
        train_first="results/data/{dataset}/{first}-{second}/train.{first}",
        train_second="results/data/{dataset}/{first}-{second}/train.{second}",
        valid_first="results/data/{dataset}/{first}-{second}/valid.{first}",
        valid_second="results/data/{dataset}/{first}-{second}/valid.{second}",
        test_first="results/data/{dataset}/{first}-{second}/test.{first}",
        test_second="results/data/{dataset}/{first}-{second}/test.{second}",
        references=multiext(
            "results/data/{dataset}/{first}-{second}/",
            "valid.references.{first}.jsonl",
            "valid.references.{second}.jsonl",
            "test.references.{first}.jsonl",
            "test.references.{second}.jsonl",
        ),
        statistics="results/data/{dataset}/{first}-{second}/statistics.json",
        card="results/data/{dataset}/{first}-{second}/README.md",
    log:
        "results/data/{dataset}/{first}-{second}/logs/clean.log",
    benchmark:
        "results/data/{dataset}/{first}-{second}/logs/clean.tsv"
    priority: 130
    threads: few_cores
    resources:
        mem_mb=growing(4000),
        runtime=240,
    params:
        folder=folder_of("card"),
        digests=digests(identity.data_digests, "dataset"),
    shell:
        "padir clean --config-dataset {input.spec:q} --raw {input.raw:q} --out {params.folder:q}"
        " --digests {params.digests:q} --threads {threads} > {log:q} 2>&1"


rule write_extra_settings:
    """Write the settings that a dataset's extra source text depends on."""
    output:
        spec="results/data/{dataset}/{first}-{second}/extra.json",
    log:
        "results/data/{dataset}/{first}-{second}/logs/extra.settings.log",
    # Done at once; all else waits for it.
    priority: 150
    localrule: True
    params:
        settings=asked(identity.extra_spec, "dataset"),
    script:
        "../workflow/scripts/write_spec.py"


rule extra_sources:
    """Clean monolingual text that teachers translate besides the training sources."""
    input:
        spec="results/data/{dataset}/{first}-{second}/extra.json",
        files=asked(jobs.local_extra_sources, "dataset", "language"),
        train="results/data/{dataset}/{first}-{second}/train.{language}",
        valid="results/data/{dataset}/{first}-{second}/valid.references.{language}.jsonl",
        test="results/data/{dataset}/{first}-{second}/test.references.{language}.jsonl",
    output:
        text="results/data/{dataset}/{first}-{second}/extra.{language}",
        statistics="results/data/{dataset}/{first}-{second}/extra.{language}.statistics.json",
    log:
        "results/data/{dataset}/{first}-{second}/logs/extra.{language}.log",
    benchmark:
        "results/data/{dataset}/{first}-{second}/logs/extra.{language}.tsv"
    retries: 2
    threads: few_cores
    resources:
        mem_mb=growing(4000),
        runtime=240,
    params:
        folder=folder_of("text"),
        digests=digests(identity.extra_digests, "dataset", "language"),
    shell:
        "padir extra-sources --config-dataset {input.spec:q} --language {wildcards.language}"
        " --train {input.train:q} --valid {input.valid:q} --test {input.test:q}"
        " --out {params.folder:q} --digests {params.digests:q} --threads {threads} > {log:q} 2>&1"


rule write_grammar:
    """Write the grammar of a synthetic dataset, by which translations are checked exactly."""
    input:
        spec="results/data/{dataset}/{first}-{second}/dataset.json",
    output:
        grammar="results/data/{dataset}/{first}-{second}/grammar.json",
    log:
        "results/data/{dataset}/{first}-{second}/logs/grammar.log",
    # Scores wait for it.
    priority: 130
    localrule: True
    shell:
        "padir fetch --config-dataset {input.spec:q} --grammar {output.grammar:q} > {log:q} 2>&1"
