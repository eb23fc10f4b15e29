"""Any value at any public door: an error of the library's own that is short, and not a byte written."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import tidal_plugins
from tests.trust.hostile import MOST, VALUES, Call, Endless, Raising, calls, groups, makers
from tidal_plugins import Closed, HashingEmbedder, InvalidInput, Note, Settings, TidalError, TidalMemory

NO_THREAD = Settings(graph={"background": False})
"""Nothing writes but the calls themselves."""

LEFT = frozenset({"close", "reembed", "warm", "clear", "start"})
"""Methods that end the store, or start what outlives the call. Their arguments are tested beside them."""

FRAMEWORK_OWNED = (
    "args_schema", "callback_manager", "callbacks", "counter", "messages", "model", "read_tool", "runnable",
    "system_message", "tools", "turn",
)  # fmt: skip
"""Parameters of adapters that are objects of the framework, which checks them, or messages, which it made."""

EXTRA = {
    "recall": "kinds threads speakers sources tags metadata since until exclude include_archived".split(),
    "remember": "kind source tags importance speaker role thread occurred_at valid_until trust metadata".split(),
}
"""Fields that a method takes beside its own parameters."""


@pytest.fixture
def filled(open_memory: Any) -> TidalMemory:
    """Return a memory in a file, with a turn, a note and a session's signal in it."""
    memory: TidalMemory = open_memory(settings=NO_THREAD)
    memory.record("Ann lives in Bergen.", "Noted.")
    return memory


def written(memory: TidalMemory) -> tuple[int, int]:
    """Return the size and the time of the file's log: each commit changes them."""
    about = Path(f"{memory.path}-wal").stat()
    return about.st_size, about.st_mtime_ns


def faults(memory: TidalMemory, doors: Iterable[Call], *others: type[Exception]) -> list[str]:
    """Make calls, and return what is wrong with the end of each.

    A call may accept a value. Otherwise it raises an error of the library's own, one of ``others``, or pydantic's where
    a model of its own is made; the error is short, and nothing is written.
    """
    found = []
    for call in doors:
        before = written(memory)
        try:
            call.use()
            continue
        except (TidalError, *others) as error:
            if len(str(error)) > MOST:
                found.append(f"{call.name}: a message of {len(str(error)):,} characters")
        except ValidationError as error:  # Settings, a policy, a tool of LangChain's: documented, and short by itself
            found += [f"{call.name}: {one['msg'][:80]}" for one in error.errors() if len(one["msg"]) > MOST]
        except BaseException as error:
            found.append(f"{call.name}: {type(error).__name__}")
        if written(memory) != before:
            found.append(f"{call.name}: refused, and written")
    return found


