"""LoCoMo's format: conversations of two people in dated sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from tidal_plugins import Message
from tidal_plugins.apps.histories.conversation import Conversation, Unknown
from tidal_plugins.apps.histories.files import items
from tidal_plugins.patterns import lazy_re

PACE = timedelta(seconds=30)
"""Time between two turns of a session: the format dates sessions only."""

_DATES = ("%I:%M %p on %d %B, %Y", "%d %B, %Y", "%d %B %Y")
_SESSION = lazy_re(r"session_(\d+)")


def read(path: Path) -> Iterator[Conversation]:
    """Yield the sessions, each as a thread. Both people speak as users, by their names."""
    for number, item in enumerate(items(path)):
        if not isinstance(item, Mapping) or not isinstance(item.get("conversation"), Mapping):
            raise Unknown("its items have no conversation with sessions")
        name, said = str(item.get("sample_id") or f"{path.stem}-{number + 1}"), item["conversation"]
        sessions = sorted(
            (match for key in said if (match := _SESSION.fullmatch(key))), key=lambda found: int(found[1])
        )
        for session in sessions:
            at = _date(said.get(f"{session[0]}_date_time"))
            messages = _messages(said[session[0]], f"{name}:{session[0]}", at)
            if messages:
                yield Conversation(f"{name}/{session[0]}", _turns(messages), at, {"program": "locomo"})


def _messages(turns: Any, name: str, at: datetime | None) -> list[Message]:
    found = []
    for place, turn in enumerate(turns if isinstance(turns, list) else ()):
        speaker, text = str(turn.get("speaker") or ""), str(turn.get("text") or "")
        role: Literal["user", "assistant"] = "assistant" if speaker.lower() == "assistant" else "user"
        known = None if speaker.lower() in ("user", "assistant", "") else speaker
        if text.strip():
            when = at and at + PACE * place
            found.append(Message(role, text, f"{name}:{turn.get('dia_id') or place}", known, at=when))
    return found


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Split a session into turns: each begins when the one who spoke first speaks again."""
    found: list[list[Message]] = []
    first = messages[0]
    for message in messages:
        again = (message.role, message.speaker) == (first.role, first.speaker)
        if not found or (again and (found[-1][-1].role, found[-1][-1].speaker) != (first.role, first.speaker)):
            found.append([])
        found[-1].append(message)
    return found


def _date(text: Any) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(str(text), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
