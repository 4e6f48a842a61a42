"""The ledger: what it promises when processes die, share it, or the disk is full."""

import fcntl
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from padir.distill import owners
from padir.distill.ledger import Ledger, LimitReached, Limits
from padir.distill.ledger_reader import DiskFull, LedgerReader, Task
from padir.distill.packing import Line, text_digest
from padir.files import InputError
from padir.locks import try_lock
from tests.required import in_namespaces

TASK = Task("somebody", "some/model", "de", "en")
FREE = Limits(usd=1e9, usd_per_million=10.0, characters_per_minute=10**9)


def lines_of(*texts):
    return [Line(n, text, text_digest(text)) for n, text in enumerate(texts, start=1)]


@pytest.fixture(autouse=True)
def little_room(monkeypatch):
    monkeypatch.setattr(owners, "RESERVED_BYTES", 2**16)
    monkeypatch.setattr(owners.Owner.__init__, "__defaults__", (2**16,))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "ledger.sqlite"


def all_digests(lines):
    return [line.digest for line in lines]


def test_finished_translations_survive_reopening_the_ledger(path):
    lines = lines_of("eins", "zwei")
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines, FREE)
        assert claim.lines == tuple(lines)
        ledger.finish(claim.request, claim.lines, ["one", "two\nlines"])
        # Every commit and its journal are synced: EXTRA.
        assert ledger._db.execute("PRAGMA synchronous").fetchone() == (3,)
    with Ledger(path) as ledger:
        number = ledger.task(TASK)
        translations = ledger.translations(number, all_digests(lines_of("zwei", "drei", "eins")))
        assert translations == {text_digest("eins"): "one", text_digest("zwei"): "two\nlines"}
        assert ledger.known(number, all_digests(lines)) == set(all_digests(lines))
        assert ledger.claim(TASK, lines, FREE).request is None
        assert ledger.spent("somebody") == (pytest.approx(8e-5), 0, 0.0)
    assert [entry.name for entry in path.parent.iterdir()] == ["ledger.sqlite"]


@pytest.mark.parametrize("field", ["provider", "model", "source", "target"])
def test_another_provider_model_or_language_is_another_translation(path, field):
    lines = lines_of("eins")
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines, FREE)
        ledger.finish(claim.request, claim.lines, ["one"])
        other = TASK._replace(**{field: "other"})
        assert ledger.known(ledger.task(other), all_digests(lines)) == set()
        assert ledger.claim(other, lines, FREE).lines == tuple(lines)


def test_a_refused_request_costs_nothing_and_a_doubtful_one_its_price(path):
    lines = lines_of("a" * 100)
    with Ledger(path) as ledger:
        ledger.refuse(ledger.claim(TASK, lines, FREE).request)
        assert ledger.spent("somebody") == (0.0, 0, 0.0)
        ledger.doubt(ledger.claim(TASK, lines, FREE).request)
        assert ledger.spent("somebody") == (pytest.approx(1e-3), 100, pytest.approx(1e-3))
        claim = ledger.claim(TASK, lines, FREE)
        assert claim.lines == tuple(lines)
        assert ledger.spent("somebody").usd == pytest.approx(2e-3)
        ledger.finish(claim.request, claim.lines, ["b"])
        assert ledger.spent("somebody") == (pytest.approx(2e-3), 100, pytest.approx(1e-3))


def test_lines_in_flight_are_not_sent_by_another_process(path):
    ours, theirs = lines_of("eins", "zwei"), lines_of("zwei", "drei")
    with Ledger(path) as first, Ledger(path) as second:
        claim = first.claim(TASK, ours, FREE)
        again = first.claim(TASK, ours, FREE)
        assert (again.request, again.elsewhere) == (None, False)
        other = second.claim(TASK, theirs, FREE)
        assert [line.text for line in other.lines] == ["drei"]
        assert other.elsewhere
        first.finish(claim.request, claim.lines, ["one", "two"])
        last = second.claim(TASK, theirs, FREE)
        assert (last.request, last.elsewhere) == (None, False)


