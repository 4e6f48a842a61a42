"""Joins text files in order: of each output the inputs of the same name.

Damaged parts are refused, in one line of the log, and a checksum of the whole is kept in its
provenance.
"""

import sys
from pathlib import Path

from padir.commands.distill import join
from padir.files import InputError

with Path(snakemake.log[0]).open("w", encoding="utf-8") as log:  # Snakemake defines it
    for name, output in snakemake.output.items():
        parts = snakemake.input[name]
        parts = [parts] if isinstance(parts, str) else parts
        try:
            join([Path(part) for part in parts], Path(output))
        except InputError as error:
            log.write(f"padir join: error: {error}\n")
            sys.exit(1)
