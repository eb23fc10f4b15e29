"""A memory with rows in every table, and questions through every door of it, with answers that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.trust.life import TURNS
from tidal_plugins import HashingEmbedder, Policy, Settings, TidalError, TidalMemory
from tidal_plugins.storage.damage import noticed
from tidal_plugins.testing import FrozenClock

OTHER: Final = ("user", "42")
"""A second scope of the file."""
LIVED = 12
QUERIES: Final = ("When does the electrician come?", "What does the small bowl cost?", "Where is the ladder?")
TOPIC = "glaze"


class Answer(NamedTuple):
    """What came of a question: its lines, the error that it raised, and whether it told of damage."""

    lines: tuple[str, ...] = ()
    error: str = ""
    told: bool = False


Question = Callable[[], Sequence[str]]


def open_file(path: Path) -> TidalMemory:
    """Open a memory whose answers depend on the file alone."""
    settings = Settings(graph={"background": False}, storage={"query_deadline": 60.0, "busy_timeout": 5.0})
    return TidalMemory(path, embedder=HashingEmbedder(64), settings=settings, clock=FrozenClock())


def fill(path: Path) -> dict[str, tuple[str, ...]]:
    """Live through something of everything in a new file, and return the ids of the entries of each scope."""
    with open_file(path) as memory:
        shown: list[str] = []
        ids = []
        for number, (user, agent) in enumerate(TURNS[:LIVED]):
            turn = memory.record(user, agent, thread=f"day-{number // 4}", surfaced=shown)
            shown = list(turn.entries)
            ids += [turn.id, *shown]
        ids.append(memory.remember("The kiln needs a fuse of 32 amperes. " * 40, source="kiln.md").id)
        memory.facts["oven"] = "north wall"
        memory.facts["oven"] = "south wall"
        memory.facts["bowls"] = "28 euros"
        memory.sessions.policies["narrow"] = Policy(allow={"like"})
        memory.signals.add("like", shown[0])
        session = memory.sessions.open()
        session.annotate(shown[0], "market")
        session.signal("like", shown[1])
        memory.dossiers.refresh(TOPIC)
        memory.graph.index_pending()
        memory.supersessions.find()
        memory.maintenance.run()
        memory.forget(ids.pop(ids.index(shown[-1])))
        other = memory.scoped(*OTHER)
        turn = other.record("The ladder is in the shed.", "In the shed, noted.", thread="home")
        other.facts["shed"] = "green"
    return {"own": tuple(ids), "other": (turn.id, *turn.entries)}


def questions(memory: TidalMemory, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Question]:
    """Return questions by a name that begins with ``own``, for the memory's own scope, or ``other``."""
    asked: dict[str, Question] = {}
    for place, one in (("own", memory), ("other", memory.scoped(*OTHER))):
        for id_ in ids[place]:
            asked[f"{place} get {id_}"] = lambda one=one, id_=id_: [one.get(id_).text]  # type: ignore[misc]
        for query in QUERIES:
            asked[f"{place} recall {query}"] = lambda one=one, query=query: _recalled(one, query)  # type: ignore[misc]
            asked[f"{place} whisper {query}"] = lambda one=one, query=query: [one.whisper(query).text]  # type: ignore[misc]
        asked |= {f"{place} {name}": question for name, question in _doors(one).items()}
    return asked


def _recalled(memory: TidalMemory, query: str) -> list[str]:
    return [hit.entry.text for hit in memory.recall(query, associative=True, window=1)]


def _doors(memory: TidalMemory) -> dict[str, Question]:
    return {
        "episodes": lambda: [message.text for episode in memory.episodes.list() for message in episode.messages],
        "facts": lambda: [f"{key}: {value}" for key, value in memory.facts.items()],
        "history": lambda: [str(fact.value) for fact in memory.facts.history("oven")],
        "dossiers": lambda: [str(dossier) for dossier in memory.dossiers.list()],
        "policies": lambda: [f"{name} {memory.sessions.policies[name]}" for name in memory.sessions.policies],
        "sessions": lambda: [str(session) for session in memory.sessions.list()],
        "signals": lambda: [str(memory.signals.tally())],
        "relations": lambda: [str(relation) for relation in memory.graph.relations()],
        "admitted": lambda: [str(memory.maintenance.admitted())],
        "capsule": lambda: [str(memory.capsule.read())],
    }


def answer(question: Question) -> Answer:
    """Ask a question. An error that is not the library's own is raised."""
    with noticed() as damaged:
        try:
            lines = tuple(question())
        except TidalError as error:
            return Answer(error=type(error).__name__, told=bool(damaged))
    return Answer(lines, told=bool(damaged))
