"""Settings of extra sources that do not fit together."""

import copy

import pytest

from padir.config.read import check_config
from padir.files import InputError
from tests.unit.config.small import set_value
from tests.unit.config.test_identity import WHOLE


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"teachers.ar.extra_sources": True},
            r"teachers\.ar\.extra_sources is true, but no dataset has extra_sources: give"
            r" datasets\.toy\.extra_sources\.files, or set it to false",
        ),
        (
            {"datasets.toy.extra_sources": {"files": {"de": "x"}}},
            r"extra_sources\.files must name languages of xs-xt, found de",
        ),
        ({"datasets.toy.extra_sources": {"files": {}}}, "at least 1"),
        (
            {"datasets.toy.extra_sources": {"files": {"xs": "x"}}},
            r"^config: datasets\.toy\.extra_sources is given, but no teacher translates it: set"
            r" teachers\.ar\.extra_sources to true, or leave it out$",
        ),
    ],
)
def test_extra_sources_that_do_not_fit_are_refused(changes, expected):
    given = copy.deepcopy(WHOLE)
    for path, value in changes.items():
        set_value(given, path, value)
    with pytest.raises(InputError, match=expected):
        check_config(given)
