"""Runs Snakemake in forks of one process: its imports take longer than most dry runs.

Reads one request a line, {"arguments", "folder", "environment", "stdout", "stderr"}, and answers
with the exit code.
"""

import json
import os
import signal
import sys

import snakemake.cli

LIMIT = 1200
"""Seconds that a run may take."""


def become(request: dict) -> None:
    """Take on the arguments, folder, environment and files of a request."""
    for number, name in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        os.dup2(os.open(name, flags), number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = ["snakemake", *request["arguments"]]
    signal.alarm(LIMIT)


def main() -> None:
    # Imports all plugins: most of what is left of the start.
    snakemake.cli.get_argument_parser()
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            become(json.loads(line))
            sys.exit(snakemake.cli.main())
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
