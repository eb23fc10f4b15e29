"""Dossier: what is known of a topic, in one current document; and the brief made from it [Capsule]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from tidal_plugins.model.capsule import Suggestion
from tidal_plugins.model.delimiters import sealed
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.exchange import Message

Maker = Literal["model", "extractive"]

Part = Literal["now", "decided", "open", "done", "earlier", "documents"]
"""Where a finding stands: what holds, what was decided, open and done tasks, plans whose day is over, and what
documents say."""

HEADINGS: Mapping[Part, str] = {
    "decided": "Decided:",
    "now": "Known:",
    "open": "Open:",
    "done": "Done:",
    "documents": "From documents:",
    "earlier": "Earlier plans:",
}
"""The headings of the parts, in the order in which they stand. What is known needs none at the beginning."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a dossier, with the ids of its ``sources`` and the ``citations`` that refer to them in texts.

    ``part`` is where it stands, and ``at`` when it was said, in
    ``Settings.time_zone``; ``None`` for what documents and models say.
    """

    text: str
    sources: tuple[str, ...]
    citations: tuple[str, ...]
    part: Part = "now"
    at: datetime | None = None

    @property
    def dated(self) -> str:
        """Return the text with its date."""
        return f"{self.at:%Y-%m-%d}: {self.text}" if self.at else self.text

    @property
    def line(self) -> str:
        """Return the text with its date and its citations."""
        return " ".join([self.dated, *(f"[{citation}]" for citation in self.citations)])

    def __str__(self) -> str:
        return " ".join([self.text, *(f"[{citation}]" for citation in self.citations)])


def by_part(findings: Iterable[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    """Yield the heading and the findings of each part that has any."""
    found = list(findings)
    there = {finding.part for finding in found}
    for part, heading in HEADINGS.items():
        if part in there:
            first = part == "now" and "decided" not in there
            yield "" if first else heading, [finding for finding in found if finding.part == part]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two findings that cannot both hold: other values or numbers for the same thing, or one denies the other."""

    kind: Literal["value", "number", "negation"]
    newer: Finding
    older: Finding

    def __str__(self) -> str:
        return f"{self.newer}; earlier: {self.older}"


@dataclass(frozen=True, slots=True)
class Dossier:
    """The current document on a topic. ``str`` returns its text, between marks that recording recognises.

    Attributes:
        topic: the topic.
        findings: its lines.
        contradictions: the pairs of findings that cannot both hold.
        version: its version, from 1; 0 while nothing is known.
        updated_at: when the text last changed.
        checked_at: when its sources were last checked.
        made_by: ``model`` or ``extractive``.
        problem: why an older text is still used, or why extracts replace the model's text; ``None`` if neither.
        entry: the id of its entry.
        tag: the keyed tag by which its store recognises the text.
    """

    topic: str
    findings: tuple[Finding, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    version: int = 0
    updated_at: datetime | None = None
    checked_at: datetime | None = None
    made_by: Maker | None = None
    problem: str | None = None
    entry: str | None = None
    tag: str = field(default="", repr=False, compare=False)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the ids of the entries that the text cites."""
        return tuple(dict.fromkeys(id_ for finding in self.findings for id_ in finding.sources))

    def __str__(self) -> str:
        return sealed(self.body, self.tag)

    @property
    def body(self) -> str:
        """Return the text without marks."""
        parts = [
            "\n".join([*filter(None, [heading]), *(f"- {finding.line}" for finding in found)])
            for heading, found in by_part(self.findings)
        ]
        if self.contradictions:
            parts.append("\n".join(["Contradictions:", *(f"- {found}" for found in self.contradictions)]))
        return "\n\n".join(part for part in parts if part)

    def __bool__(self) -> bool:
        return bool(self.findings)


@dataclass(frozen=True, slots=True)
class Brief:
    """A bounded answer to «what is happening with this topic?», with citations. ``str`` returns the text.

    Attributes:
        topic: the topic.
        text: the answer.
        dossier: the dossier that it begins with.
        recent: entries that the dossier does not cite, newest first.
        associated: entries that come up together with them.
        suggestions: what the capsule may want of it.
    """

    topic: str
    text: str
    dossier: Dossier
    recent: tuple[Entry, ...] = ()
    associated: tuple[Entry, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Source:
    """A source to condense: the ``messages`` of an episode or entry, in order, and the ``id`` that cites it.

    ``at`` is when it happened, if that is known.
    """

    id: str
    messages: tuple[Message, ...]
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a summary.

    Attributes:
        text: the statement.
        sources: the ids of the sources that say it.
        messages: the ids of the messages that it was taken from, if they are known.
    """

    text: str
    sources: tuple[str, ...]
    messages: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.text, *(f"[ep:{source}]" for source in self.sources)])
