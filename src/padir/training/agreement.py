"""Checks that the processes of one training train the same model.

Each reads its own files and options; the first alone compares them with the work folder.
"""

from collections.abc import Mapping

from padir.devices import gathered
from padir.files import InputError, digest


def check_agreement(identity: Mapping[str, object]) -> None:
    """Compare what the processes train; a collective call of all of them.

    Args:
        identity: of this process: digests of spec, data and seed by name.

    Raises:
        InputError: on every process, where one has another identity than the first; names the keys.
    """
    # Only some processes may have a warm start; all must send the same keys.
    named = {"warm_start": None} | dict(identity)
    rows = gathered([bytes.fromhex(digest({"value": named[key]})) for key in sorted(named)])
    for process, row in enumerate(rows):
        pairs = zip(sorted(named), rows[0], row, strict=True)
        differing = [key for key, first, other in pairs if first != other]
        if differing:
            raise InputError(
                f"--distributed: {', '.join(differing)} of process {process} differs from that of"
                " process 0; start all processes with the same --seed, and with the same spec,"
                " vocabulary and text"
            )
