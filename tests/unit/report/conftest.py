"""A made-up results folder: one test set's worth of files with numbers chosen by hand."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from padir import cli, layout
from padir.config import identity
from padir.config.read import check_config
from padir.config.rows import Decoding, Row
from padir.report import catalogue, claims
from padir.report.load import Reader

TRAININGS = {
    "ar": {"system": "ar"},
    "padir_raw": {"system": "padir"},
    "padir": {"system": "padir", "targets": "own", "seeds": [0, 1]},
}
CORE = [
    {"trainings": ["ar"], "decoders": ["greedy", "beam"]},
    {"trainings": ["padir_raw", "padir"], "decoders": ["padir"], "passes": [1, 4, 10]},
]
BLEU = {
    "ar/greedy": 39.0,
    "ar/beam": 40.0,
    "padir_raw/padir/T1": 20.0,
    "padir_raw/padir/T4": 24.0,
    "padir_raw/padir/T10": 24.2,
    "padir/padir/T1": 37.0,
    "padir/padir/T2": 39.0,
    "padir/padir/T4": 39.5,
    "padir/padir/T10": 39.6,
}
STUTTER = {"ar": 0.5, "padir_raw": 9.0, "padir": 3.0, "whole": 3.0}
P50 = {"greedy": 4.0, "beam": 12.0, "T1": 1.5, "T2": 2.5, "T4": 4.0, "T10": 9.0}
# Two trainings of three seeds that differ in one setting, and the questions asked of them.
PAIR = {
    "whole": {"targets": "own", "seeds": [0, 1, 2]},
    "one_stage": {"targets": "own", "seeds": [0, 1, 2], "objective": {"stages": 1}},
}
PAIR_BLEU = {"whole": (30.0, 31.0, 32.0), "one_stage": (28.0, 28.5, 29.0)}
ABLATIONS = [
    {"name": "second_stage", "base": "whole/padir/T4", "variant": "one_stage/padir/T4"},
    {"name": "distillation", "base": "padir/padir/T4", "variant": "padir_raw/padir/T4"},
    {"name": "less_known", "base": "whole/padir/T4", "variant": "padir/padir/T4"},
]
# One curve of sampling noise for all: systems on one test set rise and fall together.
NOISE = np.linspace(-1.0, 1.0, 200)


class MadeUp:
    """Writes result files below the working folder, with the digests of the settings at the time;
    each method overwrites what was there."""

    def __init__(self):
        self.settings = {
            "datasets": {"toy": {"source": {"kind": "synthetic"}, "directions": ["xs-xt"]}},
            "teachers": {"own": {"kind": "model", "row": "ar/beam"}},
            "trainings": TRAININGS,
            "evaluation": {"core": CORE},
            "theory": {},
        }
        self.all()

    @property
    def config(self):
        # Checked once per content: tests ask for it many times.
        return _checked(json.dumps(self.settings))

    @property
    def place(self):
        return layout.places(self.config)[0]

    def evaluate(self, **settings) -> None:
        """Change settings of `evaluation`."""
        self.settings["evaluation"] = {**self.settings["evaluation"], **settings}

    def train(self, **trainings) -> None:
        """Add trainings."""
        self.settings["trainings"] = {**self.settings["trainings"], **trainings}

    def load(self, *names: str):
        """Results of these parts; without names of all that there are."""
        config = self.config
        parts = [catalogue.part(config, name) for name in names] or catalogue.parts(config)
        return Reader(config).load(catalogue.needs_of(config, parts))

    def table(self, name: str):
        """One part, from what it declares alone."""
        return catalogue.part(self.config, name).make(self.load(name))

    def claims(self, scope="everything") -> list:
        """The claims, decided from a scope's parts."""
        config, reader = self.config, Reader(self.config)
        parts = catalogue.parts_in(config, scope)
        return claims.decide(config, {p.name: reader.load(p.needs(config)) for p in parts})

    def write(self, path: str, value) -> Path:
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(value), encoding="utf-8")
        return place

    def score(self, text: str, seed: int = 0, bleu: float | None = None, **more):
        """A score file of a row; `more` replaces keys of the document."""
        config, place, row = self.config, self.place, Row.parse(text)
        run, split = config.trainings[row.training], config.evaluation.split
        value = BLEU[text] + 0.2 * seed if bleu is None else bleu
        stutter = STUTTER.get(row.training, 5.0)
        before = rates(stutter) if run.parallel else None
        document = {
            **place._asdict(), "training": row.training, "system": run.system,
            "targets": run.targets, "seed": seed, "decoder": row.decoding.decoder,
            "passes": row.decoding.passes, "split": split,
            "digests": identity.score_digests(config, *place, row, seed),
            "sentences": 200, "references": 1, "target_language": "xt", "test_digest": "abc123",
            "bleu": {"score": value, "low": value - 1, "high": value + 1, "signature": "BLEU|x",
                     "paper_signature": "BLEU+x"},
            "chrf": {"score": 60.0, "low": 59.0, "high": 61.0, "signature": "chrF|x"},
            "paired": {"baseline": "ar", "bleu_difference": value - 40, "low": -1.0, "high": 1.0,
                       "p_value": 0.01 * (1 + seed), "p_value_bootstrap": 0.02},
            "stutter": {
                "unit": "word", "words": rates(0.2 if run.parallel else 0.5),
                "words_before_drop": before, "tokens": rates(1.0), "tokens_before_drop": None,
                "run_lengths": {"2": 3},
                "run_lengths_before_drop": {"2": 5, "3": 2, "4": 1, "7": 1},
            },
            "validity": {"share": 0.75, "low": 0.7, "high": 0.8},
            "decoder_passes": 4.0,
            "replicates": {
                "samples": 200, "seed": 12345, "bleu": list(value + NOISE),
                "stutter": list((0.2 if run.parallel else 0.5) + 0.1 * NOISE),
                "stutter_before_drop": None if before is None else list(stutter + 0.5 * NOISE),
            },
        }  # fmt: skip
        return self.write(layout.score_path(place, row, seed, split), document | more)

    def pair(self, **bleu: tuple[float, ...]) -> None:
        """Add the two trainings and the ablations; `bleu` by training and seed."""
        self.train(**PAIR)
        self.evaluate(ablations=ABLATIONS)
        for training, values in {**PAIR_BLEU, **bleu}.items():
            for seed, value in enumerate(values):
                self.score(f"{training}/padir/T4", seed, bleu=value)

    def latency(self, timing="core", sentences=20, **p50) -> Path:
        times = P50 | p50
        made = layout.timed_hypotheses(self.config, self.place, timing)
        rows = [
            {"training": row.training, "decoder": row.decoding.decoder,
             "digests": {"hypotheses": made[row.name]},
             "passes": row.decoding.passes, "p50_ms": time, "p90_ms": 2 * time, "p99_ms": 3 * time,
             "mean_ms": time, "passes_mean": 4.0, "compile_s": 5.0, "tokens_mean": 9.0,
             "times_ms": [time] * sentences}
            for row in layout.timed_rows(self.config, timing)
            for time in [times[row.decoding.name.split(".")[-1]]]
        ]  # fmt: skip
        document = {
            "machine": {"cpu": "made up", "cores": 2}, "sentences": sentences, "rows": rows,
            "digests": layout.timing_digests(self.config, self.place, timing),
        }  # fmt: skip
        return self.write(layout.latency_path(self.place, timing), document)

    def theory(self, verdict: str = "reproduced", **more) -> Path:
        claim = {
            "id": "theory.convexity", "section": "2.1", "statement": "k-MPLE is convex.",
            "paper": "exact", "measured": {"smallest eigenvalue": 0.012345}, "verdict": verdict,
            "test": "no negative eigenvalue", "seeds": [0], "interval": None, "dataset": "Ising",
        }  # fmt: skip
        return self.experiment("identities", claims=[claim | more])

    def experiment(self, name: str, **more) -> Path:
        """Results of an Ising experiment with the config's settings."""
        settings = getattr(self.config.theory, name).model_dump(mode="json")
        document = {"experiment": name, "seed": 0, "settings": settings, "claims": []}
        return self.write(layout.theory_path(name, 0), document | more)

    def curves(self) -> None:
        config, place = self.config, self.place
        for training, run in config.trainings.items():
            for seed in run.seeds:
                path = Path(layout.metrics_path(place, training, seed))
                lines = [
                    {
                        "step": s,
                        "seconds": 90 * s,
                        "cpu_seconds": 120 * s,
                        "valid_loss": 5 / s,
                        "valid_accuracy": s / 10,
                    }
                    for s in (1, 2, 4)
                ]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
                self.write(str(path.with_name("provenance.json")), {
                    "git": {"commit": "deadbeef", "dirty": False}, "packages": {"jax": "1"},
                    "python": "3.11", "platform": "Linux", "devices": ["cpu"], "seed": seed,
                    "digests": identity.training_digests(config, *place, training),
                })  # fmt: skip

    def traces(self, sentences: int = 3) -> list[Path]:
        """Traces of the rows that the viewer shows: each pass puts one more token right."""
        paths = []
        for artifact in layout.traces(self.config, "everything"):
            names = (key.partition("/")[2] for key in artifact.digests if "/" in key)
            lines = [
                {"decoder": row.decoder, "passes": row.passes, **trace_of(n, row.passes or 0)}
                for row in map(Decoding.parse, names)
                for n in range(sentences)
            ]
            path = self.write(artifact.path, None)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            self.write(artifact.beside[0], {"digests": artifact.digests})
            paths.append(path)
        return paths

    def card(self, **more) -> Path:
        digest = identity.targets_digest(self.config, *self.place, "own")
        return self.write(layout.card_path(self.place, "own", 0), {
            "teacher": "ar", "row": "ar/beam", "lines": {"train": 24000, "valid": 500},
            "sha256": "0123456789abcdef", "teacher_bleu": {"score": 40.0, "signature": "BLEU|x"},
            "agreement_with_raw": {"score": 35.0, "signature": "BLEU|x"},
            "validity": {"share": 0.96, "sentences": 24000}, "empty": {"train": 0, "valid": 0},
            "digests": {"distilled": digest},
        } | more)  # fmt: skip

    def all(self) -> None:
        for row in self.config.core_rows():
            for seed in layout.seeds(self.config, row):
                self.score(row.name, seed)
        self.curves()
        self.latency()
        self.theory()
        self.card()
        dropped = {"too_long": {"pairs": 2}, "empty": {"pairs": 0}, "duplicate": {"pairs": 3}}
        sides = [
            {"file": f"train.{side}", "length_mean": mean, "length_unit": "words"}
            for side, mean in (("xs", 7.94), ("xt", 8.25))
        ]
        train = {"pairs_read": 100, "pairs_kept": 95, "dropped": dropped, "files": sides}
        test = {"pairs_read": 200, "pairs_kept": 200, "files": sides[:1]}
        (statistics,) = layout.statistics(self.config)
        document = {"splits": {"train": train, "test": test}, "digests": statistics.digests}
        self.write(statistics.path, document)


