"""A small world whose turns say things in so many words: ``checkout depends_on billing``, one to a line."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tidal_plugins.graph.graph import KnowledgeGraph
from tidal_plugins.graph.learning import apply
from tidal_plugins.graph.unlearning import forget_knowledge
from tidal_plugins.ingestion.episodes import from_entry, to_entry
from tidal_plugins.model.entry import EPISODE
from tidal_plugins.model.episode import Episode
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.graph import Applied, Assertion, Extraction, Gone, Mention, Reading, Relation
from tidal_plugins.storage.base import Record, Where
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import HERE, FrozenClock, entry
from tidal_plugins.tuning import GraphTuning

OF_PEOPLE = ("lives_in", "works_at", "likes")
EPISODES = Where(kinds={EPISODE})


def read(text: str, **fields: Any) -> Extraction:
    """What a text in so many words says; ``not`` before a line denies it. ``fields`` are those of assertions."""
    found, at = [], 0
    for line in text.split("\n"):
        denied = line.startswith("not ")
        subject, predicate, object_ = line.removeprefix("not ").split()
        ends = mention(text, subject, predicate, at, 0), mention(text, object_, predicate, at + 4 * denied, -1)
        options = {"confidence": 0.8, "negated": denied, **fields}
        found.append(Assertion(ends[0], predicate, ends[1], at, at + len(line), **options))
        at += len(line) + 1
    return Extraction(tuple(end for one in found for end in (one.subject, one.object)), tuple(found))


def mention(text: str, name: str, predicate: str, start: int, place: int) -> Mention:
    at = text.index(name, start) if place == 0 else text.index(name, text.index(predicate, start))
    if predicate in OF_PEOPLE:
        return Mention(name, ("person", "place")[place], "contextual", at, at + len(name))
    return Mention(name, "module", "technical", at, at + len(name))


class World:
    """A graph in a file of its own, and turns that are stored and read as they are said."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.clock = FrozenClock()
        self.storage = SQLiteStorage(folder / "memory.db", durability="fast")
        self.settings = GraphTuning(**settings)
        self.graph = KnowledgeGraph(self.storage, HERE, self.clock, self.settings, self.episodes)

    def episodes(self, ids: Collection[str]) -> Mapping[str, Episode]:
        return {id_: from_entry(found) for id_, found in self.storage.get(HERE, ids).items()}

    def say(
        self, text: str, id: str | None = None, *, thread: str | None = None, at: datetime | None = None, **fields: Any
    ) -> Applied:
        """Store a turn of one message and learn what it says."""
        speaker = fields.pop("speaker", None)
        extraction = fields.pop("extraction", None) or read(text, **fields)
        return self.learn(self.turn(text, id=id, thread=thread, at=at, speaker=speaker), extraction)

    def turn(
        self,
        *texts: str,
        id: str | None = None,
        thread: str | None = None,
        at: datetime | None = None,
        speaker: str | None = None,
    ) -> Episode:
        when = at or self.clock()
        messages = tuple(Message("user", text, id=f"m{n}", speaker=speaker, at=when) for n, text in enumerate(texts))
        id = id or f"e{len(self.storage.find(HERE, EPISODES)) + 1}"
        episode = Episode(id, HERE, messages, texts[0], when, self.clock(), thread)
        self.storage.put(HERE, [Record(to_entry(episode))])
        return episode

    def learn(self, episode: Episode, *extractions: Extraction) -> Applied:
        readings = [Reading(n, f"{episode.id}-{n}", extraction) for n, extraction in enumerate(extractions)]
        return apply(self.storage, HERE, episode, readings, self.clock(), self.settings)

    def forget(self, *ids: str) -> Gone:
        """Forget episodes, or messages of them by the ids of their entries."""
        doomed = list(self.storage.get(HERE, ids).values())
        for id_ in set(ids) - {one.id for one in doomed}:
            episode, _, position = id_.rpartition("-")
            doomed.append(entry(id_, episode=episode, position=int(position)))
        with self.storage.transaction():
            gone = forget_knowledge(self.storage, HERE, doomed, self.settings.functional, self.clock())
            self.storage.erase(HERE, ids)
        return gone

    def known(self, **where: Any) -> list[str]:
        """What is true and believed, in words."""
        return sorted(self.graph.sentences(self.graph.relations(**where)).values())

    def held(self, name: str) -> list[tuple[str, int, int | None]]:
        """What is believed of an entity now: in words, with the days from noon on from and until when it held."""
        now = [one for one in self.graph.timeline(name) if one.superseded_at is None]
        words = self.graph.sentences(now)
        return [(words[one.id], self.day(one.valid_from) or 0, self.day(one.valid_until)) for one in now]

    def day(self, time: datetime | None) -> int | None:
        return None if time is None else (time - FrozenClock()()).days

    def only(self, **where: Any) -> Relation:
        [found] = self.graph.relations(**where)
        return found
