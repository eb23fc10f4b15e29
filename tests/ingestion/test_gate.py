from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.inside import storage_of
from tidal_plugins import Settings, TidalMemory
from tidal_plugins.ingestion.gate import admitted
from tidal_plugins.testing import NOON, FrozenClock

EXPIRY = NOON + timedelta(days=14)
FILLER = "the small talk of the day goes on"


@pytest.fixture
def gated(open_memory: Any) -> TidalMemory:
    """A memory with the gate on, in which something near to ``FILLER`` is known."""
    memory: TidalMemory = open_memory(settings=Settings(recording={"gate": True}))
    memory.remember(FILLER, importance=9)
    return memory


def test_without_the_gate_nothing_is_decided(memory: TidalMemory) -> None:
    assert memory.remember("ok", importance=1).admission is None
    assert memory.record("ok thanks").admissions == {}
    assert admitted(storage_of(memory), memory.scope) == (0, 0)


def test_what_is_trivial_and_known_expires(gated: TidalMemory, clock: FrozenClock) -> None:
    note = gated.remember(f"{FILLER} again", importance=2)
    assert note.admission
    assert note.admission.ephemeral
    assert note.admission.expires_at == EXPIRY
    assert note.admission.salience == pytest.approx(0.1 + 0.3 * note.admission.surprise)
    assert note.id in gated.recall(FILLER).ids
    assert (note.tier.state(gated.now()), note.tier.state(EXPIRY)) == ("warm", "expired")
    clock.set(EXPIRY)
    assert note.id not in gated.recall(FILLER).ids
    assert note.id in gated.recall(FILLER, include_archived=True).ids
    assert gated.get(note.id) == note


def test_the_decision_stays_with_the_entry(open_memory: Any, tmp_path: Any) -> None:
    settings = Settings(recording={"gate": True})
    with open_memory(path := tmp_path / "gated.db", settings=settings) as memory:
        memory.remember(FILLER, importance=9)
        trivial = memory.remember(f"{FILLER} again", importance=2)
        memory.export(tmp_path / "export")
    with open_memory(path) as memory, open_memory(tmp_path / "loaded.db") as loaded:
        loaded.load(tmp_path / "export")
        for each in (memory, loaded):
            kept, expiring = each.entries.list()
            assert expiring.admission == each.get(trivial.id).admission == trivial.admission
            assert kept.admission.why == "an importance of 9 is at least 8"
            assert expiring.admission.why.endswith("is below 0.35")


def test_a_turn_tells_what_became_of_each_entry(gated: TidalMemory, clock: FrozenClock) -> None:
    turn = gated.record(FILLER, "Noted: nobody deploys the parser on Fridays.")
    user, agent = (turn.admissions[id_] for id_ in turn.entries)
    assert user.ephemeral
    assert not agent.ephemeral
    assert agent.importance > user.importance
    assert gated.episodes[turn.id] == turn
    clock.set(EXPIRY)
    assert gated.episodes[turn.id].query == FILLER
    assert turn.entries[0] not in gated.recall(FILLER).ids


def test_use_lifts_the_expiry_and_mere_surfacing_does_not(gated: TidalMemory, clock: FrozenClock) -> None:
    turn = gated.record(FILLER)
    id_ = turn.entries[0]
    gated.record("hm?", "No idea.", surfaced=[id_])
    assert gated.get(id_).tier.expires_at == EXPIRY
    gated.record("hm?", f"See [{gated.get(id_).citation}].", surfaced=[id_])
    assert gated.get(id_).tier.expires_at is None
    clock.set(EXPIRY)
    assert id_ in gated.recall(FILLER).ids


def test_use_lifts_the_expiry_of_what_does_not_decay(gated: TidalMemory, clock: FrozenClock) -> None:
    note = gated.remember(f"{FILLER} again", importance=2)
    gated.record("hm?", f"See [{note.citation}].", surfaced=[note.id])
    clock.advance(days=1000)
    hit = next(hit for hit in gated.recall(FILLER) if hit.id == note.id)
    assert hit.why.factors["strength"] == pytest.approx(1)


def test_the_ephemeral_share_is_counted_once_per_entry(gated: TidalMemory) -> None:
    for _ in range(2):
        gated.remember(f"{FILLER} again", importance=2)
        gated.record(FILLER, id="t")
    counts = admitted(storage_of(gated), gated.scope)
    assert counts == (1, 2)
    assert counts.share == pytest.approx(2 / 3)
    assert admitted(storage_of(gated), ("elsewhere",)).share == 0
