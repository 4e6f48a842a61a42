"""A made-up results folder: two datasets' worth of files with numbers chosen by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from padir.config.read import check_config

RUNS = {
    "ar": {"system": "ar", "decode": ["greedy", "beam"]},
    "padir_raw": {"decode": ["T1", "T4", "T10"]},
    "padir": {"targets": "own", "decode": ["T1", "T4", "T10"], "seeds": [0, 1]},
}
BLEU = {
    ("ar", "greedy"): 39.0,
    ("ar", "beam"): 40.0,
    ("padir_raw", "T1"): 20.0,
    ("padir_raw", "T4"): 24.0,
    ("padir_raw", "T10"): 24.2,
    ("padir", "T1"): 37.0,
    ("padir", "T4"): 39.5,
    ("padir", "T10"): 39.6,
}
STUTTER = {"ar": 0.5, "padir_raw": 9.0, "padir": 3.0, "whole": 3.0}
P50 = {"greedy": 4.0, "beam": 12.0, "T1": 1.5, "T4": 4.0, "T10": 9.0}
# Two models of three seeds that differ in one setting, and what is asked of them.
PAIR = {
    "whole": {"targets": "own", "decode": ["T1", "T2", "T4"], "seeds": [0, 1, 2]},
    "one_stage": {
        **{"targets": "own", "decode": ["T1", "T4", "T8"], "seeds": [0, 1, 2]},
        "objective": {"stages": 1},
    },
}
PAIR_BLEU = {"whole": (30.0, 31.0, 32.0), "one_stage": (28.0, 28.5, 29.0)}
ABLATIONS = [
    {"name": "second_stage", "base": "whole", "variant": "one_stage"},
    {"name": "distillation", "base": "padir", "variant": "padir_raw"},
    {"name": "less_known", "base": "whole", "variant": "padir"},
]
# One curve of sampling noise for all: systems on one test set rise and fall together.
NOISE = np.linspace(-1.0, 1.0, 200)


class MadeUp:
    """Writes result files; each method overwrites what was there."""

    def __init__(self, folder: Path):
        self.folder = folder / "results"
        self.settings = {
            "datasets": {"toy": {"source": {"kind": "synthetic"}, "directions": ["xs-xt"]}},
            "teachers": {"own": {"kind": "model", "model": "ar"}},
            "models": RUNS,
        }
        self.all()

    @property
    def config(self):
        return check_config(self.settings)

    def write(self, path: str, value) -> Path:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(value), encoding="utf-8")
        return place

    def score(self, model: str, decoding: str, seed: int = 0, bleu: float | None = None, **more):
        """A score file; `more` replaces keys of the document."""
        run = self.config.models[model]
        value = BLEU[model, decoding] + 0.2 * seed if bleu is None else bleu
        stutter = STUTTER.get(model, 5.0)
        before = None if run.system == "ar" else rates(stutter)
        document = {
            "dataset": "toy", "direction": "xs-xt", "model": model, "system": run.system,
            "targets": run.targets, "seed": seed, "decoding": decoding, "split": "test",
            "sentences": 200, "references": 1, "target_language": "xt", "test_digest": "abc123",
            "bleu": {"score": value, "low": value - 1, "high": value + 1, "signature": "BLEU|x",
                     "paper_signature": "BLEU+x"},
            "chrf": {"score": 60.0, "low": 59.0, "high": 61.0, "signature": "chrF|x"},
            "paired": {"baseline": "ar", "bleu_difference": value - 40, "low": -1.0, "high": 1.0,
                       "p_value": 0.01 * (1 + seed), "p_value_bootstrap": 0.02},
            "stutter": {
                "unit": "word", "words": rates(0.5 if run.system == "ar" else 0.2),
                "words_before_drop": before, "tokens": rates(1.0), "tokens_before_drop": None,
                "run_lengths": {"2": 3},
                "run_lengths_before_drop": {"2": 5, "3": 2, "4": 1, "7": 1},
            },
            "validity": {"share": 0.75, "low": 0.7, "high": 0.8},
            "decoder_passes": 4.0,
            "replicates": {
                "samples": 200, "seed": 12345, "bleu": list(value + NOISE),
                "stutter": list(0.5 + 0.1 * NOISE if run.system == "ar" else 0.2 + 0.1 * NOISE),
                "stutter_before_drop": None if before is None else list(stutter + 0.5 * NOISE),
            },
        }  # fmt: skip
        place = f"runs/toy/xs-xt/{model}/seed{seed}"
        return self.write(f"{place}/score/test.{decoding}.json", document | more)

    def pair(self, **bleu: tuple[float, ...]) -> None:
        """Add the two models and the ablations; `bleu` by model and seed, at every decoding."""
        self.settings["models"] = {**self.settings["models"], **PAIR}
        self.settings["evaluation"] = {"ablations": ABLATIONS}
        for model, values in {**PAIR_BLEU, **bleu}.items():
            for seed, value in enumerate(values):
                for decoding in self.config.models[model].decode:
                    self.score(model, decoding, seed, bleu=value)

    def latency(self, **p50) -> Path:
        times = P50 | p50
        rows = [
            {"model": model, "decoding": decoding, "p50_ms": times[decoding],
             "p90_ms": 2 * times[decoding], "p99_ms": 3 * times[decoding],
             "mean_ms": times[decoding], "passes_mean": 4.0, "compile_s": 5.0, "tokens_mean": 9.0}
            for model, decoding in BLEU
        ]  # fmt: skip
        document = {"machine": {"cpu": "made up", "cores": 2}, "sentences": 200, "rows": rows}
        return self.write("latency/toy/xs-xt/latency.json", document)

    def theory(self, verdict: str = "reproduced", **more) -> Path:
        claim = {
            "id": "theory.convexity", "section": "2.1", "statement": "k-MPLE is convex.",
            "paper": "exact", "measured": {"smallest eigenvalue": 0.012345}, "verdict": verdict,
            "test": "no negative eigenvalue", "seeds": [0], "interval": None, "dataset": "Ising",
        }  # fmt: skip
        return self.write("theory/convexity/seed0.json", {"claims": [claim | more]})

    def all(self) -> None:
        for model, run in self.config.models.items():
            for decoding in run.decode:
                for seed in run.seeds:
                    self.score(model, decoding, seed)
            for seed in run.seeds:
                place = f"runs/toy/xs-xt/{model}/seed{seed}"
                lines = [
                    {"step": s, "seconds": s / 9, "cpu_seconds": s / 8, "valid_loss": 5 / s}
                    for s in (1, 2, 4)
                ]
                path = self.folder / place / "metrics.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
                self.write(f"{place}/provenance.json", {
                    "git": {"commit": "deadbeef", "dirty": False}, "packages": {"jax": "1"},
                    "python": "3.11", "platform": "Linux", "devices": ["cpu"], "seed": seed,
                })  # fmt: skip
        self.latency()
        self.theory()
        self.write("distill/toy/xs-xt/own/seed0/card.json", {
            "teacher": "ar", "decode": "beam", "lines": {"train": 24000, "valid": 500},
            "sha256": "0123456789abcdef", "teacher_bleu": {"score": 40.0, "signature": "BLEU|x"},
            "agreement_with_raw": {"score": 35.0, "signature": "BLEU|x"},
            "validity": {"share": 0.96, "sentences": 24000},
        })  # fmt: skip
        dropped = {"too_long": {"pairs": 2}, "empty": {"pairs": 0}, "duplicate": {"pairs": 3}}
        sides = [
            {"file": f"train.{side}", "length_mean": mean, "length_unit": "words"}
            for side, mean in (("xs", 7.94), ("xt", 8.25))
        ]
        train = {"pairs_read": 100, "pairs_kept": 95, "dropped": dropped, "files": sides}
        test = {"pairs_read": 200, "pairs_kept": 200, "files": sides[:1]}
        self.write("data/toy/xs-xt/statistics.json", {"splits": {"train": train, "test": test}})


def rates(per_100: float) -> dict:
    return {
        "per_100": per_100, "low": per_100 / 2, "high": per_100 * 2, "per_sentence": 0.1,
        "sentences_share": 0.1, "reference_per_100": 0.1, "excess_per_100": per_100 - 0.1,
        "excess_low": 0.0, "excess_high": per_100,
    }  # fmt: skip


@pytest.fixture
def made_up(tmp_path: Path) -> MadeUp:
    """A results folder with every kind of file."""
    return MadeUp(tmp_path)
