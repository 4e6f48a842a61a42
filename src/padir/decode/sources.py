"""Sources that a model cannot read in full, or has not learnt to translate."""

from collections.abc import Callable, Iterator, Sequence

from padir.config.training import TrainingRun
from padir.files import InputError, shown
from padir.ids import UNK


def longest_trained(run: TrainingRun) -> int:
    """Tokens of a source up to which a model has learnt to translate.

    A parallel model was trained on no length and no position beyond its longest bucket: it
    translates a longer source too shortly. AR ends where it predicts EOS.
    """
    longest = run.training.buckets[-1] if run.parallel else run.architecture.max_positions
    return longest - 1


def check_lengths(sources: Sequence[Sequence[int]], name: str, longest: int) -> None:
    """Refuse sources longer than the model's maximum length.

    Raises:
        InputError: with the first such line's number, from 1, in the file `name`.
    """
    for number, source in enumerate(sources, start=1):
        if len(source) > longest:
            raise InputError(
                f"{shown(name)}: line {number}: {len(source)} tokens, this model reads at most"
                f" {longest}"
            )


def shortened(sources: list[list[int]], longest: int, first_line: int) -> Iterator[str]:
    """Truncate sources to the model's maximum length, in place; yield a warning for each."""
    for index, source in enumerate(sources):
        if len(source) > longest:
            yield (
                f"line {first_line + index}: {len(source)} tokens, cut to the first {longest},"
                " all that this model reads"
            )
            del source[longest:]


class SourceWarnings:
    """Warns once of sources longer than in training, and once of text that is read as UNK.

    Args:
        warn: called with each message, which names the first such line; None warns of nothing.
        trained: tokens that the model has learnt to translate (`longest_trained`).
        unknown: parts of a line that the vocabulary cannot spell.
        place: before the line's number in the message, such as the file.
        whole: whether `check` gets the whole input at once, so that such lines are counted.
    """

    def __init__(
        self,
        warn: Callable[[str], None] | None,
        trained: int,
        unknown: Callable[[str], list[str]],
        place: str = "",
        whole: bool = True,
    ):
        self.warn, self.trained, self.unknown = warn, trained, unknown
        self.place, self.whole = place, whole
        self._said: set[Callable[[str], str]] = set()

    def check(self, lines: Sequence[str], sources: Sequence[Sequence[int]], first: int = 1) -> None:
        """Look at lines and their piece ids; the first is line `first` of the input."""
        longer = [index for index, ids in enumerate(sources) if len(ids) > self.trained]
        unknown = [index for index, ids in enumerate(sources) if UNK in ids]
        for such, words in ((longer, self._longer), (unknown, self._unknown)):
            if self.warn is None or not such or words in self._said:
                continue
            self._said.add(words)
            count = f"; such lines: {len(such)} of {len(sources)}" if self.whole else ""
            line = lines[such[0]]
            self.warn(f"{self.place}line {first + such[0]} {words(line)}{count}")

    def _longer(self, line: str) -> str:
        return (
            f"has more than the {self.trained} tokens that this model has learnt to translate: its"
            " translation may stop short"
        )

    def _unknown(self, line: str) -> str:
        named = "".join(f", such as {part[:20]!a}" for part in self.unknown(line)[:1])
        return f"holds text that this model's vocabulary cannot spell{named}: it is read as <unk>"
