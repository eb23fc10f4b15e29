"""The weights and bounds inside the mechanisms: no part of the public interface.

``Tuning`` is a ``Settings`` with every number there is, so that a benchmark can change one:
``TidalMemory(path, settings=Tuning(recall={"keywords": 0.2}))``. Each value has a measurement or a source behind it.
"""

from __future__ import annotations

from pydantic import Field

from tidal_plugins.errors import InvalidInput
from tidal_plugins.settings import Group, Settings
from tidal_plugins.shown import shown
from tidal_plugins.tuning.presence import PresenceTuning
from tidal_plugins.tuning.reading import AssociationTuning, HopTuning, RecallTuning, SignalTuning, WhisperTuning
from tidal_plugins.tuning.summaries import (
    BriefTuning,
    CapsuleTuning,
    CompactionTuning,
    ConsolidationTuning,
    DossierTuning,
)
from tidal_plugins.tuning.writing import (
    AffectTuning,
    DecayTuning,
    FactTuning,
    GateTuning,
    GraphTuning,
    IngestionTuning,
    SupersessionTuning,
    UseTuning,
)

__all__ = [
    "AffectTuning",
    "AssociationTuning",
    "BriefTuning",
    "CapsuleTuning",
    "CompactionTuning",
    "ConsolidationTuning",
    "DecayTuning",
    "DossierTuning",
    "FactTuning",
    "GateTuning",
    "GraphTuning",
    "HopTuning",
    "IngestionTuning",
    "PresenceTuning",
    "RecallTuning",
    "SignalTuning",
    "SupersessionTuning",
    "Tuning",
    "UseTuning",
    "WhisperTuning",
]


class Tuning(Settings):
    """All settings and all weights."""

    ingestion: IngestionTuning = Field(default_factory=IngestionTuning.model_construct)
    decay: DecayTuning = Field(default_factory=DecayTuning.model_construct)
    use: UseTuning = Field(default_factory=UseTuning.model_construct)
    gate: GateTuning = Field(default_factory=GateTuning.model_construct)
    facts: FactTuning = Field(default_factory=FactTuning.model_construct)
    graph: GraphTuning = Field(default_factory=GraphTuning.model_construct)
    supersession: SupersessionTuning = Field(default_factory=SupersessionTuning.model_construct)
    affect: AffectTuning = Field(default_factory=AffectTuning.model_construct)
    recall: RecallTuning = Field(default_factory=RecallTuning.model_construct)
    hops: HopTuning = Field(default_factory=HopTuning.model_construct)
    whisper: WhisperTuning = Field(default_factory=WhisperTuning.model_construct)
    associations: AssociationTuning = Field(default_factory=AssociationTuning.model_construct)
    consolidation: ConsolidationTuning = Field(default_factory=ConsolidationTuning.model_construct)
    compaction: CompactionTuning = Field(default_factory=CompactionTuning.model_construct)
    dossier: DossierTuning = Field(default_factory=DossierTuning.model_construct)
    capsule: CapsuleTuning = Field(default_factory=CapsuleTuning.model_construct)
    brief: BriefTuning = Field(default_factory=BriefTuning.model_construct)
    presence: PresenceTuning = Field(default_factory=PresenceTuning.model_construct)
    signals: SignalTuning = Field(default_factory=SignalTuning.model_construct)

    @classmethod
    def of(cls, settings: Settings | None) -> Tuning:
        """Return settings with the default of everything that they do not name. Raises ``InvalidInput``."""
        if settings is None:
            return cls.model_construct()
        if isinstance(settings, cls):
            return settings
        if not isinstance(settings, Settings):
            raise InvalidInput(
                f"settings= takes Settings, such as Settings(recall={{'limit': 5}}), got {shown(settings)}"
            )
        return cls(**_plain(settings), **_groups(settings))


def _plain(settings: Settings) -> dict[str, object]:
    """Return the fields that are no groups, by their names."""
    fields = {name: getattr(settings, name) for name in type(settings).model_fields}
    return {name: value for name, value in fields.items() if not isinstance(value, Group)}


def _groups(settings: Settings) -> dict[str, dict[str, object]]:
    """Return the fields of each group, by its name."""
    groups = {name: getattr(settings, name) for name in type(settings).model_fields}
    return {
        name: {field: getattr(group, field) for field in type(group).model_fields}
        for name, group in groups.items()
        if isinstance(group, Group)
    }
