"""The secrets of an entry: they are found once, when it is written, and stored with it for whoever shows it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from tidal_plugins.encoding import COMPACT, json_encoder
from tidal_plugins.model.entry import EPISODE, Entry, Screened
from tidal_plugins.secrets.finding import Secret, has_secret, secrets

FORMS = 2
"""The version of the forms by which secrets are known. Raise it whenever other secrets are found: entries that were
written under another version are searched when they are shown."""

_encode = json_encoder(separators=COMPACT)


class Screening(NamedTuple):
    """The secrets of an entry's text, in order, and whether its source or its metadata may hold others."""

    secrets: tuple[Secret, ...]
    beside: bool


def screening(entry: Entry) -> Screening:
    """Return the secrets of an entry as they were found when it was written, or search it if it says something else."""
    known = entry.screened
    found = _read(known.found) if known and known.found and _is_of(entry, known) else None
    return found or Screening(tuple(secrets(entry.text)), beside=True)


def stored_screening(entry: Entry) -> str | None:
    """Return what is stored of an entry's secrets. That of an entry that was read stays as it is, ``None`` too."""
    if entry.screened is not None and _is_of(entry, entry.screened):
        return entry.screened.found
    return _encode([FORMS, _beside(entry), *secrets(entry.text)])


def _beside(entry: Entry) -> bool:
    """Return whether what stands beside a text may hold a secret. Few ask for a turn as a whole, which is long."""
    if entry.kind == EPISODE:
        return True
    return has_secret(entry.source) or has_secret(entry.metadata)


def _is_of(entry: Entry, screened: Screened) -> bool:
    """Return whether an entry still says what was screened: the very objects, so that nothing is compared."""
    same = screened.text is entry.text and screened.source is entry.source
    return same and screened.metadata is entry.metadata


@lru_cache(maxsize=1024)
def _read(found: str) -> Screening | None:
    """Return what was stored, unless it was found by other forms. That of nearly all entries is the same: nothing."""
    forms, beside, *spans = json.loads(found)
    return Screening(tuple(Secret(*span) for span in spans), beside) if forms == FORMS else None
