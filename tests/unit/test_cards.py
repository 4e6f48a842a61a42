"""The licence of a dataset in data cards and model cards."""

import pytest
import yaml

from padir.cards import with_license
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


def test_a_model_card_gets_the_licence_of_its_dataset():
    spec = tiny_spec().model_copy(update={"direction": "de-en"})
    card = written = model_card(spec, 0, SUMMARY, {}, [1])
    assert license_of(written) == "unknown" and "Not stated here." in written
    for license, metadata, sentence in (
        ("cc-by-4.0", "cc-by-4.0", "Stated in the config: cc-by-4.0."),
        ("MIT: 'a' # b", "MIT: 'a' # b", "Stated in the config: MIT: 'a' # b."),
        (None, "unknown", "The config does not state it"),
    ):
        card = with_license(card, license)
        assert license_of(card) == metadata
        assert card.count("## Licence of the dataset") == 1 and sentence in card
        assert (
            card.split("\n## Licence")[0].split("---\n")[2]
            == (written.split("\n## Licence")[0].split("---\n")[2])
        )


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


@pytest.mark.parametrize(
    "license", ["", " mit", "a\nb", "a\x85b", "\u2028", "x" * (MOST_LICENSE + 1), 4.0, [], True]
)
def test_a_licence_that_is_not_one_short_line_is_one_line_of_error(license):
    with pytest.raises(InputError, match=r"^config: datasets\.toy\.license: .*") as caught:
        check_config(changed("datasets.toy.license", license))
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 500
