"""benchmarks/candidates.py: each way to choose by hand, and its table with tiny random models."""

import math

import pytest
import sacrebleu

from benchmarks import candidates as benchmark
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.load import load
from padir.decode.pseudo import PseudoLikelihood
from padir.decode.rerank import Reranker
from padir.decode.translate import Translator
from padir.decode.tune import length_rules, tune
from padir.files import read_lines, write_lines
from padir.score.bleu import RepeatedBleu
from tests.decoding import LINES, tiny_decoder, write_decoder, write_tiny_bundle

ALL_LENGTHS = 11
PLAIN = LengthRule(0.0, 0.0)


def candidate(length, log_probability, length_log_probability):
    return Candidate((), length, log_probability, length_log_probability, 1)


@pytest.fixture
def pool():
    """One sentence of eight source tokens and three candidates; "BLEU" is the chosen one's place.

    Without EOS the candidates have 3, 5 and 8 tokens; the reference has 9 with EOS.
    """
    texts = ["first", "second", "third"]
    return benchmark.Pool(
        sources=[[7] * 8],
        candidates=[[candidate(4, -3.0, -2.0), candidate(6, -2.9, -1.0), candidate(9, -3.3, -3.0)]],
        texts=[texts],
        references=["second"],
        lengths=[9],
        rules=[PLAIN],
        bleu=lambda hypotheses: float(texts.index(hypotheses[0])),
    )


def test_the_likeliest_length(pool):
    assert benchmark.likeliest_length(pool) == (1.0, 6 / 9, "")


def test_the_best_length_rule_and_its_settings(pool):
    pool.rules.append(LengthRule(3.0, 0.0))
    assert benchmark.length_rule(pool) == (2.0, 1.0, "alpha 3, weight 0")


@pytest.mark.parametrize(
    ("ratio", "weight", "chosen"),
    [
        # -3.3 against -2.9 - ln(8/5) = -3.37.
        (1.0, 1.0, 2.0),
        # The length rule outweighs the ratio.
        (1.0, 0.1, 1.0),
        # A target of 4 tokens: -3 - ln(4/3) = -3.29, -2.9 - ln(5/4) = -3.12, -3.3 - ln(2) = -3.99.
        (0.5, 1.0, 1.0),
    ],
)
def test_a_target_length_ratio(pool, monkeypatch, ratio, weight, chosen):
    monkeypatch.setattr(benchmark, "RATIOS", (ratio,))
    monkeypatch.setattr(benchmark, "WEIGHTS", (weight,))
    bleu, _, settings = benchmark.target_ratio(pool)
    assert bleu == chosen
    assert settings == f"alpha 0, weight 0, ratio {ratio:g}, its weight {weight:g}"


@pytest.mark.parametrize(("weight", "chosen"), [(1.0, 2.0), (0.1, 1.0)])
def test_an_oracle_length_is_weighed_against_the_rule(pool, monkeypatch, weight, chosen):
    monkeypatch.setattr(benchmark, "WEIGHTS", (weight,))
    # -2.9 - ln(9/6) = -3.305.
    assert benchmark.reference_length(pool).bleu == chosen


def test_the_length_nearest_to_the_references(pool):
    assert benchmark.nearest_length(pool) == (2.0, 1.0, "")


def test_of_two_lengths_as_near_the_likelier_one(pool):
    pool.lengths[0] = 5
    assert benchmark.nearest_length(pool).bleu == 1.0


def test_the_highest_sentence_score(pool):
    score = {"first": 0.1, "second": 0.7, "third": 0.2}
    chosen = benchmark.highest_bleu(pool, lambda text, reference: score[text])
    assert chosen == (1.0, 6 / 9, "")


def test_minimum_risk_takes_the_one_most_like_all(pool):
    likeness = {("first", "third"): 0.6, ("second", "third"): 0.5, ("first", "second"): 0.1}
    score = lambda *pair: 1.0 if len({*pair}) == 1 else likeness[tuple(sorted(pair))]  # noqa: E731
    assert benchmark.minimum_risk(pool, score).bleu == 2.0


