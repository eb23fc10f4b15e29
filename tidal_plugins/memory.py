"""TidalMemory: the one object that users hold."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from os import PathLike
from types import EllipsisType, TracebackType
from typing import Any, Literal, Self, overload

from tidal_plugins.aio import in_thread
from tidal_plugins.compaction.compactor import Compactor
from tidal_plugins.compaction.recorded import Recorder
from tidal_plugins.condensing.sizes import ApproximateCounter
from tidal_plugins.errors import InvalidInput, InvalidText, NotFound, SessionClosed
from tidal_plugins.graph.facts import PersistentFacts
from tidal_plugins.graph.knowledge.graph import KnowledgeGraph
from tidal_plugins.graph.web import AssociationWeb
from tidal_plugins.ingestion.clean import clean, label, mapping, positive
from tidal_plugins.ingestion.episodes import TOOL_TAG, from_entry
from tidal_plugins.ingestion.forget import forget, scrub
from tidal_plugins.ingestion.gate import Admitted, admitted
from tidal_plugins.ingestion.record import episode_id, record
from tidal_plugins.ingestion.remember import remember, to_note
from tidal_plugins.ingestion.writer import Progress
from tidal_plugins.model import transcript
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.capsule import Capsule
from tidal_plugins.model.clock import aware, utc_now
from tidal_plugins.model.compaction import Size
from tidal_plugins.model.consolidation import Consolidation
from tidal_plugins.model.dossier import Brief, Dossier
from tidal_plugins.model.entry import EPISODE, Entry, Scope, bare_id, check_scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Exchange, Message, ToolCall, turn
from tidal_plugins.model.extraction import Extracted, Pending
from tidal_plugins.model.fact import FactConflict
from tidal_plugins.model.note import Note
from tidal_plugins.model.recall import Recall, Whisper
from tidal_plugins.model.session import AuditEntry, Policy, SessionInfo, SessionSnapshot, Signal, SignalTally
from tidal_plugins.protocols import (
    CoverageAssessor,
    Embedder,
    EmotionEstimator,
    Extractor,
    GraphExtractor,
    Reranker,
    Summariser,
    TokenCounter,
)
from tidal_plugins.retrieval.federation import Peer
from tidal_plugins.retrieval.multihop import over_hops
from tidal_plugins.retrieval.query import MAX_CHARS
from tidal_plugins.retrieval.request import (
    Request,
    active,
    checked_hops,
    checked_limit,
    checked_profile,
    checked_window,
)
from tidal_plugins.retrieval.whisper import compose
from tidal_plugins.rooms import Rooms, furnished, plugged
from tidal_plugins.sessions.ledger import Ledger
from tidal_plugins.sessions.policies import Policies
from tidal_plugins.sessions.session import Session, to_signal
from tidal_plugins.settings import Profile, Settings
from tidal_plugins.storage.base import Where
from tidal_plugins.synthesis.brief import Briefs
from tidal_plugins.synthesis.capsule import Capsules
from tidal_plugins.synthesis.dossier import Dossiers
from tidal_plugins.synthesis.maintenance import Maintenance

FACT = "fact"


class TidalMemory:
    """An agent's memory in one SQLite file.

    ``scope`` says whose memory this object sees: nothing in another scope is ever read or written; ``scoped`` gives a
    view of another one. ``embedder`` is anything with ``embed`` and ``dimensions`` (default: all-MiniLM-L6-v2 on the
    CPU, loaded when first needed). ``emotion`` reads how texts feel (default: their vectors tell where weights for the
    embedder ship, elsewhere a lexicon; ``None`` for none). ``summariser`` writes dossiers and what recurs (default:
    extracts). ``extractor`` reads claims about facts out of what is stored with its ``extract``, entities and relations
    with its ``extract_graph``; rules do what it has no method for. ``reranker`` reads the best candidates of every
    recall beside the query and gives them its order (default: none). ``assessor`` says what a recall of several hops
    asks next (default: rules). ``peers`` are other memories, each a path, an open memory or a :class:`Peer`, that
    recall and whisper ask too and nothing writes to. ``clock`` returns the time as an aware datetime.

    Every method may be called from any thread, and has an async twin whose name begins with ``a``. Raises
    ``StorageError`` where the path cannot hold a memory.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        embedder: Embedder | None = None,
        emotion: EmotionEstimator | EllipsisType | None = ...,
        summariser: Summariser | None = None,
        extractor: Extractor | GraphExtractor | None = None,
        reranker: Reranker | None = None,
        assessor: CoverageAssessor | None = None,
        peers: Iterable[Peer | TidalMemory | str | PathLike[str]] = (),
        settings: Settings | None = None,
        scope: Scope = ("default",),
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.scope = check_scope(scope)
        self._opened: TidalMemory | None = None
        self._rooms = furnished(
            path,
            embedder=embedder,
            emotion=emotion,
            summariser=summariser,
            extractor=extractor,
            reranker=reranker,
            assessor=assessor,
            peers=peers,
            settings=settings or Settings(),
            clock=clock,
        )
        scrub(self._rooms.storage)  # what a forgetting that was cut off left behind

    def scoped(self, *scope: str) -> Self:
        """Return a view of the same store bound to another scope, such as ``memory.scoped("user", "42")``."""
        view = copy.copy(self)
        view.scope = check_scope(scope)
        view._opened = self.opened
        return view

    # writing

    def record(
        self,
        user: str | None = None,
        agent: str | None = None,
        *,
        messages: Sequence[Message] = (),
        tools: Sequence[ToolCall] = (),
        session: str | None = None,
        id: str | None = None,
        occurred_at: datetime | None = None,
        surfaced: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> Episode:
        """Store one interaction turn, verbatim and durable when this returns, and return its episode.

        Give ``user``, ``agent`` and the ``tools`` that ran between, or all ``messages`` in order. ``id`` (or the
        messages' ids) make it idempotent: recorded again, a turn stays one episode. ``surfaced`` are the ids of the
        memories that were shown before it. Raises ``InvalidInput`` and ``InvalidText``.
        """
        if messages and (user is not None or agent is not None or tools):
            raise InvalidInput("give either messages, or user, agent and tools")
        if not all(isinstance(call, ToolCall) for call in tools):
            raise InvalidInput("tools must be ToolCalls: ToolCall(name, arguments, result=…)")
        said = tuple(messages) or turn(user, agent, tools)
        meta = {} if metadata is None else metadata
        return self.record_many([Exchange(said, session, id, occurred_at, surfaced, meta)])[0]

    def record_many(self, exchanges: Iterable[Exchange], *, progress: Progress | None = None) -> list[Episode]:
        """Store many turns, such as an old conversation, in batches of one transaction each.

        ``progress`` is called with how many are done and how many there are. An exchange with no id and no message
        id is stored anew each time.
        """
        known = [_identified(exchange) for exchange in exchanges]
        rooms = self._rooms
        return record(rooms.writer, rooms.affect, self.scope, known, self.now(), progress=progress)

    @overload
    def remember(
        self,
        text: str,
        *,
        kind: str = ...,
        source: str | None = ...,
        tags: Sequence[str] | None = ...,
        importance: float | None = ...,
        speaker: str | None = ...,
        role: str | None = ...,
        session: str | None = ...,
        occurred_at: datetime | None = ...,
        valid_until: datetime | None = ...,
        trust: float = ...,
        metadata: Mapping[str, Any] | None = ...,
    ) -> Entry: ...

    @overload
    def remember(self, text: Note) -> Entry: ...

    @overload
    def remember(self, text: Iterable[Note], *, progress: Progress | None = ...) -> list[Entry]: ...

    def remember(
        self, text: str | Note | Iterable[Note], *, progress: Progress | None = None, **fields: Any
    ) -> Entry | list[Entry]:
        """Store a skill, a knowledge document or a fact; or many :class:`Note`\\ s in batches.

        ``fields`` are those of :class:`Note`: kind, source, tags, importance, … A long text is split at headings and
        sentences, and its best passage speaks for it. What is remembered again is returned as it stands. Raises
        ``InvalidInput``, ``InvalidText``, and ``Forgotten`` for a text that was forgotten on request.
        """
        if isinstance(text, str):
            text = to_note(text, fields)
        elif fields:
            raise InvalidInput(f"{', '.join(sorted(fields))} belong into the Note, which is given already")
        if isinstance(text, Note):
            return remember(self._rooms.writer, self.scope, [text], self.now())[0]
        if not isinstance(text, Iterable):
            raise InvalidText(f"give a text or Notes to remember, got {text!r}")
        return remember(self._rooms.writer, self.scope, list(text), self.now(), progress=progress)

    def forget(self, *ids: str, source: str | None = None, session: str | None = None) -> int:
        """Remove entries and episodes for good and return how many: by id or citation, by source, or a whole session.

        Their rows, indexes, vectors and bytes go; a keyed hash stays, so that the same text is not captured again. An
        entry that was said in an episode is blanked in it. The file is rewritten once, which takes a moment where it
        is large: forget many in one call.
        """
        if not ids and source is None and session is None:
            raise InvalidInput("say what to forget: ids, source= or session=")
        source, session = label(source, "source"), label(session, "session")
        chosen = {bare_id(id_) for id_ in ids}
        for where in (source and Where(sources={source}), session and Where(sessions={session})):
            if where:
                chosen.update(entry.id for entry in self._rooms.storage.find(self.scope, where))
        forgotten = forget(self._rooms.writer, self.scope, chosen, self.now(), source=source)
        self._rooms.background.call(self.scope)  # what is left of the facts that lost something is written anew
        return forgotten

    # reading

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        kinds: Collection[str] | None = None,
        sessions: Collection[str] | None = None,
        speakers: Collection[str] | None = None,
        sources: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        exclude: Collection[str] = (),
        include_archived: bool = False,
        associative: bool = False,
        hops: int | None = None,
        window: int = 0,
        for_session: Session | int | None = None,
        affect: Affect | None = None,
        profile: Profile | None = None,
    ) -> Recall:
        """Return what ``query`` brings up, best first, with the reasons. It writes nothing.

        All filters apply inside both channels, before the cut. ``since`` and ``until`` are times of the event;
        ``as_of`` asks as if it were then: for what had been stored by then and was valid, without the mood of today and
        the signals of the scope; what was changed since is not there as it was (``facts`` have a history). ``exclude``
        are ids of entries or episodes; ``kinds`` may name ``episode``, to search their summaries. What the graph says
        comes up where ``kinds`` names ``fact``.

        ``associative`` appends what comes up with the hits or shares labels, up to ``Settings.recall.associated`` of
        it. ``hops`` beyond the first ask for what the hits leave open, and append what that brings up, up to
        ``Settings.hops.appended`` beyond the limit. ``window``: so many turns before and after each hit come with it,
        in ``Hit.window``. ``for_session``: what this session annotated and rewarded comes up first. ``affect`` stands
        in for the current state. Raises ``InvalidText`` for an empty query.
        """
        rooms, now = self._rooms, self.now() if as_of is None else aware(as_of, "as_of")
        mood = rooms.affect.current(self.scope, now) if as_of is None else Affect()
        where = active(
            now,
            kinds=kinds,
            sessions=sessions,
            speakers=speakers,
            sources=sources,
            tags=tags,
            metadata=metadata,
            since=since,
            until=until,
            as_of=as_of and now,
            exclude=exclude,
            include_archived=include_archived,
            graph=kinds is not None and FACT in kinds,
        )
        request = Request(
            self.scope,
            _query(query, rooms.settings),
            where,
            now,
            checked_limit(rooms.settings.recall.limit if limit is None else limit),
            affect=mood if affect is None else _felt(affect),
            profile=checked_profile(rooms.settings.recall.profile if profile is None else profile),
            associative=associative,
            session=_session_id(for_session),
            window=checked_window(window),
        )
        hops = checked_hops(rooms.settings.hops.hops if hops is None else hops)
        further = replace(request, limit=request.limit + rooms.settings.hops.read, associative=False)

        def ask(text: str) -> Recall:
            return rooms.federation.recall(replace(further, text=_query(text, rooms.settings)))

        return over_hops(rooms.federation.recall(request), ask, rooms.assessor, rooms.settings.hops, hops)

    def whisper(
        self,
        turn: str,
        *,
        exclude: Collection[str] = (),
        for_session: Session | int | None = None,
        affect: Affect | None = None,
    ) -> Whisper:
        """Return what surfaces before a model call: at most three memories in at most 500 characters, or nothing.

        Where no memory clears the bar the whisper is empty (and false); of a very long turn the beginning counts.
        ``exclude`` are the ids of what the model sees anyway; ``for_session`` as in ``recall``.
        """
        rooms, now = self._rooms, self.now()
        if isinstance(turn, str) and not turn.strip():
            return Whisper("")
        turn = clean(turn.strip()[:MAX_CHARS] if isinstance(turn, str) else turn, max_chars=MAX_CHARS, name="a turn")
        request = Request(
            self.scope,
            turn,
            active(now, exclude=exclude),
            now,
            rooms.settings.whisper.max_entries,
            affect=rooms.affect.current(self.scope, now) if affect is None else _felt(affect),
            profile=rooms.settings.recall.profile,
            unasked=True,
            session=_session_id(for_session),
            felt=partial(rooms.affect.felt, self.scope, turn, now) if affect is None else None,
        )
        recall = rooms.federation.recall(request)
        return compose(recall, now, rooms.settings.whisper)

    def get(self, id: str) -> Entry:
        """Return an entry by id or citation, whatever its tier. Raises ``NotFound``, or ``Forgotten`` if it was."""
        id = bare_id(id)
        found = self._rooms.storage.get(self.scope, [id])
        if id not in found:
            raise self._rooms.missing(self.scope, id)
        return found[id]

    def episode(self, id: str) -> Episode:
        """Return an episode, verbatim, by its id or citation. Raises ``NotFound``, or ``Forgotten`` if it was."""
        entry = self.get(id)
        if entry.kind != EPISODE:
            raise NotFound(f"{id!r} is an entry of kind {entry.kind}, not an episode; use get")
        return from_entry(entry)

    def cited(self, citation: str) -> tuple[str, ...]:
        """Return the ids of the entries that a citation means: of an episode those of what was said in it.

        Raises ``NotFound``, or ``Forgotten`` if it was.
        """
        entry = self.get(citation)
        if entry.kind != EPISODE:
            return (entry.id,)
        there = self._rooms.storage.sketch(self.scope, said := from_entry(entry).entries)
        return tuple(id_ for id_ in said if id_ in there) or (entry.id,)

    def read_episode(self, id: str, page: int = 1, *, max_chars: int = 4_000) -> str:
        """Return a page of an episode as text for a model: verbatim, between marks that name the turns around it.

        ``id`` may be a citation. Raises ``NotFound``, ``Forgotten``, and ``InvalidInput`` for a page that there is not.
        """
        episode = self.episode(id)
        before, after = self._around(episode)
        return transcript.page(episode, page, max_chars, previous=before, following=after)

    def episodes(
        self,
        *,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Episode]:
        """List episodes in order of time: of a session, of a span of time, of those in which a tool ran.

        By meaning: ``recall(query, kinds={"episode"})``.
        """
        where = Where(
            kinds={EPISODE},
            sessions=None if session is None else {str(label(session, "session"))},
            since=aware(since, "since") if since else None,
            until=aware(until, "until") if until else None,
            tags=None if tool is None else {f"{TOOL_TAG}{tool}"},
        )
        most = None if limit is None else checked_limit(limit)
        found = self._rooms.storage.find(self.scope, where, limit=most, newest_first=newest_first)
        return [from_entry(entry) for entry in found]

    def episode_id(self, key: str, *, session: str | None = None) -> str:
        """Return the id that the turn recorded under ``key`` (its own id, or its first message's) has or will have."""
        return episode_id(self.scope, Exchange((), label(session, "session"), label(key, "id")))

    # knowledge

    @property
    def facts(self) -> PersistentFacts:
        """Named facts, a mapping with history: ``memory.facts["bridge"] = "up"`` [Capsule]."""
        rooms = self._rooms

        def remove(ids: Collection[str]) -> int:
            return forget(rooms.writer, self.scope, ids, self.now())

        return PersistentFacts(rooms.storage, self.scope, self.now, rooms.writer.records, rooms.settings.facts, remove)

    @property
    def graph(self) -> KnowledgeGraph:
        """What exists and how it is related, with the evidence for it, learned from every episode [SIYA §3.3].

        Episodes are read in the background after ``record``; ``extract_pending`` reads them now.
        """
        self._rooms.background.call(self.scope)  # for what another process left unread
        return self._rooms.graph(self.scope)

    def extract_pending(self, limit: int | None = None, *, failed: bool = False) -> Extracted:
        """Read the episodes of this scope that wait for it, ``limit`` at most, and return what that came to.

        Nobody needs to call it; it returns when everything recorded before is in the graph, but for what failed.
        ``failed`` tries that again at once, too.
        """
        return self._rooms.learner(self.scope).learn(
            limit=None if limit is None else checked_limit(limit), failed=failed
        )

    def pending_extractions(self) -> list[Pending]:
        """List the episodes of this scope that are still to be read, with what went wrong so far."""
        return self._rooms.learner(self.scope).queue.pending()

    def conflicts(self) -> list[FactConflict]:
        """List what was said against a fact and is not resolved."""
        return self.facts.conflicts()

    @overload
    def resolve(self, id: str, keep: Literal["fact", "claim"]) -> Any: ...

    @overload
    def resolve(self, id: str, *, value: Any) -> Any: ...

    def resolve(self, id: str, *args: Any, **choice: Any) -> Any:
        """Close a conflict and return the fact's value: ``keep="fact"``, ``keep="claim"``, or another ``value=``."""
        return self.facts.resolve(id, *args, **choice)

    def dossier(self, topic: str, *, force: bool = False) -> Dossier:
        """Return the current document on a topic; made on first mention, brought up to date when due [Capsule]."""
        return self._dossiers.current(topic, self.now(), force=force)

    def dossiers(self) -> list[Dossier]:
        """List the dossiers as they stand."""
        return self._dossiers.all()

    def drop_dossier(self, topic: str) -> bool:
        """Remove the dossier on a topic, with its earlier versions, and keep it current no more; what it was made from
        stays. Return whether there was one."""
        return self._dossiers.drop(topic, self.now())

    def brief(self, topic: str) -> Brief:
        """Answer «what is happening with X?»: dossier, recent entries, associations; bounded and cited [Capsule].

        A topic without a dossier gets none by this: it is quoted for the brief alone, and nothing is stored.
        """
        now, web = self.now(), AssociationWeb(self._rooms.storage, self.settings.associations)

        def spread(ids: Sequence[str]) -> list[tuple[str, float]]:
            return [(reached.id, reached.activation) for reached in web.spread(self.scope, ids, now)]

        return Briefs(self._dossiers, spread).brief(topic, now)

    def capsule(self, *, max_age: timedelta = timedelta(0)) -> Capsule:
        """Return the capsule: nine short sections to begin a session with, four of them made from what is stored.

        One that is not older than ``max_age`` comes as it stands, so that what begins with it stays cached.
        """
        return self._capsules.current(self.now(), max_age=max_age)

    def write_capsule(self, capsule: Capsule | str) -> Capsule:
        """Store a capsule that people edited, and return it.

        What they wrote is theirs: forgetting a memory does not reword it. Raises ``InvalidCapsule`` with what is wrong
        in it, and ``Conflict`` where somebody else wrote since it was read; of texts, which do not tell when they were
        read, the last one counts.
        """
        return self._capsules.write(capsule, self.now())

    # signals

    def session(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        policy: Policy | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        thread: str | None = None,
    ) -> Session:
        """Return a session for an agent that writes for a user under a policy: ``with memory.session(…) as session``.

        ``policy`` is a :class:`Policy` or the name of one, from ``Settings.policies`` or ``declare_policy``; ``None``
        admits everything. Of one ``thread`` the session that is open goes on, for the same user, agent and policy.
        Raises ``InvalidInput``.
        """
        name, rules = self._policies.find(policy)
        meta = mapping({} if metadata is None else metadata, "metadata", self.settings.ingestion.max_metadata_bytes)
        info = SessionInfo(0, label(user, "user"), label(agent, "agent"), rules, name, meta, self.now())
        return Session(self._ledger, self.now, info, label(thread, "thread"))

    def resume_session(self, id: int) -> Session:
        """Return another handle of an open session, also after a crash. Raises ``NotFound``, ``SessionClosed``."""
        info = self._ledger.info(id)
        if not info.is_open:
            raise SessionClosed(f"session {id} was closed: read it with memory.session_snapshot({id})")
        return Session(self._ledger, self.now, info)

    def sessions(
        self, *, user: str | None = None, agent: str | None = None, open: bool | None = None
    ) -> list[SessionInfo]:
        """List sessions in the order in which they were opened: of a user, of an agent, open or closed ones."""
        return [
            info
            for info in self._ledger.all()
            if user in (None, info.user) and agent in (None, info.agent) and open in (None, info.is_open)
        ]

    def session_snapshot(self, id: int) -> SessionSnapshot:
        """Return all that a session holds, or held when it was closed. Raises ``NotFound``."""
        return self._ledger.snapshot(id, self.now())

    def session_audit(self, id: int) -> list[AuditEntry]:
        """List what was decided on a session's signals, open or closed. Raises ``NotFound``."""
        return self._ledger.audit(id)

    def declare_policy(self, name: str, policy: Policy) -> None:
        """Store a policy under a name, in place of an earlier one; sessions that are open keep theirs."""
        self._policies.declare(name, policy)

    def signal(self, type: str, entry_id: str, weight: float = 1.0, at: datetime | None = None) -> Signal:
        """Write a signal of the scope itself, such as a user's ``view``: it shapes everyone's ranking there.

        Raises as ``Session.signal`` does, but no policy applies.
        """
        signals, now = self.settings.signals, self.now()
        return self._ledger.share(to_signal(signals, type, entry_id, weight, at, None, now), now)

    def signals(self) -> SignalTally:
        """Return the signals of the scope itself: scores by type and entry, and counts by type."""
        return self._ledger.tally(self.now())

    # upkeep

    def admitted(self) -> Admitted:
        """How many entries the write gate kept for good, and how many for a while."""
        return admitted(self._rooms.storage, self.scope)

    def consolidate(self, now: datetime | None = None) -> Consolidation:
        """Settle what has faded, make facts of what recurs, refresh due dossiers, yield thought seeds; in this scope.

        In small transactions: killed, it goes on where it was; twice at one time, it changes nothing more.
        """
        return self._rooms.consolidator(self.scope).run(self.now() if now is None else aware(now, "now"))

    def undo(self, run: str) -> int:
        """Put back what a consolidation changed, and return how much that was. Raises ``NotFound``."""
        return self._rooms.consolidator(self.scope).undo(run, self.now())

    def start_maintenance(self, interval: timedelta = timedelta(hours=1)) -> Maintenance:
        """Consolidate this scope in the background: now, and ``interval`` after each end, until the memory closes.

        Raises ``Closed`` where it has been closed already.
        """
        maintenance = Maintenance(self.consolidate, interval)
        self._rooms.storage.read_meta("")  # raises Closed
        self._rooms.upkeep[:] = [one for one in self._rooms.upkeep if one.running]
        maintenance.start()
        self._rooms.upkeep.append(maintenance)
        return maintenance

    @property
    def affect(self) -> Affect:
        """The current affect state."""
        return self._rooms.affect.current(self.scope, self.now())

    @property
    def settings(self) -> Settings:
        return self._rooms.settings

    @property
    def opened(self) -> TidalMemory:
        """The memory that opened the file, of which this may be a view."""
        return self._opened or self

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return self._rooms.path

    @property
    def rooms(self) -> Rooms:
        """What this facade stands before, for adapters that need more; every call there names its scope."""
        return self._rooms

    def now(self) -> datetime:
        """The time by this memory's clock."""
        return self._rooms.now()

    # context

    def compactor(
        self,
        *,
        max_tokens: int | None = None,
        max_bytes: int | None = None,
        summariser: Summariser | None = None,
        counter: TokenCounter | None = None,
    ) -> Compactor:
        """Return what keeps a context within ``max_tokens`` and ``max_bytes`` (default: ``Settings.compaction``).

        ``summariser`` writes the summaries (default: extracts, no model needed); ``counter`` counts the tokens of a
        text (default: approximately).
        """
        rooms, settings = self._rooms, self._rooms.settings.compaction
        tokens = positive(settings.max_tokens if max_tokens is None else max_tokens, "max_tokens")
        size = positive(settings.max_bytes if max_bytes is None else max_bytes, "max_bytes")
        return Compactor(
            Recorder(rooms.writer, rooms.affect, self.scope),
            rooms.preparations,
            Size(tokens, size),
            plugged(summariser, Summariser, "a summariser has a method summarise"),
            counter or ApproximateCounter(),
            self.now,
        )

    # life

    def close(self) -> None:
        """Close the file, for every view of it. Closing twice is fine; using it afterwards raises ``Closed``."""
        for maintenance in self._rooms.upkeep:
            maintenance.stop(0)  # a round under way ends with Closed
        self._rooms.background.stop()
        self._rooms.storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"TidalMemory({self._rooms.storage!r}, scope={self.scope!r})"

    arecord = in_thread(record)
    arecord_many = in_thread(record_many)
    aremember = in_thread(remember)
    aforget = in_thread(forget)
    arecall = in_thread(recall)
    awhisper = in_thread(whisper)
    aget = in_thread(get)
    aepisode = in_thread(episode)
    acited = in_thread(cited)
    aread_episode = in_thread(read_episode)
    aextract_pending = in_thread(extract_pending)
    apending_extractions = in_thread(pending_extractions)
    aresume_session = in_thread(resume_session)
    asessions = in_thread(sessions)
    asession_snapshot = in_thread(session_snapshot)
    asession_audit = in_thread(session_audit)
    adeclare_policy = in_thread(declare_policy)
    asignal = in_thread(signal)
    asignals = in_thread(signals)
    aconflicts = in_thread(conflicts)
    aresolve = in_thread(resolve)
    adossier = in_thread(dossier)
    adossiers = in_thread(dossiers)
    adrop_dossier = in_thread(drop_dossier)
    abrief = in_thread(brief)
    acapsule = in_thread(capsule)
    awrite_capsule = in_thread(write_capsule)
    aadmitted = in_thread(admitted)
    aconsolidate = in_thread(consolidate)
    aundo = in_thread(undo)
    aepisodes = in_thread(episodes)
    aclose = in_thread(close)

    @property
    def _ledger(self) -> Ledger:
        return self._rooms.ledger(self.scope)

    @property
    def _policies(self) -> Policies:
        return Policies(self._rooms.storage, self.scope, self.settings)

    @property
    def _dossiers(self) -> Dossiers:
        return self._rooms.dossiers(self.scope)

    @property
    def _capsules(self) -> Capsules:
        return Capsules(self._rooms.storage, self._rooms.settings, self.scope)

    def _around(self, episode: Episode) -> tuple[str | None, str | None]:
        """The ids of the turns before and after one in its session."""
        if episode.session is None:
            return None, None
        where, storage = Where(kinds={EPISODE}, sessions={episode.session}), self._rooms.storage
        near = {}
        for step in (-1, 1):
            side = replace(where, positions={episode.turn + step})
            near[step] = next((entry.id for entry in storage.find(self.scope, side, limit=1)), None)
        return near[-1], near[1]


def _identified(exchange: Exchange) -> Exchange:
    """Give an exchange that has no id one of its own. (What is no exchange is refused further down.)"""
    if not isinstance(exchange, Exchange) or exchange.id or any(getattr(m, "id", None) for m in exchange.messages):
        return exchange
    return replace(exchange, id=secrets.token_hex(8))


def _session_id(session: Session | int | None) -> int | None:
    """The id of a session; what is none is refused further down."""
    return session.id if isinstance(session, Session) else session


def _query(text: str, settings: Settings) -> str:
    return clean(text, max_chars=settings.ingestion.max_chars, name="a query")


def _felt(affect: Affect) -> Affect:
    if not isinstance(affect, Affect):
        raise InvalidInput(f"affect must be an Affect(valence, arousal), got {affect!r}")
    return affect
