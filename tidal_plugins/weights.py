"""All groups of weights, by which the names in ``Settings.tuning`` are checked."""

from __future__ import annotations

import difflib
from dataclasses import Field
from typing import Any

from tidal_plugins.affect.state import AffectTuning
from tidal_plugins.associations.store import AssociationTuning
from tidal_plugins.compaction.files import CompactionTuning
from tidal_plugins.dossiers.brief import BriefTuning
from tidal_plugins.dossiers.sections import CapsuleTuning
from tidal_plugins.dossiers.seeds import SeedTuning
from tidal_plugins.dossiers.sources import DossierTuning
from tidal_plugins.errors import InvalidInput
from tidal_plugins.facts.invalidation import SupersessionTuning
from tidal_plugins.graph.reader.budget import ReaderTuning
from tidal_plugins.graph.stored import GraphTuning
from tidal_plugins.ingestion.gate import GateTuning
from tidal_plugins.ingestion.writer import IngestionTuning
from tidal_plugins.jobs.queue import JobTuning
from tidal_plugins.maintenance.recurring import ConsolidationTuning
from tidal_plugins.presence.ticks import PresenceTuning
from tidal_plugins.retrieval.ongoing import OngoingTuning
from tidal_plugins.retrieval.weights import HopTuning, PeerTuning, RecallTuning, RerankTuning, WhisperTuning
from tidal_plugins.scoring.decay import DecayTuning, UseTuning
from tidal_plugins.sessions.ledger import SignalTuning
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown
from tidal_plugins.tuning import Weights, weights_of

GROUPS: tuple[type[Weights], ...] = (
    IngestionTuning, DecayTuning, UseTuning, GateTuning, GraphTuning, ReaderTuning, SupersessionTuning, AffectTuning,
    JobTuning, RecallTuning, OngoingTuning, RerankTuning, HopTuning, PeerTuning, WhisperTuning, AssociationTuning,
    SignalTuning, ConsolidationTuning, SeedTuning, CompactionTuning, DossierTuning, CapsuleTuning, BriefTuning,
    PresenceTuning,
)  # fmt: skip

_NEAR = 3


def weights() -> dict[str, Field[Any]]:
    """Return each weight by its name, with its default and its bounds."""
    return {f"{kind.group}.{name}": one for kind in GROUPS for name, one in weights_of(kind).items()}


def check(settings: Settings) -> None:
    """Raise ``InvalidInput`` for a name in ``tuning`` that no weight has, and for a value that its weight cannot
    have."""
    known = weights()
    for name in settings.tuning:
        if name not in known:
            near = difflib.get_close_matches(name, known, _NEAR, 0.5)
            near += [one for one in known if one.endswith(f".{name.rpartition('.')[2]}") and one not in near][:_NEAR]
            hint = f"the nearest names are {', '.join(near)}" if near else "the reference lists all names"
            raise InvalidInput(f"tuning= names no weight {shown(name)}: {hint}")
    for kind in GROUPS:
        settings[kind]
