"""The presence of one scope: it follows the memory, lets time pass, and says one thing when there is reason to
[Tidal §4–5].

Every step reads the stored state, computes the next one, and stores it in place of the version that it read. Two
processes can step at the same time: one of them finds that the other was quicker, and begins again from there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.dossiers.seeds import Seeds
from tidal_plugins.errors import Conflict
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.entry import Entry, Scope
from tidal_plugins.model.presence import Decision, PresenceState, PresenceStep, ProactiveMessage, Terms, Thought
from tidal_plugins.presence.answers import judged
from tidal_plugins.presence.choosing import Chosen, Told, choose
from tidal_plugins.presence.gate import in_conversation, restraint, score, silence
from tidal_plugins.presence.reading import Reader, Seen, observed
from tidal_plugins.presence.stored import KEPT, Kept, PresenceStore, changed
from tidal_plugins.presence.ticks import PresenceTuning, due, mood, set_back, tick
from tidal_plugins.presence.wording import Writer
from tidal_plugins.protocols import Summariser
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.shorthands import entry_id

NOT_ALLOWED = "nobody allowed it: memory.presence.allow(zone=…)"
HELD = "another process holds this presence"
SOON = timedelta(days=2)
"""Time before its day from which what is due is a thought of its own."""
THOUGHTS = 6
"""Pairs that are held, the newest: twice as many as count for the gate."""
_TRIES = 4
"""Steps that hold nothing. The one after them holds the store, so that busy neighbours cannot starve it."""


@dataclass(frozen=True, slots=True)
class PresenceEngine:
    """Steps the presence of one scope. ``summariser`` may write messages, if the settings say so."""

    storage: Storage
    scope: Scope
    settings: Settings
    summariser: Summariser | None = None

    @property
    def store(self) -> PresenceStore:
        return PresenceStore(self.storage, self.scope)

    def step(self, now: datetime, owner: str = "") -> PresenceStep:
        """Let the ticks pass that are due, follow the memory, and queue a message if there is reason to speak.

        Nothing is read and nothing is kept of a scope that allowed nothing. ``owner`` is who holds the presence. A
        step that others outrun again and again holds the store in the end, and writes its message without a model.
        """
        now = aware(now, "now")
        for _ in range(_TRIES):
            try:
                return self._allowed_step(now, owner)
            except Conflict:
                continue  # another process was quicker, or something that was to be said was forgotten
        with self.storage.transaction():  # nobody can be quicker; and nobody waits here for a model
            return replace(self, summariser=None)._allowed_step(now, owner)

    def why(self, now: datetime) -> Decision:
        """Return what a step would decide now, and change nothing."""
        terms = self.store.terms()
        if terms is None:
            return Decision(now, False, NOT_ALLOWED)
        said, (stored, _version) = self.store.messages(), self.store.state()
        before = set_back(stored or PresenceState(now), now)
        ticked = tick(before, self.settings[PresenceTuning], due(before, now))
        reader = Reader(self.storage, self.scope, self.settings, terms)
        heard = reader.heard(now)
        seen = reader.look(now, heard)
        state, judgements = judged(
            self._seen(ticked, seen, heard, reader),
            said,
            heard,
            reader.opened(heard),
            now,
            self.settings[PresenceTuning],
        )
        return self._decide(state, terms, _merged(said, judgements), seen, reader, now)[0]

    def sentences(self, now: datetime) -> dict[str, str]:
        """Return the sentences of what is unfinished, by the ids of their threads."""
        terms = self.store.terms()
        if terms is None:
            return {}
        seen = Reader(self.storage, self.scope, self.settings, terms).look(now, None)
        return {id_: inert(item.said.raw) for id_, item in seen.items.items()}

    def take(self, now: datetime) -> ProactiveMessage | None:
        """Return the message that waits, as taken, or ``None``. Each message is taken once, by one caller.

        It is taken only while it may be said. One whose things were done or forgotten since expires instead. So does
        one whose «tomorrow» is another day: its day is over, or the clock or the time zone was changed.
        """
        terms = self.store.terms()
        waiting = [kept for kept in self.store.messages() if kept.message.status == "queued"]
        if terms is None or not waiting or terms.is_paused(now) or terms.is_quiet(now):
            return None
        reader = Reader(self.storage, self.scope, self.settings, terms)
        heard = reader.heard(now)
        if in_conversation(heard.occurred_at if heard else None, now, self.settings[PresenceTuning]):
            return None
        seen = reader.look(now, heard)
        for kept in waiting:
            good = kept.message.until == _midnight(terms, now) and seen.items.keys() >= set(kept.spoken)
            found = changed(kept, status="taken", taken_at=now) if good else changed(kept, status="expired")
            try:
                with self.storage.transaction():
                    self.store.put(found)
            except Conflict:
                continue  # somebody else took it, or it was forgotten
            if good:
                return found.message
        return None

    def give_back(self, id: str) -> bool:
        """Let a message wait again that was taken and not delivered, and return whether it does."""
        kept = next((one for one in self.store.messages() if one.message.id == id), None)
        if kept is None or kept.message.status != "taken":
            return False
        try:
            with self.storage.transaction():
                self.store.put(changed(kept, status="queued", taken_at=None))
        except Conflict:  # it was judged or forgotten meanwhile
            return False
        return True

    def mood(self, state: PresenceState) -> Affect:
        """Return the mood at the last tick of a state."""
        return mood(state, self.settings[AffectTuning].half_life, self.settings[PresenceTuning])

    def _allowed_step(self, now: datetime, owner: str) -> PresenceStep:
        terms = self.store.terms()
        if terms is None:
            return self._silent(PresenceState(now), Decision(now, False, NOT_ALLOWED))
        if self.store.holder(now) not in ("", owner):
            state, _version = self.store.state()
            return self._silent(state or PresenceState(now), Decision(now, False, HELD))
        return self._step(terms, now)

    def _step(self, terms: Terms, now: datetime) -> PresenceStep:
        limits, (stored, version) = self.settings[PresenceTuning], self.store.state()
        before = set_back(stored or PresenceState(now), now)
        ticks = due(before, now)
        state = tick(before, limits, ticks)
        reader = Reader(self.storage, self.scope, self.settings, terms)
        heard = reader.heard(now)
        turned = heard is not None and heard.occurred_at != before.heard
        looks = before is not stored or turned or state.ticks // limits.observe > before.ticks // limits.observe
        said = self.store.messages()
        seen = reader.look(now, heard) if looks else None
        if seen:
            state = self._with_thoughts(self._seen(state, seen, heard, reader), seen, said, now)
        state, judgements = judged(state, said, heard, reader.opened(heard), now, limits)
        decision, chosen = self._decide(state, terms, _merged(said, judgements), seen, reader, now)
        message = self._message(chosen, decision, terms, version) if chosen else None
        if looks or judgements or message or ticks >= limits.save:
            self._write(state, version, [*judgements, *([message] if message else [])], now)
        queued = [one.message for one in [*_merged(said, judgements), *([message] if message else [])]]
        waiting = next((one for one in queued if one.status == "queued"), None)
        return PresenceStep(state, self.mood(state), decision, waiting)

    def _seen(self, state: PresenceState, seen: Seen, heard: Entry | None, reader: Reader) -> PresenceState:
        return observed(state, seen, heard.occurred_at if heard else None, reader.felt(heard))

    def _with_thoughts(self, state: PresenceState, seen: Seen, said: Sequence[Kept], now: datetime) -> PresenceState:
        """Return a state with what is due soon, what keeps coming up together, and what is associated with the focus.

        A thought lives until a message was about it, one of its memories is no longer active, or newer ones take its
        place.
        """
        seeds, used = Seeds(self.storage, self.settings, self.scope), {id_ for kept in said for id_ in kept.entries}
        named = [*seeds.take(now), *seeds.recent(now)]  # maintenance may have taken them first
        pairs = [*seeds.around(seen.focus, now, without=used), *((seed.first.id, seed.second.id) for seed in named)]
        pairs += ((a, b) for one in state.thoughts if len(one.entries) == 2 for a, b in [one.entries])
        since = {one.id: one.at for one in state.thoughts}
        thoughts: dict[str, Thought] = {}
        for pair in pairs:
            id_ = self._thought_id(pair)
            if used.isdisjoint(pair) and len(thoughts) < THOUGHTS and seeds.stands(*pair, now):
                thoughts.setdefault(id_, Thought(id_, pair, since.get(id_, now)))
        for one in seen.threads:
            if one.due and one.id not in state.said and one.due - SOON <= now < one.due + timedelta(days=1):
                thoughts[one.id] = Thought(one.id, (one.entry,), since.get(one.id, now))
        return replace(state, thoughts=tuple(thoughts.values()))

    def _thought_id(self, pair: tuple[str, ...]) -> str:
        return entry_id(self.storage, self.scope, "thought", *sorted(pair))

    def _decide(
        self,
        state: PresenceState,
        terms: Terms,
        said: Sequence[Kept],
        seen: Seen | None,
        reader: Reader,
        now: datetime,
    ) -> tuple[Decision, Chosen | None]:
        """Return why the memory speaks or is silent, and what to speak of."""
        limits = self.settings[PresenceTuning]
        scored = score(state, self.mood(state), now, limits)
        if reason := silence(state, terms, said, now, limits):
            return replace(scored, reason=reason), None
        if not scored.counts["threads"] and not scored.counts["seeds"]:
            return replace(scored, reason="nothing is on its mind"), None
        if seen is None:
            return replace(scored, reason="nothing has changed since it last looked"), None
        stands = [kept for kept in said if kept.message.status != "expired"]
        told = Told([w for kept in stands for w in kept.words], [w for kept in stands if kept.due for w in kept.words])
        spoken = {*state.said, *(id_ for kept in stands for id_ in kept.threads)}
        items = reader.associated(seen, state.thoughts)
        chosen = choose(items, state.threads, spoken, told, now, terms, limits)
        if chosen is None:
            return replace(scored, reason="nothing that it could say is due, or has been open for long"), None
        if chosen.due:
            return replace(scored, speaks=True, reason="something is due, which does not wait for the gate"), chosen
        if reason := restraint(state, terms, said, now, limits):
            return replace(scored, reason=reason), None
        if scored.score < limits.threshold:
            return replace(scored, reason="the gate is closed"), None
        return replace(scored, speaks=True, reason="the gate is open"), chosen

    def _message(self, chosen: Chosen, decision: Decision, terms: Terms, version: int) -> Kept:
        """Return what is said. The version of the state that it follows on is no other's, and so neither is its id."""
        now = decision.at
        items = list(chosen.items.values())
        writer = Writer(self.summariser if self.settings.presence.written else None, self.settings, terms.zone)
        text, by_model = writer.write(items, now)
        points = [said for item in items for said in (item.said, item.since, item.associated) if said]
        entries = tuple(dict.fromkeys(point.entry.id for point in points))
        message = ProactiveMessage(
            id=entry_id(self.storage, self.scope, "message", *chosen.threads, now.isoformat(), version),
            text=text,
            at=now,
            until=_midnight(terms, now),
            kind=items[0].kind,
            citations=tuple(dict.fromkeys(point.entry.citation for point in points)),
            why=str(decision),
            written_by_model=by_model,
        )
        words = tuple(item.words for item in items)
        return Kept(message, tuple(chosen.items), chosen.threads, words, chosen.due, entries)

    def _write(self, state: PresenceState, version: int, messages: Sequence[Kept], now: datetime) -> None:
        entries = {id_ for kept in messages if not kept.version for id_ in kept.entries}
        with self.storage.transaction():
            if self.store.terms() is None:
                raise Conflict("what was allowed was taken back meanwhile")
            if len(self.storage.summaries(self.scope, entries)) != len(entries):
                raise Conflict("something that was to be said was forgotten meanwhile")
            self.store.save(state, version)
            for kept in messages:
                self.store.put(kept)
            self.store.drop_before(now - KEPT)

    def _silent(self, state: PresenceState, decision: Decision) -> PresenceStep:
        return PresenceStep(state, self.mood(state), decision)


def _midnight(terms: Terms, now: datetime) -> datetime:
    """Return the end of the person's day, in UTC: the hour that comes twice compares with no other zone's."""
    zone = terms.local(now).tzinfo
    return datetime.combine(terms.today(now) + timedelta(days=1), time(0), zone).astimezone(UTC)


def _merged(said: Sequence[Kept], judgements: Collection[Kept]) -> list[Kept]:
    newer = {kept.message.id: kept for kept in judgements}
    return [newer.get(kept.message.id, kept) for kept in said]
