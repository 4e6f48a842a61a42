rule write_run_settings:
    """Cut out what one model reads from the config."""
    output:
        spec="results/runs/{dataset}/{source}-{target}/{model}/spec.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{model}/logs/settings.log",
    localrule: True
    params:
        settings=settings_of_run,
    script:
        "../workflow/scripts/write_spec.py"


rule train:
    """Train one model with one seed; an interrupted run goes on from its work folder.

    One thread: on small CPUs two runs side by side finish before two runs of two threads each.
    """
    input:
        spec="results/runs/{dataset}/{source}-{target}/{model}/spec.json",
        vocabulary=vocabulary,
        train_source=text("source", "train"),
        train_target=training_targets("train"),
        valid_source=text("source", "valid"),
        valid_target=training_targets("valid"),
        warm_start=warm_start_bundle,
    output:
        model="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/model.safetensors",
        metrics="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/metrics.jsonl",
        provenance="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/provenance.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/train.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/train.tsv"
    wildcard_constraints:
        model=models_that(train=True),
    # What others wait for goes first.
    priority: 20
    threads: 1
    params:
        work=work_folder,
        bundle=made_bundle,
        warm_start=bundle_flags("--warm-start", "warm_start"),
        launcher=launcher,
        distributed=distributed_flag,
    shell:
        "{params.launcher:q} padir train --spec {input.spec:q} --vocabulary {input.vocabulary:q}"
        " --train-source {input.train_source:q} --train-target {input.train_target:q}"
        " --valid-source {input.valid_source:q} --valid-target {input.valid_target:q}"
        " {params.warm_start:q} {params.distributed:q} --seed {wildcards.seed}"
        " --work {params.work:q} --out {params.bundle:q} --threads {threads} > {log:q} 2>&1"


rule adopt:
    """Put a trained model's parameters under other decoding settings."""
    input:
        spec="results/runs/{dataset}/{source}-{target}/{model}/spec.json",
        model=owner_bundle,
    output:
        model="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/model.safetensors",
        provenance="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/provenance.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/logs/adopt.log",
    wildcard_constraints:
        model=models_that(train=False),
    params:
        owner=given_bundle,
        bundle=made_bundle,
    shell:
        "padir adopt --bundle {params.owner:q} --spec {input.spec:q} --out {params.bundle:q}"
        " > {log:q} 2>&1"
