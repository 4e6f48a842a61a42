"""Sizes that no machine has are refused with the config, not when memory ends."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from annotated_types import Le, Lt

from padir.config import identity
from padir.config.data import FilesSource, RemoteFile
from padir.config.document import groups
from padir.config.experiment import Config
from padir.config.read import check_config
from padir.files import InputError
from tests.unit.config.small import changed, set_value

MOST = {
    "datasets.toy.source.train": 10**9,
    "datasets.toy.source.nouns": 100_000,
    "datasets.toy.vocabulary.size": 10**7,
    "datasets.toy.cleaning.max_bytes": 10**8,
    "trainings.padir.architecture.width": 65_536,
    "trainings.padir.architecture.encoder_layers": 1_000,
    "trainings.padir.architecture.max_positions": 10**6,
    "training_defaults.objective.diffusion_steps": 10**6,
    "trainings.padir.training.steps": 10**9,
    "trainings.padir.training.batch_tokens": 10**9,
    "trainings.padir.training.checkpoint_every": 10**9,
    "decoders.padir.length_candidates": 10_000,
    "decoders.beam": {"kind": "beam", "beam": 10_000},
    "evaluation.bootstrap_samples": 10**6,
    "evaluation.latency_repeats": 10_000,
    "evaluation.analysis.sentences": 10**9,
    "theory.mode_reaching.weak.steps": 10**6,
    "theory.tensorisation.samples": [10**8],
    "teachers.paid": {"kind": "cloud", "characters_per_minute": 10**10},
}


def integers(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The constraints of each integer in a type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from integers(arguments[0], arguments[1:])
    elif origin in (Union, UnionType):
        for member in arguments:
            yield from integers(member, metadata)
    elif origin is list:
        yield from integers(arguments[0])
    elif origin is dict:
        yield from integers(arguments[1])
    elif annotation is int:
        yield metadata


def bounded(metadata: tuple[Any, ...]) -> bool:
    flat = [item for each in metadata for item in (each, *getattr(each, "metadata", ()))]
    return any(isinstance(item, Le | Lt) for item in flat)


@pytest.mark.parametrize(("path", "kind"), groups(), ids=lambda value: str(value))
def test_every_whole_number_has_an_upper_bound(path, kind):
    unbounded = [
        name
        for name, field in kind.model_fields.items()
        for metadata in integers(field.annotation, tuple(field.metadata))
        if not bounded(metadata)
    ]
    assert unbounded == []


@pytest.mark.parametrize(("path", "most"), MOST.items())
def test_the_largest_size_is_accepted_and_one_more_is_refused(path, most):
    config = changed(path, most)
    try:
        check_config(config)
    except InputError as error:
        pytest.fail(str(error))
    with pytest.raises(InputError) as caught:
        check_config(changed(path, more(most)))
    message = str(caught.value)
    assert "\n" not in message and "less than or equal to" in message
    assert path.rpartition(".")[2] in message


@pytest.mark.parametrize("size", [10**12, 10**15])
@pytest.mark.parametrize("path", [path for path, most in MOST.items() if isinstance(most, int)])
def test_an_implausible_size_is_refused(path, size):
    with pytest.raises(InputError, match=rf"found {size}; allowed: less than or equal to \d+"):
        check_config(changed(path, size))


def test_limits_of_a_download_are_read_and_change_no_digest():
    address = {"url": "https://example.test/x.gz", "sha256": "a" * 64}
    limits = {"max_bytes": 7, "max_unpacked_bytes": 70}

    def config(source: dict[str, Any], extra: dict[str, Any]) -> Config:
        settings = changed("datasets.real.source.train.files.de", source)
        set_value(settings, "datasets.real.extra_sources.files.de", extra)
        set_value(settings, "teachers.ar.extra_sources", True)
        return check_config(settings)

    without, limited = config(address, address), config(address | limits, address | limits)
    source = limited.datasets["real"].source
    assert isinstance(source, FilesSource)
    file = source.train.files["de"]
    assert isinstance(file, RemoteFile) and file.max_bytes == 7
    written = identity.data_spec(limited, "real")["source"]["train"]["files"]["de"]
    assert written == address | limits
    assert identity.data_spec(without, "real")["source"]["train"]["files"]["de"] == address
    for digests in (
        lambda config: identity.data_digests(config, "real"),
        lambda config: identity.extra_digests(config, "real", "de"),
        lambda config: identity.training_digests(config, "real", "de-en", "padir"),
    ):
        assert digests(limited) == digests(without)
    moved = config(address | {"sha256": "b" * 64}, address)
    assert identity.data_digests(moved, "real") != identity.data_digests(without, "real")


def more(most: Any) -> Any:
    """The same with its size one larger."""
    if isinstance(most, dict):
        return {key: more(value) for key, value in most.items()}
    if isinstance(most, list):
        return [more(value) for value in most]
    return most + 1 if isinstance(most, int) else most


@pytest.mark.parametrize(
    ("key", "value"),
    [("length_alphas", [101.0]), ("length_weights", [-101.0]), ("temperature", 2e6)],
)
def test_numbers_of_a_decoder_are_bounded(key, value):
    with pytest.raises(InputError, match=f"decoders.x.{key}.*allowed: .* than or equal to"):
        check_config(changed("decoders", {"x": {"kind": "padir", key: value}}))
