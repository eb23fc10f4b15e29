"""Many scopes in one file, asked at every public door by threads at once: none shows another's memories.

Each scope has a word of its own, its canary, in all of its memories. A foreign canary in what a call returns or raises
is a leak. Doors that take ids, threads and times are asked with those of another scope.
"""

from __future__ import annotations

import asyncio
import dataclasses
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("llama_index.core")

from langchain_core.runnables import RunnableConfig

from langchain_tidal import ReadEpisode, SearchGraph, SearchMemory, TidalConversationMemory, TidalRetriever
from langgraph_tidal import TidalStore
from llama_index_tidal import TidalGraphRetriever, TidalPropertyGraphStore, TidalToolSpec
from llama_index_tidal import TidalRetriever as LlamaRetriever
from tests.tables import tables
from tidal_plugins import Exchange, HashingEmbedder, Message, Settings, TidalError, TidalMemory, ToolCall

TABLE = tables("trust/tenants.jsonl")

SETTINGS: Final = Settings(storage={"durability": "fast"}, graph={"background": False})
SCOPES: Final = (
    ("a",), ("a", "b"), ('a","b',), ("a%",), ("\uff41",), ("user", "1"), ("A",), ("user", "11"), ("_",), ("'; --",),
)  # fmt: skip
"""Scopes that a sloppy comparison would take for one another: prefixes, separators, wildcards, folded letters."""
DEPTH = 12
"""Levels of an answer that are looked into."""


@dataclass
class Counts:
    """What came of the calls."""

    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@pytest.mark.parametrize("scopes", [SCOPES[1:4], pytest.param(SCOPES, marks=pytest.mark.slow)])
def test_no_door_shows_or_changes_what_another_scope_has(tmp_path: Path, scopes: Any) -> None:
    with opened(tmp_path) as memory:
        ids = [fill(memory.scoped(*scope), number) for number, scope in enumerate(scopes)]
        before = [standing(memory.scoped(*scope)) for scope in scopes]
        with ThreadPoolExecutor(3) as pool:
            counted = list(pool.map(lambda number: asked(memory, scopes, ids, number), range(len(scopes))))
        assert [line for counts in counted for line in (*counts.leaks, *counts.errors)] == []
        assert all(counts.refused["get an entry"] == counts.calls["get an entry"] > 0 for counts in counted)
        assert [standing(memory.scoped(*scope)) for scope in scopes] == before


@pytest.mark.slow
def test_an_answer_that_shows_another_scope_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        ids = fill(memory.scoped("a"), 0)
        assert asked(memory, [("b",), ("a",)], [ids, ids], 1).leaks, "the second scope has another canary here"


def opened(folder: Path) -> TidalMemory:
    return TidalMemory(folder / "agent.db", embedder=HashingEmbedder(), settings=SETTINGS)


def standing(view: TidalMemory) -> object:
    """Return what people said and set in a scope: no call of another scope may change it."""
    return view.episodes.list(), dict(view.facts)


def asked(memory: TidalMemory, scopes: Sequence[tuple[str, ...]], ids: Sequence[Ids], number: int) -> Counts:
    """Ask at every door of a scope, with the ids of another."""
    counts, other = Counts(), random.Random(number).choice([n for n in range(len(scopes)) if n != number])
    for name, door in doors(memory.scoped(*scopes[number]), ids[number], ids[other]).items():
        counts.calls[name] += 1
        try:
            seen = "\n".join(texts(door()))
        except TidalError as error:
            counts.refused[name] += 1
            seen = str(error)
        except Exception as error:
            counts.errors.append(f"{name}: {type(error).__name__}: {error!s:.100}")
            seen = str(error)
        if others := {one.lower() for one in CANARY.findall(seen)} - {canary(number).lower()}:
            counts.leaks.append(f"{name} in {scopes[number]!r:.40} showed {', '.join(sorted(others))}")
    return counts


