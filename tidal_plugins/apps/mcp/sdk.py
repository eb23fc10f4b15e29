"""The MCP SDK, of both its lines: 1.24 and later, and 2.

The two lines name classes and fields differently, but speak the same protocol. So requests are answered with plain data
as it goes over the wire, and only this module makes the SDK's objects of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared import exceptions

Wire = dict[str, Any]
"""A result as it goes over the wire."""

Handler = Callable[[Any], Awaitable[Wire]]
"""Answers a request with these parameters."""

METHODS: Mapping[str, tuple[str, str, str]] = {
    "tools/list": ("ListToolsRequest", "PaginatedRequestParams", "ListToolsResult"),
    "tools/call": ("CallToolRequest", "CallToolRequestParams", "CallToolResult"),
    "resources/list": ("ListResourcesRequest", "PaginatedRequestParams", "ListResourcesResult"),
    "resources/templates/list": (
        "ListResourceTemplatesRequest",
        "PaginatedRequestParams",
        "ListResourceTemplatesResult",
    ),
    "resources/read": ("ReadResourceRequest", "ReadResourceRequestParams", "ReadResourceResult"),
    "prompts/list": ("ListPromptsRequest", "PaginatedRequestParams", "ListPromptsResult"),
    "prompts/get": ("GetPromptRequest", "GetPromptRequestParams", "GetPromptResult"),
}
"""The types of each method: of its request (1.x), of its parameters (2.x), and of its result."""

_WRAPPED = "ServerResult"
"""What results are wrapped in (1.x)."""

INVALID_PARAMS, INTERNAL_ERROR, RESOURCE_NOT_FOUND = -32602, -32603, -32002
"""Codes of errors, as the protocol has them."""


def build(name: str, version: str, instructions: str, handlers: Mapping[str, Handler]) -> Any:
    """Return a server of whichever line is installed that answers methods with these handlers."""
    server: Any = Server(name, version=version, instructions=instructions)
    for method, handler in handlers.items():
        request, params, result = (getattr(types, kind) for kind in METHODS[method])
        if hasattr(server, "request_handlers"):
            server.request_handlers[request] = _first_line(handler, result)
        else:
            server.add_request_handler(method, params, _second_line(handler, result))
    return server


def refused(code: int, message: str) -> Exception:
    """Return the error that makes the SDK answer a request with a code and a message."""
    if hasattr(exceptions, "MCPError"):
        error: Exception = exceptions.MCPError(code, message)
        return error
    return exceptions.McpError(types.ErrorData(code=code, message=message))


def _first_line(handler: Handler, result: Any) -> Callable[[Any], Awaitable[Any]]:
    async def handle(request: Any) -> Any:
        return getattr(types, _WRAPPED)(result.model_validate(await handler(request.params if request else None)))

    return handle


def _second_line(handler: Handler, result: Any) -> Callable[[Any, Any], Awaitable[Any]]:
    async def handle(context: Any, params: Any) -> Any:
        return result.model_validate(await handler(params))

    return handle


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
