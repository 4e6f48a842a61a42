"""The page of `padir serve` in headless Chromium: the report's viewer on what is typed."""

import pytest

from padir.decode.candidates import LengthRule
from padir.decode.load import load
from padir.library import Model
from tests.decoding import tiny_decoder, tiny_model, write_decoder, write_tiny_bundle
from tests.serving import serving

RULE = LengthRule(0.6, 1.0)
TEXT = "ba ko mi re su ta ta ve no"
PASSES = 4


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = write_tiny_bundle(tmp_path_factory.mktemp("models") / "padir", "padir")
    for name, settings in (("padir", {}), ("joint", {"joint": "neighbours"})):
        decoder = tiny_decoder("padir", RULE, name, **settings)
        write_decoder(folder / f"decoders/{name}.json", decoder)
    return Model(load(folder))


@pytest.fixture(scope="module")
def address(model):
    with serving(model) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}/"


def typed(page, text: str = TEXT, decoder: str = "padir"):
    """The page once it shows what a text becomes."""
    page.get_by_label("Text, one sentence a line").fill(text)
    page.locator("#decoder").select_option(decoder)
    with page.expect_response("**/translate"):
        page.get_by_role("button", name="Translate").click()
    page.locator("#viewer-app .tokens, #out li").first.wait_for()
    return page


def shown(page, side: str = "left") -> list[str]:
    return page.locator(f".pane[data-side={side}] .tokens .token").all_text_contents()


def texts(state) -> list[str]:
    """Tokens of a state of a trace, as the viewer writes them."""
    return [piece.removeprefix("\u2581") for piece in state["tokens"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_is_wider_than_the_window(visit, width, scheme):
    page = visit(width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    typed(page)
    typed(page, decoder="joint")
    page.get_by_text("HTTP API").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_keys_alone_translate_and_step_through_the_passes(visit, model):
    [trace] = model.traces([TEXT], PASSES)
    states = trace["candidates"][trace["chosen"]]["states"]
    page = visit()
    # A page is loaded before it is drawn first, and takes the focus only then.
    page.locator("#text:focus").wait_for()
    page.keyboard.type(TEXT)
    assert page.locator("#text").input_value() == TEXT
    page.keyboard.press("Control+Enter")
    page.locator("#viewer-app .tokens").wait_for()
    assert shown(page) == texts(states[1])
    for number in range(2, len(states)):
        page.keyboard.press("ArrowRight")
        assert shown(page) == texts(states[number])
    page.keyboard.press("Space")
    assert page.get_by_role("button", name="Stop").is_visible()
    assert shown(page) == texts(states[0])
    assert trace["hypothesis"] in page.locator(".final").text_content()


def test_candidates_marks_and_attention_are_the_trace_s(visit, model):
    [trace] = model.traces([TEXT], PASSES)
    states = trace["candidates"][trace["chosen"]]["states"]
    assert states[2]["hidden"], "the test needs a pass that hides tokens again"
    page = typed(visit())
    page.get_by_role("button", name="One pass on").click()
    tokens = page.locator(".tokens .token")
    hidden = [
        position
        for position in range(tokens.count())
        if "hidden" in tokens.nth(position).get_attribute("class").split()
    ]
    assert hidden == states[2]["hidden"]
    tokens.first.hover()
    attended = trace["source_pieces"][states[2]["attended"][0]].removeprefix("\u2581")
    assert page.locator(".source .attended").all_text_contents() == [attended]
    assert page.locator(".candidates button").count() == len(trace["candidates"])
    other = 1 - trace["chosen"] if trace["chosen"] < 2 else 0
    page.locator(".candidates button").nth(other).click()
    states = trace["candidates"][other]["states"]
    assert shown(page) == texts(states[min(2, len(states) - 1)])


def test_decoders_of_one_text_stand_side_by_side(visit, model):
    page = typed(visit())
    assert page.locator(".pane").count() == 1
    typed(page, decoder="joint")
    [trace] = model.traces([TEXT], PASSES, "joint")
    page.locator(".pane[data-side=right] .tokens").wait_for()
    assert shown(page, "right") == texts(trace["candidates"][trace["chosen"]]["states"][1])
    typed(page, text="mi re", decoder="joint")
    assert page.locator(".pane").count() == 1


def test_more_lines_than_are_traced_are_a_list(visit, model):
    lines = ["ba ko", *["mi"] * 20]
    page = typed(visit(), "\n".join(lines))
    assert page.locator("#viewer").is_hidden()
    translations = page.locator("#out p:not(.source)").all_text_contents()
    assert translations == model.translate(lines, PASSES)


def test_the_translation_is_printed(visit, model):
    page = typed(visit())
    page.emulate_media(media="print")
    [trace] = model.traces([TEXT], PASSES)
    assert page.locator(".final").is_visible()
    assert trace["hypothesis"] in page.locator(".final").text_content()


def test_an_address_with_a_sentence_opens_the_empty_page(visit):
    page = visit("#viewer?sentence=2")
    assert page.locator("#viewer").is_hidden()


def test_an_error_is_one_line(address, browser):
    # Chromium writes the status of a refused request to its console, which `visit` would report.
    page = browser.new_page()
    page.goto(address)
    page.evaluate("document.getElementById('text').value = 'ba\\n'.repeat(1001)")
    page.get_by_role("button", name="Translate").click()
    message = page.locator("#message.error")
    message.wait_for()
    assert message.text_content() == "1001 lines, allowed are 1000"
    page.close()


def test_an_ar_model_has_a_translation_and_no_passes(browser, tmp_path):
    ar = Model(tiny_model(tmp_path / "ar", "ar"))
    with serving(ar) as server:
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        assert page.get_by_label("Passes").count() == 0
        typed(page, decoder="greedy")
        assert page.locator("#out p:not(.source)").text_content() == ar.translate([TEXT])[0]
        assert page.locator("#viewer").is_hidden()
        page.close()