def texts(value: object, depth: int = DEPTH) -> Iterator[str]:
    """Yield every text in an answer, also those that its own text would cut short."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(key, depth - 1)
            yield from texts(item, depth - 1)
    elif depth and isinstance(value, Sequence | set | frozenset):
        for item in value:
            yield from texts(item, depth - 1)
    elif depth and dataclasses.is_dataclass(value):
        for part in dataclasses.fields(value):
            if not part.name.startswith("_"):
                yield from texts(getattr(value, part.name), depth - 1)
    else:
        yield repr(value)


# what every tenant has: the same words, and one word of its own in each of them

CANARY: Final = re.compile(r"tenant[a-z]{2}bird", re.IGNORECASE)
"""The canaries of all scopes. They are words: one that looks like a key would be redacted."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"

TURNS: Final = TABLE["turns"]


def canary(number: int) -> str:
    """Return the canary of the scope with a number."""
    return f"Tenant{LETTERS[number // len(LETTERS)]}{LETTERS[number % len(LETTERS)]}bird"


def fill(memory: TidalMemory, number: int) -> Ids:
    """Fill a scope with every kind of memory that there is, and return the ids in it."""
    word = canary(number)
    for place, (user, agent) in enumerate(TURNS):
        look = ToolCall("look", {"for": word}, id=f"call-{place}", result=f"{word} was seen at the shed")
        said, tools = (user.format(word), agent.format(word)), [look] if place % 2 else []
        memory.record(*said, tools=tools, thread="garden", id=f"turn-{place}", metadata={"gardener": word})
    skill = memory.remember(f"To reach the gardener {word}, ring the bell twice.", kind="skill", tags=[word, "garden"])
    memory.remember(f"The book of {word}: pear trees want lime and sun.", kind="kb", source=f"{word}.md")
    for value in (word, f"{word} the younger"):
        memory.facts.set("gardener", value)
    memory.graph.index_pending()
    memory.supersessions.find()
    memory.signals.add("like", skill.id)
    with memory.sessions.open(user=word, agent="planner", thread="garden") as session:
        session.annotate(skill.id, f"ask {word} first")
    run = memory.maintenance.run()
    memory.dossiers.refresh("gardener")
    memory.capsule.read()
    TidalStore(memory).put(("users", "ann"), "pears", {"text": f"pears that {word} likes"})
    episodes = memory.episodes.list()
    relations, entities = memory.graph.relations(), memory.graph.entities()
    return Ids(
        episodes=tuple(episode.id for episode in episodes),
        entries=(skill.id, *memory.recall("gardener", kinds={"fact"}, limit=3).ids, *episodes[0].entries),
        relations=tuple(relation.id for relation in relations),
        entities=tuple(entity.id for entity in entities),
        sessions=tuple(session.id for session in memory.sessions.list()),
        runs=(run.run or "none",),
    )


# the doors at which a tenant may ask, each with what it would take to see another tenant's memories

WORDS: Final = "gardener pear trees shed ladder"
"""Words that every tenant's memories have."""
WILD: Final = "' OR 1=1 --"

Doors = Mapping[str, Callable[[], object]]


class Ids(NamedTuple):
    """The ids of what a scope has."""

    episodes: tuple[str, ...]
    entries: tuple[str, ...]
    relations: tuple[str, ...]
    entities: tuple[str, ...]
    sessions: tuple[int, ...]
    runs: tuple[str, ...]


def doors(view: TidalMemory, own: Ids, foreign: Ids) -> Doors:
    """Return the doors of a scope by name. Those that take ids are asked with those of another scope, and tell them
    from unknown ones in nothing."""
    return {
        **_verbs(view, own, foreign),
        **_said(view, own, foreign),
        **_made(view, foreign),
        **_sessions(view, own, foreign),
        **_graph(view, foreign),
        **_adapters(view, foreign),
    }


