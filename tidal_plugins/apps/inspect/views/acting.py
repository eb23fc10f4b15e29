"""What several pages do: texts of entries, and acts of a person under a policy, which are audited."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from tidal_plugins import NotFound, TidalMemory
from tidal_plugins.apps.inspect.page import Page
from tidal_plugins.model.session import Action

AGENT = "inspect"
"""The agent that the sessions of the inspector name."""

MAX_SUBJECT = 200


def texts_of(memory: TidalMemory, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of entries by id; nothing of one that is gone."""
    found = dict[str, str]()
    for id_ in dict.fromkeys(ids):
        try:
            found[id_] = memory.get(id_).text
        except NotFound:
            continue
    return found


def audited(page: Page, action: Action, subject: str) -> None:
    """Write down what is about to be done, in the session of the inspector. Raises ``PolicyViolation``.

    Call it once it is known that it can be done.
    """
    page.memory.sessions.open(agent=AGENT, thread=AGENT).permit(action, subject[:MAX_SUBJECT])


def digest(*texts: str) -> str:
    """Return a short text that differs where any of the texts does."""
    return sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:24]
