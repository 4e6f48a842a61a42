"""What looking at attention costs beside decoding, in one run.

    python benchmarks/attention.py --bundle results/runs/synthetic/xs-xt/padir_raw/seed0/bundle \\
        --source results/data/synthetic/xs-xt/test.xs --threads 1 --out results/bench/attention.json

Decoding: all length candidates of every sentence, T passes. Extraction: the chosen candidate's
passes made again, the last with its attention, and its numbers of each pair up to a distance: of
neighbours, and as far as `padir analyse` looks by default. Inside a pass: one decoder pass of all
candidates with attention reduced to the pairwise distances of neighbours, as a decoding policy
would ask for it, against the same pass without. Medians of the repeats, compiled before.
"""

import argparse
import statistics
import time
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """The benchmark's arguments."""
    parse = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parse.add_argument("--bundle", type=Path, required=True)
    parse.add_argument("--source", type=Path, required=True)
    parse.add_argument("--sentences", type=int, default=200)
    parse.add_argument("--passes", type=int, nargs="+", default=[1, 4])
    parse.add_argument("--distances", type=int, nargs="+", default=[1, 8])
    parse.add_argument("--repeats", type=int, default=5)
    parse.add_argument("--threads", type=int)
    parse.add_argument("--out", type=Path)
    return parse


def median(call, repeats: int) -> float:
    """Median seconds of calls, after one that compiles."""
    call()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def main() -> None:
    """Measure and print."""
    arguments = parser().parse_args()
    from padir.launch import prepare

    prepare(arguments.threads)
    import jax
    import jax.numpy as jnp
    from flax import nnx

    from padir.analysis.attention import AnalysedHypothesis, Extractor
    from padir.analysis.dependence import measures
    from padir.decode.load import find_decoder, load
    from padir.decode.translate import Translator
    from padir.files import read_lines, write_json

    loaded = load(arguments.bundle)
    decoder = find_decoder(loaded, None)
    lines = [line for line in read_lines(arguments.source) if line.strip()][: arguments.sentences]
    rows = []
    for passes in arguments.passes:
        translator = Translator(loaded, decoder, passes)
        sources = translator.encode(lines)
        chosen = [
            AnalysedHypothesis.best(row, translator.rule) for row in translator.candidates(sources)
        ]
        decoding = median(lambda t=translator, s=sources: t.candidates(s), arguments.repeats)
        for distance in arguments.distances:
            extractor = Extractor(loaded, decoder, distance, 2)

            def extract(extractor=extractor, sources=sources, chosen=chosen, passes=passes):
                for _, made, _ in extractor.passes(sources, chosen, passes):
                    jax.device_get(made)

            extraction = median(extract, arguments.repeats)
            rows.append(
                {
                    "decoding": f"T{passes}",
                    "distance": distance,
                    "decoding_s": decoding,
                    "extraction_s": extraction,
                }
            )
            print(
                f"T{passes}: decoding {decoding:.3f} s, extraction up to {distance} apart"
                f" {extraction:.3f} s, {extraction / decoding:.0%}"
            )
    graph, state = nnx.split(loaded.model)
    batch, copies, length = 64, decoder.settings.length_candidates, 20
    tokens = jnp.full((batch * copies, length), 9, jnp.int32)
    cross = loaded.model.encode(jnp.full((batch, length), 9, jnp.int32)).cross

    def plain(state, tokens, cross):
        return nnx.merge(graph, state).decode(tokens, cross)

    def looking(state, tokens, cross):
        model = nnx.merge(graph, state)
        hidden, attentions = model.hidden(tokens, cross)
        return model.logits(hidden), measures(attentions, 1)

    times = {}
    for name, function in (("plain", plain), ("looking", looking)):
        compiled = jax.jit(function)
        times[name] = median(
            lambda f=compiled: jax.block_until_ready(f(state, tokens, cross)), 4 * arguments.repeats
        )
    share = times["looking"] / times["plain"] - 1
    print(
        f"one pass: {1e3 * times['plain']:.1f} ms, looking {1e3 * times['looking']:.1f} ms,"
        f" {share:+.0%}"
    )
    if arguments.out:
        write_json(arguments.out, {"rows": rows, "one_pass_s": times})


if __name__ == "__main__":
    main()
