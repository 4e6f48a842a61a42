"""Tiny random models for tests of given text; other modules define their own of these names."""

import pytest

from tests.constraining import SYSTEMS, make


@pytest.fixture(scope="module", params=SYSTEMS)
def translator(request, tmp_path_factory):
    return make(tmp_path_factory.mktemp(request.param) / "model", request.param)


@pytest.fixture(scope="module")
def padir(tmp_path_factory):
    return make(tmp_path_factory.mktemp("one") / "model", "padir")