DIE = """
import os, signal, sys
from pathlib import Path
from padir.distill.ledger import Ledger, Limits
from padir.distill.ledger_reader import Task
from padir.distill.packing import Line, text_digest
ledger = Ledger(Path(sys.argv[1]))
lines = [Line(1, "eins", text_digest("eins")), Line(2, "zwei", text_digest("zwei"))]
ledger.claim(Task("somebody", "some/model", "de", "en"), lines, Limits(1.0, 10.0, 10**9))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_in_flight_requests_of_a_killed_process_become_doubtful_and_are_sent_again(path):
    done = subprocess.run([sys.executable, "-c", DIE, str(path)], check=False)
    assert done.returncode == -9
    (left,) = (e for e in path.parent.iterdir() if ".owner-" in e.name)
    before = state_of(path.parent)
    # Read before anybody wrote it down, which leaves the dead one's file where it is.
    with LedgerReader(path) as reader:
        assert reader.spent("somebody") == (pytest.approx(8e-5), 8, pytest.approx(8e-5))
    assert state_of(path.parent) == before
    with Ledger(path) as ledger:
        ledger.settle()
        assert ledger.spent("somebody") == (pytest.approx(8e-5), 8, pytest.approx(8e-5))
        assert ledger.claim(TASK, lines_of("eins"), FREE).lines == tuple(lines_of("eins"))
    assert not left.exists()


def test_in_flight_requests_of_a_live_process_are_not_doubtful_to_readers(path):
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines_of("eins"), FREE)
        assert ledger.spent("somebody") == (pytest.approx(4e-5), 0, 0.0)
        with LedgerReader(path) as reader, LedgerReader(path) as other:
            assert reader.spent("somebody") == (pytest.approx(4e-5), 0, 0.0)
            assert other.spent("somebody") == reader.spent("somebody")
        ledger.finish(claim.request, claim.lines, ["one"])


def test_requests_of_dead_processes_block_nobody(path):
    subprocess.run([sys.executable, "-c", DIE, str(path)], check=False)
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines_of("eins", "drei"), FREE)
        assert [line.text for line in claim.lines] == ["eins", "drei"]
        assert ledger.spent("somebody").doubt_characters == 8


def test_the_limit_holds_for_all_that_was_ever_sent(path):
    limits = Limits(usd=1.0, usd_per_million=1e4, characters_per_minute=10**9)
    with Ledger(path) as ledger:
        ledger.claim(TASK, lines_of("a" * 60), limits)
        with pytest.raises(LimitReached, match=r"max_usd is 1\.00: 0\.60 USD .* make that 1\.01"):
            ledger.claim(TASK._replace(source="fr"), lines_of("b" * 41), limits)
        close = limits._replace(usd=1.00999)
        with pytest.raises(LimitReached, match=r"max_usd is 1\.00999: .* make that 1\.01000 USD"):
            ledger.claim(TASK, lines_of("b" * 41), close)
        assert ledger.claim(TASK._replace(source="fr"), lines_of("b" * 40), limits).request
        # What another provider costs is another matter.
        assert ledger.claim(TASK._replace(provider="x"), lines_of("b" * 100), limits).request


def test_the_limit_holds_for_processes_at_once(path):
    limits = Limits(usd=1.0, usd_per_million=1e4, characters_per_minute=10**9)

    def spend(start):
        with Ledger(path) as ledger:
            sent = 0
            for n in range(20):
                try:
                    claim = ledger.claim(TASK, lines_of(f"{start + n:07d}"), limits)
                except LimitReached:
                    continue
                ledger.finish(claim.request, claim.lines, ["x"])
                sent += 1
            return sent

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(0, 400, 100))) == 100 // 7
    with Ledger(path) as ledger:
        assert ledger.spent("somebody").usd == pytest.approx(0.98)


def test_two_processes_under_one_limit_do_not_both_start_what_only_one_can_end(path):
    limits = Limits(usd=1.0, usd_per_million=1e4, characters_per_minute=10**9)
    with Ledger(path) as first, Ledger(path) as second:
        first.reserve("somebody", 0.7, limits)
        wait = r"1\.10 USD in all are needed, 0\.00 of them spent already and 0\.70 reserved"
        with pytest.raises(LimitReached, match=wait + ".*run the same command"):
            second.reserve("somebody", 0.4, limits)
        # The limit holds for requests without a reservation, too, and other providers are free.
        with pytest.raises(LimitReached, match=r"0\.70 USD are spent or reserved"):
            second.claim(TASK, lines_of("b" * 31), limits)
        second.reserve("other", 1.0, limits)
        second.reserve("somebody", 0.3, limits)
        for letter in "cdefghi":
            claim = first.claim(TASK, lines_of(letter * 10), limits)
            first.finish(claim.request, claim.lines, ["x"])
        # What is spent of a reservation is no longer reserved.
        assert first._db.execute("SELECT sum(usd) FROM reservations").fetchone()[0] == (
            pytest.approx(0.3)
        )
        assert second.claim(TASK, lines_of("j" * 30), limits).request
        with pytest.raises(LimitReached):
            first.claim(TASK, lines_of("k"), limits)


def test_the_reservation_of_a_killed_process_does_not_count(path):
    limits = Limits(usd=1.0, usd_per_million=1e4, characters_per_minute=10**9)
    code = (
        "import os, sys; from pathlib import Path; from padir.distill.ledger import *;"
        "Ledger(Path(sys.argv[1])).reserve('somebody', 0.9, Limits(1.0, 1e4, 10**9));"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with Ledger(path) as ledger:
        assert ledger._db.execute("SELECT usd FROM reservations").fetchall() == [(0.9,)]
        (left,) = path.parent.glob("*.owner-*")
        # Another process, which asks at the same moment.
        with open(left) as asking:
            assert try_lock(asking.fileno(), fcntl.LOCK_SH, path.parent)
            ledger.reserve("somebody", 1.0, limits)
        assert not left.exists()


def test_a_minute_s_budget_is_shared_and_a_large_request_waits_only_for_its_turn(path):
    now = [1000.0]
    limits = Limits(usd=1e9, usd_per_million=1.0, characters_per_minute=100)
    with Ledger(path, clock=lambda: now[0]) as first, Ledger(path, clock=lambda: now[0]) as second:
        assert first.claim(TASK, lines_of("a" * 60), limits).request
        now[0] += 20
        assert second.claim(TASK, lines_of("b" * 40), limits).request
        now[0] += 10
        waits = first.claim(TASK, lines_of("c"), limits)
        # A minute, and the time that a request may be on its way.
        assert (waits.request, waits.wait) == (None, pytest.approx(35.0))
        now[0] += 35.5
        assert first.claim(TASK, lines_of("c" * 60), limits).request
        assert second.claim(TASK, lines_of("d"), limits).wait == pytest.approx(19.5)
        now[0] += 100
        assert second.claim(TASK, lines_of("e" * 150), limits).request
        assert first.claim(TASK._replace(provider="x"), lines_of("e" * 100), limits).request


def test_a_full_disk_before_the_call_stops_it_and_after_it_loses_nothing(path):
    lines = lines_of("eins", "zwei")
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines, FREE)
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages}")
        # SQLite now says what it says on a full disk; the reserve is what makes room again.
        reserve, ledger._owner.give_up_room = (
            ledger._owner.give_up_room,
            lambda: (
                reserve(),
                ledger._db.execute("PRAGMA max_page_count = 100000"),
            ),
        )
        with pytest.raises(DiskFull, match=r"ledger\.sqlite: the disk is full; make room"):
            ledger.finish(claim.request, claim.lines, ["x" * 50_000, "y"])
        assert ledger._owner.path.stat().st_size == 0
        assert len(ledger.translations(ledger.task(TASK), all_digests(lines))) == 2
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages}")
        many = lines_of(*map(str, range(1000)))
        with pytest.raises(DiskFull):
            ledger.claim(TASK, many, FREE)
        ledger._db.execute("PRAGMA max_page_count = 100000")
        assert ledger.claim(TASK, many, FREE).lines == tuple(many)


SMALL_DISK = """
import subprocess, sys
from pathlib import Path
place = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(place)], check=True)
from padir.distill import owners
owners.Owner.__init__.__defaults__ = (2**17,)
from padir.distill.ledger import Ledger, Limits
from padir.distill.ledger_reader import DiskFull, Task
from padir.distill.packing import Line, text_digest
lines = [Line(n, f"{n:04d}", text_digest(f"{n:04d}")) for n in range(10)]
task, limits = Task("somebody", "some/model", "de", "en"), Limits(1.0, 10.0, 10**9)
with Ledger(place / "ledger.sqlite") as ledger:
    claim = ledger.claim(task, lines, limits)
    with (place / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 512)
        except OSError:
            pass
    try:
        ledger.finish(claim.request, claim.lines, ["t" * 4000] * 10)
    except DiskFull as error:
        print(error)
