"""Every file of an experiment: where it lies, which digests it carries, which job makes it."""

import copy

import pytest

from padir import jobs, layout, outputs
from padir.config import identity
from padir.config.experiment import Config
from padir.config.read import check_config, load_config
from padir.config.rows import Row
from padir.layout import Place
from tests.unit.config.small import SMALL, changed, set_value

PLACE = Place("real", "de-en")
ROW = Row.parse("padir/padir/T4")


@pytest.fixture(scope="module")
def grid(repository) -> Config:
    return load_config([repository / "config/config.yaml"])


def artifacts(config: Config) -> list[layout.Artifact]:
    """All that an experiment consists of."""
    rows = config.all_rows()
    return [
        *layout.scores(config, rows),
        *layout.ratings(config, rows),
        *layout.metrics(config, rows),
        *layout.cards(config, rows),
        *layout.statistics(config),
        *layout.samples(config),
        *layout.traces(config, "everything"),
        *layout.analyses(config),
        *layout.theory(config, ["estimation", "errata"]),
        *(artifact for timing in layout.TIMINGS for artifact in layout.latencies(config, timing)),
    ]


def test_every_file_has_a_path_and_digests_of_its_own(grid):
    paths = [artifact.path for artifact in artifacts(grid)]
    assert len(set(paths)) == len(paths) > 100
    for artifact in artifacts(grid):
        assert artifact.path.startswith("results/")
        assert artifact.digests
        for digest in artifact.digests.values():
            assert len(digest) == 16 and int(digest, 16) >= 0
    for artifact in layout.scores(grid, grid.all_rows()):
        stages = {"data", "vocabulary", "targets", "training", "decoder", "hypotheses", "score"}
        assert artifact.digests.keys() == stages


def test_scores_of_different_rows_and_seeds_differ_in_digests(grid):
    scores = layout.scores(grid, grid.all_rows())
    by_digest: dict[str, set[str]] = {}
    for artifact in scores:
        by_digest.setdefault(artifact.digests["score"], set()).add(artifact.path)
    # No two files of the demo come of one training, seed, decoder and number of passes.
    shared = {digest: paths for digest, paths in by_digest.items() if len(paths) > 1}
    assert not shared


def test_a_bundle_is_parameters_settings_and_vocabulary():
    folder = "results/runs/real/de-en/padir/seed2/bundle"
    assert layout.bundle_paths(PLACE, "padir", 2) == [
        f"{folder}/model.safetensors",
        f"{folder}/spec.json",
        f"{folder}/spm.model",
    ]


def test_every_result_of_a_row_has_its_path():
    expected = {
        layout.run_folder(PLACE, "padir", 2): "runs/real/de-en/padir/seed2",
        layout.decoder_path(PLACE, "padir", 2, "joint"): (
            "runs/real/de-en/padir/seed2/bundle/decoders/joint.json"
        ),
        layout.hypotheses_path(PLACE, ROW, 2, "test"): (
            "runs/real/de-en/padir/seed2/decode/test.padir.T4.txt"
        ),
        layout.hypotheses_path(PLACE, Row.parse("ar/beam"), 0, "valid", "jsonl"): (
            "runs/real/de-en/ar/seed0/decode/valid.beam.jsonl"
        ),
        layout.score_path(PLACE, ROW, 2, "test"): (
            "runs/real/de-en/padir/seed2/score/test.padir.T4.json"
        ),
        layout.rating_path(PLACE, ROW, 2, "test", "bleurt"): (
            "runs/real/de-en/padir/seed2/rate/test.padir.T4.bleurt.json"
        ),
        layout.analysis_path(PLACE, ROW, 2): "analysis/real/de-en/padir/padir.seed2.json",
        layout.latency_path(PLACE, "core"): "latency/real/de-en/core.json",
        layout.sample_path(PLACE, "gibbs", "test"): "samples/real/de-en/test.gibbs.json",
        layout.card_path(PLACE, "ar", 0): "distill/real/de-en/ar/seed0/card.json",
        layout.statistics_path("real", "de-en"): "data/real/de-en/statistics.json",
        layout.theory_path("errata", 1): "theory/errata/seed1.json",
    }
    assert {path: f"results/{name}" for path, name in expected.items()} == {
        path: path for path in expected
    }


