"""Every parallel system, and every option of training, learns a toy language and decodes it."""

from pathlib import Path

import pytest

from padir.config.model import ModelRun
from padir.config.systems import SYSTEMS
from padir.train import train
from tests.training import tiny_spec, write_toy

OPTIONS = {
    **{system: (system, {}, {}) for system in SYSTEMS if system != "ar"},
    "glancing": ("padir", {"glancing": 0.5}, {}),
    "rejecter": ("padir", {"rejecter_weight": 0.5}, {}),
    "mixed": ("padir", {"corruption": "mixed"}, {}),
    "position_mask": ("cmlm", {"corruption": "position_mask"}, {"extra_ids": 16}),
    "noised": ("padir", {"loss_on": "noised"}, {}),
    "three_stages": ("padir", {"stages": 3}, {}),
    "pooled": ("padir", {}, {"length_predictor": "pooled"}),
    "affine": ("padir", {}, {"length_predictor": "affine"}),
    "fertility": ("padir", {}, {"length_predictor": "fertility"}),
    "oracle": ("padir", {}, {"length_predictor": "oracle"}),
}


def spec_of(name: str, steps: int):
    system, objective, architecture = OPTIONS[name]
    spec = tiny_spec(system, steps, batch_tokens=512, validate_every=steps, checkpoint_every=steps)
    given = spec.run.model_dump()
    given["objective"] |= objective
    given["architecture"] |= architecture | {"dropout": 0.0}
    return spec.model_copy(update={"run": ModelRun(**given)})


@pytest.mark.parametrize("name", OPTIONS)
def test_it_learns_to_reverse_words(name: str, tmp_path: Path) -> None:
    """Chance is 1/6 a word; one that only knows which words there are stays below 1/3."""
    text, vocabulary = write_toy(tmp_path, pairs=600)
    spec = spec_of(name, 300)
    extra = spec.run.architecture.extra_ids
    trained = train(spec, vocabulary, 14 + extra, text, 0, tmp_path / "work")
    first, last = 1 / 6, trained.valid["accuracy"]
    assert last > 2 * first, trained.valid
