"""The grammar of the synthetic language pair: parsing, the four translations, validity.

Source (xs), one order only; several clauses are joined by the conjunction:

    sentence:  [adverb] subject (phrase postposition)* object verb
    noun phrase:  adjective* noun         the noun shows its number
    adjective:  [intensifier [intensifier]] adjective

Target (xt), two orders with the verb second in both:

    plain:    subject verb object (preposition phrase)* [adverb] [particle]
    fronted:  adverb verb subject object (preposition phrase)* [particle]     with an adverb
              object verb subject (preposition phrase)* [particle]            without one
    noun phrase:  [article] noun adjective*     articles with subject and object only

Articles and adjectives agree with the noun in gender and number, the verb with its subject's
number; the source's adjectives come in reverse. Separable verbs put a particle at the end of the
clause. A translation keeps one register and one order throughout: a source has up to four
translations, and no other line is valid.

Equal neighbouring words occur in one construction only: an intensifier said twice, in the source
as in every translation of it. It is rare, and there so that dropping repeats can do damage.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple, NoReturn, TypeVar

from padir.data.lexicon import Lexicon, NounForm, read_lexicon
from padir.files import InputError, shown

Form = TypeVar("Form")


class Mode(NamedTuple):
    """A way to translate: register 0 or 1 (which synonyms), order 0 (plain) or 1 (fronted)."""

    register: int
    order: int


MODES = (Mode(0, 0), Mode(0, 1), Mode(1, 0), Mode(1, 1))


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its adjectives in source order, as indices into the lexicon.

    Attributes:
        intensity: how often the intensifier stands before the first adjective: 0, 1 or 2.
    """

    noun: int
    plural: bool = False
    adjectives: tuple[int, ...] = ()
    intensity: int = 0


@dataclass(frozen=True)
class Clause:
    """One clause; `phrases` pairs each further noun phrase with its postposition's index."""

    subject: NounPhrase
    object: NounPhrase
    verb: int
    phrases: tuple[tuple[NounPhrase, int], ...] = ()
    adverb: int | None = None


Sentence = tuple[Clause, ...]


class Grammar:
    """Generates, parses and translates sentences over one lexicon."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon
        self._categories: dict[str, tuple[str, int]] = {
            lexicon.intensifier.source: ("intensifier", 0),
            lexicon.conjunction.source: ("conjunction", 0),
        }
        for index, noun in enumerate(lexicon.nouns):
            self._categories[noun.singular] = ("singular", index)
            self._categories[noun.plural] = ("plural", index)
        for category, entries in (
            ("verb", lexicon.verbs),
            ("adjective", lexicon.adjectives),
            ("adverb", lexicon.adverbs),
            ("postposition", lexicon.postpositions),
        ):
            for index, entry in enumerate(entries):
                self._categories[entry.source] = (category, index)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Grammar":
        """Read grammar.json. Raises InputError where it is not a grammar of this version."""
        return cls(read_lexicon(path))

    # Writing the source.

    def source(self, sentence: Sentence) -> str:
        """The source line of a sentence."""
        clauses = (" ".join(self._source_clause(clause)) for clause in sentence)
        return f" {self.lexicon.conjunction.source} ".join(clauses)

    def _source_clause(self, clause: Clause) -> list[str]:
        words = [] if clause.adverb is None else [self.lexicon.adverbs[clause.adverb].source]
        words += self._source_phrase(clause.subject)
        for phrase, postposition in clause.phrases:
            words += self._source_phrase(phrase)
            words.append(self.lexicon.postpositions[postposition].source)
        return [*words, *self._source_phrase(clause.object), self.lexicon.verbs[clause.verb].source]

    def _source_phrase(self, phrase: NounPhrase) -> list[str]:
        noun = self.lexicon.nouns[phrase.noun]
        return [
            *[self.lexicon.intensifier.source] * phrase.intensity,
            *(self.lexicon.adjectives[adjective].source for adjective in phrase.adjectives),
            noun.plural if phrase.plural else noun.singular,
        ]

    # Reading the source.

    def parse(self, source: str) -> Sentence:
        """The one sentence that a source line stands for.

        Raises:
            InputError: the line is not of this grammar; the message names the word.
        """
        reader = _Reader(source, self._categories)
        clauses = [reader.clause()]
        while reader.take("conjunction") is not None:
            clauses.append(reader.clause())
        reader.end()
        return tuple(clauses)

    # Writing the target.

    def translate(self, sentence: Sentence, mode: Mode) -> str:
        """The sentence's translation in a mode."""
        clauses = (" ".join(self._target_clause(clause, mode)) for clause in sentence)
        return f" {_choose(self.lexicon.conjunction.forms, mode.register)} ".join(clauses)

    def _target_clause(self, clause: Clause, mode: Mode) -> list[str]:
        lexicon, register = self.lexicon, mode.register
        form = _choose(lexicon.verbs[clause.verb].forms, register)
        verb = [form.plural if clause.subject.plural else form.singular]
        particle = [form.particle] if form.particle else []
        subject = self._target_phrase(clause.subject, register, article=True)
        obj = self._target_phrase(clause.object, register, article=True)
        phrases: list[str] = []
        for phrase, postposition in clause.phrases:
            phrases.append(_choose(lexicon.postpositions[postposition].forms, register))
            phrases += self._target_phrase(phrase, register, article=False)
        adverb = []
        if clause.adverb is not None:
            adverb = [_choose(lexicon.adverbs[clause.adverb].forms, register)]
        if mode.order == 0:
            return [*subject, *verb, *obj, *phrases, *adverb, *particle]
        if adverb:
            return [*adverb, *verb, *subject, *obj, *phrases, *particle]
        return [*obj, *verb, *subject, *phrases, *particle]

    def _target_phrase(self, phrase: NounPhrase, register: int, *, article: bool) -> list[str]:
        lexicon = self.lexicon
        noun: NounForm = _choose(lexicon.nouns[phrase.noun].forms, register)
        words = [lexicon.article.agree(noun.gender, phrase.plural)] if article else []
        words += (noun.plural if phrase.plural else noun.singular).split()
        for position, index in reversed(list(enumerate(phrase.adjectives))):
            if position == 0:
                words += [_choose(lexicon.intensifier.forms, register)] * phrase.intensity
            adjective = _choose(lexicon.adjectives[index].forms, register)
            words.append(adjective.agree(noun.gender, phrase.plural))
        return words

    # Deciding validity.

    def translations(self, source: str) -> dict[Mode, str]:
        """The translation of a source line in each mode; some may be equal.

        Raises:
            InputError: the line is not of this grammar.
        """
        sentence = self.parse(source)
        return {mode: self.translate(sentence, mode) for mode in MODES}

    def modes(self, source: str, target: str) -> tuple[Mode, ...]:
        """The modes in which `target` translates `source`, none if it is invalid; see `parse`."""
        translations = self.translations(source)
        return tuple(mode for mode in MODES if translations[mode] == target)

    def is_valid(self, source: str, target: str) -> bool:
        """Whether `target` is exactly one of the translations of `source`; see `parse`."""
        return bool(self.modes(source, target))

    def valid_lines(self, sources: Sequence[str], targets: Sequence[str], name: str) -> list[bool]:
        """`is_valid` of each pair of lines.

        Raises:
            InputError: a source line is not of this grammar; the message starts with `name`, which
                stands for the sources' file, and the line.
        """
        valid = []
        for number, (source, target) in enumerate(zip(sources, targets, strict=True), start=1):
            try:
                valid.append(self.is_valid(source, target))
            except InputError as error:
                raise InputError(f"{name}: line {number}: {error}") from error
        return valid


