"""The work folder: damage is noticed, transient errors change nothing, restarts are recorded."""

import builtins
import errno
import json
import os
import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from padir.checksums import write_with_checksum
from padir.files import InputError, read_jsonl
from padir.training.checkpoints import WorkFolder
from padir.training.step import TrainState
from padir.training.storage import DamagedRecord, read_record

IDENTITY = {"seed": 0}
ARRAYS = {"w": np.arange(64, dtype=np.float32)}


def state(step: int) -> TrainState:
    # Large and random, so that the values lie in a file of their own.
    weights = np.random.default_rng(step).normal(size=(64, 64)).astype(np.float32)
    return TrainState({"w": jnp.asarray(weights)}, (), jnp.asarray(step, jnp.int32))


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A folder with checkpoints of steps 4 and 8 and candidates of steps 3 and 7."""
    folder = tmp_path_factory.mktemp("template") / "work"
    with WorkFolder(folder, IDENTITY) as work:
        for step in (3, 4, 7, 8):
            if step % 4:
                work.add_candidate(step, 10.0 - step, ARRAYS, keep=2)
            else:
                work.save(step, state(step), {"sums": [float(step)]})
            work.add_metrics({"step": step, "valid_loss": 10.0 - step})
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "work")


def restored(folder: Path) -> int | None:
    """Step of the restored checkpoint."""
    with WorkFolder(folder, IDENTITY) as work:
        resumed = work.restore(state(0))
        if resumed is None:
            return None
        step = int(resumed.step)
        leaves = jax.tree.leaves(resumed), jax.tree.leaves(state(step))
        for leaf, saved in zip(*leaves, strict=True):
            np.testing.assert_array_equal(leaf, saved)
        recorded = (folder / "saved" / f"{step}.json").exists()
        assert work.progress(step) == ({"sums": [float(step)]} if recorded else {})
        return step


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 8
    path.write_bytes(content)


def files_of(folder: Path, step: int) -> list[Path]:
    return sorted(p for p in (folder / "checkpoints" / str(step)).rglob("*") if p.is_file())


def content(folder: Path) -> dict[str, bytes]:
    """Every file but the empty lock."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_newest_checkpoint_is_restored(folder: Path) -> None:
    assert restored(folder) == 8
    assert restored(folder.parent / "fresh") is None


@pytest.mark.parametrize("damage", [truncate, flip, os.unlink])
def test_damage_to_any_file_leads_to_the_older_checkpoint(folder, tmp_path, capsys, damage):
    victims = [path for path in files_of(folder, 8) if path.stat().st_size]
    assert len(victims) >= 4
    for number, victim in enumerate(victims):
        copy = shutil.copytree(folder, tmp_path / str(number))
        damage(copy / victim.relative_to(folder))
        assert restored(copy) == 4, victim
        message = capsys.readouterr().err
        assert "checkpoint 8 cannot be used: checkpoints/8/" in message
        assert message.endswith("moved to unreadable, training resumes from step 4\n")
        assert (copy / "unreadable" / "8").is_dir()
        assert restored(copy) == 4


def empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("damage", [truncate, empty, os.unlink])
def test_a_damaged_checkpoint_without_digests_is_passed_over(folder, tmp_path, damage):
    """As left by a kill between checkpoint and digests.

    Orbax itself notices damage of the files that it reads; others do not matter.
    """
    (folder / "saved" / "8.json").unlink()
    steps = []
    for number, victim in enumerate(p for p in files_of(folder, 8) if p.parent.name == "d"):
        copy = shutil.copytree(folder, tmp_path / str(number))
        damage(copy / victim.relative_to(folder))
        steps.append(restored(copy))
    assert set(steps) == {4, 8} and steps.count(4) >= 2


def test_a_missing_checkpoint_and_a_damaged_record_are_noticed(folder, capsys) -> None:
    (folder / "saved" / "8.json").write_text("{")
    assert restored(folder) == 4
    assert "saved/8.json is damaged" in capsys.readouterr().err
    shutil.rmtree(folder / "checkpoints" / "4")
    with pytest.raises(InputError, match=r"no checkpoint can be read \(4: .* is missing\)"):
        restored(folder)


