"""Corpus BLEU and chrF from per-sentence counts, so that resampling costs one matrix product.

The counts are sacreBLEU's own (Post 2018). The formulas are restated here over many resamples at
once; tests/parity compares both with sacreBLEU's command.

The paper's signatures are those of sacreBLEU 1.3.0 (section L.3, footnote 27): mixed case, one
reference, exponential smoothing, tokenizer 13a (zh for Chinese). Since then only the spelling of
the signature has changed for these options.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from padir.files import InputError
from padir.languages import base_language

ORDER = 4
CHRF_BETA = 2
CHRF_WORD_ORDER = 2
BLOCK_SENTENCES = 10_000


@dataclass(frozen=True)
class CorpusCounts:
    """One metric's counts per sentence and the formula from their sum to a score.

    Attributes:
        statistics: float64 [sentences, counts]; a corpus has the sum over sentences.
        formula: maps sums [resamples, counts] to scores [resamples], from 0 to 100.
        signature: sacreBLEU's signature of the metric.
    """

    statistics: np.ndarray
    formula: Callable[[np.ndarray], np.ndarray]
    signature: str

    def score(self) -> float:
        """Score of the whole corpus, from 0 to 100."""
        return float(self.formula(self.statistics.sum(axis=0, keepdims=True))[0])


def is_of_installed_version(signature: str) -> bool:
    """Whether a signature names the installed sacreBLEU."""
    return f"version:{sacrebleu.__version__}" in signature.split("|")


def paper_signature(target_language: str) -> str:
    """The paper's signature for this target language (section L.3)."""
    tokenizer = "zh" if base_language(target_language) == "zh" else "13a"
    return f"BLEU+c.mixed+#.1+s.exp+tok.{tokenizer}+v.1.3.0"


def bleu_counts(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], target_language: str
) -> CorpusCounts:
    """Counts for BLEU with the tokenizer of the target language.

    Args:
        hypotheses: one detokenised sentence each.
        references: one list per reference, each as long as `hypotheses`.
        target_language: zh, ja and ko have their own tokenizers, by any code of theirs; all others
            take 13a.

    Raises:
        InputError: the language's tokenizer needs a package that is not installed.
    """
    return _counts(bleu_metric(target_language), hypotheses, references, bleu_formula)


def bleu_metric(target_language: str) -> BLEU:
    """SacreBLEU's metric with the tokenizer of the target language.

    Raises:
        InputError: the tokenizer needs a package that is not installed.
    """
    language = base_language(target_language)
    try:
        return BLEU(trg_lang=language)
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"target language {target_language}: sacreBLEU's tokenizer is not installed;"
            f" install the package sacrebleu[{language}]"
        ) from error


def streamed_bleu_counts(aligned: Iterable[tuple[str, ...]], target_language: str) -> CorpusCounts:
    """`bleu_counts` of a stream of text, with one row of counts per block of sentences.

    The score is the same to the last bit, as counts are whole numbers.

    Args:
        aligned: hypothesis and references of each sentence; at least one sentence.
        target_language: as in `bleu_counts`.

    Raises:
        InputError: as in `bleu_counts`.
        ValueError: no sentence.
    """
    # One metric for all blocks, as each tokenizer keeps a cache of lines.
    metric = bleu_metric(target_language)
    sentences = iter(aligned)
    sums = []
    while block := list(islice(sentences, BLOCK_SENTENCES)):
        hypotheses, *references = zip(*block, strict=True)
        counts = _counts(metric, hypotheses, references, bleu_formula)
        sums.append(counts.statistics.sum(axis=0))
    if not sums:
        raise ValueError("BLEU of no sentence")
    return CorpusCounts(np.stack(sums), bleu_formula, str(metric.get_signature()))


