"""Score translations: BLEU, chrF and stutter, with intervals and significance.

Prints one JSON document: BLEU and chrF with their sacreBLEU signatures, stutter, and 95% bootstrap
intervals over sentences. With --json the same document, plus its labels and the score of every
resample, is written to a file for the report.

In: hypotheses and references, line for line. Out: one JSON document.

examples:
  padir score --hypotheses out.txt --references ref.en --target-language en
  padir score --hypotheses out.txt --references ref.en ref.en.1 --target-language en \\
      --baseline ar.txt --decode out.jsonl --json score.json
  padir score --hypotheses out.txt --references ref.xt --target-language xt \\
      --grammar grammar.json --sources test.xs
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from padir.commands.arguments import SCORE_OUTPUT, SCORED, TARGET_LANGUAGE, option, read_arguments

OPTIONS = (
    *SCORED,
    TARGET_LANGUAGE,
    option(
        "--decode F",
        "JSON lines of padir decode: adds token-level stutter, stutter before the final drop, and"
        " decoder passes",
    ),
    option("--baseline F", "hypotheses of a baseline, for paired tests"),
    option("--baseline-name NAME", "name of the baseline in the output (default: its path)"),
    option(
        "--baseline-provenance F",
        "provenance.json of the baseline: checks that it is as padir decode wrote it",
    ),
    option("--grammar F", "grammar.json of the synthetic pair: adds validity (with --sources)"),
    option("--sources F", "source text, required by --grammar"),
    *SCORE_OUTPUT,
)


AS_IT_IS = "score it without --provenance"
"""What to do with a file that is not as it was written, but is to be scored."""


def main(argv: list[str]) -> int:
    """Score, print, and write with `--json`."""
    arguments = read_arguments("score", __doc__, OPTIONS, argv)
    from padir.files import InputError, read_jsonl, shown
    from padir.provenance import checked_output
    from padir.score.summary import DecoderOutput, score_corpus

    if (arguments.grammar is None) != (arguments.sources is None):
        raise InputError("--grammar and --sources go together: give both or neither")
    for name in ("baseline_name", "baseline_provenance"):
        if arguments.baseline is None and getattr(arguments, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} needs --baseline as well")
    others = [path for path in (arguments.baseline, arguments.sources) if path is not None]
    texts = read_texts(arguments, *others)
    origin, digests = labels(arguments)
    hypotheses, *references = texts[: len(texts) - len(others)]
    baseline = texts[len(texts) - len(others)] if arguments.baseline is not None else None
    if arguments.baseline is not None and arguments.baseline_provenance is not None:
        written = provenance_of_hypotheses(arguments.baseline_provenance)
        checked_output(arguments.baseline, written, "score it without --baseline-provenance")
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
    document = {**origin, "digests": digests} | score_corpus(
        hypotheses,
        references,
        arguments.target_language,
        decoded=decoded,
        baseline=baseline,
        baseline_name=arguments.baseline_name or shown(arguments.baseline or ""),
        valid=valid,
        sources=sources,
        lexemes=lexemes,
        samples=arguments.samples,
    )
    optional = (arguments.decode, arguments.baseline, arguments.grammar, arguments.sources)
    read = [path for path in optional if path is not None]
    write_scores(arguments, ["score", *argv], document, origin, read)
    return 0


def read_texts(arguments: argparse.Namespace, *others: Path) -> list[list[str]]:
    """The lines of the hypotheses, of each set of references and of other files, all aligned.

    Raises:
        InputError: a file is JSON lines where one text a line is needed, as it is everywhere but
            for references; there is no sentence; or line counts differ.
    """
    from padir.cleaned import check_cleaned
    from padir.files import InputError, is_jsonl, read_aligned, shown

    check_cleaned(*arguments.references, *others)
    for path in filter(is_jsonl, (arguments.hypotheses, *others)):
        raise InputError(f"{shown(path)}: allowed is plain text, one sentence a line, not .jsonl")
    texts = read_aligned(arguments.hypotheses, *arguments.references, *others, strip_bom=True)
    if not texts[0]:
        raise InputError(f"{shown(arguments.hypotheses)}: empty: there is no sentence to score")
    return texts


def write_scores(
    arguments: argparse.Namespace,
    command: list[str],
    document: dict[str, Any],
    origin: dict[str, Any],
    further: Sequence[Path] = (),
) -> None:
    """Print a document of scores; with `--json` also write it, with its provenance.

    Args:
        origin: labels of the hypotheses.
        further: files that were read besides hypotheses and references.
    """
    import json

    from padir.files import write_json
    from padir.provenance import write_provenance

    if arguments.json is not None:
        write_json(arguments.json, document)
        inputs = [arguments.hypotheses, *arguments.references, *further]
        digests = document["digests"]
        write_provenance(arguments.json, command, inputs=inputs, labels=origin, digests=digests)
    # A thousand numbers per metric are for the report, not for a reader.
    shorter = {key: value for key, value in document.items() if key != "replicates"}
    print(json.dumps(shorter, indent=2, ensure_ascii=False))


def provenance_of_hypotheses(path: Path) -> dict[str, Any]:
    """Provenance with labels and digests.

    Raises:
        InputError: it is not what `padir decode` or `padir sample` wrote.
    """
    from padir.files import InputError, shown
    from padir.provenance import read_provenance

    written = read_provenance(path)
    parts = [written.get(k, {}) for k in ("labels", "digests")] if isinstance(written, dict) else []
    if not parts or not all(isinstance(part, dict) for part in parts):
        raise InputError(f"{shown(path)}: allowed is what padir decode or sample wrote")
    return written


LABELS = ("dataset", "direction", "training", "system", "targets", "seed", "decoder", "passes")


def labels(arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, str]]:
    """What made the hypotheses: labels, null where nothing says so, and digests.

    Raises:
        InputError: the hypotheses, or the records of `--decode`, were made with other settings than
            `--digests` has, or are not as they were written.
    """
    from padir.provenance import checked_digests, checked_output

    expected = arguments.digests
    names: dict[str, Any] = {}
    carried: dict[str, str] = {}
    if arguments.provenance is not None:
        written = provenance_of_hypotheses(arguments.provenance)
        names, carried = written.get("labels", {}), written.get("digests", {})
        for file in (arguments.hypotheses, getattr(arguments, "decode", None)):
            if file is not None:
                checked_output(file, written, AS_IT_IS)
    checked_digests(expected, carried, arguments.hypotheses)
    return {**dict.fromkeys((*LABELS, "split")), **names}, {**carried, **expected}
