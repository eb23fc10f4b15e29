"""Texts of entries that a page tells of by id."""

from __future__ import annotations

from collections.abc import Iterable

from tidal_plugins import NotFound, TidalMemory


def texts_of(memory: TidalMemory, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of entries by id; nothing of one that is gone."""
    found = dict[str, str]()
    for id_ in dict.fromkeys(ids):
        try:
            found[id_] = memory.get(id_).text
        except NotFound:
            continue
    return found
