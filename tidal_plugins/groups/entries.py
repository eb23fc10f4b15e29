"""What is stored: entries by a filter, episodes with each turn verbatim [SIYA §3.1], and documents in several parts."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Unpack

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.ingestion import documents
from tidal_plugins.ingestion.episodes import TOOL_TAG, from_entry
from tidal_plugins.maintenance.tiers import count_days, list_archived, pin, restore, unpin
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import EPISODE, Document, Entry, Filter, Note, Scope
from tidal_plugins.model.exchange import Episode, Exchange
from tidal_plugins.retrieval.understand import active, checked_filter, checked_limit
from tidal_plugins.services import Services
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import MAX_ROWS, check_flag, check_int, clean, items, label, labels, shaped

if TYPE_CHECKING:
    from tidal_plugins.ingestion.history import HistoryMatch

MAX_DAYS = 3_660
"""Days of growth."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of one scope. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def list(
        self,
        *,
        limit: int | None = None,
        after: int = 0,
        newest_first: bool = False,
        **filter: Unpack[Filter],
    ) -> builtins.list[Entry]:
        """List entries in order of time.

        Args:
            limit: at most this many.
            after: how many of the first to pass over.
            newest_first: whether the newest come first.
            filter: the fields of :class:`Filter`. Facts of the graph are listed too, and ``include_archived`` lists
                what holds no more as well.

        Raises ``InvalidInput``.
        """
        where = active(self._services.now(), **checked_filter(filter, "list"), graph=True)
        if where.include_archived:
            where = replace(where, active_at=None)
        return self._services.storage.find(
            self._scope,
            where,
            limit=None if limit is None else checked_limit(limit),
            after=check_int(after, "after", 0),
            newest_first=check_flag(newest_first, "newest_first"),
        )

    @question
    def archived(self, *, limit: int = 50, after: int = 0) -> builtins.list[Entry]:
        """List the entries that recall finds no more: archived ones and expired ones, those that left it last first.

        ``after`` is how many of the first to pass over. Episodes are left out: their entries are listed. Raises
        ``InvalidInput``.
        """
        most, passed = checked_limit(limit), check_int(after, "after", 0)
        return list_archived(self._services.storage, self._scope, self._services.now(), most, passed)

    @question
    def growth(self, days: int = 30) -> dict[date, int]:
        """Return how many entries were stored on each of the last ``days``, at most 3,660, the oldest first.

        Days are those of ``Settings.time_zone``; episodes are left out. Raises ``InvalidInput``.
        """
        services, most = self._services, check_int(days, "days", 1, MAX_DAYS)
        now = services.now().astimezone(services.settings.zone)
        return count_days(services.storage, self._scope, now, most)

    def restore(self, id: str) -> Entry:
        """Bring an archived or expired entry back into recall, as warm as if it had just been used, and return it.

        An episode comes back with all its entries. What is in recall stays as it is. Fading goes on from then. Raises
        ``NotFound``, and ``Forgotten`` for what was forgotten, which nothing brings back.
        """
        entry = self._services.entry(self._scope, id)
        restore(self._services.writer, self._scope, entry, self._services.now())
        return self._services.entry(self._scope, entry.id)

    def pin(self, id: str) -> Entry:
        """Let an entry fade no more, bring it back into recall if it had left, and return it.

        Of an episode all entries are pinned. Raises ``NotFound``, and ``Forgotten``.
        """
        entry = self._services.entry(self._scope, id)
        pin(self._services.writer, self._scope, entry, self._services.now())
        return self._services.entry(self._scope, entry.id)

    def unpin(self, id: str) -> Entry:
        """Let an entry that does not fade fade from now on, and return it: pinned, or important for good.

        Only what was said in conversations fades; other kinds stay as they are. Raises ``NotFound``, ``Forgotten``.
        """
        entry = self._services.entry(self._scope, id)
        unpin(self._services.writer, self._scope, entry, self._services.now())
        return self._services.entry(self._scope, entry.id)

    def correct(self, id: str, text: str, *, expected: str | None = None) -> Entry:
        """Give an entry another text, and return it. One transaction: it is corrected whole, or stays as it is.

        The entry keeps its id, labels, importance, pin, signals and associations. What was read from the earlier text
        (relations, contradictions, what it supersedes, dossiers that quote it) goes, and the new text is read for it in
        the background. A turn keeps the words that were said in it. The earlier text leaves recall: it is marked as
        superseded, ``as_of`` finds it for the time before, and it is forgotten with the entry. The same words
        elsewhere stay as they are, and so does a fact whose value somebody took from them.

        Args:
            id: an entry that was said, or remembered; not one that was made of others, such as a dossier.
            text: the text that stands from now on.
            expected: the text that it is thought to have; ``None`` for any.

        Raises ``NotFound``, ``Forgotten`` also for a text that was forgotten, ``InvalidInput``, and
        ``Conflict`` if the entry does not say ``expected`` or is changed meanwhile.
        """
        from tidal_plugins.ingestion.correct import correct

        if expected is not None and not isinstance(expected, str):
            raise InvalidInput(f"expected is a text or None, got {type(expected).__name__}")
        services = self._services
        entry = services.entry(self._scope, id)
        with services.worker.recording(self._scope):
            return correct(services.writer, self._scope, entry, text, services.now(), expected=expected)

    alist = in_thread(list)
    acorrect = in_thread(correct)
    agrowth = in_thread(growth)
    apin = in_thread(pin)
    aunpin = in_thread(unpin)
    aarchived = in_thread(archived)
    arestore = in_thread(restore)


