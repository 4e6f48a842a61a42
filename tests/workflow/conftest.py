"""The workflow from outside: started as a user starts it, in a folder of its own."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from padir.report.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]

# Stands in for `padir` where only the order of jobs is looked at: writes the files of each verb.
STAND_IN = """\
#!{python} -S
import os, sys
verb, rest = sys.argv[1], sys.argv[2:]
def flag(name):
    return rest[rest.index(name) + 1]
def write(path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        spec = open(flag("--spec")).read() if "--spec" in rest else ""
        file.write(" ".join(sys.argv[1:]) + spec)
def write_with_provenance(path):
    write(path)
    with open(path + ".provenance.json", "w") as file:
        file.write("{}")
if verb == "fetch":
    write(flag("--grammar") if "--grammar" in rest else flag("--out") + "/provenance.json")
elif verb == "clean":
    folder = flag("--out")
    languages = os.path.basename(folder).split("-")
    for language in languages:
        for split in ("train", "valid", "test"):
            write(folder + "/" + split + "." + language)
        for split in ("valid", "test"):
            write(folder + "/" + split + ".references." + language + ".jsonl")
    for name in ("statistics.json", "README.md", "provenance.json"):
        write(folder + "/" + name)
elif verb == "extra-sources":
    path = flag("--out") + "/extra." + flag("--language")
    write_with_provenance(path)
    write(path + ".statistics.json")
elif verb == "train":
    bundle = ("/model.safetensors", "/spec.json", "/spm.model", "/README.md")
    for name in (*bundle, "/../metrics.jsonl", "/../provenance.json"):
        write(flag("--out") + name)
elif verb == "report":
    part, out = flag("--only"), flag("--out")
    outs = [out, out + "/core"] if "core" in rest else [out]
    if part in {figures}:
        names = ["/figures/%s.svg", "/figures/%s.csv"]
    elif part in ("claims", "page"):
        names = ["/claims.md", "/claims.json"] if part == "claims" else ["/index.html"]
    else:
        names = ["/tables/%s.csv", "/tables/%s.md", "/tables/%s.tex"]
    for out in outs:
        for name in names:
            write(out + name.replace("%s", part))
else:
    for name in ("--out", "--json"):
        if name in rest:
            write_with_provenance(flag(name))
    if "--text" in rest and verb != "vocab":
        write(flag("--text"))
"""

TINY = (ROOT / ".test/config/config.yaml").read_text()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A config that runs in a minute or two: one AR model, PaDIR on raw and distilled targets."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose `padir` writes files at once instead of computing."""
    folder = tmp_path_factory.mktemp("bin")
    script = STAND_IN.replace("{python}", sys.executable)
    figures = {part.name for part in CATALOGUE if part.kind == "figure"}
    script = script.replace("{figures}", repr(figures))
    (folder / "padir").write_text(script)
    (folder / "padir").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def run_snakemake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run snakemake on the project's Snakefile with results in a folder."""
    printed = tmp_path_factory.mktemp("printed")
    command = [sys.executable, "-P", str(ROOT / "tests/workflow/snakemake_server.py")]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as server:
        assert server.stdin is not None and server.stdout is not None

        def run(
            *arguments: str,
            folder: Path,
            env: dict[str, str] | None = None,
            cores: tuple[str, ...] = ("--cores", "2"),
        ):
            environment = dict(os.environ) if env is None else env
            # Read when Python starts: the server's own holds.
            assert environment.get("PYTHONPATH") == os.environ.get("PYTHONPATH")
            words = ["--snakefile", str(ROOT / "Snakefile"), *cores]
            words += ["--directory", str(folder), *arguments]
            streams = {name: str(printed / name) for name in ("stdout", "stderr")}
            request = {"arguments": words, "folder": str(folder), "environment": environment}
            server.stdin.write(json.dumps(request | streams) + "\n")
            code = int(server.stdout.readline())
            texts = {name: Path(path).read_text() for name, path in streams.items()}
            return subprocess.CompletedProcess(["snakemake", *words], code, **texts)

        yield run


@pytest.fixture
def snakemake(tmp_path: Path, run_snakemake: Run) -> Run:
    """Run snakemake with results in `folder` (default: a fresh one)."""

    def run(*arguments: str, folder: Path | None = None, **options):
        place = folder or tmp_path / "place"
        place.mkdir(parents=True, exist_ok=True)
        return run_snakemake(*arguments, folder=place, **options)

    return run


@pytest.fixture(scope="module")
def module_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `module_snakemake`."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def module_snakemake(module_place: Path, run_snakemake: Run) -> Callable[..., str]:
    """Run snakemake in one folder for all tests of a module, with a config given as JSON; what it
    prints."""
    folder = module_place

    def run(config: str, *arguments: str, env: dict[str, str] | None = None) -> str:
        path = folder / "config.yaml"
        path.write_text(config, encoding="utf-8")
        done = run_snakemake("--configfile", str(path), *arguments, folder=folder, env=env)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout + done.stderr

    return run


@pytest.fixture
def start_snakemake(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Start the same in a process group of its own, and do not wait for it."""

    def start(*arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        place = tmp_path / "place"
        place.mkdir(exist_ok=True)
        command = ["snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
        with (place / "started.log").open("ab") as log:
            return subprocess.Popen(
                [*command, "--directory", str(place), *arguments],
                cwd=place,
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    return start


def job_counts(output: str) -> dict[str, int]:
    """Jobs by rule: in the table that a dry run prints, or those that a run says it has finished;
    empty if there is nothing to do."""
    table = re.search(r"Job stats:\njob +count\n-+ +-+\n(.*?)\ntotal +\d+", output, re.DOTALL)
    if table is None:
        return Counter(re.findall(r"^\d+ of \d+: (\w+)", output, re.MULTILINE))
    rows = (line.split() for line in table[1].splitlines())
    return {name: int(count) for name, count in rows}
