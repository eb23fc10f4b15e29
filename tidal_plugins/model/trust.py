"""Trust: how far an entry is trusted goes by who wrote it, never by what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from tidal_plugins.errors import InvalidInput
from tidal_plugins.shown import shown

Channel = Literal["user", "agent", "tool", "document"]
"""Who writes: a person who uses the agent, the agent, a tool, or a text from elsewhere."""
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)

TRUST: Final[Mapping[Channel, float]] = {"user": 1.0, "agent": 0.8, "document": 0.7, "tool": 0.5}
"""The trust of each channel. Only the order counts: an agent repeats what it read, a document was at least chosen to be
remembered, and a tool returns whatever others wrote. What memory makes of entries has the lowest trust of these, and
what a peer tells at most the trust of the peer."""

OWN: Final = TRUST["user"]
"""The trust from which on words may become a rule or a priority."""


def check_channel(channel: object) -> Channel:
    """Return ``channel`` as it is, or raise ``InvalidInput`` if there is no such channel."""
    found = next((known for known in CHANNELS if known == channel), None)
    if found is None:
        raise InvalidInput(f"a channel is one of {', '.join(CHANNELS)}, got {shown(channel)}")
    return found
