"""The worked examples of CONTRIBUTING.md: its edits, word for word, in a copy of the sources."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from padir.config.decoder import RefinementDecoder
from padir.config.evaluation import SCORERS
from padir.config.objective import Objective
from padir.config.read import merge
from padir.config.training import TrainingRun
from padir.report.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = {
    "system": ["config/systems.py"],
    "decoding policy": ["decode/policies.py", "tests/parity/plain_refine.py"],
    "corruption": ["training/corruption.py", "config/unread.py"],
    "table": ["report/lengths.py", "report/catalogue.py"],
    "metric": ["score/exact.py", "config/evaluation.py"],
}

# Trains with the system, corrupts, decodes with its own policy and the new one, rates, and writes
# the table.
SCRIPT = """
import json, os, runpy, sys
from pathlib import Path
import jax
import jax.numpy as jnp
import padir
from padir.cli import main
from padir.config.read import check_config
from padir.decode.refine import Prediction, refine
from padir.decode.refiner import Refiner, policies_of
from padir.files import read_lines, write_lines
from padir.model.parameters import from_arrays
from padir.training.corruption import first_hypothesis
from padir.training.loop import train
from padir.vocab import Vocabulary
from tests.training import tiny_spec, write_toy
from tests.unit.report.conftest import MadeUp

folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
os.chdir(folder)
config = check_config(settings)
text, vocabulary = write_toy(folder)
spec = tiny_spec(config.trainings["padir_masked"].system, 40)
assert spec.run.objective.corruption == "mask"
trained = train(spec, vocabulary, text, 0, folder / "work")
model = from_arrays(spec.run, 14, trained.arrays)
sources = Vocabulary.load(vocabulary).encode(read_lines(text.valid_source))
output = {"package": padir.__file__, "start": config.decoders["masked_padir"].start}
for name in ("masked_padir", "every_second"):
    decoder = config.decoders[name]
    tokens = {}
    for batch, rows in Refiner(model, spec.run, decoder, 14, 0).batches(sources, 3):
        tokens |= dict(zip(batch.indices, [candidates[0].tokens for candidates in rows]))
    output[name] = [tokens[index] for index in range(len(sources))]
objective = config.trainings["padir_spans"].objective
spans = [
    first_hypothesis(jax.random.key(seed), jnp.asarray([[9] * 6 + [1, 0]]), objective, 14).hidden
    for seed in range(40)
]
output["spans"] = [span[0].astype(int).tolist() for span in spans]
state = refine(
    lambda tokens, visible, keys: Prediction(
        jnp.full(tokens.shape, 9, jnp.int32), jnp.zeros(tokens.shape), jnp.ones(tokens.shape)
    ),
    jnp.full((1, 6), 8, jnp.int32),
    jnp.asarray([5], jnp.int32),
    jnp.int32(1),
    policies_of(decoder),
    jnp.zeros((1, 2), jnp.uint32),
)
output["inputs"], output["kept"] = state.inputs[0].tolist(), state.tokens[0].tolist()
twin = runpy.run_path(str(folder / "tests/parity/plain_refine.py"))["hidden_again"]
row = {"tokens": [9] * 4, "scores": [0.0] * 4, "pieces": [0, 1, 2, 3], "coupling": [0.0] * 4}
output["twin"] = sorted(twin(decoder, **row, done=1, passes=1, key=(0, 0)))

write_lines(folder / "hypotheses", ["a b", "c", "d", "e"])
write_lines(folder / "references", ["a b", "c", "x", "e"])
rate = ["rate", "--scorer", config.evaluation.scorers["exact"].kind, "--hypotheses", "hypotheses"]
assert main([*rate, "--references", "references", "--json", "rating.json"]) == 0
output["score"] = json.loads(Path("rating.json").read_text())["score"]

results = MadeUp()
Path("config.json").write_text(json.dumps(results.settings))
assert main(["report", "--config", "config.json", "--only", "lengths", "--out", "report"]) == 0
output["table"] = Path("report/tables/lengths.csv").read_text()
print(json.dumps(output))
"""


def section(title: str) -> str:
    """The text of `Adding a TITLE`."""
    return re.split(r"^## ", TEXT.partition(f"\n## Adding a {title}\n")[2], flags=re.MULTILINE)[0]


def blocks(text: str, language: str) -> list[str]:
    """Fenced blocks."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def apply(diff: str, root: Path) -> list[str]:
    """Make the edits of a diff and return the files that it touches.

    Lines without a sign say where; each place must be the only one. A file that does not exist is
    made.
    """
    edits_by_file = re.findall(r"^--- (\S+)\n(.*?)(?=^--- |\Z)", diff, re.MULTILINE | re.DOTALL)
    for name, edits in edits_by_file:
        path = root / name
        content = path.read_text(encoding="utf-8") if path.exists() else ""
        for edit in re.split(r"^@@\n", edits, flags=re.MULTILINE)[1:]:
            lines = edit.splitlines(keepends=True)
            assert all(line[0] in " +-" for line in lines if line.strip()), edit
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            assert old if content else not old, name
            found = content.count(old) if old else 1
            told = f"CONTRIBUTING.md shows lines that {name} has {found} times, once is needed"
            assert found == 1, f"{told}; change the page:\n{old}"
            content = content.replace(old, new) if old else new
        path.write_text(content, encoding="utf-8")
    return [name for name, _ in edits_by_file]


