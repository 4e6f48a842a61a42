"""config/paper.yaml made small: the same rules, pairs and tables on a few hundred generated pairs.

The text lies in small copies of the paper's three TFDS datasets, the teacher is the Cloud
Translation API on this machine, the scorer a tiny checkpoint of BLEURT's format.
"""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.tfds_copies import SPLITS, write_copy

ROOT = Path(__file__).resolve().parents[2]
# Content words by concept, in four languages; Romanian with letters of both spellings.
LEXICON = {
    "de": "Hund Katze Straße König Bäcker sieht kennt ruft heute morgen",
    "en": "dog cat street king baker sees knows calls today tomorrow",
    "ro": "câine pisică şosea rege brutar vede ştie cheamă astăzi mâine",
    "zh": "狗 猫 街 国王 面包师 看见 认识 叫 今天 明天",
}
NOUNS, VERBS, TIMES = range(5), range(5, 8), range(8, 10)
LINES = {"train": 240, "valid": 20, "test": 20}


def paper() -> dict[str, Any]:
    """The mapping in config/paper.yaml."""
    return yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))


def sentences(language: str, split: str) -> list[str]:
    """The same sentences in every language: subject, verb, object, time."""
    rng = np.random.default_rng(list(LINES).index(split))
    words = LEXICON[language].split()
    lines = []
    for _ in range(LINES[split]):
        subject, other = rng.choice(NOUNS, 2, replace=False)
        picked = [subject, int(rng.choice(VERBS)), other, int(rng.choice(TIMES))]
        text = [words[number] for number in picked]
        lines.append("".join(text) + "。" if language == "zh" else " ".join(text) + ".")
    return lines


def with_copies(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The three datasets as TFDS's own writer prepares them, under their own names."""
    splits = dict(zip(SPLITS, LINES, strict=True))
    for dataset in config["datasets"].values():
        languages = dataset["directions"][0].split("-")
        pairs = {
            theirs: [
                dict(zip(languages, pair, strict=True))
                for pair in zip(*(sentences(each, ours) for each in languages), strict=True)
            ]
            for theirs, ours in splits.items()
        }
        write_copy(dataset["source"]["name"], folder, pairs)
        # Sizes are checked, here too: those of the copies.
        dataset["source"] |= {"data_dir": str(folder), "download": False, "pairs": dict(LINES)}
    return config


def with_cloud(config: dict[str, Any], endpoint: str, ledger: Path) -> dict[str, Any]:
    """The paper's teacher, as the comment in config/paper.yaml says, at this address."""
    cloud = {"kind": "cloud", "max_usd": 1, "endpoint": endpoint, "ledger": str(ledger)}
    config["teachers"] = {"cloud": cloud}
    config["training_defaults"]["targets"] = "cloud"
    return config


def translated(text: str, source: str, target: str) -> str:
    """What the server makes of a sentence: its words in the other language."""
    words = dict(zip(LEXICON[source].split(), LEXICON[target].split(), strict=True))
    tokens = [words[word] for word in text.removesuffix(".").split()]
    return "".join(tokens) + "。" if target == "zh" else " ".join(tokens) + "."


def with_scorer(config: dict[str, Any], checkpoint: Path) -> dict[str, Any]:
    """BLEURT from this folder."""
    config["evaluation"]["scorers"]["bleurt"]["checkpoint"] = str(checkpoint)
    return config


def paper_mini(folder: Path, checkpoint: Path, endpoint: str) -> Path:
    """Write the small config: one direction of each pair, AR and PaDIR, seconds of training."""
    config = with_cloud(with_copies(paper(), folder), endpoint, folder / "paid.sqlite")
    config = with_scorer(config, checkpoint)
    for dataset, direction in (("wmt14", "de-en"), ("wmt16", "en-ro"), ("wmt17", "en-zh")):
        settings = config["datasets"][dataset]
        settings["directions"] = [direction]
        # No fewer than characters and bytes, no more than so little text allows.
        settings["vocabulary"] |= {"size": 302, "byte_fallback": True}
    defaults = config["training_defaults"]
    defaults["architecture"] |= {
        "width": 16, "heads": 2, "head_width": 8, "encoder_layers": 1, "decoder_layers": 1,
        "feed_forward_width": 32, "max_positions": 64, "length_classes": 64,
    }  # fmt: skip
    defaults["optimizer"]["warmup_steps"] = 5
    defaults["training"] |= {
        "steps": 20, "batch_tokens": 640, "buckets": [16, 64], "validate_every": 20,
        "checkpoint_every": 20,
    }  # fmt: skip
    config["trainings"] = {name: config["trainings"][name] for name in ("ar", "padir")}
    config["evaluation"] |= {
        "core": [
            {"trainings": ["ar"], "decoders": ["beam"]},
            {"trainings": ["padir"], "decoders": ["padir"], "passes": [4]},
        ],
        "bootstrap_samples": 100,
        "latency_sentences": 10,
        "latency_repeats": 1,
    }
    path = folder / "paper-mini.yaml"
    path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    return path
