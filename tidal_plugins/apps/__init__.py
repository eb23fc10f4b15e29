"""Applications over the library: command line, MCP server, hooks, inspector, readers of histories, graph engines."""
