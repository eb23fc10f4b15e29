"""Dossiers as documents."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tidal_plugins.model.dossier import Dossier
from tidal_plugins.storage.base import Document

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def to_value(dossier: Dossier) -> dict[str, Any]:
    """Return the value of the document that holds a dossier."""
    left_out = {"version", "checked_at", "problem"}  # they change without a new version
    value: dict[str, Any] = _dossiers().dump_python(dossier, mode="json", exclude=left_out)
    return value


def from_document(document: Document, topic: str) -> Dossier:
    """Return the dossier that a document holds."""
    return replace(_dossiers().validate_python(document.value), topic=topic, version=document.version)


@cache
def _dossiers() -> TypeAdapter[Dossier]:
    from pydantic import TypeAdapter  # takes a while to import

    return TypeAdapter(Dossier)
