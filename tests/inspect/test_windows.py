"""Every view on a phone and in a wide window, light and dark, by keyboard alone; and how much code that takes."""

from __future__ import annotations

import re

import pytest

from tests.inspect.conftest import Browse
from tidal_plugins import TidalMemory
from tidal_plugins.apps.inspect.views import VIEWS

TURN = "/?turn=Where+does+my+cousin+Nora+repair+clocks%3F"
"""Characters of a line: long lines would be lines that are not counted."""

"""Lines of code, templates and style that the inspector may have, without blank ones and the words about them. The aim
is 1,500: what comes next takes the place of something."""


@pytest.mark.slow
@pytest.mark.parametrize("phone", [True, False], ids=["phone", "wide"])
def test_every_view_fits_its_window_light_and_dark(browse: Browse, filled: TidalMemory, phone: bool) -> None:
    desk = browse(filled, phone=phone, allow_writes=True)
    for path in [*(view.path for view in VIEWS), TURN]:
        tab = desk.open(path)
        grounds = set()
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert desk.fits, path
            grounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(grounds) == 2
        assert tab.locator("h1").count() == 1
    if phone:
        desk.picture("phone")


@pytest.mark.slow
def test_the_keyboard_alone_leads_everywhere(browse: Browse, filled: TidalMemory) -> None:
    desk = browse(filled)
    tab = desk.open("/timeline")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    for view in VIEWS:
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.textContent") == view.title
        assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.locator("nav a", has_text="Playground").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url(re.compile(r"/$"))
    tab.locator("textarea:focus").wait_for()
    tab.keyboard.type("Where does Nora repair clocks?")
    for _ in range(30):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.tagName") == "BUTTON":
            break
    tab.keyboard.press("Enter")
    tab.wait_for_url(re.compile("turn=Where"))
    assert tab.locator("pre.whisper").count() == 1
