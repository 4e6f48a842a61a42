"""Stand-ins for the command lines of engines: programs on PATH that keep their jobs in a file.

What they do is planned beforehand: the state of each job at each look, and calls that hang, fail,
are refused or wait for the test. A blocked call tells through one named pipe that it has come so
far, and goes on when another one is opened.
"""

import fcntl
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TOOLS = ("gcloud", "xpk", "sky", "sbatch", "squeue", "sacct", "scancel", "kubectl")

PROGRAM = r'''#!{python} -SE
import fcntl, json, os, signal, sys
folder = os.path.dirname(os.path.abspath(__file__))
tool, words = os.path.basename(__file__), sys.argv[1:]

def at(name):
    return os.path.join(folder, name)

def block():
    with open(at("pid"), "w") as file:
        file.write(str(os.getpid()))
    open(at("reached"), "w").close()
    open(at("go")).read()

def act(what):
    if what == "block":
        block()
    elif what == "hang":
        signal.pause()
    elif what == "error":
        sys.exit("connection reset by peer")
    elif what == "garbage":
        print("[oops")
        sys.exit()

class Book:
    def __enter__(self):
        self.lock = open(at("lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        with open(at("book.json")) as file:
            self.book = json.load(file)
        return self.book
    def __exit__(self, *error):
        with open(at("book.json"), "w") as file:
            json.dump(self.book, file)
        self.lock.close()

def value(flag):
    return next((w.partition("=")[2] for w in words if w.startswith(flag + "=")), None)

def submit(name, answer):
    with Book() as book:
        book["submissions"] += 1
        plan = book["submits"].pop(0) if book["submits"] else ""
    if plan == "refuse":
        sys.exit("quota exceeded")
    if plan.endswith(" before"):
        act(plan.removesuffix(" before"))
    with Book() as book:
        if book["unique"] and name in [job["name"] for job in book["jobs"]]:
            sys.exit("already exists")
        states = book["plans"].pop(0) if book["plans"] else ["done"]
        for _ in range(2 if plan == "twice" else 1):
            book["jobs"].append(dict(name=name, states=states, looks=0, id=len(book["jobs"])))
    if plan.endswith(" after"):
        act(plan.removesuffix(" after"))
    print(answer)

def look(name):
    """Jobs of this name, or all, one look further."""
    with Book() as book:
        plan = book["looks"].pop(0) if book["looks"] else ""
    act(plan)
    with Book() as book:
        jobs = [job for job in book["jobs"] if name in (None, job["name"])]
        for job in jobs:
            job["state"] = job["states"][min(job["looks"], len(job["states"]) - 1)]
            job["looks"] += 1
    return jobs * 2 if plan == "double" else jobs

def remove(name):
    with Book() as book:
        plan = book["cancels"].pop(0) if book["cancels"] else ""
    act(plan)
    with Book() as book:
        book["cancelled"].append(name)
        known = [job for job in book["jobs"] if job["name"] == name]
        if tool in ("gcloud", "kubectl", "xpk"):
            book["jobs"] = [job for job in book["jobs"] if job["name"] != name]
        for job in known:
            job["states"] = ["cancelled"]
    if tool == "gcloud" and not known:
        sys.exit("NOT_FOUND")

def called(text=""):
    with Book() as book:
        book["calls"].append([tool, *words])
        book["texts"].append(text)

text = sys.stdin.read()
called(text)
with open(at("words.json")) as file:
    table = json.load(file)
say = lambda job: table[tool].get(job["state"], job["state"])

if tool == "sbatch":
    submit(value("--job-name"), "4711")
elif tool == "squeue":
    print("".join(say(job) + "\n" for job in look(value("--name"))), end="")
elif tool == "sacct":
    if table["sacct"].get("off"):
        sys.exit("Slurm accounting storage is disabled")
elif tool == "scancel":
    remove(value("--name"))
elif tool == "sky" and words[:2] == ["jobs", "launch"]:
    submit(value("--name"), "Job submitted")
elif tool == "sky" and words[:2] == ["jobs", "queue"]:
    print("Fetching managed jobs ...")
    print(json.dumps([dict(job_id=j["id"], job_name=j["name"], status=say(j)) for j in look(None)]))
elif tool == "sky":
    remove(value("--name"))
elif tool == "xpk" and words[1] == "create":
    submit(value("--workload"), "[XPK] Exiting XPK cleanly")
elif tool == "xpk" and words[1] == "list":
    print("[XPK] Starting workload list\n[XPK] Workload List Output:")
    row = "{:<24}   {:<20}   {:<10}   {:<13}   {}"
    print(row.format("Jobset Name", "Created Time", "Priority", "Status", "Status Message"))
    for job in look(None):
        if value("--filter-by-job") in job["name"]:
            print(row.format(job["name"], "2026-01-01T00:00:00Z", "<none>", *say(job).split("|")))
elif tool == "xpk":
    remove(value("--workload"))
elif tool == "kubectl" and words[0] == "create":
    submit(json.loads(text)["metadata"]["name"], "job.batch/x")
elif tool == "kubectl" and words[0] == "get":
    for job in look(words[2])[:1]:
        print(json.dumps(dict(kind="Job", status=json.loads(say(job)))))
elif tool == "kubectl":
    remove(words[2])
elif tool == "gcloud" and words[3] == "create":
    submit(words[4], "")
elif tool == "gcloud" and words[3] == "list":
    rows = [
        dict(name="projects/p/locations/z/queuedResources/" + job["name"],
             state=dict(state=say(job).split("|")[0]))
        for job in look(None)
    ]
    print(json.dumps(rows))
elif tool == "gcloud" and words[3] == "ssh":
    with Book() as book:
        for job in book["jobs"]:
            if job["name"] == words[4]:
                print("\n".join(say(job).split("|")[1:]))
elif tool == "gcloud":
    remove(words[4])
'''

