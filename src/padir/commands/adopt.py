"""`padir adopt`: a trained model under other decoding settings. In: bundle, spec. Out: bundle."""

import argparse
from pathlib import Path

EXAMPLES = """\
examples:
  padir adopt --bundle runs/padir/seed0/bundle --spec other/spec.json --out other/seed0/bundle
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parse = argparse.ArgumentParser(
        prog="padir adopt",
        description="Put another model's trained parameters under settings that differ from its own"
        " in decoding alone. Nothing is trained.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--bundle", type=Path, required=True, help="bundle of the trained model")
    parse.add_argument("--spec", type=Path, required=True, help="settings of the new model")
    parse.add_argument("--out", type=Path, required=True, help="folder of the bundle to write")
    return parse


def main(argv: list[str]) -> int:
    """Run the verb."""
    arguments = parser().parse_args(argv)
    from pydantic import ValidationError

    from padir.config.read import read_spec
    from padir.config.training import RunSpec
    from padir.files import CARD_FILE, InputError, read_bundle, shown, write_bundle
    from padir.provenance import write_provenance

    spec = read_spec(arguments.spec)
    bundle = read_bundle(arguments.bundle)
    try:
        owner = RunSpec.model_validate(bundle.spec.get("run_spec"))
    except ValidationError as error:
        key = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(
            f"{shown(arguments.bundle / 'spec.json')}: run_spec: {key}: of another version"
        ) from error
    ours = spec.training_part() | {"model": owner.model}
    if ours != owner.training_part():
        raise InputError(
            f"{shown(arguments.spec)}: its training settings are not those of"
            f" {shown(arguments.bundle)}; only decoding may differ"
        )
    content = {**bundle.spec, "run_spec": spec.model_dump(mode="json")}
    card = (bundle.folder / CARD_FILE).read_text(encoding="utf-8")
    note = (
        f"The parameters of `{owner.model}`, under the decoding settings of `{spec.training}`.\n\n"
    )
    write_bundle(arguments.out, bundle.arrays, content, bundle.vocabulary, note + card)
    beside = arguments.out.parent if arguments.out.name == "bundle" else arguments.out
    write_provenance(
        beside,
        ["adopt", *argv],
        inputs=[arguments.spec, bundle.folder / "model.safetensors"],
        spec=spec.model_dump(mode="json"),
        seed=bundle.spec.get("seed"),
    )
    return 0
