"""What the choice among length candidates gains and loses, by several ways to choose.

    python -m benchmarks.candidates --bundle SEED0 SEED1 --decoder masked --reranker AR \\
        --source valid.xs --references valid.xt --target-language xt --out results/candidates.md

From the root of the repository. Each parallel model decodes once; only the choice differs. Length
rules, and weight and ratio of a target length, are the best of all tried on these sentences, so
that they are validation data. Two rows read the first references: they bound what a better choice
can gain. Several bundles, seeds of one training, give a column each and their mean.
"""

import argparse
import math
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from padir.launch import prepare

RATIOS = (0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2)
RATIO_WEIGHTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Pool:
    """Candidates of all sentences, and what is needed to choose among them.

    Attributes:
        sources: piece ids of each sentence.
        candidates: of each sentence at least one, with the decoder's log-probabilities.
        texts: their hypotheses.
        references: the first reference of each sentence.
        lengths: of the references, in tokens with EOS.
        rules: the decoder's length rules.
        bleu: corpus BLEU of one hypothesis per sentence.
    """

    sources: Sequence[Sequence[int]]
    candidates: Sequence[Sequence[Any]]
    texts: Sequence[Sequence[str]]
    references: Sequence[str]
    lengths: Sequence[int]
    rules: Sequence[Any]
    bleu: Callable[[Sequence[str]], float]

    def choose(self, values: Sequence[Sequence[Any]]) -> float:
        """BLEU of the candidates with the highest values; the first of equals."""
        best = (max(range(len(row)), key=row.__getitem__) for row in values)
        return self.bleu([texts[index] for texts, index in zip(self.texts, best, strict=True)])

    def best_rule(self, candidates: Sequence[Sequence[Any]]) -> tuple[float, str]:
        """The highest BLEU of a length rule, and the rule.

        Args:
            candidates: the pool's, with log-probabilities of any model.
        """
        return max(
            (self.choose([list(map(rule.score, row)) for row in candidates]), shown_rule(rule))
            for rule in self.rules
        )


Choice = tuple[float, str]
"""BLEU of a way to choose, and the settings that it found best."""


def shown_rule(rule: Any) -> str:
    """Alpha and weight of a length rule."""
    return f"alpha {rule.alpha:g}, weight {rule.weight:g}"


def likeliest_length(pool: Pool) -> Choice:
    """The candidate of the length that the model finds likeliest."""
    rows = pool.candidates
    return pool.choose([[each.length_log_probability for each in row] for row in rows]), ""


def length_rule(pool: Pool) -> Choice:
    """The decoder's own choice."""
    return pool.best_rule(pool.candidates)


def target_ratio(pool: Pool) -> Choice:
    """The length rule minus weight * |log(length / (ratio * source length))|, both without EOS."""
    best = (-math.inf, "")
    for rule, ratio in product(pool.rules, RATIOS):
        pairs = [
            [
                (rule.score(each), abs(math.log(max(1, each.length - 1) / (ratio * len(source)))))
                for each in row
            ]
            for source, row in zip(pool.sources, pool.candidates, strict=True)
        ]
        for weight in RATIO_WEIGHTS:
            values = [[score - weight * away for score, away in row] for row in pairs]
            found = f"{shown_rule(rule)}, ratio {ratio:g}, its weight {weight:g}"
            best = max(best, (pool.choose(values), found))
    return best


def nearest_length(pool: Pool) -> Choice:
    """The candidate whose length is nearest to the reference's; of two, the likelier length."""
    rows = zip(pool.candidates, pool.lengths, strict=True)
    return pool.choose(
        [
            [(-abs(each.length - length), each.length_log_probability) for each in row]
            for row, length in rows
        ]
    ), ""


