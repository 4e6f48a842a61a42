"""Hostile names, values and text: nothing runs, nothing is written elsewhere, errors are lines."""

import copy
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from padir import cli
from padir.config.read import check_config, load_config
from padir.files import InputError
from padir.planning.machine import Machine
from tests.decoding import write_tiny_bundle
from tests.hostile import CANARY, NAMES, TEXT, contents, outside, watched
from tests.training import tiny_spec, train_arguments, write_toy
from tests.unit.config.small import SMALL

pytestmark = pytest.mark.slow

COMPUTING = (
    *("translate", "decode", "trace", "tune", "distill", "sample", "train", "latency", "analyse"),
)
"""Verbs that set JAX up."""
FOUND = ("ok   ", "note ", "fix  ", "ready", *(f"{count} to " for count in range(10)))
"""Beginnings of what a doctor says."""
MACHINE = Machine(2, 2**33, "cpu", 0, 10.0)
LINES = st.lists(TEXT, min_size=1, max_size=4)


def examples(count: int) -> settings:
    """So many examples, however long each takes."""
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    return settings(max_examples=count, deadline=None, derandomize=True, suppress_health_check=slow)


def paths_of(value: Any, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values and groups in a config."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*before, key)
        if isinstance(inner, dict | list):
            yield from paths_of(inner, (*before, key))


CLOUD = {"kind": "cloud", "project": "p", "location": "global", "ledger": "l", "endpoint": None}
WHOLE: dict[str, Any] = copy.deepcopy(SMALL) | {
    "decoders": {"mine": {"kind": "padir", "reranker": "ar"}},
    "evaluation": {
        "core": [{"trainings": ["padir"], "decoders": ["padir"], "passes": [1]}],
        "baseline": "ar/beam",
        "scorers": {"bleurt": {"kind": "bleurt", "checkpoint": "BLEURT-20"}},
    },
}
WHOLE["teachers"] |= {"paid": CLOUD, "ready": {"kind": "files", "train": "x", "valid": "y"}}
WHOLE["datasets"]["tfds"] = {
    "source": {"kind": "tfds", "name": "wmt14_translate/de-en", "data_dir": "d"},
    "directions": ["de-en"],
}
WHOLE["datasets"]["real"]["source"]["train"] = {
    "files": {"de": {"url": "https://example.test/x", "sha256": "a" * 64}, "en": "x.en"}
}
PATHS = sorted(paths_of(WHOLE), key=str)


def at(config: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        config = config[key]
    return config


def lines_of(message: str) -> None:
    """An error for people: lines that a terminal shows as they are."""
    assert message and all(line.isprintable() for line in message.split("\n")), message


@contextmanager
def place() -> Iterator[Path]:
    """A folder with `cwd`, where a command runs, and `given`; nothing but `cwd/out` may change."""
    before = Path.cwd()
    with TemporaryDirectory(prefix="hostile") as name:
        root = Path(name).resolve()
        for folder in ("given", "cwd"):
            (root / folder).mkdir()
        os.chdir(root / "cwd")
        try:
            yield root
        finally:
            os.chdir(before)


@examples(300)
@given(path=st.sampled_from(PATHS), text=TEXT, as_key=st.booleans(), as_file=st.booleans())
def test_a_config_with_hostile_names_and_values_is_read_or_refused_in_lines(
    path, text, as_key, as_file
):
    config = copy.deepcopy(WHOLE)
    holder = at(config, path[:-1])
    if as_key and isinstance(holder, dict):
        holder[text] = holder.pop(path[-1])
    else:
        holder[path[-1]] = text
    with place() as root, watched() as watch:
        file = root / "given/config.yaml"
        if as_file:
            with suppress_watch(watch):
                file.write_text(yaml.safe_dump(config), encoding="utf-8", errors="surrogatepass")
        before = contents(root)
        try:
            read = load_config([file]) if as_file else check_config(config)
        except InputError as error:
            lines_of(str(error))
        else:
            # Names that become parts of paths, and paths that become words of commands.
            for names in (read.datasets, read.teachers, read.trainings, read.decoders):
                assert all(name.isidentifier() and name.isascii() for name in names)
            read.model_dump_json()
        assert contents(root) == before
    assert not watch.started and not outside(watch)


@contextmanager
def suppress_watch(watch) -> Iterator[None]:
    """What the test itself writes."""
    before = set(watch.written)
    yield
    watch.written = before


@contextmanager
def patched(names: Iterable[str]) -> Iterator[None]:
    """Functions that do nothing meanwhile."""
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(mock.patch(name))
        yield


def run(root: Path, *words: str, stdin: str = "") -> tuple[int, str]:
    """A verb in this process; its status and its stderr. Changes only `cwd/out`, and `init` also
    `cwd/data`, where it puts sentences held out from the text.

    Status 1 is that of a doctor who has found something, which he says on stdout.
    """
    asked = [root / "cwd/out", *([root / "cwd/data"] if words[0] == "init" else [])]
    before = besides(root, asked)
    err = io.StringIO()
    streams = SimpleNamespace(buffer=io.BytesIO(stdin.encode("utf-8", "surrogatepass")))
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    with (
        watched() as watch,
        redirect_stderr(err),
        mock.patch.object(sys, "stdin", streams),
        # Of a process's start, when JAX has computed nothing.
        mock.patch("padir.launch.prepare"),
        patched(f"padir.commands.{verb}.prepare" for verb in COMPUTING),
        mock.patch("padir.planning.machine.measure", lambda: MACHINE),
        mock.patch.object(sys, "stdout", out),
    ):
        try:
            status = cli.main(list(words))
        except SystemExit as end:
            # The words that argparse refuses.
            status = int(end.code or 0)
    assert not watch.started
    assert outside(watch, *asked) == []
    assert besides(root, asked) == before
    assert not any(Path(path).name == CANARY for path in contents(root))
    assert status in ((0, 1, 2) if words[0] == "doctor" else (0, 2)), err.getvalue()
    if words[0] == "doctor" and status != 2:
        out.seek(0)
        for line in out.read().split("\n")[:-1]:
            assert line.isprintable() and line[:5] in FOUND, line
    # One line, or one of each wrong key of a file of settings; argparse shows the usage before.
    lines = err.getvalue().split("\n")[:-1]
    errors = [line for line in lines if line.startswith(f"padir {words[0]}: error: ")]
    assert bool(errors) == (status == 2), err.getvalue()
    assert len(errors) <= 1 or all(".json: " in line for line in errors), err.getvalue()
    for line in lines:
        allowed = line in errors or line.startswith(("usage: ", "  ")) or is_note(line)
        assert allowed and line.isprintable(), err.getvalue()
    return status, err.getvalue()


def besides(root: Path, asked: list[Path]) -> dict[str, bytes]:
    """What lies there, without the folders that are asked for."""
    return {
        path: what
        for path, what in contents(root).items()
        if not any(Path(path).is_relative_to(folder) for folder in asked)
    }


def is_note(line: str) -> bool:
    """Whether a line of stderr is no error: a warning, a note, or progress."""
    progress = re.match(r"[\w:. ]+: [\d,]+/[\d,]+ (pairs|sentences|steps) in [\d:]+", line)
    ends = "which was removed", "all that this model reads", "training leaves their pairs out"
    ends += (
        "its translation may stop short",
        "and not timed",
        "and not analysed",
        "(training.buckets) and are left out",
    )
    cleaned = re.match(
        r"padir clean: \S+: (dropped [\d,]+ of|removed a (carriage return|byte order mark))", line
    )
    unknown = "vocabulary cannot spell" in line or "tokens that this model has learnt" in line
    return bool(progress or cleaned or unknown) or ": warning: " in line or line.endswith(ends)


def file_of(lines: list[str], path: Path) -> Path:
    path.write_bytes("".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass"))
    return path


@examples(60)
@given(names=st.lists(NAMES, min_size=2, max_size=2, unique=True), lines=LINES, out=NAMES)
def test_hostile_files_are_fetched_and_cleaned_or_refused_in_one_line(names, lines, out):
    with place() as root:
        given = root / "given"
        files = {}
        for name, language in zip(names, ("de", "en"), strict=True):
            files[language] = file_of(lines, given / name).name
        source = {"kind": "files", "folder": os.fspath(given)}
        source |= {split: {"files": files} for split in ("train", "valid", "test")}
        dataset = {
            "source": source,
            "directions": ["de-en"],
            "cleaning": {"drop_overlap": False, "max_ratio": 1000, "max_bytes": 20_000},
        }
        spec = given / "dataset.json"
        spec.write_text(json.dumps(dataset))
        place_of = f"out/{out}"
        status, _ = run(root, "fetch", "--config-dataset", str(spec), "--out", f"{place_of}/raw")
        if status == 0:
            words = ("--config-dataset", str(spec), "--raw", f"{place_of}/raw")
            run(root, "clean", *words, "--out", f"{place_of}/data", "--threads", "1")
        size = given / "vocabulary.json"
        size.write_text(json.dumps({"kind": "word", "size": 60}))
        texts = [os.fspath(given / name) for name in names]
        words = ("--settings", str(size), "--text", *texts)
        run(root, "vocab", *words, "--out", f"{place_of}/spm.model")


@examples(40)
@given(text=TEXT)
def test_hostile_settings_of_a_source_are_refused_in_one_line(text):
    with place() as root:
        spec = root / "given/dataset.json"
        for source in (
            {"kind": "files", "folder": text},
            {"kind": text},
            {"kind": "tfds", "name": text},
            {"kind": "tfds", "name": "wmt14_translate/de-en", "train": text, "data_dir": "none"},
            {"kind": "files", "train": {"files": {"de": {"url": text, "sha256": "a" * 64}}}},
            {
                "kind": "files",
                **{
                    split: {
                        "files": {
                            "de": {"url": f"file:///nowhere/{text}", "sha256": "a" * 64},
                            "en": text,
                        }
                    }
                    for split in ("train", "valid", "test")
                },
            },
        ):
            spec.write_text(json.dumps({"source": source, "directions": ["de-en"]}))
            status, _ = run(root, "fetch", "--config-dataset", str(spec), "--out", "out")
            assert status == 2


@examples(40)
@given(names=st.lists(NAMES, min_size=2, max_size=2, unique=True), lines=LINES, word=TEXT)
@example(names=["a", "b"], lines=["a"], word="\ud800")
def test_hostile_files_are_scored_or_refused_in_one_line(names, lines, word):
    with place() as root:
        paths = [os.fspath(file_of(lines, root / "given" / name)) for name in names]
        words = ("--hypotheses", paths[0], "--references", paths[1])
        language = ("--target-language", "en", "--samples", "40")
        run(root, "score", *words, *language, "--json", "out/score.json")
        run(root, "score", *words, "--target-language", word.replace("\0", ""))
        run(root, "score", *words, *language, "--digests", word)


@examples(40)
@given(folder=NAMES, lines=LINES, name=TEXT)
def test_a_hostile_folder_becomes_a_config_or_is_refused_in_one_line(folder, lines, name):
    with place() as root:
        given = root / "given" / folder
        given.mkdir()
        many = [f"{line} {number}" for number in range(220) for line in lines]
        for ending in ("de", "en"):
            file_of(many, given / f"train.{ending}")
        out = ("--out", "out/config.yaml", "--size", "tiny")
        run(root, "init", os.fspath(given), *out, "--name", name.replace("\0", ""))
        run(root, "init", os.fspath(given / name.replace("\0", "")), *out)
        for held_out in Path("data").glob("*"):
            assert held_out.name.isidentifier() and held_out.name.isascii()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Callable[[str], Path]:
    model = write_tiny_bundle(tmp_path_factory.mktemp("models") / "ar", "ar")

    def named(name: str) -> Path:
        link = model.parent / name
        if not link.is_symlink():
            link.symlink_to(model, target_is_directory=True)
        return link

    return named


@examples(10)
@given(name=NAMES, lines=LINES, word=TEXT)
def test_hostile_lines_are_translated_or_refused_in_one_line(bundle, name, lines, word):
    model = os.fspath(bundle(f"model {name}"))
    text = "".join(line + "\n" for line in lines)
    with place() as root:
        run(root, "translate", "--model", model, stdin=text)
        run(root, "translate", "--model", model, "--decoder", word.replace("\0", ""))
        run(root, "translate", "--model", f"out/{word}".replace("\0", ""))


@examples(8)
@given(name=NAMES, lines=LINES, out=NAMES, word=TEXT)
def test_hostile_files_are_decoded_and_scored_or_refused_in_one_line(
    bundle, name, lines, out, word
):
    word = word.replace("\0", "")
    with place() as root:
        source = os.fspath(file_of(lines, root / "given" / name))
        given_to_all = ("--bundle", os.fspath(bundle("model")), "--source", source)
        texts = ("--out", f"out/{out}.jsonl", "--text", f"out/{out}.txt")
        status, _ = run(root, "decode", *given_to_all, *texts)
        if status == 0:
            hypotheses = ("--hypotheses", f"out/{out}.txt", "--decode", f"out/{out}.jsonl")
            labels = ("--provenance", f"out/{out}.jsonl.provenance.json", "--samples", "40")
            words = (*hypotheses, "--references", source, "--target-language", "en", *labels)
            assert run(root, "score", *words)[0] == 0
        run(root, "trace", *given_to_all, "--rows", "greedy", "--out", f"out/{out}.trace")
        run(root, "decode", *given_to_all, *texts, f"--decoder={word}")
        run(root, "decode", *given_to_all, *texts, f"--digests={word}")
        references = ("--references", source, "--out", f"out/{out}.json")
        run(root, "tune", *given_to_all, "--decoder", "greedy", *references)
        run(root, "distill", *given_to_all, "--decoder", "greedy", "--out", f"out/{out}.distilled")
        run(root, "sample", *given_to_all, "--steps", "2", "--out", f"out/{out}.chains")


@examples(8)
@given(name=NAMES, lines=LINES, word=TEXT, key=st.sampled_from(["system", "steps", "dataset"]))
def test_hostile_text_and_settings_are_trained_on_or_refused_in_one_line(name, lines, word, key):
    spec = tiny_spec("ar", steps=3)
    with place() as root:
        given = root / "given"
        text, _ = write_toy(given)
        words = train_arguments(given, spec)
        # Hostile lines beside good ones: a pair each.
        good = Path(text.train_source).read_text().splitlines()
        many = file_of([*good, *lines], given / name)
        at = words.index(os.fspath(text.train_source))
        words[at] = words[words.index(os.fspath(text.train_target))] = os.fspath(many)
        outs = {os.fspath(given / part): f"out/{part}" for part in ("bundle", "work")}
        words = [outs.get(each, each) for each in words]
        run(root, "train", *words)
        settings_of = json.loads((given / "spec.json").read_text())
        holder = settings_of if key == "dataset" else settings_of["run"]
        (holder["training"] if key == "steps" else holder)[key] = word
        (given / "spec.json").write_text(json.dumps(settings_of))
        is_name = key == "dataset" and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", word)
        status, _ = run(root, "train", *words)
        assert is_name or status == 2
