"""MCP server: an agent's memory for every client of the Model Context Protocol. ``python -m tidal_mcp`` starts it."""

from __future__ import annotations

from tidal_mcp.serving import serve

__all__ = ["serve"]
