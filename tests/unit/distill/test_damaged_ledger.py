"""Damage to a ledger: it is named, nothing is changed, and nothing is bought again."""

import random
import sqlite3
from collections import Counter

import pytest

from padir.distill import owners
from padir.distill.ledger import Ledger
from padir.distill.ledger_reader import TABLES, LedgerReader
from padir.distill.packing import text_digest
from padir.files import InputError
from tests.unit.distill.test_ledger import FREE, TASK, all_digests, lines_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_a_damaged_ledger_is_named_and_left_as_it_is(path):
    with Ledger(path) as ledger:
        for start in range(0, 600, 100):
            lines = lines_of(*(f"{n}" for n in range(start, start + 100)))
            claim = ledger.claim(TASK, lines, FREE)
            ledger.finish(claim.request, claim.lines, ["text " * 10] * 100)
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[8192:16384] = b"\x5a" * 8192
    for content in (bytes(damaged), b"no database, but long enough to look like one" * 50):
        path.write_bytes(content)
        with pytest.raises(
            InputError, match=r"ledger\.sqlite: the ledger is damaged \(.*left as"
        ) as refusal:
            Ledger(path)
        assert "\n" not in str(refusal.value)
        assert path.read_bytes() == content
    path.write_bytes(whole)
    with Ledger(path) as ledger:
        assert ledger.spent("somebody").usd > 0


def filled(path):
    """A ledger with three translations; their lines."""
    lines = lines_of("eins", "zwei", "drei")
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines, FREE)
        ledger.finish(claim.request, claim.lines, ["the first one", "the second one", "three"])
    return lines


@pytest.mark.parametrize(("place", "bit"), [(-1, 1), (-1, 0x80), (31, 1)])
def test_a_flipped_bit_is_named_and_nothing_is_bought_again(path, place, bit):
    lines = filled(path)
    content = bytearray(path.read_bytes())
    # A row's digest and text lie side by side: bits of the text, one that spoils its UTF-8, and
    # one of the digest.
    row = text_digest("zwei") + b"the second one"
    content[content.index(row) + place % len(row)] ^= bit
    path.write_bytes(content)
    named = rf"ledger\.sqlite: the translation of the text with SHA-256 {text_digest('zwei').hex()}"
    with Ledger(path) as ledger:
        number = ledger.task(TASK)
        for ask in (
            lambda: ledger.claim(TASK, [*lines, *lines_of("vier")], FREE),
            lambda: ledger.known(number, all_digests(lines)),
            lambda: ledger.translations(number, all_digests(lines)),
        ):
            with pytest.raises(InputError, match=named):
                ask()
        assert len(ledger.translations(number, all_digests([lines[0], lines[2]]))) == 2
    with LedgerReader(path) as reader, pytest.raises(InputError, match=named):
        reader.known(number, all_digests(lines))
    assert path.read_bytes() == bytes(content)


def test_a_page_of_translations_that_is_damaged_stops_the_ledger_when_it_is_opened(path):
    filled(path)
    content = bytearray(path.read_bytes())
    place = content.index(b"the second one")
    # What kind of page it is.
    content[place - place % 4096] = 0x5A
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"ledger\.sqlite: the ledger is damaged \("):
        Ledger(path)
    assert path.read_bytes() == bytes(content)


def test_a_translation_without_its_checksum_is_named(path):
    lines = filled(path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM checksums WHERE digest = ?", (text_digest("zwei"),))
    db.close()
    with LedgerReader(path) as reader, pytest.raises(InputError, match="is damaged"):
        reader.known(1, all_digests(lines))


def test_translations_that_changed_places_are_named(path):
    lines = filled(path)
    with sqlite3.connect(path) as db:
        for column, table in (("text", "translations"), ("checksum", "checksums")):
            query = f"SELECT {column} FROM {table} WHERE digest = ?"
            (here,), (there,) = (db.execute(query, (line.digest,)).fetchone() for line in lines[:2])
            change = f"UPDATE {table} SET {column} = ? WHERE digest = ?"
            db.executemany(change, [(there, lines[0].digest), (here, lines[1].digest)])
    db.close()
    with LedgerReader(path) as reader, pytest.raises(InputError, match="is damaged"):
        reader.known(1, all_digests(lines))


def answers(path, lines):
    """All that a ledger is asked, open for reading and for writing."""
    with LedgerReader(path) as reader:
        number = reader.find_task(TASK)
        told = (
            number,
            reader.has_translations(number or 0),
            reader.translations(number or 0, all_digests(lines)),
            reader.left_out(number or 0),
            reader.spent(TASK.provider),
        )
    with Ledger(path) as ledger:
        number = ledger.task(TASK)
        return (
            *told,
            ledger.translations(number, all_digests(lines)),
            ledger.spent(TASK.provider),
            ledger._spent(TASK.provider),
            ledger.claim(TASK, lines, FREE),
        )


def test_none_of_300_flipped_bits_is_accepted_silently(path, monkeypatch):
    """Of the bytes that hold something: named in one line, or of no consequence for any answer."""
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**16,))
    lines = lines_of(*(f"Satz {n}" for n in range(40)))
    with Ledger(path) as ledger:
        for start in range(0, 40, 10):
            claim = ledger.claim(TASK, lines[start : start + 10], FREE)
            texts = [f"sentence {line.number}" for line in claim.lines]
            ledger.finish(claim.request, claim.lines, texts)
        ledger.doubt(ledger.claim(TASK, lines_of("a" * 100), FREE).request)
    whole = path.read_bytes()
    expected = answers(path, lines)
    held = [place for place, byte in enumerate(whole) if byte]
    generator, outcomes = random.Random(18), Counter()
    for _ in range(300):
        place, bit = generator.choice(held), generator.randrange(8)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.with_name("ledger.sqlite-journal").unlink(missing_ok=True)
        path.write_bytes(damaged)
        try:
            accepted = answers(path, lines)
        except InputError as error:
            assert "\n" not in str(error) and str(error).isprintable(), (place, bit)
            outcomes["named"] += 1
        else:
            assert accepted == expected, f"bit {bit} of byte {place}"
            outcomes["of no consequence"] += 1
    assert outcomes.total() == 300 and outcomes["named"] > 150, outcomes


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ("UPDATE tasks SET model = 'other'", "task 1 is not as it was written"),
        ("UPDATE tasks SET id = 2", "task 1 is missing"),
        ("DELETE FROM tasks", "task 1 is missing"),
        ("UPDATE requests SET characters = 1", "requests and their sums differ"),
        ("DELETE FROM requests", "requests and their sums differ"),
        ("UPDATE sums SET characters = 0", "requests and their sums differ"),
        ("UPDATE sums SET usd_per_million = 1.0", "requests and their sums differ"),
        ("DELETE FROM sums", "requests and their sums differ"),
        ("DELETE FROM checksums", "task 1 is not as it was written"),
        *((f"DROP TABLE {name}", f"table {name} is missing") for name in sorted(TABLES)),
    ],
)
def test_what_would_be_bought_again_or_forgotten_is_named(path, edit, reason):
    filled(path)
    with sqlite3.connect(path) as db:
        db.execute(edit)
    db.close()
    content = path.read_bytes()
    for opened in (Ledger, LedgerReader):
        with pytest.raises(InputError, match=rf"the ledger is damaged \({reason}\); it was left"):
            opened(path)
    assert path.read_bytes() == content
