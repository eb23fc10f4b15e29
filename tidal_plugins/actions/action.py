"""Actions: what a call of a tool does to files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Read:
    """The result shows lines of a file: all of them, or those from ``start``, counted from 1, to ``end``.

    ``limit`` is the largest number of lines that were asked for. ``numbered`` says whether the lines have numbers;
    ``None`` leaves it to the result. ``together`` are the files that the result shows one after another.
    """

    path: str
    start: int | None = None
    end: int | None = None
    limit: int | None = None
    numbered: bool | None = None
    together: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """A file has this content now, or ``appends`` it; ``None`` for a content that only the disk can tell."""

    path: str
    text: str | None
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """``old`` is replaced by ``new``, once or ``every`` time; it begins with the ``line`` that is told, if one is.

    ``None`` stands for an old text that the call does not tell, so that only the result or the disk shows the outcome.
    """

    path: str
    old: str | None
    new: str
    every: bool = False
    line: int | None = None

    def overlaps(self, other: Edit) -> bool:
        """Return whether the text of one edit has to do with that of the other, so that their order matters."""
        pairs = ((self.old, other), (other.old, self))
        return any(
            old is None or old in text or text in old for old, edit in pairs for text in (edit.old, edit.new) if text
        )


@dataclass(frozen=True, slots=True)
class Delete:
    """A file, or a folder with everything in it, is gone. ``*`` and ``?`` stand for what they do in a shell."""

    path: str


@dataclass(frozen=True, slots=True)
class Move:
    """A file or folder is at ``to`` now, or below it if that is a folder; it stays where it was too if ``copied``."""

    path: str
    to: str
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """A file, all in a folder, or every file (``""``) may have changed, and why."""

    path: str
    reason: str


Change = Write | Edit | Delete | Move
Action = Read | Change | Doubt


def reached(action: Action) -> tuple[str, ...]:
    """Return the paths that an action names."""
    return (action.path, action.to) if isinstance(action, Move) else (action.path,)
