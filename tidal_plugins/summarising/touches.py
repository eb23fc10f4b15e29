"""Files that an agent has touched: what was done to each one, and on which branches that holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tidal_plugins.model.fence import inert

Touch = Literal["created", "edited", "deleted"]

_MAX_FILES, _MAX_BRANCHES, _MAX_CITED = 40, 2, 2
"""Files that are remembered, other branches and citations that are told: the newest."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What was done to a file, the episode of the last time, and the branches on which that holds.

    ``""`` stands for the first branch while its name is not known.
    """

    path: str
    touch: Touch
    source: str
    branches: tuple[str, ...] = ("",)

    def apart_from(self, branch: str) -> Touched:
        """Return this without one of its branches, where something else was done to the file since."""
        return replace(self, branches=tuple(each for each in self.branches if each != branch))


def touched(
    files: Sequence[Touched], path: str, source: str, *, branch: str, deleted: bool, written: bool, created: bool
) -> tuple[Touched, ...]:
    """Return the files after one of them was deleted, ``written`` as a whole or edited on a branch."""
    same = [each for each in files if each.path == path]
    before = next((each.touch for each in same if branch in each.branches), None)
    touch: Touch = "deleted" if deleted else "edited"
    if (written and (created or before == "created")) or (touch == "edited" and before == "created"):
        touch = "created"
    others = [each.apart_from(branch) if each in same else each for each in files]
    return (*(each for each in others if each.branches), Touched(path, touch, source, (branch,)))[-_MAX_FILES:]


def branched_off(files: Sequence[Touched], before: str, branch: str) -> tuple[Touched, ...]:
    """Return the files after a new branch began: it has all that the one before had."""
    return tuple(
        replace(each, branches=(*each.branches, branch)) if before in each.branches else each for each in files
    )


def named(files: Sequence[Touched], branch: str) -> tuple[Touched, ...]:
    """Return the files after the name of the first branch became known."""
    return tuple(replace(each, branches=(branch,)) if each.branches == ("",) else each for each in files)


def told(files: Sequence[Touched], branch: str, most: int) -> str:
    """Return the files by what was done to them, at most so many of each kind, with the last citations.

    What was done on other branches alone comes last.
    """
    parts = _touches([each for each in files if branch in each.branches], most)
    others: dict[str, list[Touched]] = {}
    for each in files:
        if branch not in each.branches:
            others.setdefault(each.branches[-1], []).append(each)
    for name, found in list(reversed(others.items()))[:_MAX_BRANCHES]:
        where = f"on {_quoted(name)}" if name else "on an earlier branch"
        parts.append(f"{where}: {', '.join(_touches(found, max(1, most // 4)))}")
    last = list(dict.fromkeys(each.source for each in reversed(files)))[:_MAX_CITED]
    return " ".join(["; ".join(parts), *(f"[ep:{source}]" for source in last)])


def _touches(files: Sequence[Touched], most: int) -> list[str]:
    parts = []
    for touch in ("edited", "created", "deleted"):
        names = [each.path for each in reversed(files) if each.touch == touch]
        if names:
            more = f" and {len(names) - most} more" if len(names) > most else ""
            parts.append(f"{touch} {', '.join(_quoted(name) for name in names[:most])}{more}")
    return parts


def _quoted(name: str) -> str:
    """Return a name between backticks, of which it has none itself."""
    return "`" + inert(name).replace("`", "'") + "`"
