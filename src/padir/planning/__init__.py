"""What an experiment would take, before anything runs: operations, memory, disk."""
