"""The experiments of `config/`: the demo and Multi30k ask the same questions."""

import json

import pytest
import yaml

from padir.config.experiment import Config
from padir.config.training import TrainingRun
from padir.config.read import check_config


@pytest.fixture
def both(repository) -> tuple[Config, Config]:
    """The demo's and Multi30k's."""
    texts = ((repository / f"config/{name}.yaml").read_text() for name in ("config", "multi30k"))
    demo, real = (check_config(yaml.safe_load(text)) for text in texts)
    return demo, real


def kind(run: TrainingRun) -> dict:
    """What a model is, whatever its size, its steps, its seeds and its list of decodings."""
    # AR is trained with label smoothing on real text, and without on the demo's.
    free = set() if run.parallel else {"label_smoothing"}
    return {
        **run.model_dump(include={"system", "targets", "vocabulary", "parameters", "decoding"}),
        "objective": run.objective.model_dump(exclude=free),
        "warm_start": run.training.warm_start,
        "positional_attention": run.architecture.positional_attention,
    }


def test_systems_ablations_and_samplers_are_the_same(both):
    demo, real = both
    for key in ("core", "systems", "ablations", "samplers"):
        assert getattr(real.evaluation, key) == getattr(demo.evaluation, key), key
    ablated = (m for entry in demo.evaluation.ablations for m in (entry.base, entry.variant))
    for name in {*demo.evaluation.systems, *demo.evaluation.core, *ablated}:
        assert kind(real.models[name]) == kind(demo.models[name]), name
    assert demo.models["generic_vocabulary"].vocabulary == "generic"


def test_two_stages_and_three_train_at_the_same_cost(both):
    for config in both:
        two, three = (config.models[name] for name in ("padir", "three_stages"))
        costs = {run.training.steps * run.objective.stages for run in (two, three)}
        assert len(costs) == 1, costs


def test_decoders_that_mind_dependence_are_the_same_on_raw_and_distilled_targets(both):
    """By other names: Multi30k decodes the core's models, the demo those of the ablations."""

    def decoders(config: Config) -> set[tuple[str, str, str]]:
        runs = [config.models[name] for name in config.evaluation.dependency]
        return {
            (run.system, run.targets, json.dumps(run.decoding.model_dump(), sort_keys=True))
            for run in runs
        }

    demo, real = map(decoders, both)
    assert demo == real and len(demo) == 22


def test_a_generic_vocabulary_differs_from_the_own_in_what_it_is_learnt_from(both):
    for config in both:
        (dataset,) = config.datasets.values()
        own, generic = dataset.vocabulary, dataset.vocabularies["generic"]
        assert (own.size, own.foreign_pairs, generic.foreign_pairs) == (generic.size, 0, 7)
