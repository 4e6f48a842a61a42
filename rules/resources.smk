"""Resources of jobs. A cluster is asked for them; on one machine only those count that have a limit.

Rules set them, not profiles: `--set-resources` on the command line replaces the whole table of a profile.
"""

import os


def growing(mem_mb):
    """Memory of a job, doubled on the first two retries: jobs are tried again for other reasons too, such as a limit of
    time, and one that asks for more than any node has is refused.
    """

    def memory(wildcards, attempt):
        return mem_mb * 2 ** min(attempt - 1, 2)

    return memory


def memory_of_fetch(wildcards, attempt):
    """Memory of fetching: TensorFlow Datasets holds whole files while it prepares a dataset."""
    prepares = SETTINGS.datasets[wildcards.dataset].source.kind == "tfds"
    return growing(32000 if prepares else 4000)(wildcards, attempt)


def device(kind):
    """One set of devices for each job that computes; none after `--resources gpu=0`.

    On one machine whose devices JAX uses, one such job runs at a time where no limit is given: each takes most of a GPU's
    memory, and a TPU belongs to one process.

    Snakemake keeps such a limit from the jobs that it submits. They read it from the environment, which Slurm hands on:
    without it each of them would ask its own allocation for a GPU.
    """
    handed_on = f"PADIR_LIMIT_{kind.upper()}"
    limit = workflow.global_resources.get(kind).value
    if workflow.is_main_process:
        if limit is None and LOCAL and machine.jax_computes_on(kind):
            limit = 1
            workflow.register_resource(kind, limit)
            print(
                f"padir: one job at a time on the {kind.upper()}: --resources {kind}=N allows N",
                file=sys.stderr,
            )
        os.environ.pop(handed_on, None)
        if limit is not None:
            os.environ[handed_on] = str(limit)
    elif handed_on in os.environ:
        limit = int(os.environ[handed_on])

    def count(wildcards):
        return 1 if limit is None else min(1, limit)

    return count


def all_cores(wildcards):
    """All cores of this run; 1 with `--dag` and `--report`, which are given none."""
    return workflow.resource_settings.cores or 1


def few_cores(wildcards):
    """At most four cores: more gain little in reading and writing text.

    One for the few sentences of a grammar: a job of two cores starts only when both are free, which would be after the
    theory, and table 1 needs the text first.
    """
    few = SETTINGS.datasets[wildcards.dataset].source.kind == "synthetic"
    return 1 if few else min(4, all_cores(wildcards))