def _choose(forms: Sequence[Form], register: int) -> Form:
    """The form of a register; words without a second form have one for both."""
    return forms[min(register, len(forms) - 1)]


class _Reader:
    """Reads one source line from left to right."""

    def __init__(self, line: str, categories: dict[str, tuple[str, int]]):
        self._words = line.split(" ")
        self._categories = categories
        self._next = 0

    def take(self, category: str) -> int | None:
        """The index of the next word if it is of the category; moves past it."""
        if self._next < len(self._words):
            actual, index = self._categories.get(self._words[self._next], ("unknown", 0))
            if actual == category:
                self._next += 1
                return index
        return None

    def need(self, category: str) -> int:
        """As `take`, but the word must be there."""
        index = self.take(category)
        if index is None:
            article = "an" if category[0] in "aeiou" else "a"
            self._refuse(f"{article} {category}")
        return index

    def end(self) -> None:
        """Check that nothing is left."""
        if self._next < len(self._words):
            self._refuse("the end")

    def _refuse(self, expected: str) -> NoReturn:
        at_end = self._next == len(self._words)
        word = "the end" if at_end else shown(repr(self._words[self._next]))
        raise InputError(f"word {self._next + 1}: expected {expected}, found {word}")

    def clause(self) -> Clause:
        adverb = self.take("adverb")
        subject = self.phrase()
        phrases: list[tuple[NounPhrase, int]] = []
        while True:
            phrase = self.phrase()
            postposition = self.take("postposition")
            if postposition is None:
                verb = self.need("verb")
                return Clause(subject, phrase, verb, tuple(phrases), adverb)
            phrases.append((phrase, postposition))

    def phrase(self) -> NounPhrase:
        intensity = sum(self.take("intensifier") is not None for _ in range(2))
        adjectives = [self.need("adjective")] if intensity else []
        while (adjective := self.take("adjective")) is not None:
            adjectives.append(adjective)
        noun = self.take("singular")
        plural = noun is None
        if noun is None:
            noun = self.take("plural")
        if noun is None:
            self._refuse("a noun")
        return NounPhrase(noun, plural, tuple(adjectives), intensity)
