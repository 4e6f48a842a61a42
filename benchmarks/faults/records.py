"""Outcomes of trials, their counts as JSON, and the table that the counts render to."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.faults.steps import Redone

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
COUNTS = ("tried", "survived", "refused", "wrong", "lost", "untold", "left")
HEADS = ("tried", "survived", "refused first", "wrong", "lost", "without one line", "files left",
         "strikes", "steps done again")  # fmt: skip
NEVER_TRIED = (
    "a lost node (`tests/devices/test_lost_host.py` makes one)",
    "loss of power",
    "a step of the system's own clock",
    "Slurm",
    "`padir fetch`, `rate` and `report` by themselves",
    "a failed write under `snakemake`",
    "memory that runs out: a job is killed instead",
)
"""Faults that no kind of this benchmark makes."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What came of one trial.

    Attributes:
        verdict: "survived": the output was right in the end; "refused": the command named the
            damage in one line, and was right once that was fixed; "wrong": another output and exit
            status 0; "lost": the same command did not come to a right end.
        strikes: how often the fault struck; 0 where the command ended before it.
        untold: exit statuses other than 0 without one line of ours as the reason.
        left: whether a temporary file stayed.
        note: what happened, where it is not "survived".
    """

    verdict: Literal["survived", "refused", "wrong", "lost"]
    strikes: int = 1
    untold: int = 0
    left: bool = False
    note: str = ""


@dataclass
class Count:
    """Outcomes of one kind of fault; tried = survived + wrong + lost.

    Attributes:
        tried: trials in which the fault struck.
        strikes: how often it did, in all trials together.
        survived: the output was right in the end.
        refused: of these, the ones that said in one line what had to be fixed first.
        wrong: another output, and exit status 0.
        lost: the same command did not come to a right end.
        untold: exit statuses other than 0 without one line of ours as the reason.
        left: trials after which a temporary file stayed.
        missed: trials in which the fault never struck, which count for nothing else.
        steps: of training that were done again after kills.
    """

    tried: int = 0
    strikes: int = 0
    survived: int = 0
    refused: int = 0
    wrong: int = 0
    lost: int = 0
    untold: int = 0
    left: int = 0
    missed: int = 0
    steps: Redone = field(default_factory=Redone)
    notes: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one trial. Without a strike it counts only if something is bad all the same."""
        good = outcome.verdict in ("survived", "refused")
        if outcome.note and (not good or outcome.untold):
            self.notes.append(f"{outcome.verdict}: {outcome.note}")
        if good and not (outcome.strikes or outcome.untold or outcome.left):
            self.missed += 1
            return
        self.tried += 1
        self.strikes += outcome.strikes
        self.survived += good
        self.refused += outcome.verdict == "refused"
        self.wrong += outcome.verdict == "wrong"
        self.lost += outcome.verdict == "lost"
        self.untold += outcome.untold
        self.left += outcome.left


def record(command: str, fault: str, count: Count, run: Mapping[str, Any]) -> Record:
    """A row of the JSON file: what was tried, by which run, with which outcome."""
    return {"command": command, "fault": fault, **run, **asdict(count)}


def read_records(path: Path) -> list[Record]:
    """Rows of earlier runs; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def merged(records: Iterable[Record], new: Record) -> list[Record]:
    """The rows with a new one, which replaces that of the same command, fault and seed.

    A row whose faults never struck says nothing: it replaces none, and is not kept.
    """
    if not new["tried"]:
        return list(records)
    key = ("command", "fault", "seed")
    kept = [old for old in records if any(old[name] != new[name] for name in key)]
    return [*kept, new]


def write_records(path: Path, records: list[Record]) -> None:
    path.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def table(records: list[Record], commands: Mapping[str, str], faults: Mapping[str, str],
          possible: Iterable[tuple[str, str]]) -> str:  # fmt: skip
    """The counts in Markdown, under the commands that made them.

    Args:
        records: rows of all runs; those of one command and fault are summed.
        commands: what is shown for a command, by its name; gives the order.
        faults: likewise for a fault.
        possible: commands and faults that the benchmark can try.
    """
    runs = list(dict.fromkeys((row["arguments"], row["commit"]) for row in records))
    lines = ["| run | command | commit |", "|---:|---|---|"]
    for number, (arguments, commit) in enumerate(runs, 1):
        lines.append(f"| {number} | `python -m benchmarks.faults {arguments}` | {commit} |")
    lines += ["", f"| command | fault | {' | '.join(HEADS)} | runs |"]
    lines.append("|---|---|" + "---:|" * len(HEADS) + "---|")
    missing: dict[str, list[str]] = {}
    for command, fault in sorted(
        possible, key=lambda pair: (list(commands).index(pair[0]), list(faults).index(pair[1]))
    ):
        rows = [row for row in records if (row["command"], row["fault"]) == (command, fault)]
        if not sum(row["tried"] for row in rows):
            missing.setdefault(commands[command], []).append(faults[fault])
            continue
        numbers = sorted({runs.index((row["arguments"], row["commit"])) + 1 for row in rows})
        cells = [f"{sum(row[name] for row in rows):,}" for name in (*COUNTS, "strikes")]
        cells += [steps_done_again(rows), ", ".join(map(str, numbers))]
        lines.append(f"| {commands[command]} | {faults[fault]} | {' | '.join(cells)} |")
    totals = {name: sum(row[name] for row in records) for name in (*COUNTS, "strikes")}
    lines.append(f"| all | | {' | '.join(f'{total:,}' for total in totals.values())} | | |")
    said = ", ".join(f"{totals[name]:,} {name}" for name in ("tried", "survived", "wrong", "lost"))
    lines += ["", f"Totals: {said}.", "", "Not tried:", ""]
    lines += [f"- {command}: {'; '.join(kinds)}" for command, kinds in missing.items()]
    lines += [f"- {what}" for what in NEVER_TRIED]
    return "\n".join(lines)


def steps_done_again(rows: Iterable[Record]) -> str:
    """On average and at most, with the checkpoint interval; empty where nothing was counted."""
    counts = [Redone(**row.get("steps", {})) for row in rows]
    counts = [count for count in counts if count.resumed]
    if not counts:
        return ""
    mean = sum(count.redone for count in counts) / sum(count.resumed for count in counts)
    most, interval = (max(getattr(c, name) for c in counts) for name in ("most", "interval"))
    return f"{mean:.1f}, at most {most} of {interval}"


def with_table(page: str, text: str) -> str:
    """The page with another table between its markers."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}"


def table_of(page: str) -> str:
    """The table between the page's markers."""
    return page.split(BEGIN)[1].split(END)[0].strip("\n")
