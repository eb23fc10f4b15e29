"""Every view on a phone and in a wide window, light and dark, by keyboard alone; and how much code that takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidal_inspect
from tests.inspect.conftest import Browse
from tidal_inspect.views import VIEWS
from tidal_plugins import TidalMemory

TURN = "/?turn=Where+does+my+cousin+Nora+repair+clocks%3F"
WIDEST = 120
"""Characters of a line: long lines would be lines that are not counted."""

MOST = 2_100
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


def ours() -> list[Path]:
    files = [path for path in Path(tidal_inspect.__file__).parent.rglob("*") if path.suffix in (".py", ".html", ".css")]
    assert len(files) > 20
    return files


def test_no_line_is_too_long_to_be_read() -> None:
    long = [(path.name, line) for path in ours() for line in path.read_text("utf-8").splitlines() if len(line) > WIDEST]
    assert long == []


def test_the_inspector_stays_small() -> None:
    assert sum(len(list(code_of(path))) for path in ours()) < MOST


def code_of(path: Path) -> Iterator[str]:
    """Yield the lines of a file that are neither blank nor, in Python, a docstring or a comment."""
    text, told = path.read_text("utf-8"), set[int]()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and number not in told and not line.lstrip().startswith("# "):
            yield line