def sentence_scores() -> dict[str, Callable[[str, str], float]]:
    """sacreBLEU's scores of one hypothesis against one reference."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    metrics = {"BLEU": BLEU(effective_order=True), "chrF++": CHRF(word_order=2)}
    return {
        name: lambda text, reference, metric=metric: metric.sentence_score(text, [reference]).score
        for name, metric in metrics.items()
    }


def highest_bleu(pool: Pool) -> Choice:
    """The candidate with the highest sentence BLEU against the reference."""
    score = sentence_scores()["BLEU"]
    rows = zip(pool.texts, pool.references, strict=True)
    return pool.choose([[score(text, reference) for text in row] for row, reference in rows]), ""


def minimum_risk(pool: Pool, metric: str) -> Choice:
    """The candidate most like all of them by a sentence score: minimum Bayes risk."""
    score = sentence_scores()[metric]
    rows = pool.texts
    return pool.choose(
        [[sum(score(text, other) for other in row) for text in row] for row in rows]
    ), ""


def measure(bundle: Path, arguments: argparse.Namespace) -> dict[str, Choice]:
    """Each way to choose, on the candidates of one model."""
    from padir.decode.load import find_decoder, load
    from padir.decode.pseudo import PseudoLikelihood
    from padir.decode.rerank import Reranker
    from padir.decode.translate import Translator
    from padir.decode.tune import length_rules
    from padir.files import read_aligned
    from padir.score.bleu import RepeatedBleu

    loaded = load(bundle)
    decoder = find_decoder(loaded, arguments.decoder)
    rules = length_rules(decoder.settings)
    translator = Translator(loaded, decoder, arguments.passes, rules[0])
    lines, references = read_aligned(arguments.source, arguments.references)
    kept = [number for number, line in enumerate(lines) if line.strip()]
    lines, references = ([text[number] for number in kept] for text in (lines, references))
    sources = translator.encode(lines)
    translator.fit(sources, str(arguments.source), None)
    candidates = translator.candidates(sources)
    texts = [
        [each.hypothesis for each in translator.finish([source] * len(row), [[x] for x in row])]
        for source, row in zip(sources, candidates, strict=True)
    ]
    bleu = RepeatedBleu([references], arguments.target_language)
    lengths = [len(reference) + 1 for reference in translator.encode(references)]
    pool = Pool(sources, candidates, texts, references, lengths, rules, bleu)
    rows = {
        "likeliest length": likeliest_length(pool),
        "length rule": length_rule(pool),
        "length rule and target length ratio": target_ratio(pool),
        "minimum Bayes risk, BLEU": minimum_risk(pool, "BLEU"),
        "minimum Bayes risk, chrF++": minimum_risk(pool, "chrF++"),
    }
    if not loaded.spec.run.objective.hidden_only:
        judged = PseudoLikelihood(translator).score(sources, candidates)
        rows["pseudo-likelihood (one more pass), length rule"] = pool.best_rule(judged)
    if arguments.reranker:
        reranker = Reranker(load(arguments.reranker))
        judged = reranker.rerank(sources, candidates, decoder.settings.weights)
        rows["AR, length rule"] = pool.best_rule(judged)
    return rows | {
        "nearest to the reference's length": nearest_length(pool),
        "highest sentence BLEU": highest_bleu(pool),
    }


def page(measured: list[dict[str, Choice]], arguments: argparse.Namespace, command: str) -> str:
    """The table with its command: a column for each model if there are several, and their mean."""
    from padir.provenance import git_state
    from padir.report.tables import Column, Table

    several = len(measured) > 1
    numbers = range(1, len(measured) + 1) if several else ()
    rows: list[dict[str, Any]] = [
        {
            "choice": choice,
            **{f"model {number}": measured[number - 1][choice][0] for number in numbers},
            "bleu": fmean(each[choice][0] for each in measured),
            "settings": "; ".join(each[choice][1] for each in measured if each[choice][1]) or None,
        }
        for choice in measured[0]
    ]
    table = Table(
        name="candidates",
        title="Candidates: ways to choose",
        columns=[
            Column("choice", "Chosen by"),
            *(Column(f"model {number}", f"BLEU, model {number}", 2) for number in numbers),
            Column("bleu", "mean" if several else "BLEU", 2),
            Column("settings", "Best settings"),
        ],
        rows=rows,
    )
    notes = (
        f"Decoder {arguments.decoder or 'by default'}, T{arguments.passes}, commit"
        f" {git_state()['commit']}.",
        "Settings: the best of all tried on these sentences.",
        "The last two rows read the references: no system can choose so.",
    )
    return f"{table.with_notes(*notes).markdown()}\n\n    {command}\n"


def main(argv: list[str]) -> int:
    """Measure each model and write the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.candidates", description=__doc__)
    parser.add_argument("--bundle", type=Path, nargs="+", required=True)
    parser.add_argument("--decoder", help="parallel, without a reranker (default: as padir decode)")
    parser.add_argument("--reranker", type=Path, help="AR model: adds its choice")
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--target-language", required=True)
    parser.add_argument("--out", type=Path, help="Markdown file to write; printed otherwise")
    arguments = parser.parse_args(argv)
    prepare(None)
    command = shlex.join(["python", "-m", "benchmarks.candidates", *argv])
    text = page([measure(bundle, arguments) for bundle in arguments.bundle], arguments, command)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
