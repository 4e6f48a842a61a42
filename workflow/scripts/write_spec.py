"""Write one job's settings, cut out of the config, as JSON.

In: params `settings`, plain JSON data. Out: output `spec`.
"""

from padir.files import write_json

write_json(snakemake.output.spec, snakemake.params.settings)  # Snakemake defines it
