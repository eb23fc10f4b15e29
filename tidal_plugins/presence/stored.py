"""What a presence keeps: its terms, its state, who holds it, and what it said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any

from tidal_plugins.ingestion.derived import write_derived
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import from_micros, to_micros
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.presence import Attention, PresenceState, ProactiveMessage, Terms, Thought
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.shorthands import read_document, write_document

PRESENCE = "presence"
"""Collection of the terms, of the state, which holds no words, and of the lease."""
MESSAGES = "presence-messages"
"""Collection of what was said, derived documents: what quotes a forgotten memory goes with it."""

TERMS, STATE, LEASE = "terms", "state", "lease"

KEPT = timedelta(days=366)
"""Time for which messages are kept; of older ones only the ids of their threads, so that nothing is said twice."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A message, the threads that it speaks of, those that it covers, the words of each thing, whether these are due,
    the entries that it rests on, and the version of its document."""

    message: ProactiveMessage
    spoken: tuple[str, ...]
    threads: tuple[str, ...]
    words: tuple[frozenset[str], ...]
    due: bool
    entries: tuple[str, ...]
    version: int = 0


@dataclass(frozen=True, slots=True)
class PresenceStore:
    """The documents of one scope's presence."""

    storage: Storage
    scope: Scope

    def terms(self) -> Terms | None:
        """Return what is allowed, or ``None`` if nobody allowed anything."""
        document = read_document(self.storage, self.scope, PRESENCE, TERMS)
        return _terms(document.value) if document and document.value else None

    def allow(self, terms: Terms | None) -> None:
        """Keep what is allowed; ``None`` takes everything back."""
        write_document(self.storage, self.scope, PRESENCE, TERMS, terms and _of_terms(terms))

    def state(self) -> tuple[PresenceState | None, int]:
        """Return the state with its version, 0 for none."""
        document = read_document(self.storage, self.scope, PRESENCE, STATE)
        return (_state(document.value), document.version) if document else (None, 0)

    def save(self, state: PresenceState, version: int) -> None:
        """Keep a state in place of the one with this version. Raises ``Conflict``."""
        write_document(self.storage, self.scope, PRESENCE, STATE, _of_state(state), expected=version)

    def messages(self) -> list[Kept]:
        """List what was said and waits to be said, the oldest first. What rested on forgotten memories is gone."""
        found = self.storage.documents(self.scope, MESSAGES)
        kept = [_kept(document.key, document.value, document.version) for document in found if document.value]
        return sorted(kept, key=lambda one: (one.message.at, one.message.id))

    def put(self, kept: Kept) -> None:
        """Keep a message in place of the one with its version. Raises ``Conflict``."""
        write_derived(
            self.storage,
            self.scope,
            MESSAGES,
            kept.message.id,
            _of_kept(kept),
            sources=kept.entries,
            expected=kept.version,
        )

    def drop_before(self, time: datetime) -> None:
        """Remove the messages from before a time."""
        old = [kept.message.id for kept in self.messages() if kept.message.at < time]
        if old:
            self.storage.erase_documents(self.scope, MESSAGES, old)

    def holder(self, now: datetime) -> str:
        """Return who holds the presence; empty for nobody."""
        document = read_document(self.storage, self.scope, PRESENCE, LEASE)
        value: Mapping[str, Any] = (document and document.value) or {"owner": "", "until": 0, "since": 0}
        runs = from_micros(value["since"]) <= now < from_micros(value["until"])  # a clock that went back ends it
        return str(value["owner"]) if runs else ""

    def hold(self, owner: str, now: datetime, until: datetime) -> bool:
        """Hold the presence until a time, unless nobody allowed it or somebody else does, and return whether it is
        held. A time that is over lets it go."""
        with self.storage.transaction():
            if self.terms() is None or self.holder(now) not in ("", owner):
                return False
            value = {"owner": owner, "since": to_micros(now), "until": to_micros(until)}
            write_document(self.storage, self.scope, PRESENCE, LEASE, value)
        return True

    def erase(self) -> int:
        """Remove everything that the presence keeps, and return how many messages there were."""
        with self.storage.transaction():
            keys = [document.key for document in self.storage.documents(self.scope, MESSAGES)]
            self.storage.erase_documents(self.scope, PRESENCE, (TERMS, STATE, LEASE))
            return self.storage.erase_documents(self.scope, MESSAGES, keys)


