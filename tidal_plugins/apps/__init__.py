"""Applications over a memory: command line, MCP server, inspector, hooks of coding agents, histories, graph engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidal_plugins import TidalMemory
    from tidal_plugins.protocols import Embedder


def embedder_of(name: str) -> Embedder:
    """Return an embedder by its name."""
    from tidal_plugins import HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder

    if name == "minilm":
        return OnnxEmbedder()
    return HashingEmbedder() if name == "hashing" else SentenceTransformerEmbedder(name)


def texts_of(memory: TidalMemory, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of entries by id; nothing of one that is gone."""
    from tidal_plugins import NotFound

    found = dict[str, str]()
    for id_ in dict.fromkeys(ids):
        try:
            found[id_] = memory.get(id_).text
        except NotFound:
            continue
    return found
