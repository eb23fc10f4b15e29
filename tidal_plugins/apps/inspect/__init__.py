"""Inspector: a local page that shows what a memory holds and why it recalled that. ``tidal inspect`` starts it."""

from __future__ import annotations

from tidal_plugins.apps.inspect.serving import serve

__all__ = ["serve"]
