"""Clients of the SDK, of whichever line is installed, that talk to a real server in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    from mcp import Client
except ImportError:
    Client = None
    from mcp import ClientSession
    from mcp.shared.memory import create_client_server_memory_streams

from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.apps.mcp.sdk import build
from tidal_plugins.apps.mcp.server import MemoryServer, Writes

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "jetty-lantern-otter-9"
SECOND_LINE = Client is not None


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a server: this one, with the packages of this checkout."""
    paths = [str(ROOT), str(ROOT / "adapters"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1", **more}


class Talk:
    """A client that is connected. All results are as they go over the wire."""

    def __init__(self, client: Any, instructions: str | None) -> None:
        self.client = client
        self.instructions = instructions

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return _wire(await self.client.call_tool(name, arguments))

    async def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the structured part of an answer that is no error."""
        result = await self.call(name, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    async def refusal(self, name: str, /, **arguments: Any) -> str:
        """Return the text of an answer that is an error."""
        result = await self.call(name, **arguments)
        assert result["isError"], result
        return text(result)

    async def tools(self) -> dict[str, dict[str, Any]]:
        return {tool["name"]: tool for tool in _wire(await self.client.list_tools())["tools"]}

    async def resources(self) -> list[dict[str, Any]]:
        return _wire(await self.client.list_resources())["resources"]

    async def templates(self) -> list[dict[str, Any]]:
        return _wire(await self.client.list_resource_templates())["resourceTemplates"]

    async def read(self, uri: str) -> dict[str, Any]:
        [content] = _wire(await self.client.read_resource(uri))["contents"]
        return content

    async def prompts(self) -> list[dict[str, Any]]:
        return _wire(await self.client.list_prompts())["prompts"]

    async def prompt(self, name: str, **arguments: str) -> str:
        [message] = _wire(await self.client.get_prompt(name, arguments))["messages"]
        return message["content"]["text"]


def text(result: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in result["content"])


def _wire(result: Any) -> dict[str, Any]:
    return result.model_dump(by_alias=True, mode="json")


@asynccontextmanager
async def over_stdio(db: Path, *options: str) -> AsyncIterator[Talk]:
    """Start a server as a client's configuration does, and connect to it."""
    async with over_process("-m", "tidal_plugins", "mcp", "--db", str(db), *options) as talk:
        yield talk


@asynccontextmanager
async def in_process(
    db: Path, *, scope: Sequence[str] = ("default",), allow_writes: bool = False, policy: str | None = None
) -> AsyncIterator[Talk]:
    """Serve a memory in this process, as ``tidal mcp`` does with these options, and connect to it."""
    with TidalMemory(db, scope=tuple(scope), read_only=not allow_writes, embedder=HashingEmbedder()) as memory:
        writes = Writes(memory, policy) if allow_writes else None
        answers = MemoryServer(memory, writes)
        server = build("tidal-memory", answers.version, answers.instructions, answers.handlers)
        try:
            if SECOND_LINE:
                async with Client(server) as client:
                    yield Talk(client, client.instructions)
            else:
                async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as tasks:
                    tasks.start_soon(server.run, *theirs, server.create_initialization_options())
                    async with ClientSession(*ours) as session:
                        yield Talk(session, (await session.initialize()).instructions)
                    tasks.cancel_scope.cancel()
        finally:
            if writes:
                writes.close()


@asynccontextmanager
async def over_process(*arguments: str) -> AsyncIterator[Talk]:
    """Start a Python process that serves over standard input and output, and connect to it."""
    server = StdioServerParameters(command=sys.executable, args=list(arguments), env=environment(), cwd=str(ROOT))
    async with _connected(stdio_client(server)) as talk:
        yield talk


@asynccontextmanager
async def over_http(url: str, token: str | None = None) -> AsyncIterator[Talk]:
    """Connect to a server at a URL."""
    async with AsyncExitStack() as stack:
        options = {}
        if token:
            if SECOND_LINE:
                import httpx2 as web
            else:
                import httpx as web
            client = web.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
            options["http_client"] = await stack.enter_async_context(client)
        yield await stack.enter_async_context(_connected(streamable_http_client(url, **options)))


@asynccontextmanager
async def _connected(transport: Any) -> AsyncIterator[Talk]:
    if SECOND_LINE:
        async with Client(transport) as client:
            yield Talk(client, client.instructions)
    else:
        async with transport as streams, ClientSession(*streams[:2]) as session:
            yield Talk(session, (await session.initialize()).instructions)


@contextmanager
def http_server(db: Path, *options: str, **environ: str) -> Iterator[str]:
    """Run a server over HTTP on a free port, and yield its URL."""
    command = [sys.executable, "-m", "tidal_plugins", "mcp", "--db", str(db), "--http", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(**environ)) as server:
        assert server.stderr
        try:
            told = server.stderr.readline()
            assert " at http://" in told, told + server.stderr.read()
            yield told.rstrip().rpartition(" ")[2]
        finally:
            server.terminate()
            server.stderr.read()
