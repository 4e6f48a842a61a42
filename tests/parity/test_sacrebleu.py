"""Our numbers are those that sacreBLEU's own command prints."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from padir.score import significance
from padir.score.bleu import bleu_counts, chrf_counts, chrf_words_counts
from padir.score.rating import rating
from padir.score.summary import score_corpus

TEXT = "the a dog man bit ran old young and , . 'Well' it's 3.5% über-Straße to of in"
WORDS = TEXT.split()


@pytest.fixture(scope="module")
def corpus():
    """Two references, a good system and a worse one, by seeded noise on random text."""
    rng = np.random.default_rng(7)
    first = [" ".join(rng.choice(WORDS, rng.integers(1, 16))) for _ in range(150)]

    def noisy(rate: float) -> list[str]:
        lines = []
        for line in first:
            kept = [w if rng.random() > rate else str(rng.choice(WORDS)) for w in line.split()]
            lines.append(" ".join(w for w in kept if rng.random() > rate / 4))
        return lines

    return noisy(0.15), noisy(0.25), [first, noisy(0.3)]


def command(tmp_path, hypotheses, references, *flags: str):
    """The `sacrebleu` command in a process of its own; its JSON."""

    def write(name: str, lines: list[str]) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)

    paths = [write(f"ref{i}", lines) for i, lines in enumerate(references)]
    outputs = [write(f"sys{i}", lines) for i, lines in enumerate(hypotheses)]
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *paths, "-i", *outputs, "-w", "6", *flags],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_scores_signatures_and_intervals_equal_the_commands(tmp_path, corpus):
    output, _, references = corpus
    flags = ("-m", "bleu", "chrf", "--confidence", "--confidence-n", "500")
    theirs = command(tmp_path, [output], references, *flags)
    ours = score_corpus(output, references, "en", samples=500)
    for mine, other in zip((ours["bleu"], ours["chrf"]), theirs, strict=True):
        assert mine["score"] == pytest.approx(other["score"], abs=1e-6)
        # sacreBLEU sums and divides in single precision when it resamples.
        half = (mine["high"] - mine["low"]) / 2
        assert half == pytest.approx(other["confidence_var"], abs=1e-4)
        assert mine["signature"].startswith(f"nrefs:{other['nrefs']}")
        # With --confidence sacreBLEU puts the resamples and their seed into the signature.
        plain = [p for p in other["signature"].split("|") if p[:3] not in ("bs:", "see")]
        assert mine["signature"].split("|") == plain


@pytest.mark.parametrize("language", ["de", "zh"])
def test_the_target_language_chooses_the_tokenizer_of_the_command(tmp_path, corpus, language):
    output, _, references = corpus
    output = [line.replace("dog", "狗狗") for line in output]
    theirs = command(tmp_path, [output], references[:1], "-l", f"en-{language}", "-m", "bleu")
    ours = bleu_counts(output, references[:1], language)
    assert ours.score() == pytest.approx(theirs["score"], abs=1e-6)


def test_chrf_with_words_equals_the_commands(tmp_path, corpus):
    output, _, references = corpus
    flags = ("-m", "chrf", "--chrf-word-order", "2", "--confidence", "--confidence-n", "500")
    theirs = command(tmp_path, [output], references, *flags)
    ours = rating(chrf_words_counts(output, references), references, 500)
    assert ours["score"] == pytest.approx(theirs["score"], abs=1e-6)
    assert (ours["low"] + ours["high"]) / 2 == pytest.approx(theirs["confidence_mean"], abs=0.2)
    assert (ours["high"] - ours["low"]) / 2 == pytest.approx(theirs["confidence_var"], abs=1e-4)
    assert "nw:2" in ours["signature"]


def test_every_resample_scores_what_sacrebleu_gives_its_sums(corpus):
    output, _, references = corpus
    counts = significance.resample_counts(len(output), 60)
    for ours, metric in (
        (bleu_counts(output, references, "en"), BLEU()),
        (chrf_counts(output, references), CHRF()),
    ):
        replicates = significance.replicates(ours, counts)
        for row, value in zip(counts, replicates, strict=True):
            sums = (row @ ours.statistics).astype(int).tolist()
            assert value == pytest.approx(metric._compute_score_from_stats(sums).score, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "samples"), [("bs", 300), ("ar", significance.RANDOMISATION_TRIALS)]
)
def test_p_values_of_paired_tests_equal_sacrebleus(corpus, kind, samples):
    output, worse, references = corpus
    # Gains and losses nearly cancel, so that p lies well inside (0, 1). Many sentences differ:
    # where few do, ours counts equal differences, too.
    system = [pair[i % 2] for i, pair in enumerate(zip(output, worse, strict=True))]
    baseline = [pair[1 - i % 2] for i, pair in enumerate(zip(output, worse, strict=True))]
    theirs = PairedTest(
        [("baseline", baseline), ("system", system)], {"BLEU": BLEU()}, references, kind, samples
    )()[1]["BLEU"][1]
    counts = (bleu_counts(lines, references, "en") for lines in (system, baseline))
    ours = significance.paired(*counts, samples=samples)
    p_value = ours.p_value if kind == "ar" else ours.p_value_bootstrap
    assert 0.01 < theirs.p_value < 0.99
    assert p_value == pytest.approx(theirs.p_value, abs=1e-12)
