"""The data card of a dataset, written from its settings and statistics."""

import re
from typing import Any

from padir.cards import UNKNOWN, head, license_section
from padir.config.data import Dataset, DataSource, RemoteFile, SyntheticSource, TfdsSource
from padir.data.clean import REASONS
from padir.files import shown


def data_card(dataset: Dataset, statistics: dict[str, Any]) -> str:
    """README.md of a cleaned dataset, in Markdown, with the hub's metadata."""
    sections = [
        f"# Parallel text {dataset.pair}",
        "Written by `padir clean` from the settings and from statistics.json, which has more.",
        "## Origin\n\n" + _origin(dataset.source),
        "## Splits\n\n" + _splits(statistics["splits"]),
        "## Dropped training pairs\n\n" + _dropped(statistics["splits"]["train"]),
        "## Known overlap\n\n"
        + "\n".join(
            [
                f"- Lines that stand in both valid and test:"
                f" {statistics['lines_shared_by_valid_and_test']}",
                *(
                    f"- Training pairs that shared a side with {split}, before cleaning: {count}"
                    for split, count in statistics["splits"]["train"][
                        "pairs_sharing_a_side_with"
                    ].items()
                ),
            ]
        ),
        "## Files\n\n" + _files(statistics["splits"]),
    ]
    metadata = head(_metadata(dataset, statistics))
    text = "\n\n".join(sections)
    return f"{metadata}\n{text}\n{license_section(dataset.stated_license)}"


def _metadata(dataset: Dataset, statistics: dict[str, Any]) -> dict[str, object]:
    """Metadata for a dataset hub, and digests. The synthetic pair has no language codes."""
    real = not isinstance(dataset.source, SyntheticSource)
    lines = [split["files"][0]["lines"] for split in statistics["splits"].values()]
    digests = statistics.get("digests")
    return {
        **({"language": dataset.pair.split("-")} if real else {}),
        "license": dataset.stated_license or UNKNOWN,
        "task_categories": ["translation"],
        "multilinguality": ["translation"],
        "size_categories": [_size(sum(lines))],
        # The report shows the card where these are the digests of its config.
        **({"digests": digests} if digests else {}),
    }


def _size(pairs: int) -> str:
    """The hub's category for a number of pairs, such as 10K<n<100K."""
    power = len(str(pairs)) - 1
    low, high = (f"{10 ** (p % 3)}{' KMBT'[p // 3]}" for p in (power, power + 1))
    return f"{low}<n<{high}" if power >= 3 else "n<1K"


def _origin(source: DataSource) -> str:
    if isinstance(source, SyntheticSource):
        settings = ", ".join(f"{key} {value}" for key, value in source.model_dump().items())
        return (
            "A synthetic language pair: every sentence is drawn from the grammar in grammar.json,"
            " which decides exactly whether a translation is valid. The names of the languages,"
            f" xs and xt, stand for no real ones. Settings: {settings}."
        )
    if isinstance(source, TfdsSource):
        without = ", ".join(source.leave_out)
        return (
            f"TensorFlow Datasets, {_code(source.name)}: training from its split"
            f" {_code(source.train)}, validation from {_code(source.valid)}, test from"
            f" {_code(source.test)}."
            + (f" Parts left out of its training text: {without}." if without else "")
        )
    lines = []
    for split in ("train", "valid", "test"):
        files = getattr(source, split)
        for language, item in sorted(files.files.items()):
            for each in (item, *files.references.get(language, [])):
                lines.append(f"- {split} {language}: {_address(each)}")
    return "\n".join(lines)


def _address(item: str | RemoteFile) -> str:
    if isinstance(item, RemoteFile):
        return f"{_code(item.url)}, SHA-256 {item.sha256}"
    return _code(item)


def _code(text: str) -> str:
    """Any text as Markdown code on one line."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown(text)} {fence}" if longest else f"`{shown(text)}`"


def _table(header: list[str], rows: list[list[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _splits(splits: dict[str, Any]) -> str:
    rows: list[list[object]] = []
    for split, statistics in splits.items():
        for file in statistics["files"]:
            quantiles = file["length_quantiles"]
            rows.append(
                [
                    split,
                    file["file"],
                    file["lines"],
                    file["length_unit"],
                    f"{file['length_mean']:.1f}",
                    *quantiles.values(),
                    file["length_max"],
                    file["distinct_words"],
                    file["empty_lines"],
                    file["repeated_lines"],
                    file["equal_neighbours"],
                ]
            )
    header = ["split", "file", "lines", "unit", "mean length", "p50", "p90", "p99", "longest"]
    header += ["distinct words", "empty lines", "repeated lines", "equal neighbours"]
    return _table(header, rows)


def _dropped(train: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        [
            reason,
            REASONS[reason],
            dropped["pairs"],
            ", ".join(map(str, dropped["first_lines"])) or "none",
        ]
        for reason, dropped in train["dropped"].items()
    ]
    table = _table(["reason", "meaning", "pairs", "first lines"], rows)
    return f"{train['pairs_read']} pairs read, {train['pairs_kept']} kept.\n\n{table}"


def _files(splits: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        [
            *(file["file"], file["sha256"], file["carriage_returns_removed"]),
            file.get("byte_order_marks_removed", 0),
        ]
        for statistics in splits.values()
        for file in statistics["files"]
    ]
    return _table(["file", "SHA-256", "carriage returns removed", "U+FEFF removed"], rows)
