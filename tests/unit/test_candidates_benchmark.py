"""benchmarks/candidates.py: each way to choose by hand, and its table with tiny random models."""

import pytest

from benchmarks import candidates as benchmark
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.load import find_decoder, load
from padir.decode.translate import Translator
from padir.decode.tune import tune
from padir.files import read_lines, write_lines
from padir.score.bleu import RepeatedBleu
from tests.decoding import LINES, tiny_decoder, write_decoder, write_tiny_bundle

REFERENCE = "the red house stands on the hill"


def candidate(length, log_probability, length_log_probability):
    return Candidate((), length, log_probability, length_log_probability, 1)


@pytest.fixture
def pool():
    """One sentence of three candidates; "BLEU" is the chosen one's place."""
    rows = [candidate(4, -3.0, -2.0), candidate(6, -2.9, -1.0), candidate(9, -3.5, -3.0)]
    texts = ["the red house", REFERENCE, "a wholly different text of other words"]
    return benchmark.Pool(
        sources=[[7] * 8],
        candidates=[rows],
        texts=[texts],
        references=[REFERENCE],
        lengths=[9],
        rules=[LengthRule(0.0, 0.0), LengthRule(3.0, 0.0)],
        bleu=lambda hypotheses: float(texts.index(hypotheses[0])),
    )


def test_the_likeliest_length(pool):
    assert benchmark.likeliest_length(pool) == (1.0, "")


def test_the_best_length_rule_and_its_settings(pool):
    assert benchmark.length_rule(pool) == (2.0, "alpha 3, weight 0")


def test_other_log_probabilities_are_ranked_by_the_best_rule(pool):
    judged = [[candidate(4, -1.0, 0.0), candidate(6, -50.0, 0.0), candidate(9, -60.0, 0.0)]]
    assert pool.best_rule(judged)[0] == 0.0


def test_the_length_nearest_to_the_references(pool):
    assert benchmark.nearest_length(pool) == (2.0, "")


def test_of_two_lengths_as_near_the_likelier_one(pool):
    pool.lengths[0] = 5
    assert benchmark.nearest_length(pool) == (1.0, "")


def test_the_highest_sentence_bleu(pool):
    assert benchmark.highest_bleu(pool) == (1.0, "")


@pytest.mark.parametrize("metric", ["BLEU", "chrF++"])
def test_minimum_risk_takes_the_one_most_like_all(pool, metric):
    pool.texts[0][:] = ["a b c d x y", "a b c d e f", "z w c d e f"]
    assert benchmark.minimum_risk(pool, metric) == (1.0, "")


def test_a_target_ratio_outweighs_the_rule(pool):
    pool.rules[:] = [LengthRule(0.0, 0.0)]
    bleu, settings = benchmark.target_ratio(pool)
    # Of 8 source tokens, 9 * 8 / 10 and 8 are both nearest to the candidate of 8 without EOS.
    assert bleu == 2.0 and settings.startswith("alpha 0, weight 0, ratio 1")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Rows of the table: from the way to choose to its other cells."""
    monkeypatch.setattr(benchmark, "prepare", lambda threads: None)
    lines = list(LINES)
    write_lines(tmp_path / "source", lines)
    write_lines(tmp_path / "reference", [" ".join(reversed(line.split())) for line in lines])

    def make(*bundles, options=()):
        argv = ["--bundle", *map(str, bundles), "--passes", "2", "--target-language", "en"]
        argv += ["--source", str(tmp_path / "source"), "--out", str(tmp_path / "out.md")]
        argv += ["--references", str(tmp_path / "reference"), *options]
        assert benchmark.main(argv) == 0
        _, _, *rows = [x for x in read_lines(tmp_path / "out.md") if x.startswith("| ")]
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
        return {name: rest for name, *rest in cells}

    return make


def bundle_of(folder, system, seed=0):
    bundle = write_tiny_bundle(folder, system, seed=seed)
    write_decoder(bundle / f"decoders/{system}.json", tiny_decoder(system, LengthRule(0.6, 1.0)))
    return bundle


def test_the_table_agrees_with_padir_tune(table, tmp_path):
    bundle = bundle_of(tmp_path / "padir", "padir")
    lines, references = read_lines(tmp_path / "source"), read_lines(tmp_path / "reference")
    loaded = load(bundle)
    translator = Translator(loaded, find_decoder(loaded, "padir"), 2)
    bleu = RepeatedBleu([references], "en")
    [*_, (_, best)] = sorted(
        tune(translator, lines, "source", bleu, references), key=lambda pair: pair[1]
    )
    rows = table(bundle)
    assert rows["length rule"][0] == f"{best:.2f}" != rows["likeliest length"][0]
    assert list(rows)[-2:] == ["nearest to the reference's length", "highest sentence BLEU"]
    scores = {name: float(cells[0]) for name, cells in rows.items()}
    assert scores["length rule and target length ratio"] >= scores["length rule"]
    assert rows["pseudo-likelihood (one more pass), length rule"][0] != rows["length rule"][0]
    assert "AR, length rule" not in rows


def test_several_models_have_columns_and_a_mean(table, tmp_path):
    bundles = [bundle_of(tmp_path / f"seed{seed}", "cmlm", seed) for seed in (2, 3)]
    reranker = write_tiny_bundle(tmp_path / "ar", "ar")
    rows = table(*bundles, options=["--reranker", str(reranker)])
    for first, second, mean, _ in rows.values():
        assert float(mean) == pytest.approx((float(first) + float(second)) / 2, abs=0.0101)
    assert any(first != second for first, second, *_ in rows.values())
    assert rows["AR, length rule"][2] != rows["length rule"][2]
    # CMLM's loss is on masked tokens alone.
    assert not any(name.startswith("pseudo-likelihood") for name in rows)
