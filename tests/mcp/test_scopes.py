"""What another scope has is answered exactly as what nobody has, at every tool and resource, by id, name and cursor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from tests.mcp.conftest import SCOPE
from tests.mcp.talking import Talk, in_process
from tidal_plugins import HashingEmbedder, TidalMemory

OTHER = ("user", "7")
SECRET = "osprey"


@pytest.fixture
def owned(db: Path) -> dict[str, str]:
    """Return ids and names of what another scope of the file has, each of another kind."""
    with TidalMemory(db, scope=OTHER, embedder=HashingEmbedder()) as memory:
        turn = memory.record("osprey.rs depends on crane.rs.", "I see.", thread="osprey run")
        note = memory.remember("The osprey nests on the crane.", source="osprey.md")
        gone = memory.remember("The osprey was ringed in May.")
        memory.forget(gone.citation)
        memory.facts["osprey ring"] = "K 41"
        memory.graph.index_pending()
        memory.dossiers.refresh("osprey")
        entity = memory.graph.entity("osprey.rs")
        [relation, *_] = memory.graph.relations(about=entity.id)
        return {
            "turn": turn.id,
            "message": turn.entries[0],
            "note": note.id,
            "forgotten": gone.id,
            "entity": entity.id,
            "relation": relation.id,
            "entity name": "osprey.rs",
            "thread": "osprey run",
            "fact": "osprey ring",
            "topic": "osprey",
        }


Ask = Callable[[Talk, str], Any]


def tool(name: str, /, **arguments: Any) -> Ask:
    """Return a question in which each ``…`` stands for an id or a name."""

    async def ask(talk: Talk, given: str) -> Any:
        filled = {
            key: given if value is ... else [given] if value == [...] else value for key, value in arguments.items()
        }
        return await talk.call(name, **filled)

    return ask


def resource(form: str) -> Ask:
    """Return a question for a resource."""

    async def ask(talk: Talk, given: str) -> Any:
        try:
            return await talk.read(form.format(given))
        except Exception as error:
            return str(error)

    return ask


ASKED = [
    tool("memory_get", ids=[...]),
    tool("forget", ids=[...]),
    tool("memory_search", query="crane", thread=..., include_archived=True),
    tool("thread_history", thread=...),
    tool("entity_lookup", name=...),
    tool("fact_search", entity=...),
    tool("fact_search", entity=..., include_superseded=True),
    resource("memory://dossiers/{}"),
    resource("memory://episodes/{}"),
    resource("memory://episodes/{}/1"),
]


def like(owned: str) -> str:
    """Return a text of the same form that stands for nothing anywhere."""
    return owned[:2] + owned[2:].translate(str.maketrans("abcdefghjkmnpqrstvwxyz0123456789", "x" * 32))


async def test_ids_and_names_of_another_scope_are_answered_as_those_of_nobody(db: Path, owned: dict[str, str]) -> None:
    async with in_process(db, scope=SCOPE, allow_writes=True) as talk:
        for what, given in owned.items():
            for ask in ASKED:
                said, of_nobody = str(await ask(talk, given)), str(await ask(talk, like(given)))
                assert said.replace(given, "·") == of_nobody.replace(like(given), "·"), what
                assert SECRET not in said.replace(given, "").lower()
            for name in ("memory_search", "fact_search"):  # by meaning, so that every word finds something of one's own
                assert SECRET not in str((await talk.data(name, query=given))["results"]).lower()
    with TidalMemory(db, scope=OTHER, embedder=HashingEmbedder()) as memory:
        assert memory.get(owned["note"]).text == "The osprey nests on the crane."
        assert len(memory.episodes.list(thread="osprey run")) == 1


async def test_a_cursor_of_another_scope_leads_nowhere(db: Path, owned: dict[str, str]) -> None:
    with TidalMemory(db, scope=OTHER, embedder=HashingEmbedder()) as memory:
        memory.record("My locker is number 10 now.", "Noted.", thread="kiln")
    questions: list[tuple[str, dict[str, Any]]] = [
        ("thread_history", {"thread": "kiln", "limit": 1}),
        ("thread_history", {"limit": 1}),
        ("memory_search", {"query": "kiln", "limit": 1}),
        ("entity_lookup", {"name": "kiln.py", "limit": 1}),
    ]
    async with (
        in_process(db, scope=OTHER) as theirs,
        in_process(db, scope=SCOPE) as ours,
    ):
        cursors = [(await theirs.data(name, **arguments))["next_cursor"] for name, arguments in questions]
        assert sum(cursor is not None for cursor in cursors) >= 3
        for (name, arguments), cursor in zip(questions, cursors, strict=True):
            if cursor is not None:
                assert "cursor belongs to another question" in await ours.refusal(name, **arguments, cursor=cursor)
