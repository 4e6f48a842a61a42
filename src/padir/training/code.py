"""A note where a training resumes with other code than that of its steps before.

Digests know settings, not code: steps of two versions of the code would pass for one training.
"""

import sys
from contextlib import suppress
from importlib import metadata
from typing import Any

from padir.checksums import write_with_checksum
from padir.files import sha256_file, shown
from padir.imports import PACKAGE, source_files
from padir.training.checkpoints import WorkFolder
from padir.training.storage import DamagedRecord, read_record

LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy")
"""Whose versions may change what a step computes."""


def note_changed_code(work: WorkFolder, step: int, total: int, label: str) -> list[int]:
    """Compare the code with that of the steps before, and record it in the work folder.

    Args:
        work: of the run.
        step: from which the run resumes; 0 where it begins.
        total: steps of the whole run; where none is left no code trains.
        label: names the run in the note.

    Returns:
        The steps, up to this one, at which code changed; empty in all processes but the first.

    Raises:
        InputError: the record cannot be read now, or not be written.
    """
    if not work.first:
        return []
    path = work.folder / "code.json"
    starts: list[Any] = []
    # It decides no result: where it is damaged, only the comparison is lost.
    with suppress(DamagedRecord):
        starts = read_record(path)["starts"] if path.exists() else []
    # Code that started at this step or later has trained nothing of what is resumed.
    starts = [[at, code] for at, code in starts if at < step]
    if step == total:
        return [at for at, _ in starts[1:]]
    sources = source_files("padir.training.loop")
    code = {str(file.relative_to(PACKAGE)): sha256_file(file) for file in sources}
    code |= {library: metadata.version(library) for library in LIBRARIES}
    before = starts[-1][1] if starts else code
    changed = sorted(name for name in before | code if before.get(name) != code.get(name))
    if changed:
        named = ", ".join(changed[:3])
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        print(
            f"{label}: warning: resumes at step {step} with other code than before: {named}{more};"
            f" to train all steps by the present code, delete {shown(work.folder)}",
            file=sys.stderr,
        )
    if changed or not starts:
        starts.append([step, code])
    write_with_checksum(path, {"starts": starts})
    return [at for at, _ in starts[1:]]