def test_scores_stand_for_every_test_set_and_seed():
    config = check_config(changed("trainings.padir.seeds", [4, 2]))
    paths = [artifact.path for artifact in layout.scores(config, [ROW])]
    places = ("toy/xs-xt", "real/de-en", "real/en-de")
    assert paths == [
        f"results/runs/{place}/padir/seed{seed}/score/test.padir.T4.json"
        for place in places
        for seed in (2, 4)
    ]
    assert len(layout.metrics(config, config.core_rows())) == 3 * (1 + 2)


def test_the_baseline_and_each_parallel_row_with_most_passes_are_traced(grid):
    core, further = (layout.traced_rows(grid, traced) for traced in layout.TRACED)
    assert [row.name for row in core] == [
        "ar/beam",
        "padir_raw/padir/T10",
        "padir_distilled/padir/T10",
        "padir_distilled/joint/T8",
    ]
    parallel = [row for row in grid.all_rows() if row.decoding.passes]
    pairs = [(row.training, row.decoding.decoder) for row in core[1:] + further]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == {(row.training, row.decoding.decoder) for row in parallel}
    for row in core[1:] + further:
        same = [r.decoding.passes for r in parallel if r[0] == row[0] and r[1][0] == row[1][0]]
        assert row.decoding.passes == max(same)


def test_the_core_s_timings_serve_table_2_where_they_hold_its_rows():
    config = check_config(SMALL)
    assert layout.timing_of_systems(config) == "core"
    config = check_config(
        changed(
            "evaluation.systems",
            [{"trainings": ["padir"], "decoders": ["padir"], "passes": [3]}],
        )
    )
    assert layout.timing_of_systems(config) == "systems"
    assert layout.latencies(config, "dependency") == []


def test_targets_and_their_cards_come_of_the_training_s_teacher():
    config = check_config(changed("trainings.ar.seeds", [7]))
    assert jobs.targets(config, PLACE, "ar", "train") == "results/data/real/de-en/train.en"
    folder = "results/distill/real/de-en/ar/seed7"
    assert jobs.targets(config, PLACE, "padir", "train") == f"{folder}/train.en"
    cards = layout.cards(config, [ROW])
    assert cards[1].path == f"{folder}/card.json"
    digest = identity.targets_digest(config, *PLACE, "ar")
    assert cards[1].digests == {"distilled": digest}
    assert identity.training_digests(config, *PLACE, "padir")["targets"] == digest
    assert layout.cards(config, [Row.parse("ar/beam")]) == []


def test_sources_of_a_training_are_those_that_its_teacher_translated():
    given = changed("datasets.real.extra_sources", {"files": {"de": "captions.de"}})
    config, taught = check_config(SMALL), set_value(given, "teachers.ar.extra_sources", True)
    data, distilled = "results/data/real/de-en", "results/distill/real/de-en/ar/seed0"
    assert jobs.sources(config, PLACE, "padir", "train") == f"{data}/train.de"
    assert jobs.extra_path(config, PLACE, "ar") == []
    config = check_config(taught)
    assert jobs.sources(config, PLACE, "padir", "train") == f"{distilled}/train.de"
    assert jobs.sources(config, PLACE, "padir", "valid") == f"{data}/valid.de"
    assert jobs.sources(config, PLACE, "ar", "train") == f"{data}/train.de"
    assert jobs.extra_path(config, PLACE, "ar") == [f"{data}/extra.de"]
    # Relative paths start at the source's folder.
    assert jobs.local_extra_sources(config, "real", "de") == ["texts/captions.de"]
    # There is no extra English text.
    other = layout.Place("real", "en-de")
    assert jobs.extra_path(config, other, "ar") == []
    assert jobs.sources(config, other, "padir", "train") == f"{data}/train.en"


@pytest.mark.parametrize(("split", "count"), [("train", 3), ("valid", 1)])
def test_training_text_alone_is_translated_in_shards(split, count):
    config = check_config(changed("teachers.ar.shards", 3))
    shards = jobs.shards(config, PLACE, "ar", 0, split)
    folder = "results/distill/real/de-en/ar/seed0/shards"
    assert shards == [f"{folder}/{split}.{i}of{count}.en" for i in range(1, count + 1)]


