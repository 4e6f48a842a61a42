"""Rows of tables: a training, the decoder of its hypotheses, and the number of passes.

Written `TRAINING/DECODER/T4`, or `TRAINING/DECODER` for AR decoders, which make one pass per token.
This is the one place where `T4` is parsed. In file names a decoding is `DECODER.T4` or `DECODER`.
"""

import re
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from padir.config.base import NAME_PATTERN, Digests, Name, Settings, short_digest
from padir.config.decoder import MOST_PASSES

DEFAULT_PASSES = 4
"""Passes of a parallel model by default: the paper's compromise between quality and latency."""

Passes = Annotated[int, Field(ge=1, le=MOST_PASSES)]


class Decoding(NamedTuple):
    """A decoder and its number of passes.

    Attributes:
        decoder: its name.
        passes: decoder passes (T); None for AR decoders.
    """

    decoder: str
    passes: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Decoding":
        """Read `DECODER.T4` or `DECODER`, as in file names.

        Raises:
            ValueError: the text is neither.
        """
        decoder, dot, passes = text.partition(".")
        return cls(_name(decoder, text), parse_passes(passes, text) if dot else None)

    @property
    def name(self) -> str:
        """Name in file names, such as `padir.T4` or `beam`."""
        return self.decoder if self.passes is None else f"{self.decoder}.T{self.passes}"

    @property
    def label(self) -> str:
        """Name in tables and messages, such as `padir T4` or `beam`."""
        return self.name.replace(".", " ")

    @property
    def steps(self) -> str:
        """The number of passes as tables show it; N, one per token, for AR."""
        return "N" if self.passes is None else str(self.passes)


class Row(NamedTuple):
    """A training and how it is decoded.

    Attributes:
        training: its name.
        decoding: decoder and passes.
    """

    training: str
    decoding: Decoding

    @classmethod
    def parse(cls, text: str) -> "Row":
        """Read `TRAINING/DECODER/T4` or `TRAINING/DECODER`.

        Raises:
            ValueError: the text is neither.
        """
        training, *decoding = text.split("/")
        if len(decoding) not in (1, 2):
            raise ValueError(
                f"{text!r} is no row: write TRAINING/DECODER/T4, or TRAINING/DECODER for AR"
            )
        passes = parse_passes(decoding[1], text) if len(decoding) == 2 else None
        return cls(_name(training, text), Decoding(_name(decoding[0], text), passes))

    @property
    def name(self) -> str:
        """Name in a config, such as `padir/joint/T4`."""
        return "/".join([self.training, *self.decoding.name.split(".")])

    @property
    def label(self) -> str:
        """Name in tables and messages, such as `padir joint T4`."""
        return f"{self.training} {self.decoding.label}"


def with_hypotheses(digests: Digests, seed: int, passes: int | None) -> Digests:
    """Digests of a training and a decoder, with the digest of their hypotheses added."""
    made_by = [digests["training"], seed, digests["decoder"], passes]
    return {**digests, "hypotheses": short_digest(made_by)}


def parse_passes(text: str, where: str) -> int:
    """Read a number of passes, such as `T4`.

    Raises:
        ValueError: it is not one.
    """
    number = re.fullmatch(r"T([1-9][0-9]{0,2})", text)
    if not number or int(number[1]) > MOST_PASSES:
        raise ValueError(f"{where!r}: passes are {text!r}, allowed: T1 to T{MOST_PASSES}")
    return int(number[1])


def _name(text: str, where: str) -> str:
    if not re.fullmatch(NAME_PATTERN, text):
        raise ValueError(f"{where!r}: {text!r} is no name of a training or decoder")
    return text


# A row as text, checked for its form.
RowText = Annotated[str, AfterValidator(lambda text: Row.parse(text).name)]


class Rows(Settings):
    """Several trainings, each decoded by several decoders with several numbers of passes."""

    trainings: list[Name] = Field(min_length=1, description="Names of trainings.")
    decoders: list[Name] = Field(min_length=1)
    """Names of decoders; each must fit all of `trainings`."""
    passes: list[Passes] = Field(default=[])
    """Numbers of decoder passes (T); [] for AR decoders."""

    def rows(self) -> list[Row]:
        """Every combination, trainings first."""
        return [
            Row(training, Decoding(decoder, passes))
            for training in self.trainings
            for decoder in self.decoders
            for passes in self.passes or [None]
        ]
