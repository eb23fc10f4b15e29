"""The model's indexer: it reads several episodes in one call, and writes what it found [SIYA §3.3]: relations into the
graph, values into the facts, summaries into the episodes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel

from tidal_plugins.errors import Closed, ComponentError, InvalidInput, StorageError
from tidal_plugins.facts.mapping import Facts
from tidal_plugins.facts.versions import mentioned
from tidal_plugins.graph.handlers import EpisodesOf, asked
from tidal_plugins.graph.indexing.writing import WriteBatch, apply, to_batches
from tidal_plugins.graph.reader.budget import CHARS_PER_TOKEN, Budget, Spent
from tidal_plugins.graph.reader.prompt import JSON_LINES, Answer, Context, NumberedText, TurnsRead, prompt, read
from tidal_plugins.graph.reader.statements import Checked, Known, checked, known_types
from tidal_plugins.graph.reading.quotes import PERSON, category
from tidal_plugins.graph.records.entities import entity_id, nodes, sharing
from tidal_plugins.graph.records.relations import STANDING, STATE, predicate
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.jobs.handler import NotNow
from tidal_plugins.jobs.queue import Job, Jobs
from tidal_plugins.model.delimiters import Delimiters
from tidal_plugins.model.entry import EPISODE, Scope
from tidal_plugins.model.exchange import FORGOTTEN_TEXT, Episode, Message
from tidal_plugins.model.graph import Extracted, Mention, ModelAnswer
from tidal_plugins.protocols import TurnReader
from tidal_plugins.secrets.finding import blanked, secrets
from tidal_plugins.settings import Settings
from tidal_plugins.storage.base import Storage, Where, WhereLinks
from tidal_plugins.storage.rows import to_json

logger = logging.getLogger(__name__)

MAX_KNOWN = 40
"""Entities that a prompt names as known: those whose names share most words with the messages. So many relations, the
newest, and so many facts are shown, too."""

NEAR = 0.5
"""Part of the words of a name that must stand in a turn for the name to be shown."""

MAX_TEXT = 4_000
"""Characters of a message that are read. What people say of themselves is shorter; what is longer was pasted."""

MAX_CHARS = 24_000
"""Characters of messages in one prompt."""

BEFORE, MAX_EARLIER = 2, 1_000
"""Episodes that are shown before each one in its thread, and characters of each of their messages."""

MAX_VALUE = 200
"""Characters of a fact's value that a prompt shows; facts with longer ones are not shown."""

SAID = ("user", "assistant")
"""Roles whose messages are read. What a tool returned says nothing of the people who talk."""


