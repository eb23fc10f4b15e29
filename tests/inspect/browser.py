"""A real browser: Debian's Chromium, driven by Playwright, and the inspector served to it by a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from tests.inspect.conftest import TOKEN
from tests.waiting import PATIENCE, eventually
from tidal_plugins import TidalMemory
from tidal_plugins.apps.inspect.app import application

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

CHROMIUM = Path(os.environ.get("TIDAL_CHROMIUM", "/usr/bin/chromium"))
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

PICTURES = "TIDAL_SCREENSHOTS"
"""Names the folder of the documentation's pictures in the environment. A run then makes them anew."""


@dataclass
class Desk:
    """A browser window at a served memory. It notes what no page of ours should cause."""

    context: BrowserContext
    tab: Page
    address: str
    dialogs: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tab.set_default_timeout(PATIENCE * 1000)
        self.tab.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.tab.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        own = (self.address, "data:,", "about:")
        self.context.on("request", lambda one: None if one.url.startswith(own) else self.foreign.append(one.url))

    def open(self, path: str) -> Page:
        """Go to a path, with the token at the first visit."""
        mark = "&" if "?" in path else "?"
        first = not self.context.cookies()
        self.tab.goto(f"{self.address}{path}" + (f"{mark}token={TOKEN}" if first else ""))
        return self.tab

    def picture(self, name: str, at: str = "body") -> None:
        """Keep a picture of the page for the documentation, where a run asks for it, scrolled to an element."""
        if folder := os.environ.get(PICTURES):
            self.tab.locator(at).first.evaluate("one => one.scrollIntoView()")
            self.tab.screenshot(path=Path(folder, f"{name}.png"))

    @property
    def fits(self) -> bool:
        """Return whether nothing makes the page wider than the window."""
        return bool(self.tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))

    def check(self) -> None:
        """Assert that the pages ran nothing, asked nobody else, and had no error."""
        assert (self.dialogs, self.foreign, self.errors) == ([], [], [])
        assert self.tab.locator("script").count() == 0


@contextmanager
def served(memory: TidalMemory, **options: Any) -> Iterator[str]:
    """Serve a memory on a free port by a thread; yield the address."""
    config = uvicorn.Config(application(memory, token=TOKEN, **options), port=0, ws="none", log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert eventually(lambda: server.started or not thread.is_alive())
    assert server.started, "the server did not start"
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@contextmanager
def chromium(profile: Path, address: str, *, dark: bool = False, phone: bool = False) -> Iterator[Desk]:
    """Open a browser with a profile of its own; skip the test where there is none."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: make browser installs it, and TIDAL_CHROMIUM names another one")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile,
            executable_path=CHROMIUM,
            args=FLAGS,
            viewport=PHONE if phone else WIDE,
            color_scheme="dark" if dark else "light",
            has_touch=phone,
            is_mobile=phone,
            timeout=PATIENCE * 1000,
        )
        try:
            yield Desk(context, context.pages[0], address)
        finally:
            context.close()