@dataclass(frozen=True, slots=True)
class Episodes:
    """The episodes of one scope: ``memory.episodes["ep:…"]``. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def __getitem__(self, id: str) -> Episode:
        """Return an episode by its id or citation. Raises ``NotFound``, or ``Forgotten`` if it was forgotten."""
        entry = self._services.entry(self._scope, id)
        if entry.kind != EPISODE:
            raise NotFound(f"{shown(id)} is an entry of kind {entry.kind}, not an episode: use memory.get")
        return from_entry(entry)

    def get(self, id: str, default: Episode | None = None) -> Episode | None:
        """Return an episode by its id or citation, or ``default`` if there is none."""
        try:
            return self[id]
        except NotFound:
            return default

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    __iter__ = None  # list() says which, and in which order

    @question
    def list(
        self,
        *,
        thread: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | None = None,
        turn: int | None = None,
        limit: int | None = None,
        after: int = 0,
        newest_first: bool = False,
    ) -> builtins.list[Episode]:
        """List episodes in order of time.

        Args:
            thread: only those of this conversation.
            since: only those at or after this time.
            until: only those before this time.
            tool: only those in which a tool of this name ran.
            turn: only those at this place in their thread: with 1, the first turn of each thread.
            limit: at most this many.
            after: how many of the first to pass over.
            newest_first: whether the newest come first.

        To search by meaning, use ``memory.recall(query, kinds={"episode"})``. Raises ``InvalidInput``.
        """
        where = Where(
            kinds={EPISODE},
            threads=None if thread is None else {str(label(thread, "thread"))},
            since=None if since is None else aware(since, "since"),
            until=None if until is None else aware(until, "until"),
            positions=None if turn is None else {check_int(turn, "turn", 0)},
            tags=None if tool is None else {f"{TOOL_TAG}{label(tool, 'tool')}"},
        )
        most = None if limit is None else checked_limit(limit)
        newest_first = check_flag(newest_first, "newest_first")
        passed = check_int(after, "after", 0)
        found = self._services.storage.find(self._scope, where, limit=most, after=passed, newest_first=newest_first)
        return [from_entry(entry) for entry in found]

    @question
    def page(self, id: str, page: int = 1, *, max_chars: int = 4_000) -> str:
        """Return a page of an episode as text for a model, between marks that name the turns around it.

        ``id`` may be a citation. Pages count from 1 and have at most ``max_chars`` characters of the episode. Raises
        ``NotFound``, ``Forgotten``, and ``InvalidInput`` for a page that does not exist.
        """
        from tidal_plugins.model import transcript

        page, max_chars = check_int(page, "page", 1, MAX_ROWS), check_int(max_chars, "max_chars", 1, MAX_ROWS)
        episode = self[id]
        before, after = self._neighbours(episode)
        return transcript.page(episode, page, max_chars, previous=before, following=after)

    @question
    def entry_ids(self, citation: str) -> tuple[str, ...]:
        """Return the ids of the entries that a citation means; for an episode, those of its messages.

        Raises ``NotFound``, or ``Forgotten`` if it was forgotten.
        """
        entry = self._services.entry(self._scope, citation)
        if entry.kind != EPISODE:
            return (entry.id,)
        there = self._services.storage.summaries(self._scope, said := from_entry(entry).entries)
        return tuple(id_ for id_ in said if id_ in there) or (entry.id,)

    def id_of(self, key: str, *, thread: str | None = None) -> str:
        """Return the id that a turn recorded under ``key`` has, or will have.

        ``key`` is the turn's own id, or the id of its first message.
        """
        return self._services.writer.episode_id(
            self._scope, label(thread, "thread"), clean(key, max_chars=1_000, name="id")
        )

    def match(self, history: Sequence[Exchange], *, thread: str | None = None) -> HistoryMatch:
        """Return what the store knows of the turns of a history that was passed whole, such as by a user interface.

        A turn is known by its id, or else by its words (the user's and the final answer) in order. The last turn may
        be open. ``record_many`` stores the turns without an episode; :meth:`follow` notes how they hang together.
        """
        from tidal_plugins.ingestion.history import HistoryMatch, match

        turns = items(history, "history")
        turns = tuple(shaped(turn, Exchange, "a turn of the history") for turn in turns)
        if not turns:
            return HistoryMatch(())
        return match(self._services.writer, self._scope, label(thread, "thread"), turns)

    def follow(self, follows: Mapping[str, str], *, replaced: Collection[str] = (), back: Collection[str] = ()) -> None:
        """Note which episode followed which, by their ids: ``{later: earlier}``.

        Episodes that are ``replaced``, because their turns were regenerated or edited, leave recall. They stay
        readable, and ``recall(…, include_archived=True)`` finds them. Episodes that are ``back`` are in recall again.
        """
        from tidal_plugins.ingestion.history import follow

        if not isinstance(follows, Mapping):
            raise InvalidInput(f"follows is a mapping of ids, {{later: earlier}}, got {shown(follows)}")
        ids = dict(zip(labels(follows, "follows"), labels(follows.values(), "follows"), strict=True))
        replaced, back = labels(replaced, "replaced"), labels(back, "back")
        services = self._services
        follow(services.writer, self._scope, ids, services.now(), replaced=replaced, back=back)

    aget = in_thread(get)
    alist = in_thread(list)
    apage = in_thread(page)
    aentry_ids = in_thread(entry_ids)
    amatch = in_thread(match)
    afollow = in_thread(follow)

    def _neighbours(self, episode: Episode) -> tuple[str | None, str | None]:
        """Return the ids of the turns before and after one in its thread."""
        if episode.thread is None:
            return None, None
        where, near = Where(kinds={EPISODE}, threads={episode.thread}), {}
        for step in (-1, 1):
            side = replace(where, positions={episode.turn + step})
            near[step] = next((e.id for e in self._services.storage.find(self._scope, side, limit=1)), None)
        return near[-1], near[1]


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of one scope, by source. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def get(self, source: str) -> Document | None:
        """Return the document that stands under a source, or ``None``."""
        return documents.read(self._services.writer, self._scope, self._source(source))

    @question
    def list(self) -> builtins.list[Document]:
        """List all documents, by source."""
        return documents.read_all(self._services.writer, self._scope)

    def put(self, source: str, parts: Iterable[Note], *, digest: str | None = None) -> Document:
        """Remember the parts of a document in place of those that it had, and return it.

        ``parts`` may be an iterator; each part gets this source. Parts that were remembered before stand as they are.
        Those that the document no longer has are found until :meth:`sweep` removes them, of many documents at once.
        ``digest`` is what the caller knows the content by. No parts at all: the document goes. It is safe to interrupt:
        a document of which not all is remembered yet has no digest. Parts that were forgotten on request are left out.
        If a part cannot be had or stored, the document stays as it was. Raises ``InvalidInput``.
        """
        if isinstance(parts, str) or not isinstance(parts, Iterable):
            raise InvalidInput(f"the parts of a document are Notes, got {shown(parts)}")
        services = self._services
        named = self._source(source)
        known = label(digest, "digest")
        known = known and services.writer.redaction.text(known)
        return documents.put(services.writer, self._scope, named, parts, known, services.now())

    def sweep(self) -> int:
        """Remove the parts that documents no longer have, and return how many there were.

        The file is rewritten once, as after forgetting. The same texts may be remembered again.
        """
        return documents.sweep(self._services.writer, self._scope, self._services.now())

    aget = in_thread(get)
    alist = in_thread(list)
    aput = in_thread(put)
    asweep = in_thread(sweep)

    def _source(self, source: str) -> str:
        if not label(source, "source"):
            raise InvalidInput("a document needs a source, such as the path of its file")
        return self._services.writer.redaction.text(source)
