"""Sample translations of each line with k-Gibbs chains.

One JSON line per sentence has every chain's last and best text, the share of accepted moves and the
trace of its energy, which is minus the sum of each token's log-probability with that token alone
hidden.

In: bundle, source text. Out: JSON lines.

examples:
  padir sample --bundle bundle --source test.de --out chains.jsonl --chains 4 --steps 200
  padir sample --bundle cmlm --source test.de --out chains.jsonl --chains 8 --steps 500 \\
      --block 2 --temperature 1 --final-temperature 0.2 --mh
"""

import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from padir.commands import options
from padir.commands.arguments import BATCH, BUNDLE, DIGESTS, needed, option, read_arguments
from padir.launch import prepare

POINTS = 100
"""Most points of a trace: enough for a curve, and lines stay short however long the chains."""
OPTIONS = (
    BUNDLE,
    needed("--source F", "source text, UTF-8, one sentence a line"),
    needed("--out F", "file to write the chains to, as JSON lines", written=True),
    option(
        "--text F",
        "file to write the sampled translation of least energy of each line to",
        written=True,
    ),
    option("--chains N", "number of chains per sentence", default=4),
    option("--steps N", "number of steps per chain", default=100),
    option("--block K", "number of tokens drawn per step (k)", default=1),
    option("--temperature X", "initial sampling temperature", default=1.0),
    option(
        "--final-temperature X",
        "final sampling temperature, linear between (default: the initial one)",
    ),
    option("--mh", "accept or reject moves by Metropolis-Hastings"),
    option(
        "--energy-every N",
        "steps between measurements of the energy, each of which costs one row per token; with"
        " --mh always 1",
        default=1,
    ),
    option(
        "--seed N",
        "random seed of the chains (default: the seed of training)",
        least=0,
        most=2**63 - 1,
    ),
    DIGESTS,
    *BATCH,
)


def thinned(energies) -> list[int]:
    """At most `POINTS` of the steps with an energy, evenly spaced, first and last included."""
    measured = [step for step, value in enumerate(energies.tolist()) if value == value]
    last = len(measured) - 1
    return sorted({measured[round(i * last / (POINTS - 1))] for i in range(POINTS)})


def record(
    number: int,
    chains: Sequence[Any],
    temperatures: Any,
    decode: Callable[[list[tuple[int, ...]]], list[str]],
) -> dict[str, Any]:
    """The JSON line of sentence `number` with its `Chain`s; an empty source has none.

    Of the traces, `step` 0 is the start. `temperature` is that of the step, for the start that of
    the draw; `taken` is the share of moves taken since the point before. Energies are rounded to
    4 decimals, more than rounding in different batch shapes moves them.
    """
    points = thinned(chains[0].energies) if chains else []
    texts = decode([chain.tokens for chain in chains])
    best = decode([chain.best for chain in chains])
    return {
        "id": number,
        "step": points,
        "temperature": [round(float(temperatures[max(0, step - 1)]), 6) for step in points],
        "chains": [
            {
                "chain": index,
                "length": len(chain.tokens) + 1,
                "text": texts[index],
                "energy": round(float(chain.energies[-1]), 4),
                "best_text": best[index],
                "best_energy": round(chain.best_energy, 4),
                "acceptance": round(float(chain.taken.mean()), 4),
                "energies": [round(float(chain.energies[step]), 4) for step in points],
                "taken": [
                    round(float(chain.taken[before:step].mean()), 4)
                    for before, step in pairwise(points)
                ],
            }
            for index, chain in enumerate(chains)
        ],
    }


def least_energy(line: dict[str, Any]) -> str:
    """The text of least energy over all chains of a sentence; ties go to the first chain."""
    best = min(line["chains"], key=lambda chain: chain["best_energy"], default=None)
    return "" if best is None else best["best_text"]


def summary(chains: Sequence[Any], seconds: float) -> str:
    """One line about all `Chain`s."""
    if not chains:
        return "sample: no sentence, no chain"
    count, steps = len(chains), len(chains[0].taken)
    accepted = sum(float(chain.taken.mean()) for chain in chains) / count
    start, end = (sum(float(chain.energies[i]) for chain in chains) / count for i in (0, -1))
    best = sum(chain.best_energy for chain in chains) / count
    return (
        f"sample: {count} chains of {steps} steps: acceptance {accepted:.3f}; mean energy"
        f" {start:.2f} at the start, {end:.2f} at the end, {best:.2f} at best;"
        f" {count * steps / seconds:.0f} chain steps a second, compilation included"
    )


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = read_arguments("sample", __doc__, OPTIONS, argv)
    prepare(arguments.threads)
    from padir.cleaned import check_cleaned
    from padir.decode.gibbs import Chain, Sampler, Sampling
    from padir.decode.sources import check_lengths
    from padir.files import read_lines, write_jsonl, write_lines
    from padir.progress import Progress
    from padir.provenance import write_provenance

    first, final = arguments.temperature, arguments.final_temperature
    sampling = Sampling(
        steps=arguments.steps,
        block=arguments.block,
        temperature=first,
        final_temperature=first if final is None else final,
        metropolis=arguments.mh,
        energy_every=arguments.energy_every,
    )
    check_cleaned(arguments.source)
    loaded = options.open_bundle(arguments.bundle, arguments.digests)
    seed = loaded.seed if arguments.seed is None else arguments.seed
    sampler = Sampler(loaded, sampling, seed, arguments.chains, arguments.batch_sentences)
    lines = read_lines(arguments.source, strip_bom=True)
    sources = loaded.encode(lines)
    longest = loaded.spec.run.architecture.max_positions - 1
    check_lengths(sources, str(arguments.source), longest)
    result: list[list[Chain]] = [[] for _ in sources]
    began = time.monotonic()
    with Progress(max(1, len(lines)), "sentences", f"sample {loaded.spec.training}") as progress:
        for batch, rows in sampler.batches(sources):
            for index, row in zip(batch.indices, rows, strict=True):
                result[index] = row
            progress.update(len(batch.indices))
        progress.update(sum(not source for source in sources))
    seconds = time.monotonic() - began
    decode = loaded.vocabulary.decode
    records = [record(i, chains, sampling.temperatures, decode) for i, chains in enumerate(result)]
    write_jsonl(arguments.out, records)
    if arguments.text is not None:
        write_lines(arguments.text, [least_energy(line) for line in records])
    write_provenance(
        arguments.out,
        ["sample", *argv],
        inputs=[arguments.source, *loaded.files],
        outputs=filter(None, [arguments.text]),
        spec=loaded.spec.model_dump(mode="json"),
        seed=seed,
        labels=loaded.labels,
        digests=arguments.digests or loaded.spec.digests,
    )
    print(summary([chain for row in result for chain in row], seconds), file=sys.stderr)
    return 0
