"""One module per experiment, each with `run(settings, seed) -> Outcome`."""
