"""Every value that a mechanism goes by: what ``Settings`` says, and the weights that ``Settings.tuning`` names.

A weight has a measurement or a source behind it. Its name is that of its group and its own: ``decay.floor``.
"""

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Self, cast
from zoneinfo import ZoneInfo

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.session import Policy
from tidal_plugins.settings import ModelSettings, RetentionRule, Settings, StorageSettings
from tidal_plugins.shown import shown
from tidal_plugins.tuning.presence import PresenceTuning
from tidal_plugins.tuning.reading import (
    AssociationTuning,
    HopTuning,
    PeerTuning,
    ReaderTuning,
    RecallTuning,
    RerankTuning,
    SignalTuning,
    WhisperTuning,
)
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
    "PeerTuning",
    "PresenceTuning",
    "ReaderTuning",
    "RecallTuning",
    "RerankTuning",
    "SignalTuning",
    "SupersessionTuning",
    "Tuning",
    "UseTuning",
    "WhisperTuning",
]

_PLACES = {
    "recording.max_chars": "ingestion.max_chars",
    "recording.secrets": "ingestion.secrets",
    "recording.gate": "gate.enabled",
    "graph.supersession": "supersession.enabled",
    "models.calls_per_day": "reader.calls_per_day",
    "models.tokens_per_day": "reader.tokens_per_day",
    "recall.hops": "hops.hops",
}
"""Settings that stand in another group here."""

_NEAR = 3


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """All values, by group."""

    settings: Settings
    """The settings that they are of."""
    time_zone: str
    retention: tuple[RetentionRule, ...]
    policies: Mapping[str, Policy]
    storage: StorageSettings
    models: ModelSettings
    ingestion: IngestionTuning
    decay: DecayTuning
    use: UseTuning
    gate: GateTuning
    facts: FactTuning
    graph: GraphTuning
    reader: ReaderTuning
    supersession: SupersessionTuning
    affect: AffectTuning
    recall: RecallTuning
    rerank: RerankTuning
    hops: HopTuning
    peers: PeerTuning
    whisper: WhisperTuning
    associations: AssociationTuning
    consolidation: ConsolidationTuning
    compaction: CompactionTuning
    dossier: DossierTuning
    capsule: CapsuleTuning
    brief: BriefTuning
    presence: PresenceTuning
    signals: SignalTuning

    @property
    def zone(self) -> ZoneInfo:
        """Return the time zone."""
        return ZoneInfo(self.time_zone)

    @classmethod
    def of(cls, settings: Settings | None = None) -> Self:
        """Return the values of settings (default: those of ``Settings()``). Raises ``InvalidInput``."""
        if settings is None:
            settings = Settings.model_construct()  # validators take milliseconds to build, and defaults need none
        if not isinstance(settings, Settings):
            raise InvalidInput(
                f"settings= takes Settings, such as Settings(recall={{'limit': 5}}), got {shown(settings)}"
            )
        given = {"signals": {"types": settings.signals}} | {
            name: dict[str, Any]() for name in _GROUPS if name != "signals"
        }
        for place, value in [*_set(settings), *_tuned(settings.tuning)]:
            group, _, name = place.partition(".")
            given[group][name] = value
        groups = {name: kind(**given[name]) for name, kind in _GROUPS.items()}
        whole = {name: getattr(settings, name) for name in ("time_zone", "retention", "policies", "storage", "models")}
        return cls(settings=settings, **whole, **groups)


_GROUPS: dict[str, type[Any]] = {
    one.name: cast(type[Any], one.type) for one in fields(Tuning) if hasattr(one.type, "__dataclass_fields__")
}


def weights() -> dict[str, Field[Any]]:
    """Return each weight by its name, with its default and its bounds."""
    return {
        f"{group}.{one.name}": one
        for group, kind in _GROUPS.items()
        for one in fields(kind)
        if one.default is not MISSING
    }


def _set(settings: Settings) -> list[tuple[str, Any]]:
    """Return the values that settings give to the groups here, each with its place."""
    named = [
        (_PLACES.get(f"{group}.{name}", f"{group}.{name}"), getattr(getattr(settings, group), name))
        for group in ("recording", "graph", "models", "recall", "whisper", "compaction", "presence")
        for name in type(getattr(settings, group)).model_fields
    ]
    return [(place, value) for place, value in named if place.partition(".")[0] in _GROUPS]


def _tuned(tuning: Mapping[str, Any]) -> list[tuple[str, Any]]:
    known = weights() if tuning else {}
    for name in tuning:
        if name not in known:
            near = difflib.get_close_matches(name, known, _NEAR, 0.5)
            near += [one for one in known if one.endswith(f".{name.rpartition('.')[2]}") and one not in near][:_NEAR]
            told = f"the nearest names are {', '.join(near)}" if near else "the reference lists all names"
            raise InvalidInput(f"tuning= names no weight {shown(name)}: {told}")
    return [(name, _checked(name, value, known[name])) for name, value in tuning.items()]


def _checked(name: str, value: Any, weight: Field[Any]) -> Any:
    """Return a value of the type of a weight's default, or raise ``InvalidInput``."""
    default, bounds = weight.default, weight.metadata
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(default):
        raise InvalidInput(f"tuning {name} must be a {type(default).__name__}, got {shown(value)}")
    if isinstance(value, str) and value not in bounds["among"]:
        raise InvalidInput(f"tuning {name} must be one of {', '.join(bounds['among'])}, got {shown(value)}")
    low, above, high, below = (bounds.get(bound) for bound in ("ge", "gt", "le", "lt"))
    if (
        (low is not None and value < low)
        or (above is not None and value <= above)
        or (high is not None and value > high)
        or (below is not None and value >= below)
    ):
        limits = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
        told = " and ".join(f"{limits[bound]} {limit}" for bound, limit in bounds.items())
        raise InvalidInput(f"tuning {name} must be {told}, got {shown(value)}")
    return value
