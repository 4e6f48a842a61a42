"""Translate standard input to standard output, line by line, with a trained model.

A blank line gives an empty line. A line longer than the model can read is truncated, with a
warning. Files of constraints have a line for each input line; an empty one sets no constraint.
--prefix and --suffix may be combined, the others may not. A given text appears in the output as
whole words.

examples:
  padir translate --model bundle < in.de > out.en
  padir translate --model bundle --steps 10 < in.de > out.en
  padir translate --model bundle --decoder reranked --reranker ar < in.de > out.en
  echo "Ein Hund rennt." | padir translate --model ar --beam 5
  padir translate --model bundle --nbest 3 < in.de          # best first, between tabs
  padir translate --model bundle --json < in.de > out.jsonl # with scores, passes, candidates
text that has to stand in the output (parallel models; line i belongs to input line i):
  padir translate --model bundle --prefix starts < in.de    # line i: A dog
  padir translate --model bundle --suffix ends < in.de      # line i: in the snow.
  padir translate --model bundle --infill gaps < in.de      # line i: A ___ runs ___.
  padir translate --model bundle --terms terms < in.de      # line i: dog<tab>running race
a draft, which is replaced if it seems to have errors (PaDIR and SUNDAE):
  padir translate --model bundle --draft drafts < in.de     # line i: A dogs running run.
"""

import argparse
import io
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from padir.commands import options
from padir.commands.arguments import (
    AT_MOST_ONE_OF,
    RULE,
    decoder_options,
    needed,
    option,
    read_arguments,
    threads,
)
from padir.config.rows import DEFAULT_PASSES
from padir.launch import prepare

MOST_CANDIDATES = 1_000
CONSTRAINTS = {
    "prefix": "file of texts that the translations begin with",
    "suffix": "file of the translations' ends; closing punctuation in front joins a word",
    "infill": "file of translations with gaps to fill, each written ___ (one token or more)",
    "draft": "file of translations that are kept, or replaced where the model finds errors",
    "terms": "file of words or phrases that each translation must contain, separated by tabs",
}


