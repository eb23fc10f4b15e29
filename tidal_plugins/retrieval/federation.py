"""Recall and whisper over several stores: the own one, then each peer, which is only read [Anamnesis G5]."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

from tidal_plugins.embedding.identity import StoreEmbedder
from tidal_plugins.errors import InvalidInput
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.entry import Scope, check_scope
from tidal_plugins.model.recall import OWN, Dropped, Hit, PeerReport, Recall
from tidal_plugins.retrieval.boost import Boosts
from tidal_plugins.retrieval.ongoing import RECENCY, SUBSTANCE, TOPIC
from tidal_plugins.retrieval.pipeline import Recaller
from tidal_plugins.retrieval.rerank import RERANKER
from tidal_plugins.retrieval.select import LASTING, least, said_again
from tidal_plugins.retrieval.understand import Request, to_query
from tidal_plugins.retrieval.weights import PeerTuning, RecallTuning, WhisperTuning
from tidal_plugins.scoring.ranking import sharp_relevance, stretched
from tidal_plugins.scoring.text import normal
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.sqlite import ReadOnlySQLite
from tidal_plugins.validation import check_path

Ask = Callable[[Recaller, Scope], Recall]
"""A function that asks one store in one scope."""

Forgotten = Callable[[Scope, Sequence[str]], set[str]]
"""A function that returns which of some texts were forgotten in a scope on request."""

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
        trust: the factor by which the scores of its hits are multiplied, in (0, 1]. Default: ``peers.trust`` of
            ``Settings.tuning``.
        name: the ``origin`` of its hits. Default: the name of the file, without its suffix.
        scope: the scope that is read there. Default: that of an open memory; for a path, the scope that asks.

    Raises ``InvalidInput``.
    """

    memory: str | PathLike[str] | OpenMemory
    trust: float | None = None
    name: str = ""
    scope: Scope | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.memory, str | PathLike | OpenMemory) or self.memory == "":
            raise InvalidInput(f"a peer is the path of a memory or an open TidalMemory, got {shown(self.memory)}")
        if isinstance(self.memory, str | PathLike):
            check_path(self.memory, "a peer")
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
        return self._asked(request, whispers=False)

    def whisper(self, request: Request) -> Recall:
        """Return the entries of the own store and its peers to show in a whisper."""
        return self._asked(request, whispers=True)

    def _asked(self, request: Request, *, whispers: bool) -> Recall:
        own = self.own.answer(request, whispers=whispers)
        others = [peer for peer in self.peers if not peer.same(self.own.storage, request.scope)]
        question = own.question
        if question is None or not others:
            return own.recall
        same = replace(request, affect=question.affect, mood=None, felt=None, associative=False, session=None)

        def ask_peer(recaller: Recaller, there: Scope) -> Recall:
            query = to_query(request.text, recaller.storage.statistics(there).speakers)  # other people are known there
            known = query.meaning == question.query.meaning
            vector = question.embedded if known else self.own.embedder.embed_queries([query.meaning])[0]
            return recaller.answer(replace(same, scope=there, vector=vector), whispers=whispers).recall

        reader, answers = _without_timed_out(self.own, own.recall), []
        for peer in others:
            answers.append(peer.answer(reader, request.scope, ask_peer))
            reader = _without_timed_out(reader, answers[-1].recall)
        threshold = least(question, self.own.settings[WhisperTuning]) if whispers else None
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

    def __init__(self, peer: Peer, settings: Settings) -> None:
        self.peer = peer
        self.trust = settings[PeerTuning].trust if peer.trust is None else peer.trust
        self._settings = settings
        self._opened: ReadOnlySQLite | None = None
        self._embedder: StoreEmbedder | None = None
        self._silent = ""

    def same(self, storage: Storage, scope: Scope) -> bool:
        """Return whether it is the very memory that asks."""
        own = getattr(storage, "path", None)
        return own is not None and self._scope(scope) == scope and _real(own) == _real(self.peer.path)

    def answer(self, own: Recaller, scope: Scope, ask: Ask) -> PeerAnswer:
        """Return the peer's answer to ``ask``, with the weights and the embedder of ``own``, or one with the error."""
        try:
            storage = self._storage()
            read = partial(self._read, own, self._scope(scope), ask, storage)
            found = storage.while_open(read) if isinstance(storage, ReadOnlySQLite) else read()
        except Exception as error:
            pass_interrupt(error)
            reason = f"{type(error).__name__}: {error}"
            if reason != self._silent:  # once, not at every turn
                logger.warning("peer %s was not asked: %s", self.peer.name, reason)
            self._silent = reason
            return PeerAnswer(self.peer.name, self.trust, error=reason)
        self._silent = ""
        return PeerAnswer(self.peer.name, self.trust, found)

    def _read(self, own: Recaller, there: Scope, ask: Ask, storage: Storage) -> Recall:
        if self._embedder is None or self._embedder.embedder is not own.embedder.embedder:
            self._embedder = StoreEmbedder(own.embedder.embedder, storage)
        boosts = Boosts(storage, own.settings)
        return ask(replace(own, storage=storage, embedder=self._embedder, boosts=boosts), there)

    def _storage(self) -> Storage:
        if isinstance(self.peer.memory, OpenMemory):
            return self.peer.memory._services.recaller.storage
        if self._opened is None:
            settings = self._settings
            self._opened = ReadOnlySQLite(
                self.peer.memory,
                timeout=settings[PeerTuning].timeout,
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


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """The recall of a peer, or the error that kept it from answering."""

    name: str
    trust: float
    recall: Recall | None = None
    error: str = ""


@dataclass(slots=True)
class Merger:
    """Merges the answers of several stores into one. Of two equal scores the own store's comes first."""

    settings: Settings
    limit: int
    scope: Scope
    forgotten: Forgotten
    threshold: float | None = None
    """The confidence below which a peer's hits of a whisper fall out; ``None`` for a recall, which has no threshold."""
    dropped: list[Dropped] = field(default_factory=list)

    def merged(self, own: Recall, answers: Sequence[PeerAnswer]) -> Recall:
        """Return the own recall with the hits of peers among its hits."""
        answered = [(answer, answer.recall) for answer in answers if answer.recall is not None]
        trust = {answer.name: answer.trust for answer in answers}
        theirs = [hit for answer, recall in answered for hit in self._hits(answer, recall)]
        pool = self._once([*own, *theirs], own)
        appended = [hit for hit in pool if hit.why.path]
        ranked = _comparable([hit for hit in pool if not hit.why.path], self.settings)
        ranked = sorted((_trusted(hit, trust) for hit in ranked), key=lambda hit: -hit.score)  # stable: the own first
        ranked = self._news(ranked)
        kept, rest = ranked[: self.limit], ranked[self.limit :]
        sure = [own.confidence, *(recall.confidence * answer.trust for answer, recall in answered)]
        return replace(
            own,
            hits=(*kept, *appended),
            dropped=(*_trimmed(rest, self.limit), *own.dropped, *self.dropped),
            degraded=(*own.degraded, *(f"peer {name}" for name in _silent(answers))),
            confidence=max(sure),
            peers=tuple(_reported(answer, kept) for answer in answers),
        )

    def _hits(self, answer: PeerAnswer, recall: Recall) -> Iterator[Hit]:
        """Yield the hits of a peer, with their origin, unless its confidence times its trust is too low."""
        self.dropped += (item._replace(origin=answer.name) for item in recall.dropped)
        sure, least = recall.confidence * answer.trust, self.threshold or 0.0
        for hit in recall:
            if sure < least:
                reason = f"confidence {sure:.3f}, at a trust of {answer.trust:.2f}, under the threshold of {least:.3f}"
                self.dropped.append(Dropped(hit.id, "threshold", reason, answer.name))
            else:
                yield replace(hit, origin=answer.name)

    def _once(self, hits: Sequence[Hit], own: Recall) -> list[Hit]:
        """Return each text of several stores once, the own one where there is one.

        A peer brings nothing that fell out here or was forgotten here.
        """
        left = {item.id: item.stage for item in own.dropped}
        forgotten = self.forgotten(self.scope, [hit.text for hit in hits if hit.origin != OWN])
        first: dict[str, Hit] = {}
        kept = []
        for hit in hits:
            before = first.setdefault(normal(hit.text), hit)
            if hit.origin != before.origin:
                self._drop(hit, f"the same as {before.id}, {before.origin}")
            elif hit.origin != OWN and (stage := left.get(hit.id)):
                self._drop(hit, f"stands in the own store too, and fell out there at the stage {stage}")
            elif hit.origin != OWN and hit.text in forgotten:
                self._drop(hit, "was forgotten here on request")
            else:
                kept.append(hit)
        return kept

    def _news(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits of a whisper that do not say again what one before them says. A recall keeps all hits."""
        again = {} if self.threshold is None else said_again((hit.entry, hit.passage) for hit in hits)
        self.dropped += (Dropped(hit.id, "diversity", again[hit.id], hit.origin) for hit in hits if hit.id in again)
        return [hit for hit in hits if hit.id not in again]

    def _drop(self, hit: Hit, reason: str) -> None:
        self.dropped.append(Dropped(hit.id, "federation", reason, hit.origin))


def _trusted(hit: Hit, trust: Mapping[str, float]) -> Hit:
    """Return a hit whose score and confidence count as far as its store is trusted."""
    share = trust.get(hit.origin, 1.0)
    if share == 1:
        return hit
    why = replace(hit.why, factors={**hit.why.factors, "trust": share})
    score, confidence = hit.score - (1 - share) * abs(hit.score), hit.confidence * share
    entry = replace(hit.entry, trust=min(hit.entry.trust, share))
    return replace(hit, entry=entry, score=score, confidence=confidence, why=why)


def _trimmed(rest: Sequence[Hit], limit: int) -> list[Dropped]:
    return [
        Dropped(hit.id, "trim", f"score {hit.score:.3f} at place {place} of all stores", hit.origin)
        for place, hit in enumerate(rest, limit + 1)
    ]


def _comparable(hits: Sequence[Hit], settings: Settings) -> list[Hit]:
    """Return hits of several stores with relevances against the best of all stores, not of each."""
    if hits and all(RERANKER in hit.why.factors for hit in hits):
        shares = stretched([hit.why.factors[RERANKER] for hit in hits])
        return [
            _moved(hit, share, hit.score - hit.why.relevance + share) for hit, share in zip(hits, shares, strict=True)
        ]
    best = max((hit.why.fused for hit in hits if _sharp(hit)), default=0.0)
    return [_against(hit, best, settings[RecallTuning].sharpness) if _sharp(hit) else hit for hit in hits]


def _sharp(hit: Hit) -> bool:
    """Return whether the profile ``balanced`` made the relevance of its fused score."""
    return hit.why.profile == "balanced" and RERANKER not in hit.why.factors


def _against(hit: Hit, best: float, sharpness: float) -> Hit:
    """Return a hit of the profile ``balanced`` with its relevance against the best of all stores."""
    relevance, factors = float(sharp_relevance(hit.why.fused, best, sharpness=sharpness)), hit.why.factors
    named = ("importance", "strength", RECENCY, SUBSTANCE, TOPIC, LASTING)
    times = math.prod(factors.get(name, 1.0) for name in named)
    return _moved(hit, relevance, hit.score + (relevance - hit.why.relevance) * times)


def _moved(hit: Hit, relevance: float, score: float) -> Hit:
    return replace(hit, score=score, why=replace(hit.why, relevance=relevance))


def _silent(answers: Sequence[PeerAnswer]) -> list[str]:
    return [answer.name for answer in answers if answer.recall is None or answer.recall.degraded]


def _reported(answer: PeerAnswer, kept: Sequence[Hit]) -> PeerReport:
    degraded = answer.recall.degraded if answer.recall else ()
    hits = sum(hit.origin == answer.name for hit in kept)
    return PeerReport(answer.name, answer.trust, hits, answer.error, degraded)
