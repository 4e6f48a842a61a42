"""Counts of faults: commands are killed, their writes fail, their files are damaged, at random.

    python -m benchmarks.faults --write docs/reliability.md

Each trial starts a command in a process of its own, disturbs it, and runs the same command again
until it ends by itself. Its output must then be, byte for byte, that of a run that nothing
disturbed. Counts go to benchmarks/faults.json, from which the table of the page is rendered.
"""
