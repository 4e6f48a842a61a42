"""`import padir`: models, scores and theory by short names, and nothing heavy before their use."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import yaml

import padir
from padir.commands import export
from padir.decode.candidates import LengthRule
from padir.decode.export import exported, write_program
from padir.decode.load import find_decoder, load
from padir.decode.policies import REMASKS
from padir.decode.translate import Translator
from padir.files import InputError, read_json
from padir.hub import write_hub_folder
from padir.ids import EOS, PAD
from tests.decoding import LINES, tiny_decoder, write_decoder, write_tiny_bundle

RULE = LengthRule(0.6, 1.0)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = write_tiny_bundle(tmp_path_factory.mktemp("models") / "padir", "padir")
    write_decoder(folder / "decoders/padir.json", tiny_decoder("padir", RULE))
    return folder


@pytest.fixture(scope="module")
def model(bundle):
    return padir.load(str(bundle))


def test_importing_the_package_loads_nothing_heavy():
    program = "import padir, sys; print(sorted({'jax', 'numpy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_a_model_translates_as_its_translator_does(bundle, model):
    assert (model.direction, model.system, model.parallel) == ("xs-xt", "padir", True)
    expected = Translator(load(bundle), tiny_decoder("padir", RULE), 2).translate(LINES, "lines")
    assert model.translate(LINES, steps=2) == [each.hypothesis for each in expected]
    details = model.details(LINES, steps=2)
    for best in (0, -1, True):
        with pytest.raises(InputError, match=r"^best is .*: allowed are whole numbers from 1$"):
            model.details(LINES, steps=2, best=best)
    assert [each.hypothesis for each in details] == expected
    for each in details:
        texts = [candidate.text for candidate in each.alternatives]
        scores = [candidate.score for candidate in each.alternatives]
        assert len(set(texts)) == len(texts) and scores == sorted(scores, reverse=True)
        assert texts[:1] == ([each.hypothesis.hypothesis] if each.source else [])


def test_any_iterable_of_lines_is_translated_and_an_end_of_line_changes_nothing(model):
    expected = model.translate(LINES, steps=2)
    assert model.translate((line for line in LINES), steps=2) == expected
    assert len(model.traces((line for line in LINES), steps=2)) == len(LINES)
    for ending in ("\n", "\r\n", "\t"):
        assert model.translate([line + ending for line in LINES], steps=2) == expected
    with pytest.raises(InputError, match="line 2: found int, allowed is text"):
        model.translate(iter(["ba ko", 3]), steps=2)


def test_numbers_of_passes_share_programs(bundle):
    model = padir.load(bundle)
    four = model.translate(LINES)
    (translator,) = model._translators.values()
    assert model.translate(LINES, steps=4) == four
    assert model.translate(LINES, steps=1) == padir.load(bundle).translate(LINES, steps=1)
    assert list(model._translators.values()) == [translator]


def test_a_model_says_what_does_not_fit(model, tmp_path):
    for arguments, message in (
        ({"decoder": "beam"}, "does not fit"),
        ({"steps": 0}, "passes is 0"),
        ({"steps": True}, "steps is True: allowed are whole numbers"),
        ({"decoder": "none"}, "decoder none: no such file"),
    ):
        with pytest.raises(padir.InputError, match=message):
            model.translate(["ba"], **arguments)
    with pytest.raises(InputError, match="a list of lines is needed"):
        model.translate("ba")
    with pytest.raises(InputError, match="not a model bundle"):
        padir.load(tmp_path)


def test_scores_are_those_of_the_command(tmp_path, capsys):
    from padir.cli import main

    (tmp_path / "h").write_text("the the cat sat\na dog\n")
    (tmp_path / "r").write_text("the cat sat down\na dog\n")
    lines = [(tmp_path / name).read_text().splitlines() for name in ("h", "r")]
    document = padir.score(*lines, "en", samples=100)
    flags = ["--samples", "100", "--json", str(tmp_path / "s.json"), "--target-language", "en"]
    files = ["--hypotheses", str(tmp_path / "h"), "--references", str(tmp_path / "r")]
    assert main(["score", *files, *flags]) == 0
    written = read_json(tmp_path / "s.json")
    assert document == {key: written[key] for key in document}
    words = padir.stutter(*lines, "en")
    assert words == padir.score(*lines, "en")["stutter"]["words"]
    assert words != padir.stutter(lines[1], lines[1], "en")
    with pytest.raises(InputError, match="2 hypotheses, but 1 references"):
        padir.score(lines[0], ["a"], "en")
    for texts in (("a", ["a"]), (["a"], "a")):
        with pytest.raises(InputError, match="are lists of sentences; found one text"):
            padir.score(*texts, "en")
    with pytest.raises(InputError, match="samples is 0: allowed are whole numbers from 1"):
        padir.score(["a"], ["a"], "en", samples=0)


NOT_SCORED = {
    "padir.score([None], ['a'], 'en')": "found NoneType None, allowed are texts",
    "padir.score(['a'], ['a'], 'en', 2.5)": "samples is 2.5: allowed are whole numbers from 1",
    "padir.score(iter(['a']), ['a'], 'en')": "are lists of sentences; found list_iterator",
    "padir.score(['a'], None, 'en')": "are lists of sentences; found NoneType",
    "padir.score(['a'], ['a', ['a']], 'en')": "are lists of sentences; found one text",
    "padir.score(['a'], ['a'], None)": "target_language: found NoneType, allowed: codes such as",
    "padir.stutter(['a'], ['a'], 'chinese')": "target_language: found 'chinese', allowed: codes",
    "padir.stutter(['a'], ['a'], '')": "target_language: found '', allowed: codes such as zh or de",
}


def test_what_cannot_be_scored_is_refused_with_what_is_allowed():
    # In a process of its own, as tests check the types of arguments.
    attempt = "try:\n    print({})\nexcept padir.InputError as error:\n    print(error)\n"
    program = "import padir\n" + "".join(map(attempt.format, NOT_SCORED))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for said, message in zip(done.stdout.splitlines(), NOT_SCORED.values(), strict=True):
        assert message in said


def test_a_decoder_of_a_bundle_has_the_name_of_its_file(bundle, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(bundle, folder)
    shutil.copy(folder / "decoders/padir.json", folder / "decoders/fast.json")
    assert find_decoder(load(folder), "fast").name == "fast"


def test_theory_is_there_by_short_names():
    ising = padir.Ising(np.zeros(3), 0.5 * (np.ones((3, 3)) - np.eye(3)))
    assert padir.exact_law(ising).sum() == pytest.approx(1)
    sampler = padir.k_gibbs(ising, 2)
    state = sampler.init(jax.random.key(0), 4)
    state, _ = sampler.step(jax.random.key(1), state)
    assert state.shape == (4, 3) and set(np.unique(state)) <= {-1, 1}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        padir.nothing  # noqa: B018
    assert {"load", "score", "Ising"} <= set(dir(padir))


def test_a_hub_folder_is_a_bundle_with_metadata(bundle, model, tmp_path, monkeypatch):
    folder = tmp_path / "hub"

    def full_disk(path, content):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("padir.hub.write_bytes", full_disk)
        with pytest.raises(OSError, match="no space left"):
            write_hub_folder(model, folder, "cc-by-2.0")
    assert not list(tmp_path.iterdir())
    folder.mkdir()
    write_hub_folder(model, folder, "cc-by-2.0")
    card = (folder / "README.md").read_text()
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert (metadata["license"], metadata["library_name"]) == ("cc-by-2.0", "padir")
    assert "\na random model\n" in card
    assert padir.load(folder).translate(LINES[:2], steps=2) == model.translate(LINES[:2], steps=2)
    with pytest.raises(InputError, match="exists and is not empty"):
        write_hub_folder(model, folder, "cc-by-2.0")


def test_a_hub_folder_may_be_linked_to_and_is_not_the_current_one(model, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    write_hub_folder(model, tmp_path / "link", "cc-by-2.0")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "empty" / "spec.json").is_file()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match=r"^\.: is the current folder; name a new folder$"):
        write_hub_folder(model, Path(), "cc-by-2.0")


def test_a_model_finds_its_files_from_another_folder(bundle, model, tmp_path, monkeypatch):
    monkeypatch.chdir(bundle.parent)
    moved = padir.load(bundle.name)
    monkeypatch.chdir(tmp_path)
    assert moved.decoders() == model.decoders()
    assert moved.translate(LINES, steps=2) == model.translate(LINES, steps=2)
    write_hub_folder(moved, tmp_path / "hub", "cc-by-2.0")


def test_a_card_in_another_encoding_is_refused(bundle, tmp_path):
    copy = shutil.copytree(bundle, tmp_path / "copy")
    (copy / "README.md").write_bytes("a model\nfür Deutsch\n".encode("latin-1"))
    with pytest.raises(
        InputError, match=r"README\.md: line 2, byte 2: not valid UTF-8; convert it"
    ):
        write_hub_folder(padir.load(copy), tmp_path / "hub", "cc-by-2.0")
    assert not (tmp_path / "hub").exists()


RUN_ALONE = """
import sys
import numpy as np
from jax import export

