"""Alignment: the longest common subsequence of two sequences, the latest one where several are as long."""

from __future__ import annotations

from collections.abc import Callable


def aligned(left: int, right: int, same: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return the pairs of positions of two sequences of these lengths that are the same, in order, as many as can be.

    What is alike at the ends is paired first, so that a history that only grew takes as many comparisons as it has
    turns.
    """
    end: list[tuple[int, int]] = []
    while left and right and same(left - 1, right - 1):
        left, right = left - 1, right - 1
        end.append((left, right))
    start = 0
    while start < min(left, right) and same(start, start):
        start += 1
    head = [(place, place) for place in range(start)]
    return [*head, *_longest(range(start, left), range(start, right), same), *reversed(end)]


def _longest(left: range, right: range, same: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return the pairs of a longest common subsequence by the usual table."""
    if not left or not right:
        return []
    lengths = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike = [[same(one, other) for other in right] for one in left]
    for i, row in enumerate(alike):
        for j, equal in enumerate(row):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if equal else max(lengths[i][j + 1], lengths[i + 1][j])
    pairs, i, j = [], len(left), len(right)
    while i and j:
        if alike[i - 1][j - 1]:
            i, j = i - 1, j - 1
            pairs.append((left[i], right[j]))
        elif lengths[i - 1][j] >= lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return pairs[::-1]
