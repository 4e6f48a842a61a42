"""Synthetic splits: a function of the seed, disjoint, of the lengths and modes asked for."""

import hashlib
import math
import random
from collections import Counter
from itertools import chain, pairwise

import pytest

from padir.checksums import read_with_checksum
from padir.config.data import SyntheticSource
from padir.data import synthetic
from padir.data.grammar import MODES, Grammar
from padir.data.synthetic import (
    draw_sentence,
    draw_split,
    longest_target,
    make_grammar,
    write_grammar,
    write_synthetic,
)
from padir.files import InputError, read_lines, sha256_file, write_json

SETTINGS = SyntheticSource(train=1500, valid=100, test=150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("synthetic")
    write_synthetic(SETTINGS, path)
    write_grammar(SETTINGS, path / "grammar.json")
    return path


@pytest.fixture(scope="module")
def grammar(folder):
    return Grammar.load(folder / "grammar.json")


def names(split, references):
    return [f"{split}.xt"] + [f"{split}.xt.{i}" for i in range(1, references)]


def test_every_split_has_as_many_lines_as_the_settings_say(folder):
    expected = {"grammar.json", "train.xs", "train.xt", "valid.xs", "test.xs"}
    expected |= {*names("valid", 4), *names("test", 4)}
    assert {path.name for path in folder.iterdir()} == expected
    for split, lines in (("train", 1500), ("valid", 100), ("test", 150)):
        for path in folder.glob(f"{split}.*"):
            assert len(read_lines(path)) == lines


def test_references_are_the_four_translations(folder, grammar):
    for split in ("valid", "test"):
        sources = read_lines(folder / f"{split}.xs")
        references = [read_lines(folder / name) for name in names(split, 4)]
        for source, *translations in zip(sources, *references, strict=True):
            assert sorted(translations) == sorted(grammar.translations(source).values())


def test_training_targets_are_valid(folder, grammar):
    pairs = zip(read_lines(folder / "train.xs"), read_lines(folder / "train.xt"), strict=True)
    assert all(grammar.is_valid(source, target) for source, target in pairs)


def test_splits_share_no_source(folder):
    train, valid, test = (read_lines(folder / f"{s}.xs") for s in ("train", "valid", "test"))
    assert len(set(valid)) == 100
    assert len(set(test)) == 150
    assert not set(valid) & set(test)
    assert not set(train) & (set(valid) | set(test))


def test_lengths_are_uniform_within_the_limits(folder):
    lengths = Counter(len(line.split()) for line in read_lines(folder / "train.xs"))
    assert set(lengths) == set(range(4, 13))
    # Uniform over 9 lengths: each within 4 standard errors of a binomial.
    for count in lengths.values():
        assert abs(count - 1500 / 9) < 4 * math.sqrt(1500 * (1 / 9) * (8 / 9))
    for path in folder.glob("*.xt*"):
        assert max(len(line.split()) for line in read_lines(path)) <= longest_target(SETTINGS) == 18


def test_repeats_are_rare_and_those_of_the_source(folder, grammar):
    def repeated(line):
        return [left for left, right in pairwise(line.split()) if left == right]

    intensifier = grammar.lexicon.intensifier
    count = 0
    for split, references in (("train", 1), ("valid", 4), ("test", 4)):
        sources = read_lines(folder / f"{split}.xs")
        targets = [read_lines(folder / name) for name in names(split, references)]
        for source, *translations in zip(sources, *targets, strict=True):
            doubled = repeated(source)
            assert set(doubled) <= {intensifier.source}
            count += len(doubled)
            for target in translations:
                assert set(repeated(target)) <= set(intensifier.forms)
                assert len(repeated(target)) == len(doubled)
    # 1.8% of the sentences of 6 words and more, 7 lengths of 9; within 4 standard errors.
    share = 0.018 * 7 / 9
    assert abs(count - 1750 * share) < 4 * math.sqrt(1750 * share * (1 - share))


def test_intensifiers_and_plurals_have_their_shares():
    generator, settings = random.Random(5), SyntheticSource(min_words=8, max_words=8)
    clauses = [draw_sentence(generator, settings)[0] for _ in range(1000)]
    phrases = [[clause.subject, clause.object, *dict(clause.phrases)] for clause in clauses]

    def near(drawn, share):
        """Within 4 standard errors."""
        return abs(sum(drawn) - len(drawn) * share) < 4 * math.sqrt(
            len(drawn) * share * (1 - share)
        )

    for intensity, share in ((1, 0.06), (2, 0.018)):
        assert near([any(each.intensity == intensity for each in row) for row in phrases], share)
    # Subjects and objects have them alike.
    assert not any(each.intensity for row in phrases for each in row[2:])
    intense = [row for row in phrases if row[0].intensity or row[1].intensity]
    assert near([bool(row[0].intensity) for row in intense], 0.5)
    assert near([each.plural for row in phrases for each in row], 0.35)


@pytest.mark.parametrize("strength", [0.0, 0.4, 0.8, 1.0])
def test_mode_shares_match_the_strength(strength):
    settings = SETTINGS.model_copy(update={"mode_strength": strength})
    grammar = make_grammar(settings)
    shares: Counter = Counter()
    total = 0
    for source, targets in draw_split(grammar, settings, "train", set()):
        modes = grammar.modes(source, targets[0])
        # Sentences without a synonym show their order only.
        if len(modes) == 1:
            shares.update(modes)
            total += 1
    assert total > 1200
    second = strength / 2
    for mode in MODES:
        expected = math.prod(second if bit else 1 - second for bit in mode)
        error = math.sqrt(expected * (1 - expected) / total)
        assert abs(shares[mode] / total - expected) <= 4 * error


def test_same_settings_same_bytes(folder, tmp_path):
    write_synthetic(SETTINGS, tmp_path)
    write_grammar(SETTINGS, tmp_path / "grammar.json")
    for path in folder.iterdir():
        assert sha256_file(tmp_path / path.name) == sha256_file(path)


def test_bytes_stay_what_they_are(tmp_path):
    """Golden digest: changes only with a change of the grammar, which belongs in CHANGELOG.

    Made by this test's own lines; last changed when the grammar was written.
    """
    settings = SyntheticSource(train=50, valid=10, test=10)
    write_synthetic(settings, tmp_path)
    grammar = tmp_path / "grammar.json"
    write_grammar(settings, grammar)
    write_json(grammar, read_with_checksum(grammar, ""))
    checksum = hashlib.sha256()
    for path in sorted(tmp_path.iterdir()):
        checksum.update(path.read_bytes())
    assert (
        checksum.hexdigest() == "542571cbcce5a1154c343001982a49522b98ee23d1cf44370c41df994015862b"
    )


def test_other_splits_and_modes_leave_the_test_set_alone(folder, tmp_path):
    changed = SETTINGS.model_copy(update={"train": 10, "valid": 5, "mode_strength": 0.0})
    write_synthetic(changed, tmp_path)
    assert read_lines(tmp_path / "test.xs") == read_lines(folder / "test.xs")
    for split in ("train", "valid"):
        few = read_lines(tmp_path / f"{split}.xs")
        assert few == read_lines(folder / f"{split}.xs")[: len(few)]
    write_synthetic(SETTINGS.model_copy(update={"train": 10, "seed": 2}), tmp_path)
    assert read_lines(tmp_path / "test.xs") != read_lines(folder / "test.xs")


def test_the_lexicon_has_the_sizes_of_the_settings_and_distinct_words(grammar):
    lexicon = grammar.lexicon
    assert [len(lexicon.nouns), len(lexicon.verbs), len(lexicon.adjectives)] == [40, 24, 16]
    assert [len(lexicon.adverbs), len(lexicon.postpositions)] == [10, 6]
    assert sum(len(noun.forms) == 2 for noun in lexicon.nouns) == 16
    source = [word for noun in lexicon.nouns for word in (noun.singular, noun.plural)]
    rest = (lexicon.verbs, lexicon.adjectives, lexicon.adverbs, lexicon.postpositions)
    source += [entry.source for entry in chain(*rest)]
    source += [lexicon.intensifier.source, lexicon.conjunction.source]
    assert len(set(source)) == len(source) == 138
    # No target word stands for two things but the few second words and particles that are shared.
    target: list[str] = []
    for noun in lexicon.nouns:
        for form in noun.forms:
            assert form.singular.split()[1:] == form.plural.split()[1:]
            target += [form.singular.split()[0], form.plural.split()[0]]
    for verb in lexicon.verbs:
        for form in verb.forms:
            target += [form.singular, form.plural]
    for agreeing in [lexicon.article, *chain(*(entry.forms for entry in lexicon.adjectives))]:
        target += agreeing.model_dump().values()
    particles = [*lexicon.adverbs, *lexicon.postpositions, lexicon.intensifier, lexicon.conjunction]
    target += chain(*(entry.forms for entry in particles))
    assert len(set(target)) == len(target)
    assert not set(target) & set(source)
    forms = [form for noun in lexicon.nouns for form in noun.forms]
    assert {form.gender for form in forms} == {"m", "f"}
    assert any(" " in form.singular for form in forms)
    assert any(form.particle for verb in lexicon.verbs for form in verb.forms)


def test_with_one_reference_there_are_no_further_files(tmp_path):
    write_synthetic(SyntheticSource(train=5, valid=5, test=5, references=1), tmp_path)
    assert not list(tmp_path.glob("*.xt.*"))


@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (14, 16), (30, 60), (60, 60)])
def test_sentences_keep_to_other_limits_of_length(tmp_path, shortest, longest):
    settings = SyntheticSource(
        train=100,
        valid=10,
        test=10,
        min_words=shortest,
        max_words=longest,
        nouns=4,
        verbs=4,
        adjectives=2,
        adverbs=2,
        postpositions=2,
    )
    write_synthetic(settings, tmp_path)
    write_grammar(settings, tmp_path / "grammar.json")
    grammar = Grammar.load(tmp_path / "grammar.json")
    sources, targets = read_lines(tmp_path / "train.xs"), read_lines(tmp_path / "train.xt")
    assert max(len(line.split()) for line in targets) <= longest_target(settings)
    assert {len(line.split()) for line in sources} <= set(range(shortest, longest + 1))
    assert all(map(grammar.is_valid, sources, targets))


