"""Provenance of a file: command, code, inputs, seed, packages and devices.

An output folder gets `provenance.json`; a single output file F gets `F.provenance.json`.
"""

import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from padir.files import digest, sha256_file, write_json

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
        try:
            process = subprocess.run(
                ["git", "-C", str(folder or Path(__file__).parent), *arguments],
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


def devices() -> list[str]:
    """Kinds of the devices that JAX sees; empty while JAX is not loaded, so as not to load it."""
    jax = sys.modules.get("jax")
    return [] if jax is None else [str(device.device_kind) for device in jax.devices()]


def write_provenance(
    output: Path,
    argv: Iterable[str],
    *,
    inputs: Iterable[Path] = (),
    spec: Mapping[str, object] | None = None,
    seed: int | None = None,
    notes: Mapping[str, object] | None = None,
) -> Path:
    """Write the provenance of `output` beside it.

    Args:
        output: the written folder or file.
        argv: the command line, verb first.
        inputs: input files; each is listed with its SHA-256.
        spec: settings; their digest is recorded.
        seed: random seed of the run, if it has one.
        notes: further facts about the output, by key.

    Returns:
        The path of the file written.
    """
    output = Path(output)
    beside = output.with_name(output.name + ".provenance.json")
    path = output / "provenance.json" if output.is_dir() else beside
    write_json(
        path,
        {
            "command": ["padir", *argv],
            "git": git_state(),
            "spec": None if spec is None else digest(spec),
            "inputs": {str(file): sha256_file(file) for file in inputs},
            "seed": seed,
            "packages": {name: package_version(name) for name in PACKAGES},
            "devices": devices(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            **({} if notes is None else {"notes": dict(notes)}),
        },
    )
    return path
