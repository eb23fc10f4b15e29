"""The brief: what is happening with a topic, from its dossier to what comes up together with it [Capsule]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidal_plugins.dossiers.current import standing
from tidal_plugins.dossiers.dossier import Dossiers
from tidal_plugins.dossiers.drafting import findings
from tidal_plugins.dossiers.scorer import one_shout
from tidal_plugins.dossiers.sections import CapsuleTuning, suggestions
from tidal_plugins.dossiers.sentences import Sentence
from tidal_plugins.dossiers.sources import PRIMARY_KINDS, Material, localised, without_citations
from tidal_plugins.english.sentences import shortened
from tidal_plugins.language.emphasis import shouts
from tidal_plugins.model.capsule import WRITTEN
from tidal_plugins.model.clock import local
from tidal_plugins.model.delimiters import MARKED
from tidal_plugins.model.dossier import HEADINGS, Brief, Dossier, Finding, by_part
from tidal_plugins.model.entry import Entry
from tidal_plugins.retrieval.pipeline import without_secrets
from tidal_plugins.retrieval.understand import active
from tidal_plugins.scoring.text import stems
from tidal_plugins.tuning import Weights, tunable


@dataclass(frozen=True, kw_only=True)
class BriefTuning(Weights, group="brief"):
    """[Capsule]."""

    max_chars: int = tunable(2_000, ge=200)
    """Characters of a brief."""
    days: float = tunable(14.0, gt=0)
    """Age in days up to which an entry is recent."""
    recent: int = tunable(8, gt=0, le=100)
    """Recent entries beside what the dossier says."""
    associated: int = tunable(5, ge=0, le=100)
    """Entries that come up together with them."""


Spread = Callable[[Sequence[str]], Sequence[tuple[str, float]]]
"""From entries to the entries associated with them, each with its activation, the strongest first."""

ORIGINS = 10
"""Entries from which activation spreads."""
TOGETHER = 0.75
"""Activation from which on an entry concerns a topic by coming up with it alone: after three times together."""
SHARED = 2
"""Words with a content by which an entry concerns the topic that comes up with it less often."""
CHARS_PER_TOKEN = 6
"""Characters of a brief for each token of what is quoted for it: four, and room for what is new and associated."""
_FINDING, _EXCERPT = 400, 200  # characters of a line of the dossier, and of what is new or associated
_SHARES: Mapping[str, float] = {
    HEADINGS["decided"]: 0.3,
    "": 0.6,
    HEADINGS["now"]: 0.6,
    HEADINGS["open"]: 0.7,
    HEADINGS["done"]: 0.75,
    "Contradictions:": 0.8,
    "Recently:": 0.9,
    HEADINGS["documents"]: 0.95,
    "Together with this:": 1.0,
    HEADINGS["earlier"]: 1.0,
}
"""The parts of a brief in order, and how far of its room each may reach; what one leaves the next may use."""


@dataclass(frozen=True, slots=True)
class Briefs:
    """Makes briefs; without ``spread`` they have no associations."""

    dossiers: Dossiers
    spread: Spread | None = None

    def brief(self, topic: str, now: datetime) -> Brief:
        """Return a bounded text with citations: what is known of a topic, what is new, and what is associated with it.

        The dossier of a registered topic is refreshed if it is due. Any other topic is not registered by this call; its
        sources are quoted for the brief alone.
        """
        dossier = self.dossiers.known(topic, now, self.settings.max_chars // CHARS_PER_TOKEN)
        cited = self._entries(dossier.sources)
        known = self._known(dossier, cited, now)
        told = any(shouts(finding.text) for finding in dossier.findings)
        recent = one_shout(self._recent(dossier, known, now), told=told)
        told = told or any(one.is_loud for one in recent)
        associated = one_shout(self._associated(dossier, recent, known, now), told=told)
        text = _composed(dossier, recent, associated, self.settings.max_chars - MARKED)
        new, near = _apart(recent), _apart(associated)
        offered = suggestions(
            known.reader,
            [*new, *cited.values(), *near],
            WRITTEN,
            each=self.dossiers.settings[CapsuleTuning].suggestions,
        )
        return Brief(
            dossier.topic, self.dossiers.writer.delimiters.text(text), dossier, tuple(new), tuple(near), tuple(offered)
        )

    @property
    def settings(self) -> BriefTuning:
        return self.dossiers.settings[BriefTuning]

    def _known(self, dossier: Dossier, cited: Mapping[str, Entry], now: datetime) -> Material:
        """Return what is known of the topic, with what was said of it lately."""
        where = active(now, kinds=PRIMARY_KINDS, since=now - timedelta(days=self.settings.days))
        near = self.dossiers.sources.near(dossier.topic, where, now, limit=self.settings.recent)
        return self.dossiers.sources.of(dossier.topic, now, [*cited.values(), *(hit.entry for hit in near)])

    def _recent(self, dossier: Dossier, known: Material, now: datetime) -> list[Sentence]:
        """Return what entries of the last days state of the topic, that the dossier does not cite, newest first."""
        since, told = now - timedelta(days=self.settings.days), {*dossier.sources}
        today = local(now, self.dossiers.settings.zone).date()
        fresh = [one for one in known.standing(today) if one.entry.occurred_at >= since]
        said = [one for one in fresh if one.entry.id not in told and one.part not in ("earlier", "documents")]
        return said[: self.settings.recent]

    def _associated(
        self, dossier: Dossier, recent: Sequence[Sentence], known: Material, now: datetime
    ) -> list[Sentence]:
        """Return what entries state that came up together with the topic, and concern it."""
        origins = dict.fromkeys([*(one.entry.id for one in recent), *dossier.sources])
        if self.spread is None or not origins:
            return []
        passed = origins.keys() | {entry.id for entry in known.entries}
        reached = {id_: activation for id_, activation in self.spread(list(origins)[:ORIGINS]) if id_ not in passed}
        found = self._entries([*reached])
        there = [found[id_] for id_ in reached if id_ in found and _is_active(found[id_], now)]
        shown = [finding.text for finding in dossier.findings] + [one.text for one in recent]
        today = local(now, self.dossiers.settings.zone).date()
        words = frozenset(word for text in [dossier.topic, *shown] for word in stems(text))
        said = [
            one
            for entry in there
            for one in standing(known.reader, [entry], (), today)[:1]
            if reached[entry.id] >= TOGETHER or len(words & one.stems) >= SHARED
        ]
        return [one for one in said if one.part != "earlier"][: self.settings.associated]

    def _entries(self, ids: Sequence[str]) -> dict[str, Entry]:
        found = self.dossiers.storage.get(self.dossiers.scope, ids)
        zone = self.dossiers.settings.zone
        return {id_: localised(without_citations(without_secrets(entry)), zone) for id_, entry in found.items()}


def _apart(said: Iterable[Sentence]) -> list[Entry]:
    return list({one.entry.id: one.entry for one in said}.values())


def _is_active(entry: Entry, now: datetime) -> bool:
    """Return whether an entry is an original memory that is valid and not archived."""
    active = entry.tier is None or entry.tier.state(now) in ("warm", "cold")
    return entry.kind in PRIMARY_KINDS and active and (entry.valid_until is None or entry.valid_until > now)


def _composed(dossier: Dossier, recent: Iterable[Sentence], associated: Iterable[Sentence], max_chars: int) -> str:
    parts = {heading: [f"- {_cut(found).line}" for found in some] for heading, some in by_part(dossier.findings)}
    parts["Contradictions:"] = [
        f"- {_cut(found.newer)}; earlier: {_cut(found.older)}" for found in dossier.contradictions
    ]
    parts["Recently:"] = [f"- {_cut(found, _EXCERPT).line}" for found in findings(recent)]
    parts["Together with this:"] = [f"- {_cut(found, _EXCERPT).line}" for found in findings(associated)]
    text = ""
    for heading, share in _SHARES.items():
        fitting = list(_fitting(parts.get(heading, ()), int(max_chars * share) - len(text) - len(heading) - 3))
        if fitting:
            part = "\n".join([heading, *fitting] if heading else fitting)
            text = f"{text}\n\n{part}" if text else part
    return text


def _fitting(lines: Iterable[str], room: int) -> Iterator[str]:
    """Yield the lines that fit whole, since a cut line would lose its citation."""
    for line in lines:
        if len(line) + 1 <= room:
            room -= len(line) + 1
            yield line


def _cut(finding: Finding, most: int = _FINDING) -> Finding:
    return replace(finding, text=shortened(finding.text, most))
