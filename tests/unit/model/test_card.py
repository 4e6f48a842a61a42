"""The model card names every system and the vocabulary, and counts what was left out."""

from types import SimpleNamespace
from unittest.mock import Mock

import yaml

from padir.config.systems import SYSTEMS
from padir.hub import hub_card
from padir.library import Model
from padir.model.card import model_card
from tests.training import tiny_spec

SUMMARY = {
    "parameters": 1,
    "pairs": 5000,
    "pairs_too_long": 2,
    "pairs_empty": 0,
    "epochs": 1.0,
    "restarts": 0,
    "code_changes": [],
}


def test_system_names_are_distinct() -> None:
    assert len({system.title for system in SYSTEMS.values()}) == len(SYSTEMS)


def test_the_card_names_the_vocabulary() -> None:
    spec = tiny_spec()
    other = spec.model_copy(update={"run": spec.run.model_copy(update={"vocabulary": "generic"})})
    assert "| Vocabulary | the dataset's own |" in model_card(spec, 0, SUMMARY, {}, [1])
    assert "| Vocabulary | generic |" in model_card(other, 0, SUMMARY, {}, [1])


def test_a_card_for_a_hub_has_one_block_of_metadata_with_the_licence() -> None:
    spec = tiny_spec()
    model = Mock(spec=Model, parallel=True, loaded=SimpleNamespace(spec=spec))
    written = model_card(spec, 0, SUMMARY, {}, [1])
    for text in (written, written.split("---\n", 2)[2]):
        card = hub_card(model, "cc-by-4.0", text)
        assert card.startswith("---\n") and card.count("\n---\n") == 1
        assert yaml.safe_load(card.split("---\n")[1])["license"] == "cc-by-4.0"
        assert card.count(f"# {spec.training}: ") == 1
        assert "`license` above is that of the model." in card
        assert "that of the dataset;" in written and "that of the dataset;" not in card


def test_the_card_counts_pairs_with_an_empty_side() -> None:
    for count, words in ((0, ""), (1200, " and 1,200 with an empty side")):
        card = model_card(tiny_spec(), 0, {**SUMMARY, "pairs_empty": count}, {}, [1])
        assert f"| Training pairs | 5,000, of which 2 too long{words} |" in card


def test_the_card_says_that_code_changed_while_training() -> None:
    changed = model_card(tiny_spec(), 0, {**SUMMARY, "code_changes": [500, 2000]}, {}, [1])
    assert "| Code changed at step | 500, 2000 |" in changed
    assert "Code changed" not in model_card(tiny_spec(), 0, SUMMARY, {}, [1])


def test_the_card_begins_with_the_metadata_of_a_hub() -> None:
    spec = tiny_spec().model_copy(update={"dataset": "news", "direction": "ro-en"})
    _, block, text = model_card(spec, 0, SUMMARY, {}, [1]).split("---\n", 2)
    assert yaml.safe_load(block) == {
        "language": ["ro", "en"],
        "license": "unknown",
        "library_name": "padir",
        "pipeline_tag": "translation",
        "tags": ["jax", "padir", "non-autoregressive"],
        "datasets": ["news"],
        "metrics": ["sacrebleu", "chrf"],
        "model_name": f"{spec.training} ro-en",
    }
    assert text.startswith("\n# ")
    run = spec.run.model_copy(update={"system": "ar"})
    synthetic = spec.model_copy(update={"direction": "xs-xt", "run": run})
    metadata = yaml.safe_load(model_card(synthetic, 0, SUMMARY, {}, [1]).split("---\n")[1])
    assert metadata["tags"] == ["jax", "ar", "autoregressive"]
    trained = spec.model_copy(update={"digests": {"training": "0123"}})
    metadata = yaml.safe_load(model_card(trained, 0, SUMMARY, {}, [1]).split("---\n")[1])
    assert metadata["digests"] == {"training": "0123"}
    metadata = yaml.safe_load(model_card(synthetic, 0, SUMMARY, {}, [1]).split("---\n")[1])
    assert "language" not in metadata and metadata["license"] == "apache-2.0"


def test_the_card_says_where_targets_come_from() -> None:
    spec = tiny_spec()
    taught = spec.model_copy(update={"run": spec.run.model_copy(update={"targets": "ar"})})
    more = taught.model_copy(update={"extra_sources": True})
    for given, words in (
        (spec, "raw targets"),
        (taught, "targets by ar"),
        (more, "targets by ar, which translated the dataset's extra sources too"),
    ):
        assert f"| Trained on | {words} |" in model_card(given, 0, SUMMARY, {}, [1])
