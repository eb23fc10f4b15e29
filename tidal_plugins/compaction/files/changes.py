"""Changes of one file: writes, edits and patches applied to what is known of it, and checked by what results show."""

from __future__ import annotations

from collections.abc import Mapping

from tidal_plugins.actions.action import Action, Append, Edit, Patch, ReplaceLines, Write
from tidal_plugins.compaction.files.content import Content
from tidal_plugins.compaction.files.tracked import Tracked


def applied(file: Tracked, action: Write | Append | Edit | ReplaceLines | Patch, *, shown: bool) -> bool:
    """Apply a change to the content that is known. Return whether the result is certain."""
    content = file.content
    if isinstance(action, Write):
        file.content = Content() if action.text is None else Content.of(action.text.replace("\r\n", "\n"))
        file.doubt = None
        return True
    if isinstance(action, Append):
        return content.append(action.text)
    if isinstance(action, Edit):
        return not content.lines or content.edit(action)
    if isinstance(action, Patch):
        return content.patch(action.hunks)
    if action.start < 1:
        return not content.lines
    new = action.text.split("\n") if action.text else []
    content.splice(action.start, action.end, new)
    counted = shown or action.start == action.end  # how others count the lines of a range is not known
    return counted and not action.text.endswith("\n")  # some tools add a line then, some do not


def shown_after(file: Tracked, lines: Mapping[int, str], total: int | None, *, certain: bool, whole: bool) -> None:
    """Take in an editor's window after a change. All else stays if the change was followed, or not seen at all."""
    if certain:
        file.content.show(lines, total)
    elif whole or total is None:
        file.content = Content(dict(lines), total, edited=set(lines))  # it was not what it was expected to be
    else:
        file.content.reshow(lines, total)


def snippet_taken(file: Tracked, action: Action, lines: Mapping[int, str], *, certain: bool) -> None:
    """Take in the numbered lines around an edit that its result shows."""
    content = file.content
    if certain and content.lines:
        content.show(lines, None)
    elif not content.lines:
        content.lines, content.edited = dict(lines), set(lines)
    elif not (isinstance(action, Edit) and _located(content, action, lines)):
        file.suspect("an edit could not be followed")


def _located(content: Content, edit: Edit, lines: Mapping[int, str]) -> bool:
    """Apply an edit at the place that a snippet of its result shows; return whether it shows just one."""
    text = "\n".join(lines.values())
    if not edit.new or text.count(edit.new) != 1:
        return False
    start = min(lines) + text.count("\n", 0, text.index(edit.new))
    end = start + edit.old.count("\n") + 1
    if any(number in content.lines for number in range(start, end)):
        return False
    content.splice(start, end, edit.new.split("\n"))
    fits = all(
        content.lines.get(n, line) == line
        for n, line in lines.items()
        if n < start or n >= start + 1 + edit.new.count("\n")
    )
    content.lines |= lines
    return fits
