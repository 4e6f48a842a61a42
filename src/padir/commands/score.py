"""`padir score`: BLEU, chrF and stutter of finished text, with intervals and significance.

In: hypotheses and references, line for line. Out: one JSON document.
"""

import argparse
from pathlib import Path
from typing import Any

DESCRIPTION = """\
Score translations against references and print one JSON document: BLEU and chrF with their
sacreBLEU signatures, stutter, and 95% bootstrap intervals over sentences. With --json the same
document, plus its labels and the score of every resample, is written to a file for the report."""

EXAMPLES = """\
examples:
  padir score --hypotheses out.txt --references ref.en --target-language en
  padir score --hypotheses out.txt --references ref.en ref.en.1 --target-language en \\
      --baseline ar.txt --decode out.jsonl --json score.json
  padir score --hypotheses out.txt --references ref.xt --target-language xt \\
      --grammar grammar.json --sources test.xs
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir score",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument(
        "--hypotheses", type=Path, required=True, metavar="F", help="output to score"
    )
    parse.add_argument(
        "--references", type=Path, required=True, nargs="+", metavar="F",
        help="one file each, or one .jsonl with a JSON list of all references a line",
    )  # fmt: skip
    parse.add_argument(
        "--target-language", required=True, metavar="L", help="language code, such as en or zh"
    )
    parse.add_argument(
        "--decode", type=Path, metavar="F", help="JSON lines of padir decode: token-level stutter,"
        " stutter before the final drop, decoder passes",
    )  # fmt: skip
    parse.add_argument("--baseline", type=Path, metavar="F", help="other output, for paired tests")
    parse.add_argument("--baseline-name", metavar="NAME", help="its label (default: the path)")
    parse.add_argument("--grammar", type=Path, metavar="F", help="grammar.json of synthetic data")
    parse.add_argument("--sources", type=Path, metavar="F", help="source lines, with --grammar")
    parse.add_argument(
        "--samples", type=int, default=1000, metavar="N", help="bootstrap resamples (default 1000)"
    )
    parse.add_argument("--json", type=Path, metavar="F", help="also write the full document here")
    add_labels(parse)
    return parse


def add_labels(parse: argparse.ArgumentParser) -> None:
    """Arguments that say what is scored."""
    labels = parse.add_argument_group("what the report reads from the full document")
    labels.add_argument(
        "--provenance", type=Path, metavar="F", help="what padir decode or sample wrote beside"
        " the hypotheses: labels and digests of training, decoder and data",
    )  # fmt: skip
    labels.add_argument("--digests", metavar="JSON", help="digests that the config expects")


def main(argv: list[str]) -> int:
    """Score, print, and write with `--json`."""
    arguments = parser().parse_args(argv)
    import json

    from padir.files import InputError, read_aligned, read_jsonl, shown, write_json
    from padir.provenance import write_provenance
    from padir.score.summary import DecoderOutput, score_corpus

    if arguments.samples < 40:
        raise InputError(f"--samples is {arguments.samples}: allowed are 40 and more")
    if (arguments.grammar is None) != (arguments.sources is None):
        raise InputError("--grammar and --sources go together: give both or neither")
    others = [path for path in (arguments.baseline, arguments.sources) if path is not None]
    check_plain_text(arguments.hypotheses, *others)
    texts = read_aligned(arguments.hypotheses, *arguments.references, *others, strip_bom=True)
    hypotheses, *references = texts[: len(texts) - len(others)]
    if not hypotheses:
        raise InputError(f"{shown(arguments.hypotheses)}: empty: there is no sentence to score")
    baseline = texts[len(texts) - len(others)] if arguments.baseline is not None else None
    decoded = None
    if arguments.decode is not None:
        records = read_jsonl(arguments.decode)
        decoded = DecoderOutput.from_records(records, hypotheses, shown(arguments.decode))
    valid = sources = lexemes = None
    if arguments.grammar is not None:
        from padir.data.grammar import Grammar
        from padir.data.lexicon import lexeme_maps
        from padir.score.redundancy import Lexemes

        grammar, sources = Grammar.load(arguments.grammar), texts[-1]
        valid = grammar.valid_lines(sources, hypotheses, shown(arguments.sources))
        lexemes = Lexemes(*lexeme_maps(grammar.lexicon))
    said, digests = labels(arguments)
    document = {**said, "digests": digests} | score_corpus(
        hypotheses,
        references,
        arguments.target_language,
        decoded=decoded,
        baseline=baseline,
        baseline_name=arguments.baseline_name or str(arguments.baseline),
        valid=valid,
        sources=sources,
        lexemes=lexemes,
        samples=arguments.samples,
    )
    if arguments.json is not None:
        write_json(arguments.json, document)
        optional = (arguments.decode, arguments.baseline, arguments.grammar, arguments.sources)
        write_provenance(
            arguments.json,
            ["score", *argv],
            inputs=[
                arguments.hypotheses,
                *arguments.references,
                *(path for path in optional if path is not None),
            ],
            labels=said,
            digests=digests,
        )
    # A thousand numbers per metric are for the report, not for a reader.
    summary = {key: value for key, value in document.items() if key != "replicates"}
    print(json.dumps(summary, indent=2, ensure_ascii=False))
    return 0


def check_plain_text(*paths: Path) -> None:
    """Refuse JSON lines where one text a line is needed: references alone may be several.

    Raises:
        InputError: naming the first such file.
    """
    from padir.files import InputError, is_jsonl, shown

    for path in filter(is_jsonl, paths):
        raise InputError(f"{shown(path)}: allowed is plain text, one sentence a line, not .jsonl")


LABELS = ("dataset", "direction", "training", "system", "targets", "seed", "decoder", "passes")


def labels(arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, str]]:
    """What made the hypotheses: labels, null where nothing says so, and digests.

    Raises:
        InputError: the hypotheses were made with other settings than `--digests` has.
    """
    from padir.files import InputError, read_json, shown
    from padir.provenance import checked_digests, given_digests

    path, expected = arguments.provenance, given_digests(arguments.digests)
    said: Any = {}
    carried: Any = {}
    if path is not None:
        made_by = read_json(path)
        said, carried = (
            made_by.get(key, {}) if isinstance(made_by, dict) else None
            for key in ("labels", "digests")
        )
        if not isinstance(said, dict) or not isinstance(carried, dict):
            raise InputError(f"{shown(path)}: allowed is what padir decode or sample wrote")
    checked_digests(expected, carried, arguments.hypotheses)
    return {**dict.fromkeys((*LABELS, "split")), **said}, {**carried, **expected}
