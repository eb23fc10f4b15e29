"""Loss ledger: the account of the messages that a rebuilt context leaves out [SIYA §2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload


@dataclass(frozen=True, slots=True)
class Loss:
    """A message that the model no longer sees.

    Attributes:
        position: its place in the history.
        role: its role.
        episode: the episode in which it stands verbatim.
        index: its place in that episode.
        message: its id, if it has one.
        stated: the statements of the context that tell of it.
    """

    position: int
    role: str
    episode: str
    index: int
    message: str | None = None
    stated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LossLedger(Sequence[Loss]):
    """Every message of the history that a rebuilt context leaves out."""

    losses: tuple[Loss, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Loss: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Loss]: ...

    def __getitem__(self, index: int | slice) -> Loss | Sequence[Loss]:
        return self.losses[index]

    def __len__(self) -> int:
        return len(self.losses)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.losses)

    @property
    def episodes(self) -> tuple[str, ...]:
        """Return the episodes that hold the omitted messages, in order."""
        return tuple(dict.fromkeys(loss.episode for loss in self.losses))

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {
                "position": loss.position,
                "role": loss.role,
                "episode": loss.episode,
                "index": loss.index,
                "message": loss.message,
                "stated": list(loss.stated),
            }
            for loss in self.losses
        ]
