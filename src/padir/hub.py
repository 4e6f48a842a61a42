"""A bundle as a folder for a model hub: the bundle's files, and a card with the hub's metadata."""

from pathlib import Path

from padir.bundle import DECODERS, MODEL_FILE, SPEC_FILE, VOCABULARY_FILE
from padir.cards import CARD_FILE, without_head
from padir.files import InputError, iter_lines, read_bytes, shown, write_bytes, write_text
from padir.library import Model
from padir.model.card import LICENSE_NOTE, metadata
from padir.temporary import temporary_folder


def write_hub_folder(model: Model, folder: Path, license: str) -> None:
    """Write a bundle as a folder for a model hub: its files, and a card with the hub's metadata.
    The folder is a bundle too.

    Raises:
        InputError: the folder exists and is not empty, or is the current one.
    """
    given, folder = folder, folder.resolve()
    if folder == Path.cwd():
        raise InputError(f"{shown(given)}: is the current folder; name a new folder")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{shown(given)}: exists and is not empty; name a new folder")
    bundle = model.loaded.folder
    text = "".join(f"{line}\n" for line in iter_lines(bundle / CARD_FILE))
    decoders = [
        path for path in (bundle / DECODERS).glob("*.json") if ".provenance." not in path.name
    ]
    # Whole or not at all: the same command can be given again after a kill.
    with temporary_folder(folder) as fresh:
        write_text(fresh / CARD_FILE, hub_card(model, license, text))
        for path in (bundle / SPEC_FILE, bundle / VOCABULARY_FILE, *decoders, bundle / MODEL_FILE):
            write_bytes(fresh / path.relative_to(bundle), read_bytes(path))
        if folder.exists():
            folder.rmdir()
        fresh.rename(folder)


def hub_card(model: Model, license: str, text: str) -> str:
    """The bundle's card with its licence, and with a section on use.

    Args:
        model: of the bundle.
        license: identifier of its licence.
        text: of the bundle's card; its own metadata, if any, give way.
    """
    text = without_head(text).strip()
    text = text.replace(LICENSE_NOTE, "The `license` above is that of the model.")
    steps = ", steps=4" if model.parallel else ""
    return (
        f"{metadata(model.loaded.spec, license)}\n{text}\n\n"
        "## Use from Python\n\n```python\nimport padir\n\n"
        f'model = padir.load("FOLDER")\nmodel.translate(["..."]{steps})\n```\n'
    )
