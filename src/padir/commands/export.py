"""Export a bundle to a model hub's format, or as a program that runs without this package.

--hub copies the bundle to a folder that a hub accepts and that is still a bundle: parameters
(safetensors), settings, vocabulary, decoders, and a card that begins with the hub's metadata.
--program writes all passes of a parallel model with one decoder as one program of jax.export,
parameters included, and FILE.json, which describes inputs and outputs. The program needs JAX and
NumPy alone.

In: a model bundle. Out: a folder, or a file and its description.

examples:
  padir export --model bundle --hub my-model --license cc-by-2.0
  padir export --model bundle --program model.jax --steps 4
"""

from padir.commands.arguments import ONE_OF, needed, option, read_arguments
from padir.config.decoder import MOST_PASSES
from padir.config.rows import DEFAULT_PASSES
from padir.launch import prepare

OPTIONS = (
    needed("--model BUNDLE", "folder of the model bundle"),
    option("--hub DIR", "folder to write the bundle to for a model hub", group=ONE_OF),
    option(
        "--program F",
        "file to write the decoding program to; F.json describes it",
        group=ONE_OF,
        written=True,
        beside=".json",
    ),
    option("--license ID", "licence of the model, such as apache-2.0; required by --hub"),
    option(
        "--decoder NAME_OR_FILE",
        "decoder of the program (default: the decoder of the model's system)",
    ),
    option(
        "--steps T",
        f"number of decoder passes of the program (default {DEFAULT_PASSES})",
        least=1,
        most=MOST_PASSES,
    ),
)


def main(argv: list[str]) -> int:
    """Load, write, say what was written."""
    arguments = read_arguments("export", __doc__, OPTIONS, argv)
    prepare()
    from padir.config.data import check_license
    from padir.decode.load import load
    from padir.files import InputError
    from padir.hub import write_hub_folder
    from padir.library import Model

    if arguments.hub is not None:
        if arguments.decoder is not None or arguments.steps is not None:
            raise InputError("--decoder and --steps apply to --program alone")
        if arguments.license is None:
            raise InputError(
                "--hub needs --license, such as apache-2.0 or cc-by-2.0: that of the training text"
                " may bind the model"
            )
        try:
            check_license(arguments.license)
        except ValueError as error:
            raise InputError(f"--license: {error}") from error
        write_hub_folder(Model(load(arguments.model)), arguments.hub, arguments.license)
        print(f"{arguments.hub}: a bundle with a hub's card")
        return 0
    if arguments.license is not None:
        raise InputError("--license applies to --hub alone: a program has no card")
    from padir.decode.export import write_program

    model = Model(load(arguments.model))
    write_program(model.translator(arguments.decoder, arguments.steps), arguments.program)
    print(f"{arguments.program}: a program; what goes in and out: {arguments.program}.json")
    return 0
