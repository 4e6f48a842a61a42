"""Provenance of a file: command, code, inputs, seed, packages and devices.

An output folder gets `provenance.json`; a single output file F gets `F.provenance.json`.
"""

import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from padir.checksums import read_with_checksum, rerun_remedy, write_with_checksum
from padir.files import InputError, digest, is_device, sha256_file, shown

PACKAGES = ("padir", "jax", "jaxlib", "flax", "optax", "numpy", "sentencepiece", "sacrebleu")


def package_version(name: str) -> str:
    """Version of an installed package, or "absent"."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def git_state(folder: Path | None = None) -> dict[str, object]:
    """Commit of the source tree and whether tracked files differ from it; None where unknown.

    Args:
        folder: any folder of the tree; that of this package by default.
    """

    def git(*arguments: str) -> str | None:
        # `status` would lock the index for a moment, and refuse what the user commits then.
        try:
            process = subprocess.run(
                [
                    "git",
                    "--no-optional-locks",
                    "-C",
                    str(folder or Path(__file__).parent),
                    *arguments,
                ],
                capture_output=True,
                text=True,
                check=True,
                timeout=10,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return process.stdout.strip()

    commit = git("rev-parse", "HEAD")
    status = git("status", "--porcelain", "--untracked-files=no") if commit else None
    return {"commit": commit, "dirty": None if status is None else bool(status)}


CODE = git_state()
"""Commit of this code, taken when it is loaded: the tree may change while a long command runs."""


def devices() -> list[str]:
    """Kinds of the devices that JAX sees; empty while JAX is not loaded, so as not to load it."""
    jax = sys.modules.get("jax")
    return [] if jax is None else [str(device.device_kind) for device in jax.devices()]


def checked_digests(
    expected: Mapping[str, str], carried: Mapping[str, str], path: str | Path
) -> None:
    """Refuse an input that was made with other settings than those of the config.

    Args:
        expected: digests of the config, by stage; empty checks nothing.
        carried: digests of the input. Stages that only one of the two has are not compared.
        path: of the input, which is the Snakemake target that makes it anew.

    Raises:
        InputError: naming the first stage whose digests differ.
    """
    for stage, wanted in expected.items():
        actual = carried.get(stage, wanted)
        if actual != wanted:
            verb = "trained" if stage == "training" else "made"
            raise InputError(
                f"{shown(path)}: was {verb} with other settings ({stage} {actual}, the config has"
                f" {wanted}): {rerun_remedy(path)}"
            )


def write_provenance(
    output: Path,
    argv: Iterable[str],
    *,
    inputs: Iterable[Path] | Mapping[Path, str] = (),
    outputs: Iterable[Path] = (),
    spec: Mapping[str, object] | None = None,
    seed: int | None = None,
    notes: Mapping[str, object] | None = None,
    labels: Mapping[str, object] | None = None,
    digests: Mapping[str, str] | None = None,
) -> Path:
    """Write the provenance of `output` beside it.

    Args:
        output: the written folder or file.
        argv: the command line, verb first.
        inputs: files that were read; each is listed with its SHA-256, which is taken now if it is
            not given: a file may change between its reading and the end of a long command.
        outputs: further files that the command wrote. `checked_output` verifies them, and
            `output` if it is a file, by the SHA-256 that is kept under their names.
        spec: the settings that were used; their digest is kept.
        seed: the run's seed, if it has one.
        notes: what else there is to say of the output, by key.
        labels: which training, decoder and data the output is of.
        digests: of the settings that it depends on, by stage.

    Returns:
        The path of the file written; nothing is written beside a device or a pipe.
    """
    output = Path(output)
    path = output / "provenance.json" if output.is_dir() else provenance_of(output)
    if is_device(output):
        return path
    if not isinstance(inputs, Mapping):
        inputs = {file: sha256_file(file) for file in inputs}
    written = [*([output] if output.is_file() else []), *outputs]
    content = {
        "command": ["padir", *argv],
        "git": CODE,
        "spec": None if spec is None else digest(spec),
        "inputs": {str(file): sha256 for file, sha256 in inputs.items()},
        "outputs": {file.name: sha256_file(file) for file in written if not is_device(file)},
        "seed": seed,
        "packages": {name: package_version(name) for name in PACKAGES},
        "devices": devices(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{
            key: dict(value)
            for key, value in (("notes", notes), ("labels", labels), ("digests", digests))
            if value is not None
        },
    }
    write_with_checksum(path, content)
    return path


def read_provenance(path: Path) -> Any:
    """What `write_provenance` wrote; its own checksum is left out.

    Raises:
        InputError: it is missing, no JSON, damaged or edited.
    """
    return read_with_checksum(path, "run again what wrote it")


def checked_output(path: Path, provenance: Mapping[str, Any], otherwise: str) -> None:
    """Refuse a file that is not as the command wrote it: damaged, or edited.

    Args:
        path: of the file, which is the Snakemake target that makes it anew.
        provenance: what was written beside it; without a checksum of the file nothing is compared.
        otherwise: how to use the file as it is, for the message.

    Raises:
        InputError: its SHA-256 differs.
    """
    outputs = provenance.get("outputs")
    recorded = outputs.get(path.name) if isinstance(outputs, dict) else None
    if recorded is not None and sha256_file(path) != recorded:
        raise InputError(
            f"{shown(path)}: damaged or edited: its SHA-256 is not the one in its provenance:"
            f" {rerun_remedy(path)}, or {otherwise}"
        )


def check_written(*paths: Path) -> None:
    """Refuse text that differs from what a command wrote, by the provenance beside each file.

    Text without provenance, such as a user's own, is not checked.

    Raises:
        InputError: naming the first file that was damaged or edited, or a damaged provenance.
    """
    for path in paths:
        beside = provenance_of(path)
        if beside.is_file() and path.is_file():
            written = read_provenance(beside)
            otherwise = f"delete {shown(beside)} to use it as it is"
            checked_output(path, written if isinstance(written, dict) else {}, otherwise)


def is_whole(folder: Path) -> bool:
    """Whether a folder holds its provenance and every file that this names."""
    try:
        outputs = read_provenance(folder / "provenance.json")["outputs"]
        return all((folder / name).is_file() for name in outputs)
    except (InputError, KeyError, TypeError):
        return False


def provenance_of(output: Path) -> Path:
    """Where the provenance of a file stands."""
    # `with_name` refuses paths without a name, such as ".".
    return output.parent / f"{output.name}.provenance.json"


def was_written_by(output: Path, argv: Iterable[str]) -> bool:
    """Whether this command wrote a file from the present inputs, by the file's provenance.

    Args:
        output: the file.
        argv: the command line, verb first.
    """
    try:
        record = read_provenance(provenance_of(output))
        inputs = record["inputs"].items()
        return (
            output.is_file()
            and record["command"] == ["padir", *argv]
            and all(sha256_file(Path(file)) == recorded for file, recorded in inputs)
        )
    except (InputError, KeyError, TypeError, AttributeError):
        return False
