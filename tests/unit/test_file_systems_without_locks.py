"""File systems without `flock`: one line with the folder and the remedy, of padir doctor too."""

import errno
import fcntl

import pytest

from padir import cli
from padir.commands import doctor
from padir.distill.ledger import Ledger, Limits
from padir.files import InputError
from padir.locks import Lock, Run, run_is_alive

REASONS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
ANOTHER = "choose a folder on another one (of a workflow: snakemake --directory FOLDER)"


@pytest.fixture(params=REASONS, ids=errno.errorcode.get)
def reason(request, monkeypatch):
    """What the system says of a lock."""
    error = OSError(request.param, errno.errorcode[request.param])

    def refuse(*_):
        raise error

    monkeypatch.setattr(fcntl, "flock", refuse)
    return f"this file system has no locks (flock): {error.strerror}"


@pytest.mark.parametrize("wait", [False, True])
def test_locks_and_runs_name_the_folder(tmp_path, reason, wait):
    with pytest.raises(InputError) as caught:
        Lock(tmp_path / "work/lock", "in use", wait)
    assert str(caught.value) == f"{tmp_path}/work: {reason}; {ANOTHER}"
    with pytest.raises(InputError) as caught:
        Run(tmp_path)
    assert str(caught.value) == f"{tmp_path}: {reason}; {ANOTHER}"
    # `padir status` goes on.
    assert not run_is_alive(tmp_path)


def test_the_ledger_names_its_setting(tmp_path, reason):
    limits = Limits(usd=1.0, usd_per_million=1.0, characters_per_minute=100)
    with (
        Ledger(tmp_path / "ledger.sqlite") as ledger,
        pytest.raises(InputError) as caught,
    ):
        ledger.reserve("somebody", 0.1, limits)
    assert str(caught.value) == f"{tmp_path}: {reason}; set `ledger` to a file on another one"


def test_a_launch_is_one_line(tmp_path, reason, capsys):
    handle = ["--handle", str(tmp_path / "handle"), "--engine", "slurm"]
    assert cli.main(["launch", *handle, "--", "true"]) == 2
    assert capsys.readouterr().err == f"padir launch: error: {tmp_path}: {reason}; {ANOTHER}\n"


def test_doctor_tries_a_lock(tmp_path, reason):
    (finding,) = doctor.check_results(tmp_path / "results")
    assert finding == ("fix", f"{tmp_path}: {reason}; {ANOTHER}")
