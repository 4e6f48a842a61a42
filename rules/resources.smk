"""Resources of jobs. A cluster is asked for them; on one machine only those count that have a limit.

Rules set them, not profiles: `--set-resources` on the command line replaces the whole table of a profile.
"""


def growing(mem_mb):
    """Memory of a job, doubled on each retry."""

    def memory(wildcards, attempt):
        return mem_mb * 2 ** (attempt - 1)

    return memory


def memory_of_fetch(wildcards, attempt):
    """Memory of fetching: TensorFlow Datasets holds whole files while it prepares a dataset."""
    prepares = SETTINGS.datasets[wildcards.dataset].source.kind == "tfds"
    return growing(32000 if prepares else 4000)(wildcards, attempt)


def device(kind):
    """Slots of this kind of device for a job: 1, or 0 under a limit such as `--resources gpu=0`."""

    def count(wildcards):
        limit = workflow.global_resources.get(kind).value
        return 1 if limit is None else min(1, limit)

    return count


def all_cores(wildcards):
    """All cores of this run; 1 with `--dag` and `--report`, which are given none."""
    return workflow.resource_settings.cores or 1


def few_cores(wildcards):
    """At most four cores: more gain little in reading and writing text."""
    return min(4, all_cores(wildcards))
