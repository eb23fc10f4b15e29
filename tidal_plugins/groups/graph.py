"""The knowledge graph with the queue of episodes that are still to be read into it [SIYA §3.3]."""

from __future__ import annotations

from tidal_plugins.aio import in_thread
from tidal_plugins.graph.formats.portable import Format
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.extraction import Extracted, Pending
from tidal_plugins.model.graph import Applied
from tidal_plugins.retrieval.request import checked_limit
from tidal_plugins.services import Services


class Graph(KnowledgeGraph):
    """The entities and relations of one scope, learned from every episode, with the evidence for each.

    Episodes are read in the background after ``record``; ``index_pending`` reads them now.
    """

    def __init__(self, services: Services, scope: Scope) -> None:
        super().__init__(*services.graph_parts(scope))
        self._services = services

    def index_pending(self, limit: int | None = None, *, failed: bool = False) -> Extracted:
        """Read the episodes that wait to be read, at most ``limit``, and return what was found in them.

        When it returns, everything recorded before is in the graph, except episodes that could not be read; ``failed``
        tries those again at once.
        """
        most = None if limit is None else checked_limit(limit)
        return self._services.graph_indexer(self._scope).run(limit=most, failed=failed)

    def load(self, text: str, format: Format = "graphml", *, source: str) -> Applied:
        """Load a graph that ``export`` wrote, or one with the same properties, as evidence from ``source``.

        Loading it again changes nothing; ``forget_source`` removes it. Secrets in it are replaced. Raises
        ``InvalidInput`` for a text that cannot be read, and stores nothing then.
        """
        redact = self._services.writer.redaction.text
        if isinstance(text, str) and isinstance(source, str):
            text, source = redact(text), redact(source)
        return super().load(text, format, source=source)

    def pending(self) -> list[Pending]:
        """List the episodes that are still to be read, with the last error of each."""
        return self._services.graph_indexer(self._scope).queue.pending()

    aindex_pending = in_thread(index_pending)
    aload = in_thread(load)  # type: ignore[arg-type]  # a method of this class
    apending = in_thread(pending)
