"""List words of which only one can be true of a thing at a time."""

from __future__ import annotations

from tidal_plugins.english.calendar import MONTHS, WEEKDAYS

_PAIRS = (
    "up/down open/closed open/shut on/off true/false yes/no enabled/disabled active/inactive online/offline alive/dead "
    "available/unavailable running/stopped working/broken valid/invalid locked/unlocked present/absent public/private "
    "full/empty connected/disconnected allowed/forbidden healthy/unhealthy safe/unsafe passed/failed passing/failing "
    "started/stopped reachable/unreachable possible/impossible reserved/free occupied/free busy/free married/single "
    "married/divorced complete/incomplete finished/unfinished paid/unpaid mandatory/optional approved/rejected "
    "accepted/rejected up/degraded healthy/degraded online/down alive/down working/down running/down"
)
_OPPOSED = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())

STATES = frozenset[str]().union(*_OPPOSED)
"""The states that have an opposite."""
TRUE = frozenset("true yes on enabled active".split())
FALSE = frozenset("false no off disabled inactive".split())
COLOURS = frozenset("red orange yellow green blue purple violet pink brown black white grey gray".split())
EXCLUSIVE = (
    frozenset(WEEKDAYS),
    frozenset(MONTHS),
    COLOURS,
    frozenset("low medium high critical".split()),
)
"""Sets of values of which a thing has one at a time."""


def are_opposed(a: str, b: str) -> bool:
    """Return whether two lower-case words name states that exclude each other."""
    return frozenset((a, b)) in _OPPOSED
