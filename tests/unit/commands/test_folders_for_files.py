"""A folder where a command reads or writes a file is refused before any work."""

import importlib
import pkgutil
from pathlib import Path

import pytest

from padir import commands
from padir.cli import main
from padir.commands.arguments import BUNDLE, Option, decoder_options, option, read_arguments
from padir.commands.export import OPTIONS as EXPORT
from padir.commands.tune import OPTIONS as TUNE
from padir.config.read import cloud_teacher
from padir.distill.ledger import Ledger
from padir.files import InputError
from tests.decoding import tiny_model


def options_of_files() -> list[tuple[str, Option]]:
    """Each verb's options that name a file or several."""
    found = []
    for module in pkgutil.iter_modules(commands.__path__):
        table = getattr(importlib.import_module(f"padir.commands.{module.name}"), "OPTIONS", ())
        found += [(module.name, each) for each in table if each.settings.get("metavar") == "F"]
    return found


def test_a_folder_is_refused_by_each_option(tmp_path):
    options = options_of_files()
    assert {"decode", "latency", "train", "tune"} <= {verb for verb, _ in options}
    for verb, each in options:
        with pytest.raises(InputError) as caught:
            read_arguments(verb, "", [each], [each.name, str(tmp_path)])
        assert str(caught.value) == f"{each.name} {tmp_path}: is a folder, allowed is a file"


def test_a_file_to_write_that_another_option_names_is_refused(tmp_path):
    by_verb: dict[str, list[Option]] = {}
    for verb, each in options_of_files():
        by_verb.setdefault(verb, []).append(each)
    file = str(tmp_path / "file")
    refused = set()
    for verb, options in by_verb.items():
        for written in (each for each in options if each.written):
            for other in (each for each in options if each is not written):
                words = [written.name, file, other.name, file]
                with pytest.raises(InputError, match=f"{file}: is a file of --.*, allowed is an"):
                    read_arguments(verb, "", [written, other], words)
                refused.add(verb)
    assert {"decode", "distill", "latency", "sample", "score", "trace", "tune"} <= refused


def test_a_part_of_a_bundle_is_not_written_over(tmp_path):
    written = option("--text F", "", written=True)
    read_arguments("decode", "", [BUNDLE, written], ["--bundle", "b", "--text", "b/notes.txt"])
    for part in ("model.safetensors", "spec.json", "spm.model"):
        words = ["--bundle", str(tmp_path), "--text", str(tmp_path / "." / part)]
        with pytest.raises(InputError, match=f"{part}: is a file of --bundle, allowed is an"):
            read_arguments("decode", "", [BUNDLE, written], words)


@pytest.mark.parametrize("verb", ["decode", "latency"])
def test_a_bundle_of_any_option_and_its_decoders_are_not_written_over(tmp_path, verb):
    table = importlib.import_module(f"padir.commands.{verb}").OPTIONS
    bundle = ["--rows", f"{tmp_path}:padir.T4"] if verb == "latency" else ["--bundle", tmp_path]
    words = [*map(str, bundle), *(["--text", "t"] if verb == "decode" else []), "--source", "s"]
    (tmp_path / "decoders").mkdir()
    new, mine = tmp_path / "decoders/new.json", tmp_path / "decoders/mine.json"
    mine.write_text("{}")
    (tmp_path / "decoders/link.json").symlink_to(tmp_path / "elsewhere.json")
    (tmp_path / "elsewhere.json").write_text("{}")
    read_arguments(verb, "", table, [*words, "--out", str(new)])
    for part in (mine, tmp_path / "decoders/link.json", tmp_path / "spec.json"):
        with pytest.raises(InputError, match=f"{part}: is a file of {words[0]}, allowed is an"):
            read_arguments(verb, "", table, [*words, "--out", str(part)])


def test_tuning_may_replace_a_decoder_of_the_bundle(tmp_path):
    (tmp_path / "decoders").mkdir()
    mine = tmp_path / "decoders/mine.json"
    mine.write_text("{}")
    words = ["--bundle", str(tmp_path), "--source", "s", "--references", "r", "--out"]
    read_arguments("tune", "", TUNE, [*words, str(mine)])
    with pytest.raises(InputError, match=r"spm\.model: is a file of --bundle, allowed is an"):
        read_arguments("tune", "", TUNE, [*words, str(tmp_path / "spm.model")])


