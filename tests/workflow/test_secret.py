"""Secrets of the environment stand in no file that a whole run leaves, and in nothing it prints."""

import base64
import os
import zlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SECRET = "canary5b1f7c0e9dQz"
NAMES = (
    *("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"),
    *("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "PADIR_TOKEN"),
    *("SLURM_JWT", "KUBECONFIG", "NETRC", "UNHEARD_OF_7Q"),
)


def leaks(folder: Path, secret: str) -> list[str]:
    """Files whose name or bytes hold a secret: as it is, encoded, or packed."""
    plain = secret.encode()
    # In base64 a text looks different at each of three offsets; the middle is the same.
    coded = [base64.b64encode(b"x" * start + plain)[4:-4] for start in range(3)]
    forms = [plain, plain[::-1], plain.hex().encode(), plain.decode().encode("utf-16-le"), *coded]
    paths = []
    for path in folder.rglob("*"):
        held = os.readlink(path).encode() if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            held = path.read_bytes()
        if any(form in text for form in forms for text in (held, unpacked(held), bytes(path))):
            paths.append(os.fspath(path))
    return paths


def unpacked(held: bytes) -> bytes:
    """What a packed file holds."""
    for kind in (zlib.MAX_WBITS | 16, zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(kind).decompress(held)
        except zlib.error:
            continue
    return b""


def test_a_leak_would_be_found(tmp_path):
    (tmp_path / "coded").write_bytes(b"ab" + base64.b64encode(f"1{SECRET}2".encode()))
    (tmp_path / "packed").write_bytes(zlib.compress(SECRET.encode()))
    (tmp_path / "plain").write_text(f"KEY={SECRET}")
    (tmp_path / "link").symlink_to(f"/{SECRET}")
    (tmp_path / f"name {SECRET}").touch()
    (tmp_path / "clean").write_text("nothing")
    assert len(leaks(tmp_path, SECRET)) == 5


def test_no_secret_of_the_environment_stays_anywhere(snakemake, tiny, tmp_path):
    place = tmp_path / "place"
    secrets = {name: f"/{SECRET}/{name}" for name in NAMES}
    arguments = ("--configfile", str(tiny))
    environment = {**os.environ, **secrets}
    run = snakemake(*arguments, "--", "core", folder=place, env=environment)
    assert run.returncode == 0, run.stderr[-2000:]
    report = snakemake(
        *arguments, "--report", "report.html", "--", "core", folder=place, env=environment
    )
    assert report.returncode == 0, report.stderr[-2000:]
    # A job that fails shows what it was given.
    (place / "results/runs/toy/xs-xt/raw/seed0/decode/test.padir.T1.jsonl").unlink()
    model = place / "results/runs/toy/xs-xt/raw/seed0/bundle/spec.json"
    model.write_text(model.read_text().replace("{", "[", 1))
    failed = snakemake(*arguments, "--", "table1", folder=place, env=environment)
    assert failed.returncode != 0
    kept = {path.suffix for path in place.rglob("*") if path.is_file()}
    assert {".log", ".json", ".html", ".safetensors", ".tsv", ".md"} <= kept
    assert (place / ".snakemake/log").is_dir() and (place / "report.html").is_file()
    assert leaks(place, SECRET) == []
    printed = "".join(done.stdout + done.stderr for done in (run, report, failed))
    assert SECRET not in printed
    assert sorted(item.name for item in tmp_path.iterdir()) == ["place", "tiny.yaml"]
