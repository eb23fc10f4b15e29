"""Session: the handle by which an agent writes signals under a policy [tidalDB]."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from types import TracebackType
from typing import NoReturn, Self

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput, NotFound, PolicyViolation, SessionClosed
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import bare_id
from tidal_plugins.model.session import (
    ACTIONS,
    Action,
    AuditEntry,
    SessionInfo,
    SessionSnapshot,
    SessionSummary,
    Signal,
)
from tidal_plugins.patterns import lazy_re
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.settings import ANNOTATE, REWARD, Settings
from tidal_plugins.shown import shown
from tidal_plugins.validation import MAX_ID, MAX_LABEL, check_choice, check_int, clean

MAX_WEIGHT = 1_000.0
"""Weight that one signal may have."""


MAX_NOTE_CHARS = 500


_UNREADABLE = lazy_re("[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of what follows, and surrogates. Others that do not print belong to
words: Persian and Hindi join letters with them, and emoji families."""


class Session:
    """A session that one agent writes signals in, for one user, as far as its policy lets it.

    Its start is durable, as all that follows. Its signals shape ``recall(…, session=session)`` from the next query
    on, and nothing else. A closed session, and one of another process, refuses use with ``SessionClosed``. A handle
    cannot be copied or pickled: ``memory.sessions.resume(session.id)`` returns another one. It is safe to share between
    threads.
    """

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime], info: SessionInfo) -> None:
        """Initialise a handle of a session that is open."""
        self._ledger = ledger
        self._clock = clock
        self._info = info
        self._process = os.getpid()
        self._summary: SessionSummary | None = None

    @property
    def id(self) -> int:
        """Return the id of the session, also of a closed one. Ids rise from session to session, and are never used
        again."""
        return self._open().id if self._summary is None else self._info.id

    @property
    def info(self) -> SessionInfo:
        """Return the user, the agent, the policy, and how many signals were accepted and refused by now."""
        return self._ledger.info(self.id)

    def signal(
        self,
        type: str,
        entry_id: str,
        weight: float = 1.0,
        at: datetime | None = None,
        note: str | None = None,
    ) -> Signal:
        """Store a signal about an entry, and return it with the score of its type. It is durable when this returns.

        Args:
            type: one of ``Settings.signals``.
            entry_id: the id of an entry. For an episode, use the ids that ``memory.episodes.entry_ids`` returns.
            weight: at least 0.
            at: when it happened; an aware time. Default: now. A time in the future counts as now.
            note: words about the entry, which count as an annotation.

        Raises ``PolicyViolation`` if the policy refuses it, ``NotFound`` for an unknown entry, ``InvalidInput`` for an
        unknown type, an unusable weight or an episode, and ``SessionClosed``.
        """
        session, now = self._open(), self._clock()
        return self._ledger.signal(
            session.id, to_signal(self._ledger.settings, type, entry_id, weight, at, note, now), now
        )

    def annotate(self, entry_id: str, note: str, at: datetime | None = None) -> Signal:
        """Store a note about an entry: a signal of type ``annotate``, under the same policy."""
        return self.signal(ANNOTATE, entry_id, at=at, note=note)

    def permit(self, action: Action, subject: str = "") -> None:
        """Ask the policy for an action beside signals, ``remember`` or ``forget``; the decision is audited and counted.

        Whoever lets an agent write asks this before each write. ``subject`` is the id that the action is about, if
        there is one already. Raises ``PolicyViolation`` if the policy refuses it, and ``SessionClosed``.
        """
        check_choice(action, "action", ACTIONS)
        nothing = isinstance(subject, str) and not subject
        named = "" if nothing else clean(subject, max_chars=MAX_LABEL, name="subject")
        self._ledger.permit(self._open().id, action, named, self._clock())

    def snapshot(self) -> SessionSnapshot:
        """Return everything that the session holds now."""
        return self._ledger.snapshot(self._open().id, self._clock())

    def audit(self) -> list[AuditEntry]:
        """List the decisions on its signals, accepted or refused, the oldest first (the last 10,000)."""
        return self._ledger.audit(self._open().id)

    def close(self) -> SessionSummary:
        """Close the session for good, and return its totals. Closing again returns the same."""
        self._check_process()
        if self._summary is None:
            self._summary = self._ledger.close(self._open().id, self._clock())
        return self._summary

    def _open(self) -> SessionInfo:
        self._check_process()
        if self._summary is not None:
            raise SessionClosed(f"session {self._info.id} was closed: open a new one with memory.sessions.open(…)")
        return self._info

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise SessionClosed(
                f"this handle of session {self._info.id} belongs to process {self._process}: "
                f"open the memory anew and use memory.sessions.resume({self._info.id})"
            )

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __reduce__(self) -> NoReturn:
        raise InvalidInput("a session cannot be copied or pickled: pass its id, and use memory.sessions.resume")

    def __repr__(self) -> str:
        return f"Session({self._info.id}, user={self._info.user!r}, agent={self._info.agent!r})"

    asignal = in_thread(signal)
    aannotate = in_thread(annotate)
    apermit = in_thread(permit)
    asnapshot = in_thread(snapshot)
    aaudit = in_thread(audit)
    aclose = in_thread(close)