def test_a_job_asks_for_the_models_that_it_reads():
    config = copy.deepcopy(SMALL)
    config["trainings"]["ranker"] = {"system": "ar", "seeds": [5]}
    set_value(config, "trainings.padir.training.warm_start", "ar")
    config["decoders"] = {"ranked": {"reranker": "ranker"}}
    whole = check_config(config)
    row = Row.parse("padir/ranked/T4")
    ranker = layout.bundle_paths(PLACE, "ranker", 5)
    assert jobs.row_reranker(whole, PLACE, row) == ranker
    assert jobs.row_reranker(whole, PLACE, ROW) == []
    assert jobs.warm_start_bundle(whole, PLACE, "padir") == layout.bundle_paths(PLACE, "ar", 0)
    assert jobs.warm_start_bundle(whole, PLACE, "ar") == []
    baseline = layout.hypotheses_path(PLACE, Row.parse("ar/beam"), 0, "test")
    # The last AR row of the first AR training.
    assert jobs.baseline_hypotheses(whole, PLACE, "test") == [baseline]
    assert whole.trainings_behind([row]) == ["ar", "padir", "ranker"]


def test_without_an_ar_training_there_is_no_baseline():
    config = check_config(
        {**SMALL, "teachers": {}, "trainings": {"padir": {"training": {"batch_tokens": 64}}}}
    )
    assert config.baseline() is None
    assert jobs.baseline_hypotheses(config, PLACE, "test") == []


def test_an_oracle_length_predictor_is_scored_and_not_timed():
    config = copy.deepcopy(SMALL)
    config["trainings"]["oracle"] = {"architecture": {"length_predictor": "oracle"}}
    whole = check_config(config)
    assert any(row.training == "oracle" for row in whole.core_rows())
    assert not any("oracle" in name for name in jobs.timed_names(whole, PLACE, "core"))
    assert not any("oracle" in path for path in jobs.timed_bundles(whole, PLACE, "core"))
    without = check_config(SMALL)
    for timing in layout.TIMINGS:
        digests = [layout.timing_digests(config, PLACE, timing) for config in (without, whole)]
        assert digests[0] == digests[1]


def test_an_analysis_carries_the_digest_of_its_own_seed():
    config = check_config(SMALL)
    (row, *_) = config.analysed_rows()
    names = row.training, row.decoding.decoder
    first, other = (jobs.analysis_digests(config, PLACE, *names, seed) for seed in (0, 1))
    assert first == identity.analysis_digests(config, *PLACE, row, 0)
    assert first["analysis"] != other["analysis"]
    assert {**first, "analysis": None} == {**other, "analysis": None}


def test_everything_restores_what_samplers_and_analyses_read():
    config = copy.deepcopy(SMALL)
    config["trainings"] |= {"cmlm": {"system": "cmlm"}, "looked_at": {"seeds": [3, 4]}}
    config["evaluation"] = {
        "core": [{"trainings": ["padir"], "decoders": ["padir"], "passes": [4]}],
        "systems": [{"trainings": ["ar"], "decoders": ["beam"]}],
        "samplers": {"gibbs": {"training": "cmlm"}},
        "analysis": {"rows": ["looked_at/padir/T1"], "seeds": "all"},
    }
    whole = check_config(config)
    assert whole.all_trainings() == list(whole.trainings)
    assert whole.trainings_behind(whole.all_rows()) == ["ar", "padir"]
    made = outputs.made_in(whole, "everything")
    expected = [
        *layout.bundle_paths(PLACE, "cmlm", 0),
        *(path for seed in (3, 4) for path in layout.bundle_paths(PLACE, "looked_at", seed)),
        jobs.row_decoder(whole, PLACE, Row.parse("looked_at/padir/T1"), 4),
        layout.sample_path(PLACE, "gibbs", "test", "txt"),
    ]
    assert set(expected) <= set(made)
    assert not set(expected) & set(outputs.made_in(whole, "core"))
