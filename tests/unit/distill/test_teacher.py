"""Shards, parts and restart of distillation, with a translator that needs no model."""

import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from padir.commands import distill as distill_command
from padir.config.decoder import SearchDecoder
from padir.config.rows import Decoding
from padir.decode.candidates import LengthRule
from padir.decode.load import TunedDecoder
from padir.decode.translate import Translator
from padir.distill import teacher
from padir.distill.card import describe
from padir.distill.teacher import Span, distill
from padir.files import InputError, iter_lines, read_json, read_lines, sha256_file, write_lines
from padir.score.bleu import streamed_bleu_counts


class FakeTranslator(Translator):
    """Turns "a b" into "A B" and counts the lines it was given; stops dead after `survive`.

    Reads lines of at most 60 characters.
    """

    longest_source = 60

    def __init__(self, folder: Path, survive: int = 10**9):
        spec = SimpleNamespace(digests={})
        self.loaded = SimpleNamespace(files=[folder / "model"], labels={}, spec=spec, seed=0)
        self.reranker = None
        self.decoder = TunedDecoder("beam", SearchDecoder(kind="beam"))
        self.rule, self.decoding = LengthRule(), Decoding("beam")
        self.survive, self.seen, self.oracle_length = survive, 0, False

    def encode(self, lines):
        return [list(map(ord, line)) for line in lines]

    def candidates(self, sources, report=None):
        self.seen += len(sources)
        if self.seen > self.survive:
            raise KeyboardInterrupt
        if report:
            report(len(sources))
        return sources

    def finish(self, sources, candidates):
        texts = ("".join(map(chr, ids)) for ids in candidates)
        return [SimpleNamespace(hypothesis=text.upper()) for text in texts]


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(teacher, "PART_LINES", 4)


LINES = [f"line {i}" for i in range(11)]


def make(tmp_path, **settings):
    write_lines(tmp_path / "model", ["weights"])
    return FakeTranslator(tmp_path, **settings)


def distilled(translator, folder, report=lambda count: None, bounds=(0, 11)):
    """The translations of some of `LINES`, from the parts in `folder`/parts."""
    if not (folder / "lines").exists():
        write_lines(folder / "lines", LINES)
    files = {path: sha256_file(path) for path in translator.files}
    parts, _ = distill(translator, files, Span(folder / "lines", *bounds), folder / "parts", report)
    return [line for part in parts for line in iter_lines(part)]


@pytest.mark.parametrize(("survive", "left"), [(0, 11), (3, 11), (4, 7), (8, 3), (10, 3)])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path, small_parts, survive, left):
    with pytest.raises(KeyboardInterrupt):
        distilled(make(tmp_path, survive=survive), tmp_path)
    again = make(tmp_path)
    done = []
    assert distilled(again, tmp_path, done.append) == [line.upper() for line in LINES]
    assert again.seen == left
    assert sum(done) == 11


OTHER_SETTINGS = {
    "rule": {"rule": LengthRule(1.0)},
    "weight": {"rule": LengthRule(0.0, 1.0)},
    "passes": {"decoding": Decoding("beam", 2)},
    "decoder": {"decoder": TunedDecoder("beam", SearchDecoder(kind="beam", beam=2))},
}


@pytest.mark.parametrize("other", [*OTHER_SETTINGS, "model", "text", "span"])
def test_parts_of_another_run_are_not_taken(tmp_path, small_parts, other):
    with pytest.raises(KeyboardInterrupt):
        distilled(make(tmp_path, survive=8), tmp_path)
    translator, bounds = make(tmp_path), (0, 11)
    vars(translator).update(OTHER_SETTINGS.get(other, {}))
    if other == "model":
        write_lines(tmp_path / "model", ["other weights"])
    if other == "text":
        write_lines(tmp_path / "lines", ["another", *LINES[1:]])
    if other == "span":
        bounds = (1, 11)
    distilled(translator, tmp_path, bounds=bounds)
    # Of the text only the part with the other line is new, beside the one that was not made.
    assert translator.seen == (4 + 3 if other == "text" else bounds[1] - bounds[0])


@pytest.mark.parametrize("survive", [10**9, 4])
def test_a_long_line_has_an_empty_translation_and_is_counted(
    command, tmp_path, small_parts, capsys, survive
):
    lines = ["x" * 61, *LINES[1:9], "x" * 60, "x" * 100]
    write_lines(tmp_path / "lines", lines)
    translator = make(tmp_path, survive=survive)
    if survive < 11:
        with pytest.raises(KeyboardInterrupt):
            command(translator, "--bundle", "b")
        translator = make(tmp_path)
    assert command(translator, "--bundle", "b") == 0
    expected = [line.upper() if len(line) <= 60 else "" for line in lines]
    assert read_lines(tmp_path / "out") == expected
    # Also where a part from before is taken.
    assert read_json(tmp_path / "out.provenance.json")["notes"] == {"lines_too_long": 2}
    told = "lines: 2 of 11 lines have more than the 60 tokens that fake reads"
    assert told in capsys.readouterr().err


