"""The options of the length rule: what they leave out is the decoder's own."""

from argparse import Namespace

import pytest

from padir.commands import decode, trace, translate
from padir.decode.candidates import LengthRule
from padir.files import InputError, read_jsonl, write_lines
from tests.decoding import LINES, run, tiny_decoder, write_decoder, write_tiny_bundle

TUNED = LengthRule(0.6, 1.5)


pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A bundle, its sources, a tuned decoder, one that has a single rule and one without any."""
    folder = tmp_path_factory.mktemp("rules")
    write_lines(folder / "source", LINES)
    write_tiny_bundle(folder / "padir", "padir")
    write_decoder(folder / "tuned.json", tiny_decoder("padir", TUNED))
    single = {"length_alphas": [TUNED.alpha], "length_weights": [TUNED.weight]}
    write_decoder(folder / "single.json", tiny_decoder("padir", **single))
    write_decoder(folder / "untuned.json", tiny_decoder("padir"))
    return folder


def decoded(place, name: str, **rule: float) -> list:
    """What `padir decode` writes with a decoder and options of the length rule."""
    options = [part for key, value in rule.items() for part in (f"--length-{key}", value)]
    options += ["--decoder", place / f"{name}.json", "--source", place / "source", "--passes", 2]
    out = place / "out"
    written = ("--out", out, "--text", place / "text")
    run(decode, "--bundle", place / "padir", *options, *written)
    return read_jsonl(out)


@pytest.mark.parametrize("name", ["tuned", "single"])
def test_each_number_alone_keeps_the_decoder_s_other_one(place, name):
    kept = decoded(place, name, alpha=2)
    assert kept == decoded(place, name, alpha=2, weight=TUNED.weight)
    assert kept != decoded(place, name, alpha=2, weight=0)
    kept = decoded(place, name, weight=-1)
    assert kept == decoded(place, name, alpha=TUNED.alpha, weight=-1)
    assert kept != decoded(place, name, alpha=0, weight=-1)


def test_without_a_rule_of_its_own_the_weight_is_0_and_alpha_is_needed(place):
    assert decoded(place, "untuned", alpha=2) == decoded(place, "untuned", alpha=2, weight=0)
    with pytest.raises(InputError, match="--length-weight needs --length-alpha as well"):
        decoded(place, "untuned", weight=1)


def test_the_weight_of_a_decoder_that_compares_nothing_is_refused(place):
    write_tiny_bundle(place / "ar", "ar")
    options = ["--decoder", "greedy", "--source", place / "source", "--length-weight", 1]
    written = ("--out", place / "out", "--text", place / "text")
    with pytest.raises(InputError, match="--length-weight: decoder greedy compares no hypotheses"):
        run(decode, "--bundle", place / "ar", *options, *written)


def test_each_row_of_a_trace_keeps_its_own_decoder_s_weight(place):
    other = tiny_decoder("padir", LengthRule(TUNED.alpha, 0.5), "other")
    write_decoder(place / "padir/decoders/other.json", other)
    write_decoder(place / "padir/decoders/padir.json", tiny_decoder("padir", TUNED))

    def traced(*options: str | float) -> list:
        rows = ["--source", place / "source", "--rows", "padir.T2", "other.T2"]
        out = place / "trace"
        run(trace, "--bundle", place / "padir", *rows, "--length-alpha", 2, *options, "--out", out)
        return read_jsonl(out)

    kept = traced()
    for decoder, weight in (("padir", TUNED.weight), ("other", other.rule.weight)):
        given = [row for row in traced("--length-weight", weight) if row["decoder"] == decoder]
        assert given == [row for row in kept if row["decoder"] == decoder]


def test_translate_keeps_the_weight_too(place):
    parts = {"model": place / "padir", "decoder": str(place / "tuned.json"), "beam": None}
    rule = {"length_alpha": 2.0, "length_weight": None}
    arguments = Namespace(**parts, **rule, steps=2, reranker=None)
    assert translate.open_translator(arguments).rule == LengthRule(2.0, TUNED.weight)
