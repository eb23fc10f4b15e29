"""Resources: the capsule, the dossiers and the episodes, as texts between marks that their content cannot forge."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote, urlsplit

from tidal_plugins import InvalidInput, NotFound, TidalMemory
from tidal_plugins.model.fence import inert
from tidal_plugins.shown import shown
from tidal_plugins.turns import capsule_text
from tidal_plugins.turns.answers import ANSWER_CHARS, summary

MAX_DOSSIERS, MAX_EPISODES = 50, 20
"""Dossiers and episodes that are listed: the templates lead to all of them."""

MAX_URI = 4_000
"""Characters of a URI: a topic of 1,000 characters of which each is escaped."""

TITLE_CHARS = 80

FORM = "memory://capsule, memory://dossiers/{topic}, memory://episodes/{id} or memory://episodes/{id}/{page}"


class Resources:
    """The resources of one memory."""

    def __init__(self, memory: TidalMemory) -> None:
        self._memory = memory

    def listed(self) -> list[dict[str, Any]]:
        """Return the capsule, the first dossiers and the last episodes."""
        memory = self._memory
        dossiers = memory.dossiers.list()[:MAX_DOSSIERS]
        episodes = memory.episodes.list(limit=MAX_EPISODES, newest_first=True)
        return [
            _resource("memory://capsule", "Capsule", "What the agent is, does, knows and has yet to do."),
            *(
                _resource(f"memory://dossiers/{quote(one.topic, safe='')}", inert(one.topic), "What is known of it.")
                for one in dossiers
            ),
            *(
                _resource(
                    f"memory://episodes/{one.id}",
                    summary(one.query or one.answer, TITLE_CHARS) or one.id,
                    f"A turn of {one.occurred_at:%Y-%m-%d %H:%M} UTC, verbatim.",
                )
                for one in episodes
            ),
        ]

    def templates(self) -> list[dict[str, Any]]:
        """Return the forms of the URIs."""
        return [
            _template("memory://dossiers/{topic}", "Dossier", "The current document on a topic, with citations."),
            _template("memory://episodes/{id}", "Episode", "The first page of a turn, verbatim."),
            _template("memory://episodes/{id}/{page}", "Page of an episode", "A further page of a turn, verbatim."),
        ]

    def read(self, uri: str) -> str:
        """Return the text of a resource. Raises ``NotFound``, and ``InvalidInput`` for a URI of another form."""
        parts = urlsplit(uri[:MAX_URI])
        path = [unquote(part) for part in parts.path.split("/")[1:]]
        match parts.netloc if parts.scheme == "memory" and len(uri) <= MAX_URI else "", path:
            case "capsule", [] | [""]:
                return self._capsule()
            case "dossiers", [topic]:
                return bounded(str(self._memory.dossiers[topic]))
            case "episodes", [id_]:
                return self._memory.episodes.page(id_)
            case "episodes", [id_, page] if page.isascii() and page.isdigit() and len(page) < MAX_DIGITS:
                return self._memory.episodes.page(id_, int(page))
        raise InvalidInput(f"a resource is {FORM}, got {shown(uri)}")

    def _capsule(self) -> str:
        text = capsule_text(self._memory.capsule.read(), self._memory.frames)
        if not text:
            raise NotFound("the capsule is empty yet")
        return bounded(text)


MAX_DIGITS = 7
"""Digits of the number of a page."""


def bounded(text: str) -> str:
    """Return a text between marks, or its beginning and its last mark if it is too long."""
    if len(text) <= ANSWER_CHARS:
        return text
    shown_, mark = text[:ANSWER_CHARS], text[text.rfind("\n") :]
    whole = shown_[: shown_.rfind("\n")]
    return f"{whole}\n… ({len(text):,} characters, cut here){mark}"


def _resource(uri: str, title: str, description: str) -> dict[str, Any]:
    return {"uri": uri, "name": title, "title": title, "description": description, "mimeType": "text/markdown"}


def _template(uri: str, title: str, description: str) -> dict[str, Any]:
    return {"uriTemplate": uri, "name": title, "description": description, "mimeType": "text/markdown"}
