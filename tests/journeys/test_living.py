"""A memory over 320 days: what is used stays, what is not fades and is never lost, and no kill changes that."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import pytest

from tests.inside import contents, links, stored
from tests.journeys.conftest import Order
from tests.journeys.life import TOPICS, Life
from tidal_plugins import Entry

pytestmark = pytest.mark.slow

TURNS, REGULARS, DAYS, KILLS = 500, 4, 320, 50


def state(entry: Entry, now: datetime) -> str:
    assert entry.tier
    return entry.tier.state(now)


class Watcher:
    """Looks at the entries of the first day, used and not."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.used = {id_ for n in range(life.regulars) for id_ in life.first(n).entries}
        self.all = {entry.id for entry in self.entries("conversation")}

    def entries(self, *kinds: str, ids: Iterable[str] | None = None) -> list[Entry]:
        return stored(self.life.memory, *kinds, ids=ids)

    def states(self, ids: Iterable[str]) -> Counter[str]:
        return Counter(state(entry, self.life.clock()) for entry in self.entries(ids=ids))

    def ends(self) -> set[str]:
        return {end for source, target, _ in links(self.life.memory).values() for end in (source, target)}


def test_a_year_of_use(tmp_path: Path) -> None:
    with Life(tmp_path / "agent.db", turns=TURNS, regulars=REGULARS) as life:
        life.begin()
        watch = Watcher(life)
        unused = watch.all - watch.used
        assert len(watch.all) == 2 * TURNS
        assert watch.all <= watch.ends()
        expected = {19: "warm", 20: "cold", 219: "cold", 220: "archived", DAYS: "archived"}
        facts: list[str] = []
        for day in range(1, DAYS + 1):
            report = life.live(day)
            assert report.errors == ()
            facts += report.facts
            if day in expected:
                assert watch.states(unused) == {expected[day]: len(unused)}, day
                assert watch.states(watch.used) == {"warm": len(watch.used)}, day
            if day == 20:
                assert all(e.tier and e.tier.anchored_at == e.tier.cold_at for e in watch.entries(ids=unused))
            if day == 91:
                assert not watch.ends() & unused, "0.95^91 is below 0.01"
        assert len(facts) == 1
        assert watch.all <= {entry.id for entry in watch.entries("conversation")}, "none is deleted"
        assert not watch.ends() & unused
        assert watch.used <= watch.ends()
        check_dossiers(life, watch)
        check_return(life, watch)


def check_dossiers(life: Life, watch: Watcher) -> None:
    current = life.memory.dossiers.list()
    assert sorted(dossier.topic for dossier in current) == sorted(TOPICS)
    assert all(dossier and dossier.version >= 1 for dossier in current)
    assert {entry.id for entry in watch.entries("dossier")} == {dossier.entry for dossier in current}


def check_return(life: Life, watch: Watcher) -> None:
    """What is archived comes back when it is asked for and used."""
    memory, number = life.memory, TURNS - 1
    sleeping = life.first(number).entries
    assert not set(memory.recall(f"number{number} folder{number}").ids) & set(sleeping)
    assert set(memory.recall(f"number{number} folder{number}", include_archived=True).ids[:2]) == set(sleeping)
    assert watch.states(sleeping) == {"archived": 2}
    life.use(number, "of return")
    assert watch.states(sleeping) == {"warm": 2}
    assert set(memory.recall(f"number{number} folder{number}").ids[:4]) >= set(sleeping)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_year_that_was_killed_fifty_times_ends_the_same(tmp_path: Path, order: Order) -> None:
    whole, killed, chance = tmp_path / "whole.db", tmp_path / "killed.db", random.Random(5)
    with Life(whole, turns=60, regulars=3) as life:
        life.begin()
    shutil.copy(whole, killed)  # closed: nothing of it stands elsewhere
    assert order(("live", str(whole), ""))[0][-1] == "day 320"
    reached = []
    for kill in range(KILLS):
        # The first day that it lives is the last one again: two make sure that it goes on, however busy the machine is.
        order(("live", str(killed), ""), after=chance.uniform(0.0, 0.08), said=kill % 3)
        with Life(killed, turns=60, regulars=3) as life:
            reached.append(life.last_day())
    assert order(("live", str(killed), ""))[0][-1] == "day 320"
    assert len(set(reached)) > 10, "else it was killed at the same places"
    assert contents(killed) == contents(whole)