def test_nothing_is_said_where_all_lines_fit(command, tmp_path, capsys):
    write_lines(tmp_path / "lines", ["a", ""])
    write_lines(tmp_path / "ready", ["A", "B"])
    for given in (("--bundle", "b"), ("--ready", tmp_path / "ready")):
        command(make(tmp_path), *given)
        assert not any(read_json(tmp_path / "out.provenance.json")["notes"].values())
        err = capsys.readouterr().err
        assert "more than" not in err and "empty" not in err


def test_empty_lines_of_ready_made_text_are_counted(command, tmp_path, capsys):
    write_lines(tmp_path / "lines", ["a", "b", "c", "d"])
    write_lines(tmp_path / "ready", ["A\r", "", " ", "D\r"])
    command(None, "--ready", tmp_path / "ready", "--shard", "2/2")
    assert read_lines(tmp_path / "out") == [" ", "D"]
    notes = {"lines_empty": 1, "carriage_returns_removed": 1}
    assert read_json(tmp_path / "out.provenance.json")["notes"] == notes
    removed, empty = capsys.readouterr().err.splitlines()
    assert "ready: removed a carriage return from 1 lines" in removed and "1 of 2 lines" in empty


@pytest.mark.parametrize("undone", [False, True])
def test_text_that_changes_meanwhile_is_refused(command, tmp_path, monkeypatch, undone):
    monkeypatch.setattr(teacher, "PART_LINES", 1_000)
    # More than is read ahead, and the same file all the time.
    lines = [f"line {i:045}" for i in range(4_000)]
    edited = [line.replace("line", "edit") for line in lines]

    def write(text):
        (tmp_path / "lines").write_text("".join(f"{line}\n" for line in text))

    class Edited(FakeTranslator):
        def encode(self, part):
            write(lines if undone and part[0].endswith("3000") else edited)
            return super().encode(part)

    write(lines)
    write_lines(tmp_path / "model", ["weights"])
    with pytest.raises(InputError, match="lines: changed while it was translated"):
        command(Edited(tmp_path), "--bundle", "b")
    assert not (tmp_path / "out").exists()
    # Parts of the edited text are not taken for those of the old one.
    write(lines)
    again = make(tmp_path)
    assert command(again, "--bundle", "b") == 0
    assert 0 < again.seen < 4_000
    assert read_lines(tmp_path / "out") == [line.upper() for line in lines]


def test_parts_are_of_the_teacher_that_was_loaded(tmp_path, small_parts):
    write_lines(tmp_path / "lines", LINES)
    old = make(tmp_path, survive=8)
    files = {path: sha256_file(path) for path in old.files}
    write_lines(tmp_path / "model", ["other weights"])
    with pytest.raises(KeyboardInterrupt):
        distill(old, files, Span(tmp_path / "lines", 0, 11), tmp_path / "parts", lambda count: None)
    new = FakeTranslator(tmp_path)
    distilled(new, tmp_path)
    assert new.seen == 11


@pytest.mark.parametrize("damage", ["short", "flipped", "text missing", "checksum missing"])
def test_a_damaged_part_is_translated_again_and_named(tmp_path, small_parts, capsys, damage):
    distilled(make(tmp_path), tmp_path)
    (part,) = (tmp_path / "parts").glob("*/000000004-*.txt")
    checksum = part.with_suffix(".sha256")
    if damage == "short":
        write_lines(part, ["LINE 4"])
    elif damage == "flipped":
        part.write_bytes(part.read_bytes().replace(b"LINE 5", b"LINE 4"))
    else:
        (part if damage == "text missing" else checksum).unlink()
    again = make(tmp_path)
    assert distilled(again, tmp_path) == [line.upper() for line in LINES]
    assert again.seen == 4
    said = f"{part}: damaged: its SHA-256 is not that of {checksum.name}; translated again\n"
    assert capsys.readouterr().err == (said if damage in ("short", "flipped") else "")
    third = make(tmp_path)
    distilled(third, tmp_path)
    assert third.seen == 0


