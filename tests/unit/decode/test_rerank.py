"""Candidates ranked by an AR model: its log-probabilities, what they change, what is refused."""

from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from padir.bundle import read_bundle, write_bundle
from padir.config.data import VocabularySettings
from padir.config.training import RunSpec
from padir.decode.candidates import Candidate, LengthRule
from padir.decode.given_files import read_constraints
from padir.decode.load import find_decoder, load
from padir.decode.rerank import Reranker
from padir.decode.translate import Translator
from padir.decode.tune import length_rules, tune
from padir.files import InputError, write_lines
from padir.ids import EOS, FIRST_PIECE, START
from padir.vocab import train_vocabulary
from tests.decoding import LINES, tiny_decoder, tiny_model, write_decoder

RULE = LengthRule(1.0, 0.5)
RERANKED = tiny_decoder("padir", RULE, name="reranked", reranker="tiny_ar")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rerank")


@pytest.fixture(scope="module")
def ar(folder):
    return tiny_model(folder / "ar", "ar", seed=10)


@pytest.fixture(scope="module")
def padir(folder):
    return tiny_model(folder / "padir", "padir")


@pytest.fixture(scope="module")
def reranker(ar):
    return Reranker(ar)


@pytest.fixture(scope="module")
def reranked(padir, reranker):
    return Translator(padir, RERANKED, 3, reranker=reranker)


@pytest.fixture(scope="module")
def plain(folder):
    """The same parallel model without a reranker."""
    return Translator(tiny_model(folder / "plain", "padir"), tiny_decoder("padir", RULE), 3)


@pytest.fixture(scope="module")
def expected(ar):
    """The log-probability of one hypothesis: nothing padded, nothing batched, in numpy."""
    allowed = [EOS, *range(FIRST_PIECE, ar.vocabulary.size)]

    @cache
    def score(source, tokens):
        cross = ar.model.encode(jnp.array([[*source, EOS]])).cross
        logits = ar.model.decode(jnp.array([[START, *tokens]]), cross)[0]
        logits = np.asarray(logits, np.float64)[:, allowed]
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return sum(
            logits[place, allowed.index(token)] for place, token in enumerate([*tokens, EOS])
        )

    return lambda source, tokens: score(tuple(source), tuple(tokens))


def equal(ours, theirs):
    """The same candidates, log-probabilities but for rounding."""
    for several, others in zip(ours, theirs, strict=True):
        for candidate, other in zip(several, others, strict=True):
            assert candidate.log_probability == pytest.approx(other.log_probability, abs=1e-4)
            assert replace(candidate, log_probability=0.0) == replace(other, log_probability=0.0)


def test_log_probability_is_that_of_every_token_and_eos(plain, reranker, expected):
    sources = plain.encode(LINES)
    before = plain.candidates(sources)
    after = reranker.rerank(sources, before, "float32")
    wanted = [
        [
            replace(candidate, log_probability=expected(source, candidate.tokens))
            for candidate in several
        ]
        for source, several in zip(sources, before, strict=True)
    ]
    equal(after, wanted)
    assert [len(several) for several in after] == [3 if line else 0 for line in LINES]
    scores = [
        [candidate.log_probability for candidate in several] for several in (after[0], before[0])
    ]
    assert np.abs(np.subtract(*scores)).min() > 0.01  # not the parallel model's own


@pytest.mark.parametrize("weights", ["float32", "bfloat16"])
@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_reranker_reproduces_the_log_probability_of_ar_search(ar, reranker, search, weights):
    searcher = Translator(ar, tiny_decoder(search, RULE, weights=weights))
    sources = searcher.encode(LINES)
    candidates = searcher.candidates(sources)
    ended = [
        [candidate for candidate in several if candidate.length == len(candidate.tokens) + 1]
        for several in candidates
    ]
    assert any(ended)
    equal(reranker.rerank(sources, ended, weights), ended)