@pytest.mark.parametrize(
    ("words", "lengths"),
    [(14, [14]), (15, [7, 7]), (29, [14, 14]), (30, [10, 9, 9]), (44, [14, 14, 14])],
)
def test_a_sentence_has_as_few_clauses_as_its_length_allows(words, lengths):
    settings = SyntheticSource(min_words=words, max_words=words)
    grammar = make_grammar(settings)
    sentence = draw_sentence(random.Random(1), settings)
    assert [len(grammar.source((clause,)).split()) for clause in sentence] == lengths
    assert len(grammar.source(sentence).split()) == words


# Sources of three words over 4 nouns and 4 verbs: 4 * 3 * 2 * 2 * 4 = 192 different ones.
FEW = SyntheticSource(min_words=3, nouns=4, verbs=4).model_copy(update={"max_words": 3})


def test_no_source_is_shared_even_where_there_are_few():
    settings = FEW.model_copy(update={"valid": 60, "test": 60, "train": 200})
    grammar, taken = make_grammar(settings), set()
    # Most targets of three words are above one and a half times as many.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "longest_target", lambda _: 99)
        drawn = {
            split: [source for source, _ in draw_split(grammar, settings, split, taken)]
            for split in ("test", "valid", "train")
        }
    assert len(set(drawn["test"])) == len(set(drawn["valid"])) == 60
    assert not set(drawn["test"]) & set(drawn["valid"])
    assert not set(drawn["train"]) & (set(drawn["test"]) | set(drawn["valid"]))


def test_no_reference_is_too_long():
    # Three words give up to eight: article, two-word noun, verb, article, two-word noun, particle.
    settings = FEW.model_copy(update={"max_words": 4, "train": 300})
    grammar = make_grammar(settings)
    drawn = list(draw_split(grammar, settings, "train", set()))
    lengths = {len(target.split()) for _, targets in drawn for target in targets}
    assert max(lengths) == longest_target(settings) == 6


def test_a_grammar_with_too_few_sentences_is_refused(tmp_path):
    settings = FEW.model_copy(update={"test": 200})
    with pytest.raises(InputError, match="too few different sentences for split test"):
        write_synthetic(settings, tmp_path)
