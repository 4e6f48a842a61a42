"""Data of the page's refinement viewer: traces as JSON inside the page."""

import json
from typing import Any

from padir.report.results import Results

# Characters of all traces on the page, whatever the number of rows and test sets.
LIMIT = 2_000_000


def payload(results: Results, limit: int = LIMIT) -> str:
    """The traces as JSON that may stand inside a script element; empty without a trace.

    All rows show equally many sentences: the first, as many as `limit` characters hold, at least
    one. A row is an object with test set, training, decoder, passes (null: AR) and sentences.
    """
    if not results.traces:
        return ""
    texts = {key: [_json(line) for line in lines] for key, lines in results.traces.items()}
    longest = max(map(len, texts.values()))
    count = longest
    while count > 1 and sum(len(t) for lines in texts.values() for t in lines[:count]) > limit:
        count -= 1
    baseline = results.config.baseline()
    rows = [
        _json(
            {
                "place": " ".join(place),
                "training": row.training,
                "decoder": row.decoding.decoder,
                "passes": row.decoding.passes,
                "baseline": row == baseline,
            }
        )[:-1]
        + f', "sentences": [{", ".join(lines[:count])}]}}'
        for (place, row), lines in texts.items()
    ]
    head = _json({"recorded": longest, "shown": min(count, longest)})[:-1]
    return f'{head}, "rows": [{", ".join(rows)}]}}'


def _json(value: Any) -> str:
    """JSON with `<` escaped, so that no HTML tag can begin."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
