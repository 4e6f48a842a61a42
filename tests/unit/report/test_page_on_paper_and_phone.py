"""The page on paper and on a phone, in headless Chromium: nothing is cut off or squeezed."""

import re

import pytest

from padir.report.page import environment
from padir.report.tables import Column, Table
from tests.unit.report.conftest import write_page

# CSS pixels between the margins of a landscape page of the smaller of Letter and A4.
PAPER = 979
PHONE = 375
INTERVALS = 13
SENTENCE = "A statement of some length, of which no word should stand on a line of its own."


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page of the made-up results."""
    return write_page(tmp_path_factory.mktemp("page"), traces=False)


def insert_wide_table(page) -> None:
    """As many columns as table 5 has, the widest of all, and a statement as the theorems have."""
    texts = {"training": "without_distillation", "decoder": "joint_far", "says": SENTENCE}
    columns = [Column(name, name.capitalize()) for name in texts]
    numbers = {}
    for number in range(INTERVALS):
        columns += [Column(f"v{number}", "cosine within (avg)", 3)]
        columns += [Column(f"i{number}", "95% interval", 3)]
        numbers |= {f"v{number}": -0.1234, f"i{number}": (-0.1234, 0.5678)}
    table = Table("wide", "Many columns", columns, [{**texts, **numbers} for _ in range(40)])
    template = '{% import "parts.html" as parts %}{{ parts.table(table) }}'
    html = environment().from_string(template).render(table=table)
    place = "document.querySelector('main').insertAdjacentHTML('afterbegin', html)"
    page.evaluate(f"html => {place}", html)


@pytest.fixture
def printed(visit):
    def printed(scheme: str = "light"):
        page = visit(width=PAPER, scheme=scheme)
        insert_wide_table(page)
        page.emulate_media(media="print", color_scheme=scheme)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        return page

    return printed


def test_no_table_is_wider_than_the_paper(printed):
    page = printed()
    widths = page.eval_on_selector_all("table", "tables => tables.map((t) => t.scrollWidth)")
    assert len(widths) > 5 and max(widths) <= PAPER
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    cut = """(boxes) => boxes.filter((box) => getComputedStyle(box).overflow !== "visible"
      && (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight)).length"""
    assert page.eval_on_selector_all("main *", cut) == 0
    size = "(cells) => Math.min(...cells.map((c) => parseFloat(getComputedStyle(c).fontSize)))"
    # Six pixels and two thirds are 5 points.
    assert page.eval_on_selector_all("td", size) >= 6.6


def test_paper_is_landscape(printed):
    pdf = printed().pdf(prefer_css_page_size=True)
    boxes = set(re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf))
    assert boxes and all(float(width) > float(height) for width, height in boxes)


def test_paper_shows_what_is_folded_and_the_window_folds_it_again(visit):
    page = visit()
    lists_of_files = ".made, #absent, #absent details"
    folded = page.locator(f"main details:not([open], {lists_of_files})")
    before = folded.count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert before > 0 == folded.count()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert folded.count() == before


def test_paper_is_white_and_has_no_controls(printed):
    page = printed("dark")
    colours = "(({ backgroundColor, color }) => [backgroundColor, color])"
    style = page.evaluate(f"{colours}(getComputedStyle(document.body))")
    assert style == ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]
    for controls in ("nav", "input", "select", "#claim-filter button", "#viewer"):
        assert page.locator(f"{controls}:visible").count() == 0, controls
    marks = """(buttons) => buttons.filter((button) =>
      !["none", "normal"].includes(getComputedStyle(button, "::after").content)).length"""
    assert page.eval_on_selector_all("button.sort", marks) == 0


def test_legends_are_in_sight_on_a_phone(visit):
    page = visit(width=PHONE)
    legends = page.locator(".drawing [id$='-legend_1']")
    assert legends.count() > 3
    for box in (legends.nth(number).bounding_box() for number in range(legends.count())):
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE


def test_columns_of_text_are_wide_enough_on_a_phone(visit):
    page = visit(width=PHONE)
    insert_wide_table(page)
    widths = page.eval_on_selector_all(
        "table.sortable td",
        """(cells) => cells.filter((cell) => cell.textContent.trim().length > 24)
          .map((cell) => cell.getBoundingClientRect().width)""",
    )
    assert len(widths) > 40 and min(widths) >= 200