@cache
def _checked(settings: str):
    return check_config(json.loads(settings))


def trace_of(number: int, passes: int) -> dict:
    """A sentence of two length candidates, of which the second is chosen; AR has one."""
    right = [f"\u2581{word}" for word in ("one", "two", "three", "<four>")]
    candidates = []
    for length, score in ((3, -2.0), (4, -1.0)) if passes else ((4, -1.0),):
        states = [
            {
                "tokens": [right[p] if p < done else "\u2581again" for p in range(length)],
                "confidence": [0.9 if p < done else 0.2 for p in range(length)],
                "hidden": [p for p in range(done + 1, length)],
                "attended": [p % 2 for p in range(length)],
            }
            for done in range(1, length + 1)
        ]
        start = {"tokens": ["\u2581start"] * length, "hidden": list(range(length))}
        candidates.append(
            {
                "length": length + 1, "length_log_probability": -0.5, "log_probability": score,
                "score": score, "passes": length,
                "states": [start, *states] if passes else [{"tokens": right[:length]}],
            }
        )  # fmt: skip
    return {
        "id": number, "source": f"eins zwei {number}", "hypothesis": "one two three <four>",
        "reference": "one two three four", "source_pieces": ["\u2581eins", "\u2581zwei", "</s>"],
        "chosen": len(candidates) - 1, "candidates": candidates,
    }  # fmt: skip


