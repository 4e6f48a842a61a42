"""The page stays below 5 MB: what grows with the results has a bound."""

import json
import re
from pathlib import Path

from padir import cli, layout
from padir.report import figures, viewer

MOST_BYTES = 5_000_000


def test_long_traces_leave_the_page_below_5_megabytes(made_up):
    made_up.traces(sentences=20)
    for artifact in layout.traces(made_up.config, "everything"):
        lines = Path(artifact.path).read_text().splitlines()
        # About 150 kB a line, 9 MB in all.
        longer = [json.loads(line) | {"reference": "\u00e4" * 75_000} for line in lines]
        Path(artifact.path).write_text("".join(f"{json.dumps(line)}\n" for line in longer))
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    assert cli.main(["report", "--config", "config.json", "--out", "report", "--only", "page"]) == 0
    page = Path("report/index.html").read_bytes()
    assert len(page) < MOST_BYTES
    (traces,) = re.findall(rb'<script type="application/json" id="traces">(.*?)</script>', page)
    assert viewer.LIMIT / 2 < len(traces) <= viewer.LIMIT < MOST_BYTES / 2


def test_a_long_curve_has_a_bounded_number_of_values_on_hover():
    points = [figures.Point(float(step), 1 / (1 + step)) for step in range(10_000)]
    panel = figures.Panel("toy", [figures.Series("padir", points)])
    figure = figures.Figure("curve", "Curve", "Step", "Loss", [panel])
    assert 1 < figure.svg.count("<title>padir") <= figures.DENSE
