rule write_vocabulary_settings:
    """Cut out the vocabulary's settings from the config."""
    output:
        spec="results/vocab/{dataset}/{first}-{second}/settings.json",
    log:
        "results/vocab/{dataset}/{first}-{second}/logs/settings.log",
    localrule: True
    params:
        settings=settings_of_vocabulary,
    script:
        "../workflow/scripts/write_spec.py"


rule vocab:
    """Learn one vocabulary for both languages of a pair from its training text."""
    input:
        spec="results/vocab/{dataset}/{first}-{second}/settings.json",
        first="results/data/{dataset}/{first}-{second}/train.{first}",
        second="results/data/{dataset}/{first}-{second}/train.{second}",
    output:
        model="results/vocab/{dataset}/{first}-{second}/spm.model",
    log:
        "results/vocab/{dataset}/{first}-{second}/logs/vocab.log",
    benchmark:
        "results/vocab/{dataset}/{first}-{second}/logs/vocab.tsv"
    shell:
        "padir vocab --settings {input.spec:q} --text {input.first:q} {input.second:q}"
        " --out {output.model:q} > {log:q} 2>&1"