class RepeatedBleu:
    """BLEU of similar sets of hypotheses for the same references.

    Counts of a sentence's hypothesis are computed once, however often it is chosen.

    Args:
        references: one list per reference.
        target_language: as in `bleu_counts`.

    Raises:
        InputError: as in `bleu_counts`.
    """

    def __init__(self, references: Sequence[Sequence[str]], target_language: str):
        self._metric = bleu_metric(target_language)
        self._references = references
        self._rows: dict[tuple[int, str], np.ndarray] = {}

    def __call__(self, hypotheses: Sequence[str]) -> float:
        """Corpus BLEU, from 0 to 100; as many hypotheses as references, at least one."""
        keys = list(enumerate(hypotheses))
        new = [key for key in keys if key not in self._rows]
        if new:
            references = [[texts[index] for index, _ in new] for texts in self._references]
            counts = _counts(self._metric, [text for _, text in new], references, bleu_formula)
            self._rows.update(zip(new, counts.statistics, strict=True))
        rows = np.stack([self._rows[key] for key in keys])
        return float(bleu_formula(rows.sum(axis=0, keepdims=True))[0])


def chrf_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusCounts:
    """Counts for chrF2 (character order 6, no words); arguments as in `bleu_counts`."""
    return _counts(CHRF(), hypotheses, references, chrf_formula)


def chrf_words_counts(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> CorpusCounts:
    """Counts for chrF2++, which adds word unigrams and bigrams; arguments as in `bleu_counts`."""
    metric = CHRF(word_order=CHRF_WORD_ORDER)
    return _counts(metric, hypotheses, references, chrf_formula)


def _counts(
    metric: Any,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    formula: Callable[[np.ndarray], np.ndarray],
) -> CorpusCounts:
    # A private method, but the only way to chrF's counts; covered by the parity tests.
    statistics = np.array(metric._extract_corpus_statistics(hypotheses, references), np.float64)
    return CorpusCounts(statistics, formula, str(metric.get_signature()))


def bleu_formula(sums: np.ndarray) -> np.ndarray:
    """BLEU with exponential smoothing.

    Args:
        sums: [R, 10]: hypothesis length, closest reference length, matched n-grams of order
            1 to 4, all n-grams of order 1 to 4.

    Returns:
        [R] scores from 0 to 100; 0 where nothing matches or an order has no n-gram at all.
    """
    length, reference_length = sums[:, 0], sums[:, 1]
    matched, total = sums[:, 2 : 2 + ORDER], sums[:, 2 + ORDER :]
    defined = (matched.sum(axis=1) > 0) & (total > 0).all(axis=1)
    total = np.maximum(total, 1.0)
    halvings = np.cumsum(matched == 0, axis=1)
    precision = np.where(matched > 0, matched, 0.5**halvings) / total
    brevity = np.minimum(0.0, 1.0 - reference_length / np.maximum(length, 1.0))
    return np.where(defined, 100.0 * np.exp(brevity + np.log(precision).mean(axis=1)), 0.0)


def chrf_formula(sums: np.ndarray) -> np.ndarray:
    """chrF with beta 2 over the n-gram orders that both sides have.

    Args:
        sums: [R, 3 * orders]: n-grams of hypothesis, reference, and both, for each order.
            Orders are 1 to 6 of characters, and for chrF++ then 1 to 2 of words.

    Returns:
        [R] scores from 0 to 100.
    """
    triples = sums.reshape(len(sums), -1, 3)
    hypothesis, reference, matched = triples[..., 0], triples[..., 1], triples[..., 2]
    present = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(present.sum(axis=1), 1)
    precision = (present * matched / np.maximum(hypothesis, 1.0)).sum(axis=1) / orders
    recall = (present * matched / np.maximum(reference, 1.0)).sum(axis=1) / orders
    factor = CHRF_BETA**2
    denominator = factor * precision + recall
    score = (1 + factor) * precision * recall / np.where(denominator > 0, denominator, 1.0)
    return np.where(denominator > 0, 100.0 * score, 0.0)
