"""The brief: what is happening with a topic, from its dossier to what comes up together with it [Capsule]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidal_plugins.dossiers.dossier import Dossiers
from tidal_plugins.dossiers.sources import PRIMARY_KINDS, without_citations
from tidal_plugins.dossiers.suggestions import suggestions
from tidal_plugins.english.excerpt import shortened
from tidal_plugins.model.capsule import WRITTEN
from tidal_plugins.model.dossier import Brief, Dossier, Finding
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.fence import MARKED, inert, marked
from tidal_plugins.retrieval.request import active
from tidal_plugins.retrieval.secrets import without_secrets
from tidal_plugins.tuning import BriefTuning

Spread = Callable[[Sequence[str]], Sequence[tuple[str, float]]]
"""From entries to the entries associated with them, each with its activation, the strongest first."""

ORIGINS = 10
"""Entries from which activation spreads."""
_EXCERPT = 200  # characters of one entry
_FINDING = 400
_SHARES = (("", 0.5), ("Contradictions:", 0.65), ("Recently:", 0.9), ("Together with this:", 1.0))
"""The parts of a brief, and how far of its room each may reach; what one leaves the next may use."""


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
        dossier = self.dossiers.known(topic, now)
        recent = self._recent(dossier, now)
        associated = self._associated(dossier, recent, now)
        text = _composed(dossier, recent, associated, self.settings.max_chars - MARKED)
        sources = [*recent, *self._entries(dossier.sources).values(), *associated]
        offered = suggestions(sources, WRITTEN, each=self.dossiers.settings.capsule.suggestions)
        return Brief(dossier.topic, marked(text), dossier, tuple(recent), tuple(associated), tuple(offered))

    @property
    def settings(self) -> BriefTuning:
        return self.dossiers.settings.brief

    def _recent(self, dossier: Dossier, now: datetime) -> list[Entry]:
        """Return entries about the topic that the dossier does not cite, newest first."""
        where = active(
            now,
            kinds=PRIMARY_KINDS,
            since=now - timedelta(days=self.settings.days),
            exclude=dossier.sources,
        )
        near = self.dossiers.sources.near(dossier.topic, where, now, limit=self.settings.recent)
        return sorted((hit.entry for hit in near), key=lambda entry: entry.occurred_at, reverse=True)

    def _associated(self, dossier: Dossier, recent: Iterable[Entry], now: datetime) -> list[Entry]:
        known = dict.fromkeys([*(entry.id for entry in recent), *dossier.sources])
        if self.spread is None or not known:
            return []
        reached = [id_ for id_, _ in self.spread(list(known)[:ORIGINS]) if id_ not in known]
        found = self._entries(reached)
        active_ones = [found[id_] for id_ in reached if id_ in found and _is_active(found[id_], now)]
        return active_ones[: self.settings.associated]

    def _entries(self, ids: Sequence[str]) -> dict[str, Entry]:
        found = self.dossiers.storage.get(self.dossiers.scope, ids)
        return {id_: without_secrets(entry) for id_, entry in found.items()}


def _is_active(entry: Entry, now: datetime) -> bool:
    """Return whether an entry is an original memory that is valid and not archived."""
    active = entry.tier is None or entry.tier.state(now) in ("warm", "cold")
    return entry.kind in PRIMARY_KINDS and active and (entry.valid_until is None or entry.valid_until > now)


def _composed(dossier: Dossier, recent: Iterable[Entry], associated: Iterable[Entry], max_chars: int) -> str:
    parts: list[list[str]] = [
        [f"- {_cut(finding)}" for finding in dossier.findings],
        [f"- {_cut(found.newer)}; earlier: {_cut(found.older)}" for found in dossier.contradictions],
        [_line(entry) for entry in recent],
        [_line(entry) for entry in associated],
    ]
    text = ""
    for (heading, share), lines in zip(_SHARES, parts, strict=True):
        fitting = list(_fitting(lines, int(max_chars * share) - len(text) - len(heading) - 3))
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


def _line(entry: Entry) -> str:
    said = shortened(inert(without_citations(entry).text), _EXCERPT)
    return f"- {entry.occurred_at:%Y-%m-%d}: {said} [{entry.citation}]"


def _cut(finding: Finding) -> Finding:
    return replace(finding, text=shortened(finding.text, _FINDING))
