"""Looking up entities and relations by names, ids and episodes, and quoting what was said there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.graph.records.entities import nodes, said_at
from tidal_plugins.graph.records.names import called
from tidal_plugins.graph.records.relations import EVIDENCE, KINDS
from tidal_plugins.graph.stored import StoredGraph
from tidal_plugins.model.entry import EPISODE, Scope, bare_id
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import Entity, Evidence
from tidal_plugins.model.link import Link
from tidal_plugins.secrets.finding import mask, secrets
from tidal_plugins.shown import shown, shown_scope
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.validation import label, page_of

Episodes = Callable[[Collection[str]], Mapping[str, Episode]]
"""Returns the episodes found, by id."""


class Span(NamedTuple):
    """A link to an episode, and the part of its message that supports it."""

    link: Link
    start: int
    end: int
    confidence: float


class Lookup:
    """Looks up entities and relations of one scope. Use it inside a snapshot."""

    def __init__(self, storage: Storage, scope: Scope) -> None:
        self._storage = storage
        self._scope = scope

    def entity(self, graph: StoredGraph, name: str, type_: str | None = None) -> Entity:
        """Return the entity of this name or id.

        The one that is written so comes first (``order`` is not ``Order``), then a technical one, then the one with
        the most episodes.
        """
        found = graph.entities(self._ids(graph, name))
        chosen = [entity for entity in found.values() if type_ in (None, entity.type)]
        if not chosen:
            raise NotFound(
                f"no entity {shown(name)} in scope {shown_scope(self._scope)}; graph.search finds similar names"
            )
        return max(
            chosen,
            key=lambda entity: (entity.name == name, entity.category == "technical", len(entity.episodes), entity.id),
        )

    def root(self, graph: StoredGraph, name: str) -> str:
        """Return the id of the entity of this name or id."""
        ids = self._ids(graph, name)
        return ids[0] if len(ids) == 1 else self.entity(graph, name).id

    def row(self, id_: str) -> Link:
        """Return the link of a relation as it is believed now. Raises ``NotFound``."""
        found = self._storage.links(self._scope, WhereLinks(ids=[id_], kinds=KINDS)) if isinstance(id_, str) else []
        if not found:
            raise NotFound(f"no relation {shown(id_)} in scope {shown_scope(self._scope)}")
        return found[0]

    def said_in(self, episode: str | None, thread: str | None, kind: str = EVIDENCE) -> set[str]:
        """Return the ids of everything that an episode or a thread mentions or is evidence of."""
        told = set() if episode is None else {bare_id(episode)}
        if thread is not None:
            entries = self._storage.find(self._scope, Where(kinds={EPISODE}, threads={str(label(thread, "thread"))}))
            ids = {entry.id for entry in entries}
            told = ids if episode is None else told & ids
        return {link.source for link in self._storage.links(self._scope, WhereLinks(targets=told, kinds=[kind]))}

    def _ids(self, graph: StoredGraph, name: str) -> list[str]:
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"an entity is given by its name or id, got {shown(name)}")
        known = [name] if nodes(self._storage, self._scope, [name]) else called(self._storage, self._scope, name)
        return list(dict.fromkeys(map(graph.merged.root, known)))


def quoted(spans: Iterable[Span], episodes: Episodes, limit: int | None = None, after: int = 0) -> list[Evidence]:
    """Return a page of evidence with its words from the episodes, the newest first."""
    ordered = sorted(spans, key=lambda span: (said_at(span.link), span.link.target, span.start), reverse=True)
    ordered = page_of(ordered, limit, after)
    known = episodes({span.link.target for span in ordered})
    return [_evidence(span, known.get(span.link.target)) for span in ordered]


def _evidence(span: Span, episode: Episode | None) -> Evidence:
    said, position = span.link.metadata, span.link.metadata["position"]
    there = episode is not None and position is not None and position < len(episode.messages)
    said_there = _text(episode.messages[position], said.get("call")) if episode and there else ""
    return Evidence(
        episode=span.link.target,
        thread=said["thread"],
        entry=said["entry"],
        start=span.start,
        end=span.end,
        quote=mask(said_there, secrets(said_there), span.start, span.end),
        at=said_at(span.link),
        confidence=span.confidence,
        reader=said.get("reader", "rules"),
    )


def _text(message: Message, call: int | None) -> str:
    """Return the text of a message, or of the arguments of one of its calls."""
    if call is None:
        return message.text
    return message.tool_calls[call].text if call < len(message.tool_calls) else ""
