"""Translate training sources with a teacher, or take ready-made translations.

Ready-made translations are checked for alignment. A carriage return at the end of a line is
removed, as padir clean does.

In: a bundle or a ready file, and sources. Out: text, line for line.

examples:
  padir distill --bundle ar --decoder beam --source train.de --out distilled.en
  padir distill --bundle ar --decoder beam --source train.de --shard 2/8 --out part2.en
  padir distill --ready translated.en --source train.de --out distilled.en
  After an interruption the same command resumes where it stopped. Sources that are too long for
  the teacher get an empty translation; they are counted, and training leaves them out.
"""

import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from padir.commands import options
from padir.commands.arguments import (
    BATCH,
    DIGESTS,
    ONE_OF,
    PASSES,
    decoder_options,
    needed,
    option,
    read_arguments,
)
from padir.launch import prepare

OPTIONS = (
    option("--bundle BUNDLE", "folder of the teacher's model bundle", group=ONE_OF),
    option("--ready F", "ready-made translations of the sources, one a line", group=ONE_OF),
    *decoder_options(),
    PASSES,
    needed("--source F", "training sources, one sentence a line"),
    needed("--out F", "file to write the translations to, one a line", written=True),
    option("--shard i/n", "translate only part i of n of the sources, counted from 1"),
    option(
        "--work DIR",
        "where to make OUT.parts, the folder of intermediate results (default: beside OUT); it is"
        " removed at the end",
    ),
    DIGESTS,
    *BATCH,
)


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("distill", __doc__, OPTIONS, argv)
    from padir.cleaned import check_cleaned
    from padir.distill.card import empty_lines
    from padir.distill.teacher import Span, parse_shard, shard_bounds
    from padir.files import (
        InputError,
        count_aligned,
        iter_lines,
        sha256_file,
        shown,
        write_lines,
    )
    from padir.provenance import check_written, write_provenance

    if arguments.ready:
        for name in ("decoder", "reranker", "passes", "work", "batch_sentences", "threads"):
            if getattr(arguments, name) is not None:
                raise InputError(f"--{name.replace('_', '-')}: nothing is decoded with --ready")
    shard = parse_shard(arguments.shard or "1/1")
    check_cleaned(arguments.source)
    check_written(arguments.source)
    if arguments.ready:
        bounds = shard_bounds(count_aligned(arguments.source, arguments.ready), *shard)
        ready = Span(arguments.ready, *bounds)
        carriage_returns = sum(line.endswith("\r") for line in ready.lines())
        write_lines(arguments.out, (line.removesuffix("\r") for line in ready.lines()))
        if carriage_returns:
            print(
                f"{shown(arguments.ready)}: removed a carriage return from"
                f" {carriage_returns:,} lines",
                file=sys.stderr,
            )
        empty = empty_lines(arguments.out)
        if empty:
            print(
                f"{shown(arguments.ready)}: {empty:,} of {bounds[1] - bounds[0]:,} lines are"
                " empty; training leaves their pairs out",
                file=sys.stderr,
            )
        write_provenance(
            arguments.out,
            ["distill", *argv],
            inputs=[arguments.source, arguments.ready],
            notes={"lines_empty": empty, "carriage_returns_removed": carriage_returns},
            digests=arguments.digests,
        )
        return 0

    before = _written(arguments.out)
    prepare(arguments.threads)
    from padir.decode.load import find_decoder
    from padir.distill.teacher import distill
    from padir.locks import Lock
    from padir.progress import Progress
    from padir.provenance import was_written_by

    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    decoder = find_decoder(loaded, arguments.decoder)
    translator = options.open_translator(arguments, loaded, decoder, arguments.passes)
    files = {path: sha256_file(path) for path in translator.files}
    # A folder of our own: it is removed with all that lies in it.
    work = (arguments.work or arguments.out.parent) / f"{arguments.out.name}.parts"
    label = f"distill {loaded.spec.training} {translator.decoding.label}"
    command = ["distill", *argv]
    # A killed Snakemake leaves its jobs at work; the same command again must not repeat theirs.
    with Lock(work / "lock", "another distillation is using this folder", wait=True) as lock:
        # They may have ended while this one loaded its model.
        others = lock.waited or _written(arguments.out) != before
        if others and was_written_by(arguments.out, command):
            shutil.rmtree(work, ignore_errors=True)
            return 0
        sources = Span(arguments.source, *shard_bounds(count_aligned(arguments.source), *shard))
        with Progress(len(sources), "sentences", label) as progress:
            parts, too_long = distill(translator, files, sources, work, progress.update)
        write_lines(arguments.out, (line for part in parts for line in iter_lines(part)))
        write_provenance(
            arguments.out,
            command,
            inputs={arguments.source: sha256_file(arguments.source), **files},
            spec=loaded.spec.model_dump(mode="json"),
            seed=loaded.seed,
            notes={"lines_too_long": too_long},
            labels=translator.labels,
            digests=translator.digests,
        )
        # Last of all: until here a run that is killed finds every part again.
        shutil.rmtree(work, ignore_errors=True)
    if too_long:
        print(
            f"{shown(arguments.source)}: {too_long:,} of {len(sources):,} lines have more than the"
            f" {translator.longest_source} tokens that {loaded.spec.training} reads; their"
            " translations are empty, and training leaves their pairs out",
            file=sys.stderr,
        )
    return 0


def _written(out: Path) -> int | None:
    """When the provenance of a file was last written, in nanoseconds; None where there is none."""
    from padir.provenance import provenance_of

    with suppress(FileNotFoundError):
        return provenance_of(out).stat().st_mtime_ns
    return None


def join(parts: Sequence[Path], out: Path) -> None:
    """Write text files into one, in order, with the checksum of the whole in its provenance.

    Raises:
        InputError: a part is not as it was written.
    """
    from padir.cleaned import check_cleaned
    from padir.files import iter_lines, write_lines
    from padir.provenance import check_written, write_provenance

    check_cleaned(*parts)
    check_written(*parts)
    write_lines(out, (line for part in parts for line in iter_lines(part)))
    write_provenance(out, ["distill", "(parts joined)"], inputs=parts)
