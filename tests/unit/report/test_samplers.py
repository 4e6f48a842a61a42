"""The table of samplers, by hand."""

import json
import os
from pathlib import Path

import pytest

from padir import layout
from padir.config import identity
from padir.files import InputError
from padir.report.load import command_for
from padir.report.write import absence_notes


def sampled(made_up, sampler: str, lines: list, **changes) -> Path:
    """Write a sampler's chains, and their score, with the settings of the config."""
    score = json.loads(made_up.score("padir/padir/T4").read_text()) | changes
    score["digests"] = identity.sample_digests(made_up.config, *made_up.place, sampler)
    path = made_up.write(layout.sample_path(made_up.place, sampler, "test"), score)
    chains = path.with_suffix(".jsonl")
    chains.write_text("".join(json.dumps(line) + "\n" for line in lines))
    digests = identity.chain_digests(made_up.config, *made_up.place, sampler)
    made_up.write(f"{chains}.provenance.json", {"digests": digests})
    return path


@pytest.mark.parametrize("measure", ["bleu", "chrf"])
def test_scores_of_samplers_by_another_sacrebleu_are_absent(made_up, measure):
    made_up.evaluate(samplers={name: {"training": "padir"} for name in ("old", "new")})
    scored = json.loads(made_up.score("padir/padir/T4").read_text())[measure]
    old = sampled(made_up, "old", [], **{measure: scored | {"signature": "nrefs:1|version:0.0.1"}})
    sampled(made_up, "new", [])
    # The dates decide where no score is of the installed version.
    os.utime(old, (1, 1))
    results = made_up.load("samplers")
    assert [name for _, name in results.samples] == ["new"]
    reason = "made with another version of sacreBLEU"
    assert [(a.artifact.path, a.reason) for a in results.absent] == [(str(old), reason)]
    command = command_for("samplers", results.absent)
    assert command == "snakemake --cores all samplers --forcerun score_sample"


def test_scores_of_samplers_on_other_sentences_share_no_table(made_up):
    made_up.evaluate(samplers={name: {"training": "padir"} for name in ("one", "two")})
    sampled(made_up, "one", [])
    sampled(made_up, "two", [], test_digest="other")
    with pytest.raises(InputError, match=r"cannot share a table, test-set digest differs: abc123"):
        made_up.load("samplers")


def test_means_over_sentences_and_chains(made_up):
    pairs = {
        "training": "padir", "chains": 3, "steps": 11, "block": 2, "metropolis": True,
        "final_temperature": 0.5,
    }  # fmt: skip
    made_up.evaluate(samplers={"pairs": pairs, "absent": {"training": "padir"}})
    made_up.train(
        padir={**made_up.settings["trainings"]["padir"], "training": {"warm_start": "ar"}}
    )
    chains = [
        {"acceptance": a, "energies": [s, 9.0], "energy": e, "best_energy": b}
        for a, s, e, b in (
            (0.2, 30.0, 20.0, 10.0),
            (0.4, 50.0, 22.0, 11.0),
            (0.9, 10.0, 6.0, 3.0),
        )
    ]
    lines = [{"chains": chains[:2]}, {"chains": []}, {"chains": chains[2:]}]
    path = sampled(made_up, "pairs", lines).with_suffix(".jsonl")
    (row,) = made_up.table("samplers").rows
    assert (row["name"], row["block"], row["metropolis"]) == ("pairs", 2, "yes")
    assert (row["chains"], row["steps"]) == (3, 11)
    assert (row["training"], row["targets"]) == ("padir", "own (encoder of ar)")
    assert row["temperature"] == "1 to 0.5"
    means = [row[key] for key in ("acceptance", "start", "last", "best")]
    assert means == pytest.approx([0.5, 30, 16, 8])
    assert (row["bleu"], row["interval"]) == (39.5, (38.5, 40.5))
    assert (row["validity"], row["stutter"]) == (75.0, 0.2)

    # Chains of other settings beside a score of these are an absence, not a row.
    made_up.write(f"{path}.provenance.json", {"digests": {"hypotheses": "other"}})
    results = made_up.load("samplers")
    assert not results.samples
    command = f"snakemake --cores all --force {path}"
    note = f"Not shown: {path}: made with other settings; run: {command}"
    assert note in absence_notes(results)
