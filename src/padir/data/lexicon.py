"""The invented words of the synthetic language pair, drawn from a seed.

Source words (xs) have open syllables, target words (xt) closed ones; no word has two meanings or
occurs in both languages. About 40% of the lexemes have a second target form, the other register,
which may differ in gender, separable particle and word count.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from padir.checksums import read_with_checksum, rerun_remedy
from padir.config.data import SyntheticSource
from padir.files import InputError, shown

FORMAT = "padir grammar 1"
SECOND_FORM_SHARE = 0.4
TWO_WORD_SHARE = 0.2
PARTICLE_SHARE = 0.3
_TAILS, _PARTICLES = 5, 5

Item = TypeVar("Item")


class Entry(BaseModel):
    """Base of all lexicon entries: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NounForm(Entry):
    """A target noun; two-word nouns hold a space. Its gender is the form's, not the lexeme's."""

    gender: Literal["m", "f"]
    singular: str
    plural: str


class Noun(Entry):
    """A noun: source singular and plural, and one or two target forms (registers)."""

    singular: str
    plural: str
    forms: tuple[NounForm, ...] = Field(min_length=1, max_length=2)


class VerbForm(Entry):
    """A target verb, agreeing with its subject's number; `particle` ends the clause, if any."""

    singular: str
    plural: str
    particle: str


class Verb(Entry):
    """A verb: one source form, one or two target forms."""

    source: str
    forms: tuple[VerbForm, ...] = Field(min_length=1, max_length=2)


class InflectedForms(Entry):
    """A target adjective or article: one form for each gender (m, f) and number (s, p)."""

    ms: str
    mp: str
    fs: str
    fp: str

    def agree(self, gender: str, plural: bool) -> str:
        """The form for a gender ("m" or "f") and a number."""
        if gender == "m":
            return self.mp if plural else self.ms
        return self.fp if plural else self.fs


class Adjective(Entry):
    """An adjective: one source form, one or two target forms."""

    source: str
    forms: tuple[InflectedForms, ...] = Field(min_length=1, max_length=2)


class Particle(Entry):
    """A word that never changes (adverb, adposition, ...): one source form, one or two target."""

    source: str
    forms: tuple[str, ...] = Field(min_length=1, max_length=2)


class Lexicon(Entry):
    """All words of the pair."""

    format: Literal["padir grammar 1"] = FORMAT
    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]
    adverbs: tuple[Particle, ...]
    postpositions: tuple[Particle, ...]
    intensifier: Particle
    conjunction: Particle
    article: InflectedForms


def read_lexicon(path: str | PathLike[str]) -> Lexicon:
    """Read grammar.json. Raises InputError where it is not a grammar of this version."""
    try:
        return Lexicon.model_validate(read_with_checksum(path, rerun_remedy(path)))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "whole file"
        raise InputError(f"{shown(path)}: not a grammar: {where}: {first['msg']}") from error


def lexeme_maps(lexicon: Lexicon) -> tuple[dict[str, str], dict[str, str]]:
    """Lexeme names of all source words and of all target words.

    Words that lexemes share are left out: second words of nouns, and verbs' particles. The article
    is a target lexeme without a source word.
    """
    source: dict[str, str] = {}
    target = dict.fromkeys(_inflected_words(lexicon.article), "article")

    def add(name: str, sources: Sequence[str], targets: Iterable[str]) -> None:
        source.update(dict.fromkeys(sources, name))
        target.update(dict.fromkeys(targets, name))

    for i, noun in enumerate(lexicon.nouns):
        both = (words.split()[0] for form in noun.forms for words in (form.singular, form.plural))
        add(f"noun {i}", [noun.singular, noun.plural], both)
    for i, verb in enumerate(lexicon.verbs):
        both = (word for form in verb.forms for word in (form.singular, form.plural))
        add(f"verb {i}", [verb.source], both)
    for i, adjective in enumerate(lexicon.adjectives):
        inflected = (word for form in adjective.forms for word in _inflected_words(form))
        add(f"adjective {i}", [adjective.source], inflected)
    for category in ("adverb", "postposition"):
        for i, particle in enumerate(getattr(lexicon, f"{category}s")):
            add(f"{category} {i}", [particle.source], particle.forms)
    add("intensifier", [lexicon.intensifier.source], lexicon.intensifier.forms)
    add("conjunction", [lexicon.conjunction.source], lexicon.conjunction.forms)
    return source, target


