"""The page in headless Chromium, where there is one: sorting, filters, the viewer, both widths."""

import pytest

from tests.unit.report.conftest import write_page


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page of the made-up results."""
    return write_page(tmp_path_factory.mktemp("page"), traces=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_is_wider_than_the_window(visit, width, scheme):
    page = visit(width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    size = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 16


def column(page, name: str) -> list[str]:
    return page.eval_on_selector_all(
        "#table-table1 tbody tr:not([hidden])",
        "(rows, column) => rows.map((row) => row.cells[column].textContent)",
        page.eval_on_selector_all(
            "#table-table1 th",
            "(heads, name) => heads.findIndex((head) => head.textContent.startsWith(name))",
            name,
        ),
    )


def test_a_heading_sorts_by_number_and_back(visit):
    page = visit()
    unsorted = [float(text) for text in column(page, "BLEU")]
    assert unsorted != sorted(unsorted)
    heading = page.locator("#table-table1 th", has_text="BLEU").locator("button")
    heading.click()
    assert [float(text) for text in column(page, "BLEU")] == sorted(unsorted)
    assert page.locator("#table-table1 th[aria-sort=ascending]").count() == 1
    heading.click()
    assert [float(text) for text in column(page, "BLEU")] == sorted(unsorted, reverse=True)


def test_cells_without_a_value_stay_last(visit):
    page = visit()
    heading = page.locator("#table-table1 th", has_text="− baseline").locator("button")
    for _ in range(2):
        heading.click()
        assert column(page, "− baseline")[-1] == "–"


def test_text_filters_rows(visit):
    page = visit()
    page.get_by_role("searchbox", name="Filter rows of Table 1").fill("padir RAW")
    assert column(page, "Training") == ["padir_raw"] * 3
    assert "3 of 8 rows" in page.locator("#table-table1 .shown").text_content()


def test_claims_are_filtered_by_verdict(visit):
    page = visit()
    shown = page.locator("details.claim:visible")
    page.get_by_role("button", name="Unfold all").click()
    everything = shown.count()
    page.get_by_label("not run").uncheck()
    assert 0 < shown.count() < everything
    assert page.locator("details.claim[data-verdict='not run']:visible").count() == 0


def test_a_link_to_a_claim_unfolds_it(visit):
    page = visit("#claim-theory.convexity")
    assert page.locator("[id='claim-theory.convexity'] dl").is_visible()


def test_a_mark_shows_its_value(visit):
    page = visit()
    page.locator("#figure-quality_passes use[data-value*='T4']").first.hover(force=True)
    assert "T4: " in page.locator(".tip").text_content()


def test_arrow_keys_read_the_values_of_a_drawing(visit):
    page = visit()
    drawing = page.locator("#figure-quality_passes .drawing")
    marks = drawing.locator("[data-value]")
    assert marks.count() > 2
    drawing.focus()
    tip = page.locator(".tip")
    for key, mark in (("ArrowRight", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert tip.text_content() == marks.nth(mark).get_attribute("data-value")
    page.keyboard.press("Tab")
    assert tip.is_hidden()


def test_the_viewer_steps_by_keys_and_buttons(visit):
    page = visit("#viewer")
    app = page.locator("#viewer-app")
    assert app.get_attribute("data-pass") == "1"
    app.focus()
    page.keyboard.press("ArrowRight")
    assert app.get_attribute("data-pass") == "2"
    left = app.locator(".pane[data-side=left]")
    texts = left.locator(".tokens .token")
    assert texts.all_text_contents() == ["one", "two", "again", "again"]
    assert texts.nth(1).get_attribute("class") == "token changed"
    assert texts.nth(3).get_attribute("class") == "token stutter hidden"
    assert "1 change, 1 stutter, 1 hidden again" in left.locator(".status").text_content()
    page.get_by_role("button", name="One pass back").click()
    assert app.get_attribute("data-pass") == "1"
    page.keyboard.press("ArrowDown")
    assert "sentence=2" in page.evaluate("location.hash")


def test_a_deep_link_opens_sentence_pass_and_candidates(visit):
    link = "#viewer?sentence=3&pass=3&left=padir/padir&left-candidate=1&right=ar/beam"
    page = visit(link)
    app = page.locator("#viewer-app")
    assert (app.get_attribute("data-sentence"), app.get_attribute("data-pass")) == ("3", "3")
    assert app.locator(".pane[data-side=left] .tokens .token").count() == 3
    assert app.locator(".pane[data-side=right] .tokens .token").all_text_contents() == [
        *("one", "two", "three", "<four>")
    ]
    page.keyboard.press("Tab")
    app.locator(".pane[data-side=left] button", has_text="★").click()
    assert "left-candidate=2" in page.evaluate("location.hash")
    assert app.locator(".pane[data-side=left] .tokens .token").count() == 4


def test_a_token_says_what_it_is_and_where_it_looks(visit):
    page = visit("#viewer?pass=2")
    page.locator(".pane[data-side=left] .tokens .token").nth(1).hover()
    detail = page.locator("#viewer-app .detail").text_content()
    assert "probability 90 %, changed by this pass; cross-attention mostly at “zwei”" in detail
    assert page.locator(".source .attended").text_content() == "zwei"


def test_a_link_that_names_nothing_known_opens_the_first_sentence(visit):
    page = visit("#viewer?sentence=99&pass=-4&left=nothing/there")
    app = page.locator("#viewer-app")
    assert (app.get_attribute("data-sentence"), app.get_attribute("data-pass")) == ("3", "0")


def test_one_row_is_shown_without_menus(visit):
    page = visit()
    page.evaluate(
        """() => {
          const traces = JSON.parse(document.getElementById("traces").textContent);
          const row = traces.rows.find((each) => each.passes !== null);
          showTraces({ rows: [{ ...row, sentences: row.sentences.slice(0, 1) }] });
        }"""
    )
    app = page.locator("#viewer-app")
    assert app.locator(".pane").count() == 1
    assert app.locator("select").count() == 0
    assert app.locator(".pane .label").text_content() == "padir_raw padir, up to 10 passes"


def test_a_long_caption_is_read_without_scrolling(visit):
    page = visit(width=375)
    box = page.locator("#table-theorems caption span").bounding_box()
    assert box["x"] + box["width"] <= 375


# Two test sets from the traces of the page; the second has one sentence, with these words.
TWO_PLACES = """(words) => {
  const { rows } = JSON.parse(document.getElementById("traces").textContent);
  const other = rows.map((row) => ({ ...row, place: "other", sentences: row.sentences.slice(0, 1)
    .map((each) => ({ ...each, source_pieces: words, hypothesis: words.join(" ") })) }));
  showTraces({ rows: [...rows, ...other] });
}"""


def test_a_test_set_of_fewer_sentences_begins_at_its_first(visit):
    page = visit()
    page.evaluate(TWO_PLACES, ["eins"])
    page.get_by_label("Sentence", exact=True).select_option("2")
    page.get_by_label("Test set").select_option("other")
    assert page.locator("#viewer-app .source").text_content() == "eins"
    address = page.evaluate("location.hash")
    assert "place=other&sentence=1&" in address


def test_words_run_from_right_to_left_where_their_script_does(visit):
    page = visit()
    page.evaluate(TWO_PLACES, ["שלום", "עולם"])
    page.get_by_label("Test set").select_option("other")
    first, second = page.locator("#viewer-app .source .token").all()
    assert first.bounding_box()["x"] > second.bounding_box()["x"]
    assert page.locator(".final bdi").first.evaluate("(e) => getComputedStyle(e).direction") == (
        "rtl"
    )


def test_a_mangled_link_leaves_the_page_at_work(visit):
    page = visit("#100%")
    assert page.locator("#table-table1 th button").count() > 0
    assert page.locator("#viewer-app .tokens").count() > 0
