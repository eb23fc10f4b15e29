"""A memory over 320 days: what is used stays, what is not fades and is never lost, and no kill changes that."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.inside import contents, links, stored
from tests.journeys.conftest import Order
from tests.journeys.life import TOPICS, Life


def test_a_year_of_use(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    every = bool(pytestconfig.getoption("all"))
    turns, states = (500 if every else 40), {19: "warm", 20: "cold", 219: "cold", 220: "archived", DAYS: "archived"}
    days = range(1, DAYS + 1) if every else sorted({*range(1, DAYS, 13), 8, 91, *states})
    with Life(tmp_path / "agent.db", turns=turns, regulars=REGULARS) as life:
        life.begin()
        memory = life.memory
        used = {id_ for n in range(REGULARS) for id_ in life.first(n).entries}
        all_ = {entry.id for entry in stored(memory, "conversation")}
        unused = all_ - used

        def seen(ids: Iterable[str]) -> Counter[str]:
            return Counter(entry.tier.state(life.clock()) for entry in stored(memory, ids=ids) if entry.tier)

        def ends() -> set[str]:
            return {end for source, target, _ in links(memory).values() for end in (source, target)}

        assert len(all_) == 2 * turns
        assert all_ <= ends()
        facts: list[str] = []
        for day in days:
            report = life.live(day)
            assert report.errors == ()
            facts += report.facts
            if day in states:
                assert seen(unused) == {states[day]: len(unused)}, day
                assert seen(used) == {"warm": len(used)}, day
            if day == 20:
                assert all(e.tier and e.tier.anchored_at == e.tier.cold_at for e in stored(memory, ids=unused))
            if day == 91:
                assert not ends() & unused, "0.95^91 is below 0.01"
        assert len(facts) == 1
        assert all_ <= {entry.id for entry in stored(memory, "conversation")}, "none is deleted"
        assert not ends() & unused
        assert used <= ends()
        current = memory.dossiers.list()
        assert sorted(dossier.topic for dossier in current) == sorted(TOPICS)
        assert all(dossier and dossier.version >= 1 for dossier in current)
        assert {entry.id for entry in stored(memory, "dossier")} == {dossier.entry for dossier in current}
        number, asked = turns - 1, f"number{turns - 1} folder{turns - 1}"
        sleeping = life.first(number).entries
        assert not set(memory.recall(asked).ids) & set(sleeping)
        assert set(memory.recall(asked, include_archived=True).ids[:2]) == set(sleeping)
        assert seen(sleeping) == {"archived": 2}
        life.use(number, "of return")
        assert seen(sleeping) == {"warm": 2}
        assert set(memory.recall(asked).ids[:4]) >= set(sleeping)


REGULARS, DAYS, KILLS = 4, 320, 30


@pytest.mark.slow
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
