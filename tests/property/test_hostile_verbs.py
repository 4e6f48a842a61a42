"""Hostile words in each option of the verbs that take names and paths, one option at a time; files
of hostile names and content for those that measure and report."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import example, given

from padir import cli, layout
from padir.config.read import check_config
from tests.decoding import LINES as SENTENCES
from tests.decoding import write_tiny_bundle
from tests.hostile import NAMES, TEXT
from tests.property.test_hostile_input import LINES, examples, file_of, place, run
from tests.unit.config.small import changed

HOLE = "{hostile}"
EXTRA = ("--train", "TEXT", "--valid", "TEXT", "--test", "TEXT", "--out", "out")
BOUGHT = ("--target-language", "en", "--out", "out/x", "--ledger", "out/ledger")
CARD = ("--teacher", "ar", "--row", "ar/beam", "--train", "TEXT", "--train-reference", "TEXT")
CARD += ("--valid", "TEXT", "--valid-references", "TEXT", "--target-language", "en")
TIMED = ("--source", "TEXT", "--out", "out/x")
ANALYSED = ("--bundle", "MODEL", "--source", "TEXT", "--references", "TEXT", "--out", "out/x")
# Verb -> command lines; `{hostile}` stands for the text, MODEL, TEXT and SPEC for files that exist.
COMMANDS = {
    "launch": [
        ["--engine", HOLE, "--handle", "out/handle", "--", "padir", "train"],
        ["--handle", f"out/x{HOLE}", "--cancel"],
        ["--handle", f"out/x{HOLE}", "--forget"],
        ["--handle", "out/handle", "--engine", "kubernetes", "--manifest", HOLE, "--", "padir"],
    ],
    "export": [
        ["--model", HOLE, "--hub", "out/hub", "--license", "mit"],
        ["--model", "MODEL", "--hub", "out/hub", f"--license={HOLE}"],
        ["--model", "MODEL", "--hub", f"out/x{HOLE}", "--license", "mit"],
    ],
    "rate": [
        ["--scorer", HOLE, "--hypotheses", "TEXT", "--references", "TEXT"],
        ["--scorer", "chrf++", "--hypotheses", HOLE, "--references", "TEXT"],
        ["--scorer", "chrf++", "--hypotheses", "TEXT", "--references", HOLE],
        [
            "--scorer",
            "bleurt",
            "--hypotheses",
            "TEXT",
            "--references",
            "TEXT",
            f"--checkpoint={HOLE}",
        ],
    ],
    "report": [
        ["--config", HOLE, "--out", "out"],
        ["--config", "SPEC", "--out", "out", f"--only={HOLE}"],
    ],
    "serve": [
        ["--model", HOLE],
        ["--model", HOLE, "--host", HOLE],
        ["--model", HOLE, f"--port={HOLE}"],
    ],
    "extra-sources": [
        ["--config-dataset", HOLE, "--language", "de", *EXTRA],
        ["--config-dataset", "SPEC", f"--language={HOLE}", *EXTRA],
    ],
    "distill-cloud": [
        ["--source", HOLE, "--source-language", "de", *BOUGHT],
        ["--source", "TEXT", f"--source-language={HOLE}", *BOUGHT],
        ["--source", "TEXT", "--source-language", "de", *BOUGHT, f"--teacher={HOLE}"],
        ["--source", "TEXT", "--source-language", "de", *BOUGHT, f"--out=out/x{HOLE}"],
        ["--source", "TEXT", "--source-language", "de", *BOUGHT, f"--ledger=out/x{HOLE}"],
    ],
    "plan": [["--config", HOLE]],
    "status": [[f"--results={HOLE}"]],
    "trace": [
        ["--bundle", HOLE, "--decoder", "greedy", "--source", "TEXT", "--out", "out/x"],
        ["--bundle", "MODEL", f"--decoder={HOLE}", "--source", "TEXT", "--out", "out/x"],
    ],
    "schema": [["--root", f"out/x{HOLE}"]],
    "distill-card": [
        *(
            [*CARD, f"{option}={HOLE}", "--out", "out/x"]
            for option in (
                "--teacher",
                "--row",
                "--train",
                "--train-reference",
                "--valid",
                "--valid-references",
                "--target-language",
                "--digests",
            )
        ),
        [*CARD, "--out", f"out/x{HOLE}"],
        [*CARD, "--grammar", HOLE, "--sources", "TEXT", "--out", "out/x"],
        [*CARD, "--grammar", "SPEC", "--sources", HOLE, "--out", "out/x"],
        [*CARD, "--extra-statistics", HOLE, "--out", "out/x"],
        [*CARD, "--extra-statistics", "SPEC", "--out", "out/x"],
    ],
    "latency": [
        ["--rows", HOLE, *TIMED],
        ["--rows", f"MODEL:{HOLE}", *TIMED],
        ["--rows", "MODEL:greedy", *TIMED, f"--source={HOLE}"],
        ["--rows", "MODEL:greedy", *TIMED, f"--reranker={HOLE}"],
        ["--rows", "MODEL:greedy", *TIMED, f"--digests={HOLE}"],
        ["--rows", "MODEL:greedy", *TIMED, f"--sentences={HOLE}"],
    ],
    "analyse": [
        *(
            [*ANALYSED, "--target-language", "en", f"{option}={HOLE}"]
            for option in (
                "--bundle",
                "--decoder",
                "--reranker",
                "--source",
                "--references",
                "--passes",
                "--distance",
                "--mode-strength",
                "--digests",
            )
        ),
        [*ANALYSED, "--target-language", HOLE],
        [*ANALYSED, "--target-language", "en", f"--grammar={HOLE}", "--mode-strength", "0.5"],
    ],
    "theory": [[HOLE, "--out", "out/x"], ["figure2", f"--config={HOLE}", "--out", "out/x"]],
}


# Verbs of many options that read text or open a model each time.
SLOW = {"distill-card": 6, "latency": 6, "analyse": 4}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    return os.fspath(write_tiny_bundle(tmp_path_factory.mktemp("models") / "ar", "ar"))


def words(template: list[str], text: str, stands_for: dict[str, str]) -> Iterator[str]:
    for word in template:
        # A file to write is called so, but stays in the folder that is asked for.
        hostile = text.replace("/", "∕") if "out/" in word else text
        word = word.replace("MODEL:", f"{stands_for['MODEL']}:")
        yield stands_for.get(word) or word.replace(HOLE, hostile)


def few_and_many(few: int, many: int) -> list:
    return [few, pytest.param(many, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", few_and_many(3, 40))
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_hostile_word_is_a_name_or_an_error_in_one_line(model, verb, count, monkeypatch):
    # No credentials of the user, and no service is asked: no limit is given.
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")
    monkeypatch.setattr("padir.commands.trace.prepare", lambda threads: None, raising=False)

    @examples(min(count, SLOW.get(verb, count)))
    @given(text=TEXT.map(lambda text: text.replace("\0", "")), name=NAMES)
    def check(text: str, name: str) -> None:
        for template in COMMANDS[verb]:
            with place() as root:
                spec = root / "given/spec.json"
                spec.write_text("{}")
                lines = os.fspath(file_of(SENTENCES, root / "given" / "text"))
                given_files = {"MODEL": model, "TEXT": lines, "SPEC": os.fspath(spec)}
                for hostile in (text, name):
                    run(root, verb, *words(template, hostile, given_files))

    check()


@pytest.fixture(scope="module")
def parallel(tmp_path_factory) -> str:
    return os.fspath(write_tiny_bundle(tmp_path_factory.mktemp("models") / "padir", "padir"))


@pytest.mark.slow
@examples(6)
@given(name=NAMES, lines=LINES, out=NAMES)
def test_measurements_of_hostile_files_end_in_a_result_or_one_line(
    model, parallel, name, lines, out
):
    with place() as root:
        texts = [*SENTENCES, *lines, " ".join(["ba"] * 40)]
        source = os.fspath(file_of(texts, root / "given" / name))
        language = ("--target-language", "en")
        counts = ("--source", source, "--sentences", "40", "--out", f"out/{out}.json")
        run(root, "latency", "--rows", f"{model}:greedy", *counts, "--repeats", "1")
        words = ("--references", source, *language, "--passes", "1", "--samples", "40")
        run(root, "analyse", "--bundle", parallel, *counts, *words)
        words = ("--train", source, "--train-reference", source, "--valid", source, *language)
        words += ("--valid-references", source, "--teacher", name, "--row", name)
        run(root, "distill-card", *words, "--out", f"out/{out}.card.json")


@pytest.mark.slow
@examples(20)
@given(name=NAMES, text=TEXT.map(lambda text: text.replace("\0", "")))
@example(name="a", text="\n" + 300 * "a")
def test_the_doctor_of_hostile_folders_ends_in_lines(name, text):
    inside = text.replace("..", "__")  # No other folder is tried then.
    # Slurm, where it is installed, would be asked.
    with place() as root, mock.patch("padir.commands.doctor.check_queue", return_value=()):
        # Below `out`, as the doctor tries whether the folder can be written.
        folder = root / "cwd/out" / name
        (folder / "results").mkdir(parents=True)
        for results in (folder, folder / "results", f"out/{inside}"):
            run(root, "doctor", f"--results={results}")


@pytest.mark.slow
@examples(20)
@given(text=TEXT)
def test_reports_of_hostile_theory_results_are_refused_in_one_line(text):
    config = check_config(changed("theory.product_kernels", {"spins": 2, "couplings": [0.5, 1.0]}))
    kernels = config.theory.product_kernels.model_dump(mode="json")
    distances = {"given_found": 0.1, "averaged_found": 0.1, "given_bound": 0.0}
    content = {"experiment": "product_kernels", "seed": 0, "settings": kernels, "claims": []}
    content["series"] = {"rows": [{**distances, "k": k} for k in (1, 1, 2, 2)]}
    hostile = [{"claims": text}, {"claims": [text]}, {"experiment": text}, {"series": text}]
    with place() as root:
        given = root / "given/config.json"
        given.write_text(config.model_dump_json())
        results = Path(layout.theory_path("product_kernels", 0))
        results.parent.mkdir(parents=True)
        words = ["report", "--config", os.fspath(given), "--only", "product_steps", "--out", "out"]
        results.write_text(json.dumps(content))
        assert cli.main(words) == 0
        for change in hostile:
            results.write_text(json.dumps(content | change))
            assert run(root, *words)[0] == 2
