"""What a result depends on: specs cut out of the config, and the digests of every stage."""

import copy
import json
from typing import Any

import pytest

from padir import invocation, jobs, layout
from padir.config import identity
from padir.config.data import SyntheticSource
from padir.config.experiment import Config
from padir.config.read import (
    check_config,
    read_dataset,
    read_spec,
    read_vocabulary_settings,
)
from padir.config.rows import Row
from padir.files import InputError
from tests.unit.config.small import SMALL, changed, set_value

TOY = "toy", "xs-xt"
PLACE = layout.Place(*TOY)


def test_a_run_spec_survives_its_file(tmp_path):
    spec = identity.run_spec(check_config(SMALL), "real", "en-de", "padir")
    path = tmp_path / "spec.json"
    path.write_text(spec.model_dump_json())
    assert read_spec(path) == spec
    assert spec.identity == spec.digests["training"]


def test_a_spec_file_is_checked_like_a_config(tmp_path):
    spec = identity.run_spec(check_config(SMALL), *TOY, "ar").model_dump(mode="json")
    path = tmp_path / "spec.json"
    for key, value, expected in (
        ("stpes", 1, r"run\.training\.stpes: unknown key; nearest"),
        ("steps", 10**30, r"run\.training\.steps: found 1e\+30; allowed: integers up to"),
    ):
        wrong = copy.deepcopy(spec)
        wrong["run"]["training"][key] = value
        path.write_text(json.dumps(wrong))
        with pytest.raises(InputError, match=rf"spec\.json: {expected}"):
            read_spec(path)
    path.write_text("{")
    with pytest.raises(InputError, match=r"spec\.json: line 1: not JSON"):
        read_spec(path)
    path.write_text("[]")
    with pytest.raises(InputError, match=r"spec\.json: found list, allowed: an object"):
        read_spec(path)


@pytest.mark.parametrize(
    ("dataset", "direction", "training", "expected"),
    [
        ("non", "de-en", "ar", "datasets: no entry 'non', allowed: toy, real"),
        ("real", "de-en", "non", "trainings: no entry 'non', allowed: ar, padir"),
        ("real", "de-fr", "ar", "datasets.real.directions: no 'de-fr', allowed: de-en, en-de"),
    ],
)
def test_a_spec_of_what_is_not_in_the_config_is_refused(dataset, direction, training, expected):
    with pytest.raises(InputError, match=expected):
        identity.run_spec(check_config(SMALL), dataset, direction, training)


def test_a_dataset_survives_its_file_and_knows_nothing_of_vocabulary_and_direction(tmp_path):
    config = check_config(SMALL)
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(identity.data_spec(config, "real")))
    dataset = read_dataset(path)
    assert dataset.source == config.datasets["real"].source
    assert dataset.pair == "de-en"
    assert not {"vocabulary", "vocabularies"} & identity.data_spec(config, "real").keys()
    other = check_config(changed("datasets.real.vocabulary.size", 99))
    one_way = check_config(changed("datasets.real.directions", ["en-de"]))
    for config_like in (other, one_way):
        assert identity.data_spec(config_like, "real") == identity.data_spec(config, "real")


EXTRA = {"files": {"xs": "extra.xs"}}
# Everything that a config can hold: two teachers, a warm start, a reranker, a sampler.
WHOLE = set_value(
    changed(
        "trainings",
        {
            "ar": {"system": "ar"},
            "warm": {"system": "ar"},
            "ranker": {"system": "ar"},
            "padir": {"targets": "ar", "training": {"warm_start": "warm"}},
            "raw": {},
            "other": {"vocabulary": "other"},
        },
    ),
    "evaluation",
    {
        "core": [
            {"trainings": ["ar"], "decoders": ["beam"]},
            {"trainings": ["padir", "raw", "other"], "decoders": ["padir"], "passes": [2, 4]},
        ],
        "systems": [{"trainings": ["padir"], "decoders": ["ranked"], "passes": [4]}],
        "candidate": "padir/padir/T4",
        "samplers": {"gibbs": {"training": "raw"}},
        "analysis": {"rows": ["padir/padir/T1"]},
        "scorers": {"words": {"kind": "chrf++"}},
    },
)
WHOLE["decoders"] = {"ranked": {"reranker": "ranker"}}
del WHOLE["datasets"]["real"]
WHOLE["datasets"]["toy"]["vocabularies"] = {"other": {"size": 99}}


