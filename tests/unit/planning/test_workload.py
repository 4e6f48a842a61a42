"""Decoding, scoring and disk of a whole experiment, added up by hand."""

import pytest

from padir.config.read import check_config
from padir.data.size import Corpus
from padir.planning.cost import Size
from padir.planning.workload import sizes_of, workload

# Easy to work with: 6 parameters in the encoder, 12 in the decoder, and a table of 5.
SIZE = Size(23, 5, 6)
PADDED = 100 / 69
CONFIG = {
    "datasets": {
        "wmt": {
            "source": {
                "kind": "tfds",
                "name": "wmt16_translate/ro-en",
                "pairs": {"train": 1000, "valid": 100, "test": 10},
            },
            "directions": ["ro-en", "en-ro"],
        },
        "none": {
            "source": {"kind": "tfds", "name": "wmt16_translate/de-en"},
            "directions": ["de-en"],
        },
    },
    "teachers": {"ar": {"kind": "model", "model": "ar", "decode": "beam"}},
    "model_defaults": {
        "training": {"steps": 30, "selection": "last"},
        "optimizer": {"kind": "adam", "warmup_steps": 5},
        "decoding": {
            "length_candidates": 3,
            "beam": 2,
            "length_alphas": [0.0, 1.0],
            "tuning_passes": 2,
        },
    },
    "models": {
        "ar": {"system": "ar", "decode": ["greedy"]},
        "padir": {"targets": "ar", "decode": ["T1", "T4"], "seeds": [0, 1]},
        "ranked": {
            "targets": "ar",
            "decode": ["T4"],
            "parameters": "padir",
            "decoding": {"reranker": "ar"},
        },
    },
    "evaluation": {"scorers": {"bleurt": {"kind": "bleurt", "checkpoint": "absent"}}},
}


def added_up(tmp_path, models):
    config = check_config(CONFIG)
    corpora = [Corpus(tmp_path, name, dataset) for name, dataset in config.datasets.items()]
    sizes = {(dataset, model): SIZE for dataset in config.datasets for model in config.models}
    return workload(config, models, ["ar", "padir"], sizes, corpora)


def sentence(passes_times_rows):
    """33 tokens on both sides: 160 bytes, five to a piece, and EOS."""
    return 2 * PADDED * 33 * (6 + passes_times_rows * 17)


def test_what_an_experiment_decodes(tmp_path):
    found = added_up(tmp_path, ["ar", "padir"])
    # In two directions; the teacher's beam is 2.
    assert found.distillation == pytest.approx(2 * 1100 * sentence(2))
    # The rule of the AR model by two beams over the validation set, then 10 sentences greedily.
    ar = 2 * 100 * sentence(2) + 10 * sentence(1)
    padir = 2 * (100 * sentence(2 * 3) + 10 * sentence(3) + 10 * sentence(4 * 3))
    assert found.decoding == pytest.approx(2 * (ar + padir))
    assert found.scored == 2 * 10 * (1 + 2 * 2)
    # BLEURT-20 reads both sides.
    assert found.rating == pytest.approx(2 * 10 * (1 + 2 * 2) * 2 * 579e6 * 66)


def test_a_model_that_borrows_decodes_and_its_reranker_too(tmp_path):
    with_it, without = (
        added_up(tmp_path, names) for names in (["ar", "padir", "ranked"], ["ar", "padir"])
    )
    reranked = sentence(3)
    by_hand = 100 * (sentence(2 * 3) + reranked) + 10 * (sentence(4 * 3) + reranked)
    assert with_it.decoding - without.decoding == pytest.approx(2 * by_hand)
    assert with_it.rating == without.rating
    assert with_it.disk.bundles == without.disk.bundles


def test_what_an_experiment_puts_on_disk(tmp_path):
    disk = added_up(tmp_path, ["ar", "padir"]).disk
    text = 1110 * 160 * 2
    assert disk.text == disk.copies == text
    # Targets of both directions, of training and validation.
    assert disk.distilled == 2 * 1100 * 160
    # One AR and two PaDIR trainings in three directions.
    assert disk.bundles == 9 * 4 * 23
    assert disk.checkpoints == 9 * 4 * 23 * 2 * 3
    # Text three times, 32 ids twice with a comma and a blank, and the rest.
    assert disk.decodings == 2 * 10 * 5 * (3 * 160 + 2 * 32 * 7 + 160)
    # The text before it is cleaned is more than 1,000 pairs of ids: 2 x (8 + 2 x 33) bytes.
    assert disk.meanwhile == text


def test_without_distilled_targets_no_teacher_is_asked(tmp_path):
    found = added_up(tmp_path, ["ar"])
    assert (found.distillation, found.disk.distilled) == (0.0, 0.0)


def test_sizes_are_those_of_the_models_themselves():
    sizes = sizes_of(check_config(CONFIG))
    assert set(sizes) == {(d, m) for d in ("wmt", "none") for m in ("ar", "padir", "ranked")}
    assert sizes["wmt", "ranked"] == sizes["wmt", "padir"]
    assert sizes["wmt", "padir"].table == 32_000 * 512
    assert sizes["wmt", "ar"] != sizes["wmt", "padir"]
