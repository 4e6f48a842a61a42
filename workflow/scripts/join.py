"""Joins text files in order: of each output the inputs of the same name.

Damaged parts are refused, and a checksum of the whole is kept in its provenance.
"""

import sys
from pathlib import Path

from padir.commands.distill import join
from padir.files import InputError

for name, output in snakemake.output.items():  # Snakemake defines it
    parts = snakemake.input[name]
    try:
        join([Path(part) for part in ([parts] if isinstance(parts, str) else parts)], Path(output))
    except InputError as error:
        sys.exit(f"padir: error: {error}")
