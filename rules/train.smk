rule write_training_settings:
    """Write the settings of one training."""
    output:
        spec="results/runs/{dataset}/{source}-{target}/{training}/spec.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{training}/logs/settings.log",
    # Done at once; all else waits for it.
    priority: 150
    localrule: True
    params:
        settings=settings_of_training,
    script:
        "../workflow/scripts/write_spec.py"


# Whether trainings run on an engine of their own: what starts one and waits for it stays on this machine, whatever
# the executor of all else.
LAUNCHED = "launch" in workflow.resource_settings.overwrite_resources.get("train", {})


rule train:
    """Train one model with one seed; an interrupted run resumes from its work folder.

    One thread: on small CPUs two runs side by side finish before two runs of two threads each.
    """
    input:
        spec="results/runs/{dataset}/{source}-{target}/{training}/spec.json",
        vocabulary=asked(jobs.vocabulary, "dataset", "training"),
        train_source=asked(jobs.sources, "place", "training", split="train"),
        train_target=asked(jobs.targets, "place", "training", split="train"),
        valid_source=text("source", "valid"),
        valid_target=asked(jobs.targets, "place", "training", split="valid"),
        warm_start=asked(jobs.warm_start_bundle, "place", "training"),
        checksums=asked(jobs.dataset_statistics, "dataset"),
    output:
        model="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/bundle/model.safetensors",
        settings="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/bundle/spec.json",
        pieces="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/bundle/spm.model",
        card="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/bundle/README.md",
        metrics="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/metrics.jsonl",
        provenance="results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/provenance.json",
    log:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/train.log",
    benchmark:
        "results/runs/{dataset}/{source}-{target}/{training}/seed{seed}/logs/train.tsv"
    # What others wait for goes first, and what table 1 waits for before all else.
    priority: asked(priorities.training_priority, "training", level=20)
    localrule: LAUNCHED
    threads: 1
    resources:
        gpu=device("gpu"),
        tpu=device("tpu"),
        mem_mb=growing(16000),
        # Two days at a time. A run that hits the limit goes on from its checkpoint.
        runtime=2880,
    params:
        work=asked(jobs.work_folder, "place", "training", "seed"),
        bundle=folder_of("model"),
        warm_start=bundle_flags("--warm-start", "warm_start"),
        launcher=launcher,
        distributed=distributed_flag,
    shell:
        "{params.launcher:q} padir train --spec {input.spec:q} --vocabulary {input.vocabulary:q}"
        " --train-source {input.train_source:q} --train-target {input.train_target:q}"
        " --valid-source {input.valid_source:q} --valid-target {input.valid_target:q}"
        " {params.warm_start:q} {params.distributed:q} --seed {wildcards.seed}"
        " --work {params.work:q} --wait --out {params.bundle:q} --threads {threads} > {log:q} 2>&1"