with Ledger(place / "ledger.sqlite") as ledger:
    print(len(ledger.known(ledger.task(task), [line.digest for line in lines])))
    try:
        more = [Line(n, "x" * 30000, text_digest(str(n))) for n in range(1000)]
        ledger.claim(task, more, limits)
    except DiskFull as error:
        print(error)
"""


def test_a_disk_that_is_really_full_takes_what_was_paid_for(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    program = [*in_namespaces("--mount"), sys.executable, "-c", SMALL_DISK, str(place)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, known, second = done.stdout.splitlines()
    assert "the disk is full" in first
    assert known == "10"
    assert "No space left on device; nothing was sent" in second


def test_other_databases_and_later_versions_are_refused(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()
    with pytest.raises(InputError, match=r"ledger\.sqlite: a SQLite file, but no ledger of padir"):
        Ledger(path)
    path.unlink()
    Ledger(path).close()
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 2")
    later.close()
    with pytest.raises(InputError, match=r"a ledger of version 2; this padir reads 1"):
        Ledger(path)


def test_a_folder_in_the_ledger_s_place_is_an_error_in_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot use the ledger: unable to open"):
        Ledger(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write: (Not a directory|File exists)"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


# Reading


def state_of(folder):
    """Names, content and times of all that lies in a folder, and the folder's own time."""
    files = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    return files, folder.stat().st_mtime_ns


