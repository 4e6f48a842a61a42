"""Every parallel system, and options of training beside, learn a toy language and decode it.

Targets are the sources' words in reverse. A decoder that knows which words there are, and nothing
of their order, puts about one of five in its place.
"""

from pathlib import Path

import pytest

from padir.config.decoder import RefinementDecoder
from padir.config.systems import SYSTEMS
from padir.decode.candidates import LengthRule
from padir.decode.refiner import Refiner
from padir.files import read_lines
from padir.model.parameters import from_arrays
from padir.training.loop import train
from padir.vocab import Vocabulary
from tests.training import learning_spec, write_toy

pytestmark = pytest.mark.slow

OPTIONS = {
    **{system: (system, {}) for system in SYSTEMS if system != "ar"},
    "coupled": ("rdm", {"coupled_times": True}),
    "glancing": ("padir", {"glancing": 0.5}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_system_learns_to_reverse_words(name: str, tmp_path: Path) -> None:
    text, vocabulary = write_toy(tmp_path, pairs=600)
    spec = learning_spec(*OPTIONS[name])
    trained = train(spec, vocabulary, text, 0, tmp_path / "work")
    sources = Vocabulary.load(vocabulary).encode(read_lines(text.valid_source))
    model = from_arrays(spec.run, 14, trained.arrays)
    decoder = RefinementDecoder(kind=spec.run.system, length_candidates=2)
    refiner = Refiner(model, spec.run, decoder, 14, 0)
    right = total = 0
    for batch, rows in refiner.batches(sources, 4):
        for index, candidates in zip(batch.indices, rows, strict=True):
            tokens = LengthRule(1.0, 1.0).choose(candidates).tokens
            expected = sources[index][::-1]
            right += sum(a == b for a, b in zip(tokens, expected, strict=False))
            total += len(expected)
    assert right / total > 0.9, (right / total, trained.valid)
