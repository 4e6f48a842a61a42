"""What is made of measured pairs: the numbers of the tables, against plain loops over them."""

import random
from collections import Counter
from itertools import pairwise
from math import log

import numpy as np
import pytest
from scipy.stats import spearmanr

from padir.analysis import document
from padir.analysis.attention import AnalysedHypothesis, Extractor
from padir.analysis.contrasts import FEWEST, TOP_SHARE, contrast
from padir.analysis.dependence import Measures, Ranks
from padir.analysis.pairs import PREDICTORS, Pairs, Repeats, collect, repeats
from padir.config.data import SyntheticSource
from padir.data.synthetic import draw_sentence, make_grammar, mode_probability
from padir.decode.candidates import LengthRule
from padir.decode.translate import Translator
from padir.score.significance import resample_counts
from tests.decoding import LINES, tiny_decoder, tiny_model

SENTENCES, PIECES, REACH = 40, 6, 3
# As the hypotheses have it: closer cross-attention and nearer positions depend more.
LESS = ("total_variation", "cosine", "jensen_shannon", "distance")
MODE_STRENGTH = 0.7


@pytest.fixture(scope="module")
def made_up():
    """Pairs with random numbers, and which adjacent ones stutter, some by licence."""
    generator = np.random.default_rng(11)
    places = [
        (s, i, d)
        for s in range(SENTENCES)
        for i in range(PIECES - 1)
        for d in range(1, min(REACH, PIECES - 1 - i) + 1)
    ]
    sentence, left, distance = np.array(places).T
    adjacent = int((distance == 1).sum())

    def heads():
        return generator.random((adjacent, 2, 3)).astype(np.float32)

    values = {name: generator.random(len(places)) for name in (*PREDICTORS, "probe")}
    values["distance"] = distance.astype(np.float32)
    pairs = Pairs(
        sentence=sentence,
        left=left,
        distance=distance,
        values=values,
        heads={name: heads() for name in Measures._fields},
        ranks={name: generator.random(adjacent) for name in Ranks._fields},
    )
    equal, allowed = generator.random(adjacent) < 0.3, generator.random(adjacent) < 0.2
    return pairs, Repeats(equal & ~allowed, equal & allowed)


def area(score, positive):
    high, low = np.array(score)[positive], np.array(score)[~np.array(positive)]
    return ((high[:, None] > low) + (high[:, None] == low) / 2).mean()


def test_groups_are_compared_by_their_own_pairs_numbers(made_up):
    pairs, repeats = made_up
    made = document.compared(pairs, repeats, SENTENCES, samples=80)
    yes = np.flatnonzero(repeats.stutter)
    no = np.flatnonzero(~repeats.stutter & ~repeats.licensed)
    assert (made["stuttering"], made["other"]) == (len(yes), len(no))
    right, left = pairs.heads["self_right"], pairs.heads["self_left"]
    weights = {name: values.reshape(len(values), 6) for name, values in pairs.heads.items()}
    weights["self_attention"] = np.concatenate([weights["self_right"], weights["self_left"]], 1)
    for name, rows in weights.items():
        for kind, reduce in (("min", np.min), ("mean", np.mean), ("max", np.max)):
            contrasts = made["contrasts"][f"{name} {kind}"]
            numbers = np.array([reduce(row) for row in rows], float)
            assert contrasts["mean"] == pytest.approx(numbers[yes].mean())
            assert contrasts["other_mean"] == pytest.approx(numbers[no].mean())
            assert contrasts["deviation"] == pytest.approx(numbers[yes].std(ddof=1))
    next_to = pairs.distance == 1
    alone = {
        name: pairs.values[name][next_to] for name in ("surprisal", "entropy", "overlap", "probe")
    }
    for name, numbers in (alone | pairs.ranks).items():
        assert made["contrasts"][name]["mean"] == pytest.approx(numbers[yes].mean())
    # By head: the same test as of one column alone, with the sign of what it tests.
    by_head = {"self_attention": (right + left) / 2} | {n: pairs.heads[n] for n in LESS[:3]}
    assert set(made["heads"]) == set(by_head)
    kept = ~repeats.licensed
    for name, values in by_head.items():
        for layer, head in ((0, 2), (1, 0)):
            recomputed = contrast(
                values[kept][:, layer, head, None], repeats.stutter[kept],
                pairs.sentence[next_to][kept], SENTENCES, 80,
            )  # fmt: skip
            for key in ("mean", "other_mean", "effect", "within", "within_effect", "p_value"):
                shown = made["heads"][name][key][layer][head]
                assert shown == pytest.approx(getattr(recomputed, key)[0], rel=1e-5), (name, key)


