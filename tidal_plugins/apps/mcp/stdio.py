"""Standard input and output as the way to one client."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.stdio import stdio_server


async def talk(server: Any) -> None:
    """Serve the client at the other end of standard input and output until it closes its end."""
    try:
        async with _wire() as output, stdio_server(stdout=output) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* (anyio.ClosedResourceError, anyio.BrokenResourceError, BrokenPipeError):
        pass  # the client went before it had its answer


@asynccontextmanager
async def _wire() -> AsyncIterator[anyio.AsyncFile[str]]:
    """Take standard output for the protocol alone: whatever else prints goes to standard error meanwhile."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(wire), "w", encoding="utf-8", newline="\n") as output:
            yield anyio.wrap_file(output)
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)
