"""What the choice among length candidates gains and loses, by several ways to choose.

    python -m benchmarks.candidates --bundle SEED0 SEED1 --decoder masked --reranker AR \\
        --source valid.xs --references valid.xt --target-language xt --out results/candidates.md

From the root of the repository, with seeds of one parallel training. Each model decodes once; only
the choice among its candidates differs. Length rules, ratios and weights are the best of all tried
on these sentences, so that they are validation data. Rows called oracle read the references: they
are no systems. Blank lines are left out.
"""

import argparse
import math
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from padir.launch import prepare

RATIOS = (0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2)
WEIGHTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


class Result(NamedTuple):
    """What a way to choose gives: BLEU, tokens over those of the references, and the settings that
    it found best."""

    bleu: float
    length: float
    settings: str = ""


@dataclass(frozen=True)
class Pool:
    """Candidates of all sentences, and what is needed to choose among them.

    Attributes:
        sources: piece ids of each sentence, without EOS.
        candidates: of each sentence at least one, with the decoder's log-probabilities.
        texts: their hypotheses.
        references: of each sentence one.
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

    def highest(self, values: Sequence[Sequence[Any]], settings: str = "") -> Result:
        """The result of the candidates with the highest values; the first of equals."""
        best = [max(range(len(row)), key=row.__getitem__) for row in values]
        chosen = [row[index].length for row, index in zip(self.candidates, best, strict=True)]
        texts = [row[index] for row, index in zip(self.texts, best, strict=True)]
        return Result(self.bleu(texts), sum(chosen) / sum(self.lengths), settings)

    def by_rule(self, rule: Any, penalties: Sequence[Sequence[float]], settings: str) -> Result:
        """The result of the candidates with the highest score minus penalty."""
        rows = zip(self.candidates, penalties, strict=True)
        values = [
            [rule.score(each) - penalty for each, penalty in zip(*row, strict=True)] for row in rows
        ]
        return self.highest(values, f"alpha {rule.alpha:g}, weight {rule.weight:g}{settings}")


def best(results: Iterable[Result]) -> Result:
    """The result with the highest BLEU; the first of equals."""
    return max(results, key=attrgetter("bleu"))


def likeliest_length(pool: Pool) -> Result:
    """The candidate of the length that the model finds likeliest."""
    rows = pool.candidates
    return pool.highest([[each.length_log_probability for each in row] for row in rows])


def length_rule(pool: Pool) -> Result:
    """The decoder's own choice."""
    none = [[0.0] * len(row) for row in pool.candidates]
    return best(pool.by_rule(rule, none, "") for rule in pool.rules)


def target_ratio(pool: Pool) -> Result:
    """The length rule minus weight * |log(length / (ratio * source length))|, without EOS."""

    def penalties(ratio: float, weight: float) -> list[list[float]]:
        return [
            [weight * abs(math.log((each.length - 1) / (ratio * len(source)))) for each in row]
            for source, row in zip(pool.sources, pool.candidates, strict=True)
        ]

    return best(
        pool.by_rule(rule, penalties(ratio, weight), f", ratio {ratio:g}, its weight {weight:g}")
        for ratio, weight in product(RATIOS, WEIGHTS)
        for rule in pool.rules
    )


def reference_length(pool: Pool) -> Result:
    """Oracle: the length rule minus weight * |log(length / reference length)|, with EOS."""

    def penalties(weight: float) -> list[list[float]]:
        return [
            [weight * abs(math.log(each.length / length)) for each in row]
            for length, row in zip(pool.lengths, pool.candidates, strict=True)
        ]

    return best(
        pool.by_rule(rule, penalties(weight), f", oracle weight {weight:g}")
        for weight in WEIGHTS
        for rule in pool.rules
    )


def nearest_length(pool: Pool) -> Result:
    """Oracle: the candidate nearest to the reference's length; of two, the likelier length."""
    rows = zip(pool.candidates, pool.lengths, strict=True)
    return pool.highest(
        [
            [(-abs(each.length - length), each.length_log_probability) for each in row]
            for row, length in rows
        ]
    )