def test_predictors_are_turned_as_their_hypotheses_have_them(made_up):
    pairs, repeats = made_up
    rows = document.predicted(pairs, repeats, resample_counts(SENTENCES, 80))
    told = {(row["target"], row["pairs"], row["predictor"]): row for row in rows}
    asked = {("probe", "near", name) for name in PREDICTORS}
    asked |= {("probe", "adjacent", name) for name in PREDICTORS if name != "distance"}
    asked |= {("stutter", "adjacent", n) for n in (*PREDICTORS, "probe") if n != "distance"}
    assert set(told) == asked
    near = np.ones(len(pairs.sentence), bool)
    for (target, kind, name), row in told.items():
        chosen = pairs.distance == 1 if kind == "adjacent" else near
        score = (-1 if name in LESS else 1) * np.array(pairs.values[name][chosen], float)
        probe = pairs.values["probe"][chosen]
        if target == "stutter":
            score, positive = score[~repeats.licensed], repeats.stutter[~repeats.licensed]
        else:
            count = round(TOP_SHARE * len(probe))
            positive = probe >= sorted(probe)[-count]
            assert row["correlation"] == pytest.approx(spearmanr(score, probe).statistic)
        assert row["auc"] == pytest.approx(area(score, positive)), (target, kind, name)
        assert row["positives"] == positive.sum()


@pytest.mark.parametrize("strong", [0, FEWEST - 1, FEWEST])
def test_pairs_without_dependence_are_never_strong(made_up, strong):
    pairs, repeats = made_up
    probe = np.zeros(len(pairs.sentence))
    probe[:strong] = 0.1
    quiet = Pairs(
        pairs.sentence, pairs.left, pairs.distance, pairs.values | {"probe": probe},
        pairs.heads, pairs.ranks,
    )  # fmt: skip
    rows = document.predicted(quiet, repeats, resample_counts(SENTENCES, 80))
    asked = [row for row in rows if (row["target"], row["pairs"]) == ("probe", "near")]
    assert len(asked) == len(PREDICTORS)
    for row in asked:
        assert row["positives"] == strong
        assert (row["auc"] is None) == (row["interval"] is None) == (strong < FEWEST)


def true_information(distribution, i, j):
    """Mutual information of two positions by going through all pairs of words."""
    joint, left, right = Counter(), Counter(), Counter()
    for sequence, probability in distribution.items():
        joint[sequence[i], sequence[j]] += probability
        left[sequence[i]] += probability
        right[sequence[j]] += probability
    return sum(p * log(p / (left[a] * right[b])) for (a, b), p in joint.items())


def test_proxies_are_judged_against_the_grammars_own_distribution(tmp_path):
    size = SyntheticSource(
        kind="synthetic", train=1, valid=1, test=1, nouns=6, verbs=4, adjectives=3, adverbs=2,
        postpositions=2, min_words=4, max_words=9,
    )  # fmt: skip
    grammar, generator = make_grammar(size), random.Random(1)
    lines = [grammar.source(draw_sentence(generator, size)) for _ in range(14)]
    targets = [grammar.translations(line) for line in lines]
    text = [*lines, *(line for translations in targets for line in translations.values())]
    loaded = tiny_model(
        tmp_path / "bundle", "padir", words=sorted({w for line in text for w in line.split()}),
    )  # fmt: skip
    decoder = tiny_decoder("padir", LengthRule(0.0, 1.0))
    translator, extractor = Translator(loaded, decoder, 1), Extractor(loaded, decoder, 4, 2)
    test = document.TestSet(
        lines, [[translations[min(translations)] for translations in targets]], "xt", grammar
    )
    options = document.Options((1,), 60, MODE_STRENGTH)
    exact = document.analyse(translator, extractor, test, options)["exact"]
    # The twin: distributions by hand, at their likeliest length, where the model can hold it.
    distributions = []
    for translations in targets:
        distribution = Counter()
        for mode, line in translations.items():
            distribution[tuple(line.split())] += mode_probability(mode, MODE_STRENGTH)
        lengths = Counter()
        for words, probability in distribution.items():
            lengths[len(words)] += probability
        best = max(lengths, key=lambda length: (round(lengths[length], 12), -length))
        distributions.append(
            {w: p / lengths[best] for w, p in distribution.items() if len(w) == best}
        )
    fits = [
        s
        for s, distribution in enumerate(distributions)
        if len(next(iter(distribution))) < extractor.longest
    ]
    assert 0 < len(fits) < len(lines)
    chosen = [AnalysedHypothesis(len(next(iter(distributions[s]))) + 1) for s in fits]
    pairs = collect(extractor, translator.encode([lines[s] for s in fits]), chosen, 1)
    places = list(zip(pairs.sentence, pairs.left, pairs.left + pairs.distance, strict=True))
    truth = np.array([true_information(distributions[fits[s]], i, j) for s, i, j in places])
    truth[truth < 1e-12] = 0
    assert np.any((truth > 0) & (truth < 0.2)) and np.any(truth > 0.2) and np.any(truth == 0)
    assert exact["pairs"] == len(places)
    assert exact["sentences"] == len(fits)
    assert exact["dependent"] == (truth > 0).sum()
    assert exact["several"] == sum(len(distributions[s]) > 1 for s in fits)
    assert exact["mean_information"] == pytest.approx(truth.mean(), rel=1e-5)
    assert exact["mean_probe"] == pytest.approx(pairs.values["probe"].mean(), rel=1e-5)
    assert len(exact["prediction"]) == 2 * len(PREDICTORS) + 1
    for row in exact["prediction"]:
        name = row["predictor"]
        kept = pairs.distance == 1 if row["pairs"] == "adjacent" else np.ones(len(truth), bool)
        score = (-1 if name in LESS else 1) * np.array(pairs.values[name][kept], float)
        assert row["positives"] == (truth[kept] > 0).sum()
        assert row["auc"] == pytest.approx(area(score, truth[kept] > 0), abs=1e-5), name
        ranks = np.round(truth[kept], 9)
        assert row["correlation"] == pytest.approx(spearmanr(score, ranks).statistic, abs=1e-5)


