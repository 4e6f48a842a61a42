rule write_data_settings:
    """Cut out what one dataset reads from the config."""
    output:
        spec="results/data/{dataset}/{first}-{second}/dataset.json",
    log:
        "results/data/{dataset}/{first}-{second}/logs/settings.log",
    localrule: True
    params:
        settings=settings_of_data,
    script:
        "../workflow/scripts/write_spec.py"


rule fetch:
    """Get the text of all splits as the source has it, or generate it from the grammar."""
    input:
        spec="results/data/{dataset}/{first}-{second}/dataset.json",
        files=local_sources,
    output:
        raw=temp(directory("results/data/{dataset}/{first}-{second}/raw")),
    log:
        "results/data/{dataset}/{first}-{second}/logs/fetch.log",
    benchmark:
        "results/data/{dataset}/{first}-{second}/logs/fetch.tsv"
    retries: 2
    threads: workflow.cores
    shell:
        "padir fetch --config-dataset {input.spec:q} --out {output.raw:q}"
        " --threads {threads} > {log:q} 2>&1"


rule clean:
    """Drop unusable pairs, count them by reason, and describe the dataset."""
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
        statistics="results/data/{dataset}/{first}-{second}/statistics.json",
        card="results/data/{dataset}/{first}-{second}/README.md",
    log:
        "results/data/{dataset}/{first}-{second}/logs/clean.log",
    benchmark:
        "results/data/{dataset}/{first}-{second}/logs/clean.tsv"
    threads: workflow.cores
    params:
        folder=card_folder,
    shell:
        "padir clean --config-dataset {input.spec:q} --raw {input.raw:q}"
        " --out {params.folder:q} --threads {threads} > {log:q} 2>&1"
