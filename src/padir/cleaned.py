"""Cleaned text is what `padir clean` wrote: its statistics hold the checksum of every file."""

from pathlib import Path

from padir.checksums import ChecksumMismatch, read_with_checksum, rerun_remedy
from padir.files import InputError, sha256_file, shown

STATISTICS_FILE = "statistics.json"


def check_cleaned(*paths: Path) -> None:
    """Refuse cleaned text that was changed or damaged since it was cleaned.

    Text beside which no statistics name it is not cleaned text, and not checked.

    Args:
        paths: of text that is about to be read.

    Raises:
        InputError: naming the first file that is not as it was written.
    """
    for path in paths:
        recorded = _checksums(path.parent / STATISTICS_FILE).get(path.name)
        if recorded is not None and path.is_file() and sha256_file(path) != recorded:
            raise InputError(
                f"{shown(path)}: is not what padir clean wrote: its SHA-256 is not that in"
                f" {STATISTICS_FILE}; delete it and clean again"
            )


def _checksums(statistics: Path) -> dict[str, str]:
    """Checksums of the cleaned files of a folder; none for statistics of other things.

    Raises:
        ChecksumMismatch: the statistics were damaged or edited.
    """
    try:
        content = read_with_checksum(statistics, rerun_remedy(statistics))
        files = [file for split in content["splits"].values() for file in split["files"]]
        # Text that an earlier version cleaned has no checksums of references.
        return content.get("references", {}) | {file["file"]: file["sha256"] for file in files}
    except ChecksumMismatch:
        raise
    except (InputError, KeyError, TypeError, AttributeError):
        return {}