def test_without_a_translation_that_the_model_can_hold_nothing_is_exact(tmp_path):
    size = SyntheticSource(kind="synthetic", train=1, valid=1, test=1, min_words=13, max_words=13)
    grammar, generator = make_grammar(size), random.Random(1)
    lines = [grammar.source(draw_sentence(generator, size)) for _ in range(2)]
    targets = [line for each in lines for line in grammar.translations(each).values()]
    words = sorted({word for line in (*lines, *targets) for word in line.split()})
    loaded = tiny_model(tmp_path / "bundle", "padir", words=words)
    decoder = tiny_decoder("padir", LengthRule(0.0, 1.0))
    translator, extractor = Translator(loaded, decoder, 1), Extractor(loaded, decoder, 4, 2)
    test = document.TestSet(lines, [lines], "xt", grammar)
    made = document.analyse(translator, extractor, test, document.Options((1,), 60, MODE_STRENGTH))
    assert made["exact"] is None


def test_numbers_are_cut_to_six_significant_digits():
    given = {"a": [1 / 3, (12345678.9, None)], "b": True, "c": 1234567, "d": "0.1234567"}
    cut = {"a": [0.333333, [12345700.0, None]], "b": True, "c": 1234567, "d": "0.1234567"}
    assert document.rounded(given) == cut


def test_each_pass_is_about_its_own_hypotheses(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir")
    decoder = tiny_decoder("padir", LengthRule(0.0, 1.0))
    # Of the first reference's length; the second repeats a word.
    translator = Translator(loaded, decoder, 2, oracle_length=True)
    extractor = Extractor(loaded, decoder, 2, 2)
    lines = [line for line in LINES if line]
    references = [lines, ["ko ko" if number % 2 else "ve ve" for number in range(len(lines))]]
    options = document.Options((3, 1), 60)
    made = document.analyse(
        translator, extractor, document.TestSet(lines, references, "xt"), options
    )
    sources, licences = translator.encode(lines), translator.encode(references[1])
    seen = []
    for number, record in zip((3, 1), made["passes"], strict=True):
        ranked = translator.with_passes(number).candidates(sources, references=lines)
        chosen = [AnalysedHypothesis.best(row, translator.rule) for row in ranked]
        tokens = [row[each.number].tokens for row, each in zip(ranked, chosen, strict=True)]
        assert list(map(len, tokens)) == [len(line.split()) for line in lines]
        pairs = collect(extractor, sources, chosen, number)
        repeated = repeats(pairs, tokens, list(zip(sources, licences, strict=True)))
        excess = 0
        for index, words in enumerate(tokens):
            said = Counter(a for a, b in pairwise(words) if a == b)
            both = (sources[index], licences[index])
            allowed = [Counter(a for a, b in pairwise(ids) if a == b) for ids in both]
            excess += sum(max(0, n - max(c[a] for c in allowed)) for a, n in said.items())
        assert record["words_per_100"] == pytest.approx(100 * excess / sum(map(len, tokens)), 1e-5)
        assert record["licensed"] == repeated.licensed.sum() > 0
        assert (record["pass"], record["pairs"]) == (number, len(pairs.sentence))
        assert record["adjacent"] == (pairs.distance == 1).sum()
        compared = document.compared(pairs, repeated, len(lines), 60)
        predicted = document.predicted(pairs, repeated, resample_counts(len(lines), 60))
        assert record["contrasts"] == document.rounded(compared["contrasts"])
        assert record["prediction"] == document.rounded(predicted)
        seen.append((excess, record["licensed"], record["mixed_sentences"]))
    assert all(first != second for first, second in zip(*seen, strict=True))
    # The claims are about the first of the passes asked for.
    for claim in made["claims"]:
        assert claim["measured"].startswith(f"{seen[0][2]} sentences with a stutter at pass 3; ")
    assert document.rounded(made) == made
