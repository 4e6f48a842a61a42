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

import importlib

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
    from padir.commands.score import labels, read_texts, write_scores
    from padir.files import InputError, shown
    from padir.score.rating import not_run, rating

    scorer = SCORERS[arguments.scorer]
    needs_checkpoint = "checkpoint" in scorer.model_fields
    if (arguments.checkpoint is None) == needs_checkpoint:
        verb = "needs" if needs_checkpoint else "takes no"
        raise InputError(f"--scorer {arguments.scorer} {verb} --checkpoint")
    if arguments.allow_missing and not needs_checkpoint:
        raise InputError(f"--scorer {arguments.scorer} has no checkpoint to miss: --allow-missing")
    hypotheses, *references = read_texts(arguments)
    origin, digests = labels(arguments)
    document = {**origin, "digests": digests, "scorer": arguments.scorer}
    if arguments.checkpoint and arguments.allow_missing and not arguments.checkpoint.exists():
        document |= not_run(f"no folder {shown(arguments.checkpoint)}")
    else:
        module, _, name = scorer.counts.partition(":")
        count, checkpoint = getattr(importlib.import_module(module), name), None
        if needs_checkpoint:
            folder, threads = arguments.checkpoint, arguments.threads
            counts, checkpoint = count(hypotheses, references, folder, threads)
        else:
            counts = count(hypotheses, references)
        document |= {"checkpoint": checkpoint, **rating(counts, references, arguments.samples)}
    write_scores(arguments, ["rate", *argv], document, origin)
    return 0