def stages(config: Config) -> dict[str, str]:
    """Every digest of a config, by a name of its own."""
    ranked = Row.parse("padir/ranked/T4")
    scores = identity.score_digests(config, *TOY, Row.parse("padir/padir/T4"), 0)
    everything = {
        **scores,
        **{
            f"ar_{key}": digest
            for key, digest in identity.score_digests(config, *TOY, Row.parse("ar/beam"), 0).items()
            if key not in ("data", "vocabulary", "targets")
        },
        **{
            f"ranked_{key}": identity.score_digests(config, *TOY, ranked, 0)[key]
            for key in ("decoder", "hypotheses")
        },
        "raw_training": identity.training_digests(config, *TOY, "raw")["training"],
        "other_training": identity.training_digests(config, *TOY, "other")["training"],
        "rating": identity.rating_digests(config, *TOY, Row.parse("padir/padir/T4"), 0, "words")[
            "rating"
        ],
        "sample": identity.sample_digests(config, *TOY, "gibbs")["hypotheses"],
        "sample_score": identity.sample_digests(config, *TOY, "gibbs")["score"],
        "analysis": layout.analyses(config)[0].digests["analysis"],
        "timing": layout.timing_digests(config, PLACE, "core")["timing"],
        "timing_ranked": layout.timing_digests(config, PLACE, "systems")["timing"],
    }
    for experiment in ("estimation", "errata"):
        (artifact,) = layout.theory(config, [experiment])
        everything[experiment] = artifact.digests["settings"]
    return everything


# What follows from what: a change on the left changes all on the right.
SCORES = {"score", "ar_score"}
OTHERS = {"rating", "sample_score", "analysis"}
AR = {"ar_training", "ar_hypotheses", *SCORES, "timing"}
PADIR = {
    *("training", "hypotheses", "score", "rating", "ranked_hypotheses"),
    *("analysis", "timing", "timing_ranked"),
}
TAUGHT = {"targets", *PADIR}
RAW = {"raw_training", "sample", "sample_score", "timing"}
OTHER = {"other_training", "timing"}
RANKED = {"ranked_decoder", "ranked_hypotheses", "timing_ranked"}
ALL_TRAININGS = {*AR, *TAUGHT, *RAW, *OTHER, *RANKED}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        # Data, and with them everything that is learnt; theory reads none.
        ("datasets.toy.source.train", 11, {"data", *ALL_TRAININGS}),
        ("datasets.toy.source.test", 7, {"data", *ALL_TRAININGS}),
        ("datasets.toy.cleaning.max_words", 9, {"data", *ALL_TRAININGS}),
        # A vocabulary, of the trainings that have it.
        ("datasets.toy.vocabulary.size", 40, {"vocabulary", *ALL_TRAININGS} - {"other_training"}),
        ("datasets.toy.vocabularies.other.size", 40, OTHER),
        ("datasets.toy.vocabularies.further", {}, set()),
        # The licence, of cards alone.
        ("datasets.toy.license", "cc-by-4.0", set()),
        # A training, and what builds on it.
        ("trainings.raw.objective.unmasking_rate", 0.3, RAW),
        ("trainings.raw.optimizer.peak_learning_rate", 0.3, RAW),
        ("trainings.raw.training.steps", 31, RAW),
        ("trainings.raw.architecture.dropout", 0.3, RAW),
        ("trainings.raw.system", "sundae", RAW),
        ("trainings.raw.targets", "ar", RAW),
        ("trainings.raw.vocabulary", "other", RAW),
        ("trainings.raw.training.warm_start", "warm", RAW),
        ("trainings.padir.objective.stages", 1, PADIR),
        ("trainings.ar.training.steps", 31, {*AR, *TAUGHT}),
        ("trainings.warm.training.steps", 31, PADIR),
        ("trainings.ranker.training.steps", 31, RANKED),
        ("training_defaults.training.steps", 31, ALL_TRAININGS),
        # One more seed changes nothing; another first seed what is made with it.
        ("trainings.raw.seeds", [0, 1], set()),
        ("trainings.raw.seeds", [1], {"sample", "sample_score", "timing"}),
        ("trainings.padir.seeds", [0, 1], set()),
        ("trainings.padir.seeds", [1, 0], {"analysis", "timing", "timing_ranked"}),
        ("trainings.ar.seeds", [0, 1], set()),
        ("trainings.ar.seeds", [1], {*TAUGHT, *SCORES}),
        ("trainings.warm.seeds", [1], PADIR),
        ("trainings.ranker.seeds", [1], RANKED),
        # The teacher's row and decoder; how many shards it writes changes no text.
        ("teachers.ar.row", "ar/greedy", TAUGHT),
        ("teachers.ar.shards", 5, set()),
        (
            "decoders.beam",
            {"kind": "beam", "beam": 3},
            {"ar_decoder", "ar_hypotheses", *SCORES, *TAUGHT, "timing"},
        ),
        ("decoders.greedy", {"kind": "greedy", "length_alphas": [1.0]}, set()),
        # A decoder, and what it decodes.
        (
            "decoders.padir",
            {"length_candidates": 2},
            {"decoder", "hypotheses", "score", "rating", "analysis", "timing"},
        ),
        ("decoders.ranked.length_candidates", 2, RANKED),
        ("decoders.ranked.reranker", "warm", set()),  # the same training by another name
        ("decoders.ranked.reranker", None, RANKED),
        ("decoders.unused", {"remask": "none"}, set()),
        # Rows: passes stand in the row, and change which rows are timed alone.
        (
            "evaluation.core",
            [
                {"trainings": ["ar"], "decoders": ["beam"]},
                {"trainings": ["padir", "raw", "other"], "decoders": ["padir"], "passes": [4]},
            ],
            {"timing"},
        ),
        ("evaluation.baseline", "ar/beam", set()),
        # Evaluation.
        ("evaluation.bootstrap_samples", 500, {*SCORES, *OTHERS}),
        ("evaluation.split", "valid", {*SCORES, *OTHERS}),
        ("evaluation.latency_sentences", 50, {"timing", "timing_ranked"}),
        ("evaluation.latency_repeats", 5, {"timing", "timing_ranked"}),
        ("evaluation.samplers.gibbs.block", 2, {"sample", "sample_score"}),
        ("evaluation.samplers.further", {"training": "raw"}, set()),
        ("evaluation.analysis.sentences", 50, {"analysis"}),
        ("evaluation.analysis.passes", [1], {"analysis"}),
        ("evaluation.analysis.rows", ["padir/padir/T4"], set()),
        ("evaluation.scorers.further", {"kind": "chrf++"}, set()),
        ("evaluation.scorers.words", {"kind": "bleurt", "checkpoint": "BLEURT-20"}, {"rating"}),
        # Theory, one experiment at a time.
        ("theory.estimation.trials", 30, {"estimation"}),
        ("theory.errata.models", 5, {"errata"}),
        ("theory.seeds", [1], set()),
        ("default_target", "core", set()),
    ],
)
def test_a_setting_changes_exactly_the_digests_of_what_reads_it(path, value, expected):
    before = stages(check_config(WHOLE))
    after = stages(check_config(set_value(copy.deepcopy(WHOLE), path, value)))
    assert {stage for stage in after if after[stage] != before[stage]} == expected


