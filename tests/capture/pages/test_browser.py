"""The report in a browser: Chromium without a window, driven by playwright.

Both are looked for where the tests run; without them these tests are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capture.pages import write_report
from tests.capture.pages import example_trace

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as session:
        browser = session.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=[(400, "dark"), (1400, "light")], ids=["narrow", "wide"])
def page(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The page. At its end: the console has no errors, and nothing was loaded from elsewhere."""
    width, scheme = request.param
    example_trace.write(tmp_path)
    path = write_report(tmp_path, tmp_path / "report.html", 2.8)
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: said.append(asked.url) if asked.url.startswith("http") else None)
    page.goto(path.as_uri())
    yield page
    page.close()
    assert said == []


def test_every_part_opens(page: Any) -> None:
    page.click("#open-all")
    assert page.locator("details:not([open])").count() == 0
    tabs = page.locator("[role=tab]")
    assert tabs.count() >= 3 * 6
    for number in range(tabs.count()):
        tab = tabs.nth(number)
        if tab.is_visible():
            tab.click()
            panel = page.locator(f"#{tab.get_attribute('aria-controls')}")
            assert panel.is_visible() and panel.inner_text() + panel.inner_html()
    page.click("#close-all")
    assert page.locator("details[open]").count() == 0


def test_the_page_is_as_wide_as_the_window(page: Any) -> None:
    page.click("#open-all")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_wide_drawing_begins_at_its_operations(page: Any) -> None:
    """Parameters lie on the left of the operations; in a narrow window they would be all that is seen."""
    page.evaluate(  # as the drawing of a model has its operations: 3000 further to the right
        """() => document.querySelectorAll("svg.drawing").forEach((svg) => {
            svg.setAttribute("width", 4000);
            svg.setAttribute("viewBox", `0 0 4000 ${svg.getAttribute("height")}`);
            svg.querySelectorAll("g:not(.input) rect").forEach((box) => { box.x.baseVal.value += 3000; });
        })"""
    )
    page.click("#open-all")
    tabs = page.locator("[role=tab]", has_text="Drawing")
    seen = 0
    for number in range(tabs.count()):
        tabs.nth(number).click()
        panel = page.locator(f"#{tabs.nth(number).get_attribute('aria-controls')}")
        frame, first = panel.locator(".scroll"), panel.locator("svg.drawing g:not(.input) rect").first
        if first.count():
            room, box = frame.bounding_box(), first.bounding_box()
            seen += 1
            assert room["x"] <= box["x"] + box["width"] / 2 <= room["x"] + room["width"]
    assert seen > 0


def test_the_keyboard_reaches_everything(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    summary = page.locator("[id$=graphs] > details > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    first = page.locator("[id$=graphs] [role=tab]").first
    first.focus()
    for key, expected in (
        ("ArrowRight", "Drawing"),
        ("End", "Bytecode"),
        ("ArrowRight", "Code"),
        ("ArrowLeft", "Bytecode"),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent") == expected
        selected = page.evaluate("document.activeElement.getAttribute('aria-selected')")
        panel = page.evaluate("document.activeElement.getAttribute('aria-controls')")
        assert selected == "true" and page.locator(f"#{panel}").is_visible()


def test_a_link_opens_what_it_leads_to(page: Any) -> None:
    assert not page.locator("[id$=graph-1] [role=tabpanel]").first.is_visible()
    page.locator(".source a[href$=graph-1]").first.click()
    assert page.locator("[id$=graph-1] [role=tabpanel]").first.is_visible()
