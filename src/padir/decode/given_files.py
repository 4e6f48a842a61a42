"""Reads files that stand beside a source line for line: given text, and references."""

from collections.abc import Callable, Mapping
from pathlib import Path

from padir.decode.constrain import Constraints
from padir.decode.given import GAP, Constraint, Draft, Speller, UnspeltTextError
from padir.decode.translate import Translator
from padir.files import InputError, is_jsonl, read_aligned, shown
from padir.ids import UNK


def read_lines_of(*paths: Path) -> list[list[str]]:
    """The lines of each file, where one text a line is needed, without a byte order mark.

    Raises:
        InputError: as `read_aligned`, or a .jsonl file with several texts a line.
    """
    columns = read_aligned(*paths, strip_bom=True)
    if len(columns) > len(paths):
        name = " and ".join(shown(path) for path in paths if is_jsonl(path))
        raise InputError(f"{name}: several texts a line, allowed is one")
    return columns


def read_constraints(
    translator: Translator,
    paths: Mapping[str, Path],
    draft_margin: float | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Constraints:
    """Read the constraint of every line.

    Args:
        translator: of a parallel model.
        paths: prefix, suffix or both; or one of infill, draft and terms.
        draft_margin: as of `Constraints`.
        warn: called with a message about lines of infill without a gap, or about drafts that the
            vocabulary cannot spell.

    Raises:
        InputError: options or files that do not fit each other, text that the model cannot
            write, an AR model, or a draft for a model that would not read it or never learnt to
            change what it reads.
    """
    if len(paths) > 1 and set(paths) != {"prefix", "suffix"}:
        named = " and ".join(f"--{option}" for option in paths)
        raise InputError(f"{named}: only --prefix and --suffix go together")
    speller = Speller(translator)
    if "draft" in paths and translator.refiner.easy_first:
        raise InputError(
            f"{shown(translator.loaded.folder)}: the first pass of this model (context easy_first)"
            " reads no hypothesis, so it takes no draft"
        )
    if "draft" in paths and translator.loaded.spec.run.objective.hidden_only:
        raise InputError(
            f"{shown(translator.loaded.folder)}: this model learnt to predict hidden tokens alone"
            " (objective.loss_on), so it cannot judge a draft"
        )
    name = " and ".join(map(shown, paths.values()))
    lines: list[Constraint | None] = []
    without_gap: list[int] = []
    unspelt: list[int] = []
    refused: list[UnspeltTextError] = []
    rows = list(zip(*read_lines_of(*paths.values()), strict=True))
    for number, texts in enumerate(rows, start=1):
        text = dict(zip(paths, texts, strict=True))
        try:
            line = _constraint(speller, text, f"{name}: line {number}")
        except UnspeltTextError as error:
            refused.append(error)
            continue
        lines.append(line)
        if isinstance(line, Draft) and UNK in line.tokens:
            unspelt.append(number)
        if line is not None and "infill" in text and not GAP.search(text["infill"]):
            without_gap.append(number)
    if refused:
        count = f"; such lines: {len(refused)} of {len(rows)}" if len(refused) > 1 else ""
        raise InputError(f"{refused[0]}{count}") from refused[0]
    warnings = {
        "has no gap (___) and is copied as it is": without_gap,
        "holds text that this model's vocabulary cannot spell, and is replaced whatever"
        " --draft-margin": unspelt,
    }
    for what, numbers in warnings.items():
        if numbers:
            warn(f"{name}: line {numbers[0]} {what}; such lines: {len(numbers)} of {len(lines)}")
    return Constraints(translator, speller, lines, name, draft_margin)


def _constraint(speller: Speller, text: Mapping[str, str], where: str) -> Constraint | None:
    """The constraint of one line, None where it sets none; raises as the speller does."""
    if "draft" in text:
        return speller.draft(text["draft"], where)
    if "terms" in text:
        return speller.terms(text["terms"], where)
    if "infill" in text:
        return speller.template(GAP.split(text["infill"]), where)
    ends = [text.get("prefix", ""), text.get("suffix", "")]
    return speller.template(ends, where, has_suffix=True)
