"""Imported: what ``record_many`` stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of ``record_many``: counts, whatever the length of what was recorded.

    Attributes:
        exchanges: how many there were.
        new: how many episodes were made of them.
        grown: how many times an episode that was stored before gained messages. The rest stood already, or was
            forgotten on request.
    """

    exchanges: int = 0
    new: int = 0
    grown: int = 0

    def __add__(self, other: Imported) -> Imported:
        return Imported(self.exchanges + other.exchanges, self.new + other.new, self.grown + other.grown)

    def __str__(self) -> str:
        return f"{self.exchanges:,} exchanges: {self.new:,} new, {self.grown:,} grown"
