"""Files: which ones come back after a compaction, and in what form [SIYA §2.3]."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from tidal_plugins.actions.calls import COMMANDS, MANY_PATHS, PARTS, PATHS, known
from tidal_plugins.actions.files import Content, Files, Said, Tracked
from tidal_plugins.actions.paths import SYSTEM_PATHS, names, relative
from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.compaction import RestoredFile, Size
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import CurrentFiles, TokenCounter
from tidal_plugins.secrets.finding import secrets
from tidal_plugins.settings import FileAction, FileTool
from tidal_plugins.summarising.sizes import measure
from tidal_plugins.tuning import Weights, given, tunable


@dataclass(frozen=True, kw_only=True)
class CompactionTuning(Weights, group="compaction"):
    """[SIYA §2]. Shares are of the limit, in tokens and in bytes alike."""

    compact: float = given("compaction.compact")
    max_files: int = given("compaction.max_files")
    file_tools: Mapping[str, FileAction | FileTool] = given("compaction.file_tools")
    target: float = tunable(0.60, gt=0, le=1)
    """Share that a rebuilt context should not exceed without its files."""
    prepare: float = tunable(0.70, gt=0, le=1)
    """Share at which the summary is prepared in the background."""
    hard: float = tunable(0.95, gt=0, le=1)
    """Share above which a long ongoing turn folds."""
    work: float = tunable(0.12, ge=0, lt=1)
    """Share that the lines about the state of the work may take: they must leave room for the statements."""
    synthesis: float = tunable(0.08, gt=0, lt=1)
    """Share that the synthesis of the last completed turn may take, and that a folded part of the ongoing one has."""
    least: float = tunable(0.15, gt=0, lt=1)
    """Share that the summary should have: where the target leaves less, a context may be fuller."""
    files: float = tunable(0.20, gt=0, lt=1)
    """Share that all restored files may take, or more if the summary leaves some of the target."""
    file: float = tunable(0.08, ge=0, lt=1)
    """Share that one restored file may take of that; what is longer is cut at a line."""
    file_window: int = tunable(20, ge=0)
    """Last messages before a compaction in which a file that was only read must have been read."""

    def __post_init__(self) -> None:
        if not self.target < self.compact < self.hard or not self.prepare <= self.compact:
            raise InvalidInput("compaction needs target < compact < hard, and prepare no larger than compact")


_FAILING = lazy_re(
    r"\b[1-9]\d* (?:failed|errors?|failing)\b|^(?:FAILED|ERROR|FAIL|E  )|\bTraceback \(most recent", re.M
)
_PASSING = lazy_re(r"\b[1-9]\d* (?:passed|passing)\b|^(?:OK|PASS)\b", re.MULTILINE)

CUT = "[… the rest of this file is left out; read it again for it]"
GAP = "…"

POOL = 2
"""Files that are looked at, as a multiple of those that may come back: a large one may have to make way."""

FRAMES = 2.0
"""Least size of a file that is cut, as a multiple of its frame (the call and the header)."""

AT_WORK = 3
"""Files changed last that come right after those that the request names: a run with many failing tests names more files
than are restored, and the one edited before the last was missing."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to show: ``blank`` has all but its content, of which the ``wanted`` lines matter most."""

    blank: RestoredFile
    content: Content
    wanted: Collection[int]
    numbered: bool


class _Wanted(NamedTuple):
    """A file that is to be shown, with the shares of the limit that it takes: without content, and at most."""

    candidate: Candidate
    frame: float
    size: float


