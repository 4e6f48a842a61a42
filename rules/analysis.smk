def exact_flags(wildcards):
    """What lets dependence on a synthetic dataset be computed exactly."""
    source = SETTINGS.datasets[wildcards.dataset].source
    if source.kind != "synthetic":
        return []
    grammar = f"{data_folder(wildcards)}/grammar.json"
    return ["--grammar", grammar, "--mode-strength", source.mode_strength]


def analysis_options(wildcards):
    """Options of the analysis that the settings decide."""
    chosen = SETTINGS.evaluation.analysis
    return [
        *("--passes", *chosen.passes),
        *("--sentences", chosen.sentences, "--distance", chosen.distance),
        *("--alternatives", chosen.alternatives),
        *("--samples", SETTINGS.evaluation.bootstrap_samples),
        *("--split", SETTINGS.evaluation.split),
    ]


rule analyse:
    """Tables 4 and 5 of one model, predictors of stutter, the probe and the exact dependence."""
    input:
        model="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/model.safetensors",
        rule="results/runs/{dataset}/{source}-{target}/{model}/seed{seed}/bundle/decoding.json",
        rescorer=rescorer_bundle,
        source=text("source", SETTINGS.evaluation.split),
        reference=text("target", SETTINGS.evaluation.split),
        code=stage_code("commands/analyse", "analysis", "decode"),
    output:
        analysis="results/analysis/{dataset}/{source}-{target}/{model}/seed{seed}.json",
    log:
        "results/analysis/{dataset}/{source}-{target}/{model}/logs/seed{seed}.log",
    benchmark:
        "results/analysis/{dataset}/{source}-{target}/{model}/logs/seed{seed}.tsv"
    threads: 1
    params:
        bundle=given_bundle,
        rescorer=bundle_flags("--rescorer", "rescorer"),
        references=references(SETTINGS.evaluation.split),
        exact=exact_flags,
        options=analysis_options,
    shell:
        "padir analyse --bundle {params.bundle:q} {params.rescorer:q} --source {input.source:q}"
        " --references {params.references:q} --target-language {wildcards.target}"
        " {params.exact:q} {params.options:q} --out {output.analysis:q}"
        " --threads {threads} > {log:q} 2>&1"