UNIT = "padir-unit"
READY, PENDING = '{"ready": 1, "active": 1}', '{"active": 1}'
ENDED = '{{"conditions": [{{"type": "{}", "status": "True", "message": "{}"}}]}}'
WORDS = {
    "gcloud": {
        "waiting": "WAITING_FOR_RESOURCES",
        "running": f"ACTIVE|{UNIT} running 0|{UNIT} exited 0",
        "done": f"ACTIVE|{UNIT} exited 0|{UNIT} exited 0",
        "failed": f"ACTIVE|{UNIT} exited 0|{UNIT} failed 2",
        "preempted": "SUSPENDED",
    },
    "xpk": {
        "waiting": "QuotaReserved|Quota reserved in ClusterQueue",
        "running": "Admitted|The workload is admitted",
        "done": "Finished|jobset completed successfully",
        "failed": "Finished|jobset failed due to one or more job failures",
    },
    "sky": {
        "waiting": "STARTING",
        "running": "RUNNING",
        "done": "SUCCEEDED",
        "failed": "FAILED",
        "cancelled": "CANCELLED",
    },
    "squeue": {
        "waiting": "PENDING",
        "running": "RUNNING",
        "done": "COMPLETED",
        "failed": "FAILED",
        "preempted": "PREEMPTED",
        "cancelled": "CANCELLED",
    },
    "kubectl": {
        "waiting": PENDING,
        "running": READY,
        "done": ENDED.format("Complete", ""),
        "failed": ENDED.format("Failed", "Job has reached the specified backoff limit"),
        "preempted": ENDED.format("Failed", "Pod x has condition DisruptionTarget matching"),
    },
    "sacct": {},
    "sbatch": {},
    "scancel": {},
}


class Engines:
    """The stand-ins in a folder, and what they were asked.

    Args:
        folder: for the programs; made, and to be put on PATH.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        for tool in TOOLS:
            path = folder / tool
            path.write_text(PROGRAM.replace("{python}", sys.executable))
            path.chmod(0o755)
        for pipe in ("reached", "go"):
            os.mkfifo(folder / pipe)
        self.words(WORDS)
        self.plan()

    def words(self, table: dict[str, dict[str, str]]) -> None:
        """Set what each tool prints for a state."""
        (self.folder / "words.json").write_text(json.dumps(table))

    def plan(self, *states: str, unique: bool = False, **calls: list[str]) -> None:
        """Forget all jobs and say what comes.

        Args:
            states: of one job each, look by look, such as "waiting running done".
            unique: whether a name that is taken is refused.
            calls: what submits, looks and cancels do, call by call: "block", "hang", "error",
                "garbage", "refuse", "double", "twice"; a submit blocks "block before" or "block
                after" the job is there.
        """
        book = {"jobs": [], "calls": [], "texts": [], "cancelled": [], "submissions": 0}
        given = {"submits": [], "looks": [], "cancels": [], **calls}
        plans = [each.split() for each in states]
        book |= {"plans": plans, "unique": unique, **given}
        with self._locked() as path:
            path.write_text(json.dumps(book))

    @property
    def book(self) -> dict:
        """Jobs, calls, and what was cancelled."""
        with self._locked() as path:
            return json.loads(path.read_text())

    def edit(self, **values: object) -> None:
        """Change what the stand-ins remember."""
        with self._locked() as path:
            path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    @contextmanager
    def _locked(self) -> Iterator[Path]:
        """The file of what is remembered, while no stand-in uses it."""
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.folder / "book.json"

    def names(self) -> list[str]:
        """Names of all jobs that were ever accepted and not deleted."""
        return [job["name"] for job in self.book["jobs"]]

    def calls(self, *start: str) -> list[list[str]]:
        """Calls that begin with these words."""
        return [call for call in self.book["calls"] if call[: len(start)] == list(start)]

    def reached(self) -> int:
        """Wait until a call blocks; its process."""
        (self.folder / "reached").read_bytes()
        return int((self.folder / "pid").read_text())

    def release(self) -> None:
        """Let the blocked call go on."""
        (self.folder / "go").write_bytes(b"")

    def kill(self, process: int) -> None:
        """End a blocked call."""
        os.kill(process, signal.SIGKILL)
