"""The doors at which a tenant may ask, each with what it would take to see another tenant's memories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from langchain_core.runnables import RunnableConfig

from langchain_tidal import ReadEpisode, SearchGraph, SearchMemory, TidalConversationMemory, TidalRetriever
from langgraph_tidal import TidalStore
from llama_index_tidal import TidalGraphRetriever, TidalPropertyGraphStore, TidalToolSpec
from llama_index_tidal import TidalRetriever as LlamaRetriever
from tidal_plugins import Exchange, HashingEmbedder, Message, TidalMemory

WORDS: Final = "gardener pear trees shed ladder"
"""Words that every tenant's memories have."""
WILD: Final = "' OR 1=1 --"

Doors = Mapping[str, Callable[[], object]]

HEAVY: Final = frozenset(
    {
        "arecall", "astats", "brief", "capsule", "compactor", "dossier refresh", "expire", "forget foreign ids",
        "graph export", "langchain memory", "llama retriever", "llama search", "maintenance", "peer", "property graph",
        "recall", "recall associative", "recall in hops", "recall secrets", "retriever", "search tool", "store query",
    }
)  # fmt: skip
"""The doors whose calls take long."""


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
