"""Translating a stream line by line: one output line for each input line, whatever it holds."""

from collections.abc import Callable, Iterable

from padir.decode.constrain import Constraints
from padir.decode.translate import Translator, shortened
from padir.files import InputError


def translate_stream(
    translator: Translator,
    lines: Iterable[str],
    write: Callable[[str], None],
    warn: Callable[[str], None],
    chunk: int,
    constraints: Constraints | None = None,
) -> int:
    """Translate lines in chunks, writing each chunk as soon as it is done.

    Args:
        translator: model and decoding.
        lines: input, without newlines.
        write: called once per line with its translation, in order.
        warn: called with a message about a line that was cut.
        chunk: lines translated together; more is faster, fewer answer sooner.
        constraints: what the lines are held to, one for each.

    Returns:
        the number of lines.

    Raises:
        InputError: more or fewer lines than constraints; a constraint on an empty line.
    """
    count = 0
    pending: list[str] = []

    def flush() -> None:
        nonlocal count
        sources = translator.encode(pending)
        for message in shortened(sources, translator.longest_source, count + 1):
            warn(message)
        if constraints is None:
            hypotheses = translator.finish(sources, translator.candidates(sources))
        else:
            hypotheses = constraints.translate(sources, count)
        for hypothesis in hypotheses:
            write(hypothesis.hypothesis)
        count += len(pending)
        pending.clear()

    for line in lines:
        pending.append(line)
        if constraints and count + len(pending) > len(constraints.lines):
            raise InputError(
                f"line counts differ: the input has more than the {len(constraints.lines)} of"
                f" {constraints.name}"
            )
        if len(pending) == chunk:
            flush()
    flush()
    if constraints and count < len(constraints.lines):
        raise InputError(
            f"line counts differ: the input has {count}, {constraints.name} has"
            f" {len(constraints.lines)}"
        )
    return count