@pytest.mark.slow
def test_the_examples_touch_as_many_files_as_the_page_says_and_work(tmp_path):
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    twin = tmp_path / "tests/parity/plain_refine.py"
    twin.parent.mkdir(parents=True)
    shutil.copy(ROOT / "tests/parity/plain_refine.py", twin)
    settings = {"datasets": {"toy": {"source": {"kind": "synthetic"}, "directions": ["xs-xt"]}}}
    settings |= {"teachers": {"ar": {"kind": "model", "row": "ar/beam"}}}
    settings |= {"trainings": {"ar": {"system": "ar"}}}
    for title, expected in FILES.items():
        text = section(title)
        (diff,) = blocks(text, "diff")
        assert [name.removeprefix("src/padir/") for name in apply(diff, tmp_path)] == expected
        files = re.match(r"\s*(\d+) files?\.", text)
        assert files, f"{title}: the section begins with its number of files"
        assert int(files[1]) == len(set(expected))
        for block in blocks(text, "yaml"):
            settings = merge(settings, yaml.safe_load(block))
    # As `make lint` would, of the project's settings.
    ruff = [sys.executable, "-m", "ruff"]
    rules = ["--config", str(ROOT / "pyproject.toml"), str(tmp_path)]
    for words in (["check", *rules], ["format", "--check", *rules]):
        linted = subprocess.run([*ruff, *words], capture_output=True, text=True, check=False)
        assert linted.returncode == 0, linted.stdout + linted.stderr
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), json.dumps(settings)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout.splitlines()[-1])
    assert Path(output["package"]).is_relative_to(tmp_path)
    assert output["start"] == "mask"
    # The system's start token, 8 here, stands at every second position; the result has none.
    assert (output["inputs"], output["kept"]) == ([8, 9, 8, 9, 1, 0], [9, 9, 9, 9, 1, 0])
    assert output["twin"] == [0, 2]
    # Half of six pieces, at each of the four places.
    places = {tuple(int(place <= i < place + 3) for i in range(8)) for place in range(4)}
    assert {*map(tuple, output["spans"])} == places
    plain, changed = output["masked_padir"], output["every_second"]
    assert len(plain) == len(changed) == 20 and plain != changed
    for tokens, others in zip(plain, changed, strict=True):
        assert len(tokens) == len(others) >= 1 and min(*tokens, *others) >= 8
    assert output["score"] == 75.0
    table = output["table"].splitlines()
    assert len(table) == 1 + 8
    assert "200" in table[1] and "39.0" in table[1]


def test_the_examples_are_not_there_without_the_edits():
    with pytest.raises(ValidationError):
        TrainingRun(system="masked_padir")
    with pytest.raises(ValidationError):
        RefinementDecoder(remask="every_second")
    with pytest.raises(ValidationError):
        Objective(hiding="span")
    assert "exact" not in SCORERS
    assert "lengths" not in [part.name for part in CATALOGUE]


def words_to_avoid() -> list[str]:
    """Words of the glossary's last column, without those that have a note in brackets."""
    glossary = TEXT.split("## Glossary")[1].split("\n## ")[0]
    rows = re.findall(r"^\| [^|]+ \| .+ \| ?([^|]*) \|$", glossary, re.M)[2:]
    return [word for row in rows for word in row.split(", ") if word and "(" not in word]


def test_words_that_the_glossary_avoids_are_not_in_the_code():
    words = words_to_avoid()
    assert {"guess", "rescorer", "joint cost"} <= set(words)
    avoided = re.compile(rf"\b({'|'.join(map(re.escape, words))})s?\b", re.I)
    # Errors name what settings were called before.
    sources = {*(ROOT / "src").rglob("*.*"), *(ROOT / "rules").glob("*.smk")}
    sources |= {*(ROOT / "config").glob("*.*"), ROOT / "Snakefile"}
    sources -= {ROOT / "src/padir/config/errors.py"}
    kinds = {".py", ".smk", ".yaml", ".md", ".html", ".js", ".css", ""}
    for path in sorted(path for path in sources if path.suffix in kinds):
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert (avoided.findall(text), path) == ([], path)
