"""The `synthetic` data source: sentences drawn from the grammar, split, with references.

Everything is a function of the settings. Each split has a random stream of its own, and modes
have another, so that the number of training pairs changes no test sentence, and the strength of
the modes changes no source.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from padir.checksums import write_with_checksum
from padir.config.data import SyntheticSource
from padir.data.grammar import MODES, Clause, Grammar, Mode, NounPhrase, Sentence
from padir.data.lexicon import draw_lexicon
from padir.files import InputError, write_lines

SOURCE_LANGUAGE, TARGET_LANGUAGE = "xs", "xt"
CLAUSE_WORDS = 14
"""Longer sentences are made of several clauses of at most this many source words."""
MOST_PHRASES, MOST_ADJECTIVES = 3, 2
SINGLE_INTENSIFIER, DOUBLE_INTENSIFIER = 0.06, 0.018
"""Share of clauses that have an intensifier, once or twice, where they are long enough."""
PLURAL = 0.35
TRIES = 1_000


def make_grammar(settings: SyntheticSource) -> Grammar:
    """The grammar with the lexicon that the settings' seed draws."""
    return Grammar(draw_lexicon(settings))


def draw_sentence(generator: random.Random, settings: SyntheticSource) -> Sentence:
    """Draw one sentence; its source length is uniform between the two limits.

    No two neighbouring noun phrases of a clause share the noun, so that subject and object always
    differ and no word is repeated by accident.
    """
    words = generator.randint(settings.min_words, settings.max_words)
    # Each further clause brings its conjunction.
    count = -(-(words + 1) // (CLAUSE_WORDS + 1))
    words -= count - 1
    lengths = [words // count + (i < words % count) for i in range(count)]
    return tuple(_draw_clause(generator, settings, length) for length in lengths)


def _draw_clause(generator: random.Random, settings: SyntheticSource, length: int) -> Clause:
    left = length - 3
    chance = generator.random()
    intensity = 0
    if chance < DOUBLE_INTENSIFIER and left >= 3:
        intensity = 2
    elif chance < DOUBLE_INTENSIFIER + SINGLE_INTENSIFIER and left >= 2:
        intensity = 1
    # The word that is intensified is fixed, so it is no longer free to be drawn.
    left -= intensity + bool(intensity)
    count = generator.choice(
        [
            count
            for count in range(min(MOST_PHRASES, settings.nouns - 2) + 1)
            if 0 <= left - 2 * count <= 1 + MOST_ADJECTIVES * (2 + count) - bool(intensity)
        ]
    )
    # Places that may hold a word: -1 is the adverb, the others the adjectives of a noun phrase.
    places = [-1, *(place for place in range(2 + count) for _ in range(MOST_ADJECTIVES))]
    intense = generator.randrange(2) if intensity else -1
    filled = [intense] if intensity else []
    if intensity:
        places.remove(intense)
    filled += generator.sample(places, left - 2 * count)
    nouns = generator.sample(range(settings.nouns), 2 + count)
    phrases = [
        NounPhrase(
            noun=noun,
            plural=generator.random() < PLURAL,
            adjectives=tuple(generator.sample(range(settings.adjectives), filled.count(place))),
            intensity=intensity if place == intense else 0,
        )
        for place, noun in enumerate(nouns)
    ]
    return Clause(
        subject=phrases[0],
        object=phrases[1],
        verb=generator.randrange(settings.verbs),
        phrases=tuple(
            (phrase, generator.randrange(settings.postpositions)) for phrase in phrases[2:]
        ),
        adverb=generator.randrange(settings.adverbs) if -1 in filled else None,
    )


def draw_mode(generator: random.Random, mode_strength: float) -> Mode:
    """Draw register and order; each takes its second value with probability strength / 2."""
    return Mode(
        int(generator.random() < mode_strength / 2), int(generator.random() < mode_strength / 2)
    )


def mode_probability(mode: Mode, mode_strength: float) -> float:
    """With which probability `draw_mode` draws a mode."""
    second = mode_strength / 2
    return (second if mode.register else 1 - second) * (second if mode.order else 1 - second)


def longest_target(settings: SyntheticSource) -> int:
    """Most words of a reference: half as many again as of the longest source."""
    return settings.max_words * 3 // 2


def draw_split(
    grammar: Grammar, settings: SyntheticSource, split: str, taken: set[str]
) -> Iterator[tuple[str, list[str]]]:
    """Draw one split's sources, each with its references, the one in the drawn mode first.

    Args:
        split: train, valid or test.
        taken: sources of other splits, which do not occur. Those of valid and test are unique
            within their split too, and are added here.

    Raises:
        InputError: the settings allow too few different sentences.
    """
    sentences = random.Random(f"{split} {settings.seed}")
    modes = random.Random(f"{split} modes {settings.seed}")
    for _ in range({"train": settings.train, "valid": settings.valid}.get(split, settings.test)):
        for _ in range(TRIES):
            sentence = draw_sentence(sentences, settings)
            source = grammar.source(sentence)
            if source not in taken:
                translations = {mode: grammar.translate(sentence, mode) for mode in MODES}
                longest = max(text.count(" ") + 1 for text in translations.values())
                if longest <= longest_target(settings):
                    break
        else:
            raise InputError(
                f"the synthetic settings allow too few different sentences for split {split}:"
                " raise max_words or the numbers of words, or ask for fewer pairs"
            )
        if split != "train":
            taken.add(source)
        first = draw_mode(modes, settings.mode_strength)
        yield source, [translations.pop(first), *translations.values()]


def foreign_text(settings: SyntheticSource, pairs: int) -> Iterator[str]:
    """Training text of other language pairs, of the same grammar with other words.

    Args:
        settings: of a synthetic pair that they are foreign to; theirs differ in the seed alone.
        pairs: how many; their seeds are the next ones after the pair's own.

    Yields:
        `settings.train` sources, each followed by its target in the drawn mode, of each pair.
    """
    for seed in range(settings.seed + 1, settings.seed + 1 + pairs):
        other = settings.model_copy(update={"seed": seed})
        for source, references in draw_split(make_grammar(other), other, "train", set()):
            yield source
            yield references[0]


def write_grammar(settings: SyntheticSource, path: Path) -> None:
    """Write the grammar that the settings draw, by which translations are checked exactly."""
    write_with_checksum(path, make_grammar(settings).lexicon.model_dump())


def write_synthetic(settings: SyntheticSource, folder: Path) -> None:
    """Write train, valid and test as text.

    Training targets are the drawn mode's. Validation and test sets have `references` references:
    `{split}.xt` in the drawn mode, and `{split}.xt.1` and so on in the others.
    """
    grammar = make_grammar(settings)
    taken: set[str] = set()
    # Test first: no later choice about the other splits may change it.
    for split in ("test", "valid", "train"):
        pairs = list(draw_split(grammar, settings, split, taken))
        write_lines(folder / f"{split}.{SOURCE_LANGUAGE}", (source for source, _ in pairs))
        for index in range(1 if split == "train" else settings.references):
            name = f"{split}.{TARGET_LANGUAGE}" + (f".{index}" if index else "")
            write_lines(folder / name, (references[index] for _, references in pairs))
