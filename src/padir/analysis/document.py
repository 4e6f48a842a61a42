"""Dependency analysis of one model: tables 4 and 5, predictors of stutter, exact dependence.

Paper: 3.4, L.5. What is compared, and with which tests: docs/dependency.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from padir.analysis import exact
from padir.analysis.attention import AnalysedHypothesis, Extractor
from padir.analysis.contrasts import (
    PERMUTATIONS,
    Contrasts,
    contrast,
    discrimination,
    oriented,
    rank_correlation,
    strongest,
)
from padir.analysis.dependence import Ranks
from padir.analysis.pairs import PREDICTORS, Pairs, Repeats, collect, repeats
from padir.analysis.verdicts import claims_of
from padir.data.grammar import Grammar
from padir.decode.translate import Translator
from padir.files import InputError
from padir.score.significance import resample_counts
from padir.score.stutter import PER, word_counts

SUMMARISED = ("self_attention", "self_right", "self_left")
DISTANCES = ("total_variation", "cosine", "jensen_shannon")
PROBE_SIGN = {"probe": 1}
"""The probe as a predictor: its values grow with dependence."""
DIGITS = 6
"""Significant digits of the numbers in the document."""


@dataclass(frozen=True)
class Options:
    """Options of the analysis.

    Attributes:
        passes: decoder passes looked at, each at the end of a decoding with so many; the claims
            are about the first.
        samples: bootstrap resamples.
        mode_strength: of the synthetic pair; read with a grammar only.
    """

    passes: tuple[int, ...]
    samples: int
    mode_strength: float = 0.0


@dataclass(frozen=True)
class TestSet:
    """Source and reference sentences of a test set, none of them empty.

    Attributes:
        lines: sources.
        references: each a list as long as the sources.
        language: of the target.
        grammar: where the pair is synthetic.
    """

    lines: Sequence[str]
    references: Sequence[Sequence[str]]
    language: str
    grammar: Grammar | None = None


def analyse(
    translator: Translator,
    extractor: Extractor,
    test: TestSet,
    options: Options,
    report: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Run the whole analysis: measurements, comparisons and verdicts.

    Args:
        translator: of the model; its number of passes does not matter.
        extractor: of the same model.
        test: sentences.
        options: what to measure.
        report: called with the number of sentences just finished, of `len(passes)` times as many
            as there are, once more with a grammar.

    Returns:
        the JSON document, without labels.
    """
    sources = translator.encode(test.lines)
    resamples = resample_counts(len(sources), options.samples)
    passes = [
        _pass(translator, extractor, test, sources, number, resamples, report)
        for number in options.passes
    ]
    document: dict[str, Any] = {
        "sentences": len(sources),
        "distance": extractor.distance,
        "alternatives": extractor.alternatives,
        "samples": options.samples,
        "permutations": PERMUTATIONS,
        "passes": passes,
        "exact": _exact(translator, extractor, test, sources, options, resamples, report),
    }
    document["claims"] = claims_of(passes[0])
    return rounded(document)


def _pass(
    translator: Translator,
    extractor: Extractor,
    test: TestSet,
    sources: Sequence[Sequence[int]],
    number: int,
    resamples: np.ndarray,
    report: Callable[[int], None] | None,
) -> dict[str, Any]:
    candidates = translator.with_passes(number).candidates(sources, references=test.references[0])
    chosen = [AnalysedHypothesis.best(row, translator.rule) for row in candidates]
    tokens = [row[each.number].tokens for row, each in zip(candidates, chosen, strict=True)]
    pairs = collect(extractor, sources, chosen, number, report=report)
    if not len(pairs.sentence):
        raise InputError("no hypothesis has two tokens, so that there are no pairs to compare")
    encoded = [translator.encode(lines) for lines in test.references]
    repeated = repeats(pairs, tokens, list(zip(*encoded, strict=True)))
    texts = translator.loaded.vocabulary.decode(tokens)
    words = word_counts(texts, test.references, test.language)
    return {
        "pass": number,
        "words_per_100": PER * float(words.stutters.sum() / max(words.units.sum(), 1.0)),
        "pairs": len(pairs.sentence),
        "adjacent": int(pairs.adjacent.sum()),
        "licensed": int(repeated.licensed.sum()),
        **compared(pairs, repeated, len(sources), len(resamples)),
        "prediction": predicted(pairs, repeated, resamples),
    }


