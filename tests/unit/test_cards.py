"""`padir card` states a dataset's licence in cards, and leaves the rest of them as it was."""

import json

import pytest
import yaml

from padir.cards import state_license, with_license
from padir.cli import main
from padir.config.data import MOST_LICENSE
from padir.config.read import check_config
from padir.files import InputError
from padir.model.card import model_card
from tests.training import tiny_spec
from tests.unit.config.small import changed
from tests.unit.model.test_card import SUMMARY

EARLIER = "---\nlicense: unknown\nlanguage:\n- 'no'\n---\n\n# A card\n\n---\nText.\n"


def license_of(card: str) -> str:
    return yaml.safe_load(card.split("---\n")[1])["license"]


def test_a_model_card_names_the_licence_of_its_dataset(tmp_path):
    spec = tiny_spec().model_copy(update={"direction": "de-en"})
    written = model_card(spec, 0, SUMMARY, {}, [1])
    assert license_of(written) == "unknown" and "does not state it" in written
    (tmp_path / "README.md").write_text(written)
    for license, metadata, sentence in (
        ("cc-by-4.0", "cc-by-4.0", "Stated in the config: cc-by-4.0."),
        ("MIT: 'a' # b", "MIT: 'a' # b", "Stated in the config: MIT: 'a' # b."),
        (None, "unknown", "The config does not state it"),
    ):
        state_license(tmp_path, license)
        card = (tmp_path / "README.md").read_text()
        assert license_of(card) == metadata
        assert card.count("## Licence of the dataset") == 1 and sentence in card
    assert card == written


def test_the_rest_of_a_card_of_an_earlier_version_stays():
    stated = with_license(EARLIER, "cc0-1.0")
    assert yaml.safe_load(stated.split("---\n")[1]) == {"license": "cc0-1.0", "language": ["no"]}
    assert "\n# A card\n\n---\nText.\n\n## Licence of the dataset\n" in stated
    assert with_license(stated, "cc0-1.0") == stated
    plain = with_license("# A card\n", "mit")
    assert plain.startswith("---\nlicense: mit\n---\n\n# A card\n\n## Licence of the dataset\n")
    assert with_license(plain, "mit") == plain
    # As a hub's folder has it: a section behind the licence.
    used = with_license(stated + "\n## Use\n\nSo.\n", None)
    assert used.count("## ") == 2 and "## Use\n\nSo.\n" in used and "cc0" not in used


def test_the_command_writes_cards_and_what_it_has_written(tmp_path):
    folders = [tmp_path / name for name in ("data", "bundle")]
    for folder in folders:
        folder.mkdir()
        (folder / "README.md").write_text(EARLIER)
    arguments = ["card", "--folders", *map(str, folders), "--out", str(tmp_path / "out.json")]
    assert main([*arguments, "--license=cc-by-4.0"]) == 0
    cards = [str(folder / "README.md") for folder in folders]
    record = json.loads((tmp_path / "out.json").read_text())
    assert record == {"license": "cc-by-4.0", "cards": cards}
    assert [license_of((folder / "README.md").read_text()) for folder in folders] == [
        "cc-by-4.0",
        "cc-by-4.0",
    ]


@pytest.mark.parametrize("content", [None, "---\n- a\n---\n", "---\n: :\n---\n"])
def test_what_is_no_card_is_refused_in_one_line(tmp_path, capsys, content):
    if content is not None:
        (tmp_path / "README.md").write_text(content)
    assert main(["card", "--folders", str(tmp_path), "--license", "mit"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"padir card: error: {tmp_path}/README.md: ")


@pytest.mark.parametrize(
    "license", ["", " mit", "a\nb", "a\x85b", "\u2028", "x" * (MOST_LICENSE + 1), 4.0, [], True]
)
def test_a_licence_that_is_not_one_short_line_is_one_line_of_error(capsys, license):
    with pytest.raises(InputError, match=r"^config: datasets\.toy\.license: .*") as caught:
        check_config(changed("datasets.toy.license", license))
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 500
    if isinstance(license, str):
        assert main(["card", "--folders", "none", f"--license={license}"]) == 2
        assert capsys.readouterr().err.startswith("padir card: error: --license: one line of 1 to")
