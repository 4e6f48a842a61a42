"""The model card names every system and the vocabulary, and counts what was left out."""

from types import SimpleNamespace
from unittest.mock import Mock

import yaml

from padir.config.systems import SYSTEMS
from padir.config.training import TrainingRun
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


def test_the_card_has_a_row_for_each_setting_and_count() -> None:
    spec = tiny_spec()
    run = spec.run.model_copy(
        update={
            "architecture": spec.run.architecture.model_copy(
                update={"encoder_layers": 3, "decoder_layers": 2}
            ),
            "training": spec.run.training.model_copy(update={"steps": 12_000, "warm_start": "ar"}),
        }
    )
    summary = {**SUMMARY, "parameters": 1_234, "epochs": 2.34, "restarts": 3}
    losses = {"loss": 1.5, "length_loss": 0.25}
    card = model_card(spec.model_copy(update={"run": run}), 7, summary, losses, [800, 900])
    table = card.partition("|---|---|\n")[2].partition("\n\n")[0]
    rows = dict(line[2:-2].split(" | ") for line in table.splitlines())
    assert rows == {
        "System": SYSTEMS["padir"].title,
        "Direction": "xs-xt",
        "Dataset": "toy",
        "Trained on": "raw targets",
        "Encoder and embeddings start from": "ar",
        "Vocabulary": "the dataset's own",
        "Parameters": "1,234",
        "Size": "3 + 2 layers, width 16, 2 heads, feed-forward 32",
        "Training pairs": "5,000, of which 2 too long",
        "Steps": "12,000 (2.3 epochs)",
        "Started over": "3 times, by --restart",
        "Parameters taken from step": "the mean of 800, 900",
        "Seed": "7",
        "Validation loss at the last step": "1.5000",
        "Validation length loss at the last step": "0.2500",
    }
    plain = model_card(spec, 0, SUMMARY, {}, [800])
    assert "| Parameters taken from step | 800 |" in plain
    assert "Started over" not in plain and "start from" not in plain


def test_the_card_names_the_settings_that_make_a_variant() -> None:
    label = "| Settings other than the system's |"
    for system in SYSTEMS:
        spec = tiny_spec(system)
        own = TrainingRun(system=system)
        plain = spec.run.model_copy(update={"objective": own.objective})
        card = model_card(spec.model_copy(update={"run": plain}), 0, SUMMARY, {}, [1])
        assert label not in card
    spec, own = tiny_spec(), TrainingRun(system="padir")
    variant = spec.run.model_copy(
        update={
            "objective": own.objective.model_copy(update={"glancing": 0.5, "hide_stutter": False}),
            "architecture": own.architecture.model_copy(
                update={"input_positions": True, "dropout": 0.2, "compute_dtype": "bfloat16"}
            ),
        }
    )
    card = model_card(spec.model_copy(update={"run": variant}), 0, SUMMARY, {}, [1])
    assert f"{label} hide_stutter false, glancing 0.5, input_positions true, dropout 0.2 |" in card


def test_the_card_gives_a_number_of_passes_to_parallel_models_alone() -> None:
    for system, option in (("padir", " --steps 4"), ("ar", "")):
        card = model_card(tiny_spec(system), 0, SUMMARY, {}, [1])
        assert f"padir translate --model FOLDER{option} < source.txt" in card


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
