"""The capsule: sections that people wrote, as they wrote them, and sections made from what is in memory [Capsule]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from tidal_plugins.dossiers.layout import (
    FRAME,
    blank_sections,
    body_of,
    cites,
    filled_with,
    is_fresh,
    least_lines,
    read_capsule,
    version_of,
    without_forgotten,
    written_lines,
)
from tidal_plugins.dossiers.sections import CapsuleTuning, Line, Newest, suggestions
from tidal_plugins.dossiers.seeds import Seeds
from tidal_plugins.dossiers.sources import PRIMARY_KINDS
from tidal_plugins.dossiers.work import LastWork
from tidal_plugins.errors import Conflict, InvalidInput, ReadOnly
from tidal_plugins.ingestion.derived import write_derived
from tidal_plugins.ingestion.episodes import TOOL_TAG
from tidal_plugins.model.capsule import BUDGETS, GENERATED, WRITTEN, Capsule, Section, Suggestion
from tidal_plugins.model.clock import local, to_micros
from tidal_plugins.model.delimiters import CAPSULE_TITLE, inert
from tidal_plugins.model.entry import EPISODE, GRAPH_CHANNEL, Scope, bare_id
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Document, Storage, Where
from tidal_plugins.storage.damage import named, noticed, whole
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.validation import storable

CAPSULES = "capsules"
"""Collection of the generated capsule, a derived document."""

LAYOUT = "capsule-layout"
"""Collection of what people wrote: every section in order, of the generated ones only the headings. No earlier
versions are kept: what was taken out of it stands in earlier capsules only, which go with what they cite."""
KEY = "current"

_TRIES = 4
"""Attempts that hold nothing. The one after them holds the store, so that busy neighbours cannot starve it."""

_TOOL_EPISODES = 100


@dataclass(frozen=True, slots=True)
class Capsules:
    """The capsule of one scope."""

    storage: Storage
    settings: Settings
    scope: Scope

    def current(self, now: datetime, *, max_age: timedelta = timedelta(0), thread: str | None = None) -> Capsule:
        """Return the capsule with newly generated sections. Sections that people wrote are unchanged.

        A capsule that was made less than ``max_age`` ago is returned unchanged, as a stable prefix. The text also stays
        the same if nothing but the time has changed. A ``thread`` without any turn begins with the state of the work as
        it is now, so a capsule that tells another one is made anew for it.
        """
        if not isinstance(max_age, timedelta):
            raise InvalidInput(f"max_age is a timedelta, got {shown(max_age)}")
        for _ in range(_TRIES):
            try:
                return self._current(now, max_age, thread)
            except Conflict:
                continue  # somebody else was quicker, or something it cites was forgotten
        with self.storage.transaction():  # nobody can be quicker
            return self._current(now, max_age, thread)

    def stored(self) -> Capsule | None:
        """Return the capsule as it was last made, with what people wrote then, or ``None``."""
        made = self._document(CAPSULES)
        return read_capsule(made) if made and made.value else None

    def _current(self, now: datetime, max_age: timedelta, thread: str | None) -> Capsule:
        with self.storage.snapshot(), noticed() as damaged:
            layout, made = self._document(LAYOUT), self._document(CAPSULES)
            standing = made if made and made.value else None
            if standing and is_fresh(standing, layout, now, max_age):
                known = read_capsule(standing)
                if thread is None or not self._moved_on(known, thread, now):
                    return known
            draft = self._draft(layout, now)
            draft = replace(draft, capsule=replace(draft.capsule, degraded=named(damaged)))
        if standing and body_of(draft.capsule) == body_of(read_capsule(standing)):
            known, new = read_capsule(standing), draft.capsule
            return replace(known, suggestions=new.suggestions, written=version_of(layout), degraded=new.degraded)
        try:
            return read_capsule(self._stored(draft, layout, made, now))
        except ReadOnly:
            return replace(draft.capsule, version=version_of(made), updated_at=now, written=version_of(layout))

    def _moved_on(self, capsule: Capsule, thread: str, now: datetime) -> bool:
        """Return whether a thread begins, and the work is in another state than a capsule tells."""
        where = Where(kinds={EPISODE}, threads={thread})
        begins = not self.storage.find(self.scope, where, limit=1, newest_first=True)
        return begins and not self._last_work(now).is_told(capsule["recent_work"])

    def _last_work(self, now: datetime) -> LastWork:
        settings = self.settings
        return LastWork(self.storage, self.scope, settings[CapsuleTuning], settings.compaction.file_tools, now)

    def write(self, capsule: Capsule | str, now: datetime, redact: Callable[[str], str] = storable) -> Capsule:
        """Store the sections that people write, byte for byte, and sections of their own, in their order.

        A line that cites what was forgotten is left out: a text that was saved before brings nothing back.
        Text in a generated section is replaced. Raises ``InvalidInput`` for a text that is not a capsule within its
        budgets, and ``Conflict`` for a ``Capsule`` that was edited from a version that somebody else has rewritten
        since; nothing is changed then. A text does not tell from which version it was edited, so the last text counts.
        """
        base = capsule.written if isinstance(capsule, Capsule) else None
        text = redact(storable(str(capsule))) if isinstance(capsule, Capsule | str) else capsule
        if cites(text):
            made = [line.strip() for line in str(self.current(now)).splitlines()]
            text = without_forgotten(text, self.storage, self.scope, made)
        checked = self._checked(text)
        with self.storage.transaction():
            sections = [[s.name, s.heading if self._is_made(s) else s.text] for s in checked.sections]
            layout = self._document(LAYOUT)
            if layout is None or layout.value["sections"] != sections:
                if base is not None and base != version_of(layout):
                    raise Conflict(
                        "somebody else wrote the capsule since you read this one, and nothing was stored: read it "
                        "again with capsule(), and make your edit there"
                    )
                write_document(self.storage, self.scope, LAYOUT, KEY, {"sections": sections})
        return self.current(now)

    def _is_made(self, section: Section) -> bool:
        """Return whether memory made a section: a generated one, or one that still says what it was filled with."""
        if section.name in GENERATED:
            return True
        return any(section.name in made.filled and made[section.name] == section.body for made in self.versions())

    @whole()
    def versions(self) -> list[Capsule]:
        """List the versions that are kept, the newest first. Forgetting something that they cite ends them."""
        found = self.storage.documents(self.scope, CAPSULES, [KEY], versions=True)
        return [read_capsule(document) for document in found if document.value]

    def _document(self, collection: str) -> Document | None:
        return read_document(self.storage, self.scope, collection, KEY)

    def _checked(self, text: str) -> Capsule:
        limits = self.settings[CapsuleTuning]
        capsule = Capsule.parse(
            text, budgets={name: getattr(limits, name) for name in BUDGETS}, max_lines=limits.max_lines
        )
        fixed = written_lines(capsule.sections)
        if fixed + least_lines(limits) > limits.max_lines:
            raise InvalidInput(
                f"what people wrote has {fixed} lines, and the generated sections need {least_lines(limits)} of "
                f"{limits.max_lines}: shorten the sections of your own, or their empty lines"
            )
        return capsule

    def _draft(self, layout: Document | None, now: datetime) -> _Draft:
        sections = [Section(*pair) for pair in layout.value["sections"]] if layout else blank_sections()
        newest = Newest(self.storage, self.scope, self.settings, now)
        empty = [section.name for section in sections if section.name in WRITTEN and not section.body]
        lines = self._lines(sections, newest, empty)
        made = [filled_with(section, lines[section.name]) if section.name in lines else section for section in sections]
        shown = [place for place, section in enumerate(made) if section.body]
        if shown and made[shown[-1]].name in lines:
            made[shown[-1]] = replace(made[shown[-1]], text=made[shown[-1]].text.rstrip() + "\n")
        cited = dict.fromkeys(id_ for found in lines.values() for line in found for id_ in line.sources)
        offered = tuple(self._suggestions(empty, newest))
        volumes = self.storage.statistics(self.scope).volumes.items()
        archive = sum(
            size.characters for (kind, channel), size in volumes if kind in PRIMARY_KINDS and channel != GRAPH_CHANNEL
        )
        filled = tuple(name for name in empty if lines.get(name))
        return _Draft(Capsule(tuple(made), offered, filled, tuple(cited)), archive)

    def _lines(self, sections: Sequence[Section], newest: Newest, empty: Sequence[str]) -> dict[str, list[Line]]:
        """Return the lines of the sections that memory makes. The longest section is cut first if they do not fit."""
        limits = self.settings[CapsuleTuning]
        tools = self._tools(limits.tools) if "tools" in empty else []
        found = {
            "header": self._header(newest.now),
            "tools": [Line(f"- {item.text} [{item.citation}]", (bare_id(item.citation),)) for item in tools],
            **newest.lines(empty),
        }
        done = found.pop("recent_work")
        priorities = found["current_priorities"]
        found["current_priorities"] = [*priorities, *self._thoughts(newest.now)][
            : max(len(priorities), limits.current_priorities)
        ]
        told = [line.text for lines in found.values() for line in lines]
        work = [*self._last_work(newest.now).lines(told), *done][: limits.recent_work]
        found = {name: lines for name, lines in found.items() if lines or name in GENERATED}
        taken = written_lines(sections) + FRAME + sum(len(lines) + 2 for lines in found.values())
        return found | {"recent_work": work[: max(1, limits.max_lines - taken)]}

    def _thoughts(self, now: datetime) -> list[Line]:
        """Return the thought seeds of the last days."""
        seeds = Seeds(self.storage, self.settings, self.scope).recent(now)[: self.settings[CapsuleTuning].thoughts]
        return [Line(f"- {seed}", (seed.first.id, seed.second.id)) for seed in seeds]

    def _header(self, now: datetime) -> list[Line]:
        volumes = self.storage.statistics(self.scope).volumes
        turns = sum(volume.entries for (kind, _), volume in volumes.items() if kind == EPISODE)
        time = local(now, self.settings.zone).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        memory = inert("/".join(self.scope))
        return [Line(f"{CAPSULE_TITLE}{time}"), Line(f"Turn {turns:,}. Memory of {memory}.")]

    def _stored(self, draft: _Draft, layout: Document | None, made: Document | None, now: datetime) -> Document:
        capsule, keep = draft.capsule, self.settings[CapsuleTuning].versions
        cited = list(dict.fromkeys([*capsule.sources, *(bare_id(item.citation) for item in capsule.suggestions)]))
        with self.storage.transaction():
            current = self._document(LAYOUT)
            if version_of(current) != version_of(layout):
                raise Conflict("somebody wrote the capsule meanwhile")
            if len(self.storage.summaries(self.scope, cited)) != len(cited):
                raise Conflict("something that the capsule cites is gone")
            earlier = self.storage.documents(self.scope, CAPSULES, [KEY], versions=True)[:keep]
            quoted = {id_ for document in earlier if document.value for id_ in document.value["cited"]}
            value: dict[str, Any] = {
                "sections": [[section.name, section.text] for section in capsule.sections],
                "suggestions": [list(item) for item in capsule.suggestions],
                "filled": list(capsule.filled),
                "at": to_micros(now),
                "layout": version_of(layout),
                "archive": draft.archive,
                "cited": cited,
                "degraded": list(capsule.degraded),
            }
            expected = made.version if made else 0
            version = write_derived(
                self.storage, self.scope, CAPSULES, KEY, value, sources={*cited, *quoted}, expected=expected, keep=keep
            )
        return Document(KEY, value, version)

    def _suggestions(self, empty: Sequence[str], newest: Newest) -> Iterable[Suggestion]:
        each = self.settings[CapsuleTuning].suggestions
        yield from suggestions(newest.reader, newest.entries, empty, each=each)
        if "tools" in empty:
            yield from self._tools(each)

    def _tools(self, each: int) -> list[Suggestion]:
        """Suggest the tools that ran in the newest episodes."""
        where = Where(kinds={EPISODE})
        found: dict[str, Suggestion] = {}
        for episode in self.storage.find(self.scope, where, limit=_TOOL_EPISODES, newest_first=True):
            for tag in episode.tags:
                name = tag.removeprefix(TOOL_TAG)
                if name != tag:
                    found.setdefault(name, Suggestion("tools", inert(name), episode.citation))
        return list(found.values())[:each]


@dataclass(frozen=True, slots=True)
class _Draft:
    capsule: Capsule
    archive: int
    """Characters of everything that was said and remembered in the scope."""
