"""From raw parallel text to every table, figure and claim; settings: config/README.md."""

from snakemake.utils import min_version

min_version("9.0")


# For its default limit of 100 jobs a second Snakemake looks for jobs again a second after each look
# that a ready job came out of empty-handed, and each finished job starts one more such chain: after some
# hundred jobs they keep a core busy. One machine needs no such limit; another one, if asked for, stays.
onstart:
    limiter = getattr(workflow.scheduler, "job_rate_limiter", None)
    if (
        workflow.local_exec
        and limiter
        and (limiter.max_jobs, limiter.timespan) == (100, 1)
    ):
        workflow.scheduler.job_rate_limiter = None


# A config file is complete in itself: one named on the command line stands instead of this one.
if not workflow.overwrite_configfiles:

    configfile: f"{workflow.basedir}/config/config.yaml"


include: "rules/common.smk"
include: "rules/collect.smk"
include: "rules/data.smk"
include: "rules/vocab.smk"
include: "rules/distill.smk"
include: "rules/train.smk"
include: "rules/decode.smk"
include: "rules/score.smk"
include: "rules/sample.smk"
include: "rules/analysis.smk"
include: "rules/theory.smk"
include: "rules/report.smk"


localrules:
    all,
    everything,
    translation,
    table1,
    table2,
    table3,
    table4,
    table5,
    dependency,
    ablations,
    samplers,
    dependency_decoding,
    redundancy,
    stutter,
    latency,
    figures,
    claims,
    theory,
    figure1,
    figure2,
    figure3,


rule all:
    """Table 1 and all that belongs to it: tables, figures, theory, claims and the page."""
    default_target: True
    input:
        expand("results/report/tables/{table}.md", table=DEFAULT_TABLES),
        expand("results/report/figures/{figure}.svg", figure=FIGURES),
        shown_theory,
        "results/report/claims.md",
        "results/report/index.html",


rule everything:
    """The same with table 2 and the ablations, whose models train for longer than all others."""
    input:
        rules.all.input,
        expand("results/report/tables/{table}.md", table=GRID_TABLES + ANALYSIS_TABLES),
        expand("results/report/figures/{figure}.svg", figure=HEAT_MAPS),


rule translation:
    """The models of table 1 trained, decoded and scored; no latency, no report."""
    input:
        core_scores,


rule table1:
    """Quality of AR and of PaDIR at each number of passes, raw and distilled."""
    input:
        "results/report/tables/table1.md",


rule table2:
    """All systems side by side: quality, stutter, passes and latency."""
    input:
        "results/report/tables/table2.md",


rule table3:
    """Further scores beside BLEU: BLEURT, and whatever `evaluation.scorers` names."""
    input:
        "results/report/tables/table3.md",


rule table4:
    """Self-attention between stuttering and between other adjacent positions."""
    input:
        "results/report/tables/table4.md",


rule table5:
    """How far the cross-attention of stuttering and of other adjacent positions lies apart."""
    input:
        "results/report/tables/table5.md",


rule dependency:
    """What tells that target positions depend on each other; heat maps by layer and head."""
    input:
        "results/report/tables/dependency.md",
        expand("results/report/figures/{figure}.svg", figure=HEAT_MAPS),


rule ablations:
    """What each part of PaDIR does, with intervals and corrected tests."""
    input:
        "results/report/tables/ablations.md",


rule samplers:
    """k-Gibbs chains over translations: quality, acceptance, energy."""
    input:
        "results/report/tables/samplers.md",


rule dependency_decoding:
    """Decoders that mind the dependence between positions, against plain ones."""
    input:
        "results/report/tables/dependency_decoding.md",


rule redundancy:
    """What the same decoders say twice, or not at all."""
    input:
        "results/report/tables/redundancy.md",


rule stutter:
    """Repeated words, before and after the final drop."""
    input:
        "results/report/tables/stutter.md",


rule latency:
    """Time of one sentence, from text to text."""
    input:
        "results/report/tables/latency.md",


rule figures:
    """Every figure."""
    input:
        expand("results/report/figures/{figure}.svg", figure=FIGURES),
        shown_theory,


rule claims:
    """The paper's claims, each with a verdict."""
    input:
        "results/report/claims.md",


rule theory:
    """Figures 1 to 3 and every theorem, from nothing."""
    input:
        all_theory,
        shown_theory,


rule figure1:
    """Squared parameter error against k: an ordinary truth."""
    input:
        "results/report/figures/figure1.svg",


rule figure2:
    """Squared parameter error against k: a peaky truth with two modes."""
    input:
        "results/report/figures/figure2.svg",


rule figure3:
    """Steps until the larger mode is reached: k-Gibbs against independent parallel sampling."""
    input:
        "results/report/figures/figure3.svg",
