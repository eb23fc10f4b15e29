"""TidalMemory: the one object that users hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput
from tidal_plugins.groups.view import View
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.clock import utc_now
from tidal_plugins.model.entry import Entry, Scope, check_scope
from tidal_plugins.model.recall import Recall, Whisper
from tidal_plugins.tracing import traced
from tidal_plugins.validation import check_flag, iterable, label

if TYPE_CHECKING:
    from tidal_plugins.compaction.compactor import Compactor
    from tidal_plugins.ingestion.writer import Progress
    from tidal_plugins.model.entry import Filter, Note, NoteFields
    from tidal_plugins.model.exchange import Episode, Exchange, Imported, Message, ToolCall
    from tidal_plugins.model.reports import Receipt
    from tidal_plugins.protocols import (
        ClaimExtractor,
        CoverageAssessor,
        CurrentFiles,
        Embedder,
        EmotionEstimator,
        GraphExtractor,
        Redactor,
        Reranker,
        SentenceTagger,
        Summariser,
        TokenCounter,
    )
    from tidal_plugins.retrieval.federation import Peer
    from tidal_plugins.sessions.session import Session
    from tidal_plugins.settings import Profile, Settings
    from tidal_plugins.storage.base import Storage
    from tidal_plugins.storage.sqlite.opening import Key


WARMING = "What was said about the plans for next week?"
"""A question that goes all the way through recall. Its vector stays in no store."""


class TidalMemory(View):
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
        summariser: writes dossiers, consolidated facts and, later, the summaries of episodes. Default: extracts.
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
        from tidal_plugins.services import Components, open_services

        check_scope(scope)  # before a file is made
        components = Components(
            embedder, emotion, summariser, claim_extractor, graph_extractor, reranker, redactor, assessor, tagger
        )
        services = open_services(
            path,
            storage=storage,
            key=key,
            read_only=read_only,
            components=components,
            peers=peers,
            settings=settings,
            clock=clock,
        )
        super().__init__(services, scope)
        services.worker.resume(scope)

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
        called with the number of exchanges done and the number of all, or ``None`` for an iterator.

        What is stored is found at once. Of more than 16 exchanges, how much they matter and how they feel follows in
        the background; ``stats().waiting`` tells how many are left. Raises ``InvalidInput``.
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
        from tidal_plugins.ingestion.forget import forget, named

        deep, looks = check_flag(everywhere, "everywhere"), check_flag(dry_run, "dry_run")
        if not ids and source is None and thread is None:
            raise InvalidInput("say what to forget: ids, source= or thread=")
        source, thread, services = label(source, "source"), label(thread, "thread"), self._services
        source = source and services.writer.redaction.known(source)
        chosen, now = named(services.storage, self.scope, ids, source, thread), self.now()
        receipt = forget(services.writer, self.scope, chosen, now, source=source, everywhere=deep, dry_run=looks)
        if not looks:
            services.worker.call(self.scope)  # the facts that lost a source are written anew
        return receipt

    @traced("tidal.recall", lambda found: {"tidal.hits": len(found), "tidal.degraded": len(found.degraded)})
    def recall(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        window: int = 0,
        hops: int | None = None,
        associative: bool = False,
        as_of: datetime | None = None,
        session: Session | int | None = None,
        affect: Affect | None = None,
        profile: Profile | Literal["hot"] | None = None,
        secrets: bool = False,
        **filter: Unpack[Filter],
    ) -> Recall:
        """Return the entries that ``query`` brings up, best first, with the reasons. Recall writes nothing.

        Args:
            query: a text in any words. Without one the profile ``hot`` ranks all entries that the filter lets through.
            limit: hits to return, 1 to 1000. Default: ``Settings.recall.limit``.
            window: turns before and after each hit to return in ``Hit.window``, 0 to 50.
            hops: 1 to 10. Later hops query for what the hits leave open and append hits. Default: ``Settings``.
            associative: whether to append entries that share associations or labels with the hits.
            as_of: recall as if it were then: entries stored and valid then, without today's mood and signals.
            session: a session whose annotations and rewards raise entries.
            affect: replaces the current mood.
            profile: ``balanced``, ``tidal`` or ``attention``. Default: ``Settings.recall.profile``. ``hot`` takes no
                query: recency, importance and signals order what the memory holds, and peers are not asked.
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

    def compactor(
        self,
        *,
        max_tokens: int | None = None,
        max_bytes: int | None = None,
        summariser: Summariser | None = None,
        counter: TokenCounter | None = None,
        files: CurrentFiles | None = None,
        nested: bool = False,
    ) -> Compactor:
        """Return an object that keeps a context within limits (default: those of ``Settings.compaction``).

        ``summariser`` writes the summaries (default: extracts), ``counter`` counts tokens (default: about), and
        ``files=DiskFiles(folder)`` tells what files are now (default: what was said of them). In a ``nested`` run, such
        as a subagent's, questions are recorded as an agent's. Raises ``InvalidInput``.
        """
        from tidal_plugins.compaction.compactor import Compactor
        from tidal_plugins.compaction.recorded import Recorder
        from tidal_plugins.model.compaction import Size
        from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter, check_protocol
        from tidal_plugins.summarising.sizes import ApproximateCounter
        from tidal_plugins.validation import check_int

        services = self._services
        settings = services.settings.compaction
        tokens = check_int(settings.max_tokens if max_tokens is None else max_tokens, "max_tokens", 1)
        size = check_int(settings.max_bytes if max_bytes is None else max_bytes, "max_bytes", 1)
        return Compactor(
            Recorder(services.writer, services.affect, services.worker, self.scope, nested),
            services.preparations,
            Size(tokens, size),
            check_protocol(summariser, Summariser, "a summariser has a method summarise"),
            check_protocol(counter, TokenCounter, "a counter has a method count") or ApproximateCounter(),
            self.now,
            check_protocol(files, CurrentFiles, "files has a root and a method read, such as DiskFiles(folder)"),
        )

    def warm(self) -> None:
        """Load the models now, those of the embedder and the reranker, so that the first turn does not wait for them.

        Opening loads none. It takes some tenths of a second with the default embedder, and writes nothing. Raises
        ``EmbeddingError`` if the embedder fails.
        """
        if load := getattr(self._services.recaller.reranker, "load", None):
            load()
        self._services.embedder.embed_queries([WARMING])
        self.whisper(WARMING)

    arecord = in_thread(record)
    arecord_many = in_thread(record_many)
    aremember = in_thread(remember)
    aforget = in_thread(forget)
    arecall = in_thread(recall)
    awhisper = in_thread(whisper)
    aget = in_thread(get)
    awarm = in_thread(warm)
