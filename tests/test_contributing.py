"""The worked examples of CONTRIBUTING.md: its edits, word for word, add a system and a policy."""

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

from padir.config.decoding import Decoding
from padir.config.training import TrainingRun

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

# Trains with the system, and decodes the same parameters with its own policy and with the new one.
SCRIPT = """
import json, sys
from pathlib import Path
import jax.numpy as jnp
import padir
from padir.config.training import TrainingRun
from padir.config.read import check_config
from padir.decode.refine import Prediction, refine
from padir.decode.refiner import Refiner, policies_of
from padir.files import read_lines
from padir.model.parameters import from_arrays
from padir.training.loop import train
from padir.vocab import Vocabulary
from tests.training import tiny_spec, write_toy
from tests.unit.config.small import SMALL

folder, entries = Path(sys.argv[1]), json.loads(sys.argv[2])
check_config({**SMALL, "models": {**SMALL["models"], **entries}})
text, vocabulary = write_toy(folder)
first, second = entries.values()
spec = tiny_spec(first["system"], 40)
trained = train(spec, vocabulary, text, 0, folder / "work")
sources = Vocabulary.load(vocabulary).encode(read_lines(text.valid_source))
found = {"package": padir.__file__, "start": spec.run.decoding.start}
for name, entry in entries.items():
    given = spec.run.model_dump()
    run = TrainingRun(**{**given, "decoding": {**given["decoding"], **entry.get("decoding", {})}})
    refiner = Refiner(from_arrays(run, 14, trained.arrays), run, 14, 0)
    tokens = {}
    for batch, several in refiner.batches(sources, 3):
        tokens |= dict(zip(batch.indices, [own[0].tokens for own in several]))
    found[name] = [tokens[index] for index in range(len(sources))]
state = refine(
    lambda tokens, visible, keys: Prediction(
        jnp.full(tokens.shape, 9, jnp.int32), jnp.zeros(tokens.shape), jnp.ones(tokens.shape)
    ),
    jnp.full((1, 6), 8, jnp.int32),
    jnp.asarray([5], jnp.int32),
    jnp.int32(1),
    policies_of(run.decoding),
    jnp.zeros((1, 2), jnp.uint32),
)
found["fed"], found["kept"] = state.fed[0].tolist(), state.tokens[0].tolist()
print(json.dumps(found))
"""


def blocks(language: str) -> list[str]:
    """Fenced blocks of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def apply(diff: str, root: Path) -> None:
    """Make the edits of a diff. Lines without a sign say where; each place must be the only one."""
    for name, edits in re.findall(r"^--- (\S+)\n(.*?)(?=^--- |\Z)", diff, re.MULTILINE | re.DOTALL):
        path = root / name
        content = path.read_text(encoding="utf-8")
        for edit in re.split(r"^@@\n", edits, flags=re.MULTILINE)[1:]:
            lines = edit.splitlines(keepends=True)
            assert all(line[0] in " +-" for line in lines), edit
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            assert content.count(old) == 1, f"{name}: {old}"
            content = content.replace(old, new)
        path.write_text(content, encoding="utf-8")


def test_the_system_and_the_policy_of_the_page_train_and_decode(tmp_path):
    entries = {name: one for block in blocks("yaml") for name, one in yaml.safe_load(block).items()}
    assert list(entries) == ["padir_masked", "padir_every_second"]
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    changed = "".join(blocks("diff"))
    apply(changed, tmp_path)
    files = re.findall(r"^--- src/padir/(\S+)", changed, re.MULTILINE)
    assert files == ["config/systems.py", "decode/policies.py", "config/decoding.py"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), json.dumps(entries)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert Path(found["package"]).is_relative_to(tmp_path)
    assert found["start"] == "mask"
    # The system's start token, 8 here, stands at every second position; the result has none.
    assert (found["fed"], found["kept"]) == ([8, 9, 8, 9, 1, 0], [9, 9, 9, 9, 1, 0])
    plain, other = found["padir_masked"], found["padir_every_second"]
    assert len(plain) == len(other) == 20 and plain != other
    for one, two in zip(plain, other, strict=True):
        assert len(one) == len(two) >= 1 and min(*one, *two) >= 8


def test_the_examples_are_not_there_without_the_edits():
    with pytest.raises(ValidationError):
        TrainingRun(system="masked_padir")
    with pytest.raises(ValidationError):
        Decoding(remask="every_second")
