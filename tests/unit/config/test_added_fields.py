"""A new setting leaves digests as they are: else all that is trained and decoded is out of date."""

import pytest
from pydantic import ValidationError

from padir.config import identity
from padir.config.base import Settings, added, short_digest
from padir.config.read import load_config

TRAININGS = {
    "ar": "052143e7abbee681",
    "padir": "cfee686ba3ff0a85",
    "rdm_raw": "60c7492697125430",
}
DECODERS = {
    "beam": "c1e5cd0c376fc6b2",
    "padir": "0e454d6031948592",
    "rdm_joint": "b49995f256e65552",
}
DATA = {"data": "8ff04d62653bb56a", "vocabulary": "f191b74a4f7b6d5a"}


def test_digests_of_the_demo_stay(repository):
    config = load_config([repository / "config/config.yaml"])
    place = "synthetic", "xs-xt"
    digests = [identity.training_digests(config, *place, name) for name in TRAININGS]
    made = {
        "trainings": {n: d["training"] for n, d in zip(TRAININGS, digests, strict=True)},
        "decoders": {name: identity.decoder_digest(config, *place, name) for name in DECODERS},
        "data": {stage: digests[0][stage] for stage in DATA},
    }
    assert made == {"trainings": TRAININGS, "decoders": DECODERS, "data": DATA}, (
        "What was made with the digests on the right is out of date now. Declare a new setting with"
        " `padir.config.base.added` at a default that changes nothing. If results are meant to be"
        " made again, write the new digests here and say so in CHANGELOG.md"
    )


class Before(Settings):
    steps: int = 3


class After(Before):
    share: float = added(0.5, ge=0, le=1)
    """A setting that came later."""
    letters: str | None = added(None)
    files: list[str] = added([])


def test_an_added_field_is_in_digests_only_where_it_is_set():
    def digest_of(settings):
        return short_digest(settings.model_dump(mode="json"))

    assert digest_of(After()) == digest_of(After(share=0.5)) == digest_of(Before())
    others = [After(share=0), After(letters="b"), After(files=["a"])]
    assert len({digest_of(settings) for settings in [After(), *others]}) == 4
    for settings in (After(), *others):
        assert After(**settings.model_dump(mode="json")) == settings
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        After(share=2)