@dataclass(frozen=True, slots=True)
class Restorer:
    """Chooses the files to show again. ``disk`` tells what they are now, if the host gives it."""

    settings: CompactionTuning
    counter: TokenCounter
    disk: CurrentFiles | None = None

    def candidates(self, said: Sequence[Said]) -> list[Candidate]:
        """Return the files that may be put back, best first: more than come back, for some may not fit.

        A file qualifies if it was read or changed in the last messages, or changed anywhere in the thread. Its content
        comes from the whole thread. Files that steps which stay in the context show in full are left out, and
        so are files with a secret in them: a masked copy might be written back.
        """
        if not self.settings.max_files:
            return []
        files = Files(self.settings.file_tools, self.disk.root if self.disk else None).run(said)
        request, failing = _about(said)
        about = f"{request}\n{failing}"
        qualified = list(self._qualified(files.values(), len(said)))
        at_work = sorted((file for file in qualified if file.changed or file.later), key=_last_changed)[-AT_WORK:]

        def rank(file: Tracked) -> tuple[bool, bool, bool, bool, float, int]:
            named = names(request, file.path)
            return named, any(file is each for each in at_work), names(failing, file.path), *_rank(file)

        ranked = sorted(qualified, key=rank, reverse=True)
        now = (self._candidate(file, about, files.values()) for file in ranked)
        return list(islice(filter(None, now), POOL * self.settings.max_files))

    def fitted(self, candidates: Sequence[Candidate], room: Size, limit: Size) -> tuple[RestoredFile, ...]:
        """Return the best files in at most ``room`` of a context of ``limit``, smaller where not all fit as they are.

        One for which nothing but its frame would be left makes way for those after it.
        """
        cap = (limit * self.settings.file).at_least(room * (self.settings.file / self.settings.files)).at_most(room)
        share = room.least_share(limit)
        chosen: list[_Wanted] = []
        for each in candidates:
            shown = self._fitted(each, cap) if len(chosen) < self.settings.max_files else None
            if shown:
                frame, size = (weight(file, self.counter).share(limit) for file in (each.blank, shown))
                more = [*chosen, _Wanted(each, frame, size)]
                level = _level([want.size for want in more], share)
                chosen = more if all(level >= min(want.size, FRAMES * want.frame) for want in more) else chosen
        level = _level([want.size for want in chosen], share)
        found = (self._fitted(want.candidate, cap.at_most(limit * level)) for want in chosen)
        return tuple(filter(None, found))

    def _qualified(self, files: Collection[Tracked], count: int) -> Iterator[Tracked]:
        first = count - self.settings.file_window
        for file in files:
            recent = file.touched >= first and (file.reads or self.disk)
            of_the_system = not set(PurePosixPath(file.path.casefold()).parts).isdisjoint(SYSTEM_PATHS)
            gone = file.state == "deleted" or file.shown or file.episode is None
            if (recent or file.changed) and not gone and not of_the_system:
                yield file

    def _candidate(self, file: Tracked, about: str, files: Collection[Tracked]) -> Candidate | None:
        """Return a file as it is now, or ``None`` if it is gone, unknown or has a secret in it."""
        now = self._now(file)
        if now is None or not now[0].lines or secrets(now[0].text):
            return None
        content, head, doubt = now
        tool, given = _reader(file, content, files)
        arguments = json.loads(json.dumps(given, sort_keys=True))  # in the order in which the store has them
        state = "read" if file.state == "deleted" else file.state
        blank = RestoredFile(
            _id(file, content),
            tool,
            file.path,
            arguments,
            head,
            str(file.episode),
            file.seen or datetime.min.replace(tzinfo=UTC),
            file.reads,
            state=state,
            header=head,
            doubt=doubt,
        )
        return Candidate(blank, content, content.edited | _cited(about, file.path), file.numbered)

    def _fitted(self, each: Candidate, room: Size) -> RestoredFile | None:
        """Return a file as it fits, or ``None`` if nothing of it would be left."""

        def fits(text: str) -> bool:
            return weight(replace(each.blank, content=text), self.counter).within(room)

        shown = _text_within(each.content, each.blank.header, each.wanted, fits, numbered=each.numbered)
        return replace(each.blank, content=shown[0], cut=shown[1]) if shown else None

    def _now(self, file: Tracked) -> tuple[Content, str, str | None] | None:
        """Return the content of a file, the header that says what is not certain about it, and why it is in doubt."""
        told = {"edited": file.changed is not None, "later": file.later, "doubt": file.doubt}
        if self.disk is None:
            return file.content, _header(file.known, **told), file.doubt  # type: ignore[arg-type]
        try:
            text = self.disk.read(relative(file.path, self.disk.root) or file.path)
        except FileNotFoundError:
            return None
        except OSError:
            text = None
        if text is None:
            head = _header(file.known, disk=True, **told)  # type: ignore[arg-type]
            return file.content, head, file.doubt or "the file on disk could not be read"
        content = Content.of(text)
        total = file.content.total
        same = total in (None, content.total) and file.content.lines.items() <= content.lines.items()
        content.edited = file.content.edited & content.lines.keys()
        return content, "" if same else _changed_header(file.known), None


def weight(file: RestoredFile, counter: TokenCounter) -> Size:
    """Return the size of a restored file: of the call and its result."""
    return sum((measure(message, counter) for message in file.messages), Size())


def _last_changed(file: Tracked) -> tuple[bool, float, int]:
    """Return what orders files by their last change; steps that stay in the context have no time yet."""
    return file.later, file.changed.timestamp() if file.changed else 0.0, file.touched


def _rank(file: Tracked) -> tuple[bool, float, int]:
    """Return what orders files beside what is said of them: changed ones, then the newest.

    The score of a file that was only read is the time when it was first read, in milliseconds, less 1,000 for each
    reading; of a changed one it is the time of its last change.
    """
    if file.changed:
        return True, file.changed.timestamp() * 1000, file.touched
    seen = file.seen.timestamp() * 1000 if file.seen else 0.0
    return False, seen - file.reads * 1000, 0


def _about(said: Sequence[Said]) -> tuple[str, str]:
    """Return the open request, and the output of the last test run if that failed."""
    asked = next((each.message.text for each in reversed(said) if each.message.role == "user"), "")
    runs = (each.message.text for each in reversed(said) if each.message.role == "tool")
    run = next((text for text in runs if _FAILING.search(text) or _PASSING.search(text)), "")
    return asked, run if _FAILING.search(run) else ""