def test_a_reader_says_what_the_ledger_says_and_changes_nothing(path):
    lines = lines_of("eins", "zwei")
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines, FREE)
        ledger.finish(claim.request, claim.lines, ["one", "two"])
        ledger.doubt(ledger.claim(TASK, lines_of("drei"), FREE).request)
    before = state_of(path.parent)
    with LedgerReader(path) as reader:
        number = reader.find_task(TASK)
        assert reader.known(number, all_digests(lines_of("eins", "drei"))) == {text_digest("eins")}
        assert reader.spent("somebody") == (pytest.approx(12e-5), 4, pytest.approx(4e-5))
        assert reader.find_task(TASK._replace(target="fr")) is None
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._db.execute("DELETE FROM requests")
    assert state_of(path.parent) == before


def test_a_reader_refuses_what_is_no_ledger(path, tmp_path):
    with pytest.raises(InputError, match="cannot use the ledger: unable to open"):
        LedgerReader(path)
    assert not path.parent.exists()
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"no database, but long enough to look like one" * 50)
    with pytest.raises(InputError, match=r"damaged\.sqlite: the ledger is damaged"):
        LedgerReader(damaged)


def test_a_ledger_left_in_the_middle_of_a_write_says_what_to_do(path):
    with Ledger(path) as ledger:
        claim = ledger.claim(TASK, lines_of("eins"), FREE)
        ledger.finish(claim.request, claim.lines, ["one"])
    # What a kill leaves: a journal of what the file held before.
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA cache_spill = 1")
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE translations SET text = 'x'")
    rows = [(1, bytes([n]), "y" * 4000) for n in range(100)]
    writer.executemany("INSERT INTO translations VALUES (?, ?, ?, 1)", rows)
    left = path.with_name("left")
    left.mkdir()
    for name in (path.name, f"{path.name}-journal"):
        shutil.copy(path.with_name(name), left / name)
    writer.close()
    before = state_of(left)
    with pytest.raises(InputError, match="was killed while it wrote; padir distill-cloud puts"):
        LedgerReader(left / path.name)
    assert state_of(left) == before
    with Ledger(left / path.name) as ledger:
        translations = ledger.translations(ledger.task(TASK), all_digests(lines_of("eins")))
        assert translations == {text_digest("eins"): "one"}
    LedgerReader(left / path.name).close()
