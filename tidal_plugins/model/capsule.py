"""Capsule: who an agent is and what it is doing, in at most 300 lines that outlive its context [Capsule].

The format is Markdown. A section begins with a heading of level 2 (``## Tools``); what stands before the first one is
the header, with headings that have no text. Other headings of level 2 make sections of their own, without a budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, Self

from tidal_plugins.errors import InvalidInput
from tidal_plugins.patterns import lazy_re

MAX_LINES = 300
MAX_CHARS = 100_000

BUDGETS: Mapping[str, int] = {
    "header": 3,
    "identity": 10,
    "loop_protocol": 15,
    "key_contacts": 15,
    "tools": 10,
    "current_priorities": 10,
    "recent_work": 80,
    "operational_rules": 15,
    "pending_tasks": 10,
}
"""The nine sections in order, each with the lines that it may have, without its heading and empty lines."""

GENERATED = ("header", "current_priorities", "recent_work", "pending_tasks")
WRITTEN = tuple(name for name in BUDGETS if name not in GENERATED)
"""The sections that people write."""

_ALSO_CALLED = {
    "who i am": "identity",
    "who you are": "identity",
    "how to run the loop": "loop_protocol",
    "key people": "key_contacts",
    "contacts": "key_contacts",
    "current priority": "current_priorities",
    "priorities": "current_priorities",
    "critical rules": "operational_rules",
    "rules": "operational_rules",
    "pending work": "pending_tasks",
}


def title(name: str) -> str:
    """Return the heading of a section."""
    return name.replace("_", " ").capitalize()


_NAMES = {title(name).casefold(): name for name in BUDGETS if name != "header"} | _ALSO_CALLED
_HEADING = lazy_re(r" {0,3}##[ \t]+(.*?)[ \t]*#*\s*")
_REMARK = lazy_re(r"\s*(?:\([^()]*\))?\s*:?\s*$")
_LONGEST = 200  # characters of a heading
_FENCE = lazy_re(r" {0,3}(```+|~~~+)")


class Suggestion(NamedTuple):
    """A memory that may belong in a section written by people. Only people put it there."""

    section: str
    text: str
    citation: str

    def __str__(self) -> str:
        return f"{title(self.section)}: {self.text} [{self.citation}]"


@dataclass(frozen=True, slots=True)
class Section:
    """A section as it stands in the text: its heading, if it has one, and everything up to the next section.

    ``name`` is one of the nine, or the heading of a section that people added.
    """

    name: str
    text: str

    @property
    def heading(self) -> str:
        """Return the heading's line; the header has none."""
        return "" if self.name == "header" else self.text.splitlines(keepends=True)[0]

    @property
    def body(self) -> str:
        """Return the text under the heading, without white space at its ends."""
        return self.text[len(self.heading) :].strip()

    @property
    def lines(self) -> int:
        """Return the number of lines under the heading that are not empty."""
        return sum(bool(line.strip()) for line in self.body.splitlines())


