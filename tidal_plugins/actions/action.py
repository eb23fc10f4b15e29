"""Actions: what a call of a tool does to files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tidal_plugins.actions.paths import absolute, joined

ANYWHERE = "?"
"""The folder of a command that ran in one that cannot be told."""


@dataclass(frozen=True, slots=True)
class Read:
    """The result shows lines of a file: all of them, or those from ``start`` to ``end``, counted from 1.

    ``limit`` is the largest number of lines that were asked for. ``numbered`` says whether the lines have numbers;
    ``None`` leaves it to the result. A file without a ``shown`` text cannot be told from the result.
    """

    path: str
    start: int | None = None
    end: int | None = None
    limit: int | None = None
    numbered: bool | None = None
    last: bool = False
    """Whether the lines are the last ones, however many."""
    shown: bool = True
    together: tuple[str, ...] = ()
    """The files that the result shows one after another, if there are several."""


@dataclass(frozen=True, slots=True)
class Write:
    """A file has this content now; ``None`` for a content that cannot be known."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Append:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """``old`` is replaced by ``new``, once or ``every`` time."""

    path: str
    old: str
    new: str
    every: bool = False

    def overlaps(self, other: Edit) -> bool:
        """Return whether the text of one edit has to do with that of the other, so that their order matters."""
        pairs = ((self.old, other), (other.old, self))
        return any(old in text or text in old for old, edit in pairs for text in (edit.old, edit.new) if text)


@dataclass(frozen=True, slots=True)
class ReplaceLines:
    """The lines from ``start`` to before ``end`` are replaced. ``start == end`` inserts before ``start``.

    ``start`` 0 stands for a place that only the result tells.
    """

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """A part of a patch: ``old`` lines become ``new`` lines. ``at`` is the old number of the first, if it is told."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    path: str
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class EditCell:
    """The ``text`` of a notebook's cell is another; ``None`` for a cell that is gone."""

    path: str
    cell: str
    text: str | None


@dataclass(frozen=True, slots=True)
class OutlinedEdit:
    """A file was changed in a way that cannot be replayed: ``text`` shows the new lines, with gaps."""

    path: str
    text: str
    reason: str = "an edit that only outlines its lines changed it"


@dataclass(frozen=True, slots=True)
class Delete:
    """A file, or a folder with everything in it, is gone. ``*`` and ``?`` stand for what they do in a shell."""

    path: str


@dataclass(frozen=True, slots=True)
class Move:
    """A file or folder is at ``to`` now; it stays where it was too if it was copied.

    Unless this is ``exact``, it is below ``to`` if that is a folder, as a shell's ``mv`` has it.
    """

    path: str
    to: str
    copied: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """A file, all in a folder, or every file (``""``) may have changed, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """The result of the call says in which folder it ran."""

    path: str


ContentChange = Write | Append | Edit | ReplaceLines | Patch | EditCell | OutlinedEdit
Change = ContentChange | Delete | Move
Action = Read | Change | Doubt | Place


def reached(action: Action) -> tuple[str, ...]:
    """Return the paths that an action names."""
    return (action.path, action.to) if isinstance(action, Move) else (action.path,)


def doubted(action: Action, reason: str) -> list[Action]:
    """Return doubts in place of a change that may not have happened."""
    return [Doubt(path, reason) for path in reached(action) if path] if isinstance(action, Change) else [action]


def placed(action: Action, folders: Collection[str]) -> list[Action]:
    """Return an action with its paths in the folder in which it ran, or doubts if that may be one of several."""
    if isinstance(action, Place) or not any(path and not absolute(path) for path in reached(action)):
        return [action]
    if len(folders) == 1:
        (folder,) = folders
        path = joined(folder, action.path)
        if isinstance(action, Move):
            return [replace(action, path=path, to=joined(folder, action.to))]
        return [replace(action, path=path)] if action.path else [action]
    if isinstance(action, Read):
        return []
    if ANYWHERE in folders:
        return [Doubt("", "a command changed a file in a folder that it does not name")]
    reason = action.reason if isinstance(action, Doubt) else "a command changed it, if it ran in its folder"
    return [Doubt(joined(folder, path), reason) for folder in folders for path in reached(action) if path]
