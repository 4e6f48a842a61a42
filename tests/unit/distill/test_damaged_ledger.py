"""Damage to a ledger: it is named, nothing is changed, and nothing is bought again."""

import sqlite3

import pytest

from padir.distill.ledger import Ledger
from padir.distill.ledger_reader import LedgerReader
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
        ) as found:
            Ledger(path)
        assert "\n" not in str(found.value)
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


def test_a_ledger_without_checksums_is_readable_and_gets_them(path):
    lines = filled(path)
    with sqlite3.connect(path) as old:
        old.execute("DROP TABLE checksums")
    old.close()
    with LedgerReader(path) as reader:
        assert len(reader.translations(1, all_digests(lines))) == 3
    with Ledger(path) as ledger:
        assert len(ledger.translations(1, all_digests(lines))) == 3
        assert ledger._db.execute("SELECT count(*) FROM checksums").fetchone() == (3,)
