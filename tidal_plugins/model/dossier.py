"""Dossier: what is known of a topic, in one current document; and the brief made from it [Capsule]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tidal_plugins.model.capsule import Suggestion
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fence import marked

Maker = Literal["model", "extractive"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing known, on one line. ``sources`` are the ids of the entries that say it, ``citations`` how a text
    refers to them (``ep:…``, ``mem:…``)."""

    text: str
    sources: tuple[str, ...]
    citations: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.text, *(f"[{citation}]" for citation in self.citations)])


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two things said that cannot both hold: other values or numbers for the same thing, or one denies the other."""

    kind: Literal["value", "number", "negation"]
    newer: Finding
    older: Finding

    def __str__(self) -> str:
        return f"{self.newer}; earlier: {self.older}"


@dataclass(frozen=True, slots=True)
class Dossier:
    """What is known of one topic. ``str`` gives its text, with citations, between marks by which it is known
    when it comes back.

    ``version`` counts from 1 and is 0 while nothing is known. ``updated_at`` is when the text last changed,
    ``checked_at`` when its sources were last looked through. ``problem`` says why that left an older text in place, or
    why it was not the model that was asked which wrote this one. ``entry`` is its id in the unified index.
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

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of the entries that the text cites."""
        return tuple(dict.fromkeys(id_ for finding in self.findings for id_ in finding.sources))

    def __str__(self) -> str:
        parts = ["\n".join(f"- {finding}" for finding in self.findings)]
        if self.contradictions:
            parts.append("\n".join(["Contradictions:", *(f"- {found}" for found in self.contradictions)]))
        return marked("\n\n".join(part for part in parts if part))

    def __bool__(self) -> bool:
        return bool(self.findings)


@dataclass(frozen=True, slots=True)
class Brief:
    """What is happening with a topic: one bounded text with citations, and what it was made of.

    ``recent`` are entries that the dossier does not cite, newest first; ``associated`` what comes up together with
    them. ``suggestions`` offer to the capsule what matters in it.
    """

    topic: str
    text: str
    dossier: Dossier
    recent: tuple[Entry, ...] = ()
    associated: tuple[Entry, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()

    def __str__(self) -> str:
        return self.text