def to_signal(
    settings: Settings,
    type: str,
    entry_id: str,
    weight: float,
    at: datetime | None,
    note: str | None,
    now: datetime,
) -> Signal:
    """Return a signal whose parts can be stored, or raise ``InvalidInput`` with the reason."""
    if not isinstance(type, str) or type not in settings.signals:
        known = ", ".join(sorted(settings.signals))
        raise InvalidInput(
            f"no type of signal is called {shown(type)}: use one of {known}, or declare it in Settings.signals"
        )
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= MAX_WEIGHT:
        raise InvalidInput(f"a signal's weight is a number from 0 to {MAX_WEIGHT:g}, got {shown(weight)}")
    time = now if at is None else min(now, aware(at, "at"))
    return Signal(type, bare_id(entry_id), float(weight), time, 0.0, None if note is None else _note(note))


def _note(note: str) -> str:
    """Return a note on one line, as an audit shows it."""
    if isinstance(note, str) and len(note) <= MAX_NOTE_CHARS:
        line = " ".join(note.split())
        if line and not _UNREADABLE.search(line):
            return line
    raise InvalidInput(f"a note is a readable text of 1 to {MAX_NOTE_CHARS} characters, got {shown(note)}")


def session_id(session: Session | int | None) -> int | None:
    """Return the id of a session that is given as such or by its id. Raises ``InvalidInput``."""
    if session is None:
        return None
    return session.id if isinstance(session, Session) else check_int(session, "a session's id", 0, MAX_ID)


# requests of a model by its tools, and their answers in words


REFUSALS = (InvalidInput, NotFound, PolicyViolation, SessionClosed)
"""Errors that a model reads as a text. Other errors are raised."""


def reward(session: Session, entries: Sequence[str], weight: float, note: str | None) -> str:
    """Reward each of the entries that a citation means, the first one with the note.

    Raises ``REFUSALS``, but for a policy that admits some of them only: the text says so then.
    """
    for done, entry in enumerate(entries):
        try:
            session.signal(REWARD, entry, weight, note=None if done else note)
        except PolicyViolation as refused:
            if not done:
                raise
            return f"Rewarded in part, {done} of {len(entries)} entries. {refused}"
    return f"Rewarded: it ranks higher in this conversation from now on.{_left(session)}"


def annotate(session: Session, entries: Sequence[str], note: str) -> str:
    """Note something about what a citation means. Raises ``REFUSALS``."""
    session.annotate(entries[0], note)  # once: of which entry it is said makes no difference to a recall
    return f"Noted: what speaks of the same ranks higher in this conversation from now on.{_left(session)}"


def meant(cited: Sequence[str], shown: Collection[str]) -> Sequence[str]:
    """Return those of the entries under a citation that the model was shown, or all of them if that is not known."""
    return [id_ for id_ in cited if id_ in shown] or cited


def _left(session: Session) -> str:
    remaining = session.info.remaining
    return "" if remaining is None else f" Signals left in this session: {remaining}."
