"""`padir rate`: one further score of finished text, by one scorer, in a process of its own.

In: hypotheses and references, line for line, and the scorer's checkpoint if it has one. Out: one
JSON document.
"""

import argparse
import importlib
from pathlib import Path
from typing import Any

EXAMPLES = """\
examples:
  padir rate --scorer bleurt --checkpoint BLEURT-20 --hypotheses out.txt --references ref.en
  padir rate --scorer chrf++ --hypotheses out.txt --references ref.en ref.en.1 --json rating.json
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    from padir.commands.options import add_threads
    from padir.commands.score import add_labels
    from padir.config.evaluation import SCORERS

    parse = argparse.ArgumentParser(
        prog="padir rate",
        description="Score translations by one scorer and print one JSON document: score, 95%"
        " bootstrap interval over sentences, signature. BLEURT is the mean over sentences times"
        " 100, of several references the best; it needs TensorFlow (make setup EXTRAS=tf).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--scorer", choices=list(SCORERS), required=True, help="which score")
    parse.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="folder of the scorer's checkpoint"
    )
    parse.add_argument(
        "--allow-missing",
        action="store_true",
        help='where there is no such folder, write a document that says "not run"',
    )
    parse.add_argument(
        "--hypotheses", type=Path, required=True, metavar="F", help="output to score"
    )
    parse.add_argument(
        "--references", type=Path, required=True, nargs="+", metavar="F",
        help="one file each, or one .jsonl with a JSON list of all references a line",
    )  # fmt: skip
    parse.add_argument(
        "--samples", type=int, default=1000, metavar="N", help="bootstrap resamples (default 1000)"
    )
    add_threads(parse)
    parse.add_argument("--json", type=Path, metavar="F", help="also write the full document here")
    add_labels(parse)
    return parse


def main(argv: list[str]) -> int:
    """Score, print, and write with `--json`."""
    arguments = parser().parse_args(argv)
    import json

    from padir.commands.score import check_plain_text, labels
    from padir.config.evaluation import SCORERS
    from padir.files import InputError, read_aligned, shown, write_json
    from padir.provenance import write_provenance
    from padir.score.rating import not_run, rating

    if arguments.samples < 40:
        raise InputError(f"--samples is {arguments.samples}: allowed are 40 and more")
    scorer = SCORERS[arguments.scorer]
    needs_checkpoint = "checkpoint" in scorer.model_fields
    if (arguments.checkpoint is None) == needs_checkpoint:
        verb = "needs" if needs_checkpoint else "takes no"
        raise InputError(f"--scorer {arguments.scorer} {verb} --checkpoint")
    check_plain_text(arguments.hypotheses)
    hypotheses, *references = read_aligned(
        arguments.hypotheses, *arguments.references, strip_bom=True
    )
    if not hypotheses:
        raise InputError(f"{shown(arguments.hypotheses)}: empty: there is no sentence to score")
    said, digests = labels(arguments)
    document = {**said, "digests": digests, "scorer": arguments.scorer}
    if arguments.checkpoint and arguments.allow_missing and not arguments.checkpoint.exists():
        document |= not_run(f"no folder {shown(arguments.checkpoint)}")
    else:
        counts, checkpoint = _counts(scorer.counts, arguments, hypotheses, references)
        document |= {"checkpoint": checkpoint, **rating(counts, references, arguments.samples)}
    if arguments.json is not None:
        write_json(arguments.json, document)
        inputs = [arguments.hypotheses, *arguments.references]
        write_provenance(
            arguments.json, ["rate", *argv], inputs=inputs, labels=said, digests=digests
        )
    shorter = {key: value for key, value in document.items() if key != "replicates"}
    print(json.dumps(shorter, indent=2, ensure_ascii=False))
    return 0


def _counts(
    function: str,
    arguments: argparse.Namespace,
    hypotheses: list[str],
    references: list[list[str]],
) -> tuple[Any, dict[str, Any] | None]:
    """Counts of the scorer, and the identity of its checkpoint if it has one."""
    module, _, name = function.partition(":")
    counts = getattr(importlib.import_module(module), name)
    if arguments.checkpoint is None:
        return counts(hypotheses, references), None
    return counts(hypotheses, references, arguments.checkpoint, arguments.threads)
