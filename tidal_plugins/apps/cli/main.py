"""The application: every command of ``tidal``, in the order of its help."""

from __future__ import annotations

# isort: off
from tidal_plugins.apps.cli import keeping, ingest, recalling, presence, serving  # noqa: F401
# isort: on

from tidal_plugins.apps.cli.command import app

__all__ = ["app"]
