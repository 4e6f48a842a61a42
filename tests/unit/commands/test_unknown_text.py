"""Source text that the vocabulary cannot spell is told once, and changes no translation."""

import io
import sys
from types import SimpleNamespace

import pytest

from padir.commands import decode, trace, translate
from padir.decode.load import load
from padir.files import read_lines, write_lines
from padir.library import Model
from tests.decoding import run, write_tiny_bundle
from tests.serving import serving
from tests.unit.commands.test_serve import post

pytestmark = pytest.mark.usefixtures("no_set_up")
# A soft hyphen, a no-break space and a decomposed umlaut.
LINES = ["ba ko", "ba\u00adko mi", "su", "ba\u00a0ko", "", "ba\u0308 mi"]
UNSPELT = "line 2 holds text that this model's vocabulary cannot spell"
TOLD = f"{UNSPELT}, such as 'ba\\xadko': it is read as <unk>"
COUNTED = f"{TOLD}; such lines: 3 of 6"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    write_tiny_bundle(folder / "ar", "ar")
    write_lines(folder / "source", LINES)
    write_lines(folder / "plain", ["ba ko", "", "su"])
    return folder


def decoded(place, capsys, source):
    """Translations of a file, and what was said of unknown text."""
    written = ["--out", place / "out", "--text", place / "text"]
    options = ["--bundle", place / "ar", "--decoder", "greedy", "--source", place / source]
    assert run(decode, *options, *written) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "spell" in line]
    return read_lines(place / "text"), said


def test_decode_and_trace_name_the_first_line_and_count(place, capsys):
    assert decoded(place, capsys, "source")[1] == [f"padir decode: {place / 'source'}: {COUNTED}"]
    assert decoded(place, capsys, "plain")[1] == []
    options = ["--bundle", place / "ar", "--rows", "greedy", "--source", place / "source"]
    assert run(trace, *options, "--out", place / "trace") == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "spell" in line]
    assert said == [f"padir trace: {place / 'source'}: {COUNTED}"]


@pytest.mark.parametrize("chunk", [1, 64])
def test_translate_names_the_first_line_of_a_stream(place, capfd, monkeypatch, chunk):
    content = "".join(f"{line}\n" for line in LINES).encode()
    stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run(translate, "--model", place / "ar", "--chunk", chunk) == 0
    out, err = capfd.readouterr()
    assert err == f"padir translate: warning: {TOLD}\n"
    assert out.splitlines() == decoded(place, capfd, "source")[0]


def test_the_library_and_the_server_warn(place, caplog):
    model = Model(load(place / "ar"))
    # Each time: Python's own warnings would be shown once.
    for _ in range(2):
        caplog.clear()
        translations = model.translate(LINES)
        model.traces(LINES)
        assert caplog.messages == [COUNTED, f"input: {COUNTED}"]
    with serving(model) as server:
        answer = post(server, {"lines": LINES})[1]
        assert answer["warnings"] == [COUNTED]
        assert [each["translation"] for each in answer["translations"]] == translations
        assert post(server, {"lines": LINES, "trace": True})[1]["warnings"] == [f"input: {COUNTED}"]


def test_the_library_warns_of_a_line_that_is_cut(place, caplog):
    model = Model(load(place / "ar"))
    long = ["ba", "ba " * 40]
    told = "line 2: 40 tokens, cut to the first 15, all that this model reads"
    for method, message in (("translate", told), ("details", told), ("traces", f"input: {told}")):
        caplog.clear()
        getattr(model, method)(long)
        assert caplog.messages == [message]
    caplog.clear()
    model.translate(["ba ko", ""])
    assert caplog.messages == []