def test_sentence_scores_are_sacrebleus():
    text, reference = "a b c d e f g", "a b c d x f g"
    bleu = sacrebleu.sentence_bleu(text, [reference]).score
    chrf = sacrebleu.sentence_chrf(text, [reference], word_order=2).score
    assert benchmark.sentence_score("BLEU", "en")(text, reference) == bleu != chrf
    assert benchmark.sentence_score("chrF++", "en")(text, reference) == chrf
    chinese = ("我们喜欢红色的房子", "我们喜欢红色的花园")
    by_characters, by_spaces = (
        benchmark.sentence_score("BLEU", code)(*chinese) for code in ("zh", "en")
    )
    assert by_characters > by_spaces


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Rows of the table: from the way to choose to its other cells; and its notes."""
    monkeypatch.setattr(benchmark, "prepare", lambda threads: None)
    lines = [line for line in LINES if line]
    write_lines(tmp_path / "source", lines)
    write_lines(tmp_path / "reference", [" ".join(reversed(line.split())) for line in lines])

    def make(*bundles, options=()):
        argv = ["--bundle", *map(str, bundles), "--passes", "2", "--target-language", "en"]
        argv += ["--source", str(tmp_path / "source"), "--out", str(tmp_path / "out.md")]
        argv += ["--references", str(tmp_path / "reference"), *options]
        assert benchmark.main(argv) == 0
        text = read_lines(tmp_path / "out.md")
        _, _, *rows = [line for line in text if line.startswith("| ")]
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
        notes = [line for line in text if line.startswith("- ")]
        return {name: rest for name, *rest in cells}, notes

    return make


def bundle_of(folder, system, seed=2, **settings):
    bundle = write_tiny_bundle(folder, system, seed=seed)
    decoder = tiny_decoder(system, LengthRule(0.6, 1.0), **settings)
    write_decoder(bundle / f"decoders/{system}.json", decoder)
    return bundle, decoder


def tuned(bundle, decoder, folder, reranker=None):
    """The highest BLEU of a length rule, as padir tune finds it."""
    translator = Translator(load(bundle), decoder, 2, reranker=reranker)
    lines, references = (read_lines(folder / name) for name in ("source", "reference"))
    bleu = RepeatedBleu([references], "en")
    return max(score for _, score in tune(translator, lines, "source", bleu, references))


def test_the_table_agrees_with_padir_tune(table, tmp_path):
    bundle, decoder = bundle_of(tmp_path / "padir", "padir")
    ar = write_tiny_bundle(tmp_path / "ar", "ar")
    rows, _ = table(bundle, options=["--reranker", str(ar)])
    assert rows["length rule"][0] == f"{tuned(bundle, decoder, tmp_path):.2f}"
    reranking = tiny_decoder("padir", LengthRule(0.6, 1.0), reranker="tiny_ar")
    best = tuned(bundle, reranking, tmp_path, Reranker(load(ar)))
    assert rows["reranked by AR"][0] == f"{best:.2f}" != rows["length rule"][0]


def test_pseudo_likelihood_ranks_finished_hypotheses(table, tmp_path):
    bundle, decoder = bundle_of(tmp_path / "padir", "padir")
    rows, _ = table(bundle)
    translator = Translator(load(bundle), decoder, 2)
    sources = translator.encode(read_lines(tmp_path / "source"))
    judged = PseudoLikelihood(translator).score(sources, translator.candidates(sources))
    bleu = RepeatedBleu([read_lines(tmp_path / "reference")], "en")
    scores = []
    for rule in length_rules(decoder.settings):
        translator.use(rule)
        scores.append(bleu([each.hypothesis for each in translator.finish(sources, judged)]))
    shown = rows["pseudo-likelihood (one more pass)"][0]
    assert shown == f"{max(scores):.2f}" != rows["length rule"][0]


def test_of_all_lengths_the_nearest_is_the_references(table, tmp_path):
    bundle, decoder = bundle_of(tmp_path / "cmlm", "cmlm", length_candidates=ALL_LENGTHS)
    rows, notes = table(bundle)
    lines, references = (read_lines(tmp_path / name) for name in ("source", "reference"))
    translator = Translator(load(bundle), decoder, 2, oracle_length=True)
    made = translator.translate(lines, "source", references=references)
    bleu = RepeatedBleu([references], "en")([each.hypothesis for each in made])
    bleu_shown, length, _ = rows["oracle: nearest to the reference's length"]
    assert (bleu_shown, length) == (f"{bleu:.2f}", "1.000")
    assert any("in 100.0% of the sentences" in note for note in notes)
    # CMLM's loss is on masked tokens alone.
    assert not any(name.startswith("pseudo-likelihood") for name in rows)


def test_seeds_have_columns_and_a_mean(table, tmp_path):
    bundles = [bundle_of(tmp_path / f"seed{seed}", "padir", seed)[0] for seed in (2, 3)]
    rows, _ = table(*bundles)
    for first, second, mean, *_ in rows.values():
        assert math.isclose(float(mean), (float(first) + float(second)) / 2, abs_tol=0.0101)
    assert any(first != second for first, second, *_ in rows.values())


@pytest.mark.parametrize("other", [("padir", 2), ("cmlm", 3)])
def test_bundles_are_seeds_of_one_training(table, tmp_path, capsys, other):
    system, seed = other
    bundles = [
        bundle_of(tmp_path / "one", "padir", 2)[0],
        bundle_of(tmp_path / "two", system, seed)[0],
    ]
    with pytest.raises(SystemExit):
        table(*bundles)
    assert "--bundle: allowed are different seeds of one training" in capsys.readouterr().err


def test_a_folder_that_is_no_bundle_is_named(table, tmp_path, capsys):
    with pytest.raises(SystemExit):
        table(tmp_path / "missing")
    assert "missing: no such folder" in capsys.readouterr().err
