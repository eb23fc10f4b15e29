"""A small world whose turns state relations literally, one to a line: ``checkout depends_on billing``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.tuned import tuned
from tidal_plugins import Assertion, Episode, Extraction, HashingEmbedder, Mention, Message, TidalMemory
from tidal_plugins.model.graph import Extracted, Relation
from tidal_plugins.protocols import Embedder
from tidal_plugins.testing import FrozenClock

OF_PEOPLE = ("lives_in", "works_at", "likes")


def read(text: str, **fields: Any) -> Extraction:
    """Read the relations that a text states literally, one to a line; ``not`` in front denies one.

    ``fields`` are those of assertions.
    """
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
    """A memory in a file of its own, whose turns are recorded and read at once.

    Turns have names that the test chooses, or ``e1``, ``e2``, …
    """

    def __init__(self, folder: Path, embedder: Embedder | None = None, **graph: Any) -> None:
        self.clock = FrozenClock()
        self.memory = TidalMemory(
            folder / "memory.db",
            embedder=embedder or HashingEmbedder(),
            graph_extractor=self,
            settings=tuned(graph={"background": False, **graph}),
            clock=self.clock,
        )
        self.graph = self.memory.graph
        self.turns: dict[str, Episode] = {}
        self._says: dict[str, Extraction] = {}

    def extract_graph(self, texts: Sequence[str]) -> list[Extraction]:
        return [self._says[text] for text in texts]

    def say(
        self,
        *texts: str,
        id: str | None = None,
        thread: str | None = None,
        at: datetime | None = None,
        speaker: str | None = None,
        extraction: Extraction | None = None,
        **fields: Any,
    ) -> Extracted:
        """Record a turn of these messages and read it into the graph."""
        self._says |= {text: extraction or read(text, **fields) for text in texts}
        id = id or f"e{len(self.turns) + 1}"
        messages = [Message("user", text, id=f"{id}-{n}", speaker=speaker) for n, text in enumerate(texts)]
        self.turns[id] = self.memory.record(messages=messages, thread=thread, id=id, occurred_at=at)
        done = self.memory.graph.index_pending()
        assert done.failed == 0, self.graph.pending()
        return done

    def forget(self, *ids: str) -> None:
        """Forget turns, or single messages of them such as ``e1-0``."""
        for id_ in ids:
            name, _, position = id_.partition("-")
            self.memory.forget(self.turns[name].entries[int(position)] if position else self.turns[name].id)

    def names(self, episodes: Iterable[str]) -> tuple[str, ...]:
        """Return the names of turns by their ids."""
        known = {episode.id: name for name, episode in self.turns.items()}
        return tuple(known.get(id_, id_) for id_ in episodes)

    def known(self, **where: Any) -> list[str]:
        """Return in words the relations that are true and believed."""
        if "episode" in where:
            where["episode"] = self.turns[where["episode"]].id
        return sorted(self.graph.sentences(self.graph.relations(**where)).values())

    def held(self, name: str) -> list[tuple[str, int, int | None]]:
        """Return the relations that are believed of an entity now, in words.

        Each has the days, counted from noon, from which and until which it held.
        """
        now = [one for one in self.graph.timeline(name) if one.superseded_at is None]
        words = self.graph.sentences(now)
        return [(words[one.id], self.day(one.valid_from) or 0, self.day(one.valid_until)) for one in now]

    def day(self, time: datetime | None) -> int | None:
        return None if time is None else (time - FrozenClock()()).days

    def only(self, **where: Any) -> Relation:
        [found] = self.graph.relations(**where)
        return found