def _verbs(view: TidalMemory, own: Ids, foreign: Ids) -> Doors:
    return {
        "recall": lambda: view.recall(WORDS, limit=50, window=3),
        "recall a few": lambda: view.recall("pear trees", limit=5),
        "recall filtered": lambda: view.recall("gardener", threads={"garden"}, metadata={"' OR 1=1 --": WILD}),
        "recall wild": lambda: view.recall(f"gardener* OR NEAR({WILD})", sources={"%"}, include_archived=True),
        "recall associative": lambda: view.recall(WORDS, associative=True, limit=20),
        "recall in hops": lambda: view.recall(WORDS, hops=3, limit=20),
        "recall without own": lambda: view.recall(WORDS, exclude=[*own.entries, *own.episodes], kinds={"skill"}),
        "recall of a session": lambda: view.recall("shed", session=foreign.sessions[0]),
        "recall secrets": lambda: view.recall("key of the shed", secrets=True),
        "arecall": lambda: asyncio.run(view.arecall(WORDS, limit=20)),
        "whisper": lambda: view.whisper("When does our gardener prune the pear trees?"),
        "get an entry": lambda: view.get(foreign.entries[0]),
        "get a citation": lambda: view.get(f"[mem:{foreign.entries[-1]}]"),
        "get an episode": lambda: view.get(f"ep:{foreign.episodes[-1]}"),
        "forget foreign ids": lambda: view.forget(*foreign.entries, *foreign.episodes, everywhere=True),
        "peer": lambda: _as_peer(view),
    }


def _as_peer(view: TidalMemory) -> object:
    with TidalMemory("memory://", embedder=HashingEmbedder(), peers=[view], settings=view.settings) as memory:
        return memory.recall(WORDS), memory.whisper("When does our gardener prune the pear trees?")


def _said(view: TidalMemory, own: Ids, foreign: Ids) -> Doors:
    history = [Exchange((Message("user", "Our gardener prunes the old pear trees on Thursday."),), id="turn-0")]
    return {
        "episode": lambda: view.episodes[foreign.episodes[0]],
        "episodes": lambda: view.episodes.list(thread="garden"),
        "episodes by tool": lambda: view.episodes.list(tool="look", newest_first=True, limit=3),
        "episodes wild": lambda: view.episodes.list(thread=WILD),
        "page": lambda: view.episodes.page(foreign.episodes[1]),
        "own page": lambda: view.episodes.page(own.episodes[1]),
        "entry ids": lambda: view.episodes.entry_ids(f"ep:{foreign.episodes[2]}"),
        "match": lambda: view.episodes.match(history, thread="garden"),
        "follow": lambda: view.episodes.follow({foreign.episodes[1]: foreign.episodes[0]}, back=foreign.episodes),
        "fact": lambda: view.facts.fact("gardener"),
        "facts": lambda: dict(view.facts),
        "fact history": lambda: view.facts.history("gardener"),
        "facts then": lambda: dict(view.facts.as_of(view.now() - timedelta(seconds=1))),
        "conflicts": lambda: view.facts.conflicts(),
        "resolve": lambda: view.facts.resolve(foreign.entries[1], keep="claim"),
        "supersessions": lambda: view.supersessions.list(),
        "supersessions of": lambda: view.supersessions.list(foreign.entries[-1]),
        "undo a supersession": lambda: view.supersessions.undo(foreign.entries[-1], foreign.entries[-2]),
    }  # fmt: skip


def _made(view: TidalMemory, foreign: Ids) -> Doors:
    return {
        "links": lambda: view.associations.links(foreign.entries[0]),
        "spread": lambda: view.associations.spread([*foreign.entries, *foreign.episodes], threshold=0.0),
        "dossier": lambda: view.dossiers["gardener"],
        "dossiers": lambda: view.dossiers.list(),
        "dossier refresh": lambda: view.dossiers.refresh("gardener", force=True),
        "brief": lambda: view.dossiers.brief("gardener"),
        "capsule": lambda: view.capsule.read(),
        "capsule as it stands": lambda: view.capsule.read(max_age=timedelta(days=1)),
        "affect": lambda: view.affect.state(),
        "stats": lambda: view.stats(),
        "admitted": lambda: view.maintenance.admitted(),
        "astats": lambda: asyncio.run(view.astats()),
        "maintenance": lambda: view.maintenance.run(),
        "expire": lambda: view.maintenance.expire(dry_run=True),
        "undo a run": lambda: view.maintenance.undo(foreign.runs[0]),
        "compactor": lambda: view.compactor(max_tokens=2_000).compact(
            [Message("user", f"{WORDS} {number}") for number in range(6)], thread="compacted", force="compact"
        ),
    }


