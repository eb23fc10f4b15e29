"""Views, a module for each, in the order of the menu."""

from __future__ import annotations

from tidal_inspect.page import View
from tidal_inspect.views import graph, hands, health, knowledge, playground, timeline

VIEWS: tuple[View, ...] = (
    playground.VIEW,
    timeline.VIEW,
    graph.VIEW,
    knowledge.VIEW,
    health.VIEW,
    hands.VIEW,
)
