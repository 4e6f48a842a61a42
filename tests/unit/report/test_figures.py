"""Colours and markers of the figures' series."""

import re

from padir.report.figures import Figure, Panel, Point, Series


def looks(svg: str) -> list[str]:
    """Of each series the marker as drawn, whose id in the drawing is of its shape and colour."""
    return [
        re.findall(r'<use [^>]*href="#(\w+)"', series)[0]
        for series in re.split(r'<g id="marks\d+">', svg)[1:]
    ]


def test_series_are_drawn_apart_however_many_they_are():
    points = [Point(0.0, 0.0), Point(1.0, 1.0)]
    series = [Series(f"series {style}", points, style) for style in range(49)]
    drawn = looks(Figure("f", "t", "x", "y", [Panel("p", series)]).svg)
    assert len(drawn) == len(set(drawn)) == 49


def test_seeds_of_a_training_share_its_colour_and_not_its_marker(made_up):
    made_up.train(**{f"t{n}": {"system": "padir", "seeds": [0, 1, 2]} for n in range(7)})
    names = ["padir", *(f"t{n}" for n in range(7))]
    made_up.evaluate(core=[{"trainings": names, "decoders": ["padir"], "passes": [4]}])
    made_up.curves()
    figure = made_up.table("training")
    (panel,) = figure.panels
    colours = {series.name.split(",")[0]: series.style % 7 for series in panel.series}
    assert list(colours.values()) == [0, 1, 2, 3, 4, 5, 6, 0]
    assert all(series.style % 7 == colours[series.name.split(",")[0]] for series in panel.series)
    drawn = looks(figure.svg)
    assert len(drawn) == len(set(drawn)) == 2 + 7 * 3
