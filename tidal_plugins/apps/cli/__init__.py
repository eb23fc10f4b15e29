"""The command line ``tidal``: a memory for people and programs that write no Python."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what is missing to run it.

    The hook of a coding agent needs no further packages and starts without them, since somebody waits for it.
    """
    if sys.argv[1:2] == ["hook"]:
        from tidal_plugins.apps.hooks import end_with

        end_with(sys.argv[2:])
    try:
        from tidal_plugins.apps.cli.main import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tidal"):
            raise
        sys.exit(
            f"tidal: the command line needs {error.name}, which is not installed: pip install 'tidal-plugins[cli]'"
        )
    app(prog_name="tidal")