@pytest.mark.parametrize("weights", ["float32", "bfloat16"])
def test_the_reranker_has_the_precision_of_its_decoder(padir, reranker, weights):
    decoder = tiny_decoder("padir", RULE, name="reranked", reranker="tiny_ar", weights=weights)
    translator = Translator(padir, decoder, 3, reranker=reranker)
    sources = translator.encode(LINES)
    ours = translator.candidates(sources)
    equal(ours, reranker.rerank(sources, ours, weights))
    other = reranker.rerank(sources, ours, "bfloat16" if weights == "float32" else "float32")
    differences = [
        abs(candidate.log_probability - rounded.log_probability)
        for several, others in zip(ours, other, strict=True)
        for candidate, rounded in zip(several, others, strict=True)
    ]
    assert max(differences) > 1e-3


def test_batch_padding_order_and_neighbours_do_not_matter(folder, plain, reranker):
    sources = plain.encode(LINES)
    candidates = plain.candidates(sources)
    large = reranker.rerank(sources, candidates, "float32")
    tight = tiny_model(folder / "tight", "ar", seed=10, buckets=(4, 8, 12))
    equal(Reranker(tight, 2).rerank(sources, candidates, "float32"), large)
    order = np.random.default_rng(0).permutation(len(LINES))
    shuffled = reranker.rerank(
        [sources[i] for i in order], [candidates[i] for i in order], "float32"
    )
    equal(shuffled, [large[i] for i in order])
    for index in (1, 4):
        alone = [[candidate] for candidate in candidates[index]]
        reranked_alone = reranker.rerank([sources[index]] * len(alone), alone, "float32")
        equal([[candidate for (candidate,) in reranked_alone]], [large[index]])
    # Sentences with different numbers of candidates, and the same candidate twice.
    several = [row[: 1 + index % 3] * 2 for index, row in enumerate(candidates)]
    equal(
        reranker.rerank(sources, several, "float32"),
        [row[: 1 + index % 3] * 2 for index, row in enumerate(large)],
    )


def test_no_candidates_stay_no_candidates(reranker):
    assert reranker.rerank([], [], "float32") == []
    assert reranker.rerank([[], [8]], [[], []], "float32") == [[], []]


def test_the_reranker_decides_between_candidates(reranked, reranker, expected):
    """Its own model prefers the first by far; the AR model, the second."""
    source = reranked.encode(["ba ko mi"])[0]
    first, second = sorted(((8, 9, 10), (11, 12, 13)), key=lambda tokens: expected(source, tokens))
    candidates = [
        Candidate(tokens, 4, score, 0.0, 2) for tokens, score in ((first, -0.5), (second, -90.0))
    ]
    assert RULE.choose(candidates).tokens == first
    chosen = reranked.finish([source], reranked.reranked([source], [candidates]))[0]
    assert chosen.tokens_before_drop == second
    assert chosen.log_probability == pytest.approx(expected(source, second), abs=1e-4)
    assert chosen.steps == 2


def test_translations_are_chosen_by_the_reranker(plain, reranked, expected):
    sources = plain.encode(LINES)
    wanted = []
    for source, several in zip(sources, plain.candidates(sources), strict=True):
        ranked = [replace(c, log_probability=expected(source, c.tokens)) for c in several]
        wanted.append(RULE.choose(ranked).tokens if ranked else ())
    hypotheses = reranked.translate(LINES, "lines")
    free = plain.translate(LINES, "lines")
    assert [hypothesis.tokens_before_drop for hypothesis in hypotheses] == wanted
    assert wanted != [hypothesis.tokens_before_drop for hypothesis in free]
    assert [hypothesis.steps for hypothesis in hypotheses] == [
        hypothesis.steps for hypothesis in free
    ]


def test_the_length_rule_is_chosen_with_reranked_candidates(padir, plain, reranker, reranked):
    """Every rule sees what decoding with that rule would give."""

    def tried(translator):
        seen = []
        tune(translator, LINES, "lines", lambda texts: seen.append(list(texts)) or 0.0, LINES)
        return seen

    settings = RERANKED.settings
    seen = tried(Translator(padir, RERANKED, 4, reranker=reranker))
    other = Translator(padir, RERANKED, 4, reranker=reranker)
    rules = [LengthRule(a, w) for a in settings.length_alphas for w in settings.length_weights]
    assert rules == length_rules(settings)
    for rule, texts in zip(rules, seen, strict=True):
        other.use(rule)
        assert [hypothesis.hypothesis for hypothesis in other.translate(LINES, "lines")] == texts
    assert seen != tried(plain.with_passes(4))