OPTIONS = (
    needed("--model BUNDLE", "folder of the model bundle"),
    *decoder_options("greedy"),
    option(
        "--steps T",
        f"number of decoder passes of a parallel model (default {DEFAULT_PASSES})",
        group=AT_MOST_ONE_OF,
    ),
    option(
        "--beam N",
        "width of an AR model's beam search (without --beam and --decoder: greedy search)",
        least=1,
        most=10_000,
        group=AT_MOST_ONE_OF,
    ),
    *RULE,
    *(option(f"--{name} F", meaning, group="constraints") for name, meaning in CONSTRAINTS.items()),
    option(
        "--draft-margin X",
        "what the replacement of a draft has to gain: nats per changed token, less 4 times the"
        " share of tokens that change; lower keeps fewer drafts (default: as chosen by padir tune)",
        group="constraints",
    ),
    option(
        "--nbest N",
        "print the N best distinct candidates, separated by tabs; AR has one",
        least=1,
        group="output",
    ),
    option("--trace", "show every pass on stderr, coloured on a terminal", group="output"),
    option(
        "--json",
        "print one JSON object a line with translation, passes and candidates",
        group="output",
    ),
    option("--chunk N", "maximum number of lines translated together", default=64, least=1),
    threads(),
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    hint = "text is read from standard input: < {}"
    arguments = read_arguments("translate", __doc__, OPTIONS, argv, hint)
    from padir.files import InputError

    if sys.stdin is None or sys.stdout is None:
        closed = "input" if sys.stdin is None else "output"
        raise InputError(f"standard {closed} is closed: lines are read from it or written to it")
    prepare(arguments.threads)
    from padir.decode.given_files import read_constraints
    from padir.decode.stream import batch_arriving_lines, translated

    translator = open_translator(arguments)
    paths = {option: getattr(arguments, option) for option in CONSTRAINTS}
    given = {option: path for option, path in paths.items() if path is not None}
    if given and arguments.nbest:
        raise InputError(f"--nbest does not go with --{next(iter(given))}, which has one candidate")
    if given and arguments.trace:
        raise InputError(f"--trace does not go with --{next(iter(given))}")
    margin = arguments.draft_margin
    if margin is not None and (arguments.draft is None or not math.isfinite(margin)):
        raise InputError(f"--draft-margin {margin}: needs --draft, and a finite number")
    constraints = read_constraints(translator, given, margin, warn) if given else None
    # With --json all candidates, at most as many as --nbest says.
    best = arguments.nbest or (MOST_CANDIDATES if arguments.json else 0)
    groups = batch_arriving_lines(input_lines(), arguments.chunk)
    out = sys.stdout.buffer
    with blocking_input():
        for translation in translated(translator, groups, warn, constraints, best):
            if arguments.json:
                text = json.dumps(translation.record(), ensure_ascii=False)
            elif arguments.nbest:
                texts = [each.text.replace("\t", " ") for each in translation.alternatives]
                text = "\t".join(texts)
            else:
                text = translation.hypothesis.hypothesis
            out.write(text.encode("utf-8") + b"\n")
            out.flush()
            if arguments.trace:
                show_passes(translator, translation.source)
    return 0


@contextmanager
def blocking_input() -> Iterator[None]:
    """Let standard input block: what has not come yet would pass for its end. Afterwards it is as
    before, as others may hold the same pipe."""
    with ExitStack() as stack:
        with suppress(io.UnsupportedOperation):
            number = sys.stdin.buffer.fileno()
            if not os.get_blocking(number):
                os.set_blocking(number, True)
                stack.callback(os.set_blocking, number, False)
        yield


def input_lines() -> Iterator[str]:
    """The lines of standard input. Raises InputError for what cannot be read, or is no text."""
    from padir.files import InputError, decode_lines

    try:
        yield from decode_lines(
            sys.stdin.buffer, "standard input", strip_bom=True, nul_as_space=True
        )
    except OSError as error:
        raise InputError(f"standard input: cannot read: {error.strerror}") from error


def show_passes(translator, line: str) -> None:
    """Show the passes of one line on stderr: changed tokens bold, remasked tokens red."""
    from padir.decode.trace import traces

    [trace] = traces(translator, [line], "standard input", warn=lambda message: None)
    if trace["chosen"] is None:
        return
    coloured = sys.stderr.isatty()
    states = trace["candidates"][trace["chosen"]]["states"]
    before: list[str] = []
    for number, state in enumerate(states):
        hidden = set(state.get("hidden", ()))
        pieces = []
        for place, piece in enumerate(state["tokens"]):
            changed = number > 0 and (place >= len(before) or before[place] != piece)
            if coloured and (changed or place in hidden):
                piece = f"\x1b[{'31' if place in hidden else '1'}m{piece}\x1b[0m"
            elif place in hidden:
                piece = f"[{piece}]"
            pieces.append(piece)
        before = state["tokens"]
        print(f"  {number:2d}  {' '.join(pieces)}", file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """Warn of a line that was truncated, or that the model has not learnt to translate."""
    print(f"padir translate: warning: {message}", file=sys.stderr)


def open_translator(arguments: argparse.Namespace):
    """The translator of the command line; AR models decode greedily by default. Raises InputError
    for parts that do not fit each other."""
    from dataclasses import replace

    from padir.decode.load import find_decoder, load
    from padir.files import InputError
    from padir.library import Model

    model = Model(load(arguments.model))
    beam = arguments.beam
    default = "beam" if beam is not None else None if model.parallel else "greedy"
    decoder = find_decoder(model.loaded, arguments.decoder, default)
    if beam is not None:
        if decoder.settings.kind != "beam":
            raise InputError(f"--beam {beam} needs beam search; decoder {decoder.name} is none")
        decoder = replace(decoder, settings=decoder.settings.model_copy(update={"beam": beam}))
    rule = options.length_rule(arguments, decoder, model.loaded)
    with options.naming_rule_options():
        return model.translator(decoder, arguments.steps, arguments.reranker, rule)
