"""Applications over a memory: command line, MCP server, inspector, hooks of coding agents, histories, graph engines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tidal_plugins import Entry, TidalMemory
    from tidal_plugins.protocols import Embedder


def embedder_of(name: str) -> Embedder:
    """Return an embedder by its name."""
    from tidal_plugins import HashingEmbedder, OnnxEmbedder, SentenceTransformerEmbedder

    if name == "minilm":
        return OnnxEmbedder()
    return HashingEmbedder() if name == "hashing" else SentenceTransformerEmbedder(name)


def cut(text: str, most: int = 160) -> str:
    """Return a text on one line, of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def write_whole(path: Path, text: str) -> None:
    """Write a file, whole or not at all, into a folder that may not be there yet. Its rights stay as they are."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        new.write_text(text, encoding="utf-8")
        if path.exists():
            new.chmod(path.stat().st_mode & 0o777)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


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


def with_tag(memory: TidalMemory, tag: str) -> list[Entry]:
    """Return the entries that somebody gave a tag, old ones too.

    A text without tags gets its own words as tags; what holds a word is not what was tagged with it.
    """
    from tidal_plugins.english.tags import tags
    from tidal_plugins.model.entry import CONVERSATION, EPISODE
    from tidal_plugins.secrets.finding import untagged

    found = memory.entries.list(tags={tag}, include_archived=True)
    given = (entry for entry in found if entry.kind not in (CONVERSATION, EPISODE))
    return [entry for entry in given if entry.tags != tags(untagged(entry.text))]
