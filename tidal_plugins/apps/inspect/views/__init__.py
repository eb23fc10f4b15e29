"""Views, a module for each, in the order of the menu."""

from __future__ import annotations

from tidal_plugins.apps.inspect.page import View
from tidal_plugins.apps.inspect.views import graph, hands, health, knowledge, playground, timeline

VIEWS: tuple[View, ...] = (
    playground.VIEW,
    timeline.VIEW,
    graph.VIEW,
    knowledge.VIEW,
    health.VIEW,
    hands.VIEW,
)
