"""What a presence sees in the memory: what is unfinished, what stirred somebody, and when they last spoke."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.associations.store import ASSOCIATION
from tidal_plugins.dossiers.scorer import worth
from tidal_plugins.dossiers.sections import Newest
from tidal_plugins.dossiers.sentences import AGENT, Sentence
from tidal_plugins.dossiers.sentences import Reader as Sentences
from tidal_plugins.english.intentions import SELF_HARM
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import CONVERSATION, EPISODE, Entry, Scope
from tidal_plugins.model.presence import Attention, PresenceState, Terms, Thought
from tidal_plugins.presence.ticks import PresenceTuning
from tidal_plugins.presence.unfinished import Unfinished, unfinished
from tidal_plugins.secrets.screening import screening
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.storage.shorthands import entry_id

MAX_THREADS = 1_000
"""Threads that are held, the most salient."""


FOCUS = 3
"""Things said last, and threads, the most salient ones, that are in focus: what comes to mind comes with these."""
TALK = timedelta(hours=2)
"""Time before what was said last that belongs to the same talk, in its thread."""
_TURNS = 50
"""Turns, the newest, among which the person's last one is looked for; what the memory said first has none of theirs."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the memory shows: the unfinished things by the ids of their threads, and the threads.

    ``focus`` are the ids of the entries of the last talk and of the most salient threads.
    """

    items: Mapping[str, Unfinished] = field(default_factory=dict)
    focus: tuple[str, ...] = ()
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

    def look(self, now: datetime, heard: Entry | None) -> Seen:
        """Read what is unfinished now, and what stirred the person of late."""
        settings = self.settings.model_copy(update={"time_zone": self.terms.zone})
        newest = Newest(self.storage, self.scope, settings, now)
        found = {self._id(item): item for item in self._open(unfinished(newest))}
        threads = [self._thread(id_, item, now) for id_, item in found.items()]
        threads += self._stirred(newest.entries, now)
        kept = sorted(threads, key=lambda one: -one.salience)[:MAX_THREADS]
        focus = [*(entry.id for entry in self.talk(heard)), *(one.entry for one in kept[:FOCUS])]
        items = {one.id: found[one.id] for one in kept if one.id in found}
        return Seen(items, tuple(dict.fromkeys(focus)), tuple(kept), self._links(kept))

    def talk(self, heard: Entry | None) -> list[Entry]:
        """Return the last things that the person said in the talk that ended with what they last said."""
        if heard is None or heard.thread is None:
            return [heard] if heard else []
        since, until = heard.occurred_at - TALK, heard.occurred_at + timedelta(microseconds=1)
        where = Where(kinds={CONVERSATION}, threads={heard.thread}, since=since, until=until)
        said = self.storage.find(self.scope, where, limit=_TURNS, newest_first=True)
        return [entry for entry in said if entry.role == "user"][:FOCUS]

    def felt(self, heard: Entry | None) -> Affect:
        """Return the mood when the person last spoke, with the arousal of the liveliest turn of that talk."""
        moods = [entry.affect for entry in self.talk(heard) if entry.affect]
        return replace(moods[0], arousal=max(one.arousal for one in moods)) if moods else Affect()

    def associated(self, seen: Seen, thoughts: Iterable[Thought]) -> dict[str, Unfinished]:
        """Return the unfinished things, each with what a thought seed associates it with that the person said."""
        pairs = [one.entries for one in thoughts if len(one.entries) == 2]
        others = self.storage.get(self.scope, {id_ for pair in pairs for id_ in pair})
        said = {id_: best for id_, entry in others.items() if (best := self._stated(entry))}
        found = dict(seen.items)
        for id_, item in seen.items.items():
            ids = [*dict.fromkeys(other for pair in pairs if item.said.entry.id in pair for other in pair)]
            near = [said[other] for other in ids if other in said and other != item.said.entry.id]
            if newest := max(near, key=lambda one: (one.entry.id in seen.focus, one.entry.occurred_at), default=None):
                found[id_] = replace(item, associated=newest)
        return found

    def _stated(self, entry: Entry) -> Sentence | None:
        """Return what the person states in an entry that may be quoted; nothing of a secret or of despair."""
        if entry.kind != CONVERSATION or entry.role != "user":
            return None
        if screening(entry).secrets or SELF_HARM.search(entry.text):
            return None
        return max(Sentences(self.storage, self.scope).stated_by(entry), key=worth, default=None)

    def _open(self, items: Sequence[Unfinished]) -> list[Unfinished]:
        """Return things without those that were said beside a secret or in despair, and without what was said beside a
        secret of them since."""
        said = {one.entry.id for item in items for one in (item.said, item.since) if one}
        hidden = {id_ for id_, entry in self.storage.get(self.scope, said).items() if screening(entry).secrets}
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
