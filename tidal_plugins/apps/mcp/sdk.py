"""The MCP SDK, of both its lines: 1.24 and later, and 2.

The two lines name classes and fields differently, but speak the same protocol. So requests are answered with plain data
as it goes over the wire, and only this module makes the SDK's objects of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
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
