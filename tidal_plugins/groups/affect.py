"""The mood of a scope [Tidal §3]."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidal_plugins.aio import in_thread
from tidal_plugins.model.affect import Affect
from tidal_plugins.model.entry import Scope
from tidal_plugins.services import Services


@dataclass(frozen=True, slots=True)
class AffectGroup:
    """The affect state of one scope."""

    _services: Services = field(repr=False)
    _scope: Scope

    def state(self) -> Affect:
        """Return the current affect state, relaxed to now."""
        return self._services.affect.current(self._scope, self._services.now())

    astate = in_thread(state)
