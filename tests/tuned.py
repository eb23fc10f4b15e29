"""Settings of groups of values, whether each is a setting or a weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidal_plugins import Settings
from tidal_plugins.weights import weights


def tuned(**groups: Mapping[str, Any]) -> Settings:
    """Return settings with these values; weights of a group become ``tuning``."""
    named = {f"{group}.{name}": value for group, values in groups.items() for name, value in values.items()}
    tuning = {name: value for name, value in named.items() if name in weights()}
    kept = {
        group: {name: value for name, value in values.items() if f"{group}.{name}" not in tuning}
        for group, values in groups.items()
    }
    return Settings(**{group: values for group, values in kept.items() if values}, tuning=tuning)  # type: ignore[arg-type]
