"""A host of a training is lost: its packets stop, and no system is left to close its connections.

Two hosts are stand-ins: network namespaces on one machine, with a third one between them that
forwards packets, until it does not. This needs Linux, and root.
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.processes import start
from tests.required import unavailable
from tests.training import tiny_spec

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Namespace:
    """A network with a host name of its own, which lives as long as its first process.

    Attributes:
        process: that process; it ends with this one.
    """

    process: subprocess.Popen[str]

    @classmethod
    def made(cls) -> "Namespace":
        command = ["unshare", "--net", "--uts", "sh", "-c", "echo made; exec cat"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert process.stdout is not None and process.stderr is not None
        if process.stdout.readline() != "made\n":
            errors = process.communicate()[1].strip()
            unavailable("namespaces", f"no network namespaces here: {errors}")
        return cls(process)

    def __enter__(self) -> "Namespace":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    @property
    def inside(self) -> list[str]:
        """Words before a command that runs in it."""
        return ["nsenter", f"--target={self.process.pid}", "--net", "--uts"]

    def run(self, *commands: str) -> None:
        script = " && ".join(commands)
        subprocess.run([*self.inside, "sh", "-c", script], check=True)


FORWARD = "/proc/sys/net/ipv4/ip_forward"


@pytest.fixture
def network() -> Iterator[tuple[Namespace, list[Namespace]]]:
    """A router, and two hosts that reach each other through it: 10.9.0.2 and 10.9.1.2."""
    with ExitStack() as stack:
        router, *hosts = (stack.enter_context(Namespace.made()) for _ in range(3))
        router.run(f"echo 1 > {FORWARD}")
        for index, host in enumerate(hosts):
            net, end = f"10.9.{index}", f"host{index}"
            router.run(
                f"ip link add {end} type veth peer name eth0 netns {host.process.pid}",
                f"ip address add {net}.1/24 dev {end}",
                f"ip link set {end} up",
            )
            # A host is known by its name; this one needs no one to look it up.
            host.run(
                f"hostname {net}.2",
                "ip link set lo up",
                f"ip address add {net}.2/24 dev eth0",
                "ip link set eth0 up",
                f"ip route add default via {net}.1",
            )
        yield router, hosts


def test_both_sides_say_which_host_is_lost(network, tmp_path):
    router, hosts = network
    folder = tmp_path / "run"
    spec = tiny_spec("ar", 100_000, buckets=[9], checkpoint_every=50, validate_every=100_000)
    before = [host.inside for host in hosts]
    with start(folder, spec, 2, host="10.9.0.2", before=before) as training:
        training.wait_for((folder / "work/metrics.jsonl").exists)
        router.run(f"echo 0 > {FORWARD}")
        # They wait for 40; as much again on a busy machine.
        ends = training.ends(within=80)
    assert [status for status, _ in ends] == [75, 75]
    for (_, lines), lost in zip(ends, (1, 0), strict=True):
        (line,) = lines
        assert line.startswith(
            f"padir train: error: process {lost} of 2 (on 10.9.{lost}.2) has not answered for 40"
        )
