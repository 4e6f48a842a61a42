"""The table of samplers, by hand."""

import json
from pathlib import Path

import pytest

from padir.config import identity
from padir.report.write import absence_notes


def test_means_over_sentences_and_chains(made_up):
    pairs = {"training": "padir", "block": 2, "metropolis": True, "final_temperature": 0.5}
    made_up.evaluate(samplers={"pairs": pairs, "absent": {"training": "padir"}})
    made_up.train(
        padir={**made_up.settings["trainings"]["padir"], "training": {"warm_start": "ar"}}
    )
    score = json.loads(made_up.score("padir/padir/T4").read_text())
    score["digests"] = identity.sample_digests(made_up.config, *made_up.place, "pairs")
    made_up.write("results/samples/toy/xs-xt/test.pairs.json", score)
    chains = [
        {"acceptance": a, "energies": [s, 9.0], "energy": e, "best_energy": b}
        for a, s, e, b in (
            (0.2, 30.0, 20.0, 10.0),
            (0.4, 50.0, 22.0, 11.0),
            (0.9, 10.0, 6.0, 3.0),
        )
    ]
    lines = [{"chains": chains[:2]}, {"chains": []}, {"chains": chains[2:]}]
    path = Path("results/samples/toy/xs-xt/test.pairs.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    provenance = "results/samples/toy/xs-xt/test.pairs.jsonl.provenance.json"
    digests = identity.chain_digests(made_up.config, *made_up.place, "pairs")
    made_up.write(provenance, {"digests": digests})
    (row,) = made_up.table("samplers").rows
    assert (row["name"], row["block"], row["metropolis"]) == ("pairs", 2, "yes")
    assert (row["training"], row["targets"]) == ("padir", "own (encoder of ar)")
    assert row["temperature"] == "1 to 0.5"
    means = [row[key] for key in ("acceptance", "start", "last", "best")]
    assert means == pytest.approx([0.5, 30, 16, 8])
    assert (row["bleu"], row["validity"], row["stutter"]) == (39.5, 75.0, 0.2)

    # Chains of other settings beside a score of these are an absence, not a row.
    made_up.write(provenance, {"digests": dict.fromkeys(digests, "other")})
    results = made_up.load("samplers")
    assert not results.samples
    command = f"snakemake --cores all --force {path}"
    note = f"Not shown: {path}: made with other settings; run: {command}"
    assert note in absence_notes(results)
