"""The sections of a capsule as they are stored and filled, without lines that cite what was forgotten since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tidal_plugins.dossiers.sections import CapsuleTuning, Line
from tidal_plugins.ingestion.episodes import read_episodes
from tidal_plugins.ingestion.tombstones import tombstoned
from tidal_plugins.model.capsule import BUDGETS, GENERATED, Capsule, Section, Suggestion, title
from tidal_plugins.model.clock import from_micros, hours_between
from tidal_plugins.model.entry import Scope, bare_id
from tidal_plugins.model.exchange import FORGOTTEN_TEXT
from tidal_plugins.patterns import lazy_re
from tidal_plugins.storage.base import Document, Storage

_CITED = lazy_re(r"\[((?:ep|mem):\w+)\]")


def cites(text: object) -> bool:
    """Return whether a text cites anything."""
    return isinstance(text, str) and _CITED.search(text) is not None


def without_forgotten(text: str, storage: Storage, scope: Scope, made: Collection[str]) -> str:
    """Return a text without the lines that cite what was forgotten, in whole or in part.

    ``made`` are the lines that memory makes now. They stay, since they rest on what is left.
    """
    lines = text.splitlines(keepends=True)
    cited = {line: set(_CITED.findall(line)) for line in lines if line.strip() not in made}
    citations = set[str]().union(*cited.values())
    turns = [bare_id(citation) for citation in citations if citation.startswith("ep:")]
    gone = tombstoned(storage, scope, map(bare_id, citations)) | {
        id_
        for id_, episode in read_episodes(storage, scope, turns).items()
        if any(message.text == FORGOTTEN_TEXT for message in episode.messages)
    }
    return "".join(line for line in lines if gone.isdisjoint(map(bare_id, cited.get(line, ()))))


FRAME = 12
"""Lines of the header, and of the headings of the other generated sections, each with the empty lines around it."""


def read_capsule(document: Document) -> Capsule:
    """Return the capsule that a document holds."""
    value = document.value
    capsule = Capsule(tuple(Section(*pair) for pair in value["sections"]))
    return replace(
        capsule,
        suggestions=tuple(Suggestion(*item) for item in value["suggestions"]),
        filled=tuple(value.get("filled", ())),
        sources=tuple(value["cited"]),
        ratio=value["archive"] / max(1, len(str(capsule))),
        version=document.version,
        updated_at=from_micros(value["at"]),
        written=value["layout"],
        degraded=tuple(value.get("degraded", ())),
    )


def version_of(document: Document | None) -> int:
    """Return the version of a document, 0 where there is none."""
    return document.version if document else 0


def is_fresh(made: Document, layout: Document | None, now: datetime, max_age: timedelta) -> bool:
    """Return whether a capsule was made less than ``max_age`` ago, of the sections that people wrote last."""
    if made.value["layout"] != version_of(layout):
        return False
    return abs(hours_between(from_micros(made.value["at"]), now)) < max_age.total_seconds() / 3600


def blank_sections() -> list[Section]:
    """Return the nine sections with nothing in them."""
    return [Section(name, "" if name == "header" else f"## {title(name)}\n\n") for name in BUDGETS]


def filled_with(section: Section, lines: Sequence[Line]) -> Section:
    """Return a section with other lines under its heading."""
    heading = f"{section.heading.rstrip()}\n\n" if section.heading else ""
    body = "".join(f"{line}\n" for line in lines)
    return replace(section, text=f"{heading}{body}\n" if body else heading)


def body_of(capsule: Capsule) -> list[Section]:
    """Return all sections, without the time at which the capsule was made."""
    return [section for section in capsule.sections if section.name != "header"]


def written_lines(sections: Iterable[Section]) -> int:
    """Return the number of lines that people wrote."""
    return sum(len(section.text.splitlines()) for section in sections if section.name not in GENERATED)


def least_lines(limits: CapsuleTuning) -> int:
    """Return the number of lines that the generated sections need. Recent work can be cut to one line."""
    return FRAME + limits.current_priorities + limits.pending_tasks + 1
