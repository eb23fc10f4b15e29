"""The semantic graph of one scope: ``memory.graph`` [SIYA §3.3]."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tidal_plugins.aio import in_thread
from tidal_plugins.embedding.identity import scale_of
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.graph import portable
from tidal_plugins.graph.card import Card, card_of, newest_of
from tidal_plugins.graph.indexing.forgetting import erase_entries, remove_support
from tidal_plugins.graph.indexing.stale import mark_around
from tidal_plugins.graph.portable import Format
from tidal_plugins.graph.queries import Episodes, GraphQueries
from tidal_plugins.graph.records.entities import last_seen_first, nodes
from tidal_plugins.graph.records.merging import Embed, join, likely, merged, merges, undo_merge
from tidal_plugins.graph.records.relations import KINDS, Validity
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import Applied, Merge, Proposal
from tidal_plugins.scoring.text import normal
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage, WhereLinks
from tidal_plugins.storage.capabilities import question
from tidal_plugins.storage.scrubbing import mark_unscrubbed, scrub
from tidal_plugins.storage.transactions import retry
from tidal_plugins.validation import MAX_LABEL, check_int, is_short

COMPARED = 2_000
"""Entities, the last seen ones, among which names that may be one are looked for."""


class KnowledgeGraph(GraphQueries):
    """The knowledge of one scope, as entities and relations.

    It is learned from everything that is recorded. Only the user can tell which entities are one: see ``proposals``.
    """

    def __init__(
        self,
        storage: Storage,
        scope: Scope,
        clock: Callable[[], datetime],
        settings: GraphTuning,
        episodes: Episodes,
        embed: Embed,
    ) -> None:
        """Initialise the graph.

        ``embed`` turns names into vectors, one row each, to propose names of one meaning for merging.
        """
        super().__init__(storage, scope, clock, settings, episodes)
        self._embed = embed

    @question
    def card(self, name: str, *, type: str | None = None, reader: str | None = None) -> Card:
        """Return all that is known of an entity in sentences: what is so, what was, and what is planned.

        The parts have 12 notes each at most, what was learned last first. ``reader`` is the name of the person who
        reads the card, such as the speaker of the turns: it says «you» of that person. Raises ``NotFound``.
        """
        now = self._clock()
        with self._storage.snapshot():
            graph = self._graph()
            entity = self._chosen(graph, name, type)
            rows = self._storage.links(self._scope, WhereLinks(ends=graph.merged.members(entity.id), kinds=KINDS))
            relations = graph.shown(newest_of(rows, now))
            ends = {end for one in relations for end in (one.subject, one.object)}
            names = {id_: node.name for id_, node in nodes(self._storage, self._scope, ends).items()}
        return card_of(entity, relations, names, now, reader)

    # merging

    @question
    def proposals(self, limit: int = 20) -> list[Proposal]:
        """Return pairs of entities that may be one, likeliest first, except those whose merge was undone."""
        most = check_int(limit, "limit", 0)
        with self._storage.snapshot():
            graph = self._graph()
            known = nodes(self._storage, self._scope)
            roots = [id_ for id_ in known if graph.merged.root(id_) == id_]
            newest = last_seen_first(self._storage, self._scope, roots)[:COMPARED]
            apart = {frozenset((m.kept, m.absorbed)) for m in merges(self._storage, self._scope)}
        compared = {id_: known[id_] for id_ in newest}
        found = likely(compared, apart, self._settings.similarity, self._embed, scale_of(self._storage))[:most]
        with self._storage.snapshot():
            shown = self._graph().entities({id_ for *_, pair in found for id_ in pair})
        return [
            Proposal(shown[a], shown[b], likeness, reason)
            for likeness, reason, (a, b) in found
            if a in shown and b in shown
        ]

    @retry
    def merge(self, keep: str, absorb: str) -> Merge:
        """Merge two entities into one, which goes by ``keep``. Contradictions between them are resolved by time.

        ``undo`` takes it back. Raises ``NotFound``, and ``InvalidInput`` if the two are one entity already.
        """
        with self._storage.transaction():
            graph = self._graph()
            made = join(self._storage, self._scope, self._root(graph, keep), self._root(graph, absorb), self._clock())
            self._refit(made)
            mark_around(self._storage, self._scope, self._clock(), [made.kept, made.absorbed])
            return made

    @question
    def merges(self) -> list[Merge]:
        """Return every merge in the order in which they were made, including those that were undone."""
        return merges(self._storage, self._scope)

    @retry
    def undo(self, merge: Merge | str) -> Merge:
        """Undo a merge. Both entities are as if it had never been, and keep everything learned of either since."""
        with self._storage.transaction():
            undone = undo_merge(
                self._storage, self._scope, merge.id if isinstance(merge, Merge) else merge, self._clock()
            )
            self._refit(undone)
            mark_around(self._storage, self._scope, self._clock(), [undone.kept, undone.absorbed])
            return undone

    def split(self, keep: str, absorbed: str) -> Merge:
        """Undo the merge by which ``absorbed``, a name or an id, goes by ``keep``. Raises ``NotFound``."""
        kept = self.entity(keep).id
        with self._storage.snapshot():
            graph, found = self._graph(), [one for one in self.merges() if one.undone_at is None]
            known = nodes(self._storage, self._scope, {one.absorbed for one in found})
            of_it = [one for one in found if graph.merged.root(one.absorbed) == kept]
        named = {one.absorbed: normal(known[one.absorbed].name) for one in of_it if one.absorbed in known}
        for one in reversed(of_it):
            if absorbed == one.absorbed or named.get(one.absorbed) == normal(absorbed):
                return self.undo(one)
        raise NotFound(f"{shown(absorbed)} was not merged into {shown(keep)}; merges() lists what was")

    # other graphs

    def export(self, format: Format = "graphml") -> str:
        """Return the whole graph with its history as GraphML, JSON-LD or Cypher."""
        with self._storage.snapshot():
            graph = self._graph(each=None)
            ids = [id_ for id_ in nodes(self._storage, self._scope) if graph.merged.root(id_) == id_]
            rows = self._storage.links(self._scope, WhereLinks(kinds=KINDS))
            entities, relations = graph.entities(ids).values(), graph.shown(rows)
        return portable.write(portable.Portable(tuple(entities), tuple(relations)), format)

    def load(self, text: str, format: Format = "graphml", *, source: str) -> Applied:
        """Load a graph that ``export`` wrote, or one with the same properties, as evidence from ``source``.

        Loading it again changes nothing; ``forget_source`` removes it. Raises ``InvalidInput`` for a text that cannot
        be read or has more than 32 million characters, and stores nothing then.
        """
        name = _source(source)
        found = portable.read(text, format)
        return portable.load(self._storage, self._scope, found, name, self._settings, self._clock())

    @retry
    def forget_source(self, source: str) -> int:
        """Remove what only a loaded graph supports, bytes and all, and return the number of entities and relations
        removed."""
        with self._storage.transaction():
            links = portable.loaded_from(self._storage, self._scope, _source(source))
            if links:
                mark_unscrubbed(self._storage)
            gone = remove_support(self._storage, self._scope, links, self._settings.functional, self._clock())
            erase_entries(self._storage, self._scope, gone)
        scrub(self._storage)
        return len(gone.entities) + len(gone.relations)

    acard = in_thread(card)
    aproposals = in_thread(proposals)
    asplit = in_thread(split)
    amerge = in_thread(merge)
    amerges = in_thread(merges)
    aundo = in_thread(undo)
    aexport = in_thread(export)
    aload = in_thread(load)
    aforget_source = in_thread(forget_source)

    def _refit(self, merge: Merge) -> None:
        """Compute again when relations of two entities hold, after the two were merged or parted."""
        known = merged(self._storage, self._scope)
        validity = Validity(self._storage, self._scope, self._settings.functional, known, self._clock())
        validity.refit(validity.touching(known.all_members([merge.kept, merge.absorbed])))


def _source(source: str) -> str:
    if not isinstance(source, str) or not source.strip() or not source.isprintable() or not is_short(source):
        raise InvalidInput(
            f"source must name where the graph comes from, in at most {MAX_LABEL:,} characters, got {shown(source)}"
        )
    return source.strip()
