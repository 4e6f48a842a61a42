"""The model card of a bundle, written from the run's own data."""

from collections.abc import Mapping, Sequence

from padir.config.systems import SYSTEMS
from padir.config.training import RunSpec


def model_card(
    spec: RunSpec,
    seed: int,
    summary: Mapping[str, object],
    valid: Mapping[str, float],
    steps: Sequence[int],
) -> str:
    """Markdown: what the model is, what it was trained on, how it did, how to use it.

    Args:
        spec: the run's settings.
        seed: the run's seed.
        summary: parameters, pairs, those left out, epochs and compilations of the run.
        valid: mean validation losses at the last step.
        steps: the step, or the averaged steps, that the parameters come from.
    """
    run = spec.run
    architecture = run.architecture
    taken = str(steps[0]) if len(steps) == 1 else f"the mean of {', '.join(map(str, steps))}"
    targets = "the original targets" if run.targets == "raw" else f"targets by {run.targets}"
    start = run.training.warm_start
    without = summary["pairs_empty"]
    empty = f" and {without:,} with an empty side" if without else ""
    rows = [
        ("System", SYSTEMS[run.system].title),
        ("Direction", spec.direction),
        ("Dataset", spec.dataset),
        ("Trained on", targets),
        *([("Encoder and embeddings start from", start)] if start else []),
        ("Vocabulary", run.vocabulary or "the dataset's own"),
        ("Parameters", f"{summary['parameters']:,}"),
        (
            "Size",
            f"{architecture.encoder_layers} + {architecture.decoder_layers} layers,"
            f" width {architecture.width}, {architecture.heads} heads,"
            f" feed-forward {architecture.feed_forward_width}",
        ),
        (
            "Training pairs",
            f"{summary['pairs']:,}, of which {summary['pairs_too_long']:,} too long{empty}",
        ),
        ("Steps", f"{run.training.steps:,} ({summary['epochs']:.1f} epochs)"),
        ("Parameters taken from step", taken),
        ("Seed", str(seed)),
        *(
            (f"Validation {name.replace('_', ' ')} at the last step", f"{value:.4f}")
            for name, value in valid.items()
        ),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    option = " --steps 4" if run.parallel else ""
    return (
        f"# {spec.training}: {spec.direction}\n\n| | |\n|---|---|\n{table}\n\n"
        f"    padir translate --model FOLDER{option} < source.txt > translation.txt\n\n"
        "The files are `model.safetensors` (parameters), `spec.json` (settings) and `spm.model`\n"
        "(vocabulary). Quality on the test set is in the report of the experiment, not here.\n"
    )