def test_every_method_refuses_what_it_cannot_use(
    filled: TidalMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a text may be the path of a file
    session = filled.sessions.open(user="ann")
    session.signal("like", filled.remember("The pears are ripe.").id)
    owners = {**groups(filled), "session": session, "compactor": filled.compactor()}
    made = [call for name, owner in owners.items() for call in calls(owner, name, extra=EXTRA, leave=LEFT)]
    real = {"id": filled.episodes.list()[0].id}
    made += calls(filled.episodes, "episodes", leave=LEFT, good=real)
    assert len(made) > 2_500
    assert faults(filled, made) == []
    assert filled.recall("Where does Ann live?")[0].text == "Ann lives in Bergen."


@pytest.mark.parametrize("package", ["tidal_plugins", "langchain_tidal", "langgraph_tidal", "llama_index_tidal"])
def test_every_class_and_function_refuses_what_it_cannot_use(
    filled: TidalMemory, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: ModuleType = tidal_plugins if package == "tidal_plugins" else pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    before = {*tmp_path.iterdir()}
    good = {
        "memory": filled,
        "embedder": HashingEmbedder(),
        "root": str(tmp_path),
        "messages": [],
        "turn": [],
        "runnable": str,
    }
    made = makers(module, good, leave=frozenset({"Compactor", "Facts", "Session", "Maintenance", "TidalState"}))
    ours = [call for call in made if not call.name.split("(")[1].startswith(FRAMEWORK_OWNED)]
    assert faults(filled, ours) == []
    named = {path for path in tmp_path.iterdir() if path.name.split("-")[0] == VALUES["number in words"]}
    assert {*tmp_path.iterdir()} - named == before


NOT_NAMES: list[Any] = [5, "ab", np.array([1.0, 2.0]), {"a": 1}, [5], [Endless()]]


@pytest.mark.parametrize("given", NOT_NAMES, ids=["number", "text", "array", "mapping", "numbers", "objects"])
def test_a_property_graph_refuses_what_it_cannot_use(filled: TidalMemory, given: Any) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index_tidal import TidalPropertyGraphStore

    graph, names = TidalPropertyGraphStore(filled), ("entity_names", "relation_names", "ids")
    calls = [Call(f"get_triplets({name})", partial(graph.get_triplets, **{name: given})) for name in names]
    calls += [Call("get(ids)", partial(graph.get, ids=given)), Call("delete", partial(graph.delete, given))]
    for properties in (given, {"a": given}, {Raising(): given}):
        triplets = partial(graph.get_triplets, properties=properties)
        calls += [Call("get", partial(graph.get, properties)), Call("get_triplets", triplets)]
    assert faults(filled, calls) == []


@pytest.mark.parametrize("depth", ["x", 1e308, [], {}, -1, True, np.array([1, 2])])
def test_a_list_of_namespaces_refuses_what_it_cannot_use(filled: TidalMemory, depth: Any) -> None:
    pytest.importorskip("langgraph")
    from langgraph.store.base import ListNamespacesOp

    from langgraph_tidal import TidalStore

    store = TidalStore(filled)
    store.put(("users", "ann"), "pears", {"text": "ripe"})
    for bad in ({"max_depth": depth}, {"match_conditions": [depth]}):
        with pytest.raises(InvalidInput):
            store.batch([ListNamespacesOp(**bad)])


@pytest.mark.parametrize("peer", ["a\0b", "a\ud800b", " ", b"bytes", 5])
def test_a_peer_is_a_path_that_a_file_can_have(peer: Any) -> None:
    with pytest.raises(InvalidInput):
        TidalMemory("memory://", embedder=HashingEmbedder(), peers=[peer])


@pytest.mark.parametrize("timeout", [1e308, float("inf")])
def test_a_memory_closes_whatever_the_timeout(timeout: float) -> None:
    memory = TidalMemory("memory://", embedder=HashingEmbedder())
    memory.record("Ann lives in Bergen.", "Noted.")
    memory.close(timeout=timeout)
    with pytest.raises(Closed):
        memory.recall("Bergen")


@pytest.mark.parametrize("field", ["namespace", "key", "value", "index", "ttl", "query", "filter", "limit", "offset"])
def test_a_store_of_items_refuses_what_it_cannot_use(filled: TidalMemory, field: str) -> None:
    pytest.importorskip("langgraph")
    from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp

    from langgraph_tidal import TidalStore

    store, names = TidalStore(filled), {field, "namespace_prefix"} if field == "namespace" else {field}
    ops: list[tuple[Any, dict[str, Any]]] = [
        (PutOp, {"namespace": ("users",), "key": "ann", "value": {"text": "pears"}}),
        (GetOp, {"namespace": ("users",), "key": "ann"}),
        (SearchOp, {"namespace_prefix": ("users",)}),
        (ListNamespacesOp, {}),
    ]
    calls = [
        Call(f"{part}={what}", partial(store.batch, [kind(**{**given, part: value})]))
        for kind, given in ops
        for part in names & {*kind._fields}
        for what, value in VALUES.items()
    ]
    assert faults(filled, calls, InvalidNamespaceError) == []


def test_scopes_and_filters_are_bounded(filled: TidalMemory) -> None:
    for scope in (("a",) * 33, ("a" * 1_001,)):
        with pytest.raises(InvalidInput):
            filled.scoped(*scope)
    filled.recall("pears", exclude=[f"{number}" for number in range(10_000)], metadata={"a" * 60_000: 1})
    for bad in ({"metadata": {"a" * 10_000_000: 1}}, {"tags": ["a"] * 10_001}, {"tags": ["a" * 1_001]}):
        with pytest.raises(InvalidInput):
            filled.recall("pears", **bad)


def test_tags_and_shown_memories_are_bounded_in_number_and_length(filled: TidalMemory) -> None:
    assert len(filled.remember("The plums are ripe.", tags=[f"t{n}" for n in range(100)]).tags) == 100
    before = written(filled)
    for tags in ([f"t{n}" for n in range(101)], itertools.repeat("t"), ["t" * 1_001], [""], "t", [1]):
        with pytest.raises(TidalError) as caught:
            filled.remember("The quinces are ripe.", tags=tags)
        assert len(str(caught.value)) <= MOST
        with pytest.raises(TidalError):
            filled.remember(Note("The quinces are ripe.", tags=tags))
    for surfaced in ([f"s{n}" for n in range(1_001)], itertools.repeat("s"), ["s" * 1_001]):
        with pytest.raises(TidalError):
            filled.record("The quinces are ripe.", surfaced=surfaced)
    assert written(filled) == before
