"""Length candidates of one sentence, the length rule that ranks them, and the final drop.

Rule: score = log-probability / ((5 + length) / 6) ** alpha + weight * length log-probability

The penalty is that of Wu et al. 2016, as in the T5X beam search. alpha and weight are chosen on
validation data: plain mean log-probability prefers wrong lengths.

Final drop: the last of PaDIR's stutter goes, repeats that the source has stay.

A run is a stretch of equal neighbours. The longest run of the source, counted in the same unit,
is what a hypothesis may keep (1 where the source repeats nothing): longer runs of the hypothesis
are cut to that many copies, the first ones. So "sehr sehr gut" may give "very very good" but not
"very very very good". A repeat that only the target language has ("had had") is cut: that is the
damage this rule accepts, and why it is a setting.

Units. tokens: neighbouring ids. words: groups of tokens that begin at a space or at punctuation,
compared as text, so that one word spelt with different pieces still counts as repeated. Chinese and
Japanese have no spaces: a piece of their characters is a word of its own. The bytes of a character
that the vocabulary spells in bytes are one token here.

The paper drops repeated tokens (L.2); the published code deletes tokens that equal the start
token, which also hits correct ones.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

Unit = tuple[Hashable, tuple[int, ...]]
SPACE = "\u2581"
WITHOUT_SPACES = re.compile(
    "[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""A character of a script without spaces: kana and ideographs, with their extensions."""

BYTE = re.compile("<0x([0-9A-F]{2})>")
"""A piece that stands for one byte of UTF-8."""

MOST_PIECES = 2**16


@dataclass(frozen=True)
class Candidate:
    """One hypothesis for one source.

    Attributes:
        tokens: ids without EOS.
        length: tokens with EOS; for PaDIR the length that was tried. A hypothesis that reached
            the limit without EOS counts its tokens only.
        log_probability: sum over the predicted tokens, natural logarithm. PaDIR: at the pass that
            predicted them, given the tokens fed to that pass, EOS not included as it is given; with
            `rescore_kept` (RDM) of the latest prediction at each position.
            Reranked: the AR model's, EOS included. Around given text: `padir.decode.pseudo`.
        length_log_probability: of the length, for PaDIR; 0 for AR.
        passes: decoder passes until nothing changed, or the most allowed; AR: one per token.
            That of a reranker is not counted.
    """

    tokens: tuple[int, ...]
    length: int
    log_probability: float
    length_log_probability: float
    passes: int


def length_penalty(length, alpha):
    """((5 + length) / 6) ** alpha, for numbers and arrays."""
    return ((5.0 + length) / 6.0) ** alpha


@dataclass(frozen=True)
class LengthRule:
    """Weights of the length in a candidate's score; see the module's formula."""

    alpha: float = 0.0
    weight: float = 0.0

    def score(self, candidate: Candidate) -> float:
        """Higher is better; comparable between candidates of one source."""
        normalised = candidate.log_probability / length_penalty(candidate.length, self.alpha)
        return float(normalised + self.weight * candidate.length_log_probability)

    def choose(self, candidates: Sequence[Candidate]) -> Candidate:
        """The best candidate; the first of equals."""
        return max(candidates, key=self.score)


def characters(
    tokens: Sequence[int], piece: Callable[[int], str]
) -> list[tuple[str, tuple[int, ...]]]:
    """Each token with its text; the bytes of one character together."""
    groups: list[tuple[bytes | str, tuple[int, ...]]] = []
    for token in tokens:
        text = piece(token)
        match = BYTE.fullmatch(text)
        if match is None:
            groups.append((text, (token,)))
            continue
        byte = bytes.fromhex(match[1])
        before, ids = groups[-1] if groups else ("", ())
        if isinstance(before, bytes) and 0x80 <= byte[0] < 0xC0:
            groups[-1] = before + byte, (*ids, token)
        else:
            groups.append((byte, (token,)))
    return [
        (text if isinstance(text, str) else text.decode("utf-8", "replace"), ids)
        for text, ids in groups
    ]


def token_units(tokens: Sequence[int], piece: Callable[[int], str]) -> list[Unit]:
    """Each token as a unit of its own, and each character in bytes."""
    return [(ids, ids) for _, ids in characters(tokens, piece)]


@lru_cache(maxsize=MOST_PIECES)
def is_word_alone(piece: str) -> bool:
    """Whether a piece without its space is a word by itself: punctuation, ideographs or kana."""
    signs_alone = not any(map(str.isalnum, piece))
    return bool(piece) and (signs_alone or WITHOUT_SPACES.search(piece) is not None)


def word_units(tokens: Sequence[int], piece: Callable[[int], str]) -> list[Unit]:
    """Tokens grouped into words; each piece of punctuation, ideographs or kana is its own word."""
    groups: list[tuple[str, list[int]]] = []
    after_alone = False
    for text, ids in characters(tokens, piece):
        body = text.lstrip(SPACE)
        alone = is_word_alone(body)
        if not groups or text.startswith(SPACE) or alone or after_alone:
            groups.append((body, [*ids]))
        else:
            groups[-1] = (groups[-1][0] + body, [*groups[-1][1], *ids])
        after_alone = alone
    return [(text, tuple(word)) for text, word in groups]


UNITS: dict[str, Callable[[Sequence[int], Callable[[int], str]], list[Unit]]] = {
    "tokens": token_units,
    "words": word_units,
}


def places_in_runs(units: Sequence[Unit]) -> list[int]:
    """The place of each unit in its run, counted from 1."""
    places: list[int] = []
    for index, (key, _) in enumerate(units):
        repeats = index > 0 and key == units[index - 1][0]
        places.append(places[-1] + 1 if repeats else 1)
    return places


def drop_repeats(
    tokens: Sequence[int], source: Sequence[int], mode: str, piece: Callable[[int], str]
) -> tuple[int, ...]:
    """The hypothesis with each run of repeats cut to the length that the source allows.

    Args:
        tokens: of the hypothesis, without EOS.
        source: token ids, without EOS.
        mode: none, words or tokens.
        piece: text of a token id, U+2581 standing for a space.

    Returns:
        The kept tokens, in order.
    """
    if mode == "none":
        return tuple(tokens)
    units = UNITS[mode](tokens, piece)
    places = places_in_runs(units)
    if max(places, default=1) == 1:
        return tuple(tokens)
    allowed = max(places_in_runs(UNITS[mode](source, piece)), default=1)
    kept = [ids for place, (_, ids) in zip(places, units, strict=True) if place <= allowed]
    return tuple(chain.from_iterable(kept))
