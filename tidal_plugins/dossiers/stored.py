"""Dossiers as documents and as entries, and the topics that they are stored under."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from tidal_plugins.english.tags import tags
from tidal_plugins.errors import InvalidInput
from tidal_plugins.language.importance import importance
from tidal_plugins.model.clock import from_micros, hours_between
from tidal_plugins.model.dossier import Contradiction, Dossier
from tidal_plugins.model.entry import DOSSIER, SYNTHESIS, Entry, Scope
from tidal_plugins.scoring.salience import is_due
from tidal_plugins.scoring.text import terms
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Document
from tidal_plugins.validation import clean

if TYPE_CHECKING:
    from pydantic import TypeAdapter


MAX_TOPIC = 200
"""Characters of a topic."""


def to_value(dossier: Dossier) -> dict[str, Any]:
    """Return the value of the document that holds a dossier."""
    left_out = {"version", "checked_at", "problem"}  # they change without a new version
    value: dict[str, Any] = _dossiers().dump_python(dossier, mode="json", exclude=left_out)
    return value


def to_entry(dossier: Dossier, scope: Scope, id_: str, known: Mapping[str, Entry], now: datetime) -> Entry:
    """Return a dossier as an entry that recall finds, made of the entries ``known`` by their ids.

    It is trusted as much as the least trusted of its sources, and does not decay.
    """
    text = "\n".join(finding.text for finding in dossier.findings)
    return Entry(
        id=id_,
        kind=DOSSIER,
        text=text,
        scope=scope,
        occurred_at=max(known[source].occurred_at for source in dossier.sources),
        recorded_at=now,
        source=dossier.topic,
        channel=SYNTHESIS,
        trust=min(known[source].trust for source in dossier.sources),
        importance=importance(text),
        tags=tags(text),
        metadata={"topic": dossier.topic, "sources": list(dossier.sources)},
    )


def from_document(document: Document, topic: str) -> Dossier:
    """Return the dossier that a document holds."""
    return replace(_dossiers().validate_python(document.value), topic=topic, version=document.version)


@cache
def _dossiers() -> TypeAdapter[Dossier]:
    from pydantic import TypeAdapter  # takes a while to import

    return TypeAdapter(Dossier)


@dataclass(frozen=True, slots=True)
class Stored:
    """A dossier as it stands, and the versions, of it and of its topic, that the next write must name."""

    key: str
    dossier: Dossier
    version: int = 0
    registered: int = 0

    def due(self, now: datetime, interval: float) -> bool:
        """Return whether so many hours have passed since the last refresh, or nothing is known yet."""
        checked = self.dossier.checked_at
        return is_due(hours_between(checked, now) if checked and self.dossier.findings else None, interval)


def of_documents(topic: Document, content: Document | None) -> Stored:
    """Return the dossier that the documents of a topic and of its content hold."""
    name, at = topic.value["topic"], from_micros(topic.value["at"])
    dossier = from_document(content, name) if content and content.value else Dossier(name)
    dossier = replace(dossier, checked_at=at, problem=topic.value["problem"])
    return Stored(topic.key, dossier, content.version if content else 0, topic.version)


def checked_topic(topic: str) -> str:
    """Return a topic without extra white space and characters that cannot be printed.

    Raises ``InvalidInput`` for one of more than ``MAX_TOPIC`` characters, and for one that consists of
    stop words.
    """
    given = clean(topic, max_chars=MAX_TOPIC, name="a topic")
    name = " ".join("".join(character if character.isprintable() else " " for character in given).split())
    if not terms(name):
        raise InvalidInput(f"the topic {shown(name)} has only stop words or symbols: name what it is about")
    return name


def content_of(dossier: Dossier) -> tuple[object, ...]:
    """Return what of a dossier makes a new version where it changes."""
    return dossier.findings, dossier.contradictions, dossier.made_by


def passed_on(before: Mapping[str, Any] | None, dossier: Dossier) -> Collection[str]:
    """Return the ids that a text may rest on without citing them.

    A model that wrote the text, or an earlier one, has read them.
    """
    if not before or not before["findings"]:
        return ()
    by_model = "model" in (before["made_by"], dossier.made_by) or before["passed_on"]
    return before["sources"] if by_model else ()


def compared(found: Iterable[Contradiction]) -> Iterator[str]:
    """Yield the ids of the entries that are compared with each other."""
    return (id_ for item in found for id_ in (*item.newer.sources, *item.older.sources))
