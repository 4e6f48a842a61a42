"""Decoding, scoring and disk of a whole experiment, added up by hand."""

import copy

import pytest

from padir.commands.plan import text_lines
from padir.config.read import check_config
from padir.config.rows import Row
from padir.data.size import Corpus
from padir.files import write_lines
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
    "teachers": {"ar": {"kind": "model", "row": "ar/beam"}},
    "training_defaults": {
        "training": {"steps": 30, "selection": "last"},
        "optimizer": {"kind": "adam", "warmup_steps": 5},
    },
    "decoder_defaults": {
        "length_candidates": 3,
        "beam": 2,
        "length_alphas": [0.0, 1.0],
        "tuning_passes": 2,
    },
    "trainings": {
        "ar": {"system": "ar"},
        "padir": {"targets": "ar", "seeds": [0, 1]},
    },
    "decoders": {"ranked": {"reranker": "ar", "restarts": 2}},
    "evaluation": {"scorers": {"bleurt": {"kind": "bleurt", "checkpoint": "absent"}}},
}
GREEDY = ["ar/greedy"]
CORE = [*GREEDY, "padir/padir/T1", "padir/padir/T4"]


def added_up(tmp_path, names, rated=CORE, given=CONFIG, ar=SIZE):
    """The work of some rows; models have `SIZE`, but for the AR model."""
    config = check_config(given)
    corpora = [Corpus(tmp_path, name, dataset) for name, dataset in config.datasets.items()]
    known = dict.fromkeys(config.trainings, SIZE) | {"ar": ar}
    sizes = {(dataset, name): known[name] for dataset in config.datasets for name in known}
    rows, judged = ([Row.parse(name) for name in group] for group in (names, rated))
    return workload(config, rows, config.trainings_behind(rows), judged, sizes, corpora)


def sentence(passes_times_rows):
    """33 tokens on both sides: 160 bytes, five to a piece, and EOS."""
    return 2 * PADDED * 33 * (6 + passes_times_rows * 17)


def test_decoding_counts_seeds_candidates_passes_and_the_teacher(tmp_path):
    work = added_up(tmp_path, CORE)
    # In two directions; the teacher's beam is 2.
    assert work.distillation == pytest.approx(2 * 1100 * sentence(2))
    # The teacher's rule by two beams over the validation set, then 10 sentences greedily.
    ar = 2 * 100 * sentence(2) + 10 * sentence(1)
    # Two seeds.
    padir = 2 * (100 * sentence(2 * 3) + 10 * sentence(3) + 10 * sentence(4 * 3))
    assert work.decoding == pytest.approx(2 * (ar + padir))
    assert work.scored == 2 * 10 * (1 + 2 * 2)
    # BLEURT-20 reads both sides of the rows that it judges.
    assert work.rating == pytest.approx(2 * 10 * (1 + 2 * 2) * 2 * 579e6 * 66)


def test_a_teacher_s_decoder_is_tuned_once(tmp_path):
    with_row, without = (added_up(tmp_path, rows) for rows in ([*CORE, "ar/beam"], CORE))
    assert with_row.decoding - without.decoding == pytest.approx(2 * 10 * sentence(2))


def test_greedy_search_chooses_no_length_rule(tmp_path):
    assert added_up(tmp_path, GREEDY).decoding == pytest.approx(2 * 10 * sentence(1))


def test_another_decoder_of_a_training_decodes_and_its_reranker_too(tmp_path):
    twice = Size(*(2 * parameters for parameters in SIZE))
    with_it, without = (
        added_up(tmp_path, names, ar=twice) for names in ([*CORE, "padir/ranked/T4"], CORE)
    )
    # Three lengths from two starts, by a model of twice the parameters.
    reranked = 2 * sentence(6)
    # Two seeds; tuning decodes too.
    by_hand = 2 * (100 * (sentence(2 * 6) + reranked) + 10 * (sentence(4 * 6) + reranked))
    assert with_it.decoding - without.decoding == pytest.approx(2 * by_hand)
    assert with_it.rating == without.rating
    assert with_it.disk.bundles == without.disk.bundles
    assert with_it.disk.checkpoints == without.disk.checkpoints


def test_disk_space_counts_text_bundles_checkpoints_and_decodings(tmp_path):
    disk = added_up(tmp_path, CORE).disk
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


def test_ids_of_a_training_that_are_more_than_its_text_are_the_most_for_a_while(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("padir.planning.cost.encoded_bytes", lambda *_: 10**6)
    # Of both sides of the first dataset; the second is unknown.
    assert added_up(tmp_path, CORE).disk.meanwhile == 2 * 10**6


def test_text_that_is_drawn_has_no_prepared_copy(tmp_path):
    given = copy.deepcopy(CONFIG)
    given["datasets"] = {"toy": {"source": {"kind": "synthetic"}, "directions": ["xs-xt"]}}
    disk = added_up(tmp_path, CORE, given=given).disk
    assert disk.text > disk.copies == 0


def test_extra_sources_are_translated_in_their_direction_and_stored(tmp_path):
    # 400 lines of 80 bytes: half as many tokens, but for EOS, as in a line of the training text.
    write_lines(tmp_path / "extra.ro", ["x" * 79] * 400)
    given = copy.deepcopy(CONFIG)
    extra = {"files": {"ro": str(tmp_path / "extra.ro")}}
    given["datasets"]["wmt"]["extra_sources"] = extra
    plain = added_up(tmp_path, CORE)
    given["teachers"]["ar"]["extra_sources"] = True
    work = added_up(tmp_path, CORE, given=given)
    share = 17 / 33
    assert work.distillation - plain.distillation == pytest.approx(400 * share * sentence(2))
    assert work.decoding == plain.decoding
    # Their translations, and all sources once more in the order of the targets.
    more = 400 * share * 160 + 1000 * 160 + 400 * 80
    assert work.disk.distilled - plain.disk.distilled == pytest.approx(more)
    assert work.disk.text - plain.disk.text == 400 * 80
    (line,) = [
        line
        for line in text_lines([Corpus(tmp_path, "wmt", check_config(given).datasets["wmt"])])
        if line.startswith("extra")
    ]
    assert line == "extra sources of wmt in ro: 400 lines, 17.0 tokens a line (before cleaning)"


def test_without_distilled_targets_no_teacher_is_asked(tmp_path):
    work = added_up(tmp_path, GREEDY)
    assert (work.distillation, work.disk.distilled) == (0.0, 0.0)


def test_sizes_are_those_of_the_models_themselves():
    sizes = sizes_of(check_config(CONFIG))
    assert set(sizes) == {(d, name) for d in ("wmt", "none") for name in ("ar", "padir")}
    assert sizes["wmt", "padir"].table == 32_000 * 512
    assert sizes["wmt", "ar"] != sizes["wmt", "padir"]
