"""The verbs of the `padir` command, one module each: parse, read, call, write."""
