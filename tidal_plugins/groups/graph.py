"""The knowledge graph with the queue of episodes that are still to be read into it [SIYA §3.3]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.graph.handlers import BATCH, READ
from tidal_plugins.graph.portable import MAX_CHARS, Format
from tidal_plugins.graph.reader.budget import MODEL
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.ingestion.episodes import read_corrected
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.graph import Applied, Extracted, Mirrored, Pending, Relation
from tidal_plugins.protocols import GraphSink, check_protocol, reader_of
from tidal_plugins.retrieval.understand import checked_limit
from tidal_plugins.services import Services
from tidal_plugins.storage.open import check_writable
from tidal_plugins.storage.transactions import retry
from tidal_plugins.validation import MAX_LABEL, check_flag, clean, is_short

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

P = ParamSpec("P")
T = TypeVar("T")


def _followed(change: Callable[P, T]) -> Callable[P, T]:
    """Have the entries of recall follow a change of the graph at once."""

    @wraps(change)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        made, graph = change(*args, **kwargs), cast(Graph, args[0])
        graph._services.worker.call(graph._scope)
        return made

    return run


class Graph(KnowledgeGraph):
    """The entities and relations of one scope, learned from every episode, with the evidence for each.

    Episodes are read in the background after ``record``; ``index_pending`` reads them now.
    """

    def __init__(self, services: Services, scope: Scope) -> None:
        def embed(names: Sequence[str]) -> list[NDArray[np.float32]]:
            return [query.vector for query in services.writer.embedder.embed_queries(names)]

        episodes = partial(read_corrected, services.storage, scope)
        super().__init__(services.storage, scope, services.now, services.settings[GraphTuning], episodes, embed)
        self._services = services

    def index_pending(self, limit: int | None = None, *, failed: bool = False) -> Extracted:
        """Read the episodes that wait to be read, at most ``limit``, and return what was found in them.

        When it returns, everything recorded before is in the graph, except episodes that could not be read; ``failed``
        tries those again at once. Any number of processes share the episodes: without ``limit``, it waits for those
        that others are reading. The model of ``read_with`` reads them next, as far as today's budget goes.
        """
        most, handlers = None if limit is None else checked_limit(limit), self._services.handlers
        found, do = Extracted(), partial(handlers.do, scope=self._scope, wait=most is None)
        do(handlers.tag, failed=failed)
        for handler in (handlers.read, handlers.model):
            done = do(handler, limit=most, failed=failed)
            written = do(handlers.entries, failed=failed).results
            found = sum([*done.results, *written], found + Extracted(failed=done.failed))
        do(handlers.summaries, limit=most, failed=failed)
        return found

    def read_with(self, reader: Any) -> None:
        """Have a model read the episodes that are recorded from now on, beside the rules; ``None`` for no longer.

        ``reader`` is a LangChain chat model, a LlamaIndex ``LLM`` or a ``TurnReader`` of your own. It reads in the
        background, several episodes at a time, as ``Settings.models`` allows, for every scope of this open store. What
        it answers becomes relations, facts and the summaries of episodes, as far as the texts bear it out. The
        adapters' ``reader=`` calls this. What an earlier process left unread is read, too. ``memory.stats().reader``
        has the cost, and counts what was refused. Raises ``InvalidInput``.
        """
        services = self._services
        services.handlers.model.model.reader = reader_of(reader)
        services.worker.resume(self._scope)

    merge = _followed(KnowledgeGraph.merge)
    undo = _followed(KnowledgeGraph.undo)
    forget_source = _followed(KnowledgeGraph.forget_source)

    @_followed
    @retry
    def relate(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        subject_type: str | None = None,
        object_type: str | None = None,
        negated: bool = False,
        ended: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        turn: str | None = None,
        thread: str | None = None,
    ) -> Relation:
        """State a relation for an agent, and return it: ``relate("Ana", "works_at", "the mint")``.

        It is evidence by the agent, in the ``turn`` (an episode's id) if that is given, and confirms or ends what
        others said as anything that was read does. «user» is the user. Recall finds it at once. Secrets are replaced.
        Forgetting the turn, or ``forget_source("agent")`` for what was stated outside turns, takes it back.

        Args:
            subject: a person or a thing by name.
            predicate: a verb in snake_case, such as ``lives_in``.
            object: another person or thing, or a value.
            subject_type: what the subject is, such as ``person``. Default: what an entity of its name is.
            object_type: the same of the object.
            negated: whether this is not so.
            ended: whether it was so and is over, since ``until`` or now.
            since: from when it is true. Default: now.
            until: until when it is true.
            turn: the episode in which the agent stated it, which may still be to be recorded.
            thread: the conversation of the turn.

        Raises ``InvalidInput``.
        """
        from tidal_plugins.graph.stating import AgentStatement, state

        services, scope, now = self._services, self._scope, self._clock()
        named = {"subject": subject, "predicate": predicate, "object": object}
        labels = [clean(text, max_chars=MAX_LABEL, name=name) for name, text in named.items()]
        one, verb, other = map(services.writer.redaction.text, labels)
        said = AgentStatement(
            one,
            verb,
            other,
            subject_type=subject_type,
            object_type=object_type,
            negated=negated,
            ended=ended,
            since=since,
            until=until,
            turn=turn,
            thread=thread,
        )
        with services.storage.transaction():
            id_ = state(services.storage, scope, said, services.settings[GraphTuning], now)
        made, entries = self.relation(id_), services.handlers.entries
        services.handlers.do(entries, scope, subjects={id_, made.subject, made.object})
        services.handlers.do(entries, scope, limit=BATCH)  # what it has ended, unless much waits
        return made

    @_followed
    def load(self, text: str, format: Format = "graphml", *, source: str) -> Applied:
        """Load a graph that ``export`` wrote, or one with the same properties, as evidence from ``source``.

        Loading it again changes nothing; ``forget_source`` removes it. Secrets in it are replaced. Raises
        ``InvalidInput`` for a text that cannot be read or has more than 32 million characters, and stores nothing
        then.
        """
        redact = self._services.writer.redaction.text
        if isinstance(text, str) and isinstance(source, str) and len(text) <= MAX_CHARS and is_short(source):
            text, source = redact(text), redact(source)
        return super().load(text, format, source=source)

    def mirror(self, sink: GraphSink, *, full: bool = False) -> Mirrored:
        """Make a graph engine have this graph as it is now, and return what was written and removed.

        The engine says which ids it has, and the store remembers in which state. So only what changed is written, and
        what was forgotten, merged or withdrawn here is removed there. It is safe to interrupt: a later call goes on.
        ``full`` writes everything again; use it after either side was restored from a backup.

        Raises ``ComponentError`` if the engine fails, ``Conflict`` if another process began to mirror to the same sink
        meanwhile, ``ReadOnly``, and ``InvalidInput`` for what is no sink.
        """
        from tidal_plugins.graph.sinks import mirror

        if check_protocol(sink, GraphSink, "a sink has a name, with_texts, and methods apply and held") is None:
            raise InvalidInput("give a sink, such as tidal_plugins.apps.graphs.Neo4jSink")
        clean(sink.name, max_chars=MAX_LABEL, name="the name of a sink")
        check_flag(full, "full")
        storage = self._services.storage
        check_writable(storage)
        return mirror(storage, self._scope, sink, self._episodes, self._services.now(), full=full)

    def pending(self) -> list[Pending]:
        """List the episodes that are still to be read, with the last error of each.

        Those that wait for the model of ``read_with`` come last. Without the extra ``language`` no relations are read
        from talk: then the first one has no episode, and its error says what to install.
        """
        jobs, services = self._services.jobs, self._services
        settings, none = services.settings.graph, list[Pending]()
        if settings.enabled and services.components.graph_extractor is None:
            from tidal_plugins.graph.reading.parsing import missing

            reason = missing(settings.language_model)
            none = [Pending("", services.now(), error=reason)] if reason else none
        return none + [
            Pending(job.subject, job.since, job.attempts, job.error, job.due, model=kind == MODEL)
            for kind in (READ, MODEL)
            for job in jobs.pending(self._scope, kind)
        ]

    aindex_pending = in_thread(index_pending)
    amirror = in_thread(mirror)
    amerge = in_thread(merge)
    aundo = in_thread(undo)
    aforget_source = in_thread(forget_source)
    arelate = in_thread(relate)
    aload = in_thread(load)  # type: ignore[arg-type]  # a method of this class
    apending = in_thread(pending)
    aread_with = in_thread(read_with)
