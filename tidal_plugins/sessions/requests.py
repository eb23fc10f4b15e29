"""Requests of a model to a session by its tools, and their answers in words [tidalDB]."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidal_plugins.errors import InvalidInput, NotFound, PolicyViolation, SessionClosed
from tidal_plugins.sessions.session import Session
from tidal_plugins.settings import REWARD

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
