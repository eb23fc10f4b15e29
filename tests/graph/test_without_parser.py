"""Reading without the extra that parses talk."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import Settings
from tidal_plugins.graph.reading import parsing


def test_without_the_parser_code_is_read_and_talk_is_not(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)  # importing it fails
    parsing._load.cache_clear()
    try:
        memory = open_memory(settings=Settings(graph={"background": False}))
        memory.record("Anna Berg works at Acme.", "```python\ndef total(): ...\n```")
        assert memory.graph.index_pending().failed == 0
        [why] = memory.graph.pending()
        assert why.episode == ""
        assert "pip install 'tidal-plugins[language]'" in str(why.error)
        assert [entity.name for entity in memory.graph.entities()] == ["total"]
    finally:
        parsing._load.cache_clear()
