"""The episode indexer: it reads an episode, and writes what it says into the graph [SIYA §3.3].

An episode is read without a lock. What was read is written in one short transaction, or in several if it is much, of
which the last removes the job. A transaction writes nothing if the episode has changed or gone meanwhile, or if another
process was faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidal_plugins.errors import Closed, ComponentError
from tidal_plugins.graph.code.reader import CodeReader, CodeReading
from tidal_plugins.graph.handlers import EpisodesOf, asked
from tidal_plugins.graph.indexing.joining import join_relatives, join_shorter, with_full_paths
from tidal_plugins.graph.indexing.writing import WriteBatch, apply, to_batches
from tidal_plugins.graph.reading.lessons import lessons
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Message
from tidal_plugins.model.graph import Extracted, Extraction, Reading
from tidal_plugins.protocols import GraphExtractor
from tidal_plugins.secrets.finding import blanked
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage

MAX_CHARS = 100_000
"""Characters of one message that are read."""


TRIES = 3
"""Times that an episode is read when another process changes what is known of its files meanwhile."""


@dataclass(frozen=True, slots=True)
class EpisodeIndexer:
    """Indexes episodes of one scope."""

    storage: Storage
    scope: Scope
    jobs: Jobs
    settings: GraphTuning
    episodes: EpisodesOf
    reader: EpisodeReader
    code: CodeReader

    def index(self, kind: str, job: Job) -> Extracted:
        """Index the episode of a job, and return the counts. Raises whatever the extractor raises."""
        for _ in range(TRIES):
            episode = self._episode(job)
            if episode is None:
                with self.storage.transaction():
                    self.jobs.finish(self.scope, kind, [job])
                return Extracted()
            code = self.code.read(episode)
            readings = [*self.reader.read(episode, skipped=code.shown), *code.readings]
            paths = with_full_paths(self.storage, self.scope, readings, code)
            batches, dropped = to_batches(self.scope, episode, readings, self.settings, paths)
            if self._write(kind, job, episode, batches or [WriteBatch()], code):
                return Extracted(
                    episodes=1,
                    mentions=sum(len(reading.extraction.mentions) for reading in readings),
                    assertions=sum(len(reading.extraction.assertions) for reading in readings),
                    dropped=dropped,
                )
            if not self.jobs.current(self.scope, kind, [job]):
                return Extracted()
        self.jobs.give_back(self.scope, kind, [job])  # its files change all the time
        return Extracted()

    def _write(self, kind: str, job: Job, episode: Episode, batches: Sequence[WriteBatch], code: CodeReading) -> bool:
        """Write an episode batch by batch, and return whether no other process was faster.

        The last transaction removes the job. If the process dies before, all batches are written again, which changes
        nothing in those that are stored already.
        """
        now = self.jobs.now()
        for number, batch in enumerate(batches, 1):
            begun = time.monotonic()
            with self.storage.transaction():
                if self._episode(job) != episode or not self.jobs.current(self.scope, kind, [job]):
                    return False
                last = number == len(batches)
                if last and not code.project.store(self.storage):
                    return False
                apply(self.storage, self.scope, batch, now, self.settings)
                if last:
                    join_shorter(self.storage, self.scope, code, now)
                    join_relatives(self.storage, self.scope, batches, now)
                    self.jobs.finish(self.scope, kind, [job])
            if number < len(batches):
                self._give_way(time.monotonic() - begun)
        return True

    def _give_way(self, seconds: float) -> None:
        """Pause so that waiting writers get the lock. SQLite keeps no queue of them."""
        if not self.jobs.throttle.rest(seconds):
            raise Closed("the memory was closed while an episode was written; the episode stays queued")

    def _episode(self, job: Job) -> Episode | None:
        return self.episodes(self.scope, [job.subject]).get(job.subject)


# reading


TECHNICAL = "technical"

MAX_FOUND, MAX_FOUND_CHARS = 10_000, 1_000_000
"""Mentions or assertions in one text, and characters of their names, above which an answer is refused."""


@dataclass(frozen=True, slots=True)
class EpisodeReader:
    """Reads episodes with ``extractor``, or by their form and parse if it is ``None``.

    ``timeout`` is the number of seconds to wait for the extractor. ``stopped`` returns whether the memory was closed
    meanwhile, ``entry_id`` the id of a message's entry. What recall showed, between ``delimiters``, is
    not read.
    """

    extractor: GraphExtractor | None
    settings: Settings
    timeout: float
    stopped: Callable[[], bool]
    entry_id: Callable[[Episode, Message], str]
    delimiters: Delimiters

    def read(self, episode: Episode, skipped: Collection[int] = ()) -> list[Reading]:
        """Return what each message of an episode names and asserts, without those at the ``skipped`` places. Secrets
        are not read.

        May wait for a model; call it without holding locks. Raises ``ComponentError`` for a wrong answer, ``Closed``
        if the memory was closed, and whatever the extractor raises.
        """
        has_text = [place for place, message in enumerate(episode.messages) if _has_text(message)]
        positions = [place for place in has_text if place not in skipped]
        said = [self.delimiters.blank(episode.messages[place].text) for place in positions]
        texts = [blanked(text)[:MAX_CHARS] for text in said]
        extractions = self._extract(texts) if texts else []
        pairs = zip(positions, extractions, strict=True)
        readings = [self._reading(episode, position, extraction) for position, extraction in pairs]
        return readings if self.extractor else [*readings, *lessons(episode, readings)]

    def _reading(self, episode: Episode, position: int, extraction: Extraction) -> Reading:
        message = episode.messages[position]
        if message.role == "tool":
            return Reading(position, None, _technical(extraction))
        return Reading(position, self.entry_id(episode, message), extraction)

    def _extract(self, texts: Sequence[str]) -> Sequence[Extraction]:
        if self.extractor is None:
            from tidal_plugins.graph.reading.extractor import RuleExtractor  # loading it takes a while

            settings = self.settings
            return RuleExtractor(settings.graph.language_model, settings[GraphTuning].relation_threshold).read_episode(
                texts
            )
        ask = partial(self.extractor.extract_graph, texts)
        found = asked(ask, self.timeout, self.stopped, "the extractor")
        return _checked(found, len(texts))


def _has_text(message: Message) -> bool:
    return bool(message.text.strip()) and message.text != FORGOTTEN_TEXT


def _technical(found: Extraction) -> Extraction:
    """Keep what a tool's output says about technical things: it says nothing about people or decisions."""
    mentions = tuple(mention for mention in found.mentions if mention.category == TECHNICAL)
    assertions = tuple(said for said in found.assertions if said.subject.category == said.object.category == TECHNICAL)
    return replace(found, mentions=mentions, assertions=assertions)


def _checked(found: object, count: int) -> Sequence[Extraction]:
    """Return an extractor's answer, or raise ``ComponentError``. Spans are checked when the answer is written."""
    if not isinstance(found, Sequence) or not all(isinstance(one, Extraction) for one in found):
        raise ComponentError(f"extract_graph must return a list of Extractions, got {type(found).__name__}")
    if len(found) != count:
        raise ComponentError(f"extract_graph must return one Extraction a text: {count}, not {len(found)}")
    for one in found:
        if max(len(one.mentions), len(one.assertions)) > MAX_FOUND or _chars(one) > MAX_FOUND_CHARS:
            size = max(len(one.mentions), len(one.assertions))
            raise ComponentError(f"an extractor found {size:,} things of {_chars(one):,} characters in one text")
    return found


def _chars(found: Extraction) -> int:
    named = [*found.mentions, *(end for said in found.assertions for end in (said.subject, said.object))]
    return sum(len(mention.name) for mention in named) + sum(len(said.predicate) for said in found.assertions)
