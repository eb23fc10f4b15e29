"""Start the MCP server: ``python -m tidal_mcp --db agent.db --scope user/42``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tidal_mcp.serving import serve
from tidal_plugins import TidalMemory
from tidal_plugins.errors import TidalError

FAILED = 2
"""The exit code of a program that was called wrongly."""

INTERRUPTED = 130
"""The exit code of a program that the user stopped."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    words = argparse.ArgumentParser(
        "python -m tidal_mcp",
        description="Serve a memory to clients of the Model Context Protocol, over standard input and output.",
        epilog="TIDAL_DB, TIDAL_SCOPE and TIDAL_MCP_TOKEN stand for the options that are not given.",
    )
    add = words.add_argument
    add(
        "--db",
        default=os.environ.get("TIDAL_DB"),
        help="the file of the memory; it must be there, unless --allow-writes makes it",
    )
    add(
        "--scope",
        default=os.environ.get("TIDAL_SCOPE", "default"),
        help="the owner of the memories, its names separated by slashes, such as user/42 (default: default)",
    )
    add("--allow-writes", action="store_true", help="have the tools remember and forget, too")
    add("--policy", help="what these may do: the name of a policy in the memory (default: both, 200 times)")
    add("--http", action="store_true", help="serve streamable HTTP at /mcp instead")
    add("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    add("--port", type=int, default=8765, help="the port (default: 8765; 0 for any)")
    add("--token", default=os.environ.get("TIDAL_MCP_TOKEN"), help="the bearer token that clients must send")
    add("--allow-host", action="append", default=[], help="a name by which clients call the server (may repeat)")
    add("--allow-origin", action="append", default=[], help="the origin of web pages that may call it (may repeat)")
    return words


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server with the arguments of the command line, and return the exit code. A mistake is told in a line."""
    words = parser()
    given = words.parse_args(arguments)
    if not given.db:
        words.error("give the file of the memory: --db agent.db (or TIDAL_DB)")
    scope = tuple(given.scope.split("/"))
    if not all(scope):
        words.error(f"--scope is names separated by slashes, such as user/42, got {given.scope!r}")
    try:
        with TidalMemory(given.db, scope=scope, read_only=not given.allow_writes) as memory:
            serve(
                memory,
                http=given.http,
                host=given.host,
                port=given.port,
                token=given.token,
                hosts=given.allow_host,
                origins=given.allow_origin,
                allow_writes=given.allow_writes,
                policy=given.policy,
            )
    except (TidalError, ImportError) as error:
        words.exit(FAILED, f"{words.prog}: {error}\n")
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
