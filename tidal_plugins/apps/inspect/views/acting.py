"""Acting: writing down what a hand is about to do, and recognising what it was shown."""

from __future__ import annotations

from hashlib import sha256

from tidal_plugins.apps.inspect.page import Page
from tidal_plugins.model.session import Action

AGENT = "inspect"
"""The agent that the sessions of the inspector name."""

MAX_SUBJECT = 200


def audited(page: Page, action: Action, subject: str) -> None:
    """Write down what is about to be done, in the session of the inspector. Raises ``PolicyViolation``.

    Call it once it is known that it can be done.
    """
    page.memory.sessions.open(agent=AGENT, thread=AGENT).permit(action, subject[:MAX_SUBJECT])


def digest(*texts: str) -> str:
    """Return a short text that differs where any of the texts does."""
    return sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:24]
