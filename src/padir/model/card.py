"""The model card of a bundle, written from data of its training run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from padir.cards import UNKNOWN, head, license_section
from padir.config.data import GENERATED_LICENSE, SYNTHETIC_PAIR
from padir.config.systems import SYSTEMS
from padir.config.training import RunSpec, TrainingRun

PRECISION_AND_MEMORY = ("compute_dtype", "rematerialise")
LICENSE_NOTE = (
    "The `license` above is that of the dataset; `padir export --hub` states the model's."
)


def model_card(
    spec: RunSpec,
    seed: int,
    summary: Mapping[str, Any],
    valid: Mapping[str, float],
    steps: Sequence[int],
) -> str:
    """The card in Markdown: the hub's metadata, model, training data, validation losses and use.

    Args:
        spec: settings of the model.
        seed: Random seed of parameters, data order and corruption.
        summary: counts of parameters, pairs, pairs left out, epochs and restarts of the run, and
            the steps at which its code changed.
        valid: mean validation losses at the last step.
        steps: the step, or the averaged steps, that the parameters come from.
    """
    run = spec.run
    architecture = run.architecture
    chosen = str(steps[0]) if len(steps) == 1 else f"the mean of {', '.join(map(str, steps))}"
    targets = "raw targets" if run.targets == "raw" else f"targets by {run.targets}"
    if spec.extra_sources:
        targets += ", which translated the dataset's extra sources too"
    start, changes = run.training.warm_start, summary["code_changes"]
    pairs_empty, restarts = summary["pairs_empty"], summary["restarts"]
    empty = f" and {pairs_empty:,} with an empty side" if pairs_empty else ""
    other = ", ".join(other_settings(run))
    rows = [
        ("System", SYSTEMS[run.system].title),
        *([("Settings other than the system's", other)] if other else []),
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
        *([("Started over", f"{restarts} times, by --restart")] if restarts else []),
        *([("Code changed at step", ", ".join(map(str, changes)))] if changes else []),
        ("Parameters taken from step", chosen),
        ("Seed", str(seed)),
        *(
            (f"Validation {name.replace('_', ' ')} at the last step", f"{value:.4f}")
            for name, value in valid.items()
        ),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    option = " --steps 4" if run.parallel else ""
    # What a training reads does not hold the licence; the report adds it.
    license = GENERATED_LICENSE if spec.direction == SYNTHETIC_PAIR else None
    return (
        f"{metadata(spec, license or UNKNOWN)}\n"
        f"# {spec.training}: {spec.direction}\n\n| | |\n|---|---|\n{table}\n\n"
        f"    padir translate --model FOLDER{option} < source.txt > translation.txt\n\n"
        "The files are `model.safetensors` (parameters), `spec.json` (settings) and `spm.model`\n"
        "(vocabulary). Quality on the test set is in the report of the experiment, not here.\n"
        f"{LICENSE_NOTE}\n"
        f"{license_section(license)}"
    )


def other_settings(run: TrainingRun) -> Iterator[str]:
    """Settings of the objective, and of the network but for its sizes, precision and memory, that
    are not the system's own."""
    system = TrainingRun(system=run.system)
    # Sizes are integers. Neither they nor precision make another method.
    architecture = {
        name: value
        for name, value in run.architecture
        if isinstance(value, bool | str | float) and name not in PRECISION_AND_MEMORY
    }
    defaults = dict(system.objective) | dict(system.architecture)
    for name, value in (dict(run.objective) | architecture).items():
        if value != defaults[name]:
            yield f"{name} {str(value).lower() if isinstance(value, bool) else value}"


def metadata(spec: RunSpec, license: str) -> str:
    """The block at the head of a card, under which a model hub files the model.

    Args:
        spec: settings of the model. The synthetic pair is of no real languages.
        license: identifier of a licence, or unknown.
    """
    parallel = "non-autoregressive" if spec.run.parallel else "autoregressive"
    fields = {
        **({"language": spec.direction.split("-")} if spec.direction != SYNTHETIC_PAIR else {}),
        "license": license,
        "library_name": "padir",
        "pipeline_tag": "translation",
        "tags": ["jax", spec.run.system, parallel],
        "datasets": [spec.dataset],
        "metrics": ["sacrebleu", "chrf"],
        "model_name": f"{spec.training} {spec.direction}",
        # The report shows the card where these are the digests of its config.
        **({"digests": spec.digests} if spec.digests else {}),
    }
    return head(fields)
