"""Hide secrets in what is shown: entries on their way to a reader, never those in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidal_plugins.model.entry import Entry
from tidal_plugins.model.recall import Hit, Recall, Window
from tidal_plugins.secrets.finding import Secret, is_tagged, mask, masked, masked_value, secrets

LEAST_TAG = 4
"""Characters of a tag from which on it is taken for a part of the secret that it stands in."""


def hide_secrets(recall: Recall) -> Recall:
    """Return a recall whose hits, with the turns around them, show no secret.

    It comes last, when everything that compares texts is done, so that it reads only what is returned.
    """
    return replace(recall, hits=tuple(map(_hidden, recall.hits)))


def without_secrets(entry: Entry) -> Entry:
    """Return an entry with the kinds of secrets in their place, as it may be shown."""
    return _shown(entry, secrets(entry.text))


def _hidden(hit: Hit) -> Hit:
    entry, found = hit.entry, secrets(hit.entry.text)
    window = hit.window
    if window.before or window.after:
        window = Window(*(tuple(map(without_secrets, turns)) for turns in (window.before, window.after)))
    shown = _shown(entry, found)
    if not found:
        return hit if shown is entry and window == hit.window else replace(hit, entry=shown, window=window)
    start = entry.text.find(hit.passage)  # the words that give a secret away may stand before the passage
    passage = mask(entry.text, found, start, start + len(hit.passage)) if start >= 0 else masked(hit.passage)
    path = tuple(step for step in hit.why.path if not _tells(step.removeprefix("#"), entry.text, found))
    kept = [secret for secret in found if not is_tagged(entry.text[secret.start : secret.end])]
    kinds = tuple(dict.fromkeys(secret.kind for secret in kept))
    unit = hit.unit and (len(mask(entry.text, found, 0, hit.unit[0])), len(mask(entry.text, found, 0, hit.unit[1])))
    why = replace(hit.why, path=path)
    return replace(hit, entry=shown, passage=passage, unit=unit, why=why, window=window, hidden=kinds)


def _shown(entry: Entry, found: Sequence[Secret]) -> Entry:
    metadata = masked_value(entry.metadata) if entry.metadata else entry.metadata
    source = masked(entry.source) if entry.source else entry.source
    if not found and metadata == entry.metadata and source == entry.source:
        return entry
    tags = tuple(tag for tag in entry.tags if not _tells(tag, entry.text, found))
    return replace(entry, text=mask(entry.text, found), source=source, tags=tags, metadata=metadata)


def _tells(tag: str, text: str, found: Sequence[Secret]) -> bool:
    """Return whether a tag was read out of a secret."""
    label = tag.casefold()
    values = (text[secret.start : secret.end].casefold() for secret in found)
    return any(value in label or (len(label) >= LEAST_TAG and label in value) for value in values)