def _of_terms(terms: Terms) -> dict[str, Any]:
    return {
        "zone": terms.zone,
        "quiet": [time.isoformat() for time in terms.quiet],
        "per_day": terms.per_day,
        "cooldown": terms.cooldown.total_seconds(),
        "paused": terms.paused,
        "until": terms.until and to_micros(terms.until),
    }


def _terms(value: Mapping[str, Any]) -> Terms:
    begins, ends = map(time.fromisoformat, value["quiet"])
    return Terms(
        value["zone"],
        (begins, ends),
        value["per_day"],
        timedelta(seconds=value["cooldown"]),
        value["paused"],
        _time(value["until"]),
    )


def _of_state(state: PresenceState) -> dict[str, Any]:
    return {
        "at": to_micros(state.at),
        "ticks": state.ticks,
        "heard": state.heard and to_micros(state.heard),
        "felt": _of_affect(state.felt),
        "threads": [[t.id, t.entry, t.kind, t.salience, _micros(t.due), _micros(t.ends)] for t in state.threads],
        "links": [list(link) for link in state.links],
        "thoughts": [[t.id, list(t.entries), to_micros(t.at)] for t in state.thoughts],
        "said": list(state.said),
        "ignored": state.ignored,
    }


def _state(value: Mapping[str, Any]) -> PresenceState:
    return PresenceState(
        at=from_micros(value["at"]),
        ticks=value["ticks"],
        heard=_time(value["heard"]),
        felt=Affect(*value["felt"]),
        threads=tuple(
            Attention(id_, entry, kind, salience, _time(due), _time(ends))
            for id_, entry, kind, salience, due, ends in value["threads"]
        ),
        links=tuple((a, b, weight) for a, b, weight in value["links"]),
        thoughts=tuple(Thought(id_, tuple(entries), from_micros(at)) for id_, entries, at in value["thoughts"]),
        said=tuple(value["said"]),
        ignored=value["ignored"],
    )


def _of_kept(kept: Kept) -> dict[str, Any]:
    message = kept.message
    return {
        "text": message.text,
        "at": to_micros(message.at),
        "until": to_micros(message.until),
        "kind": message.kind,
        "citations": list(message.citations),
        "why": message.why,
        "status": message.status,
        "taken": _micros(message.taken_at),
        "model": message.written_by_model,
        "spoken": list(kept.spoken),
        "threads": list(kept.threads),
        "words": [sorted(words) for words in kept.words],
        "due": kept.due,
        "entries": list(kept.entries),
    }


def _kept(id: str, value: Mapping[str, Any], version: int) -> Kept:
    message = ProactiveMessage(
        id,
        value["text"],
        from_micros(value["at"]),
        from_micros(value["until"]),
        value["kind"],
        tuple(value["citations"]),
        value["why"],
        value["status"],
        _time(value["taken"]),
        value["model"],
    )
    words = tuple(map(frozenset, value["words"]))
    spoken, threads, entries = (tuple(value[name]) for name in ("spoken", "threads", "entries"))
    return Kept(message, spoken, threads, words, value["due"], entries, version)


def changed(kept: Kept, **fields: Any) -> Kept:
    """Return a message with other fields."""
    return replace(kept, message=replace(kept.message, **fields))


def _of_affect(affect: Affect) -> list[Any]:
    return [affect.valence, affect.arousal, dict(affect.emotions) if affect.emotions else None]


def _micros(time: datetime | None) -> int | None:
    return None if time is None else to_micros(time)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