@pytest.mark.parametrize(
    "read", [decoder_options()[0], option("--teacher JSON", "")], ids=["decoder", "teacher"]
)
def test_a_file_that_stands_for_a_name_or_json_is_not_written_over(tmp_path, read):
    written, file = option("--out F", "", written=True), tmp_path / "file"
    words = [read.name, str(file), "--out", str(file)]
    # What no file has is a name or JSON text.
    read_arguments("distill", "", [read, written], words)
    file.write_text("{}")
    with pytest.raises(InputError, match=f"{file}: is a file of {read.name}, allowed is an"):
        read_arguments("distill", "", [read, written], words)


@pytest.mark.parametrize(
    ("program", "read"), [("decoder", ["--decoder", "decoder.json"]), ("bundle/spec", [])]
)
def test_the_description_of_a_program_overwrites_nothing_that_is_read(
    tmp_path, monkeypatch, program, read
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "decoder.json").write_text("{}")
    words = ["--model", "bundle", "--program", program, *read]
    with pytest.raises(InputError, match=f"--program {program}.json: is a file of --"):
        read_arguments("export", "", EXPORT, words)
    (tmp_path / "new.json").mkdir()
    with pytest.raises(InputError, match=r"--program new\.json: is a folder"):
        read_arguments("export", "", EXPORT, ["--model", "bundle", "--program", "new", *read])


@pytest.mark.parametrize("teacher", [[], ["--teacher", '{"ledger": "l/ledger"}']])
def test_translations_do_not_overwrite_the_ledger(tmp_path, monkeypatch, capsys, teacher):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    ledger = Path("l/ledger" if teacher else cloud_teacher(None, {}).ledger).expanduser()
    (tmp_path / "text").write_text("\n")
    with Ledger(ledger):
        pass
    before = ledger.read_bytes()
    words = ["--source", "text", "--source-language", "de", "--target-language", "en", *teacher]
    assert main(["distill-cloud", *words, "--out", str(ledger)]) == 2
    assert f"--out {ledger}: is the ledger, allowed is another file" in capsys.readouterr().err
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("spec.json", ["--spec", "{}"]),
        ("spm.model", ["--vocabulary", "{}"]),
        ("README.md", ["--train-source", "{}"]),
        ("provenance.json", ["--valid-target", "{}"]),
        ("model.safetensors", ["--warm-start", "out"]),
    ],
)
def test_a_trained_bundle_does_not_overwrite_what_training_reads(
    tmp_path, monkeypatch, capsys, name, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    files = ("spec", "vocabulary", "train-source", "train-target", "valid-source", "valid-target")
    given = [word for each in files for word in (f"--{each}", "absent")]
    given += ["--work", "work", "--out", "./out", *(word.format(f"out/{name}") for word in words)]
    assert main(["train", *given]) == 2
    message = f"--out out: would overwrite out/{name}, a file of {words[0]}; allowed is a folder"
    assert message in capsys.readouterr().err
    assert (tmp_path / "out" / name).read_text() == "mine" and not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file", "is a file; allowed is a folder"),
        ("work", "is the folder of --work, allowed is another"),
    ],
)
def test_a_bundle_needs_a_folder_of_its_own(tmp_path, monkeypatch, capsys, out, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    files = ("spec", "vocabulary", "train-source", "train-target", "valid-source", "valid-target")
    given = [word for each in files for word in (f"--{each}", "absent")]
    assert main(["train", *given, "--work", "work", "--out", out]) == 2
    assert f"--out {out}: {message}" in capsys.readouterr().err


def test_a_device_may_be_written_twice():
    options = [each for verb, each in options_of_files() if verb == "decode" and each.written]
    words = [word for each in options for word in (each.name, "/dev/null")]
    assert len(options) == 2
    read_arguments("decode", "", options, words)


def test_nothing_is_done_for_an_output_that_is_a_folder(tmp_path, capsys):
    tiny_model(tmp_path / "ar", "ar")
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("ba ko\n")
    out.mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    words = ["--bundle", str(tmp_path / "ar"), "--decoder", "greedy", "--source", str(source)]
    assert main(["distill", *words, "--out", str(out)]) == 2
    assert capsys.readouterr().err == (
        f"padir distill: error: --out {out}: is a folder, allowed is a file\n"
    )
    assert {path.name for path in tmp_path.iterdir()} == before
