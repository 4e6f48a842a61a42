"""Points of the figures, and colours and markers of their series."""

import re

import pytest

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


def points_of(figure: Figure, name: str) -> list[Point]:
    """Points of a series of the only panel."""
    (panel,) = figure.panels
    return list(next(series for series in panel.series if series.name == name).points)


def test_accuracy_in_per_cent_is_drawn_against_seconds(made_up):
    points = points_of(made_up.table("training_time"), "ar")
    assert [(point.x, point.y) for point in points] == [(90, 10), (180, 20), (360, 40)]


def test_stutter_before_the_drop_is_drawn_with_both_ends_of_its_interval(made_up):
    points = points_of(made_up.table("stutter_passes"), "padir padir")
    assert [(point.x, point.label) for point in points] == [(1, "T1"), (4, "T4"), (10, "T10")]
    for point in points:
        assert (point.low, point.y, point.high) == pytest.approx((2.525, 3, 3.475), abs=0.01)


def test_bleu_is_drawn_against_the_median_with_both_ends_of_its_interval(made_up):
    points = points_of(made_up.table("quality_latency"), "padir padir")
    assert [point.x for point in points] == [1.5, 4, 9]
    four = points[1]
    assert (four.low, four.y, four.high) == pytest.approx((38.65, 39.6, 40.55), abs=0.01)


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