arrays = np.load(sys.argv[2])
program = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
assert not any(name.split(".")[0] == "padir" for name in sys.modules)
for source, start in zip(arrays["source"], arrays["start"], strict=True):
    tokens, length, score = program.call(source[None], start)
    print(np.asarray(tokens)[0, : int(length[0])].tolist(), float(score[0]), sep="\t")
"""


def test_a_program_runs_without_this_code_and_translates_the_same(model, tmp_path):
    pytest.importorskip("flatbuffers", reason="the extra `export`")
    translator = model.translator("padir", 3)
    path = tmp_path / "model.jax"
    write_program(translator, path)
    description = read_json(tmp_path / "model.jax.json")
    assert description["source"]["shape"] == [1, 16] and description["passes"] == 3
    assert description["start"]["holds"].startswith("ids of pieces")
    lines = [line for line in LINES if line]
    sources, refiner = translator.encode(lines), translator.refiner
    ids = np.full((len(lines), 16), PAD, np.int32)
    for row, source in zip(ids, sources, strict=True):
        row[: len(source) + 1] = [*source, EOS]
    starts = [refiner.start(source, refiner.lengths, refiner.longest) for source in sources]
    np.savez(tmp_path / "arrays.npz", source=ids, start=np.stack(starts))
    command = [sys.executable, "-c", RUN_ALONE, str(path), str(tmp_path / "arrays.npz")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    answers = [answer.split("\t") for answer in done.stdout.splitlines()]
    expected = translator.translate(lines, "lines")
    tokens = [str([*each.tokens_before_drop, EOS]) for each in expected]
    assert [answer[0] for answer in answers] == tokens, done.stderr
    scores = [each.log_probability for each in expected]
    assert [float(answer[1]) for answer in answers] == pytest.approx(scores, rel=1e-4)


def drawing_remask(settings):
    """A remasking policy that no list of the package names."""
    return lambda view: view.is_piece & (view.chance < 0.5)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"temperature": 0.5}, "temperature 0.5, update all, remask stutter"),
        ({"update": "share", "update_share": 0.5}, "temperature 0, update share, remask stutter"),
        ({"remask": "count"}, "temperature 0, update all, remask count"),
    ],
)
def test_a_decoder_that_draws_is_not_exported(settings, named, model, monkeypatch):
    monkeypatch.setitem(REMASKS, "count", drawing_remask)
    drawing = tiny_decoder("padir", RULE, stop="fixed", **settings)
    message = rf"has random draws \({named}\), which a program does not hold"
    with pytest.raises(InputError, match=message):
        exported(model.translator(drawing, 2))


def test_a_decoder_that_only_looks_is_exported(model):
    settings = {"update": "uncertain", "update_share": 0.5, "remask": "coupled", "shortlist": 12}
    program = exported(model.translator(tiny_decoder("padir", RULE, stop="fixed", **settings), 2))
    assert len(program.in_avals) == 2


def test_an_export_with_restarts_is_refused(model):
    several = tiny_decoder("padir", RULE, restarts=2)
    with pytest.raises(InputError, match="has more than one restart, which a program does not"):
        exported(model.translator(several, 2))


@pytest.mark.parametrize(
    ("system", "options", "message"),
    [
        ("ar", ("--program", "p.jax"), "only parallel models are exported"),
        ("padir", ("--program", "p.jax", "--license", "mit"), "--license applies to --hub alone"),
        ("padir", ("--hub", "h", "--license", "a\nb: c"), "--license: one line of 1 to"),
        (
            "padir",
            ("--hub", "h", "--license", "mit", "--steps", "2"),
            "--steps apply to --program alone",
        ),
    ],
)
def test_an_export_with_options_that_do_not_fit_is_refused(
    system, options, message, tmp_path, monkeypatch
):
    monkeypatch.setattr(export, "prepare", lambda: None)
    monkeypatch.chdir(tmp_path)
    bundle = write_tiny_bundle(tmp_path / system, system)
    with pytest.raises(InputError, match=message):
        export.main(["--model", str(bundle), *options])
    assert not any((tmp_path / name).exists() for name in ("p.jax", "h"))


@pytest.mark.parametrize("demo", [True, False], ids=["demo", "PADIR_BUNDLE"])
def test_the_notebook_runs_and_holds_no_outputs(demo, bundle, repository, tmp_path):
    """Where Jupyter starts it, in its own folder, on the demo's bundle and on one that is named."""
    notebook = read_json(repository / "docs/notebook.ipynb")
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells and all(cell["outputs"] == [] for cell in cells)
    program = "\n".join("".join(cell["source"]) for cell in cells)
    environment = {**os.environ, "PADIR_LINE": "ba ko mi"}
    environment.pop("PADIR_BUNDLE", None)
    for folder in ("docs", "src", "results/runs/synthetic/xs-xt/padir_distilled/seed0"):
        (tmp_path / folder).mkdir(parents=True)
    if demo:
        (tmp_path / "src/padir").symlink_to(repository / "src/padir")
        (tmp_path / f"{folder}/bundle").symlink_to(bundle)
        environment["PYTHONPATH"] = str(tmp_path / "src")
    else:
        environment["PADIR_BUNDLE"] = str(bundle)
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=tmp_path / "docs"
    )
    assert done.returncode == 0, done.stderr
    assert "all spins up: " in done.stdout