@dataclass(frozen=True, slots=True)
class ModelIndexer:
    """Reads episodes of one scope with a model."""

    storage: Storage
    scope: Scope
    jobs: Jobs
    settings: Settings
    summary_chars: int
    episodes: EpisodesOf
    delimiters: Delimiters
    entry_id: Callable[[Episode, Message], str]
    budget: Budget
    facts: Facts
    summarised: Callable[[Scope, str, str], None]
    reader: TurnReader | None

    def parts(self, jobs: Sequence[Job]) -> Iterator[Sequence[Job]]:
        """Divide episodes that are too long for one prompt."""
        episodes = self.episodes(self.scope, [job.subject for job in jobs])
        if len(jobs) == 1 or sum(len(text.text) for text in self._texts(episodes.values())) <= MAX_CHARS:
            yield jobs
        else:
            half = len(jobs) // 2
            yield from self.parts(jobs[:half])
            yield from self.parts(jobs[half:])

    def read(self, kind: str, jobs: Sequence[Job]) -> Extracted:
        """Read the episodes of jobs in one call, and return the counts. Raises ``NotNow`` if today's budget is spent,
        and whatever the model raises."""
        episodes = self.episodes(self.scope, [job.subject for job in jobs])
        in_order = sorted(episodes.values(), key=lambda episode: (episode.occurred_at, episode.turn))
        texts = list(self._texts(in_order))
        known, context = self._known(in_order, texts)
        try:
            answer = self._ask(prompt(texts, context)) if texts else Answer()
        except Spent as error:
            raise NotNow from error
        except (StorageError, Closed):
            raise
        except Exception:
            with self.storage.transaction():
                self.budget.add(self.scope, failures=1)
            raise
        found = checked(answer, texts, context, known, self.summary_chars)
        return self._write(kind, jobs, episodes, found)

    # writing

    def _write(self, kind: str, jobs: Sequence[Job], episodes: Mapping[str, Episode], found: Checked) -> Extracted:
        """Write what was read of each episode that is unchanged, with the counts: facts and the summary, which need
        vectors and may be written twice, and then the relations in the transaction that ends the job."""
        total, now = Extracted(dropped=found.refused), self.jobs.now()
        with self.storage.transaction():
            self.budget.add(self.scope, refused=found.refused, passed=found.passed)
        for job in jobs:
            episode, readings = episodes.get(job.subject), found.readings.get(job.subject, [])
            batches, dropped, counts = list[WriteBatch](), 0, dict[str, int]()
            if episode and self._is_unchanged(job.subject, episode):
                batches, dropped = to_batches(self.scope, episode, readings, self.settings[GraphTuning], {})
                counts = self._learned(episode, found)
            with self.storage.transaction():
                if not self._is_unchanged(job.subject, episode):
                    continue  # it changed, and its job with it
                if not self.jobs.finish(self.scope, kind, [job]):
                    continue  # another process was faster
                for batch in batches:
                    apply(self.storage, self.scope, batch, now, self.settings[GraphTuning])
                kept = sum(len(reading.extraction.assertions) for reading in readings) - dropped
                counts["refused"] = counts.get("refused", 0) + dropped
                self.budget.add(self.scope, turns=1, kept=kept, **counts)
            total += Extracted(episodes=1, assertions=kept, dropped=dropped)
        return total

    def _is_unchanged(self, id_: str, episode: Episode | None) -> bool:
        """Return whether an episode has the messages that were read, or is still missing."""
        now = self.episodes(self.scope, [id_]).get(id_)
        return (now and now.messages) == (episode and episode.messages)

    def _learned(self, episode: Episode, found: Checked) -> dict[str, int]:
        """Write the facts and the summary of an episode, and return how many there were and how many were passed."""
        claims, summary = found.facts.get(episode.id, ()), found.summaries.get(episode.id)
        ids = [self.entry_id(episode, episode.messages[position]) for position, _ in claims]
        entries = self.storage.get(self.scope, ids) if ids else {}
        learned = [
            id_ in entries and self.facts.learn(entries[id_], claim)
            for id_, (_, claim) in zip(ids, claims, strict=True)
        ]
        counts = {"facts": sum(learned), "passed": len(learned) - sum(learned)}
        if not summary:
            return counts
        try:
            self.summarised(self.scope, episode.id, summary)
        except InvalidInput:
            return counts | {"refused": 1}
        return counts | {"summaries": 1}

    # the prompt

    def _texts(self, episodes: Iterable[Episode], most: int = MAX_TEXT) -> Iterator[NumberedText]:
        """Yield the messages of episodes as a model is shown them, at most so many characters of each."""
        for episode in episodes:
            room = MAX_CHARS
            for position, message in enumerate(episode.messages):
                if message.role not in SAID or not message.text.strip() or message.text == FORGOTTEN_TEXT:
                    continue
                text = blanked(self.delimiters.blank(message.text))[: min(most, room)]
                room -= len(text)
                if text.strip():
                    speaker, at = message.speaker or message.role, message.at or episode.occurred_at
                    yield NumberedText(episode.id, position, text, message.role, speaker, at)

    def _known(self, episodes: Sequence[Episode], texts: Sequence[NumberedText]) -> tuple[Known, Context]:
        """Return the types of the entities that the texts seem to name, the likeliest ones, and what a model is shown:
        what was said before, these entities, and what may be contradicted. No secret is shown."""
        earlier = {episode.id: list(self._before(episode, episodes)) for episode in episodes}
        words = "\n".join(text.text for text in texts)
        found = sharing(self.storage, self.scope, words)
        near = [id_ for id_, shared in found.items() if shared.coverage >= NEAR]
        near.sort(key=lambda id_: (-found[id_].coverage, -found[id_].words, id_))
        there = nodes(self.storage, self.scope, near[:MAX_KNOWN])
        known = [there[id_] for id_ in near if id_ in there and not secrets(there[id_].name)]
        relations = self._standing(there, {text.speaker for text in texts})
        context = Context(earlier, [(node.name, node.type) for node in known], relations, self._facts(words))
        return known_types((node.name, node.type, node.category) for node in known), context

    def _standing(self, near: Collection[str], speakers: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return the relations that hold between entities and those who speak, and the states of the latter, such as
        where they live, the newest first."""
        own = {entity_id(self.scope, Mention(name, PERSON, category(PERSON), 0, 0)) for name in speakers}
        among = own.union(near)
        between = self.storage.links(self.scope, WhereLinks(sources=among, targets=among, kinds=STANDING))
        states = self.storage.links(self.scope, WhereLinks(sources=own, kinds=[STATE]))
        rows = {row.id: row for row in [*between, *states] if row.valid_until is None}
        newest = sorted(rows.values(), key=lambda row: (row.recorded_at, row.id), reverse=True)[:MAX_KNOWN]
        ends = nodes(self.storage, self.scope, {end for row in newest for end in (row.source, row.target)})
        names = {id_: node.name for id_, node in ends.items() if not secrets(node.name)}
        told = [row for row in newest if names.keys() >= {row.source, row.target}]
        return [(names[row.source], predicate(row), names[row.target]) for row in told]

    def _facts(self, words: str) -> list[tuple[str, str]]:
        """Return the facts of which a text may speak."""
        facts = mentioned(self.storage, self.scope, [words])
        said = [(fact.key, fact.value if isinstance(fact.value, str) else to_json(fact.value)) for fact in facts]
        shown = [(key, value) for key, value in said if len(value) <= MAX_VALUE and not secrets(f"{key}: {value}")]
        return shown[:MAX_KNOWN]

    def _before(self, episode: Episode, read: Collection[Episode]) -> Iterator[NumberedText]:
        """Yield the messages of the two episodes before one in its thread, without those that are read with it."""
        if episode.thread is None or episode.turn <= 1:
            return
        places = {episode.turn - back for back in range(1, BEFORE + 1)}
        rows = self.storage.find(
            self.scope, Where(kinds={EPISODE}, threads={episode.thread}, positions=places), limit=BEFORE
        )
        ids = {row.id for row in rows} - {one.id for one in read}
        found = self.episodes(self.scope, ids) if ids else {}
        yield from self._texts(sorted(found.values(), key=lambda one: one.turn), MAX_EARLIER)

    # asking

    def _ask(self, text: str) -> Answer:
        """Return an answer: a structure if the model has them, else lines of JSON."""
        try:
            return read(self._answer(text, TurnsRead))
        except (StorageError, Closed, Spent, TimeoutError):
            raise
        except Exception as error:
            pass_interrupt(error)
            logger.debug("a model gave no structure: %s", type(error).__name__)
        return read(self._answer(f"{text}\n\n{JSON_LINES}", None))

    def _answer(self, text: str, schema: type[BaseModel] | None) -> str | Mapping[str, object]:
        if self.reader is None:
            raise ComponentError("nobody reads")
        self.budget.take_call(self.scope, self.jobs.now())
        try:
            ask = partial(self.reader.answer, text, schema)
            answer = asked(ask, self.settings.models.timeout, self.jobs.throttle.stopped, "the model")
        except NotImplementedError:  # nothing was asked
            self.budget.give_back_call(self.scope, self.jobs.now())
            raise
        if not isinstance(answer, ModelAnswer):
            raise ComponentError(f"a reader returns a ModelAnswer, got {type(answer).__name__}")
        tokens_in, tokens_out = _tokens(answer.tokens_in, text), _tokens(answer.tokens_out, str(answer.content))
        self.budget.add_tokens(self.scope, tokens_in, tokens_out, self.jobs.now())
        return answer.content


def _tokens(counted: object, text: str) -> int:
    """Return the tokens that a provider counted, or an estimate if that is no count."""
    return counted if type(counted) is int and counted >= 0 else len(text) // CHARS_PER_TOKEN
