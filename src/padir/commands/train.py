"""`padir train`: one model, one seed. In: spec, vocabulary, aligned text. Out: a model bundle.

Beside the bundle: `provenance.json`, and `metrics.jsonl`, the losses and speed of the run by step.
"""

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from padir.commands.options import add_threads
from padir.files import InputError
from padir.launch import AUTOMATIC, join, prepare

EXAMPLES = """\
examples:
  padir train --spec spec.json --vocabulary spm.model --train-source train.de \\
      --train-target train.en --valid-source valid.de --valid-target valid.en \\
      --seed 0 --work work --out bundle
  The same command again resumes from the last checkpoint; --restart starts over.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir train",
        description="Train one model with one seed into a model bundle. An interrupted run saves a"
        " checkpoint; the same command resumes it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--spec", type=Path, required=True, help="the model's spec.json")
    parse.add_argument("--vocabulary", type=Path, required=True, help="SentencePiece model")
    for split in ("train", "valid"):
        for side in ("source", "target"):
            parse.add_argument(f"--{split}-{side}", type=Path, required=True, metavar="FILE")
    parse.add_argument(
        "--warm-start",
        type=Path,
        metavar="BUNDLE",
        help="the AR model that training.warm_start names: encoder and embeddings start from it",
    )
    parse.add_argument(
        "--seed",
        type=int,
        default=0,
        help="random seed of parameters, data order and corruption (default 0)",
    )
    parse.add_argument("--work", type=Path, required=True, help="folder for checkpoints")
    parse.add_argument(
        "--restart",
        action="store_true",
        help="delete the checkpoints in --work and start over; metrics and model card record it",
    )
    parse.add_argument(
        "--wait",
        action="store_true",
        help="wait while another trainer uses --work, then go on from where it ended",
    )
    parse.add_argument("--out", type=Path, required=True, help="folder of the finished bundle")
    add_threads(parse)
    parse.add_argument(
        "--distributed",
        nargs="?",
        const=AUTOMATIC,
        metavar="HOST:PORT,N,I",
        help="train together with other processes that share this folder, one a host; without a"
        " value they are found through Slurm, Open MPI or the TPU",
    )
    return parse


def main(argv: list[str]) -> int:
    """Run the verb; exit status 143 after a requested stop, with a checkpoint saved."""
    arguments = parser().parse_args(argv)
    if not 0 <= arguments.seed < 2**32:
        raise InputError(f"--seed is {arguments.seed}: allowed are numbers from 0, below 2^32")
    prepare(arguments.threads)
    try:
        group = join(arguments.distributed)
    except ValueError as error:
        raise InputError(f"--distributed: {error}") from error
    with group:
        return _train(arguments, argv, group.first)


def _train(arguments: argparse.Namespace, argv: list[str], first: bool) -> int:
    """Train, alone or with others; the first process writes the bundle."""
    from padir.bundle import MODEL_FILE, write_bundle
    from padir.config.read import read_spec
    from padir.data.parallel import cores
    from padir.files import read_jsonl, write_jsonl
    from padir.model.card import model_card
    from padir.provenance import write_provenance
    from padir.training.loop import Stopped, TrainingText, train

    spec = read_spec(arguments.spec)
    text = TrainingText(
        arguments.train_source,
        arguments.train_target,
        arguments.valid_source,
        arguments.valid_target,
    )
    try:
        trained = train(
            spec,
            arguments.vocabulary,
            text,
            arguments.seed,
            arguments.work,
            arguments.warm_start,
            arguments.threads or cores(),
            arguments.restart,
            arguments.wait,
        )
    except Stopped as stopped:
        # The terminal may be what was lost.
        with suppress(OSError):
            print(f"padir train: {stopped}", file=sys.stderr, flush=True)
        return 143
    if not first:
        return 0
    written_spec = spec.model_dump(mode="json")
    content = {
        "format": 1,
        "run_spec": written_spec,
        "table_size": trained.table_size,
        "vocabulary_size": trained.vocabulary_size,
        "seed": arguments.seed,
        "steps_chosen": trained.steps_chosen,
    }
    card = model_card(spec, arguments.seed, trained.summary, trained.valid, trained.steps_chosen)
    write_bundle(arguments.out, trained.arrays, content, arguments.vocabulary, card)
    beside = arguments.out.parent if arguments.out.name == "bundle" else arguments.out
    write_jsonl(beside / "metrics.jsonl", read_jsonl(arguments.work / "metrics.jsonl"))
    inputs = [arguments.spec, arguments.vocabulary, *vars(text).values()]
    if arguments.warm_start:
        inputs.append(arguments.warm_start / MODEL_FILE)
    command = ["train", *argv]
    write_provenance(
        beside,
        command,
        inputs=inputs,
        spec=written_spec,
        seed=arguments.seed,
        digests=spec.digests,
    )
    return 0
