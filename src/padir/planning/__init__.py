"""Estimates of an experiment before it runs: operations, memory, disk, time."""
