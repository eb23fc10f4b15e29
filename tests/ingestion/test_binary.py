"""Binary data inside long texts: it is kept, and not embedded."""

from __future__ import annotations

import base64
from typing import Any

from tests.frameworks.conftest import CountingEmbedder
from tidal_plugins import TidalMemory

IMAGE = base64.b64encode(bytes(range(256)) * 500).decode()
CAPTION = "The wooden boat needs new caulking before spring."


def test_an_image_inside_a_document_is_kept_and_not_embedded(tmp_path: Any) -> None:
    embedder = CountingEmbedder()
    with TidalMemory(tmp_path / "agent.db", embedder=embedder) as memory:
        text = f"{CAPTION}\n\n{IMAGE}\n\nThe ferry to the island leaves at noon."
        entry = memory.remember(text, source="boat.md")
        assert memory.get(entry.id).text == text
        assert not any(IMAGE[at : at + 50] in text for call in embedder.calls for text in call for at in (100, -100))
        assert CAPTION in memory.recall("When does the boat need caulking?").hits[0].passage
        assert "ferry" in memory.recall("When does the ferry leave?").hits[0].passage


def test_a_document_that_is_nothing_else_can_be_remembered(tmp_path: Any) -> None:
    embedder = CountingEmbedder()
    with TidalMemory(tmp_path / "agent.db", embedder=embedder) as memory:
        entry = memory.remember(IMAGE, source="boat.png")
        assert memory.get(entry.id).text == IMAGE
        assert sum(map(len, embedder.calls)) < 5
