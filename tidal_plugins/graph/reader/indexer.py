"""The model's indexer: it reads several waiting turns in one call, and writes what it found into the graph [SIYA §3.3].

Turns wait in a durable queue of their own until enough of them are there, or one has waited long. They leave it in the
transaction that writes what was read. A call that fails leaves them there, and fewer are read at a time after that, so
that one turn that a model cannot read holds up no other for long.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from pydantic import BaseModel

from tidal_plugins.aio import in_time
from tidal_plugins.english.secrets import blanked, secrets
from tidal_plugins.errors import Closed, ExtractionError, StorageError
from tidal_plugins.graph.indexing.batches import to_batches
from tidal_plugins.graph.indexing.entries import GraphEntries
from tidal_plugins.graph.indexing.indexer import Worker, index_changes
from tidal_plugins.graph.indexing.queue import ExtractionQueue, Ticket
from tidal_plugins.graph.indexing.writing import apply
from tidal_plugins.graph.lookup import Episodes
from tidal_plugins.graph.reader.budget import CHARS_PER_TOKEN, READER_QUEUE, Budget, Spent
from tidal_plugins.graph.reader.prompt import JSON_LINES, NumberedText, Told, TurnsRead, prompt, read
from tidal_plugins.graph.reader.statements import Checked, checked, known_types
from tidal_plugins.graph.records.entities import Node, nodes
from tidal_plugins.graph.records.names import sharing
from tidal_plugins.model.clock import hours_between
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT, Episode
from tidal_plugins.model.extraction import Extracted
from tidal_plugins.model.fence import Frames
from tidal_plugins.model.reader import ModelAnswer
from tidal_plugins.protocols import TurnReader
from tidal_plugins.settings import ReaderSettings
from tidal_plugins.storage.base import Storage
from tidal_plugins.tuning import GraphTuning

logger = logging.getLogger(__name__)

MAX_KNOWN = 40
"""Entities that a prompt names as known: those whose names share most words with the turns."""

NEAR = 0.5
"""Part of the words of a name that must stand in a turn for the name to be shown."""

MAX_TEXT = 4_000
"""Characters of a message that are read. What people say of themselves is shorter; what is longer was pasted."""

MAX_CHARS = 24_000
"""Characters of messages in one prompt."""

SAID = ("user", "assistant")
"""Roles whose messages are read. What a tool returned says nothing of the people who talk."""


@dataclass(frozen=True, slots=True)
class ModelIndexer:
    """Reads the waiting turns of one scope with a model."""

    storage: Storage
    scope: Scope
    settings: ReaderSettings
    graph: GraphTuning
    clock: Callable[[], datetime]
    worker: Worker
    episodes: Episodes
    entries: GraphEntries
    budget: Budget
    frames: Frames
    reader: TurnReader | None
    timeout: float
    stopped: Callable[[], bool]

    def run(
        self,
        *,
        by: str | None = None,
        failed: bool = False,
        whole: bool = True,
        limit: int | None = None,
        proceed: Callable[[], bool] = lambda: True,
    ) -> Extracted:
        """Read what is due, at most ``limit`` turns, and return the counts. Without ``whole`` turns wait for others.

        It is safe to interrupt and to run concurrently. ``proceed``, ``by`` and ``failed`` are those of
        :meth:`~tidal_plugins.graph.indexing.indexer.GraphIndexer.run`. An error of the model is stored in the queue.
        When today's budget is spent, the rest waits. Raises ``StorageError`` and ``Closed``.
        """
        total = Extracted()
        if not self.ready:
            return total
        for tickets in self._groups(list(self.queue.due(self.clock(), by=by, failed=failed))[:limit], whole=whole):
            if not proceed() or self.budget.is_spent(self.clock()):
                break
            with self.worker.step():
                total += self._read_claimed(tickets)
        return total + index_changes(self.entries, self.worker, self.clock, proceed)

    def next_due(self) -> timedelta | None:
        """Return the time until turns are due again, or ``None`` if none waits or nobody reads."""
        now = self.clock()
        if not self.ready or not (comes := self.queue.coming(now, by=self.worker.name)):
            return None
        due = list(self.queue.due(now, by=self.worker.name))
        if next(self._groups(due, whole=False), None):
            return self.budget.until_tomorrow(now) if self.budget.is_spent(now) else timedelta(0)
        waits = [ticket.pending.since + timedelta(seconds=self.settings.wait) for ticket in due]
        return max(min([*waits, *(at for at in comes if at > now)], default=now) - now, timedelta(0))

    @property
    def ready(self) -> bool:
        """Return whether there is a model to ask."""
        return self.reader is not None and bool(getattr(self.reader, "ready", True))

    @property
    def queue(self) -> ExtractionQueue:
        timeout = 2 * self.timeout  # a model may be asked twice
        return ExtractionQueue(
            self.storage, self.scope, self.graph, self.worker.name, self.clock, timeout, READER_QUEUE
        )

    def _groups(self, due: Sequence[Ticket], *, whole: bool) -> Iterator[list[Ticket]]:
        """Yield turns to read together: half as many after each failure. The last few wait, unless one has long."""
        left = list(due)
        while left:
            attempts = left[0].pending.attempts
            size = max(1, self.settings.turns >> attempts)
            group = [ticket for ticket in left if ticket.pending.attempts == attempts][:size]
            if whole or attempts or len(group) == size or any(map(self._has_waited, group)):
                yield group
            taken = {ticket.seq for ticket in group}
            left = [ticket for ticket in left if ticket.seq not in taken]

    def _has_waited(self, ticket: Ticket) -> bool:
        return abs(hours_between(ticket.pending.since, self.clock())) * 3600 >= self.settings.wait

    def _read_claimed(self, tickets: Sequence[Ticket]) -> Extracted:
        """Read the turns that no other worker reads, and let others read those that stay in the queue."""
        claims, read = self.queue.claims, False
        held = {line.seq for line in claims.take([ticket.line for ticket in tickets])}
        claimed = [ticket for ticket in tickets if ticket.seq in held]
        try:
            found = self._read(claimed) if claimed else Extracted()
            read = found.episodes + found.failed == len(claimed)
            return found
        finally:
            if not read:
                claims.give_back([ticket.line for ticket in claimed])

    def _read(self, tickets: Sequence[Ticket]) -> Extracted:
        current = [ticket for ticket in tickets if self.queue.is_current(ticket)]
        episodes = self.episodes([ticket.pending.episode for ticket in current])
        texts = list(self._texts(episodes.values()))
        if len(current) > 1 and sum(len(text.text) for text in texts) > MAX_CHARS:
            half = len(current) // 2
            return self._read(current[:half]) + self._read(current[half:])
        known = self._known(texts)
        try:
            told, broken = self._ask(prompt(texts, [(node.name, node.type) for node in known])) if texts else ([], 0)
        except Spent:
            return Extracted()
        except (StorageError, Closed):
            raise  # the fault is not the model's
        except Exception as error:
            logger.warning("a model could not read %d turns: %s", len(current), type(error).__name__)  # no text of them
            with self.storage.transaction():
                self.budget.add(failures=1)
            for ticket in current:
                self.queue.put_back(ticket, f"{type(error).__name__}: {error}", self.clock())
            return Extracted(failed=len(current))
        found = checked(told, texts, known_types((node.name, node.type, node.category) for node in known))
        found.refused += broken
        return self._write(current, episodes, found)

    def _write(self, tickets: Sequence[Ticket], episodes: Mapping[str, Episode], found: Checked) -> Extracted:
        """Write what was read of each turn that is unchanged, with the counts, in one transaction for each turn."""
        total, now = Extracted(dropped=found.refused), self.clock()
        with self.storage.transaction():
            self.budget.add(refused=found.refused, passed=found.passed)
        for ticket in tickets:
            id_ = ticket.pending.episode
            readings = found.readings.get(id_, []) if id_ in episodes else []
            batches, dropped = to_batches(self.scope, episodes[id_], readings, self.graph, {}) if readings else ([], 0)
            with self.storage.transaction():
                if self.episodes([id_]).get(id_) != episodes.get(id_) or not self.queue.is_current(ticket):
                    continue  # it changed, or another process was faster: it is read again, or was
                for batch in batches:
                    apply(self.storage, self.scope, batch, now, self.graph)
                kept = sum(len(reading.extraction.assertions) for reading in readings) - dropped
                self.budget.add(turns=1, kept=kept, refused=dropped)
                self.queue.take_out(ticket)
            total += Extracted(episodes=1, assertions=kept, dropped=dropped)
        return total

    def _texts(self, episodes: Iterable[Episode]) -> Iterator[NumberedText]:
        for episode in episodes:
            room = MAX_CHARS
            for position, message in enumerate(episode.messages):
                if message.role not in SAID or not message.text.strip() or message.text == FORGOTTEN_TEXT:
                    continue
                text = blanked(self.frames.blank(message.text))[: min(MAX_TEXT, room)]
                room -= len(text)
                if text.strip():
                    speaker, at = message.speaker or message.role, message.at or episode.occurred_at
                    yield NumberedText(episode.id, position, text, message.role, speaker, at)

    def _known(self, texts: Sequence[NumberedText]) -> list[Node]:
        """Return the entities that the texts seem to name, the likeliest first, without names with secrets."""
        found = sharing(self.storage, self.scope, "\n".join(text.text for text in texts))
        near = [id_ for id_, shared in found.items() if shared.coverage >= NEAR]
        near.sort(key=lambda id_: (-found[id_].coverage, -found[id_].words, id_))
        known = nodes(self.storage, self.scope, near[:MAX_KNOWN])
        return [known[id_] for id_ in near if id_ in known and not secrets(known[id_].name)]

    # asking

    def _ask(self, asked: str) -> tuple[list[Told], int]:
        """Return the statements of an answer: a structure if the model has them, else lines of JSON."""
        try:
            return read(self._answer(asked, TurnsRead))
        except (StorageError, Closed, Spent, TimeoutError):
            raise
        except Exception as error:
            logger.debug("a model gave no structure: %s", type(error).__name__)
        return read(self._answer(f"{asked}\n\n{JSON_LINES}", None))

    def _answer(self, asked: str, schema: type[BaseModel] | None) -> str | Mapping[str, object]:
        if self.reader is None:
            raise ExtractionError("nobody reads")
        self.budget.take_call(self.clock())
        try:
            answer = in_time(partial(self.reader.answer, asked, schema), self.timeout, given_up=self.stopped)
        except InterruptedError as error:
            raise Closed("the memory was closed while a model was reading; the turns stay queued") from error
        except NotImplementedError:  # nothing was asked
            self.budget.give_back_call(self.clock())
            raise
        except KeyboardInterrupt as error:
            if threading.current_thread() is threading.main_thread():
                raise
            raise ExtractionError("the model ended with KeyboardInterrupt") from error
        if not isinstance(answer, ModelAnswer):
            raise ExtractionError(f"a reader returns a ModelAnswer, got {type(answer).__name__}")
        tokens_in, tokens_out = _tokens(answer.tokens_in, asked), _tokens(answer.tokens_out, str(answer.content))
        self.budget.add_tokens(tokens_in, tokens_out, self.clock())
        return answer.content


def _tokens(counted: object, text: str) -> int:
    """Return the tokens that a provider counted, or an estimate if that is no count."""
    return counted if type(counted) is int and counted >= 0 else len(text) // CHARS_PER_TOKEN
