"""Tables of the core rows: each column shows its own value of the documents."""

import json

from tests.unit.report.conftest import line

RATES = (
    *("per_100", "low", "high", "per_sentence", "sentences_share"),
    *("reference_per_100", "excess_per_100", "excess_low", "excess_high"),
)


def numbered(start: int) -> dict[str, float]:
    """Stutter rates that all differ: `start` and the numbers after it."""
    return {name: float(start + number) for number, name in enumerate(RATES)}


def test_columns_of_the_stutter_table_by_hand(made_up):
    stutter = {
        "unit": "word", "words": numbered(10), "words_before_drop": numbered(20),
        "tokens": numbered(30), "tokens_before_drop": numbered(40),
        "run_lengths": {}, "run_lengths_before_drop": {},
    }  # fmt: skip
    columns = ("excess", "excess_interval", "reference", "sentences", "tokens_before", "tokens")
    made_up.score("padir_raw/padir/T4", stutter=stutter)
    row = line(made_up.table("stutter"), "padir_raw", "padir", "4")
    # Of the text before the drop, but for the reference; shares of sentences in per cent.
    assert [row[key] for key in columns] == [26, (27, 28), 15, 2400, 40, 30]
    undropped = dict.fromkeys(("words_before_drop", "tokens_before_drop"))
    made_up.score("padir_raw/padir/T4", stutter=stutter | undropped)
    row = line(made_up.table("stutter"), "padir_raw", "padir", "4")
    assert [row[key] for key in columns] == [16, (17, 18), 15, 1400, None, 30]


def test_columns_of_table_1_by_hand(made_up):
    chrf = {"score": 61.5, "low": 1.0, "high": 99.0, "signature": "chrF|x"}
    made_up.score("padir_raw/padir/T4", chrf=chrf)
    row = line(made_up.table("table1"), "padir_raw", "padir", "4")
    assert (row["bleu"], row["chrf"], row["validity"]) == (24.0, 61.5, 75.0)
    # By approximate randomisation, of rows with one seed.
    assert (row["seeds"], row["p_value"]) == (1, 0.01)


def test_columns_of_the_latency_table_by_hand(made_up):
    path = made_up.latency()
    document = json.loads(path.read_text())
    timed = {
        "p50_ms": 1.0, "p90_ms": 2.0, "p99_ms": 3.0, "mean_ms": 4.0, "passes_mean": 5.0,
        "tokens_mean": 6.0, "compile_s": 7.0,
    }  # fmt: skip
    document["rows"][0] |= timed
    path.write_text(json.dumps(document))
    row = made_up.table("latency").rows[0]
    columns = {key.removesuffix("_mean"): value for key, value in timed.items()}
    assert {key: row[key] for key in columns} == columns
