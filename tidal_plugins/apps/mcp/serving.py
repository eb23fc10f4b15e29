"""Serve: one memory over standard input and output, or over HTTP, until the client goes or the process is told to."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tidal_plugins import InvalidInput, Policy, TidalMemory
from tidal_plugins.apps.mcp.access import Access, listen
from tidal_plugins.turns import checked_memory

MISSING = "the MCP server needs the package mcp, which is not installed: pip install 'tidal-plugins[mcp]'"


def serve(
    memory: TidalMemory,
    *,
    http: bool = False,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    allow_writes: bool = False,
    policy: Policy | str | None = None,
) -> None:
    """Serve a memory, in its scope, to clients of the Model Context Protocol, until they go or a signal ends it.

    Nothing of the memory is loaded before the first question. The memory stays open.

    Args:
        memory: an open memory. What it was opened with (scope, key, embedder, ``read_only``) holds for all clients.
        http: whether to serve streamable HTTP at ``/mcp`` instead of standard input and output.
        host: the address to listen at. Any but loopback's needs ``token`` and ``hosts``.
        port: the port; 0 for any that is free. The address is printed to standard error.
        token: what clients must send as ``Authorization: Bearer …``, at least 16 characters.
        hosts: the names by which clients call the server, such as ``notes.example.org``; a port is part of a name.
        origins: the origins of web pages that may call it, such as ``https://app.example.org``.
        allow_writes: whether there are the tools ``remember`` and ``forget``.
        policy: what these may do, a policy or the name of one. Default: both, 200 times in one run.

    Raises ``InvalidInput`` for arguments that do not fit, and ``ImportError`` if the package ``mcp`` is missing.
    """
    if policy is not None and not allow_writes:
        raise InvalidInput("policy= says what the tools that write may do: allow_writes=True, too")
    try:
        import anyio

        from tidal_plugins.apps.mcp.sdk import build, talk
        from tidal_plugins.apps.mcp.server import NAME, MemoryServer, Writes
    except ModuleNotFoundError as error:
        raise ImportError(MISSING) from error
    access = Access(host, port, token, tuple(hosts), tuple(origins)) if http else None
    writes = Writes(checked_memory(memory), policy) if allow_writes else None
    answers = MemoryServer(checked_memory(memory), writes)
    server = build(NAME, answers.version, answers.instructions, answers.handlers)
    try:
        if access is None:
            anyio.run(talk, server)
            return
        from tidal_plugins.apps.mcp import http as web

        with listen(access) as bound:
            address, number = bound.getsockname()[:2]
            at = f"[{address}]" if ":" in address else address
            print(f"Serving the scope {answers.scope} at http://{at}:{number}{web.PATH}", file=sys.stderr, flush=True)
            anyio.run(web.run, web.application(server, access), bound)
    finally:
        if writes:
            writes.close()