def compared(pairs: Pairs, repeated: Repeats, sentences: int, samples: int) -> dict[str, Any]:
    """Compare stuttering with other adjacent pairs, for tables 4 and 5 and the heat maps."""
    kept = ~repeated.licensed
    both = np.stack([pairs.heads["self_right"], pairs.heads["self_left"]], axis=-1)
    by_head = {"self_attention": both.mean(axis=-1)}
    by_head |= {name: pairs.heads[name] for name in DISTANCES}
    spreads = {"self_attention": both} | {
        name: pairs.heads[name] for name in (*SUMMARISED[1:], *DISTANCES)
    }
    features = {
        f"{name} {kind}": getattr(values.reshape(len(values), -1), kind)(axis=1)
        for name, values in spreads.items()
        for kind in ("min", "mean", "max")
    }
    features |= {name: pairs.ranks[name] for name in Ranks._fields}
    next_to = pairs.adjacent
    features |= {
        name: pairs.values[name][next_to]
        for name in ("surprisal", "entropy", "overlap", "probe")
        if name in pairs.values
    }
    shape = by_head["self_attention"].shape[1:]
    columns = [*features.values(), *(v.reshape(len(v), -1).T for v in by_head.values())]
    matrix = np.concatenate([np.atleast_2d(column) for column in columns]).T
    result = contrast(
        matrix[kept], repeated.stutter[kept], pairs.sentence[next_to][kept], sentences, samples
    )
    heads: dict[str, Any] = {}
    at = len(features)
    for name in by_head:
        columns_of_head = slice(at, at + int(np.prod(shape)))
        heads[name] = {
            key: getattr(result, key)[columns_of_head].reshape(shape).tolist()
            for key in ("mean", "other_mean", "effect", "within", "within_effect", "p_value")
        }
        at = columns_of_head.stop
    return {
        "stuttering": result.count,
        "other": result.other_count,
        "mixed_sentences": result.mixed_sentences,
        "contrasts": {name: _feature(result, place) for place, name in enumerate(features)},
        "heads": heads,
    }


def _feature(result: Contrasts, place: int) -> dict[str, Any]:
    return {
        key: np.asarray(value)[place].tolist()
        for key, value in asdict(result).items()
        if isinstance(value, np.ndarray)
    }


def predicted(pairs: Pairs, repeated: Repeats, resamples: np.ndarray) -> list[dict[str, Any]]:
    """How well each predictor detects stutter, and the pairs with the largest probe values."""
    next_to = pairs.adjacent
    kept = np.flatnonzero(next_to)[~repeated.licensed]
    rows = []
    stutter = repeated.stutter[~repeated.licensed]
    for name, sign in (_signs("adjacent") | PROBE_SIGN).items():
        score = oriented(pairs.values[name][kept], sign)
        rows.append(
            _row("stutter", "adjacent", name, score, stutter, pairs.sentence[kept], resamples)
        )
    for kind, chosen in (("adjacent", np.flatnonzero(next_to)), ("near", slice(None))):
        probe, sentence = pairs.values["probe"][chosen], pairs.sentence[chosen]
        strong = strongest(probe)
        for name, sign in _signs(kind).items():
            score = oriented(pairs.values[name][chosen], sign)
            row = _row("probe", kind, name, score, strong, sentence, resamples)
            rows.append(row | _correlation(score, probe, sentence, resamples))
    return rows


def _signs(kind: str) -> dict[str, int]:
    """Signs of the predictors of a kind of pairs: adjacent ones are all at the same distance."""
    return {
        name: sign for name, sign in PREDICTORS.items() if (name, kind) != ("distance", "adjacent")
    }


def _row(target, kind, name, score, positive, sentence, resamples) -> dict[str, Any]:
    result = discrimination(score, positive, sentence, resamples)
    return {"target": target, "pairs": kind, "predictor": name, **asdict(result)}


def _correlation(score, graded, sentence, resamples) -> dict[str, Any]:
    value, ends = rank_correlation(score, graded, sentence, resamples)
    return {"correlation": value, "correlation_interval": ends}


def _exact(
    translator: Translator,
    extractor: Extractor,
    test: TestSet,
    sources: Sequence[Sequence[int]],
    options: Options,
    resamples: np.ndarray,
    report: Callable[[int], None] | None,
) -> dict[str, Any] | None:
    """Compare the measures at the first pass with the exact dependence, at a reference's length;
    None without a grammar, or where the model can hold no such translation."""
    if test.grammar is None:
        return None
    encode = translator.encode
    distributions = [
        exact.at_likeliest_length(
            exact.target_distribution(test.grammar, line, options.mode_strength, encode)
        )
        for line in test.lines
    ]
    lengths = [len(next(iter(distribution))) + 1 for distribution in distributions]
    # A model reads no more than its longest target.
    fits = [index for index, length in enumerate(lengths) if length <= extractor.longest]
    if not fits:
        return None
    chosen = [AnalysedHypothesis(lengths[index]) for index in fits]
    number = options.passes[0]
    pairs = collect(extractor, [sources[i] for i in fits], chosen, number, report=report)
    truth = [exact.dependence(distributions[index]) for index in fits]
    places = list(zip(pairs.sentence, pairs.left, pairs.left + pairs.distance, strict=True))
    information = np.array([truth[s][i, j] for s, i, j in places])
    sentence = np.array(fits)[pairs.sentence]
    rows = []
    for kind, kept in (("adjacent", pairs.adjacent), ("near", np.ones(len(places), bool))):
        for name, sign in (_signs(kind) | PROBE_SIGN).items():
            score = oriented(pairs.values[name][kept], sign)
            graded, sentences = information[kept], sentence[kept]
            row = _row("exact", kind, name, score, graded > 0, sentences, resamples)
            rows.append(row | _correlation(score, graded, sentences, resamples))
    return {
        "pass": number,
        "sentences": len(fits),
        "several": sum(len(distributions[index]) > 1 for index in fits),
        "pairs": len(places),
        "dependent": int((information > 0).sum()),
        "mean_information": float(information.mean()),
        "mean_probe": float(pairs.values["probe"].mean()),
        "prediction": rows,
    }


def rounded(value: Any) -> Any:
    """The same document with numbers cut to `DIGITS` significant digits."""
    if isinstance(value, Mapping):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