def rates(per_100: float) -> dict:
    return {
        "per_100": per_100, "low": per_100 / 2, "high": per_100 * 2, "per_sentence": 0.1,
        "sentences_share": 0.1, "reference_per_100": 0.1, "excess_per_100": per_100 - 0.1,
        "excess_low": 0.0, "excess_high": per_100,
    }  # fmt: skip


def line(table, training: str, decoder: str, T: str) -> dict:
    """The one row of a table for a training, decoder and number of passes."""
    (row,) = [
        r for r in table.rows if (r["training"], r["decoder"], r["T"]) == (training, decoder, T)
    ]
    return row


def write_page(folder: Path, traces: bool) -> str:
    """The address of a page of the made-up results, with or without traces for the viewer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made_up = MadeUp()
        if traces:
            made_up.traces()
        made_up.write("config.json", made_up.config.model_dump(mode="json"))
        options = ["--config", "config.json", "--out", "report", "--only", "page"]
        assert cli.main(["report", *options]) == 0
    return (folder / "report/index.html").as_uri()


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    """Every kind of result file, below the working folder."""
    monkeypatch.chdir(tmp_path)
    return MadeUp()


@pytest.fixture
def wmt(made_up: MadeUp) -> MadeUp:
    """The same as results of WMT14, both directions, of which only one has been run."""
    files = {"de": "f.de", "en": "f.en"}
    source = {"kind": "files", **{name: {"files": files} for name in ("train", "valid", "test")}}
    made_up.settings["datasets"] = {"wmt14": {"source": source, "directions": ["de-en", "en-de"]}}
    made_up.evaluate(scorers={"bleurt": {"kind": "bleurt", "checkpoint": "BLEURT-20"}})
    made_up.all()
    return made_up
