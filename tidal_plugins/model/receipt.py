"""Receipt: what a forgetting removed, and what it had to leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of ``forget`` and ``erase_scope``. It is false if nothing went, or would go.

    Attributes:
        count: how many entries and episodes went; a fact that lost a value counts as one.
        shelves: how many things went from each place: entries by their kind (``conversation``, ``episode``, ``kb`` …),
            or as ``damaged`` if their rows could not be read, and texts that memory had made of them by their
            collection (``dossiers``, ``capsules`` …), which are made anew from the rest when they are next needed.
        ids: the ids of the entries, episodes and facts, sorted; none for ``erase_scope``.
        blanked: the ids of the episodes that stay and lost a message.
        remains: why bytes of it are still in the file, or where the text still stands, a sentence each. Empty if
            nothing is left.
        links: how many links ended at what went: associations, supersessions, and the words by which facts are found.
            Not counted by ``erase_scope``.
        dry_run: whether it only says what would go.
    """

    count: int = 0
    shelves: Mapping[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    blanked: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    links: int = 0
    dry_run: bool = False

    @property
    def complete(self) -> bool:
        """Return whether nothing of it is left, in the file or elsewhere in the scope."""
        return not self.remains

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        went = ", ".join(f"{count:,} {shelf}" for shelf, count in sorted(self.shelves.items()))
        done = "would go" if self.dry_run else "removed"
        return "; ".join([f"{self.count:,} {done}" + (f" ({went})" if went else ""), *self.remains])


@dataclass(frozen=True, slots=True)
class Erasure:
    """A forgetting as it is noted, with counts and no text or id of what went.

    Attributes:
        at: when it was.
        count: how many entries and episodes went, as in the receipt.
        shelves: how many things went from each place, as in the receipt.
        links: how many links ended at what went.
        blanked: how many episodes stayed and lost a message.
    """

    at: datetime
    count: int
    shelves: Mapping[str, int] = field(default_factory=dict)
    links: int = 0
    blanked: int = 0