def _sessions(view: TidalMemory, own: Ids, foreign: Ids) -> Doors:
    return {
        "sessions": lambda: view.sessions.list(),
        "sessions by agent": lambda: view.sessions.list(agent="planner"),
        "snapshot": lambda: view.sessions.snapshot(foreign.sessions[0]),
        "audit": lambda: view.sessions.audit(foreign.sessions[-1]),
        "resume": lambda: view.sessions.resume(foreign.sessions[0]).snapshot(),
        "policies": lambda: dict(view.sessions.policies),
        "signal on foreign": lambda: view.signals.add("like", foreign.entries[0]),
        "tally": lambda: view.signals.tally(),
    }


def _graph(view: TidalMemory, foreign: Ids) -> Doors:
    graph, relation, entity = view.graph, (*foreign.relations, "none")[0], (*foreign.entities, "none")[0]
    return {
        "entities": lambda: graph.entities(limit=50),
        "entity": lambda: graph.entity(entity),
        "entities of a turn": lambda: graph.entities(episode=foreign.episodes[0]),
        "graph search": lambda: graph.search(WORDS),
        "named": lambda: graph.named("the nursery in Ghent"),
        "mentions": lambda: graph.mentions(entity),
        "relation": lambda: graph.relation(relation),
        "relations": lambda: graph.relations(),
        "relations of": lambda: graph.relations(about=entity),
        "neighbours": lambda: graph.neighbours(entity),
        "impact": lambda: graph.impact(entity),
        "timeline": lambda: graph.timeline(entity),
        "evidence": lambda: graph.evidence(relation),
        "sentence": lambda: graph.sentence(relation),
        "merge": lambda: graph.merge(entity, (*foreign.entities, "none")[-1]),
        "merges": lambda: graph.merges(),
        "proposals": lambda: graph.proposals(),
        "pending": lambda: graph.pending(),
        "graph export": lambda: graph.export("cypher"),
    }


def _adapters(view: TidalMemory, foreign: Ids) -> Doors:
    store, tools, config = TidalStore(view), TidalToolSpec(view), RunnableConfig(configurable={"thread_id": "garden"})
    history = TidalConversationMemory(view, thread="garden")
    nodes, retriever = TidalPropertyGraphStore(view), TidalRetriever(view, k=20)
    return {
        "store get": lambda: store.get(("users", "ann"), "pears"),
        "store search": lambda: [item.dict() for item in store.search((), limit=100)],
        "store query": lambda: [item.dict() for item in store.search(("users",), query=WORDS)],
        "store filter": lambda: [item.dict() for item in store.search((), filter={"text": {"$ne": WILD}})],
        "store namespaces": lambda: store.list_namespaces(),
        "store wild": lambda: [item.dict() for item in store.search(("%",), query=WORDS)],
        "search tool": lambda: SearchMemory(memory=view).invoke({"query": WORDS}, config),
        "episode tool": lambda: ReadEpisode(memory=view).invoke({"citation": foreign.episodes[0]}, config),
        "graph tool": lambda: SearchGraph(memory=view).invoke({"entity": "nursery"}, config),
        "retriever": lambda: [document.model_dump() for document in retriever.invoke(WORDS)],
        "langchain memory": lambda: history.load_memory_variables({"input": WORDS}),
        "llama search": lambda: tools.search_memory(WORDS, limit=20),
        "llama graph": lambda: tools.search_graph("nursery"),
        "llama episode": lambda: tools.read_episode(foreign.episodes[0]),
        "llama retriever": lambda: [node.model_dump() for node in LlamaRetriever(view, k=20).retrieve(WORDS)],
        "llama graph retriever": lambda: [node.model_dump() for node in TidalGraphRetriever(view).retrieve(WORDS)],
        "property graph": lambda: [node.model_dump() for node in nodes.get()],
        "property graph by ids": lambda: [node.model_dump() for node in nodes.get(ids=list(foreign.entities))],
    }  # fmt: skip
