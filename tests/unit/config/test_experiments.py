"""The experiments of `config/`: the demo and Multi30k ask the same questions."""

import pytest

from padir.config.experiment import Config
from padir.config.identity import extra_language
from padir.config.read import load_config
from padir.config.training import TrainingRun


@pytest.fixture
def both(repository) -> tuple[Config, Config]:
    """The demo's and Multi30k's."""
    demo, real = (
        load_config([repository / f"config/{name}.yaml"]) for name in ("config", "multi30k")
    )
    return demo, real


def kind(run: TrainingRun) -> dict:
    """What a training is, whatever its size, its steps and its seeds."""
    # AR is trained with label smoothing on real text, and without on the demo's.
    free = set() if run.parallel else {"label_smoothing"}
    return {
        **run.model_dump(include={"system", "targets", "vocabulary"}),
        "objective": run.objective.model_dump(exclude=free),
        "warm_start": run.training.warm_start,
        "positional_attention": run.architecture.positional_attention,
    }


def test_rows_ablations_decoders_and_samplers_are_the_same(both):
    demo, real = both
    for key in ("core", "systems", "dependency", "ablations", "samplers", "baseline", "candidate"):
        assert getattr(real.evaluation, key) == getattr(demo.evaluation, key), key
    assert real.decoders == demo.decoders
    assert real.all_rows() == demo.all_rows()
    assert real.trainings.keys() == demo.trainings.keys()
    for name in demo.trainings_behind(demo.all_rows()):
        assert kind(real.trainings[name]) == kind(demo.trainings[name]), name
    assert demo.trainings["generic_vocabulary"].vocabulary == "generic"


def test_every_training_is_behind_a_row_or_a_sampler(both):
    for config in both:
        sampled = {sampler.training for sampler in config.evaluation.samplers.values()}
        used = {*config.trainings_behind(config.all_rows()), *sampled}
        assert used == set(config.trainings)


def test_two_stages_and_three_train_at_the_same_cost(both):
    for config in both:
        two, three = (config.trainings[name] for name in ("padir", "three_stages"))
        costs = {run.training.steps * run.objective.stages for run in (two, three)}
        assert len(costs) == 1, costs


def test_dependency_aware_decoders_are_compared_on_raw_and_on_distilled_targets(both):
    for config in both:
        decoders: dict[tuple[str, str], set[str]] = {}
        for row in config.dependency_rows():
            run = config.trainings[row.training]
            decoders.setdefault((run.system, run.targets), set()).add(row.decoding.decoder)
        assert decoders["padir", "raw"] == decoders["padir", "ar"]
        assert decoders["rdm", "raw"] == decoders["rdm", "ar"] == {"rdm", "rdm_joint"}
        # Each beside the system's own decoder: 7 others of PaDIR and 1 of RDM, on both targets.
        assert len(decoders["padir", "raw"]) == 8
        assert sum(map(len, decoders.values())) == 20


def test_a_generic_vocabulary_differs_from_the_own_in_what_it_is_learnt_from(both):
    for config in both:
        (dataset,) = config.datasets.values()
        native, generic = dataset.vocabulary, dataset.vocabularies["generic"]
        assert (native.size, native.foreign_pairs, generic.foreign_pairs) == (generic.size, 0, 7)


def test_the_paper_s_grid_is_read_at_the_paper_s_size(repository):
    config = load_config([repository / "config/paper.yaml"])
    assert [row.name for row in config.core_rows() if row.training == "padir"] == [
        "padir/padir/T4",
        "padir/padir/T10",
    ]
    assert config.theory.seeds == []
    run = config.trainings["padir"]
    assert (run.targets, run.training.steps) == ("ar", 500_000)
    assert config.trainings["ar"].targets == "raw"


def test_the_long_recipe_trains_students_on_more_text_than_their_teacher(repository):
    paths = [repository / f"config/{name}.yaml" for name in ("multi30k", "multi30k-long")]
    short, long = load_config(paths[:1]), load_config(paths)
    assert long.teachers["ar"].row == "ar/beam2"
    trainings = long.trainings_behind(long.core_rows())
    assert set(trainings) == {"ar", "cmlm", "padir_masked", "padir_masked_glancing"}
    for name in trainings:
        run = long.trainings[name]
        assert run.training.selection == "average"
        assert run.objective.label_smoothing == 0.1
        # What a distilled training reads covers the captions, and no other does.
        extra = extra_language(long, "multi30k", "de-en", run.targets)
        assert extra == (None if run.targets == "raw" else "de")
        if name in short.trainings:
            assert (run.system, run.targets) == (
                short.trainings[name].system,
                short.trainings[name].targets,
            )
            assert run.training.steps > short.trainings[name].training.steps
    assert extra_language(short, "multi30k", "de-en", "ar") is None


def test_the_larger_models_are_decoded_as_those_of_the_long_recipe(repository):
    names = ("multi30k", "multi30k-long", "multi30k-large")
    paths = [repository / f"config/{name}.yaml" for name in names]
    long, large = load_config(paths[:2]), load_config(paths)
    for name in ("masked", "masked_reranked"):
        assert large.decoders[name] == long.decoders[name]


def test_the_systems_of_real_text_learn_the_same_translations_at_one_size(repository):
    paths = [repository / f"config/{name}.yaml" for name in ("multi30k", "multi30k-systems")]
    config = load_config(paths)
    trainings = [config.trainings[row.training] for row in config.core_rows()]
    assert {(run.architecture.width, run.targets) for run in trainings} == {
        (128, "raw"),
        (128, "ar"),
    }
    masked, plain = config.trainings["padir_masked"], config.trainings["padir"]
    assert masked.training.steps == plain.training.steps
    assert (masked.objective.corruption, plain.objective.corruption) == ("mask", "random")
