"""The presence, which is on the memory's mind between conversations, and the mood [Tidal §3–5]."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.presence import Decision, PresenceState, PresenceStep, ProactiveMessage, Terms
from tidal_plugins.presence.engine import NOT_ALLOWED, PresenceEngine
from tidal_plugins.services import Services
from tidal_plugins.shown import shown
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import check_int

LONGEST = timedelta(days=366)
"""The longest cool-down and lease."""


@dataclass(frozen=True, slots=True)
class PresenceGroup:
    """The presence of one scope. It says nothing, and keeps nothing, until it is allowed. Every method has an async
    twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    def allow(
        self,
        *,
        zone: str,
        quiet: tuple[time, time] = (time(21), time(8)),
        per_day: int = 1,
        cooldown: timedelta = timedelta(hours=12),
    ) -> Terms:
        """Let the memory speak first in this scope, on these terms, and return them.

        Args:
            zone: the person's time zone by its IANA name, such as ``Europe/Berlin``. Days and nights are theirs.
            quiet: the local times between which it says nothing. Two equal times for no quiet hours.
            per_day: messages in one day.
            cooldown: time between two messages. Unanswered ones double it for what is not due, to eight times as much.

        Raises ``InvalidInput``. Calling it again changes the terms, and ends a pause.
        """
        terms = Terms(_zone(zone), _times(quiet), check_int(per_day, "per_day", 1, 24), _duration(cooldown, "cooldown"))
        self._engine.store.allow(terms)
        return terms

    def terms(self) -> Terms | None:
        """Return what is allowed, or ``None``."""
        return self._engine.store.terms()

    def pause(self, until: datetime | None = None) -> Terms:
        """Say nothing until a time, or until ``resume``. The mind goes on.

        Raises ``NotFound`` if nothing is allowed.
        """
        until = None if until is None else aware(until, "until")
        return self._change(paused=True, until=until)

    def resume(self) -> Terms:
        """End a pause. Raises ``NotFound`` if nothing is allowed."""
        return self._change(paused=False, until=None)

    def erase(self) -> int:
        """Take back what was allowed, with everything that the presence kept, and return how many messages that were.

        Memories stay. ``memory.forget`` removes the messages that rest on a memory.
        """
        return self._engine.store.erase()

    def step(
        self, now: datetime | None = None, *, holder: str = "", lease: timedelta = timedelta(minutes=3)
    ) -> PresenceStep:
        """Let the ticks pass since the last step, follow the memory, and queue a message if there is reason to speak.

        Call it as often as you like: from a scheduler, or let :class:`Presence` do it. One tick is a minute, and any
        number of missed ones is made good at once. Whoever delivers messages calls ``take``. A ``holder`` holds the
        presence for the time of the ``lease``, and steps of others do nothing meanwhile.
        """
        at, lease, holder = self._at(now), _duration(lease, "lease"), _name(holder)
        if holder and not self._engine.store.hold(holder, at, at + lease):
            holder = ""
        return self._engine.step(at, holder)

    def release(self, holder: str) -> None:
        """Let the presence go that a holder holds."""
        now, holder = self._services.now(), _name(holder)
        if self._engine.store.holder(now) == holder:
            self._engine.store.hold(holder, now, now)

    def take(self, now: datetime | None = None) -> ProactiveMessage | None:
        """Return the message that waits, to be delivered, or ``None``. Each is taken once, by one caller.

        A process that is killed between taking and delivering loses it: nothing is said twice. It stays in
        ``messages``, as taken.
        """
        return self._engine.take(self._at(now))

    def give_back(self, message: ProactiveMessage | str) -> bool:
        """Let a message wait again that was taken and could not be delivered. Return ``False`` if it was judged by
        now, or forgotten."""
        return self._engine.give_back(
            message.id if isinstance(message, ProactiveMessage) else _name(message, "message")
        )

    @question
    def messages(self) -> list[ProactiveMessage]:
        """List what was said and what waits to be said in the last year, the newest first, each with its reasons."""
        return [kept.message for kept in reversed(self._engine.store.messages())]

    @question
    def why(self, now: datetime | None = None) -> Decision:
        """Return what a step would decide now, with its reason and the parts of its score. It changes nothing."""
        return self._engine.why(self._at(now))

    @question
    def state(self) -> PresenceState | None:
        """Return the state of the last step that was saved: threads, thoughts, absence; ``None`` for none."""
        return self._engine.store.state()[0]

    @question
    def sentences(self, now: datetime | None = None) -> dict[str, str]:
        """Return the sentences of what is unfinished now, by the ids of their threads of attention.

        A state holds no words. A thread that is over, or that stirred somebody, has no sentence here.
        """
        return self._engine.sentences(self._at(now))

    @question
    def mood(self) -> Affect:
        """Return the mood at the last tick: what was felt when the person last spoke, relaxed since."""
        state = self._engine.store.state()[0]
        return self._engine.mood(state or PresenceState(self._services.now()))

    aallow = in_thread(allow)
    aterms = in_thread(terms)
    apause = in_thread(pause)
    aresume = in_thread(resume)
    aerase = in_thread(erase)
    astep = in_thread(step)
    atake = in_thread(take)
    agive_back = in_thread(give_back)
    amessages = in_thread(messages)
    awhy = in_thread(why)
    astate = in_thread(state)
    asentences = in_thread(sentences)
    amood = in_thread(mood)

    @property
    def _engine(self) -> PresenceEngine:
        services = self._services
        return PresenceEngine(services.storage, self._scope, services.settings, services.components.summariser)

    def _at(self, now: datetime | None) -> datetime:
        return self._services.now() if now is None else aware(now, "now")

    def _change(self, *, paused: bool, until: datetime | None) -> Terms:
        terms = self.terms()
        if terms is None:
            raise NotFound(NOT_ALLOWED)
        changed = replace(terms, paused=paused, until=until)
        self._engine.store.allow(changed)
        return changed


def _name(name: str, of: str = "holder") -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"{of}= is a name, got {shown(name)}")
    return name


def _zone(name: str) -> str:
    try:
        return ZoneInfo(name if isinstance(name, str) else "").key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"zone= is the person's time zone by its IANA name, such as 'Europe/Berlin', got {shown(name)}"
        ) from None


def _times(quiet: tuple[time, time]) -> tuple[time, time]:
    ok = isinstance(quiet, tuple) and len(quiet) == 2 and all(isinstance(one, time) and not one.tzinfo for one in quiet)
    if not ok:
        raise InvalidInput(f"quiet= is two local times, such as (time(21), time(8)), got {shown(quiet)}")
    return quiet


def _duration(given: timedelta, name: str) -> timedelta:
    if not isinstance(given, timedelta) or not timedelta(0) <= given <= LONGEST:
        raise InvalidInput(f"{name}= is a timedelta of at most {LONGEST.days} days, got {shown(given)}")
    return given


@dataclass(frozen=True, slots=True)
class AffectGroup:
    """The affect state of one scope."""

    _services: Services = field(repr=False)
    _scope: Scope

    def state(self) -> Affect:
        """Return the current affect state, relaxed to now."""
        return self._services.affect.current(self._scope, self._services.now())

    astate = in_thread(state)
