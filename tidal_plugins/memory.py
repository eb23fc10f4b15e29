"""TidalMemory: the one object that users hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from os import PathLike
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Unpack, overload

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput
from tidal_plugins.groups.compacting import CompactingView
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import utc_now
from tidal_plugins.model.entry import Entry, Scope, check_scope
from tidal_plugins.model.recall import Recall, Whisper
from tidal_plugins.shown import shown
from tidal_plugins.tracing import traced
from tidal_plugins.validation import check_flag, iterable

if TYPE_CHECKING:
    from tidal_plugins.ingestion.writer import Progress
    from tidal_plugins.model.entry import Filter, Note, NoteFields
    from tidal_plugins.model.exchange import Episode, Exchange, Imported, Message, ToolCall
    from tidal_plugins.model.reports import Receipt
    from tidal_plugins.protocols import (
        ClaimExtractor,
        CoverageAssessor,
        Embedder,
        EmotionEstimator,
        GraphExtractor,
        Redactor,
        Reranker,
        SentenceTagger,
        Summariser,
    )
    from tidal_plugins.retrieval.federation import Peer
    from tidal_plugins.sessions.session import Session
    from tidal_plugins.settings import Profile, Settings
    from tidal_plugins.storage.base import Storage
    from tidal_plugins.storage.sqlite.opening import Key


class TidalMemory(CompactingView):
    """An agent's memory, in one SQLite file or another engine. Scopes but its own are never read or written.

    Capabilities beyond the verbs are attributes: ``episodes``, ``facts``, ``graph``, ``associations``, ``dossiers``,
    ``capsule``, ``sessions``, ``signals``, ``supersessions``, ``maintenance``, ``affect``. Every method may be called
    from any thread and has an async twin whose name begins with ``a``.

    Args:
        path: the file, made if it does not exist, or ``memory://`` for a new memory that goes when it is closed.
        storage: an engine to use instead of ``path``.
        key: returns the key of the file, which is encrypted with it. Needs an SQLite with ciphers.
        read_only: whether only to read the file, which must be there. What would write raises ``ReadOnly``.
        embedder: turns texts into vectors. Default: :class:`OnnxEmbedder`, loaded when it is first needed.
        emotion: reads how texts feel. Default: from their vectors if weights for the embedder ship, else a lexicon.
        summariser: writes dossiers and consolidated facts. Default: extracts.
        claim_extractor: reads statements about named facts. Default: rules.
        graph_extractor: reads entities and relations. Default: rules.
        redactor: finds the secrets that are replaced before anything is stored. Default: :class:`DefaultRedactor`.
        reranker: orders the best candidates of every recall. Default: none.
        tagger: reads what sentences do and carry. Default: a linear model that ships.
        assessor: chooses the further queries of a recall with several hops. Default: rules.
        peers: other memories that recall and whisper read too: paths, open memories or :class:`Peer`.
        settings: what differs from the defaults.
        scope: the owner, a tuple of names.
        clock: returns the time as an aware datetime.

    Raises ``StorageError`` if the path cannot hold a memory, and ``InvalidInput`` for an argument that does not fit.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        storage: Storage | None = None,
        key: Key | None = None,
        read_only: bool = False,
        embedder: Embedder | None = None,
        emotion: EmotionEstimator | EllipsisType | None = ...,
        summariser: Summariser | None = None,
        claim_extractor: ClaimExtractor | None = None,
        graph_extractor: GraphExtractor | None = None,
        reranker: Reranker | None = None,
        redactor: Redactor | None = None,
        assessor: CoverageAssessor | None = None,
        tagger: SentenceTagger | None = None,
        peers: Iterable[Peer | TidalMemory | str | PathLike[str]] = (),
        settings: Settings | None = None,
        scope: Scope = ("default",),
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        from tidal_plugins.components import Components
        from tidal_plugins.opening import open_services

        check_scope(scope)  # before a file is made
        components = Components(
            embedder, emotion, summariser, claim_extractor, graph_extractor, reranker, redactor, assessor, tagger
        )
        build = partial(open_services, components=components, peers=peers, settings=settings, clock=clock)
        super().__init__(build(path, storage=storage, key=key, read_only=read_only), scope)
        self._rebuild = partial(build, None, key=None, read_only=False)
        self._services.worker.resume(self.scope)

    @traced("tidal.record", lambda episode: {"tidal.episodes": 1})
    def record(
        self,
        user: str | None = None,
        agent: str | None = None,
        *,
        messages: Sequence[Message] = (),
        tools: Sequence[ToolCall] = (),
        thread: str | None = None,
        id: str | None = None,
        occurred_at: datetime | None = None,
        surfaced: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> Episode:
        """Store one turn, verbatim but for secrets, and return its episode. The turn is durable when this returns.

        Give ``user``, ``agent`` and the ``tools`` that ran between, or all ``messages`` in order. ``thread`` names the
        conversation. ``id``, or the ids of the messages, make recording idempotent: a turn that is recorded again stays
        one episode. ``surfaced`` are the ids of the memories that were shown before the turn. Raises
        ``InvalidInput``.
        """
        from tidal_plugins.ingestion.record import one_turn, record
        from tidal_plugins.model.exchange import Exchange

        said, meta = one_turn(user, agent, messages, tools), {} if metadata is None else metadata
        turn, services = Exchange(said, thread, id, occurred_at, surfaced, meta), self._services
        with services.worker.recording(self.scope):
            [episode] = record(services.writer, services.affect, self.scope, [turn], self.now())
        return episode

    @traced("tidal.record", lambda done: {"tidal.episodes": done.new})
    def record_many(self, exchanges: Iterable[Exchange], *, progress: Progress | None = None) -> Imported:
        """Store many turns, such as an old conversation, in batches of one transaction each, and count them.

        ``exchanges`` may be an iterator, which is read no further than one batch ahead of what is stored. A batch that
        is stored stays, also if a later exchange is refused or the process ends. Recording the same exchanges again
        then stores the rest; one without an id and without message ids is stored anew each time. ``progress`` is
        called with the number of exchanges done and the number of all, or ``None`` for an iterator. Raises
        ``InvalidInput``.
        """
        from tidal_plugins.ingestion.record import record_stream

        given, services = iterable(exchanges, "exchanges"), self._services
        with services.worker.recording(self.scope):
            return record_stream(services.writer, services.affect, self.scope, given, self.now(), progress=progress)

    @overload
    def remember(self, text: str, **fields: Unpack[NoteFields]) -> Entry: ...  # type: ignore[overload-overlap]

    @overload
    def remember(self, text: Note) -> Entry: ...

    @overload
    def remember(
        self, text: Iterable[Note | str], *, progress: Progress | None = ..., **fields: Unpack[NoteFields]
    ) -> list[Entry]: ...

    def remember(
        self, text: str | Note | Iterable[Note | str], *, progress: Progress | None = None, **fields: Any
    ) -> Entry | list[Entry]:
        """Store a skill, a knowledge document or a fact; or many texts or :class:`Note`\\ s in batches.

        ``fields`` are those of :class:`Note`: kind, source, tags, importance, … Long texts are split into passages at
        headings and sentences; a document is ranked by its best passage. A text that is remembered again returns the
        entry that stands. Raises ``InvalidInput``, and ``Forgotten`` for a text that was forgotten.
        """
        from tidal_plugins.ingestion.record import remember, to_notes
        from tidal_plugins.model.entry import Note

        if not isinstance(text, Iterable | Note):
            raise InvalidInput(f"give texts or Notes to remember, got {shown(text)}")
        notes = to_notes([text] if isinstance(text, str | Note) else text, fields)
        with self._services.worker.recording(self.scope):
            stored = remember(self._services.writer, self.scope, notes, self.now(), progress=progress)
        return stored[0] if isinstance(text, str | Note) else stored

    def forget(
        self,
        *ids: str,
        source: str | None = None,
        thread: str | None = None,
        everywhere: bool = False,
        dry_run: bool = False,
    ) -> Receipt:
        """Remove entries and episodes for good: by id or citation, by source, or a whole thread.

        Rows, indexes, vectors and bytes are removed; a keyed hash stays, so that the same text is not captured again.
        An entry that was said in an episode is blanked in it. ``everywhere`` removes the same text from wherever it
        stands in the scope. The receipt says what went, and what is left and why. The file is rewritten once: forget
        many in one call. ``dry_run`` removes nothing, and returns the receipt of what would go. It needs a memory that
        may write, since it does the work and takes it back. ``memory.maintenance.erasures()`` lists the forgettings.
        """
        deep, looks = check_flag(everywhere, "everywhere"), check_flag(dry_run, "dry_run")
        return self._services.forget(self.scope, ids, source, thread, everywhere=deep, dry_run=looks)

    @traced("tidal.recall", lambda found: {"tidal.hits": len(found), "tidal.degraded": len(found.degraded)})
    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        window: int = 0,
        hops: int | None = None,
        associative: bool = False,
        as_of: datetime | None = None,
        session: Session | int | None = None,
        affect: Affect | None = None,
        profile: Profile | None = None,
        secrets: bool = False,
        **filter: Unpack[Filter],
    ) -> Recall:
        """Return the entries that ``query`` brings up, best first, with the reasons. Recall writes nothing.

        Args:
            query: a text in any words.
            limit: hits to return, 1 to 1000. Default: ``Settings.recall.limit``.
            window: turns before and after each hit to return in ``Hit.window``, 0 to 50.
            hops: 1 to 10. Later hops query for what the hits leave open and append hits. Default: ``Settings``.
            associative: whether to append entries that share associations or labels with the hits.
            as_of: recall as if it were then: entries stored and valid then, without today's mood and signals.
            session: a session whose annotations and rewards raise entries.
            affect: replaces the current mood.
            profile: ``balanced``, ``tidal`` or ``attention``. Default: ``Settings.recall.profile``.
            secrets: whether to show the passwords, keys and the like that are stored; masked otherwise: ``[password]``.
            filter: the fields of :class:`Filter`: kinds, threads, speakers, sources, tags, metadata, since, until, …

        Raises ``InvalidInput``, also for an empty query.
        """
        from tidal_plugins.retrieval.understand import Request
        from tidal_plugins.sessions.session import session_id

        services = self._services
        request = Request.of(
            self.scope, query, self.now(), services.settings, services.affect, filter,
            limit=limit, window=window, hops=hops, associative=associative,
            as_of=as_of, session=session_id(session), affect=affect, profile=profile,
        )  # fmt: skip
        return services.recall(request, secrets=check_flag(secrets, "secrets"))

    @traced("tidal.whisper", lambda shown: {"tidal.hits": len(shown.hits), "tidal.characters": len(shown.text)})
    def whisper(
        self,
        turn: str,
        *,
        exclude: Collection[str] = (),
        session: Session | int | None = None,
        affect: Affect | None = None,
        as_of: datetime | None = None,
        profile: Profile | None = None,
    ) -> Whisper:
        """Return the few memories to show a model before it answers ``turn``, or none.

        It has at most 500 characters of the memories' own text, and 250 around it. It is empty, and false, when no
        memory is relevant enough or the turn is small talk. ``exclude`` are the ids of memories that the model sees
        anyway; the others are as in ``recall``: ``as_of`` gives the whisper as
        it would have been then.
        """
        from tidal_plugins.retrieval.understand import Request
        from tidal_plugins.sessions.session import session_id

        services = self._services
        if isinstance(turn, str) and not turn.strip():
            return Whisper("")
        request = Request.of_turn(
            self.scope,
            turn,
            self.now(),
            services.settings,
            services.affect,
            exclude=exclude,
            session=session_id(session),
            affect=affect,
            as_of=as_of,
            profile=profile,
        )
        return services.whisper(request)

    def get(self, id: str) -> Entry:
        """Return an entry by id or citation, in any tier. Raises ``NotFound``, or ``Forgotten`` if it was forgotten."""
        return self._services.entry(self.scope, id)

    arecord = in_thread(record)
    arecord_many = in_thread(record_many)
    aremember = in_thread(remember)
    aforget = in_thread(forget)
    arecall = in_thread(recall)
    awhisper = in_thread(whisper)
    aget = in_thread(get)
