"""Lines of a saved text that cite what was forgotten since."""

from __future__ import annotations

from collections.abc import Collection

from tidal_plugins.ingestion.episodes import read_episodes
from tidal_plugins.ingestion.tombstones import tombstoned
from tidal_plugins.model.entry import Scope, bare_id
from tidal_plugins.model.episode import FORGOTTEN_TEXT
from tidal_plugins.patterns import lazy_re
from tidal_plugins.storage.base import Storage

_CITED = lazy_re(r"\[((?:ep|mem):\w+)\]")


def cites(text: object) -> bool:
    """Return whether a text cites anything."""
    return isinstance(text, str) and _CITED.search(text) is not None


def without_forgotten(text: str, storage: Storage, scope: Scope, made: Collection[str]) -> str:
    """Return a text without the lines that cite what was forgotten, in whole or in part.

    ``made`` are the lines that memory makes now. They stay, since they rest on what is left.
    """
    lines = text.splitlines(keepends=True)
    cited = {line: set(_CITED.findall(line)) for line in lines if line.strip() not in made}
    citations = set[str]().union(*cited.values())
    turns = [bare_id(citation) for citation in citations if citation.startswith("ep:")]
    gone = tombstoned(storage, scope, map(bare_id, citations)) | {
        id_
        for id_, episode in read_episodes(storage, scope, turns).items()
        if any(message.text == FORGOTTEN_TEXT for message in episode.messages)
    }
    return "".join(line for line in lines if gone.isdisjoint(map(bare_id, cited.get(line, ()))))
