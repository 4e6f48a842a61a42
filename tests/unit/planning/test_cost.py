"""What decoding, scoring and files cost, against numbers worked out by hand."""

import json
from types import SimpleNamespace

import pytest

from padir.commands.plan import training_plans
from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.experiment import Config
from padir.config.objective import Objective
from padir.config.training import Architecture, Optimizer, Training, TrainingRun
from padir.decode.translate import Hypothesis
from padir.planning import cost
from padir.planning.memory import device_memory

# 6 parameters in the encoder, 12 in the decoder, and a table of 5.
SIZE = cost.Size(18 + 5, 5, 6)
TABLE_AND_DECODER = 12 + 5
# 31 of 100 positions are padding.
PADDED = 100 / 69


def test_a_second_stage_costs_one_more_decoder_pass_and_glancing_one_without_a_gradient():
    def flops(**objective) -> float:
        run = TrainingRun(
            objective=Objective(**objective), training=Training(steps=10_001, batch_tokens=128)
        )
        return cost.training_flops(run, SIZE)

    tokens = 10_001 * 128
    assert flops(stages=1) == pytest.approx(6 * tokens * (6 + 12 + 5))
    assert flops(stages=2) == pytest.approx(6 * tokens * (6 + 2 * (12 + 5)))
    glanced = {"corruption": "mask", "hiding": "uniform_count", "loss_on": "hidden"}
    more = flops(**glanced, glancing=0.5) - flops(**glanced)
    assert more == pytest.approx(2 * tokens * (12 + 5))


def test_a_batch_has_at_least_one_pair_of_the_longest_bucket():
    small = TrainingRun(training=Training(steps=10_001, batch_tokens=32, buckets=[16, 64]))
    whole = TrainingRun(training=Training(steps=10_001, batch_tokens=64, buckets=[16, 64]))
    sizes = {("toy", "ar"): SIZE}
    assert cost.training_flops(small, SIZE) == cost.training_flops(whole, SIZE)
    assert device_memory(small, 18, 5, 2) == device_memory(whole, 18, 5, 1)
    settings = SimpleNamespace(directions=["xs-xt"])
    config = Config.model_construct(datasets={"toy": settings}, trainings={"ar": small})
    [plan] = training_plans(config, sizes)
    assert plan.tokens == 10_001 * 64


def test_a_step_has_a_pass_with_a_gradient_for_each_stage_and_time():
    timed = {"hiding": "time", "coupled_times": True, "stages": 1}
    assert TrainingRun(system="rdm", objective=timed).decoder_passes == 2
    assert TrainingRun(objective={"stages": 3}).decoder_passes == 3
    assert TrainingRun(system="ar").decoder_passes == 1


def test_the_paper_s_size_has_the_paper_s_parameters():
    run = TrainingRun(architecture=Architecture(extra_ids=100, table_multiple=128))
    size = cost.parameter_counts(run, 32_000)
    assert size.table == 32_128 * 512
    assert round(size.parameters, -3) == 66_998_000
    # Four matrices of attention and two of the feed-forward block in each of six layers.
    matrices = 6 * (4 * 512 * 512 + 2 * 512 * 2048)
    assert matrices < size.encoder < 1.002 * matrices


@pytest.mark.parametrize(
    ("decoder", "passes", "target_passes"),
    [
        # Four passes over five candidates; three starts of each.
        (RefinementDecoder(length_candidates=5), 4, 4 * 5),
        (RefinementDecoder(length_candidates=5, restarts=3), 10, 10 * 15),
        (RefinementDecoder(length_candidates=1), 1, 1),
        # With its cache an AR model goes through the decoder once for each token and place.
        (SearchDecoder(kind="beam", beam=5), None, 5),
        (SearchDecoder(kind="greedy", beam=5), None, 1),
    ],
)
def test_a_sentence_costs_its_passes_and_candidates(decoder, passes, target_passes):
    estimate = cost.decoding_flops(decoder, passes, SIZE, source=10.0, target=8.0)
    by_hand = 2 * PADDED * (6 * 10 + target_passes * TABLE_AND_DECODER * 8)
    assert estimate == pytest.approx(by_hand)


def test_reranking_is_one_pass_of_the_other_model():
    estimate = cost.reranking_flops(SIZE, candidates=5, source=10.0, target=8.0)
    assert estimate == pytest.approx(2 * PADDED * (6 * 10 + 5 * 17 * 8))


def test_bleurt_costs_its_parameters_for_each_piece_of_both_sides(tmp_path):
    assert cost.rating_flops(1000, 30.0, 20.0) == 2 * 1000 * 50
    assert cost.bleurt_parameters(tmp_path) == 579_000_000
    (tmp_path / "variables").mkdir()
    for name, size in (("data-00000-of-00002", 4000), ("data-00001-of-00002", 400), ("index", 9)):
        (tmp_path / "variables" / f"variables.{name}").write_bytes(b"x" * size)
    assert cost.bleurt_parameters(tmp_path) == 1100


@pytest.mark.parametrize(
    ("optimizer", "selection", "copies"),
    [
        # Parameters and a tenth more, twice; and the best of validation.
        ("adafactor", "best", 2 * 1.1 + 1),
        ("adafactor", "last", 2 * 1.1),
        # Parameters and two moments, twice; and five candidates.
        ("adam", "average", 2 * 3 + 5),
    ],
)
def test_size_of_a_work_folder(optimizer, selection, copies):
    run = TrainingRun(
        optimizer=Optimizer(kind=optimizer),
        training=Training(selection=selection, average_count=5, steps=20_000),
    )
    assert cost.checkpoint_bytes(run, 1000) == pytest.approx(4 * 1000 * copies)
    assert cost.bundle_bytes(1000) == 4000


def test_ids_take_two_bytes_a_token_and_eight_a_line():
    assert cost.encoded_bytes(32_000, lines=10, tokens=30.5) == 10 * (8 + 61)
    assert cost.encoded_bytes(65_537, lines=10, tokens=30.5) == 10 * (8 + 122)


def test_a_decoded_line_is_as_long_as_the_estimate_says():
    text = "word " * 30
    ids = tuple(range(20_000, 20_030))
    record = Hypothesis(text, text, ids, ids, 4, -12.3456, 31, 5).record(1234)
    written = len(json.dumps(record)) + 1 + len(text) + 1
    assert cost.decoded_bytes(32_000, 151.0, 30.0) == pytest.approx(written, rel=0.03)
