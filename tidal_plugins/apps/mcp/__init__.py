"""MCP server: an agent's memory for every client of the Model Context Protocol. ``tidal mcp`` starts it."""

from __future__ import annotations

from tidal_plugins.apps.mcp.serving import serve

__all__ = ["serve"]
