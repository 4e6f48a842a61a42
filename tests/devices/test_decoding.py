"""Sentences are dealt out to all devices, which changes no hypothesis; a single one is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from padir.decode.candidates import LengthRule
from padir.decode.constrain import Constraints
from padir.decode.given import Speller
from padir.decode.load import load
from padir.decode.rerank import Reranker
from padir.decode.translate import Translator
from tests.decoding import LINES, tiny_decoder, write_tiny_bundle

DEVICES = 4
# Two batches, neither of them a multiple of the devices.
SOURCES, BATCH = LINES * 2, 14
RULE = LengthRule(1.0, 1.0)
DECODERS = {
    "ar": (tiny_decoder("greedy", RULE), None),
    "padir": (tiny_decoder("padir", RULE, name="reranked", reranker="tiny_ar"), 3),
}


def devices_in_use() -> int:
    """Most devices that any array lies on."""
    return max(len(array.sharding.device_set) for array in jax.live_arrays())


def translations(folder: Path) -> dict:
    """Of every bundle and decoding the records, and how many devices one line and all lines use."""
    report: dict = {"devices": jax.device_count(), "one line": 1, "records": {}}
    for name, (decoder, passes) in DECODERS.items():
        reranker = Reranker(load(folder / "ar"), BATCH) if name == "padir" else None
        loaded = load(folder / name)
        translator = Translator(loaded, decoder, passes, reranker=reranker, sentences=BATCH)
        if not report["records"]:
            translator.translate(LINES[:1], "lines")
            report["one line"] = devices_in_use()
        several = translator.translate(SOURCES, "lines")
        report["records"][name] = [
            hypothesis.record(number) for number, hypothesis in enumerate(several)
        ]
        report[f"all lines {name}"] = devices_in_use()
        if name == "padir":
            # Given tokens have rows; the ids that may follow them have none.
            speller = Speller(translator)
            template = speller.template(["ba", "ko", ""], "here")
            holed = [template if line else None for line in SOURCES]
            filled = Constraints(translator, speller, holed, "lines")
            report["records"]["infill"] = [
                hypothesis.record(number)
                for number, hypothesis in enumerate(filled.translate(translator.encode(SOURCES)))
            ]
        del translator, reranker
    return report


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bundles")
    for system in DECODERS:
        write_tiny_bundle(place / system, system)
    return place


def same(ours: list[dict], theirs: list[dict]) -> None:
    """Equal but for the rounding of log-probabilities to three decimals."""
    for records in (ours, theirs):
        assert len(records) == len(SOURCES)
    for record, other in zip(ours, theirs, strict=True):
        values = record.pop("log_probability"), other["log_probability"]
        assert values[0] == pytest.approx(values[1], abs=1.01e-3)
        assert record == {key: value for key, value in other.items() if key != "log_probability"}


@pytest.mark.slow
def test_several_devices_decode_the_same_hypotheses_as_one(folder, repository):
    flags = f"--xla_force_host_platform_device_count={DEVICES}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.devices.test_decoding", str(folder)],
        cwd=repository, env={**os.environ, "XLA_FLAGS": flags}, capture_output=True, text=True,
        check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    decoded = json.loads(done.stdout.splitlines()[-1])
    alone = json.loads(json.dumps(translations(folder)))
    assert (decoded["devices"], alone["devices"]) == (DEVICES, 1)
    assert decoded["records"].keys() == alone["records"].keys()
    for name, records in alone["records"].items():
        same(decoded["records"][name], records)
        assert len({record["log_probability"] for record in records}) > 5, name
    # What is timed sentence by sentence has one device to itself.
    assert decoded["one line"] == 1
    assert {decoded[f"all lines {name}"] for name in DECODERS} == {DEVICES}


if __name__ == "__main__":
    print(json.dumps(translations(Path(sys.argv[1]))))