def sentence_score(metric: str, language: str) -> Callable[[str, str], float]:
    """sacreBLEU's score of one hypothesis against one reference."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    if metric == "BLEU":
        score = BLEU(effective_order=True, trg_lang=language).sentence_score
    else:
        score = CHRF(word_order=2).sentence_score
    return lambda text, reference: score(text, [reference]).score


def highest_bleu(pool: Pool, score: Callable[[str, str], float]) -> Result:
    """Oracle: the candidate with the highest sentence BLEU against the reference."""
    rows = zip(pool.texts, pool.references, strict=True)
    return pool.highest([[score(text, reference) for text in row] for row, reference in rows])


def minimum_risk(pool: Pool, score: Callable[[str, str], float]) -> Result:
    """The candidate most like all of them, unweighted: minimum Bayes risk."""
    return pool.highest(
        [[sum(score(text, other) for other in row) for text in row] for row in pool.texts]
    )


def measure(loaded: Any, arguments: argparse.Namespace) -> tuple[dict[str, Result], float]:
    """Each way to choose, on the candidates of one model, and the share of references whose length
    is among the candidates'."""
    from padir.decode.load import find_decoder, load
    from padir.decode.pseudo import PseudoLikelihood
    from padir.decode.rerank import Reranker, check_reranker
    from padir.decode.translate import Translator
    from padir.decode.tune import length_rules
    from padir.files import read_aligned
    from padir.score.bleu import RepeatedBleu

    decoder = find_decoder(loaded, arguments.decoder)
    rules = length_rules(decoder.settings)
    translator = Translator(loaded, decoder, arguments.passes, rules[0])
    lines, references = read_aligned(arguments.source, arguments.references)
    pairs = zip(translator.encode(lines), references, strict=True)
    sources, references = map(list, zip(*(pair for pair in pairs if pair[0]), strict=True))
    translator.fit(sources, str(arguments.source), None)
    candidates = translator.candidates(sources)
    texts = [
        [each.hypothesis for each in translator.finish([source] * len(row), [[x] for x in row])]
        for source, row in zip(sources, candidates, strict=True)
    ]
    lengths = [len(reference) + 1 for reference in translator.encode(references)]
    bleu = RepeatedBleu([references], arguments.target_language)
    pool = Pool(sources, candidates, texts, references, lengths, rules, bleu)
    score = partial(sentence_score, language=arguments.target_language)
    results = {
        "likeliest length": likeliest_length(pool),
        "length rule": length_rule(pool),
        "length rule, target length ratio": target_ratio(pool),
        "minimum Bayes risk, BLEU": minimum_risk(pool, score("BLEU")),
        "minimum Bayes risk, chrF++": minimum_risk(pool, score("chrF++")),
    }
    if not loaded.spec.run.objective.hidden_only:
        judged = PseudoLikelihood(translator).score(sources, candidates)
        results["pseudo-likelihood (one more pass)"] = length_rule(replace(pool, candidates=judged))
    if arguments.reranker:
        reranker = Reranker(load(arguments.reranker))
        settings = decoder.settings.model_copy(update={"reranker": reranker.loaded.spec.training})
        check_reranker(loaded, replace(decoder, settings=settings), reranker)
        judged = reranker.rerank(sources, candidates, decoder.settings.weights)
        results["reranked by AR"] = length_rule(replace(pool, candidates=judged))
    results |= {
        "oracle: nearest to the reference's length": nearest_length(pool),
        "oracle: length rule, reference's length": reference_length(pool),
        "oracle: highest sentence BLEU": highest_bleu(pool, score("BLEU")),
    }
    rows = zip(lengths, candidates, strict=True)
    return results, fmean(length in {each.length for each in row} for length, row in rows)


def page(measured: dict[int, tuple[dict[str, Result], float]], passes: int, command: str) -> str:
    """The table with its command.

    Args:
        measured: results of each seed.
    """
    from padir.provenance import git_state
    from padir.report.tables import Column, Table

    by_choice = {
        choice: {seed: results[choice] for seed, (results, _) in measured.items()}
        for choice in next(iter(measured.values()))[0]
    }
    rows: list[dict[str, Any]] = [
        {
            "choice": choice,
            **{f"seed {seed}": result.bleu for seed, result in results.items()},
            "bleu": fmean(result.bleu for result in results.values()),
            "length": fmean(result.length for result in results.values()),
            # Those of one seed are separated by commas.
            "settings": " / ".join(
                dict.fromkeys(result.settings for result in results.values() if result.settings)
            )
            or None,
        }
        for choice, results in by_choice.items()
    ]
    table = Table(
        name="candidates",
        title="Candidates: ways to choose",
        columns=[
            Column("choice", "Chosen by"),
            *(Column(f"seed {seed}", f"BLEU, seed {seed}", 2) for seed in measured),
            Column("bleu", "Mean", 2),
            Column("length", "Tokens / reference's", 3),
            Column("settings", "Best settings"),
        ],
        rows=rows,
    )
    if len(measured) == 1:
        table = table.without("bleu")
    found = fmean(share for _, share in measured.values())
    notes = (
        f"T = {passes}, commit {git_state()['commit']}.",
        "Settings: the best of all tried on these sentences. Oracles read the references.",
        f"The reference's length is among the candidates' in {100 * found:.1f}% of the sentences.",
    )
    return f"{table.with_notes(*notes).markdown()}\n\n    {command}\n"


def main(argv: list[str]) -> int:
    """Measure each model and write the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.candidates", description=__doc__)
    parser.add_argument("--bundle", type=Path, nargs="+", required=True, help="one of each seed")
    parser.add_argument("--decoder", help="parallel, without a reranker (default: as padir decode)")
    parser.add_argument("--reranker", type=Path, help="AR model: adds its choice")
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--target-language", required=True)
    parser.add_argument("--out", type=Path, help="Markdown file to write; printed otherwise")
    arguments = parser.parse_args(argv)
    prepare(None)
    from padir.decode.load import load
    from padir.files import InputError

    try:
        models = [load(bundle) for bundle in arguments.bundle]
        seeds = {model.seed: model for model in models}
        trainings = {(model.spec.direction, model.spec.training) for model in models}
        if len(seeds) < len(models) or len(trainings) > 1:
            parser.error("--bundle: allowed are different seeds of one training")
        measured = {seed: measure(model, arguments) for seed, model in seeds.items()}
    except InputError as error:
        parser.error(str(error))
    command = shlex.join(["python", "-m", "benchmarks.candidates", *argv])
    text = page(measured, arguments.passes, command)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