def test_without_a_whole_checkpoint_every_call_fails_and_nothing_moves(folder: Path) -> None:
    for step in (4, 8):
        for path in files_of(folder, step):
            path.write_bytes(b"not a checkpoint")
    before = content(folder)
    for _ in range(3):
        with pytest.raises(InputError, match=r"no checkpoint can be read .*train --restart"):
            restored(folder)
    assert content(folder) == before


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.ESTALE, errno.EACCES])
def test_a_transient_error_moves_nothing(folder: Path, monkeypatch, code: int) -> None:
    before = content(folder)
    real_open = builtins.open

    def failing_open(path, *arguments, **options):
        if "checkpoints/8" in str(path):
            raise OSError(code, os.strerror(code), str(path))
        return real_open(path, *arguments, **options)

    for digests in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(builtins, "open", failing_open)
            with pytest.raises(InputError, match=rf"\A.*{os.strerror(code)}; nothing was .*\Z"):
                restored(folder)
        assert content(folder) == before
        if digests:
            (folder / "saved" / "8.json").unlink()
            before.pop("saved/8.json")


def test_a_damaged_candidate_leads_to_the_checkpoint_before_it(folder: Path, capsys) -> None:
    flip(folder / "candidates" / "7.safetensors")
    with WorkFolder(folder, IDENTITY) as work:
        with pytest.raises(InputError, match=r"7\.safetensors: damaged"):
            work.candidate(7)
        np.testing.assert_array_equal(work.candidate(3)["w"], ARRAYS["w"])
    assert restored(folder) == 4
    assert "candidates/7.safetensors, which it needs, is damaged" in capsys.readouterr().err
    truncate(folder / "candidates" / "3.safetensors")
    with pytest.raises(InputError, match="no checkpoint can be read"):
        restored(folder)


def test_a_missing_candidate_leads_to_the_checkpoint_before_it(folder: Path, capsys) -> None:
    for path in (folder / "candidates").glob("7.*"):
        path.unlink()
    assert restored(folder) == 4
    assert "candidates/7.json, which it needs, is missing" in capsys.readouterr().err


def test_a_dropped_candidate_that_came_back_can_be_missing(folder: Path, capsys) -> None:
    (folder / "candidates/7.dropped").touch()
    with WorkFolder(folder, IDENTITY) as work:
        work.add_candidate(7, 3.0, ARRAYS, keep=2)
    (folder / "candidates/7.json").unlink()
    assert restored(folder) == 4
    assert "candidates/7.json, which it needs, is missing" in capsys.readouterr().err


def test_a_candidate_that_a_better_one_replaced_is_not_missing(folder: Path) -> None:
    with WorkFolder(folder, IDENTITY) as work:
        work.add_candidate(9, 1.0, ARRAYS, keep=2)
        assert list(work.candidates()) == [7, 9]
    # Killed here, and again after it resumed.
    for _ in range(2):
        assert restored(folder) == 8
        with WorkFolder(folder, IDENTITY) as work:
            work.forget_after(8)
            assert list(work.candidates()) == [7]


def test_of_equal_losses_the_earlier_candidate_is_kept(tmp_path: Path) -> None:
    with WorkFolder(tmp_path / "work", IDENTITY) as work:
        for step, loss in ((3, 2.0), (7, 1.0), (9, 1.0), (12, 2.0)):
            work.add_candidate(step, loss, ARRAYS, keep=2)
        assert work.candidates() == {7: 1.0, 9: 1.0}
        work.add_candidate(14, 1.0, ARRAYS, keep=2)
        assert work.candidates() == {7: 1.0, 9: 1.0}
        work.add_candidate(15, 0.5, ARRAYS, keep=2)
        assert work.candidates() == {7: 1.0, 15: 0.5}


def test_a_work_folder_that_does_not_record_its_candidates_is_read(folder: Path) -> None:
    for path in (folder / "saved").glob("*.json"):
        record = read_record(path)
        del record["candidates"]
        write_with_checksum(path, record)
    assert restored(folder) == 8


def test_a_candidate_of_a_checkpoint_s_own_step_is_part_of_it(folder: Path) -> None:
    with WorkFolder(folder, IDENTITY) as work:
        work.add_candidate(8, 1.0, ARRAYS, keep=3)
        work.forget_after(8)
        assert list(work.candidates()) == [3, 7, 8]
    assert [line["step"] for line in read_jsonl(folder / "metrics.jsonl")] == [3, 4, 7, 8]
    flip(folder / "candidates" / "8.safetensors")
    assert restored(folder) == 4


def test_a_damaged_record_of_a_candidate_is_damage_of_the_candidate(folder, capsys) -> None:
    record = folder / "candidates" / "7.json"
    record.write_text(record.read_text().replace('"loss": 3.0', '"loss": 3.5'))
    with WorkFolder(folder, IDENTITY) as work, pytest.raises(InputError, match=r"7\.json: damaged"):
        work.candidate(7)
    assert restored(folder) == 4
    assert "candidates/7.json, which it needs, is damaged" in capsys.readouterr().err
    with WorkFolder(folder, IDENTITY) as work:
        work.forget_after(4)
        assert work.candidates() == {3: 7.0}


