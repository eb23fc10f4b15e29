"""Words for states of which only one can hold at a time."""

_PAIRS = (
    "up/down open/closed open/shut on/off true/false yes/no enabled/disabled active/inactive online/offline alive/dead "
    "available/unavailable running/stopped working/broken valid/invalid locked/unlocked present/absent public/private "
    "full/empty connected/disconnected allowed/forbidden healthy/unhealthy safe/unsafe passed/failed passing/failing "
    "started/stopped reachable/unreachable possible/impossible reserved/free occupied/free busy/free married/single "
    "married/divorced complete/incomplete finished/unfinished paid/unpaid mandatory/optional approved/rejected "
    "accepted/rejected online/down alive/down working/down running/down"
)
_OPPOSED = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())

STATES = frozenset[str]().union(*_OPPOSED)


def are_opposed(a: str, b: str) -> bool:
    """Whether two words, in lower case, name states that exclude each other."""
    return frozenset((a, b)) in _OPPOSED
