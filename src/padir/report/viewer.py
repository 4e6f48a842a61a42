"""Data of the page's refinement viewer: traces as JSON inside the page."""

import json
from typing import Any

from padir.report.results import Results

LIMIT = 2_000_000
"""Most bytes of all traces on the page, whatever the number of rows, sentences and test sets."""
ROW_KEYS = ("decoder", "passes")
"""Keys of a trace that its row says once for all sentences."""


def payload(results: Results) -> str:
    """The traces as JSON that may stand inside a script element; empty without a trace.

    All rows show equally many sentences: the first, as many as `LIMIT` bytes of UTF-8 hold. Where
    one sentence of each does not fit, the last rows are left off. A row is an object with test set,
    training, decoder, passes (null: AR) and sentences.
    """
    baseline = results.config.baseline()
    rows = [
        (
            _json(
                {
                    "place": " ".join(place),
                    "training": row.training,
                    "decoder": row.decoding.decoder,
                    "passes": row.decoding.passes,
                    "baseline": row == baseline,
                }
            )[:-1],
            [_json({k: v for k, v in line.items() if k not in ROW_KEYS}) for line in lines],
        )
        for (place, row), lines in results.traces.items()
    ]
    recorded, all_rows = max((len(lines) for _, lines in rows), default=0), len(rows)
    count = recorded
    while rows:
        head = _json({"recorded": recorded, "shown": count, "left_off": all_rows - len(rows)})[:-1]
        texts = (f'{about},"sentences":[{",".join(lines[:count])}]}}' for about, lines in rows)
        text = f'{head},"rows":[{",".join(texts)}]}}'
        if len(text.encode()) <= LIMIT:
            return text
        if count > 1:
            count -= 1
        else:
            rows.pop()
    return ""


def _json(value: Any) -> str:
    """JSON with `<` escaped, so that no HTML tag can begin."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