def _cited(about: str, path: str) -> set[int]:
    """Return the lines of a file that a text names: ``models.py:17``, ``File "models.py", line 17``."""
    name = re.escape(PurePosixPath(path).name)
    return {int(number) for number in re.findall(rf"{name}[\"']?(?::|, line |#L)(\d{{1,9}})", about)}


def _level(wants: Sequence[float], room: float) -> float:
    """Return the share up to which each of several files may take what it wants, so that all fit."""
    for place, want in enumerate(sorted(wants)):
        even = room / (len(wants) - place)
        if want >= even:
            return even
        room -= want
    return 1.0


def _id(file: Tracked, content: Content) -> str:
    told = (file.episode, file.path, sorted(content.lines.items()))
    return f"call_{blake2b(repr(told).encode(errors='surrogatepass'), digest_size=12).hexdigest()}"


def _reader(file: Tracked, content: Content, files: Collection[Tracked]) -> tuple[str, dict[str, Any]]:
    """Return the call that shows a file: the one that read it, or one such as the agent makes for other files."""
    if file.call and file.pure and content.lines == file.content.lines:
        return file.call.name, dict(file.call.arguments)
    read = file.call or next((other.call for other in files if other.call), None)
    if read is None:
        changer = file.changer.name if file.changer else "Read"
        if (tool := known(changer, {})) and tool.does == "editor":
            return changer, {"command": "view", "path": file.path}
        return ("Read" if changer[:1].isupper() else "read_file"), {"file_path": file.path}
    kept = {name: value for name, value in read.arguments.items() if name not in PARTS}
    named = next((name for name in PATHS if isinstance(kept.get(name), str)), None)
    if named is not None:
        return read.name, {**kept, named: file.path}
    many = next((name for name in MANY_PATHS if isinstance(kept.get(name), list | tuple)), None)
    if many is not None:
        return read.name, {**kept, many: [file.path]}
    given = next((name for name in COMMANDS if name in kept), "command")
    return read.name, {**kept, given: f"cat {shlex.quote(file.path)}"}


# how a file is shown


def _text_within(
    content: Content, head: str, wanted: Collection[int], fits: Callable[[str], bool], *, numbered: bool
) -> tuple[str, bool] | None:
    """Return a file as it fits, below its header, and whether lines are missing; ``None`` if nothing would be left.

    A file that does not fit is shown around the ``wanted`` lines, or from its beginning.
    """
    whole = _text(content, set(content.lines), head, numbered=numbered or not content.complete)
    if fits(whole):
        return whole, not content.complete
    if not content.lines:
        return None
    known = sorted(content.lines)
    centres = sorted(number for number in wanted if number in content.lines)

    def around(radius: int) -> str:
        shown = {n for centre in centres for n in range(centre - radius, centre + radius + 1) if n in content.lines}
        return _text(content, shown, head, numbered=True, cut=True)

    def first(count: int) -> str:
        plain = not numbered and known[:count] == list(range(1, count + 1))
        return _text(content, set(known[:count]), head, numbered=not plain, cut=True)

    if centres and fits(around(0)):
        return around(_most(len(known), lambda radius: fits(around(radius)))), True
    if centres:
        known = centres  # not even the lines that matter fit
        numbered = True
    count = _most(len(known), lambda count: fits(first(count)))
    return (first(count), True) if count else None


def _header(
    known: datetime | None, *, edited: bool = False, later: bool = False, doubt: str | None = None, disk: bool = False
) -> str:
    """Return the line above a file that may not be current: of when it is, and why it may be another by now.

    ``later`` says that steps that follow in the context have changed it, ``disk`` that the file on disk was asked for
    and could not be read.
    """
    told = f"[as of {_when(known)}" + (", with its edits" if edited else "")
    told += " and those of the steps that follow" if later else ""
    if doubt:
        return f"{told}; may be out of date: {doubt}]"
    return f"{told}; {'the file on disk could not be read and ' if disk else ''}may have changed since]"


def _changed_header(known: datetime | None) -> str:
    """Return the line above a file whose content on disk, which is shown, is not what was last known of it."""
    return f"[as it is on disk now; it has changed since {_when(known)}, when it was last seen or edited here]"


def _when(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else "its last reading"


def _text(content: Content, shown: Collection[int], head: str, *, numbered: bool, cut: bool = False) -> str:
    if not numbered and len(shown) == len(content.lines):
        body = content.text
        return f"{head}\n{body}" if head else body
    lines = [head] if head else []
    lines += _numbered(content, shown) if numbered else [content.lines[number] for number in sorted(shown)]
    return "\n".join([*lines, CUT] if cut else lines)


def _numbered(content: Content, shown: Collection[int]) -> Iterator[str]:
    before = 0
    for number in sorted(shown):
        if number > before + 1:
            yield GAP
        yield f"{number:6}\t{content.lines[number]}"
        before = number
    if content.total is None or before < content.total:
        yield GAP


def _most(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``most`` that fits. 0 is taken to fit."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
