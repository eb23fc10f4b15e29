"""Learning: what pending episodes name and say goes into the graph, and from there into recall's index [SIYA §3.3].

An episode is read without a lock. What was read in it is then written, in one short transaction, or several where it
is much; the last takes it out of the queue. None writes anything where the episode has changed or gone meanwhile, or
somebody else was faster.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from tidal_plugins.aio import in_time
from tidal_plugins.errors import Closed, ExtractionError, StorageError
from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.graph.learning import Lesson, lessons, take_in
from tidal_plugins.graph.stale import mark_stale
from tidal_plugins.ingestion.background import Background
from tidal_plugins.ingestion.episodes import FORGOTTEN_TEXT, from_entry
from tidal_plugins.ingestion.knowledge import KnowledgeIndex
from tidal_plugins.ingestion.queue import ExtractionQueue, Ticket
from tidal_plugins.ingestion.writer import Writer, message_entry_id
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.extraction import Extracted
from tidal_plugins.model.graph import Extraction, Reading
from tidal_plugins.protocols import GraphExtractor
from tidal_plugins.tuning import GraphTuning

logger = logging.getLogger(__name__)

TECHNICAL = "technical"

MOST, MOST_CHARS = 10_000, 1_000_000
"""Mentions or assertions in one text, and characters of their names, beyond which an answer is none."""


def always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Learner:
    """Reads the pending episodes of one scope; by rules where there is no ``extractor``.

    ``clock`` gives the time. ``background`` sees to it that one episode is read at a time.
    """

    writer: Writer
    graph: KnowledgeGraph
    extractor: GraphExtractor | None
    background: Background
    clock: Callable[[], datetime]
    scope: Scope

    def learn(
        self,
        *,
        by: str | None = None,
        failed: bool = False,
        limit: int | None = None,
        going: Callable[[], bool] = always,
    ) -> Extracted:
        """Read what is due, ``limit`` episodes at most, and bring recall's index up to date.

        ``going`` is asked before each step. For ``by`` and ``failed`` see :meth:`ExtractionQueue.due`. What an
        extractor does wrong is written down in the queue; raises ``StorageError`` where that fails.
        """
        total = Extracted()
        for ticket in islice(self.queue.due(self.clock(), by=by, failed=failed), limit):
            if not going():
                return total
            with self.background.step():
                total = _sum(total, self._step(ticket))
        return _sum(total, self._index(going))

    def later(self) -> timedelta | None:
        """How long it is until something is to be tried again; ``None`` where nothing is."""
        now = self.clock()
        at = self.queue.next_at(now, by=self.background.name)
        return None if at is None else max(at - now, timedelta(0))

    @property
    def queue(self) -> ExtractionQueue:
        return ExtractionQueue(self.writer.storage, self.scope, self.settings)

    @property
    def settings(self) -> GraphTuning:
        return self.writer.settings.graph

    def _index(self, going: Callable[[], bool]) -> Extracted:
        index, facts = KnowledgeIndex(self.writer, self.graph, self.scope), 0
        while going():
            with self.background.step():
                written = index.update(self.clock())
            if written is None:
                break
            facts += written
        return Extracted(facts=facts)

    def _step(self, ticket: Ticket) -> Extracted:
        if not self.queue.stands(ticket):
            return Extracted()  # somebody else has come to it
        try:
            return self._read(ticket)
        except (StorageError, Closed):
            raise  # says nothing of the episode, nor of who reads it
        except Exception as error:
            logger.warning("an episode could not be read for the graph: %s", type(error).__name__)  # no text of it
            self.queue.put_back(ticket, f"{type(error).__name__}: {error}", self.clock())
            return Extracted(failed=1)

    def _read(self, ticket: Ticket) -> Extracted:
        episode = self._episode(ticket)
        if episode is None:
            with self.writer.storage.transaction():
                self.queue.take_out(ticket)
            return Extracted()
        readings = list(self._readings(episode))
        parts, dropped = lessons(self.scope, episode, readings, self.settings)
        if not self._write(ticket, episode, parts or [[]]):
            return Extracted()  # it stays in the queue where it has changed
        return Extracted(
            episodes=1,
            mentions=sum(len(reading.extraction.mentions) for reading in readings),
            assertions=sum(len(reading.extraction.assertions) for reading in readings),
            dropped=dropped,
        )

    def _write(self, ticket: Ticket, episode: Episode, parts: Sequence[Sequence[Lesson]]) -> bool:
        """Write an episode part by part, the last with its line of the queue; return whether nobody was faster.

        Whoever is killed on the way leaves the line, and all parts are written once more: that changes nothing in those
        that are there.
        """
        now, storage = self.clock(), self.writer.storage
        for number, part in enumerate(parts, 1):
            begun = time.monotonic()
            with storage.transaction():
                leave = self.queue.take_out if number == len(parts) else self.queue.stands
                if self._episode(ticket) != episode or not leave(ticket):
                    return False
                done = take_in(storage, self.scope, part, now, self.settings)
                mark_stale(storage, self.scope, now, entities=done.entities, relations=done.relations)
            if number < len(parts):
                self._rest(time.monotonic() - begun)
        return True

    def _rest(self, seconds: float) -> None:
        """Let those write who wait for it: SQLite keeps no queue of them."""
        if not self.background.rest(seconds):
            raise Closed("the memory was closed while an episode was written; the episode stays queued")

    def _episode(self, ticket: Ticket) -> Episode | None:
        id_ = ticket.pending.episode
        entry = self.writer.storage.get(self.scope, [id_]).get(id_)
        return from_entry(entry) if entry else None

    def _readings(self, episode: Episode) -> Iterator[Reading]:
        told = [place for place, message in enumerate(episode.messages) if _tells(message)]
        texts = [episode.messages[place].text[: self.settings.max_chars] for place in told]
        for place, extraction in zip(told, self._extract(texts), strict=True):
            message = episode.messages[place]
            entry = message_entry_id(episode, message) if message.role != "tool" else None
            yield Reading(place, entry, extraction if message.role != "tool" else _technical(extraction))

    def _extract(self, texts: Sequence[str]) -> Sequence[Extraction]:
        if not texts:
            return []
        if self.extractor is None:
            from tidal_plugins.graph.rules import RuleExtractor  # its many patterns take a while to compile

            return RuleExtractor().extract_graph(texts)
        ask = partial(self.extractor.extract_graph, texts)
        try:
            found = in_time(ask, self.writer.settings.models.timeout, given_up=lambda: self.background.stopped)
        except InterruptedError as error:
            raise Closed("the memory was closed while an extractor was at work; the episode stays queued") from error
        except KeyboardInterrupt as error:
            if threading.current_thread() is threading.main_thread():
                raise
            raise ExtractionError("the extractor ended with KeyboardInterrupt") from error
        return _checked(found, len(texts))


def _tells(message: Message) -> bool:
    return bool(message.text.strip()) and message.text != FORGOTTEN_TEXT


def _technical(found: Extraction) -> Extraction:
    """What a tool printed says how things are, but nothing of what anybody likes or has decided."""
    mentions = tuple(mention for mention in found.mentions if mention.category == TECHNICAL)
    assertions = tuple(said for said in found.assertions if said.subject.category == said.object.category == TECHNICAL)
    return replace(found, mentions=mentions, assertions=assertions)


def _checked(found: object, count: int) -> Sequence[Extraction]:
    """An extractor's answer, or what is wrong with it. Spans are checked where it is written."""
    if not isinstance(found, Sequence) or not all(isinstance(one, Extraction) for one in found):
        raise ExtractionError(f"extract_graph must return a list of Extractions, got {type(found).__name__}")
    if len(found) != count:
        raise ExtractionError(f"extract_graph must return one Extraction a text: {count}, not {len(found)}")
    for one in found:
        most = max(len(one.mentions), len(one.assertions))
        if most > MOST or _chars(one) > MOST_CHARS:
            raise ExtractionError(f"an extractor found {most:,} things of {_chars(one):,} characters in one text")
    return found


def _chars(found: Extraction) -> int:
    named = [*found.mentions, *(end for said in found.assertions for end in (said.subject, said.object))]
    return sum(len(mention.name) for mention in named) + sum(len(said.predicate) for said in found.assertions)


def _sum(one: Extracted, other: Extracted) -> Extracted:
    names = [field.name for field in fields(Extracted)]
    return Extracted(**{name: getattr(one, name) + getattr(other, name) for name in names})