def test_every_digest_of_the_table_changes_with_some_setting():
    """The table above covers every stage: none has a digest that nothing changes."""
    before = stages(check_config(WHOLE))
    assert {"data", "vocabulary", "ar_decoder", "decoder", "estimation", "errata"} < before.keys()
    assert before.keys() - ALL_TRAININGS == {
        *("data", "vocabulary", "ar_decoder", "decoder", "estimation", "errata"),
    }


def test_a_baseline_is_part_of_scores_alone():
    config = copy.deepcopy(WHOLE)
    config["evaluation"]["core"][0]["decoders"] = ["greedy", "beam"]
    before = stages(check_config(config))
    after = stages(check_config(set_value(config, "evaluation.baseline", "ar/greedy")))
    assert {stage for stage in after if after[stage] != before[stage]} == SCORES


def test_seeds_and_passes_of_hypotheses_are_told_apart():
    config = check_config(WHOLE)

    def digest(text: str, seed: int) -> str:
        return identity.hypotheses_digests(config, *TOY, Row.parse(text), seed)["hypotheses"]

    texts = ("padir/padir/T4", "padir/padir/T2", "raw/padir/T4", "ar/beam", "ar/greedy")
    digests = {digest(text, seed) for text in texts for seed in (0, 1)}
    assert len(digests) == 2 * len(texts)


def test_both_directions_share_data_and_vocabulary_and_nothing_else():
    config = check_config(SMALL)
    one_way, back = (
        identity.training_digests(config, "real", direction, "padir")
        for direction in ("de-en", "en-de")
    )
    assert {stage for stage in one_way if one_way[stage] == back[stage]} == {"data", "vocabulary"}


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"max_usd": 99.0}, True),
        ({"ledger": "elsewhere.sqlite"}, True),
        ({"refused": "leave_empty"}, True),
        ({"endpoint": "127.0.0.1:8080"}, False),
    ],
)
def test_bought_targets_depend_on_what_the_service_writes(change, same):
    def digest(**settings: Any) -> str:
        config = check_config(changed("teachers.ar", {"kind": "cloud", **settings}))
        return identity.targets_digest(config, *TOY, "ar")

    assert (digest() == digest(**change)) is same


def test_ready_made_targets_depend_on_their_paths():
    files = ({"kind": "files", "train": train, "valid": "v"} for train in "ab")
    configs = [check_config(set_value(copy.deepcopy(WHOLE), "teachers.ar", f)) for f in files]
    one, other = (identity.targets_digest(config, *TOY, "ar") for config in configs)
    assert one != other


