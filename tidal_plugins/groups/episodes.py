"""Episodes: every recorded turn, verbatim, by id, by thread and by time [SIYA §3.1]."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.ingestion.episodes import TOOL_TAG, from_entry
from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import EPISODE, Scope
from tidal_plugins.model.exchange import Episode, Exchange
from tidal_plugins.retrieval.understand import checked_limit
from tidal_plugins.services import Services
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import check_flag, check_int, clean, items, label, labels

if TYPE_CHECKING:
    from tidal_plugins.ingestion.history import HistoryMatch


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
        from tidal_plugins.ingestion.history import match

        turns = items(history, "history")
        if not all(isinstance(turn, Exchange) for turn in turns):
            raise InvalidInput("a history is a list of Exchanges, with one turn each")
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
