"""Dossiers as documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidal_plugins.model.clock import from_micros, to_micros
from tidal_plugins.model.dossier import Contradiction, Dossier, Finding
from tidal_plugins.storage.base import Document


def to_value(dossier: Dossier) -> dict[str, Any]:
    return {
        "topic": dossier.topic,
        "entry": dossier.entry,
        "made_by": dossier.made_by,
        "at": to_micros(dossier.updated_at) if dossier.updated_at else 0,
        "findings": [_finding_to_value(finding) for finding in dossier.findings],
        "contradictions": [
            [item.kind, _finding_to_value(item.newer), _finding_to_value(item.older)] for item in dossier.contradictions
        ],
    }


def _finding_to_value(finding: Finding) -> list[Any]:
    return [finding.text, list(finding.sources), list(finding.citations)]


def from_document(document: Document, topic: str) -> Dossier:
    value = document.value
    return Dossier(
        topic=topic,
        findings=tuple(map(_finding, value["findings"])),
        contradictions=tuple(Contradiction(kind, _finding(a), _finding(b)) for kind, a, b in value["contradictions"]),
        version=document.version,
        updated_at=from_micros(value["at"]),
        made_by=value["made_by"],
        entry=value["entry"],
    )


def _finding(value: Sequence[Any]) -> Finding:
    text, sources, citations = value
    return Finding(text, tuple(sources), tuple(citations))
