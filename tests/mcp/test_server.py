"""The server in a process of its own, asked by the SDK's client over standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.mcp.conftest import SCOPE
from tests.mcp.talking import environment, in_process, over_stdio, text
from tidal_plugins import HashingEmbedder, Policy, TidalMemory
from tidal_plugins.apps.cli.command import Exit
from tidal_plugins.apps.cli.main import app

READING = {"memory_search", "thread_history", "entity_lookup", "fact_search", "memory_get"}


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def served(db: Path, **options: Any):
    return in_process(db, scope=SCOPE, **options)


async def test_a_client_is_told_the_tools_their_arguments_and_the_scope(db: Path) -> None:
    async with served(db) as talk:
        tools = await talk.tools()
        assert tools.keys() == READING
        assert all(tool["annotations"]["readOnlyHint"] for tool in tools.values())
        assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools.values())
        assert all("scope" in tool["outputSchema"]["properties"] for tool in tools.values())
        assert "user/42" in talk.instructions
        assert len(json.dumps(list(tools.values()))) < 25_000


async def test_search_finds_by_meaning_thread_and_time_a_page_at_a_time(db: Path) -> None:
    async with served(db) as talk:
        result = await talk.call("memory_search", query="Who works in Lisbon?", limit=1)
        data = result["structuredContent"]
        [found] = data["results"]
        assert found["summary"] == "My cousin Odile works at the harbour office in Lisbon."
        assert (data["scope"], data["truncated"]) == ("user/42", True)
        lines = text(result).splitlines()
        assert lines[0] == "<tidal-memory>"
        assert lines[2].startswith(f"- [{found['citation']}] ")
        assert lines[-1] == "(scope: user/42)"
        following = await talk.data("memory_search", query="Who works in Lisbon?", limit=1, cursor=data["next_cursor"])
        assert following["results"][0] != found
        kiln = await talk.data("memory_search", query="Who works in Lisbon?", thread="kiln")
        assert {row["thread"] for row in kiln["results"]} == {"kiln"}
        early = await talk.data("memory_search", query="degrees", until="2026-03-02T09:30:00Z", kind="conversation")
        assert {row["at"] for row in early["results"]} == {"2026-03-02T09:00:00Z"}


async def test_a_conversation_is_reconstructed(db: Path) -> None:
    async with served(db) as talk:
        threads = await talk.data("thread_history", since="2026-03-02T00:00:00Z", until="2026-03-03T00:00:00Z")
        assert [row["thread"] for row in threads["results"]] == ["trip", "kiln"]
        turns = await talk.data("thread_history", thread="trip")
        ids = [row["citation"] for row in turns["results"]]
        texts = await talk.data("memory_get", ids=ids)
        assert ["[user]\n" in row["text"] for row in texts["results"]] == [True, True]
        assert "night train" in texts["results"][1]["text"]


async def test_names_and_facts(db: Path) -> None:
    async with served(db) as talk:
        entity = (await talk.data("entity_lookup", name="glaze.py"))["results"][0]
        assert entity["summary"] == "glaze.py depends on recipes.py"
        facts = await talk.data("fact_search", entity=entity["id"])
        assert facts["results"][0]["valid_from"].startswith("2026-03-02")
        facts = await talk.data("fact_search", query="kiln owner", include_superseded=True)
        assert {"kiln owner: Maud", "kiln owner: Ruben"} <= {row["summary"] for row in facts["results"]}


async def test_capsule_dossiers_and_episodes_are_resources(db: Path) -> None:
    async with served(db) as talk:
        uris = [resource["uri"] for resource in await talk.resources()]
        assert uris[:2] == ["memory://capsule", "memory://dossiers/kiln"]
        assert len(uris) == 2 + 4
        for uri in uris:
            content = await talk.read(uri)
            assert content["text"].startswith("<tidal-")
            assert content["_meta"] == {"tidal-plugins/scope": "user/42"}
        assert "1,240 degrees" in (await talk.read("memory://dossiers/kiln"))["text"]
        assert (await talk.read(f"{uris[-1]}/1"))["text"] == content["text"]
        assert {one["uriTemplate"] for one in await talk.templates()} == {
            "memory://dossiers/{topic}",
            "memory://episodes/{id}",
            "memory://episodes/{id}/{page}",
        }


async def test_the_prompt_shows_memories_of_a_topic(db: Path) -> None:
    async with served(db) as talk:
        assert [prompt["name"] for prompt in await talk.prompts()] == ["recall"]
        told = await talk.prompt("recall", topic="Odile")
        assert "harbour office" in told
        assert "user/42" in told


async def test_a_resource_that_there_is_not(db: Path) -> None:
    async with served(db) as talk:
        for uri, kind in (
            ("memory://capsule/x", "InvalidInput"),
            ("memory://episodes/nonesuch", "NotFound"),
            ("memory://dossiers/harpsichord", "NotFound"),
            ("memory://episodes/x/0", "InvalidInput"),
            ("memory://episodes/x/" + "9" * 500, "InvalidInput"),
            ("memory://dossiers/" + "x" * 5_000, "InvalidInput"),
            ("file:///etc/passwd", "InvalidInput"),
        ):
            with pytest.raises(Exception, match=kind) as told:
                await talk.read(uri)
            assert str(db) not in str(told.value)


@pytest.mark.slow
async def test_a_server_in_a_process_of_its_own_answers_the_same(default_db: Path) -> None:
    async with over_stdio(default_db, "--scope", "/".join(SCOPE)) as talk:
        assert (await talk.tools()).keys() == READING
        assert "user/42" in talk.instructions
        found = await talk.data("memory_search", query="Who is employed in the Portuguese capital?", limit=1)
        assert found["results"][0]["summary"] == "My cousin Odile works at the harbour office in Lisbon."
        assert (await talk.read("memory://capsule"))["text"].startswith("<tidal-")


# writes


async def test_without_leave_there_are_no_tools_that_write(db: Path) -> None:
    before = db.read_bytes()
    async with served(db) as talk:
        for name in ("remember", "forget"):
            with pytest.raises(Exception, match="no tool"):
                await talk.call(name, text="x", ids=["x"])
        await talk.data("memory_search", query="Lisbon")
        await talk.read("memory://capsule")
    assert db.read_bytes() == before


async def test_writes_go_through_a_session_under_a_policy(db: Path) -> None:
    async with served(db, allow_writes=True) as talk:
        tools = await talk.tools()
        assert tools.keys() == READING | {"remember", "remember_fact", "relate", "correct", "same_entity", "forget"}
        assert tools["forget"]["annotations"]["destructiveHint"]
        saved = await talk.data("remember", text="The harbour office closes at noon on Fridays.")
        found = await talk.data("memory_search", query="When does the harbour office close?")
        assert found["results"][0]["citation"] == saved["citation"]
        assert (await talk.data("forget", ids=[saved["citation"]]))["removed"] == 1
        assert "NotFound" in await talk.refusal("forget", ids=["nonesuch"])
        assert "left" in await talk.data("remember_fact", subject="user", predicate="lives_in", object="Porto")
        assert "left" in await talk.data("remember_fact", subject="user", predicate="allergic_to", object="walnuts")
        (nuts, *_) = (await talk.data("memory_search", query="What is the user allergic to? Walnuts?"))["results"]
        assert nuts["summary"] == "user is allergic to walnuts"
        assert (await talk.data("forget", ids=[nuts["citation"]]))["removed"] == 1
        assert "left" in await talk.data("relate", subject="Ana", predicate="sister_of", object="user", negated=True)
        assert "predicate" in await talk.refusal("relate", subject="Ana", predicate="???", object="Ben")
    with TidalMemory(db, scope=SCOPE, embedder=HashingEmbedder()) as memory:
        [session] = memory.sessions.list()
        assert (session.agent, session.user, session.is_open) == ("mcp", "42", False)
        audited = [(one.type, one.accepted) for one in memory.sessions.audit(session.id)]
        assert audited[:2] == [("remember", True), ("forget", True)]
        assert [type_ for type_, accepted in audited[2:] if accepted][:3] == ["remember", "remember", "forget"]
        assert memory.graph.relations(predicate="allergic_to") == []
        (home,) = memory.graph.relations(predicate="lives_in")
        assert memory.graph.sentence(home) == "user lives in Porto"
        assert home.threads == (f"session {session.id}",)


async def test_names_that_may_be_one_are_listed_made_one_and_two_again(db: Path) -> None:
    with TidalMemory(db, scope=SCOPE, embedder=HashingEmbedder()) as memory:
        for name in ("Katherine Smith", "Kathrine Smith", "John Smith"):
            memory.graph.relate(name, "knows", "Ana", subject_type="person")
    async with served(db, allow_writes=True) as talk:

        async def said(tool: str, /, **arguments: Any) -> str:
            return text(await talk.call(tool, **arguments))

        assert "Katherine Smith may be: Kathrine Smith." in await said("same_entity", name="Katherine Smith")
        both = {"name": "Katherine Smith", "other": "Kathrine Smith"}
        assert "from now on" in await said("same_entity", **both)
        assert "Kathrine Smith" in await said("entity_lookup", name="Katherine Smith")
        assert "two again" in await said("same_entity", same=False, **both)
        assert "NotFound" in await talk.refusal("same_entity", same=False, **both)


async def test_a_policy_by_name_says_what_may_be_written(db: Path) -> None:
    with TidalMemory(db, scope=SCOPE, embedder=HashingEmbedder()) as memory:
        memory.sessions.policies["notes"] = Policy(allow={"remember"}, max_signals=1)
    async with served(db, allow_writes=True, policy="notes") as talk:
        assert (await talk.tools()).keys() == READING | {
            "remember",
            "remember_fact",
            "relate",
            "correct",
            "same_entity",
        }
        assert (await talk.data("remember", text="The kiln needs a new cone."))["left"] == 0
        told = await talk.refusal("remember", text="The shed needs a new roof.")
        assert told.startswith("Not done. PolicyViolation: ")


async def test_what_turned_out_otherwise_is_corrected_and_a_tag_is_forgotten(db: Path) -> None:
    async with served(db, allow_writes=True) as talk:
        saved = await talk.data("remember", text="The harbour office closes at noon.", tags=["hours"])
        other = await talk.data("remember", text="The harbour office opens at eight.", tags=["hours"])
        await talk.data("correct", id=saved["citation"], text="The harbour office closes at three.")
        found = await talk.data("memory_search", query="When does the harbour office close?")
        told = [one["summary"] for one in found["results"]]
        assert "The harbour office closes at three." in told
        assert "The harbour office closes at noon." not in told
        assert "NotFound" in await talk.refusal("correct", id="ep:" + "0" * 13, text="x")
        assert (await talk.data("forget", tag="hours"))["removed"] >= 2
        assert "NotFound" in await talk.refusal("forget", tag="hours")
        assert "ids or a tag" in await talk.refusal("forget")
        assert "ids or a tag" in await talk.refusal("forget", ids=[other["citation"]], tag="hours")


async def test_null_and_numbers_as_words_are_what_a_model_means(db: Path) -> None:
    async with served(db) as talk:
        plain = await talk.data("memory_search", query="kiln")
        nulls = {"limit": None, "kind": None, "thread": None, "since": None, "include_archived": None, "cursor": None}
        assert await talk.data("memory_search", query="kiln", **nulls) == plain
        two = await talk.data("memory_search", query="kiln", limit=2)
        assert await talk.data("memory_search", query="kiln", limit="2", include_archived="false") == two
        assert await talk.data("memory_search", query="kiln", limit=2.0) == two
        assert "results" in await talk.data("fact_search", query="kiln", depth="2", include_superseded="true")
        assert "results" in await talk.data("thread_history", thread=None, newest_first="True", limit="3")


# hostile input


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {}),
    ("memory_search", {"query": 7}),
    ("memory_search", {"query": ["a"]}),
    ("memory_search", {"query": "   "}),
    ("memory_search", {"query": "x" * 1_000_000}),
    ("memory_search", {"query": "x", "limit": True}),
    ("memory_search", {"query": "x", "limit": "five"}),
    ("memory_search", {"query": "x", "limit": "5.5"}),
    ("memory_search", {"query": None}),
    ("memory_search", {"query": "x", "limit": 10**30}),
    ("memory_search", {"query": "x", "scope": "user/7"}),
    ("memory_search", {"query": "x", "y" * 100_000: 1}),
    ("memory_search", {"query": "x", **{f"k{number}": number for number in range(1_000)}}),
    ("memory_search", {"query": "x", "since": 5}),
    ("memory_search", {"query": "x", "since": "9999-12-31T23:59:59-23:59"}),
    ("memory_search", {"query": "x", "since": "2026-03-02", "until": "2026-03-01"}),
    ("thread_history", {"since": "2026-03-02T10:00:00Z", "until": "2026-03-02T10:00:00+02:00"}),
    ("memory_search", {"query": "x", "kind": "secret"}),
    ("memory_search", {"query": "x", "cursor": "WzEsMl0="}),
    ("thread_history", {"thread": {"a": {"b": [1] * 1_000}}}),
    ("memory_get", {"ids": ["x"] * 5_000}),
]


async def test_arguments_that_do_not_fit_are_refused_in_a_sentence(db: Path) -> None:
    async with served(db) as talk:
        for name, arguments in WRONG:
            told = await talk.refusal(name, **arguments)
            assert told.startswith("Not done. Invalid")
            assert len(told) < 1_100
            assert not set(told) & {"\n", "\x1b"}
            assert str(db.parent) not in told
            assert "Traceback" not in told
        assert (await talk.data("memory_search", query="Lisbon"))["results"]


@pytest.mark.slow
def test_the_protocol_alone_is_on_standard_output_and_a_client_that_goes_ends_the_server(default_db: Path) -> None:
    """A client that goes away in the middle of a question leaves no process behind."""
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ask = {"name": "memory_search", "arguments": {"query": "Lisbon"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": ask}
    said = "\n".join(["{not json", *map(json.dumps, (HELLO, ready, call))])
    command = [sys.executable, "-m", "tidal_plugins", "mcp", "--db", str(default_db), "--scope", "user/42"]
    done = subprocess.run(command, input=said + "\n", capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["jsonrpc"] for line in told} == {"2.0"}
    assert next(line for line in told if line.get("id") == 1)["result"]["serverInfo"]["name"] == "tidal-memory"


# the command


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--db", "nowhere/agent.db"], "nowhere"),
        (["--db", "{db}", "--policy", "notes"], "allow_writes"),
        (["--db", "{db}", "--allow-writes", "--policy", "nonesuch"], "no policy is called"),
        (["--db", "{db}", "--scope", "a//b"], "scope"),
        (["--db", "{db}", "--http", "--host", "0.0.0.0"], "token"),
        (["--db", "{db}", "--http", "--host", "0.0.0.0", "--token", "x" * 20], "hosts"),
        (["--db", "{db}", "--http", "--token", "short"], "at least 16"),
        (["--db", "{db}", "--http", "--port", "70000"], "port"),
        (
            ["--db", "{db}", "--http", "--host", "no.such.host.invalid", "--token", "x" * 20, "--allow-host", "a"],
            "cannot",
        ),
        ([], "--db"),
    ],
)
def test_a_mistake_is_told_in_a_line(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    for name in ("TIDAL_DB", "TIDAL_SCOPE", "TIDAL_MCP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["mcp", *(option.replace("{db}", str(db)) for option in options)])
    assert done.exit_code in {Exit.REFUSED, Exit.USAGE, Exit.NOTHING}
    assert isinstance(done.exception, SystemExit)
    assert told in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_without_the_sdk_the_way_to_it_is_told(default_db: Path, tmp_path: Path) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ModuleNotFoundError('No module named mcp', name='mcp')")
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{env['PYTHONPATH']}"
    command = [sys.executable, "-m", "tidal_plugins", "mcp", "--db", str(default_db)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, "tidal-plugins[mcp]" in done.stderr) == (Exit.REFUSED, True)
    assert "Traceback" not in done.stderr