@dataclass(frozen=True, slots=True, eq=False)
class Capsule:
    """The nine sections, and others that people added, in order.

    ``str`` returns the text without empty sections, ``capsule["tools"]`` the text of a section. Capsules are equal when
    their texts are.

    Attributes:
        sections: the sections.
        suggestions: memories for written sections that are empty.
        filled: the names of the sections that people write, and have not written, which hold what is known instead.
        sources: the ids of the entries and episodes that it was made from.
        ratio: how many characters of memory there are for each of the capsule's.
        version: the version of the stored capsule.
        written: the version of the people's sections in it; ``None`` for a capsule that was parsed from a text.
        degraded: what was damaged when it was made, as that of a recall: it may lack memories then.
    """

    sections: tuple[Section, ...]
    suggestions: tuple[Suggestion, ...] = ()
    filled: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    ratio: float | None = None
    version: int = 0
    updated_at: datetime | None = None
    written: int | None = None
    degraded: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, *, budgets: Mapping[str, int] = BUDGETS, max_lines: int = MAX_LINES) -> Self:
        """Return the capsule that a text holds; ``str`` of it is the text again, to the byte, but for empty sections.

        A section that is not there is empty. Raises ``InvalidInput``, which names every section that is doubled or
        too long, and for a text that does not begin with a heading.
        """
        if not isinstance(text, str):
            raise InvalidInput(f"a capsule is a text, got {type(text).__name__}")
        if len(text) > MAX_CHARS:
            raise InvalidInput(f"the capsule has {len(text):,} characters, and the limit is {MAX_CHARS:,}: shorten it")
        if (lines := len(text.splitlines())) > max_lines:
            raise InvalidInput(f"the capsule has {lines:,} lines, and the limit is {max_lines}: shorten it")
        sections = tuple(_sections(text))
        if problems := [*_missing(sections), *_doubled(sections), *_too_long(sections, budgets)]:
            raise InvalidInput(f"not a capsule: {'; '.join(problems)}")
        return cls((*sections, *_blank(sections)))

    def edit(self, **bodies: str) -> Self:
        """Return a capsule with other texts in sections that people write: ``edit(identity="I am …", tools="…")``."""
        if unknown := [name for name in bodies if name not in WRITTEN]:
            raise InvalidInput(
                f"{', '.join(unknown)} cannot be edited: only {', '.join(WRITTEN)} are written by people"
            )
        if wrong := [name for name, body in bodies.items() if not isinstance(body, str)]:
            raise InvalidInput(f"a section is a text, and {', '.join(wrong)} got something else")
        edited = [_rewritten(s, bodies[s.name]) if s.name in bodies else s for s in self.sections]
        sections = tuple(_sections(_joined(edited)))
        if problems := [*_missing(sections), *_doubled(sections)]:  # budgets are checked when it is written
            raise InvalidInput(f"a text has headings of other sections: {'; '.join(problems)}")
        return replace(self, sections=sections)

    def __getitem__(self, name: str) -> str:
        for section in self.sections:
            if section.name == name:
                return section.body
        raise KeyError(name)

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Capsule) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return _joined([section for section in self.sections if section.body or section.name == "header"])


def _rewritten(section: Section, body: str) -> Section:
    return replace(section, text=f"{section.heading.rstrip()}\n\n{body.strip()}\n\n")


def _joined(sections: Sequence[Section]) -> str:
    """Return the text of sections, each of which begins on a line of its own."""
    return "".join([*map(_ended, sections[:-1]), *(section.text for section in sections[-1:])])


def _ended(section: Section) -> str:
    text = section.text
    return text if text.splitlines(keepends=True)[-1:] != text.splitlines()[-1:] else f"{text}\n\n"


def _sections(text: str) -> Iterator[Section]:
    """Yield the header, even an empty one, and the sections after it."""
    header, *rest = _blocks(text)
    while rest and rest[0].name not in BUDGETS and not rest[0].body:
        header = replace(header, text=header.text + rest.pop(0).text)
    yield header
    yield from rest


def _blocks(text: str) -> Iterator[Section]:
    """Yield what stands before the first heading, and each heading with the text under it. Code has no headings."""
    name, start, place, fence = "header", 0, 0, ""
    for line in text.splitlines(keepends=True):
        fence = _fence(line, fence)
        heading = None if fence or len(line) > _LONGEST else _HEADING.fullmatch(line)
        if found := _name(heading[1]) if heading else None:
            yield Section(name, text[start:place])
            name, start = found, place
        place += len(line)
    yield Section(name, text[start:])


def _fence(line: str, fence: str) -> str:
    """Return the mark that closes the block of code in which the next line stands."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    return "" if mark[1].startswith(fence) else fence


def _name(heading: str) -> str:
    plain = _REMARK.sub("", heading)
    return _NAMES.get(" ".join(plain.casefold().split()), plain)


def _blank(sections: Sequence[Section]) -> Iterator[Section]:
    """Yield the sections that are not there, empty."""
    there = {section.name for section in sections}
    yield from (Section(name, f"## {title(name)}\n\n") for name in BUDGETS if name not in there)


def _missing(sections: Sequence[Section]) -> Iterator[str]:
    if not sections[0].body.startswith("#"):
        yield "the header is missing: begin with a line such as «# Capsule»"


def _doubled(sections: Sequence[Section]) -> Iterator[str]:
    times = Counter(section.name for section in sections)
    doubled = [f"«{title(name)}»" for name, count in times.items() if count > 1 and name in BUDGETS]
    if doubled:
        yield f"{', '.join(doubled)} stand there more than once: merge them"


def _too_long(sections: Sequence[Section], budgets: Mapping[str, int]) -> Iterator[str]:
    for section in sections:
        most = budgets.get(section.name)
        if most is not None and section.lines > most:
            yield f"«{title(section.name)}» has {section.lines} lines of at most {most}: shorten it"
