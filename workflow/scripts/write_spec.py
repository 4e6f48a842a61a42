"""Write one job's settings, cut out of the config, as JSON with a checksum.

In: params `settings`, plain JSON data. Out: output `spec`.
"""

from padir.checksums import write_with_checksum

write_with_checksum(snakemake.output.spec, snakemake.params.settings)  # Snakemake defines it
