"""Counts over sliding windows, in constant time and space: a ring of buckets for each window [tidalDB].

Times are in microseconds since 1970. A window of ``n`` buckets ends with the one that the present is in, so that what
lies up to one bucket (a second, a minute, an hour, a day) within its far end may be out of it already.
"""

from collections.abc import Mapping

SECOND = 1_000_000
WINDOWS: Mapping[str, tuple[int, int]] = {
    "minute": (SECOND, 60),
    "hour": (60 * SECOND, 60),
    "day": (3_600 * SECOND, 24),
    "week": (86_400 * SECOND, 7),
}
"""Length of a bucket, and how many of them a window has."""

Buckets = dict[str, dict[str, int]]
"""For each window the counts by the number of the bucket, which JSON makes a text. At most 151 in all."""


def counted(buckets: Mapping[str, Mapping[str, int]], at: int, now: int) -> Buckets:
    """Return the buckets with one more event at ``at``, and without those that have left their window by ``now``."""
    found: Buckets = {}
    for name, (length, size) in WINDOWS.items():
        last, own = now // length, at // length
        kept = {key: count for key, count in buckets.get(name, {}).items() if int(key) > last - size}
        if own > last - size:
            kept[str(own)] = kept.get(str(own), 0) + 1
        found[name] = kept
    return found


def totals(buckets: Mapping[str, Mapping[str, int]], now: int) -> dict[str, int]:
    """Return the count of each window that ends now."""
    return {
        name: sum(count for key, count in buckets.get(name, {}).items() if int(key) > now // length - size)
        for name, (length, size) in WINDOWS.items()
    }