def _inflected_words(form: InflectedForms) -> tuple[str, ...]:
    return form.ms, form.mp, form.fs, form.fp


class _Words:
    """Draws invented words, none of them twice."""

    def __init__(self, generator: random.Random):
        self._generator = generator
        self._taken: set[str] = set()

    def draw(
        self, onsets: str, vowels: str, codas: Sequence[str], endings: Sequence[str]
    ) -> list[str]:
        """A stem with each of the endings; all resulting words are new."""
        syllables, failures = 1, 0
        while True:
            stem = "".join(
                self._generator.choice(onsets) + self._generator.choice(vowels)
                for _ in range(syllables + self._generator.randrange(2))
            )
            stem += self._generator.choice(codas)
            words = [stem + ending for ending in endings]
            if not self._taken.intersection(words):
                self._taken.update(words)
                return words
            failures += 1
            # Short words are running out.
            if failures % 8 == 0:
                syllables += 1

    def source(self, *endings: str) -> list[str]:
        """A new source stem with each of the endings."""
        return self.draw("kmnprst", "aeiou", ("",), endings or ("",))

    def target(self, *endings: str) -> list[str]:
        """A new target stem with each of the endings."""
        return self.draw("bdfglvz", "aeiou", ("l", "n", "r", "s"), endings or ("",))


def draw_lexicon(settings: SyntheticSource) -> Lexicon:
    """Draw the lexicon; it depends on the seed and the numbers of words, nothing else."""
    generator = random.Random(f"lexicon {settings.seed}")
    words = _Words(generator)
    tails = [words.target()[0] for _ in range(_TAILS)]
    particles = [words.target()[0] for _ in range(_PARTICLES)]

    def noun_form() -> NounForm:
        gender = generator.choice(("m", "f"))
        singular, plural = words.target(*(("", "en") if gender == "m" else ("a", "as")))
        tail = f" {generator.choice(tails)}" if generator.random() < TWO_WORD_SHARE else ""
        return NounForm(gender=gender, singular=singular + tail, plural=plural + tail)

    def verb_form() -> VerbForm:
        singular, plural = words.target("e", "un")
        separable = generator.random() < PARTICLE_SHARE
        particle = generator.choice(particles) if separable else ""
        return VerbForm(singular=singular, plural=plural, particle=particle)

    def inflected_forms() -> InflectedForms:
        ms, mp, fs, fp = words.target("o", "os", "ia", "ias")
        return InflectedForms(ms=ms, mp=mp, fs=fs, fp=fp)

    def forms(count: int, draw: Callable[[], Item]) -> list[tuple[Item, ...]]:
        """One target form for each of `count` lexemes, two for the share that has synonyms."""
        second = set(generator.sample(range(count), round(SECOND_FORM_SHARE * count)))
        return [(draw(), draw()) if i in second else (draw(),) for i in range(count)]

    def fixed(count: int) -> tuple[Particle, ...]:
        drawn = forms(count, lambda: words.target()[0])
        return tuple(Particle(source=words.source()[0], forms=form) for form in drawn)

    # Drawn first, as the commonest words are the shortest.
    article = inflected_forms()
    nouns = []
    for form in forms(settings.nouns, noun_form):
        singular, plural = words.source("", "ri")
        nouns.append(Noun(singular=singular, plural=plural, forms=form))
    return Lexicon(
        nouns=tuple(nouns),
        verbs=tuple(
            Verb(source=words.source()[0], forms=form) for form in forms(settings.verbs, verb_form)
        ),
        adjectives=tuple(
            Adjective(source=words.source()[0], forms=form)
            for form in forms(settings.adjectives, inflected_forms)
        ),
        adverbs=fixed(settings.adverbs),
        postpositions=fixed(settings.postpositions),
        intensifier=Particle(
            source=words.source()[0], forms=(words.target()[0], words.target()[0])
        ),
        conjunction=Particle(source=words.source()[0], forms=(words.target()[0],)),
        article=article,
    )
