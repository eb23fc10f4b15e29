"""Find a text wherever it stands in a scope: in entries of any kind, and in what tools were given and returned."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tidal_plugins.ingestion.episodes import from_entry
from tidal_plugins.model.entry import EPISODE, Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT
from tidal_plugins.model.exchange import Message
from tidal_plugins.scoring.text import normal, terms
from tidal_plugins.storage.base import Storage, Where

DISTINCT = 4
"""Content words from which on a text is recognised again, unless it has digits as secrets do: forgetting one «Run the
tests again» must not blank every other."""
PAGE = 500
"""Entries that are read at once."""
TELLING = 2
"""Content words from which on any text is looked for as the whole of another: «Noted.» is said everywhere."""


def is_distinct(text: str) -> bool:
    """Return whether a text is recognised where it stands again, and not a phrase of every day."""
    words = set(terms(text))
    return len(words) >= DISTINCT or any(character.isdigit() for word in words for character in word)


class Texts:
    """Texts that are looked for, with case and space folded. One of every day counts only as the whole of another."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        folded = {text: normal(text) for text in texts}
        self._whole = {said for text, said in folded.items() if len(set(terms(text))) >= TELLING}
        self._parts = {
            said: re.compile(rf"(?<!\w){re.escape(said)}(?!\w)") for text, said in folded.items() if is_distinct(text)
        }

    def are_in(self, text: str) -> bool:
        """Return whether one of them stands in a text."""
        said = normal(text)
        return said in self._whole or any(
            part in said and bool(form.search(said)) for part, form in self._parts.items()
        )

    def without(self, message: Message) -> Message:
        """Return a message with a note in the place of its text, and of each argument and result, that has one."""
        calls = tuple(
            replace(call, arguments=self._blank(dict(call.arguments)), result=self._blank(call.result))
            for call in message.tool_calls
        )
        return replace(message, text=self._blank(message.text), tool_calls=calls)

    def _blank(self, value: Any) -> Any:
        if isinstance(value, str):
            return FORGOTTEN_TEXT if self.are_in(value) else value
        if isinstance(value, Mapping):
            return {key: self._blank(item) for key, item in value.items()}
        return [self._blank(item) for item in value] if isinstance(value, list | tuple) else value


def found(storage: Storage, scope: Scope, texts: Texts) -> tuple[set[str], set[str]]:
    """Return the ids of the entries in which one of some texts stands, and those of the episodes whose messages have
    one."""
    ids, episodes, after = set[str](), set[str](), 0
    while page := storage.find(scope, Where(), limit=PAGE, after=after):
        after += len(page)
        for entry in page:
            if entry.kind != EPISODE:
                ids |= {entry.id} if texts.are_in(entry.text) else set()
            elif any(texts.without(message) != message for message in from_entry(entry).messages):
                episodes.add(entry.id)
    return ids, episodes


def texts_of(storage: Storage, scope: Scope, ids: Collection[str]) -> Texts:
    """Return the texts of entries, and of all that was said in episodes."""
    entries = storage.get(scope, ids)
    said = {entry.id for entry in entries.values() if entry.kind == EPISODE}
    within = storage.find(scope, Where(episodes=said)) if said else []
    return Texts(entry.text for entry in [*entries.values(), *within] if entry.kind != EPISODE)
