"""Translating a stream line by line: one output line for each input line, whatever it holds."""

from collections.abc import Callable, Iterable, Iterator

from padir.decode.translate import Translator


def shortened(sources: list[list[int]], longest: int, first_line: int) -> Iterator[str]:
    """Cut sources to what the model reads, in place; yield a warning for each line cut."""
    for index, source in enumerate(sources):
        if len(source) > longest:
            yield (
                f"line {first_line + index}: {len(source)} tokens, cut to the first {longest},"
                " all that this model reads"
            )
            del source[longest:]


def translate_stream(
    translator: Translator,
    lines: Iterable[str],
    write: Callable[[str], None],
    warn: Callable[[str], None],
    chunk: int,
) -> int:
    """Translate lines in chunks, writing each chunk as soon as it is done.

    Args:
        translator: model and decoding.
        lines: input, without newlines.
        write: called once per line with its translation, in order.
        warn: called with a message about a line that was cut.
        chunk: lines translated together; more is faster, fewer answer sooner.

    Returns:
        the number of lines.
    """
    count = 0
    pending: list[str] = []

    def flush() -> None:
        nonlocal count
        sources = translator.encode(pending)
        for message in shortened(sources, translator.longest_source, count + 1):
            warn(message)
        for hypothesis in translator.finish(sources, translator.candidates(sources)):
            write(hypothesis.hypothesis)
        count += len(pending)
        pending.clear()

    for line in lines:
        pending.append(line)
        if len(pending) == chunk:
            flush()
    flush()
    return count
