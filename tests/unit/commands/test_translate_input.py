"""What `padir translate` makes of blank lines and a byte order mark, and its help of defaults; what
`padir tune` makes of an empty file."""

import io
import os
import sys
import threading
from types import SimpleNamespace

import pytest

from padir.commands import translate, tune
from padir.decode.load import find_decoder, load
from padir.files import InputError
from padir.library import Model
from tests.decoding import write_tiny_bundle


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {system: write_tiny_bundle(folder / system, system) for system in ("ar", "padir")}


@pytest.fixture
def streamed(monkeypatch, capfd, bundles):
    """Translates bytes; yields output and messages."""
    monkeypatch.setattr(translate, "prepare", lambda threads: None)

    def call(content: bytes, system: str = "padir", *flags: str) -> tuple[str, str]:
        stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", stdin)
        rule = ["--length-alpha", "1"] if system == "padir" else []
        assert translate.main(["--model", str(bundles[system]), *rule, *flags]) == 0
        return capfd.readouterr()

    return call


def test_input_that_does_not_block_is_read_to_its_end(monkeypatch):
    read, write = os.pipe()
    os.set_blocking(read, False)

    def end():
        os.write(write, b" ta\n")
        os.close(write)

    with open(read) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(write, b"ba ko mi\nre su")
        with translate.blocking_input():
            lines = translate.input_lines()
            assert next(lines) == "ba ko mi"
            timer = threading.Timer(0.3, end)
            timer.start()
            assert list(lines) == ["re su ta"]
            timer.join()
        # The pipe is the caller's, too.
        assert not os.get_blocking(read)


@pytest.mark.parametrize("system", ["ar", "padir"])
def test_a_line_of_blanks_is_an_empty_line(streamed, system):
    blanks = "ba ko\n  \n\t\n\u3000\u00a0\n\r\n".encode()
    out, err = streamed(blanks, system, "--trace")
    assert out.split("\n")[1:] == [""] * 5
    passes = [line.split(maxsplit=1)[0] for line in err.splitlines()]
    assert passes == [str(number) for number in range(len(passes))], "blanks have no pass"


@pytest.mark.parametrize(
    ("system", "flags", "message"),
    [
        ("ar", ["--length-alpha", "1"], "--length-alpha: decoder greedy compares no hypotheses"),
        (
            "ar",
            ["--beam", "2", "--length-alpha", "1", "--length-weight", "3"],
            "--length-weight: decoder beam predicts no lengths",
        ),
        ("padir", ["--length-alpha", "1000"], "--length-alpha is 1000.0: allowed are -100 to 100"),
        ("padir", ["--length-weight=-101"], "--length-weight is -101.0: allowed are -100 to 100"),
        ("ar", ["--beam", "10001"], "--beam is 10001: allowed are 1 to 10000"),
    ],
)
def test_a_length_rule_that_is_not_read_is_refused(streamed, system, flags, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        streamed(b"ba ko\n", system, *flags)


def test_a_missing_length_rule_names_the_option_of_this_verb(bundles, monkeypatch):
    monkeypatch.setattr(translate, "prepare", lambda threads: None)
    with pytest.raises(InputError, match=r"decoders/padir\.json, or give --length-alpha$"):
        translate.main(["--model", str(bundles["padir"])])
    with pytest.raises(InputError, match=r"decoders/padir\.json$"):
        Model(load(bundles["padir"])).translate(["ba"])


def test_text_as_a_file_name_is_told_where_it_is_read(bundles, capsys):
    with pytest.raises(SystemExit):
        translate.main(["--model", str(bundles["ar"]), "in"])
    told = "error: unrecognized arguments: in; text is read from standard input: < in\n"
    assert capsys.readouterr().err.endswith(told)


def test_lines_of_infill_without_a_gap_are_told(streamed, tmp_path):
    gaps = tmp_path / "gaps"
    for text, told in (
        (
            "ba ___\n\nko\nba\n",
            "line 3 has no gap (___) and is copied as it is; such lines: 2 of 4",
        ),
        ("ba ___\n\n___\n\n", None),
    ):
        gaps.write_text(text)
        _, err = streamed(b"ba\nko\nmi\nba\n", "padir", "--infill", str(gaps))
        assert err == (f"padir translate: warning: {gaps}: {told}\n" if told else "")


def test_drafts_that_the_vocabulary_cannot_spell_are_told(streamed, tmp_path):
    drafts, margin = tmp_path / "drafts", ["--draft-margin", "100000"]
    told = (
        "line 3 holds text that this model's vocabulary cannot spell, and is replaced whatever"
        " --draft-margin; such lines: 1 of 4"
    )
    for third, message in (("ba xyz", told), ("ba", None)):
        drafts.write_text(f"ba ko\n\n{third}\nmi\n")
        out, err = streamed(b"ba\nko\nmi\nba\n", "padir", "--draft", str(drafts), *margin)
        assert err == (f"padir translate: warning: {drafts}: {message}\n" if message else "")
        assert out.split("\n")[0] == "ba ko" and out.split("\n")[3] == "mi"
        assert (out.split("\n")[2] == third) == (message is None)


def test_a_byte_order_mark_is_taken_from_standard_input(streamed):
    marked = b"\xef\xbb\xbfba ko\n\xef\xbb\xbfmi\n"
    note = "standard input: starts with a byte order mark, which was removed\n"
    plain, warned = streamed(marked[3:])
    # The mark inside the text stays, which this vocabulary cannot spell.
    assert warned.startswith("padir translate: warning: line 2 holds text that")
    assert streamed(marked) == (plain, note + warned)
    assert streamed(marked[:3]) == ("", note)


def test_a_nul_character_is_a_space(streamed):
    assert streamed(b"ba ko\nmi\0ba\nko\n") == streamed(b"ba ko\nmi ba\nko\n")


@pytest.mark.parametrize(("module", "search"), [(translate, "greedy"), (tune, "beam")])
def test_help_says_how_an_ar_model_is_decoded_where_nothing_is_said(bundles, module, search):
    (decoder,) = [option for option in module.OPTIONS if option.name == "--decoder"]
    assert f"model's system; {search} for AR)" in decoder.settings["help"]
    loaded = load(bundles["ar"])
    chosen = Model(loaded).translator().decoder if module is translate else None
    assert (chosen or find_decoder(loaded, None)).settings.kind == search


def test_nothing_is_tuned_on_an_empty_file(bundles, tmp_path, monkeypatch):
    monkeypatch.setattr(tune, "prepare", lambda threads: None)
    source, references = tmp_path / "source", tmp_path / "references"
    source.touch()
    references.touch()
    arguments = ["--bundle", bundles["ar"], "--decoder", "beam", "--source", source]
    arguments += ["--references", references, "--out", tmp_path / "beam.json"]
    with pytest.raises(InputError, match="source: empty: there is no sentence to tune on"):
        tune.main(list(map(str, arguments)))
