"""Cosines of any embedder: the same memory gives the same, wherever unrelated texts lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.conftest import OpenMemory
from tidal_plugins import OnnxEmbedder, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

NOTES = (
    "The spare key is with Mrs Adler on the second floor.",
    "I can't eat walnuts, they make my throat swell.",
    "Our standup is at nine, in the small room.",
    "The cat sleeps on the radiator all winter.",
    "We use PostgreSQL for the orders, and Redis for sessions.",
    "Grandmother's clock strikes every half hour.",
    "The backup runs at three in the night.",
    "Lena starts at the music school in August.",
    "The landlord wants the rent by the third of the month.",
    "My knee hurts after long descents.",
    "The client prefers spreadsheets to slides.",
    "We planted two apple trees by the fence.",
    "The train to Basel leaves from platform seven.",
    "Tickets are closed after two weeks without an answer.",
)
QUESTIONS = (
    "Who has our spare key?",
    "Which nuts am I allergic to?",
    "Which database holds the orders?",
    "When is the backup made?",
    "What is the capital of Mongolia?",
    "How tall is the Eiffel Tower?",
)
QUIET = Settings(graph={"background": False})
MODEL = OnnxEmbedder()


class Shifted:
    """The default embedder, with a part that all vectors share: no cosine is below about ``shared``."""

    dimensions = MODEL.dimensions + 1

    def __init__(self, shared: float) -> None:
        self.id, self.shared, self.asked = f"shifted-{shared}", shared, list[str]()

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        rows = np.sqrt(1 - self.shared) * MODEL.embed(texts)
        return np.hstack([rows, np.full((len(texts), 1), np.sqrt(self.shared))])


class Telling(Shifted):
    """The same, with questions that lie further from texts than texts from each other."""

    def embed(self, texts: Sequence[str]) -> Any:
        return np.hstack([super().embed(texts), np.zeros((len(texts), 1))])

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return np.hstack([super().embed(texts), np.full((len(texts), 1), 0.6)])

    dimensions = MODEL.dimensions + 2


class Constant:
    """Says the same of every text."""

    id, dimensions = "constant", 3

    def embed(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 3))


def filled(open_memory: OpenMemory, name: str, embedder: Any, notes: Sequence[str]) -> TidalMemory:
    memory = open_memory(name, embedder=embedder, settings=QUIET)
    for note in notes:
        memory.remember(note)
    return memory


def said(memory: TidalMemory) -> list[Any]:
    """Return what recall finds and what whispers show for each question."""
    recalls = [memory.recall(question, limit=5) for question in QUESTIONS]
    shown = [[hit.entry.text for hit in memory.whisper(question).hits] for question in QUESTIONS]
    return [[hit.entry.text for recall in recalls for hit in recall], shown]


def cosines(memory: TidalMemory) -> list[float]:
    return [hit.why.cosine for question in QUESTIONS for hit in memory.recall(question, limit=5)]


@pytest.mark.parametrize("count", [0, 1, 10, len(NOTES)])
def test_a_memory_gives_the_same_wherever_unrelated_texts_lie(open_memory: OpenMemory, count: int) -> None:
    usual = filled(open_memory, "usual.db", MODEL, NOTES[:count])
    other = filled(open_memory, "other.db", Shifted(0.8), NOTES[:count])
    assert said(other) == said(usual)
    assert cosines(other) == pytest.approx(cosines(usual), abs=1e-3)


def test_it_stays_the_same_while_the_memory_grows(open_memory: OpenMemory) -> None:
    usual, other = filled(open_memory, "usual.db", MODEL, ()), filled(open_memory, "other.db", Shifted(0.5), ())
    for note in NOTES:
        usual.remember(note)
        other.remember(note)
        assert said(other) == said(usual)
    assert any(said(usual)[1])
    assert not all(said(usual)[1])


def test_an_embedder_that_tells_questions_from_texts_is_silent_on_what_the_memory_does_not_hold(
    open_memory: OpenMemory,
) -> None:
    shown = said(filled(open_memory, "agent.db", Telling(0.85), NOTES))[1]
    assert [shown[0], *shown[-2:]] == [[NOTES[0]], [], []]


def test_a_store_that_got_such_vectors_later_gives_the_same(open_memory: OpenMemory) -> None:
    memory = filled(open_memory, "agent.db", MODEL, NOTES)
    before = said(memory)
    memory.reembed(Shifted(0.7))
    assert said(memory) == before


def test_what_holds_now_and_what_a_dossier_tells_are_the_same(open_memory: OpenMemory, clock: FrozenClock) -> None:
    old, new = "The dentist appointment is on Thursday 5 March.", "The appointment was moved to Friday 6 March."
    told = (old, new, *NOTES)
    found = []
    for name, embedder in (("usual.db", MODEL), ("other.db", Shifted(0.8))):
        memory = open_memory(name, embedder=embedder, settings=QUIET)
        for text in told:
            clock.advance(days=1)
            memory.record(text)
        memory.supersessions.find()
        links = {(memory.get(one.later).text, memory.get(one.earlier).text) for one in memory.supersessions.list()}
        dossier = memory.dossiers.refresh("the database")
        found.append((links, {source.text for source in map(memory.get, dossier.sources)}))
    assert found[0] == found[1]
    assert all(found[0])


def test_an_embedder_is_introduced_once_and_the_default_one_is_known(open_memory: OpenMemory) -> None:
    first = Shifted(0.8)
    filled(open_memory, "agent.db", first, NOTES[:1])
    assert len(first.asked) > 10
    again = Shifted(0.8)
    memory = open_memory(embedder=again)
    memory.remember(NOTES[1])
    memory.recall(QUESTIONS[0])
    assert again.asked == [NOTES[1], QUESTIONS[0]]


def test_an_embedder_that_tells_no_text_from_another_is_left_as_it_is(open_memory: OpenMemory) -> None:
    memory = filled(open_memory, "agent.db", Constant(), NOTES[:3])
    assert [hit.why.cosine for hit in memory.recall("zebra")] == pytest.approx([1.0] * 3)
