"""Show the state of a run: what is running, its progress, what is done, and what failed.

Reads the logs and metrics in the folder, and changes nothing; no run needs to be active.

In: results and Snakemake's folder. Out: text.

examples:
  padir status
  padir status --results /scratch/results
"""

from pathlib import Path

from padir.commands.arguments import option, read_arguments

MOST_JOBS = 1_000
"""Running jobs that are shown."""
OPTIONS = (option("--results DIR", "folder of the results", default=Path("results")),)


def main(argv: list[str]) -> int:
    """Read and print."""
    arguments = read_arguments("status", __doc__, OPTIONS, argv)
    from padir.files import shown
    from padir.invocation import place_options, words
    from padir.planning.run_log import live_states
    from padir.planning.status import changed_at, last_line, last_lines, run_status, trainings
    from padir.progress import clock

    results: Path = arguments.results
    folder = results.absolute().parent
    run = run_status(folder)
    jobs = "" if run.jobs is None else f", {run.done} of {run.jobs} jobs done"
    states = [last_lines(path, MOST_JOBS) for path in live_states(folder)] if run.alive else []
    for state in filter(None, states):
        print(f"snakemake: running, {state[0]}")
        for line in state[1:]:
            # Trainings are below, with those that have stopped.
            if not line.startswith("train "):
                print(f"running: {line.removesuffix(':')}")
    if not any(states):
        print(f"snakemake: {'running' if run.alive else 'not running'}{jobs}")
    known = list(trainings(results))
    for training in known:
        if training.done:
            continue
        share = f"{training.step:,} of {training.steps:,} steps"
        if training.running:
            left = training.seconds_left
            state = "running" if left is None else f"running, {clock(left)} left"
        elif training.host is not None:
            # Clocks of machines differ.
            silent = clock(max(0.0, training.seconds_silent or 0.0))
            place = f"on {training.host}, which is not seen from here"
            state = f"{place}: last heard of {silent} ago"
        elif not training.begun:
            state = "not begun with the current settings"
        else:
            state = "stopped; the same command goes on from its last checkpoint"
        print(f"training {training.name}: {share}, {state}")
    finished = sum(training.done for training in known)
    begun = sum(training.begun or training.done for training in known)
    print(f"trainings done: {finished} of {begun} begun")
    for rule, log in run.failed:
        path = log if folder == Path.cwd() or log is None else folder / log
        where = f"; all of it: {shown(path)}" if path else ""
        said = last_line(path) if path else ""
        print(f"failed: {rule}: {said or 'no message'}{where}")
    tables = sorted(results.glob("report/tables/*.md"), key=changed_at)
    for path in tables[:1]:
        print(f"tables: {len(tables)} in {path.parent}, the first: {path}")
    if not tables:
        print("tables: none yet")
    page = results / "report/index.html"
    if page.is_file():
        print(f"report: {page}")
    if not known and run.jobs is None and not run.alive:
        if results.absolute().name != "results":
            print(f"{shown(results)}: a run writes to a folder of the name results")
            return 0
        start = words("snakemake", place_options(results), "--cores all")
        print(f"nothing was started here: {start}, or padir init for your own text")
    return 0
