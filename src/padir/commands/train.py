"""Train one model with one seed into a model bundle.

An interrupted run saves a checkpoint; the same command resumes it.

In: spec, vocabulary, aligned text. Out: a model bundle; beside it `provenance.json` and
`metrics.jsonl`, the losses and speed of the run by step.

examples:
  padir train --spec spec.json --vocabulary spm.model --train-source train.de \\
      --train-target train.en --valid-source valid.de --valid-target valid.en \\
      --seed 0 --work work --out bundle
  The same command again resumes from the last checkpoint; --restart starts over.
"""

import argparse
import os
import shlex
import sys
from contextlib import suppress
from os.path import realpath
from pathlib import Path

from padir.commands.arguments import needed, option, read_arguments, threads
from padir.files import InputError
from padir.launch import AUTOMATIC, cores, join, prepare

METRICS_FILE = "metrics.jsonl"
OPTIONS = (
    needed("--spec F", "spec.json with the settings of the training"),
    needed("--vocabulary F", "SentencePiece model of the vocabulary"),
    needed("--train-source F", "training sources, one sentence a line"),
    needed("--train-target F", "training targets, one sentence a line"),
    needed("--valid-source F", "validation sources, one sentence a line"),
    needed("--valid-target F", "validation targets, one sentence a line"),
    option(
        "--warm-start BUNDLE",
        "bundle of the AR model that training.warm_start names, which initialises encoder and"
        " embeddings",
    ),
    option(
        "--seed N",
        "random seed of parameters, data order and corruption",
        default=0,
        least=0,
        most=2**32 - 1,
    ),
    needed("--work DIR", "work folder for checkpoints"),
    option(
        "--restart",
        "delete the checkpoints in --work and start over; metrics and model card record it",
    ),
    option(
        "--wait",
        "wait while another process trains in --work, then resume from its last checkpoint",
    ),
    needed("--out DIR", "folder to write the finished bundle to"),
    threads(),
    option(
        "--distributed HOST:PORT,N,I",
        "train on several hosts that share this folder, one process each: address of the first,"
        " number of processes, index of this one; without a value taken from Slurm, Open MPI or"
        " the TPU",
        nargs="?",
        const=AUTOMATIC,
    ),
)


def main(argv: list[str]) -> int:
    """Run the verb; exit status 143 after a requested stop, with a checkpoint saved."""
    arguments = read_arguments("train", __doc__, OPTIONS, argv)
    _check_out(arguments)
    prepare(arguments.threads)
    try:
        group = join(arguments.distributed)
    except ValueError as error:
        raise InputError(f"--distributed: {error}") from error
    with group:
        try:
            return _train(arguments, argv, group.first)
        except InputError as error:
            # The exact command, which under Snakemake nobody typed.
            again = shlex.join(["padir", "train", *argv, "--restart"])
            raise InputError(str(error).replace("`padir train --restart`", f"`{again}`")) from error


def _check_out(arguments: argparse.Namespace) -> None:
    """Check --out before any work. Raises InputError where it is a file or the work folder, or
    where the bundle would overwrite a file that another option names."""
    from padir.bundle import PARTS
    from padir.cards import CARD_FILE
    from padir.files import shown

    out: Path = arguments.out
    where = f"--out {shown(out)}"
    if os.path.lexists(out) and not os.path.isdir(out):
        raise InputError(f"{where}: is a file; allowed is a folder, or a name that is not taken")
    if realpath(out) == realpath(arguments.work):
        raise InputError(f"{where}: is the folder of --work, allowed is another one")
    written = [out / name for name in (*PARTS, CARD_FILE)]
    written += [_beside(out) / name for name in (METRICS_FILE, "provenance.json")]
    read = {
        member.name: [getattr(arguments, member.name.strip("-").replace("-", "_"))]
        for member in OPTIONS
        if member.settings.get("metavar") == "F"
    }
    if arguments.warm_start is not None:
        read["--warm-start"] = [arguments.warm_start / name for name in (*PARTS, CARD_FILE)]
    for option_name, paths in read.items():
        for path in paths:
            if realpath(path) in map(realpath, written):
                raise InputError(
                    f"{where}: would overwrite {shown(path)}, a file of {option_name}; allowed is a"
                    " folder without such files"
                )


def _beside(out: Path) -> Path:
    """The folder of provenance and metrics: that of a bundle of the workflow, or the bundle's."""
    return out.parent if out.name == "bundle" else out


def _train(arguments: argparse.Namespace, argv: list[str], first: bool) -> int:
    """Train, alone or with others; the first process writes the bundle."""
    from padir.bundle import write_bundle
    from padir.cleaned import check_cleaned
    from padir.config.read import read_spec
    from padir.files import read_jsonl, sha256_file, shown, write_jsonl
    from padir.model.card import model_card
    from padir.provenance import check_written, write_provenance
    from padir.training.loop import TrainingInterruption, TrainingText, train

    spec = read_spec(arguments.spec)
    text = TrainingText(
        arguments.train_source,
        arguments.train_target,
        arguments.valid_source,
        arguments.valid_target,
    )
    check_cleaned(*vars(text).values())
    check_written(arguments.vocabulary, *vars(text).values())
    try:
        trained = train(
            spec,
            arguments.vocabulary,
            text,
            arguments.seed,
            arguments.work,
            warm_start=arguments.warm_start,
            threads=arguments.threads or cores(),
            restart=arguments.restart,
            wait=arguments.wait,
        )
    except TrainingInterruption as stopped:
        # The terminal may be what was lost.
        with suppress(OSError):
            print(f"padir train: {stopped}", file=sys.stderr, flush=True)
        return 143
    if not first:
        return 0
    # A training that outlived its workflow must not overwrite what later settings or text made.
    changed = [
        path
        for path, sha256 in trained.inputs.items()
        if path.is_file() and sha256_file(path) != sha256
    ]
    if arguments.spec.is_file() and read_spec(arguments.spec) != spec:
        changed.append(arguments.spec)
    if changed:
        raise InputError(
            f"{shown(changed[0])}: changed while the training ran: its bundle is not written;"
            f" {shown(arguments.work)} keeps it for the settings and text that it began with"
        )
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
    beside = _beside(arguments.out)
    write_jsonl(beside / METRICS_FILE, read_jsonl(arguments.work / METRICS_FILE))
    write_provenance(
        beside,
        ["train", *argv],
        inputs={arguments.spec: sha256_file(arguments.spec), **trained.inputs},
        outputs=[beside / METRICS_FILE],
        spec=written_spec,
        seed=arguments.seed,
        digests=spec.digests,
    )
    return 0