def test_filled_templates_are_ranked_by_the_reranker_too(reranked, expected, tmp_path):
    lines = [line for line in LINES if line]
    write_lines(tmp_path / "gaps", ["___ ko ___"] * len(lines))
    constraints = read_constraints(reranked, {"infill": tmp_path / "gaps"})
    sources = reranked.encode(lines)
    for source, hypothesis in zip(sources, constraints.translate(sources), strict=True):
        wanted = expected(source, hypothesis.tokens_before_drop)
        assert hypothesis.log_probability == pytest.approx(wanted, abs=1e-4)


def test_files_name_both_models_and_the_tuned_decoder(padir, reranker, folder):
    path = write_decoder(folder / "padir" / "decoders" / "reranked.json", RERANKED)
    translator = Translator(padir, find_decoder(padir, "reranked"), 3, reranker=reranker)
    parts = ("model.safetensors", "spec.json", "spm.model")
    files = [file.relative_to(folder).as_posix() for file in translator.files]
    expected = [f"{model}/{part}" for model in ("padir", "ar") for part in parts]
    assert sorted(files) == sorted([*expected, path.relative_to(folder).as_posix()])


def rewritten(source, target, vocabulary=None, **changes):
    """The bundle with another vocabulary, or with other names in its spec."""
    bundle = read_bundle(source)
    spec = RunSpec.model_validate(bundle.spec["run_spec"]).model_copy(update=changes)
    content = bundle.spec | {"run_spec": spec.model_dump(mode="json")}
    write_bundle(target, bundle.arrays, content, vocabulary or bundle.vocabulary, "changed\n")
    return Reranker(load(target))


def test_a_reranker_that_is_asked_for_must_be_given(padir):
    with pytest.raises(InputError, match=r"decoder reranked: reranker is tiny_ar: .*--reranker$"):
        Translator(padir, RERANKED, 3)


def test_a_reranker_that_is_not_asked_for_is_refused(plain, reranker, ar):
    with pytest.raises(InputError, match=r"decoder padir has no reranker: .*plain ranks its own"):
        Translator(plain.loaded, plain.decoder, 3, reranker=reranker)
    with pytest.raises(InputError, match="ar ranks its own candidates"):
        Translator(ar, tiny_decoder("greedy"), reranker=reranker)


def test_a_parallel_model_is_no_reranker(padir):
    with pytest.raises(InputError, match="model of system padir: only AR models rerank"):
        Reranker(padir)


def test_another_vocabulary_is_refused(padir, folder, tmp_path):
    pieces = VocabularySettings(kind="word", size=16)
    train_vocabulary(["aa bb cc dd ee ff gg hh"] * 3, pieces, tmp_path / "other")
    other = rewritten(folder / "ar", tmp_path / "ar", tmp_path / "other")
    with pytest.raises(InputError, match=r"its vocabulary is not that of .*padir$"):
        Translator(padir, RERANKED, 3, reranker=other)


@pytest.mark.parametrize(
    ("change", "name"),
    [({"training": "other_ar"}, "other_ar of xs-xt"), ({"direction": "xt-xs"}, "tiny_ar of xt-xs")],
)
def test_another_training_or_direction_is_refused(padir, folder, ar, tmp_path, change, name):
    other = rewritten(folder / "ar", tmp_path / "ar", **change)
    with pytest.raises(InputError, match=f"is training {name}, but .* needs tiny_ar of xs-xt"):
        Translator(padir, RERANKED, 3, reranker=other)


def test_a_reranker_that_reads_less_is_refused(padir, folder, ar, tmp_path):
    run = ar.spec.run
    short = run.architecture.model_copy(update={"max_positions": 8})
    training = run.training.model_copy(update={"buckets": [8]})
    run = run.model_copy(update={"architecture": short, "training": training})
    other = rewritten(folder / "ar", tmp_path / "ar", run=run)
    with pytest.raises(InputError, match=r"reads at most 8 tokens, .*padir up to 16"):
        Translator(padir, RERANKED, 3, reranker=other)


def test_a_search_has_no_reranker():
    with pytest.raises(ValueError, match="reranker"):
        tiny_decoder("beam", reranker="x")
