"""Headless Chromium for tests of pages; tests that ask for it are skipped where there is none."""

import shutil

import pytest

from tests.required import unavailable

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        unavailable("chromium", "no Chromium is installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(address, browser):
    """Opens the page at the module's `address`; fails on errors, and on whatever is fetched from
    elsewhere."""
    errors, requests = [], []

    def visit(anchor: str = "", width: int = 1280, scheme: str = "light"):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        # A first translation waits for its programs to be compiled.
        page.set_default_timeout(120_000)
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address + anchor)
        return page

    yield visit
    assert errors == []
    assert [url for url in requests if not url.startswith(address)] == []
    for context in browser.contexts:
        context.close()
