"""A Slurm of one node for tests: all of its files in one folder, its own ports, no systemd."""

import os
import platform
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
SECONDS = 120
"""How long a daemon or a job may take to get where a test waits for it."""

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits for its old credential to expire.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
# Ended jobs stay in the queue's records for an hour: there is no accounting.
MinJobAge=3600
MpiDefault=none
# Two jobs run side by side on a machine of one CPU, too.
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
"""


def daemon(name: str) -> str | None:
    """The path of a daemon; Debian keeps them where only root looks."""
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"]))


def missing() -> list[str]:
    """Programs that a cluster needs and this machine lacks."""
    clients = (name for name in ("sbatch", "srun", "squeue", "scontrol") if not shutil.which(name))
    return [*(name for name in DAEMONS if daemon(name) is None), *clients]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for listener in sockets:
        listener.bind(("127.0.0.1", 0))
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


class Cluster:
    """A running cluster with this machine as its one node; a context manager.

    Args:
        folder: for its configuration, state and logs; empty, and with a short path, since a socket
            lies in it.

    Attributes:
        environment: in which Slurm's commands and Snakemake find this cluster.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._configuration = folder / "slurm.conf"
        self._processes: list[subprocess.Popen[bytes]] = []
        commands = folder / "bin"
        commands.mkdir()
        # Snakemake takes SLURM_CONF from the `srun` of a job.
        wrapper = f'#!/bin/sh\nSLURM_CONF={self._configuration} exec {shutil.which("srun")} "$@"\n'
        (commands / "srun").write_text(wrapper)
        (commands / "srun").chmod(0o755)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
        self.environment = inherited | {
            "SLURM_CONF": str(self._configuration),
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        }

    def __enter__(self) -> "Cluster":
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        # Munge wants everybody to reach its socket.
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        configuration = CONFIGURATION.format(
            host=platform.node().partition(".")[0],
            user=pwd.getpwuid(os.getuid()).pw_name,
            folder=self.folder,
            ports=free_ports(2),
            cpus=max(2, os.cpu_count() or 1),
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        )
        self._configuration.write_text(configuration)
        try:
            places = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
            files = (f"--{option}={self.folder}/munge.{end}" for option, end in places.items())
            self._start("munged", "--foreground", "--force", f"--key-file={key}", *files)
            self._wait(lambda: (self.folder / "munge.socket").exists(), "munged")
            self._start("slurmctld", "-D", "-f", str(self._configuration))
            self._wait(lambda: "UP" in self._answer("scontrol", "ping"), "slurmctld")
            self._start("slurmd", "-D", "-f", str(self._configuration))
            self._wait(lambda: self._answer("sinfo", "-h", "-o", "%T") == "idle\n", "slurmd")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End all jobs, then the daemons."""
        if len(self._processes) == len(DAEMONS):
            self._answer("scancel", f"--user={os.getuid()}")
            deadline = time.monotonic() + SECONDS
            while self._answer("squeue", "-h") and time.monotonic() < deadline:
                time.sleep(0.2)
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def jobs(self, place: Path) -> dict[str, list[tuple[str, str, int]]]:
        """What Slurm has been given by Snakemake's runs in a folder: number, state and restarts of
        each job, in the order of submission, by rule or group; by "launched" those of `padir
        launch`."""
        known: dict[str, list[tuple[str, str, int]]] = {}
        lines = self.run("scontrol", "show", "job", "--oneliner").splitlines()
        for line in lines:
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if words.get("WorkDir") == str(place):
                comment = words.get("Comment", "launched")
                name = comment.removeprefix("rule_").partition("_wildcards_")[0]
                entry = (words["JobId"], words["JobState"], int(words["Restarts"]))
                known.setdefault(name, []).append(entry)
        return {name: sorted(jobs, key=lambda job: int(job[0])) for name, jobs in known.items()}

    def run(self, *command: str) -> str:
        """What one of Slurm's commands prints; it must succeed."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def _answer(self, *command: str) -> str:
        """What a command prints, whether or not it succeeds."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        ).stdout

    def _start(self, name: str, *arguments: str) -> None:
        path = daemon(name)
        assert path is not None
        with (self.folder / f"{name}.out").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [path, *arguments],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def _wait(self, ready: Callable[[], bool], name: str) -> None:
        """Wait until a daemon that was started answers."""
        deadline = time.monotonic() + SECONDS
        while not ready():
            log = (self.folder / f"{name}.out").read_text(errors="replace")[-2000:]
            assert self._processes[-1].poll() is None, f"{name} ended: {log}"
            assert time.monotonic() < deadline, f"{name} does not answer: {log}"
            time.sleep(0.1)
