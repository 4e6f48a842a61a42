"""From raw parallel text to every table, figure and claim; settings: config/README.md."""

from snakemake.utils import min_version

min_version("9.0")


# Remove Snakemake's default limit of 100 jobs a second: after some hundred jobs its timers keep a core busy,
# no setting turns it off, and a longer timespan delays the exit. A limit set by the user is kept.
onstart:
    limiter = getattr(workflow.scheduler, "job_rate_limiter", None)
    if (
        workflow.local_exec
        and limiter
        and (limiter.max_jobs, limiter.timespan) == (100, 1)
    ):
        workflow.scheduler.job_rate_limiter = None


# A config file named on the command line replaces this one.
if not workflow.overwrite_configfiles:

    configfile: f"{workflow.current_basedir}/config/config.yaml"


include: "rules/common.smk"
include: "rules/resources.smk"
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
    core,
    everything,
    restore,
    translation,
    theory,
    figures,
    claims,


rule all:
    """The config's `default_target`: everything, or the core."""
    default_target: True
    input:
        outputs.files_in(SETTINGS, SETTINGS.default_target),


rule core:
    """Table 1 and what belongs to it: stutter, latency, theory, claims and the page."""
    input:
        outputs.files_in(SETTINGS, "core"),


rule everything:
    """Every table, figure and claim, and one page with all of them."""
    input:
        outputs.files_in(SETTINGS, "everything"),


rule translation:
    """The rows of table 1 trained, decoded and scored; no latency, no report."""
    input:
        outputs.paths_of(layout.scores(SETTINGS, SETTINGS.core_rows())),


rule theory:
    """Figures 1 to 3 and the table of theorems, which need no training."""
    input:
        outputs.files_of(p for p in catalogue.parts(SETTINGS) if p.group == "theory"),


rule figures:
    """Every figure."""
    input:
        outputs.files_of(p for p in catalogue.parts(SETTINGS) if p.kind == "figure"),


rule restore:
    """Every file of finished results that was deleted, from cleaned text to scores."""
    input:
        DELETED_FILES,


rule claims:
    """The paper's claims, each with a verdict."""
    input:
        "results/report/claims.md",


# One target for each table and figure of the catalogue: table1, ..., figure3.
for part in catalogue.parts(SETTINGS):

    rule:
        name:
            f"{part.name}"
        input:
            outputs.files_of([part]),
        localrule: True