def test_the_first_seed_of_the_list_is_the_one_that_is_timed_and_analysed():
    settings = set_value(copy.deepcopy(WHOLE), "trainings.padir.seeds", [3, 1])
    config = check_config(settings)
    (analysis,) = layout.analyses(config)
    assert analysis.path == "results/analysis/toy/xs-xt/padir/padir.seed3.json"
    bundle = jobs.timed_bundles(config, PLACE, "systems")
    assert bundle == layout.bundle_paths(PLACE, "padir", 3)
    # All seeds are scored, in order.
    assert layout.seeds(config, Row.parse("padir/padir/T4")) == [1, 3]
    set_value(settings, "evaluation.analysis.seeds", "all")
    paths = [document.path for document in layout.analyses(check_config(settings))]
    assert [path[-10:] for path in paths] == ["seed3.json", "seed1.json"]


def test_work_folders_are_one_per_training_digest():
    config = check_config(WHOLE)
    digests = identity.training_digests(config, *TOY, "padir")
    assert jobs.work_folder(config, PLACE, "padir", 3) == (
        f"results/runs/toy/xs-xt/padir/seed3/work/{digests['training']}"
    )


def test_a_spec_says_nothing_of_seeds_and_decoders():
    spec = identity.run_spec(check_config(SMALL), *TOY, "padir")
    for path, value in (("decoders.padir", {"restarts": 9}), ("trainings.padir.seeds", [0, 1])):
        assert identity.run_spec(check_config(changed(path, value)), *TOY, "padir") == spec


def test_digests_in_scores_equal_those_that_layout_requires():
    config = check_config(WHOLE)
    row = Row.parse("padir/padir/T4")
    (artifact,) = layout.scores(config, [row])
    assert artifact.path == "results/runs/toy/xs-xt/padir/seed0/score/test.padir.T4.json"
    assert artifact.digests == identity.score_digests(config, *TOY, row, 0)
    assert invocation.command(artifact.path) == f"snakemake --cores all {artifact.path}"
    paths = [a.path for a in layout.scores(config, config.all_rows())]
    assert len(set(paths)) == len(paths) == len(config.all_rows())


def test_the_settings_of_a_vocabulary_hold_the_source_of_foreign_pairs(tmp_path):
    vocabularies = {"other": {"foreign_pairs": 2}}
    config = check_config(changed("datasets.toy.vocabularies", vocabularies))
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(identity.vocabulary_spec(config, "toy", "other")))
    assert read_vocabulary_settings(path).source == config.datasets["toy"].source
    assert "source" not in identity.vocabulary_spec(config, "toy", None)
    # Real text has no source of its own that its foreign pairs could be like.
    real = check_config(changed("datasets.real.vocabularies", {"other": {"foreign_pairs": 3}}))
    path.write_text(json.dumps(identity.vocabulary_spec(real, "real", "other")))
    assert read_vocabulary_settings(path).source == SyntheticSource()
    assert "source" not in identity.vocabulary_spec(real, "real", None)
    path.write_text('{"foreign_pairs": 2}')
    with pytest.raises(InputError, match="foreign_pairs is 2, but there is no source"):
        read_vocabulary_settings(path)


def test_settings_that_say_nothing_leave_digests_as_they_were():
    """Keys that were added later are not written while they hold their default."""
    learnt = identity.vocabulary_spec(check_config(SMALL), "toy", None)
    assert not {"foreign_pairs", "extra_text", "source"} & learnt.keys()
    assert "romanian_letters" not in identity.data_spec(check_config(SMALL), "toy")["cleaning"]


def test_extra_sources_change_what_their_teacher_s_students_learn_and_nothing_else():
    without = stages(check_config(WHOLE))
    taught = set_value(copy.deepcopy(WHOLE), "datasets.toy.extra_sources", copy.deepcopy(EXTRA))
    set_value(taught, "teachers.ar.extra_sources", True)
    used = stages(check_config(taught))
    assert {name for name in used if used[name] != without[name]} == TAUGHT
    set_value(taught, "datasets.toy.extra_sources.files.xs", "other.xs")
    other = stages(check_config(taught))
    assert {name for name in used if used[name] != other[name]} == TAUGHT
    # Text in the target language is nothing that this direction translates.
    set_value(taught, "datasets.toy.extra_sources.files", {"xt": "extra.xt"})
    assert stages(check_config(taught)) == without


def test_a_spec_says_whether_targets_cover_extra_sources():
    taught = set_value(copy.deepcopy(WHOLE), "datasets.toy.extra_sources", copy.deepcopy(EXTRA))
    set_value(taught, "teachers.ar.extra_sources", True)
    config = check_config(taught)
    for training, extra in (("padir", True), ("raw", False)):
        spec = identity.run_spec(config, *TOY, training)
        assert spec.extra_sources is extra
        # What was written without extra sources reads as it did.
        assert ("extra_sources" in spec.model_dump(mode="json")) is extra
