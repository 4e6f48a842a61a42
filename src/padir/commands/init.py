"""Write a config for your own parallel text, sized for the text and this machine.

The config has an AR teacher, and a PaDIR model that learns from it. Missing validation and test
sets are drawn from the training text; the new files are written to data/NAME. Nothing is trained
yet.

In: a folder or two files. Out: a config file.

examples:
  padir init corpus                          # a folder with train.de, train.en, test.de ...
  padir init text.de text.en --directions de-en en-de
  padir init a.txt b.txt --languages ro en --minutes 60
  padir init corpus --size base
"""

import argparse
import os
import re
import shlex
from pathlib import Path

from padir.commands.arguments import option, read_arguments
from padir.config.presets import SIZES

CPU_MINUTES = 12.0
OPTIONS = (
    option("text PATH ...", "your parallel text: a folder, or two aligned files"),
    option(
        "--languages L", "language codes of the two sides (default: the files' suffixes)", nargs=2
    ),
    option(
        "--directions L-L ...",
        "directions to train, such as de-en (default: first to second language; those of a folder"
        " are in alphabetical order)",
    ),
    option(
        "--size NAME",
        f"size preset: {', '.join(SIZES)} (default: the largest that fits text, machine and time)",
        choices=tuple(SIZES),
    ),
    option(
        "--minutes X",
        f"minutes until PaDIR translates (default: {CPU_MINUTES:g} on a CPU, 60 on accelerators;"
        " with --size as long as the steps of the preset take)",
    ),
    option("--name NAME", "name of the dataset (default: from the path)"),
    option("--out F", "config file to write (default: config/NAME.yaml)", written=True),
    option("--force", "overwrite an existing config file and held-out text of that name"),
)


def main(argv: list[str]) -> int:
    """Examine text and machine, write the config, and print what to run."""
    arguments = read_arguments("init", __doc__, OPTIONS, argv)
    import yaml

    from padir.config.read import check_config
    from padir.files import InputError, shown, write_text
    from padir.invocation import snakefile_option, words
    from padir.launch import prepare
    from padir.planning.fit import check_tokenizers
    from padir.planning.machine import measure
    from padir.planning.propose import FEWEST_STEPS, propose
    from padir.planning.text import count, find_text, held_out_files, hold_out

    minutes = arguments.minutes
    if minutes is not None and not 0 < minutes < 1e6:
        raise InputError(f"--minutes is {minutes:g}: allowed are numbers above 0, below a million")
    name = dataset_name(arguments)
    out = arguments.out or Path("config" if Path("config").is_dir() else ".", f"{name}.yaml")
    if out.exists() and not arguments.force:
        raise InputError(f"{shown(out)}: exists; --force replaces it, --name names another dataset")
    text = find_text(arguments.text, arguments.languages)
    if text.holds(out):
        raise InputError(f"--out {shown(out)}: is a file of the given text, allowed is another one")
    directions = checked_directions(arguments.directions, text.languages)
    check_tokenizers("--directions", directions)
    folder = Path("data", name)
    missing = [split for split in ("valid", "test") if split not in text.splits]
    held_out = held_out_files(text, missing, folder, arguments.force) if missing else {}
    splits = {**text.splits, **held_out}
    if text.unused:
        print(f"not used: {', '.join(map(shown, text.unused))}")
    scored = {split: files for split, files in text.splits.items() if split != "train"}
    counts = count(text.splits["train"], scored)
    print(f"text: {counts.pairs:,} pairs of {' and '.join(text.languages)}", flush=True)
    if not arguments.directions:
        first, second = text.languages
        other = f"--directions {second}-{first}"
        print(f"translates {first} to {second}; the other direction: {other}", flush=True)
    if counts.dropped:
        print(f"cleaning will drop {counts.dropped}", flush=True)
    prepare(1)
    machine = measure()
    print(f"machine: {machine}", flush=True)
    if minutes is None and arguments.size is None:
        minutes = 60.0 if machine.accelerators else CPU_MINUTES
    proposal = propose(counts, machine, len(directions), minutes, arguments.size)
    fewest = " (the fewest that are proposed)" if proposal.steps == FEWEST_STEPS else ""
    content = config_text(name, splits, directions, proposal, counts.pairs)
    # Before anything is written, so that nothing is left of a config that is refused.
    check_config(yaml.safe_load(content))
    if missing:
        hold_out(text, missing, held_out)
        print(
            f"held out from the training text: {' and '.join(missing)}, in {shown(folder)}\n"
            f"training reads {shown(folder)}: edit and add text there, or in your own files and run"
            " padir init again with --force, which writes it anew"
        )
    write_text(out, content)
    where, cores = snakefile_option(), f"--cores {machine.cores}"
    run = words("snakemake", where, cores, f"--configfile {shlex.quote(shown(out))}")
    print(
        f"proposal: size {proposal.size}, {proposal.steps:,} steps{fewest},"
        f" {proposal.vocabulary:,} pieces;"
        f" a training takes {proposal.memory / 1e9:.2f} GB\n"
        f"wrote {shown(out)}\n\n"
        f"train, translate and score (about {duration(proposal.minutes)} until PaDIR translates,"
        " a third more for tables and the report):\n"
        f"  {run}\n"
        "how far it is, and then a sentence of your own:\n"
        "  padir status\n"
        f"  padir translate --model results/runs/{name}/{directions[0]}/padir/seed0/bundle"
    )
    return 0


