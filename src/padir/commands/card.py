"""State the licence of a dataset in its data card and in the cards of models trained on it.

The licence is the metadata `license` at the head of a card, and a section of its own. All else in
the card stays as it is.

In: folders with a card, README.md, as padir clean and padir train write it. Out: the same cards;
with --out a JSON file with the licence and the cards that have it.

examples:
  padir card --folders data bundle --license cc-by-4.0
  padir card --folders bundle
"""

from padir.commands.arguments import needed, option, read_arguments

OPTIONS = (
    needed("--folders DIR ...", "cleaned datasets and model bundles, of one dataset"),
    option("--license ID", "licence of the dataset, such as cc-by-4.0 (default: not stated)"),
    option("--out F", "JSON file to write the licence and the paths of the cards to"),
)


def main(argv: list[str]) -> int:
    """Write each card, and then the list."""
    arguments = read_arguments("card", __doc__, OPTIONS, argv)
    from padir.cards import state_license
    from padir.config.data import check_license
    from padir.files import InputError, write_json

    try:
        license = None if arguments.license is None else check_license(arguments.license)
    except ValueError as error:
        raise InputError(f"--license: {error}") from error
    cards = [str(state_license(folder, license)) for folder in arguments.folders]
    if arguments.out is not None:
        write_json(arguments.out, {"license": license, "cards": cards})
    return 0
