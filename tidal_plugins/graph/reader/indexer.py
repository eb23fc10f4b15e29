"""The model's indexer: it reads several turns in one call, and writes what it found into the graph [SIYA §3.3]."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel

from tidal_plugins.aio import in_time
from tidal_plugins.english.secrets import blanked, secrets
from tidal_plugins.errors import Closed, ExtractionError, StorageError
from tidal_plugins.graph.handlers import EpisodesOf
from tidal_plugins.graph.indexing.batches import to_batches
from tidal_plugins.graph.indexing.writing import apply
from tidal_plugins.graph.reader.budget import CHARS_PER_TOKEN, Budget, Spent
from tidal_plugins.graph.reader.prompt import JSON_LINES, NumberedText, Told, TurnsRead, prompt, read
from tidal_plugins.graph.reader.statements import Checked, checked, known_types
from tidal_plugins.graph.records.entities import Node, nodes
from tidal_plugins.graph.records.names import sharing
from tidal_plugins.jobs.handler import NotNow
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.episode import FORGOTTEN_TEXT, Episode
from tidal_plugins.model.extraction import Extracted
from tidal_plugins.model.fence import Frames
from tidal_plugins.model.reader import ModelAnswer
from tidal_plugins.protocols import TurnReader
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
    """Reads turns of one scope with a model."""

    storage: Storage
    scope: Scope
    jobs: Jobs
    settings: GraphTuning
    episodes: EpisodesOf
    budget: Budget
    frames: Frames
    reader: TurnReader | None
    timeout: float

    def parts(self, jobs: Sequence[Job]) -> Iterator[Sequence[Job]]:
        """Divide turns that are too long for one prompt."""
        episodes = self.episodes(self.scope, [job.subject for job in jobs])
        if len(jobs) == 1 or sum(len(text.text) for text in self._texts(episodes.values())) <= MAX_CHARS:
            yield jobs
        else:
            half = len(jobs) // 2
            yield from self.parts(jobs[:half])
            yield from self.parts(jobs[half:])

    def read(self, kind: str, jobs: Sequence[Job]) -> Extracted:
        """Read the turns of jobs in one call, and return the counts. Raises ``NotNow`` if today's budget is spent, and
        whatever the model raises."""
        episodes = self.episodes(self.scope, [job.subject for job in jobs])
        texts = list(self._texts(episodes.values()))
        known = self._known(texts)
        try:
            told, broken = self._ask(prompt(texts, [(node.name, node.type) for node in known])) if texts else ([], 0)
        except Spent as error:
            raise NotNow from error
        except (StorageError, Closed):
            raise
        except Exception:
            with self.storage.transaction():
                self.budget.add(self.scope, failures=1)
            raise
        found = checked(told, texts, known_types((node.name, node.type, node.category) for node in known))
        found.refused += broken
        return self._write(kind, jobs, episodes, found)

    def _write(self, kind: str, jobs: Sequence[Job], episodes: Mapping[str, Episode], found: Checked) -> Extracted:
        """Write what was read of each turn that is unchanged, with the counts, in one transaction for each turn."""
        total, now = Extracted(dropped=found.refused), self.jobs.now()
        with self.storage.transaction():
            self.budget.add(self.scope, refused=found.refused, passed=found.passed)
        for job in jobs:
            id_ = job.subject
            readings = found.readings.get(id_, []) if id_ in episodes else []
            batches, dropped = (
                to_batches(self.scope, episodes[id_], readings, self.settings, {}) if readings else ([], 0)
            )
            with self.storage.transaction():
                if self.episodes(self.scope, [id_]).get(id_) != episodes.get(id_):
                    continue  # it changed, and its job with it
                if not self.jobs.finish(self.scope, kind, [job]):
                    continue  # another process was faster
                for batch in batches:
                    apply(self.storage, self.scope, batch, now, self.settings)
                kept = sum(len(reading.extraction.assertions) for reading in readings) - dropped
                self.budget.add(self.scope, turns=1, kept=kept, refused=dropped)
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
        self.budget.take_call(self.scope, self.jobs.now())
        try:
            answer = in_time(
                partial(self.reader.answer, asked, schema), self.timeout, given_up=self.jobs.throttle.stopped
            )
        except InterruptedError as error:
            raise Closed("the memory was closed while a model was reading; the turns stay queued") from error
        except NotImplementedError:  # nothing was asked
            self.budget.give_back_call(self.scope, self.jobs.now())
            raise
        except KeyboardInterrupt as error:
            if threading.current_thread() is threading.main_thread():
                raise
            raise ExtractionError("the model ended with KeyboardInterrupt") from error
        if not isinstance(answer, ModelAnswer):
            raise ExtractionError(f"a reader returns a ModelAnswer, got {type(answer).__name__}")
        tokens_in, tokens_out = _tokens(answer.tokens_in, asked), _tokens(answer.tokens_out, str(answer.content))
        self.budget.add_tokens(self.scope, tokens_in, tokens_out, self.jobs.now())
        return answer.content


def _tokens(counted: object, text: str) -> int:
    """Return the tokens that a provider counted, or an estimate if that is no count."""
    return counted if type(counted) is int and counted >= 0 else len(text) // CHARS_PER_TOKEN
