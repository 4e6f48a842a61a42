"""Score translations with one further scorer, such as BLEURT.

Prints one JSON document: score, 95% bootstrap interval over sentences, signature. BLEURT is the
mean over sentences times 100, with the best of several references; it needs TensorFlow
(make setup EXTRAS=tf).

In: hypotheses and references, line for line, and the scorer's checkpoint if it has one. Out: one
JSON document.

examples:
  padir rate --scorer bleurt --checkpoint BLEURT-20 --hypotheses out.txt --references ref.en
  padir rate --scorer chrf++ --hypotheses out.txt --references ref.en ref.en.1 --json rating.json
"""

import argparse
import importlib
from typing import Any

from padir.commands.arguments import SCORE_OUTPUT, SCORED, needed, option, read_arguments, threads
from padir.config.evaluation import SCORERS

OPTIONS = (
    needed("--scorer NAME", f"scorer: {', '.join(SCORERS)}", choices=list(SCORERS)),
    option("--checkpoint DIR", "folder of the scorer's checkpoint"),
    option(
        "--allow-missing",
        'if the folder of --checkpoint does not exist, write a document that says "not run"',
    ),
    *SCORED,
    threads(),
    *SCORE_OUTPUT,
)


def main(argv: list[str]) -> int:
    """Score, print, and write with `--json`."""
    arguments = read_arguments("rate", __doc__, OPTIONS, argv)
    import json

    from padir.commands.score import check_plain_text, labels
    from padir.files import InputError, read_aligned, shown, write_json
    from padir.provenance import write_provenance
    from padir.score.rating import not_run, rating

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
    origin, digests = labels(arguments)
    document = {**origin, "digests": digests, "scorer": arguments.scorer}
    if arguments.checkpoint and arguments.allow_missing and not arguments.checkpoint.exists():
        document |= not_run(f"no folder {shown(arguments.checkpoint)}")
    else:
        counts, checkpoint = _counts(scorer.counts, arguments, hypotheses, references)
        document |= {"checkpoint": checkpoint, **rating(counts, references, arguments.samples)}
    if arguments.json is not None:
        write_json(arguments.json, document)
        inputs = [arguments.hypotheses, *arguments.references]
        write_provenance(
            arguments.json, ["rate", *argv], inputs=inputs, labels=origin, digests=digests
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
