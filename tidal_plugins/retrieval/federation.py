"""Recall and whisper over several stores: the own one, then each peer, which is only read [Anamnesis G5]."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope, check_scope
from tidal_plugins.model.recall import OWN, Recall
from tidal_plugins.retrieval.boost import Boosts
from tidal_plugins.retrieval.merging import Answer, Forgotten, Merger
from tidal_plugins.retrieval.pipeline import RECALL, WHISPER, Recaller, run
from tidal_plugins.retrieval.request import Request
from tidal_plugins.retrieval.rerank import RERANKER
from tidal_plugins.retrieval.state import Stage
from tidal_plugins.retrieval.threshold import least
from tidal_plugins.retrieval.understand import to_query
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.sqlite import ReadOnlySQLite
from tidal_plugins.tuning import Tuning

Ask = Callable[[Recaller, Scope], Recall]
"""A function that asks one store in one scope."""

logger = logging.getLogger(__name__)


class _Services(Protocol):
    @property
    def recaller(self) -> Recaller: ...


@runtime_checkable
class OpenMemory(Protocol):
    """A memory that is open in this process, as far as a peer needs to be one."""

    @property
    def scope(self) -> Scope: ...
    @property
    def _services(self) -> _Services: ...


@dataclass(frozen=True, slots=True)
class Peer:
    """Another memory that recall asks too, and never writes to.

    Attributes:
        memory: the path of its file, or an open ``TidalMemory``.
        trust: the factor by which the scores of its hits are multiplied, in (0, 1]. Default: ``Settings.peers.trust``.
        name: the ``origin`` of its hits. Default: the name of the file, without its suffix.
        scope: the scope that is read there. Default: that of an open memory; for a path, the scope that asks.

    Raises ``InvalidInput`` and ``InvalidScope``.
    """

    memory: str | PathLike[str] | OpenMemory
    trust: float | None = None
    name: str = ""
    scope: Scope | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.memory, str | PathLike | OpenMemory) or self.memory == "":
            raise InvalidInput(f"a peer is the path of a memory or an open TidalMemory, got {shown(self.memory)}")
        trust = self.trust
        if trust is not None and (isinstance(trust, bool) or not isinstance(trust, int | float) or not 0 < trust <= 1):
            raise InvalidInput(f"a peer's trust is a number above 0 and at most 1, got {shown(trust)}")
        if not isinstance(self.name, str) or self.name == OWN:
            raise InvalidInput(f"a peer's name is a string other than {OWN!r}, got {shown(self.name)}")
        if self.scope is not None:
            check_scope(self.scope)
        if not self.name:
            object.__setattr__(self, "name", Path(self.path).stem)

    @property
    def path(self) -> str:
        """Return the path of its file."""
        if isinstance(self.memory, OpenMemory):
            return str(getattr(self.memory._services.recaller.storage, "path", "peer"))
        return os.fspath(self.memory)


def checked_peers(peers: Iterable[Peer | str | PathLike[str] | OpenMemory]) -> tuple[Peer, ...]:
    """Return peers, each with a name of its own, or raise ``InvalidInput``."""
    if isinstance(peers, str | PathLike | Peer | OpenMemory) or not isinstance(peers, Iterable):
        raise InvalidInput(f"peers are a list of paths, memories or Peers, got {shown(peers)}")
    given = tuple(peer if isinstance(peer, Peer) else Peer(peer) for peer in peers)
    names = [peer.name for peer in given]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInput(f"two peers are called {shown(twice[0])}; give them names: Peer(memory, name=…)")
    return given


@dataclass(frozen=True, slots=True)
class Federation:
    """The own store and its peers, asked as one.

    ``forgotten`` returns which texts were forgotten here on request, so that no peer brings them back.
    """

    own: Recaller
    peers: Sequence[_Asked]
    forgotten: Forgotten

    def recall(self, request: Request) -> Recall:
        """Return the entries that the own store and its peers find.

        Sessions and associations are those of the own store. ``Recall.peers`` reports every peer that cannot be asked,
        whatever the reason.
        """
        return self._asked(RECALL, request)

    def whisper(self, request: Request) -> Recall:
        """Return the entries of the own store and its peers to show in a whisper."""
        return self._asked(WHISPER, request)

    def _asked(self, stages: Sequence[Stage], request: Request) -> Recall:
        own = run(stages, self.own, request)
        others = [peer for peer in self.peers if not peer.same(self.own.storage, request.scope)]
        if own.done or not others:
            return own.recall
        same = replace(request, affect=own.affect, felt=None, associative=False, session=None)

        def ask_peer(recaller: Recaller, there: Scope) -> Recall:
            query = to_query(request.text, recaller.storage.statistics(there).speakers)  # other people are known there
            known = query.meaning == own.query.meaning
            vector = own.embedded if known else self.own.embedder.embed_queries([query.meaning])[0]
            return run(stages, recaller, replace(same, scope=there, vector=vector)).recall

        reader, answers = _without_timed_out(self.own, own.recall), []
        for peer in others:
            answers.append(peer.answer(reader, request.scope, ask_peer))
            reader = _without_timed_out(reader, answers[-1].recall)
        threshold = least(own) if stages is WHISPER else None
        merger = Merger(self.own.settings, request.limit, request.scope, self.forgotten, threshold)
        return merger.merged(own.recall, answers)


def _without_timed_out(reader: Recaller, answered: Recall | None) -> Recaller:
    """Return the reader without a reranker that did not answer in time: it has its time once, not for each store."""
    return replace(reader, reranker=None) if answered and RERANKER in answered.degraded else reader


def federation(own: Recaller, peers: Iterable[Peer], forgotten: Forgotten) -> Federation:
    """Return a store and its peers, asked as one."""
    return Federation(own, [_Asked(peer, own.settings) for peer in peers], forgotten)


class _Asked:
    """A peer that is ready to be asked. Its file is first read when it is asked."""

    def __init__(self, peer: Peer, settings: Tuning) -> None:
        self.peer = peer
        self.trust = settings.peers.trust if peer.trust is None else peer.trust
        self._settings = settings
        self._opened: ReadOnlySQLite | None = None
        self._embedder: StoreEmbedder | None = None
        self._silent = ""

    def same(self, storage: Storage, scope: Scope) -> bool:
        """Return whether it is the very memory that asks."""
        own = getattr(storage, "path", None)
        return own is not None and self._scope(scope) == scope and _real(own) == _real(self.peer.path)

    def answer(self, own: Recaller, scope: Scope, ask: Ask) -> Answer:
        """Return the peer's answer to ``ask``, with the weights and the embedder of ``own``, or one with the error."""
        try:
            storage = self._storage()
            read = partial(self._read, own, self._scope(scope), ask, storage)
            found = storage.while_open(read) if isinstance(storage, ReadOnlySQLite) else read()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            if reason != self._silent:  # once, not at every turn
                logger.warning("peer %s was not asked: %s", self.peer.name, reason)
            self._silent = reason
            return Answer(self.peer.name, self.trust, error=reason)
        self._silent = ""
        return Answer(self.peer.name, self.trust, found)

    def _read(self, own: Recaller, there: Scope, ask: Ask, storage: Storage) -> Recall:
        if self._embedder is None or self._embedder.embedder is not own.embedder.embedder:
            self._embedder = StoreEmbedder(own.embedder.embedder, storage)
        boosts = Boosts(storage, own.settings.signals)
        return ask(replace(own, storage=storage, embedder=self._embedder, boosts=boosts), there)

    def _storage(self) -> Storage:
        if isinstance(self.peer.memory, OpenMemory):
            return self.peer.memory._services.recaller.storage
        if self._opened is None:
            settings = self._settings
            self._opened = ReadOnlySQLite(
                self.peer.memory,
                timeout=settings.peers.timeout,
                query_deadline=settings.storage.query_deadline,
                exact_vectors_up_to=settings.storage.exact_vectors_up_to,
                column_cache_bytes=settings.storage.column_cache_mb * 1024 * 1024,
            )
        return self._opened

    def _scope(self, scope: Scope) -> Scope:
        if self.peer.scope is not None:
            return self.peer.scope
        return self.peer.memory.scope if isinstance(self.peer.memory, OpenMemory) else scope


def _real(path: str) -> str:
    return os.path.realpath(path)
