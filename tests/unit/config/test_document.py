"""The schema and the page of all settings agree with the models they are written from."""

import json

import jsonschema
import pytest
import yaml

from padir.cli import main
from padir.config import document
from padir.config.decoder import RefinementDecoder, SearchDecoder
from padir.config.experiment import Evaluation
from padir.config.rows import Rows
from padir.config.training import TrainingRun


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (document.SCHEMA_PATH, document.schema_text()),
        (document.README_PATH, document.readme_text()),
    ],
)
def test_the_committed_files_are_what_padir_schema_writes(repository, path, text):
    assert (repository / path).read_text(encoding="utf-8") == text, "run: padir schema"


def test_padir_schema_writes_both_files(tmp_path):
    assert main(["schema", "--root", str(tmp_path)]) == 0
    assert json.loads((tmp_path / document.SCHEMA_PATH).read_text()) == document.schema()
    assert (tmp_path / document.README_PATH).read_text() == document.readme_text()


@pytest.mark.parametrize("name", ["config", "grid", "multi30k", "paper"])
def test_the_configs_fit_the_schema(repository, name):
    config = yaml.safe_load((repository / "config" / f"{name}.yaml").read_text())
    jsonschema.validate(config, document.schema())


def test_the_schema_refuses_an_unknown_key(repository):
    config = yaml.safe_load((repository / "config/config.yaml").read_text())
    config["training_defaults"]["training"]["stpes"] = 1
    with pytest.raises(jsonschema.ValidationError, match="stpes"):
        jsonschema.validate(config, document.schema())


def test_every_setting_has_a_row_with_a_meaning(repository):
    rows = [line for line in document.readme_text().splitlines() if line.startswith("| `")]
    groups = [field.annotation for field in TrainingRun.model_fields.values()]
    groups += [RefinementDecoder, SearchDecoder, Rows, Evaluation]
    names = [
        name for group in groups if hasattr(group, "model_fields") for name in group.model_fields
    ]
    assert len(names) > 30
    for name in names:
        assert any(row.startswith(f"| `{name}` |") for row in rows), name
    assert not [row for row in rows if row.endswith("|  |")]
