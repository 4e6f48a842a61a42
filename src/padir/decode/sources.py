"""Sources longer than a model can read, or than it has learnt to translate."""

from collections.abc import Iterator, Sequence

from padir.config.training import TrainingRun
from padir.files import InputError, shown


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


def shortened(
    sources: list[list[int]], longest: int, trained: int, first_line: int
) -> Iterator[str]:
    """Truncate sources to the model's maximum length, in place.

    Args:
        sources: piece ids.
        longest: tokens that the model reads.
        trained: tokens that it has learnt to translate.
        first_line: number of the first source.

    Yields:
        A warning for each source that is cut, or longer than those of training.
    """
    for line, source in enumerate(sources, start=first_line):
        if len(source) > longest:
            yield (
                f"line {line}: {len(source)} tokens, cut to the first {longest},"
                " all that this model reads"
            )
            del source[longest:]
        elif len(source) > trained:
            yield (
                f"line {line}: {len(source)} tokens, but this model has learnt to translate at most"
                f" {trained}: its translation may stop short"
            )