def dataset_name(arguments: argparse.Namespace) -> str:
    """`--name`, or a name from that of the folder or of the first file. Raises InputError where
    `--name` is no name of a dataset."""
    from padir.config.base import NAME_PATTERN
    from padir.files import InputError

    if arguments.name is not None:
        if not re.fullmatch(NAME_PATTERN, arguments.name) or len(arguments.name) > 40:
            raise InputError(
                f"--name is {arguments.name!r}: allowed are a letter, then letters, digits and"
                " underscores, 40 characters at most"
            )
        return arguments.name
    path = arguments.text[0].absolute()
    stem = path.name if path.is_dir() else path.stem
    name = re.sub("[^A-Za-z0-9]+", "_", stem).strip("_").lower()[:40]
    return name if re.fullmatch(NAME_PATTERN, name) else "own"


def checked_directions(given: list[str] | None, languages: tuple[str, str]) -> list[str]:
    """The directions to train: those given, or from the first language to the second. Raises
    InputError for a direction of other languages, and for one given twice."""
    from padir.files import InputError

    first, second = languages
    allowed = [f"{first}-{second}", f"{second}-{first}"]
    directions = given or allowed[:1]
    if not set(directions) <= set(allowed) or len(set(directions)) < len(directions):
        raise InputError(
            f"--directions {' '.join(directions)}: allowed are {' and '.join(allowed)}, each once"
        )
    return directions


def config_text(name: str, splits, directions: list[str], proposal, pairs: int) -> str:
    """The config file: what differs from the defaults, on one screen."""
    import json

    import yaml

    # YAML reads some names, such as no and null, as other values.
    key = name if yaml.safe_load(name) == name else json.dumps(name)
    folders = [path.parent for files in splits.values() for path in files.values()]
    if any(each.is_absolute() for each in folders):
        folders = [each.absolute() for each in folders]
    folder = Path(os.path.commonpath(folders))
    lines = []
    for split in ("train", "valid", "test"):
        files = {code: os.path.relpath(path, folder) for code, path in splits[split].items()}
        lines.append(f"      {split}: {{files: {json.dumps(files, ensure_ascii=False)}}}")
    first, second = proposal.tokens
    return f"""\
# Written by padir init: {pairs:,} pairs, {first:.1f} and {second:.1f} tokens a line.
# Every setting: config/README.md. Cost: padir plan --config THIS_FILE
size: {proposal.size}
default_target: core
datasets:
  {key}:
    source:
      kind: files
      folder: {json.dumps(str(folder), ensure_ascii=False)}
{chr(10).join(lines)}
    directions: [{", ".join(directions)}]
    vocabulary: {{size: {proposal.vocabulary}}}
training_defaults:
  architecture: {{max_positions: {proposal.positions}, length_classes: {proposal.positions}}}
  optimizer: {{warmup_steps: {proposal.warmup}}}
  training: {{steps: {proposal.steps}, buckets: {proposal.buckets}}}
teachers:
  ar: {{kind: model, row: ar/beam}}
trainings:
  ar: {{system: ar}}
  padir: {{system: padir, targets: ar}}
evaluation: {{latency_sentences: 40}}
"""


def duration(minutes: float) -> str:
    """Minutes, hours or days in words."""
    for unit, size in (("days", 1440), ("hours", 60)):
        if minutes >= 2 * size:
            return f"{minutes / size:.1f} {unit}"
    return f"{max(1, round(minutes))} minutes"
