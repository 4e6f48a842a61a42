"""A changed bit in a settings file that the workflow wrote is refused, or changes nothing."""

import copy
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from padir.checksums import CHECKSUM, ChecksumMismatch, read_with_checksum, write_with_checksum
from padir.cleaned import STATISTICS_FILE, check_cleaned
from padir.commands import theory
from padir.commands.report import _read_config
from padir.config import identity
from padir.config.contents import CONTENTS, contents
from padir.config.read import load_config, read_dataset, read_spec, read_vocabulary_settings
from padir.config.theory import ModeReaching
from padir.data.lexicon import read_lexicon
from padir.data.synthetic import write_grammar
from padir.decode.load import read_decoder
from padir.files import InputError, read_json, write_json

ROOT = Path(__file__).parents[2]
CONFIG = load_config([ROOT / "config/config.yaml"])
DATASET = CONFIG.datasets["synthetic"]
(DIRECTION,) = DATASET.directions


def decoder_settings() -> dict:
    decoder = CONFIG.decoders["padir"].model_dump(mode="json")
    return {"name": "padir", "settings": decoder}


WRITTEN = {
    "spec.json": (
        lambda: identity.run_spec(CONFIG, "synthetic", DIRECTION, "ar").model_dump(mode="json"),
        read_spec,
    ),
    "dataset.json": (lambda: identity.data_spec(CONFIG, "synthetic"), read_dataset),
    "vocabulary.json": (
        lambda: identity.vocabulary_spec(CONFIG, "synthetic", None),
        read_vocabulary_settings,
    ),
    "decoder.json": (decoder_settings, read_decoder),
    "extra.json": (lambda: identity.extra_spec(CONFIG, "synthetic"), read_dataset),
    "plan.json": (lambda: CONFIG.model_dump(mode="json"), lambda path: load_config([path])),
    "config.json": (lambda: CONFIG.model_dump(mode="json"), lambda path: _read_config([path])[0]),
}


def write_by_rule(path: Path, settings: object) -> None:
    """Write settings as rules do."""
    snakemake = SimpleNamespace(
        output=SimpleNamespace(spec=path), params=SimpleNamespace(settings=settings)
    )
    runpy.run_path(str(ROOT / "workflow/scripts/write_spec.py"), {"snakemake": snakemake})


def numbers(value: object, path: tuple = ()):
    """Paths of all whole numbers of a JSON value."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in items:
            yield from numbers(part, (*path, key))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path


@pytest.mark.parametrize("name", WRITTEN)
def test_no_changed_number_in_settings_of_a_rule_is_read(tmp_path, name):
    settings, read = WRITTEN[name]
    path = tmp_path / name
    write_by_rule(path, settings())
    read(path)
    written = read_json(path)
    places = list(numbers(written))[:60]
    assert places
    for place in places:
        edited = copy.deepcopy(written)
        *above, last = place
        value = edited
        for key in above:
            value = value[key]
        value[last] += 1
        write_json(path, edited)
        with pytest.raises(InputError, match=rf"{name}: damaged or edited"):
            read(path)


@pytest.mark.parametrize("name", WRITTEN)
def test_settings_written_by_hand_need_no_checksum(tmp_path, name):
    settings, read = WRITTEN[name]
    write_by_rule(tmp_path / "written.json", settings())
    by_hand = tmp_path / name
    content = read_json(tmp_path / "written.json")
    del content[CHECKSUM]
    write_json(by_hand, content)
    read(by_hand)


def test_every_flipped_bit_is_refused_or_leaves_the_values_as_they_were(tmp_path, monkeypatch):
    path = tmp_path / "settings.json"
    values = {"steps": 6000, "rate": 0.025, "name": "de-en", "parts": [1, {"deep": None}]}
    write_with_checksum(path, values)
    content = path.read_bytes()
    refused = 0
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        monkeypatch.setattr("padir.files.read_bytes", lambda path, damaged=damaged: bytes(damaged))
        try:
            read = read_with_checksum(path, "run it again")
        except InputError:
            refused += 1
        else:
            # The checksum's own key is damaged: strict readers refuse a key that they do not know.
            assert {key: read[key] for key in values} == values, bit
    assert refused > 0.8 * 8 * len(content)


def test_whole_numbers_as_keys_are_read_back(tmp_path):
    write_with_checksum(tmp_path / "settings.json", {"by_passes": {9: 1, 10: 2}})
    assert read_with_checksum(tmp_path / "settings.json", "")["by_passes"] == {"9": 1, "10": 2}


def test_an_ising_experiment_refuses_changed_settings(tmp_path):
    path, out = tmp_path / "settings.json", tmp_path / "out.json"
    write_by_rule(path, ModeReaching().model_dump(mode="json"))
    path.write_text(path.read_text().replace('": 1', '": 2', 1))
    with pytest.raises(ChecksumMismatch, match=r"settings\.json: damaged or edited"):
        theory.main(["mode_reaching", "--settings", str(path), "--out", str(out)])
    assert not out.exists()


def test_a_damaged_record_vouches_for_no_file_that_is_gone(tmp_path):
    record = tmp_path / "dataset.json"
    write_with_checksum(record, {CONTENTS: {"gone.de": "1234"}})
    assert contents(["gone.de"], str(record)) == {"gone.de": "1234"}
    damaged = tmp_path / "damaged.json"
    damaged.write_text(record.read_text().replace("1234", "1334"))
    assert contents(["gone.de"], str(damaged)) == {"gone.de": None}


def test_a_changed_grammar_is_refused(tmp_path):
    path = tmp_path / "grammar.json"
    write_grammar(DATASET.source, path)
    read_lexicon(path)
    content = path.read_text(encoding="utf-8")
    word = read_json(path)["intensifier"]["forms"][0]
    assert content.count(f'"{word}"') >= 1
    path.write_text(content.replace(f'"{word}"', f'"{word}x"'), encoding="utf-8")
    with pytest.raises(ChecksumMismatch, match=r"grammar\.json: damaged or edited"):
        read_lexicon(path)


def test_damaged_statistics_are_refused_before_the_text_is_blamed(tmp_path):
    (tmp_path / "train.de").write_text("ein\n")
    files = {"splits": {"train": {"files": [{"file": "train.de", "sha256": "0" * 64}]}}}
    write_with_checksum(tmp_path / STATISTICS_FILE, files)
    with pytest.raises(InputError, match=r"train\.de: is not what padir clean wrote"):
        check_cleaned(tmp_path / "train.de")
    edited = read_json(tmp_path / STATISTICS_FILE)
    edited["splits"]["train"]["files"][0]["sha256"] = "1" * 64
    write_json(tmp_path / STATISTICS_FILE, edited)
    with pytest.raises(ChecksumMismatch, match=r"statistics\.json: damaged or edited"):
        check_cleaned(tmp_path / "train.de")
