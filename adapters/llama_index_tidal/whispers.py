"""What surfaces in a chat whose messages have no ids: what they say themselves is left out by its words."""

from __future__ import annotations

from collections.abc import Collection

from tidal_plugins import Session, TidalMemory, Whisper

CHARS = 4_000
"""Of a long question the beginning is looked for, as a whisper does."""

WIDE = 50
"""Hits among which to look for what the model sees anyway."""


def surface(
    memory: TidalMemory,
    question: str,
    *,
    seen: Collection[str],
    exclude: Collection[str] = (),
    session: Session | None = None,
) -> Whisper:
    """Return the whisper for a question, without the texts in ``seen`` and the ids in ``exclude``. It feels what was
    signalled in the ``session``."""
    whisper = memory.whisper(question, exclude=exclude, session=session)
    if not any(hit.text in seen for hit in whisper.hits):
        return whisper
    found = memory.recall(question.strip()[:CHARS], limit=WIDE, exclude=exclude, session=session)
    echoes = [hit.id for hit in found if hit.text in seen]
    return memory.whisper(question, exclude=[*exclude, *echoes], session=session)