@pytest.fixture
def command(tmp_path, monkeypatch):
    """`padir distill` with the stand-in for a model; its arguments follow."""
    spec = SimpleNamespace(training="fake", model_dump=lambda mode: {})
    loaded = SimpleNamespace(spec=spec, seed=0)
    monkeypatch.setattr(distill_command, "prepare", lambda threads: None)
    monkeypatch.setattr("padir.commands.options.open_bundle", lambda *arguments: loaded)
    monkeypatch.setattr("padir.decode.load.find_decoder", lambda *arguments: None)

    def call(translator, *arguments):
        monkeypatch.setattr("padir.commands.options.open_translator", lambda *a, **k: translator)
        source, out = tmp_path / "lines", tmp_path / "out"
        paths = ["--source", str(source), "--out", str(out)]
        return distill_command.main([*paths, *map(str, arguments)])

    return call


def test_a_given_work_folder_keeps_what_else_lies_in_it(command, tmp_path):
    write_lines(tmp_path / "lines", LINES)
    write_lines(tmp_path / "scratch" / "notes", ["mine"])
    assert command(make(tmp_path), "--bundle", "b", "--work", tmp_path / "scratch") == 0
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == ["notes"]
    assert read_lines(tmp_path / "out") == [line.upper() for line in LINES]


@pytest.mark.parametrize("moment", ["padir.files.write_lines", "padir.provenance.write_provenance"])
def test_no_part_is_lost_before_all_is_written(command, tmp_path, small_parts, monkeypatch, moment):
    write_lines(tmp_path / "lines", LINES)

    def killed(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(moment, killed)
        with pytest.raises(KeyboardInterrupt):
            command(make(tmp_path), "--bundle", "b")
    again = make(tmp_path)
    assert command(again, "--bundle", "b") == 0
    assert again.seen == 0
    assert read_lines(tmp_path / "out") == [line.upper() for line in LINES]
    assert not (tmp_path / "out.parts").exists()


def generated(path: Path, count: int) -> None:
    """Few different lines, so that what remembers lines by their text grows no further."""
    lines = [f"{i} a line of some forty characters {i % 7}" for i in range(100)]
    write_lines(path, (lines[i % 100] for i in range(count)))


def peak(work: Callable[[], object]) -> int:
    """Most bytes that were held at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("what", ["bundle", "ready", "card"])
def test_memory_does_not_grow_with_the_text(command, tmp_path, monkeypatch, what):
    monkeypatch.setattr(teacher, "PART_LINES", 200)
    monkeypatch.setattr("padir.score.bleu.BLOCK_SENTENCES", 200)
    translator = make(tmp_path)

    def bleu(aligned):
        return {"score": streamed_bleu_counts(aligned, "en").score(), "signature": "s"}

    def work():
        if what == "card":
            pair = tmp_path / "lines", tmp_path / "ready"
            describe("ar", "beam", pair, (pair[0], [pair[1]]), bleu)
        else:
            given = {"bundle": "b", "ready": tmp_path / "ready"}[what]
            command(translator, f"--{what}", given)

    # It takes more than some hundred lines do.
    monkeypatch.setattr("padir.provenance.write_provenance", lambda *given, **named: None)

    def peak_of(count):
        for name in ("lines", "ready"):
            generated(tmp_path / name, count)
        bytes_held = peak(work)
        if what != "card":
            assert sum(1 for _ in iter_lines(tmp_path / "out")) == count
        shutil.rmtree(tmp_path / "out.parts", ignore_errors=True)
        return bytes_held

    few, many = 500, 3_000 if what == "card" else 10_000
    # The first run loads modules and fills caches.
    peak_of(few)
    base = peak_of(few)
    # A held line takes over 90 bytes, every time; other threads may allocate, too, now and then.
    assert any(peak_of(many) - base < (many - few) * 45 for _ in range(2))


@pytest.mark.parametrize(("lines", "shards"), [(11, 3), (2, 5), (0, 2), (7, 1), (10, 6)])
def test_shards_in_order_are_all_lines_once(lines, shards):
    bounds = [teacher.shard_bounds(lines, i, shards) for i in range(1, shards + 1)]
    assert [line for start, end in bounds for line in range(start, end)] == list(range(lines))
    sizes = [end - start for start, end in bounds]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    "text", ["0/2", "3/2", "1", "1/", "a/b", "-1/2", "1/2/3", "²/3", "١/٣", f"1/{'9' * 5_001}"]
)
def test_a_text_that_is_no_shard_is_refused(text):
    with pytest.raises(InputError, match="i/n is needed") as refused:
        teacher.parse_shard(text)
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize("text", ["1/1", "12/12", "7/123456789"])
def test_a_shard_is_read_as_its_two_numbers(text):
    assert "/".join(map(str, teacher.parse_shard(text))) == text
