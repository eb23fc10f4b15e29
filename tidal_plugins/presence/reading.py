"""What a presence sees in the memory: what is unfinished, what stirred somebody, and when they last spoke."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.associations.store import ASSOCIATION
from tidal_plugins.dossiers.sections import Newest
from tidal_plugins.dossiers.sentences import AGENT
from tidal_plugins.english.intentions import SELF_HARM
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import CONVERSATION, EPISODE, Entry, Scope
from tidal_plugins.model.presence import Attention, PresenceState, Terms
from tidal_plugins.presence.ticks import PresenceTuning
from tidal_plugins.presence.unfinished import Unfinished, unfinished
from tidal_plugins.secrets.finding import secrets
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.storage.shorthands import entry_id

MAX_THREADS = 1_000
"""Threads that are held, the most salient."""


_TURNS = 50
"""Turns, the newest, among which the person's last one is looked for; what the memory said first has none of theirs."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the memory shows: the unfinished things by the ids of their threads, and the threads."""

    items: Mapping[str, Unfinished] = field(default_factory=dict)
    threads: tuple[Attention, ...] = ()
    links: tuple[tuple[int, int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one scope for a presence, in the time zone of its person."""

    storage: Storage
    scope: Scope
    settings: Settings
    terms: Terms

    def heard(self, now: datetime) -> Entry | None:
        """Return what the person last said. What is dated ahead of now by more than a pause was not said yet."""
        until = now + timedelta(minutes=self.settings[PresenceTuning].pause)
        turns = self.storage.find(self.scope, Where(kinds={EPISODE}, until=until), limit=_TURNS, newest_first=True)
        for turn in turns:
            said = self.storage.find(self.scope, Where(kinds={CONVERSATION}, episodes={turn.id}))
            if own := [entry for entry in said if entry.role == "user"]:
                return own[-1]
        return None

    def opened(self, heard: Entry | None) -> datetime | None:
        """Return when the agent said, without being asked, what stands right before this in its thread."""
        if heard is None or heard.thread is None:
            return None
        turns = self.storage.find(
            self.scope,
            Where(kinds={EPISODE}, threads={heard.thread}, until=heard.occurred_at),
            limit=2,
            newest_first=True,
        )
        before = next((turn for turn in turns if turn.id != heard.episode), None)
        said = self.storage.find(self.scope, Where(kinds={CONVERSATION}, episodes={before.id})) if before else []
        return before.occurred_at if before and said and all(entry.role == AGENT for entry in said) else None

    def look(self, now: datetime) -> Seen:
        """Read what is unfinished now, and what stirred the person of late."""
        settings = self.settings.model_copy(update={"time_zone": self.terms.zone})
        newest = Newest(self.storage, self.scope, settings, now)
        found = {self._id(item): item for item in self._open(unfinished(newest))}
        threads = [self._thread(id_, item, now) for id_, item in found.items()]
        threads += self._stirred(newest.entries, now)
        kept = sorted(threads, key=lambda one: -one.salience)[:MAX_THREADS]
        return Seen({one.id: found[one.id] for one in kept if one.id in found}, tuple(kept), self._links(kept))

    def _open(self, items: Sequence[Unfinished]) -> list[Unfinished]:
        """Return things without those that were said beside a secret or in despair, and without what was said beside a
        secret of them since."""
        said = {one.entry.id for item in items for one in (item.said, item.since) if one}
        hidden = {id_ for id_, entry in self.storage.get(self.scope, said).items() if secrets(entry.text)}
        hidden |= {item.said.entry.id for item in items if SELF_HARM.search(item.said.entry.text)}
        return [
            replace(item, since=None) if item.since and item.since.entry.id in hidden else item
            for item in items
            if item.said.entry.id not in hidden
        ]

    def _id(self, item: Unfinished) -> str:
        """Return an id that tells nothing of a thing, and stays the same while its entry says the same."""
        entry, raw = item.said.entry, item.said.raw
        return entry_id(self.storage, self.scope, "presence", entry.id, item.kind, entry.text.find(raw))

    def _thread(self, id: str, item: Unfinished, now: datetime) -> Attention:
        settings, begins, ends = self.settings[PresenceTuning], None, None
        if item.due:
            zone = self.terms.local(now).tzinfo
            begins = datetime.combine(item.due, time(0), zone)
            ends = datetime.combine(item.due + timedelta(days=1), time(0), zone) if item.kind == "plan" else None
        salience: float = getattr(settings, item.kind)
        said_at = item.said.entry.occurred_at
        return Attention(id, item.said.entry.id, item.kind, self._faded(salience, said_at, now), begins, ends)

    def _stirred(self, entries: Iterable[Entry], now: datetime) -> list[Attention]:
        threshold = self.settings[AffectTuning].threshold
        return [
            Attention(entry.id, entry.id, "stirred", self._faded(entry.affect.intensity, entry.occurred_at, now))
            for entry in entries
            if entry.role == "user" and entry.affect and entry.affect.intensity > threshold
        ]

    def _faded(self, salience: float, since: datetime, now: datetime) -> float:
        return salience * 2 ** (-max(0.0, hours_between(since, now)) / self.settings[PresenceTuning].half_life)

    def _links(self, threads: Sequence[Attention]) -> tuple[tuple[int, int, float], ...]:
        """Return the associations between the entries of threads."""
        places: dict[str, int] = {}
        for place, one in enumerate(threads):
            places.setdefault(one.entry, place)
        found = self.storage.links(self.scope, WhereLinks(kinds=[ASSOCIATION], ends=list(places))) if places else []
        return tuple(
            (places[link.source], places[link.target], link.weight)
            for link in found
            if link.source in places and link.target in places and link.source != link.target
        )


def observed(state: PresenceState, seen: Seen, heard: datetime | None, felt: Affect) -> PresenceState:
    """Return a state with what the memory shows now.

    A thread that is known keeps its salience, one that is new begins with that which time has left of it, and what is
    done, gone or forgotten leaves the mind. What was said stays said.
    """
    known = {one.id: one.salience for one in state.threads}
    threads = tuple(replace(one, salience=known.get(one.id, one.salience)) for one in seen.threads)
    return replace(state, threads=threads, links=seen.links, heard=heard, felt=felt)
