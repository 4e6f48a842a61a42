rule join_sources:
    """Append a dataset's extra sources to its training sources, for teachers that translate both."""
    input:
        train=asked(jobs.joined_sources, "place", "teacher"),
    output:
        train="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/train.{source}",
    log:
        "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/logs/join.{source}.log",
    wildcard_constraints:
        teacher=teachers_of_kind("model"),
    localrule: True
    script:
        "../workflow/scripts/join.py"


rule distill:
    """Translate one part of the training or validation sources with an AR teacher."""
    input:
        model=asked(jobs.teacher_bundle, "place", "teacher", "seed"),
        decoder=asked(jobs.teacher_decoder, "place", "teacher", "seed"),
        source=asked(jobs.teacher_sources, "place", "teacher", "split"),
        checksums=asked(jobs.dataset_statistics, "dataset"),
    output:
        part=temp(
            "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/shards/{split}.{shard}of{shards}.{target}"
        ),
    log:
        "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/logs/{split}.{shard}of{shards}.{target}.log",
    benchmark:
        "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/logs/{split}.{shard}of{shards}.{target}.tsv"
    wildcard_constraints:
        teacher=teachers_of_kind("model"),
    # What others wait for goes first.
    priority: 130
    threads: 1
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(8000),
        runtime=720,
    params:
        bundle=folder_of("model"),
        digests=digests(identity.teacher_digests, "dataset", "direction", "teacher"),
    shell:
        "padir distill --bundle {params.bundle:q} --decoder {input.decoder:q}"
        " --source {input.source:q} --shard {wildcards.shard}/{wildcards.shards}"
        " --out {output.part:q} --digests {params.digests:q} --threads {threads} > {log:q} 2>&1"


rule join_distilled:
    """Join the parts of a teacher's translations, in corpus order."""
    input:
        train=asked(jobs.shards, "place", "teacher", "seed", split="train"),
        valid=asked(jobs.shards, "place", "teacher", "seed", split="valid"),
    output:
        train="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/train.{target}",
        valid="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/valid.{target}",
    log:
        "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/logs/join.{target}.log",
    wildcard_constraints:
        teacher=teachers_of_kind("model"),
    # The distilled trainings wait for it: behind the decodings of raw models it cost them minutes.
    priority: 130
    localrule: True
    script:
        "../workflow/scripts/join.py"


rule take_ready_made:
    """Take ready-made translations of the training or validation sources, line for line."""
    input:
        ready=asked(jobs.ready_made, "teacher", "split"),
        source=text("source"),
        checksums=asked(jobs.dataset_statistics, "dataset"),
    output:
        text="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/{split}.{target}",
    log:
        "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/logs/{split}.{target}.log",
    wildcard_constraints:
        teacher=teachers_of_kind("files"),
    params:
        # Edited text is taken whatever its date.
        digests=digests(identity.teacher_digests, "dataset", "direction", "teacher"),
    shell:
        "padir distill --ready {input.ready:q} --source {input.source:q}"
        " --out {output.text:q} > {log:q} 2>&1"


rule distill_cloud:
    """Translate training or validation sources with the paid service; lines in the ledger cost nothing.

    The settings are a resource, a change of which makes Snakemake rerun nothing: a higher limit or
    another speed makes no translation anew. What the translations depend on is a param. The rule
    runs where Snakemake does and on no node of a cluster: it needs the network, the user's
    credentials and its ledger.
    """
    input:
        source=text("source"),
    output:
        text="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/{split}.{target}",
    log:
        "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/logs/{split}.{target}.log",
    wildcard_constraints:
        teacher=teachers_of_kind("cloud"),
    retries: 0
    localrule: True
    resources:
        teacher=asked(jobs.teacher_settings, "teacher"),
    params:
        writes=asked(jobs.cloud_translation_settings, "teacher"),
    shell:
        "padir distill-cloud --teacher {resources.teacher:q} --source {input.source:q}"
        " --source-language {wildcards.source} --target-language {wildcards.target}"
        " --out {output.text:q} > {log:q} 2>&1"


rule describe_distilled:
    """Write the card of a teacher's translations: their quality, for the report."""
    input:
        train="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/train.{target}",
        valid="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/valid.{target}",
        raw_train=text("target", "train"),
        references=references("valid"),
        source=asked(jobs.teacher_sources, "place", "teacher", split="train"),
        extra=asked(jobs.extra_path, "place", "teacher", ending=".statistics.json"),
        grammar=asked(jobs.grammar, "dataset"),
        code=code_of("commands.distill_card"),
    output:
        card="results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/card.json",
    log:
        "results/distill/{dataset}/{source}-{target}/{teacher}/seed{seed}/logs/card.{target}.log",
    resources:
        mem_mb=growing(2000),
        runtime=240,
    params:
        grammar=grammar_flags,
        extra=extra_flags,
        decoding=asked(jobs.teacher_decoding, "teacher"),
        digests=digests(identity.teacher_digests, "dataset", "direction", "teacher"),
    shell:
        "padir distill-card --teacher {wildcards.teacher} --row {params.decoding:q}"
        " --train {input.train:q} --train-reference {input.raw_train:q}"
        " --valid {input.valid:q} --valid-references {input.references:q}"
        " --target-language {wildcards.target} {params.grammar:q}"
        " {params.extra:q} --digests {params.digests:q} --out {output.card:q} > {log:q} 2>&1"
