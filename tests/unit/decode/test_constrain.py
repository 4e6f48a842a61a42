"""Given text: templates, drafts and terms, with tiny random models."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from flax import nnx
from hypothesis import given, settings
from hypothesis import strategies as st

from padir.config.data import VocabularySettings
from padir.decode.constrain import Constraints
from padir.decode.given import GAP, Draft, Speller, Template, Terms, even_shares
from padir.decode.given_files import read_constraints
from padir.decode.translate import Translator
from padir.files import InputError, write_lines
from padir.model.parameters import build, from_arrays, to_arrays
from padir.vocab import Vocabulary, train_vocabulary
from tests.constraining import RULE, TEXT, infill, make, place_terms, stands
from tests.decoding import LINES, WORDS, tiny_decoder, tiny_model


@pytest.fixture(scope="module")
def unigram(tmp_path_factory):
    """A random model over pieces of words, punctuation and bytes, not all of which open a word."""
    folder = tmp_path_factory.mktemp("unigram")
    draw = random.Random(3)
    letters = ["".join(draw.choices("aeiknrst", k=draw.randint(2, 6))) for _ in range(60)]
    lines = [
        " ".join(draw.choices(letters, k=5)) + draw.choice([".", ",", " (x)."]) for _ in "a" * 90
    ]
    pieces = VocabularySettings(kind="unigram", size=330, byte_fallback=True)
    train_vocabulary(lines, pieces, folder / "spm")
    vocabulary = Vocabulary.load(folder / "spm")
    loaded = tiny_model(folder / "model", "padir")
    run = loaded.spec.run
    longer = run.architecture.model_copy(update={"max_positions": 32, "length_classes": 32})
    run = run.model_copy(update={"architecture": longer})
    model = build(run, vocabulary.size, seed=5)
    arrays = to_arrays(nnx.state(model, nnx.Param))
    strong = {k: a * 3 if k.endswith("kernel") else a for k, a in arrays.items()}
    loaded = replace(
        loaded,
        model=from_arrays(run, vocabulary.size, strong),
        vocabulary=vocabulary,
        spec=loaded.spec.model_copy(update={"run": run}),
    )
    return Translator(loaded, tiny_decoder("padir", RULE), 3)


def dealt(tokens, gaps):
    """The plain twin of `even_shares`: one token at a time, round and round."""
    shares = [0] * gaps
    for token in range(tokens):
        shares[token % gaps] += 1
    return shares


@given(tokens=st.integers(0, 40), gaps=st.integers(1, 9))
def test_gaps_share_evenly(tokens, gaps):
    assert even_shares(tokens, gaps) == dealt(tokens, gaps)


def test_a_template_is_filled_from_the_left():
    template = Template((None, (11, 12), None, (13,)))
    assert (template.gaps, template.least) == (2, 5)
    tokens, fixed = template.fill([1, 2, 3, 4, 5, 6, 7, 8, 9], 8)
    assert tokens == [1, 2, 3, 11, 12, 6, 7, 13]
    assert fixed == [False, False, False, True, True, False, False, True]
    assert Template(((11, 12),)).fill([1, 2, 3], 2) == ([11, 12], [True, True])


PARTS = st.lists(st.one_of(st.just("___"), TEXT), min_size=1, max_size=5)


@settings(max_examples=10)
@given(source=TEXT, parts=PARTS)
def test_fixed_text_is_in_its_place(translator, source, parts):
    text = " ".join(parts)
    speller = Speller(translator)
    template = speller.template(GAP.split(text), "here") if len(text.split()) <= 11 else None
    if template is None:
        return
    [hypothesis] = infill(translator, [source], [text])
    pattern = re.sub(r"___", r"\\w+( \\w+)*", text)
    assert re.fullmatch(pattern, hypothesis.hypothesis), (text, hypothesis.hypothesis)
    assert hypothesis.tokens == hypothesis.tokens_before_drop
    if "___" not in text:
        assert hypothesis.hypothesis == text


def test_templates_have_the_lengths_that_plain_decoding_tries(padir):
    sources = [line for line in LINES if line]
    for source, hypothesis in zip(
        sources, infill(padir, sources, ["ba ___"] * len(sources)), strict=True
    ):
        [encoded] = padir.encode([source])
        tried = {c.length for c in padir.candidates([encoded])[0] if c.length >= 3}
        assert hypothesis.length in tried or (not tried and hypothesis.length == 3)


def test_a_template_that_no_candidate_holds_gets_the_least_length(padir):
    single = Translator(padir.loaded, tiny_decoder("padir", RULE, length_candidates=1), 3)
    sources = [line for line in LINES if line]
    tried = [hypothesis.length for hypothesis in single.translate(sources, "x")]
    assert min(tried) < 12
    text = "ba ko mi re su ta no ve ba ___ ve"
    filled = infill(single, sources, [text] * len(sources))
    for length, hypothesis in zip(tried, filled, strict=True):
        # A translation of that length is a start of the gaps too.
        assert (hypothesis.length, hypothesis.candidates) == (12, 1 + (length == 12))
        assert re.fullmatch(text.replace("___", r"\w+"), hypothesis.hypothesis)


def test_no_constraint_and_gaps_alone_are_plain_translation(translator):
    plain = translator.translate(LINES, "lines")
    sources = translator.encode(LINES)
    speller = Speller(translator)
    empty = Constraints(translator, speller, [None] * len(LINES), "here")
    assert empty.translate(sources) == plain
    filled = [line for line in LINES if line]
    assert infill(translator, filled, ["___"] * len(filled)) == translator.translate(filled, "f")


def test_repeats_that_were_given_stay(padir):
    [hypothesis] = infill(padir, ["su"], ["ba ba ba ___"])
    assert hypothesis.hypothesis.startswith("ba ba ba ")
    assert infill(padir, ["su"], ["ba ba ba"])[0].hypothesis == "ba ba ba"


def test_a_draft_keeps_its_length_and_counts(padir):
    drafts = ["ko", "ba ko mi re", "ta ta ta su no ve"]
    speller = Speller(padir)
    lines = [speller.draft(draft, "here") for draft in drafts]
    sources = padir.encode(["su ba"] * 3)
    translations = Constraints(padir, speller, lines, "here").translate(sources)
    assert [hypothesis.length for hypothesis in translations] == [2, 5, 7]
    assert all(hypothesis.candidates == 1 for hypothesis in translations)
    other = Constraints(padir, speller, [speller.draft("ve ve ve ve", "h")], "h").translate(
        sources[:1]
    )
    assert other[0].tokens_before_drop != translations[1].tokens_before_drop


def test_batch_and_order_do_not_matter(tmp_path):
    small = make(tmp_path / "small", "padir", buckets=(6,), sentences=2)
    large = make(tmp_path / "large", "padir", buckets=(16,), sentences=16)
    filled = [line for line in LINES if line]
    draw = random.Random(1)

    def results(translator, order):
        speller = Speller(translator)
        lines = []
        for number in range(len(filled)):
            words = random.Random(number).sample(WORDS, 3)
            lines.append(
                [
                    speller.template(GAP.split(f"{words[0]} ___ {words[1]} ___"), "here"),
                    speller.draft(" ".join(words), "here"),
                    speller.terms("\t".join(words), "here"),
                    None,
                ][number % 4]
            )
        constraints = Constraints(translator, speller, [lines[i] for i in order], "here")
        translations = constraints.translate(translator.encode([filled[i] for i in order]))
        return {
            i: (hypothesis.tokens, hypothesis.length, hypothesis.steps)
            for i, hypothesis in zip(order, translations, strict=True)
        }

    order = list(range(len(filled)))
    plain = results(large, order)
    assert results(small, order) == plain
    assert results(large, draw.sample(order, len(order))) == plain
    for index in order[:3]:
        assert results(large, [index]) == {index: plain[index]}


@pytest.mark.parametrize("seed", range(12))
def test_words_stay_whole_among_pieces(unigram, seed):
    draw = random.Random(seed)
    vocabulary = unigram.loaded.vocabulary
    known = ["rent", "a", "kiste tra", "nie.", "(x", "Zü ß", "sein,"]
    first, second = draw.sample(known, 2)
    sources = ["na te", "kirst e"]
    for hypothesis in infill(unigram, sources, [f"___ {first} ___ {second} ___"] * 2):
        place = stands(first, hypothesis.hypothesis)
        assert place, hypothesis
        assert stands(second, hypothesis.hypothesis[place.end() :]), hypothesis
        assert vocabulary.decode([hypothesis.tokens]) == [hypothesis.hypothesis]
    for hypothesis in place_terms(unigram, sources, [[first, second]] * 2):
        assert stands(first, hypothesis.hypothesis)
        assert stands(second, hypothesis.hypothesis)


def test_without_the_rule_pieces_would_join_given_words(unigram, monkeypatch):
    words = ["rent", "a", "ni", "ti", "sein", "kas", "tre", "inen"] * 3

    def broken():
        sources = [LINES[index % 8] for index in range(len(words))]
        translations = infill(unigram, sources, [f"{word} ___" for word in words])
        texts = [hypothesis.hypothesis for hypothesis in translations]
        return [not stands(word, text) for word, text in zip(words, texts, strict=True)]

    assert not any(broken())
    proposal = Speller.proposal
    monkeypatch.setattr(Speller, "proposal", lambda *args: replace(proposal(*args), opening=()))
    assert any(broken())


def test_punctuation_after_a_gap_joins_its_word(unigram):
    [joined, apart, suffix] = infill(unigram, ["na te"] * 3, ["rent ___.", "rent ___ .", "___ (x"])
    assert re.search(r"[^ ]\.$", joined.hypothesis)
    assert joined.hypothesis.count(" .") == 0
    assert apart.hypothesis.endswith(" .")
    assert suffix.hypothesis.endswith(" (x")


def read(translator, folder, **lines):
    paths = {}
    for option, texts in lines.items():
        paths[option] = folder / option
        write_lines(paths[option], texts)
    return read_constraints(translator, paths)


def test_lines_of_files_become_templates_drafts_and_terms(padir, tmp_path):
    ba, ko, mi = (Speller(padir).encode(word, "here")[0] for word in WORDS[:3])
    both = read(padir, tmp_path, prefix=["ba", "", "", " "], suffix=["ko", "ko mi", "", "\t"])
    assert both.lines == [Template(((ba,), None, (ko,))), Template((None, (ko, mi))), None, None]
    assert read(padir, tmp_path, prefix=["ba\r"]).lines == [Template(((ba,), None))]
    translations = read(padir, tmp_path, infill=["___ba____ko", "ba", "", "___ ___ mi"])
    assert translations.lines == [
        Template((None, (ba,), None, (ko,))),
        Template(((ba,),)),
        None,
        Template((None, None, (mi,))),
    ]
    assert read(padir, tmp_path, draft=["ba ko", " "]).lines == [Draft((ba, ko)), None]
    terms = read(padir, tmp_path, terms=["ba ko\tmi", "\t", "ba\t\t ba "]).lines
    assert terms == [Terms(((ba, ko), (mi,))), None, Terms(((ba,), (ba,)))]


def test_several_texts_a_line_are_refused(padir, tmp_path):
    path = tmp_path / "terms.jsonl"
    path.write_text('["ba", "ko"]\n')
    with pytest.raises(InputError, match=r"terms\.jsonl: several texts a line, allowed is one"):
        read_constraints(padir, {"terms": path})


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"prefix": ["ba"], "suffix": ["ba", "ko"]}, r"prefix has 1, .*suffix has 2"),
        ({"prefix": ["ba"], "infill": ["ba"]}, r"^--prefix and --infill: only --prefix and --suf"),
        ({"draft": ["ba"], "terms": ["ba"]}, r"^--draft and --terms: only"),
        ({"terms": ["", "ba\tXX"]}, r"terms: line 2: this model's vocabulary cannot spell 'XX'"),
        (
            {"terms": ["ba\tXX", "ba", "YY\tZZ", "ba ko", "XX"]},
            r"terms: line 1: .* cannot spell 'XX'; such lines: 3 of 5$",
        ),
        ({"terms": ["a\u00adb"]}, r"terms: line 1: .* cannot spell 'a\\xadb'$"),
        ({"prefix": ["ba"], "suffix": ["\u2581x"]}, r"prefix and .*suffix: line 1: this model's"),
        ({"infill": ["ba", "ba ___" * 6]}, r"infill: line 2: at least 12 tokens, .* at most 11"),
        ({"draft": ["ba " * 12]}, r"draft: line 1: at least 12 tokens, .* at most 11"),
        ({"terms": ["\t".join(["ba"] * 12)]}, r"terms: line 1: at least 12 tokens"),
    ],
)
def test_impossible_constraints_are_refused(padir, tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        read(padir, tmp_path, **lines)


def test_models_that_cannot_are_refused(tmp_path):
    with pytest.raises(InputError, match="system ar writes token after token: only parallel"):
        read(make(tmp_path / "ar", "greedy"), tmp_path, prefix=["ba"])
    disco = make(tmp_path / "disco", "disco")
    assert read(disco, tmp_path, infill=["ba ___"]).lines
    with pytest.raises(InputError, match="context easy_first"):
        read(disco, tmp_path, draft=["ba"])


def test_an_empty_source_takes_no_constraint(padir):
    with pytest.raises(InputError, match="line 2 of the input is empty, but that of here is not"):
        infill(padir, ["ba", ""], ["", "ba ___"])


def test_openings_are_word_beginnings_and_punctuation(unigram):
    speller, vocabulary = Speller(unigram), unigram.loaded.vocabulary
    pieces = {vocabulary.piece(i): bool(speller.openings[i]) for i in range(8, vocabulary.size)}
    assert pieces["\u2581"] and pieces["."] and pieces[","]
    assert not pieces["a"] and not pieces["<0xC3>"]
    assert not np.any(speller.openings[:8])
