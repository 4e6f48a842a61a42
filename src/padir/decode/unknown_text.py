"""Warns of source text that the vocabulary cannot spell, and which the model reads as UNK."""

from collections.abc import Callable, Sequence

from padir.ids import UNK


class UnknownTextWarning:
    """Warns once, of the first line with UNK.

    Args:
        warn: called with the message; None warns of nothing.
        place: before the line's number in the message, such as the file.
        whole: whether `check` gets the whole input at once, so that such lines are counted.
    """

    def __init__(self, warn: Callable[[str], None] | None, place: str = "", whole: bool = True):
        self.warn, self.place, self.whole = warn, place, whole

    def check(self, sources: Sequence[Sequence[int]], first: int = 1) -> None:
        """Look at sources, of which the first is line `first` of the input."""
        if self.warn is None:
            return
        numbers = [number for number, ids in enumerate(sources, start=first) if UNK in ids]
        if not numbers:
            return
        warn, self.warn = self.warn, None
        count = f"; such lines: {len(numbers)} of {len(sources)}" if self.whole else ""
        warn(
            f"{self.place}line {numbers[0]} holds text that this model's vocabulary cannot spell"
            f" and the model reads as <unk>{count}"
        )
