"""Receipt: what a forgetting removed, and what it had to leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of ``forget`` and ``erase_scope``. It is false if nothing went.

    Attributes:
        count: how many entries and episodes went; a fact that lost a value counts as one.
        shelves: how many things went from each place: entries by their kind (``conversation``, ``episode``, ``kb`` …),
            or as ``damaged`` if their rows could not be read, and texts that memory had made of them by their
            collection (``dossiers``, ``capsules`` …), which are made anew from the rest when they are next needed.
        ids: the ids of the entries, episodes and facts, sorted; none for ``erase_scope``.
        blanked: the ids of the episodes that stay and lost a message.
        remains: why bytes of it are still in the file, or where the text still stands, a sentence each. Empty if
            nothing is left.
    """

    count: int = 0
    shelves: Mapping[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    blanked: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether nothing of it is left, in the file or elsewhere in the scope."""
        return not self.remains

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        went = ", ".join(f"{count:,} {shelf}" for shelf, count in sorted(self.shelves.items()))
        return "; ".join([f"{self.count:,} removed" + (f" ({went})" if went else ""), *self.remains])
