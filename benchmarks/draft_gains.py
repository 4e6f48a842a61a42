"""Drafts with two wrong words: the gain by visible tokens, or by each token hidden in turn.

    python -m benchmarks.draft_gains --bundle BUNDLE --decoder masked \\
        --source valid.de --references valid.en

The gain of a replacement (`padir.decode.drafts`) is measured with the pseudo-likelihood of one
pass that reads all tokens, as the decoder does, and with that of one row per token, which reads it
as a mask token, or as a random one (mean of four) where the model has no masks (Salazar et al.
2020). Margin and shares are of the same sentences: the margin keeps 96% of the references.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.editing import OWN, TASKS, given_text
from padir.launch import prepare

BUCKETS = (20, 32, 64)
RANDOM_ROWS = 4


def main(argv: list[str]) -> int:
    """Print one line per replacement and score."""
    parser = argparse.ArgumentParser(prog="benchmarks.draft_gains", description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--decoder", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=200)
    arguments = parser.parse_args(argv)
    prepare(None)
    from dataclasses import replace

    import jax.numpy as jnp
    import numpy as np

    from padir.decode.constrain import Constraints
    from padir.decode.drafts import KEPT, gain, margin_that_keeps
    from padir.decode.given import Speller
    from padir.decode.load import find_decoder, load
    from padir.decode.predict import forbid, log_normaliser, predictable
    from padir.decode.programs import CompiledModel
    from padir.decode.translate import Translator
    from padir.files import read_aligned
    from padir.ids import EOS, FIRST_PIECE, MASK, PAD
    from padir.score.bleu import RepeatedBleu

    loaded = load(arguments.bundle)
    decoder = find_decoder(loaded, arguments.decoder)
    translator = Translator(loaded, decoder, 4)
    texts = read_aligned(arguments.source, arguments.references)
    lines, references = (text[: arguments.sentences] for text in texts)
    sources = translator.encode(lines)
    plain = [each.hypothesis for each in translator.translate(lines, str(arguments.source))]
    masked = loaded.spec.run.objective.corruption == "mask"
    network = loaded.network(decoder.settings.weights)
    compiled = CompiledModel(network, loaded.spec.run)
    allowed = predictable(compiled.table_size, loaded.vocabulary.size, eos=False)
    rng = np.random.default_rng(0)

    def score(model, source, rows, targets):
        encoded = model.encode(source)
        hidden, _ = model.hidden(rows[0], encoded.cross, rows[0] != PAD)
        logits = forbid(model.logits(hidden), allowed)
        token_logits = jnp.take_along_axis(logits, targets[0][:, :, None], axis=2)[:, :, 0]
        return (token_logits - log_normaliser(logits))[None]

    scores = compiled.compiled(score, [True, True, True])
    known = {}

    def hidden_in_turn(source, tokens) -> float:
        key = (tuple(source), tuple(tokens))
        if key not in known:
            count = 1 if masked else RANDOM_ROWS
            width = next(size for size in BUCKETS if size > len(tokens))
            target = np.full(width, PAD, np.int32)
            target[: len(tokens)], target[len(tokens)] = tokens, EOS
            rows = np.tile(target, (count, width, 1))
            for place in range(len(tokens)):
                for row in rows[:, place]:
                    draw = rng.integers(FIRST_PIECE, loaded.vocabulary.size)
                    row[place] = MASK if masked else draw
            read = np.full((1, BUCKETS[-1]), PAD, np.int32)
            read[0, : len(source)], read[0, len(source)] = source, EOS
            rows = rows.reshape(1, -1, width)
            found = np.asarray(scores(read, rows, np.broadcast_to(target, rows.shape)))[0]
            places = np.arange(len(tokens))
            known[key] = found.reshape(count, width, width)[:, places, places].mean(axis=0).sum()
        return float(known[key])

    spoil = next(task for task in TASKS if task.origin == OWN and "wrong" in task.title)
    drafts = {"references": references, "spoilt": given_text(spoil, plain, 0)}
    speller, bleu = Speller(translator), RepeatedBleu([references], "en")
    print(f"plain: {bleu(plain):.2f} BLEU", flush=True)
    for replacement in ("translation", "repair"):
        gains, texts = {}, {}
        for name, given in drafts.items():
            chosen = [i for i, text in enumerate(given) if text]
            read = [speller.draft(given[i], "") for i in chosen]
            constraints = Constraints(translator, speller, read, "")
            own = [sources[i] for i in chosen]
            pairs = constraints.replacements(own, read, replacement)
            turned = [
                [replace(c, log_probability=hidden_in_turn(s, c.tokens)) for c in pair]
                for s, pair in zip(own, pairs, strict=True)
            ]
            for way, measured in (("all read", pairs), ("each hidden", turned)):
                gains[name, way] = [gain(*pair) for pair in measured]
            new = translator.finish(own, [[pair[1]] for pair in pairs])
            texts[name] = [each.hypothesis for each in new]
            if name == "spoilt":
                indices = chosen
        for way in ("all read", "each hidden"):
            margin = margin_that_keeps(gains["references", way], KEPT)
            result, right = list(plain), 0
            rows = zip(indices, texts["spoilt"], gains["spoilt", way], strict=True)
            for i, text, value in rows:
                result[i] = text if value > margin else drafts["spoilt"][i]
                right += result[i] == plain[i]
            share = 100 * right / len(indices)
            print(
                f"{replacement}, {way}: margin {margin:.2f}, own output with two wrong words put"
                f" right {share:.1f}%, {bleu(result):.2f} BLEU",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
