"""Choices of objective and decoding that do not go together are refused before any job."""

import pytest
from pydantic import ValidationError

from padir.config.training import TrainingRun
from padir.config.read import check_config
from padir.config.systems import SYSTEMS
from padir.files import InputError
from tests.unit.config.small import changed

MASKS = {"architecture": {"extra_ids": 256}}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_is_whole(system):
    run = TrainingRun(system=system, decode=["T1"] if system != "ar" else ["greedy"])
    for group, values in SYSTEMS[system].settings.items():
        assert values.items() <= getattr(run, group).model_dump().items()


def test_a_models_own_settings_come_over_its_systems():
    run = TrainingRun(system="cmlm", decode=["T1"], objective={"stages": 3})
    assert (run.objective.stages, run.objective.corruption) == (3, "mask")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"decoding": {"start": "mask"}}, "corruption random never trains that"),
        ({"decoding": {"replacement": "mask"}}, "hides behind mask"),
        ({"system": "cmlm", "decoding": {"start": "random"}}, "corruption mask never trains"),
        ({"objective": {"time_weight": "linear"}}, "time_weight linear needs hiding time"),
        ({"objective": {"coupled_times": True}}, "coupled_times needs hiding time"),
        ({"objective": {"hiding": "context"}}, "stages 1, glancing 0 and loss_on all"),
        ({"architecture": {"disentangled": True}}, "do not go together"),
        (
            {"system": "disco", "architecture": {"input_positions": True}},
            "has positions of its own",
        ),
        ({"system": "disco", "decoding": {"context": "all"}}, "do not go together"),
        ({"decoding": {"remask": "critic"}}, "needs objective.critic_weight above 0"),
        ({"objective": {"corruption": "position_mask"}}, "never trains that|table row for each"),
        ({"decoding": {"temperature": 0.5}}, "temperature it need not"),
        ({"decoding": {"update": "uncertain"}}, "update: uncertain it need not"),
        ({"decoding": {"update": "hidden"}}, "update: hidden it need not"),
        ({"decoding": {"remask": "linear"}}, "remask: linear it need not"),
        ({"decoding": {"replacement": "summed"}}, "replacement: summed it need not"),
        (
            {
                "decoding": {
                    **{"remask": "coupled", "update": "hidden", "stop": "fixed"},
                    **{"joint": "attention", "coupled_by": "entropy"},
                }
            },
            "joint neighbours or coupled_by attention are allowed",
        ),
        ({"decoding": {"coupling_threshold": 1.5}}, "no overlap is above 1"),
        ({"seeds": [0, 0]}, "names one twice"),
        ({"decode": ["T1", "T1"]}, "names one twice"),
    ],
)
def test_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        TrainingRun(**{"decode": ["T1"], **given})


def test_these_go_together():
    TrainingRun(decode=["T1"], objective={"corruption": "mixed"}, decoding={"start": "mask"})
    position = {"objective": {"corruption": "position_mask"}}
    TrainingRun(decode=["T1"], **position, **MASKS, decoding={"start": "position_mask"})


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("models.padir.parameters", "ar", "parameters is 'ar', but"),
        ("models.padir.parameters", "none", "allowed are"),
        ("models.padir.decoding.reranker", "no", r"reranker is 'no': allowed .* \(ar\)"),
        ("models.padir.decoding.reranker", "padir", r"is 'padir': allowed are AR .* \(ar\)"),
        ("models.ar.decoding.reranker", "ar", "ranks candidates of a parallel model: .* system ar"),
        (
            "models.padir.vocabulary",
            "no",
            r"^config: models\.padir\.vocabulary is 'no': allowed are null and the entries of"
            r" datasets\.toy\.vocabularies \(none\)$",
        ),
        (
            "datasets.toy.vocabularies",
            {"a": {}, "b": {"foreign_pairs": -1}},
            r"^config: datasets\.toy\.vocabularies\.b\.foreign_pairs: found -1",
        ),
        (
            "evaluation",
            {"baseline": "ar", "ablations": [{"name": "x", "base": "padir", "variant": "no"}]},
            "no model 'no'",
        ),
        (
            "evaluation",
            {
                "baseline": "ar",
                "ablations": [{"name": "x", "base": "padir", "variant": "padir", "decoding": "T3"}],
            },
            "decoding is 'T3'",
        ),
        ("evaluation", {"baseline": "ar", "core": ["ar", "no"]}, "core holds 'no': allowed are ar"),
        (
            "evaluation",
            {"baseline": "ar", "samplers": {"gibbs": {"model": "ar"}}},
            r"samplers\.gibbs\.model is 'ar': allowed are parallel models \(padir\)",
        ),
        ("evaluation", {"baseline": "ar", "systems": []}, "systems holds an empty list"),
        ("evaluation", {"baseline": "ar", "core": ["padir"]}, "baseline is 'ar', which .*core"),
        ("models.padir.training.warm_start", "padir", r"allowed are AR models .* \(ar\)"),
        ("models.ar.training.warm_start", "ar", r"AR models that start fresh \(none\)"),
        (
            "models.padir",
            {"training": {"warm_start": "ar"}, "architecture": {"width": 64}},
            "warm_start is 'ar', whose architecture.width is 512; here it is 64",
        ),
    ],
)
def test_references_to_models(path, value, message):
    with pytest.raises(InputError, match=message):
        check_config(changed(path, value))


def with_vocabulary(**datasets):
    """`SMALL` with model padir on vocabulary `other`, which the datasets given have."""
    config = changed("models.padir.vocabulary", "other")
    for name, settings in datasets.items():
        config["datasets"][name]["vocabularies"] = {"other": settings}
    return config


def test_every_dataset_must_have_a_model_s_vocabulary():
    with pytest.raises(InputError, match=r"entries of datasets\.real\.vocabularies \(none\)"):
        check_config(with_vocabulary(toy={}))
    config = check_config(with_vocabulary(toy={"foreign_pairs": 7}, real={"extra_text": ["x"]}))
    assert config.datasets["toy"].vocabulary_named("other").foreign_pairs == 7
    assert config.datasets["toy"].vocabulary_named(None) == config.datasets["toy"].vocabulary


def test_borrowed_parameters_need_their_own_vocabulary():
    config = with_vocabulary(toy={}, real={})
    borrower = {**config["models"]["padir"], "parameters": "padir"}
    config["models"]["borrower"] = borrower
    check_config(config)
    config["models"]["borrower"] = borrower | {"vocabulary": None}
    with pytest.raises(InputError, match=r"models\.borrower\.parameters .* vocabulary differs"):
        check_config(config)


def test_a_reranker_is_trained_under_its_own_name_and_reads_what_it_ranks():
    config = changed("models.padir.decoding.reranker", "ar")
    assert check_config(config).models["padir"].decoding.reranker == "ar"
    other = with_vocabulary(toy={}, real={})
    other["models"]["padir"]["decoding"] = {"reranker": "ar"}
    with pytest.raises(InputError, match=r"is 'ar', whose vocabulary is None; here it is other"):
        check_config(other)
    config["models"]["borrowed"] = {**config["models"]["ar"], "parameters": "ar"}
    config["models"]["padir"]["decoding"]["reranker"] = "borrowed"
    with pytest.raises(InputError, match=r"is 'borrowed': allowed are AR models .* \(ar\)"):
        check_config(config)
    config = changed("models.padir.decoding.reranker", "ar")
    config["models"]["ar"]["architecture"] = {"max_positions": 128}
    with pytest.raises(InputError, match=r"reranker 'ar' reads 128 tokens .* 256 are needed"):
        check_config(config)