def test_no_flipped_bit_of_a_record_changes_what_is_read(template: Path, monkeypatch) -> None:
    """Every bit: the record is refused, or says what it said before."""
    records = [template / name for name in ("identity.json", "candidates/7.json", "saved/8.json")]
    for record in records:
        content, written = record.read_bytes(), read_record(record)
        damaged = bytearray(content)
        monkeypatch.setattr("padir.files.read_bytes", lambda path, damaged=damaged: bytes(damaged))
        refused = 0
        for bit in range(8 * len(content)):
            damaged[bit // 8] ^= 1 << bit % 8
            try:
                assert read_record(record) == written, (record, bit)
            except DamagedRecord:
                refused += 1
            damaged[bit // 8] ^= 1 << bit % 8
        monkeypatch.undo()
        assert refused > 0.99 * 8 * len(content)


@pytest.mark.parametrize("name", ["identity.json", "candidates/7.json", "saved/8.json"])
def test_a_record_without_its_checksum_is_damaged(folder: Path, name: str) -> None:
    record = json.loads((folder / name).read_text())
    del record["checksum"]
    (folder / name).write_text(json.dumps(record))
    with pytest.raises(DamagedRecord, match=rf"{name}: damaged; run the command again"):
        read_record(folder / name)


def test_a_damaged_line_of_metrics_is_named(folder: Path) -> None:
    metrics = folder / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace('"step": 4', '"stap": 4'))
    damaged = pytest.raises(InputError, match=r"metrics\.jsonl: line 2: damaged.*--restart` starts")
    with WorkFolder(folder, IDENTITY) as work, damaged:
        work.forget_after(8)
    with WorkFolder(folder, IDENTITY, restart=True) as work:
        work.forget_after(8)
        assert work.restarts == 1


def test_a_restart_is_asked_for_and_recorded(folder: Path) -> None:
    for number in (1, 2):
        with WorkFolder(folder, IDENTITY, restart=True) as work:
            assert work.restore(state(0)) is None
            assert work.candidates() == {} and work.progress(8) == {}
            work.forget_after(0)
            assert work.restarts == number
        (line,) = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
        assert line == {"step": 0, "seconds": 0.0, "cpu_seconds": 0.0, "restarts": number}
    with WorkFolder(folder.parent / "fresh", IDENTITY, restart=True) as work:
        assert work.restarts == 0


def test_what_a_kill_left_of_a_file_that_is_not_written_again_is_removed(folder, monkeypatch):
    """Killed between a checkpoint and its record: the next start has the checkpoint."""
    with WorkFolder(folder, IDENTITY) as work:
        replace = Path.replace

        def killed(self, target):
            if "sha256" in self.read_text():
                raise KeyboardInterrupt
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", killed)
        # A process that is killed removes nothing.
        monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        with pytest.raises(KeyboardInterrupt):
            work.save(12, state(12), {"sums": [12.0]})
        monkeypatch.undo()
    assert len(list(folder.rglob("*.tmp"))) == 1
    assert restored(folder) == 12
    assert not list(folder.rglob("*.tmp"))


def test_records_follow_the_checkpoints_that_are_kept(folder: Path) -> None:
    with WorkFolder(folder, IDENTITY) as work:
        work.save(12, state(12), {"sums": [12.0]})
    kept = {"checkpoints": "", "saved": ".json"}
    for name, ending in kept.items():
        names = {path.name for path in (folder / name).iterdir()}
        assert names == {f"{step}{ending}" for step in (8, 12)}


@pytest.mark.parametrize("text", ["[]", '{"run": "a', ""])
def test_a_damaged_identity_is_one_line_and_a_restart_writes_it_again(folder: Path, text) -> None:
    (folder / "identity.json").write_text(text)
    with pytest.raises(InputError, match=r"identity\.json: damaged; .*--restart"):
        WorkFolder(folder, IDENTITY)
    with WorkFolder(folder, IDENTITY, restart=True) as work:
        assert work.restore(state(0)) is None
    assert read_record(folder / "identity.json") == IDENTITY


def test_a_file_that_is_no_record_is_left_alone(folder: Path) -> None:
    for name in ("candidates/notes.json", "saved/notes.json"):
        (folder / name).write_text("{}")
    assert restored(folder) == 8
    with WorkFolder(folder, IDENTITY) as work:
        work.save(12, state(12), {"sums": [12.0]})
    assert (folder / "saved/notes.json").exists() and restored(folder) == 12
