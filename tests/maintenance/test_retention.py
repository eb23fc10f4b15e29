"""Retention: rules say how long what is kept; maintenance forgets the rest, for good, and reports it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tidal_plugins import Forgotten, Settings
from tidal_plugins.testing import FrozenClock

OLD = "The lantern at the north pier flickers."


def keeping(*rules: dict[str, Any]) -> Settings:
    return Settings(retention=rules)  # type: ignore[arg-type]


def test_what_is_too_old_goes_with_its_bytes_and_is_reported(
    open_memory: Any, clock: FrozenClock, tmp_path: Path
) -> None:
    memory = open_memory(settings=keeping({"days": 30}))
    turn = memory.record(OLD, "Noted.", thread="a")
    note = memory.remember("The lantern was forged in Delft.", kind="kb")
    clock.advance(days=29)
    young = memory.record("The harbour master is called Pia.", thread="b")
    assert memory.maintenance.expire().ids == ()
    clock.advance(days=2)
    looked = memory.maintenance.expire(dry_run=True)
    assert (looked.forgotten, looked.dry_run) == ({"conversation": 1, "kb": 1}, True)
    assert memory.get(note.id).text.startswith("The lantern"), "a dry run only looks"
    done = memory.maintenance.expire()
    assert (set(done.ids), done.forgotten) == ({turn.id, note.id}, looked.forgotten)
    assert set(looked.ids) == set(done.ids)
    for gone in (turn.id, *turn.entries, note.id):
        with pytest.raises(Forgotten):
            memory.get(gone)
    assert memory.episodes[young.id].query.startswith("The harbour master")
    assert memory.maintenance.expire().ids == ()
    memory.close()
    assert not [file for file in tmp_path.iterdir() if b"flickers" in file.read_bytes()]


def test_the_scopes_below_go_along_when_asked(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=keeping({"days": 30, "scope": ["user"]}, {"days": 90, "scope": ["user", "43"]}))
    users = [memory.scoped("user", name) for name in ("42", "43", "44")]
    for user in (memory, *users):
        user.record(OLD)
    clock.advance(days=31)
    everyone = memory.scoped("user")
    assert everyone.maintenance.expire().ids == ()
    assert everyone.maintenance.expire(below=True, dry_run=True).forgotten == {"conversation": 2}
    assert everyone.maintenance.expire(below=True).forgotten == {"conversation": 2}
    assert [len(user.episodes.list()) for user in (memory, *users)] == [1, 0, 1, 0]


def test_kinds_and_scopes_have_rules_of_their_own_and_without_one_nothing_goes(
    open_memory: Any, clock: FrozenClock
) -> None:
    rules = [{"days": 10, "kinds": ["conversation"], "scope": ["user"]}, {"days": 100, "kinds": ["kb"]}]
    memory = open_memory(settings=keeping(*rules))
    anna, team = memory.scoped("user", "anna"), memory.scoped("team")
    for each in (anna, team):
        each.record(OLD)
        each.remember("The lantern was forged in Delft.", kind="kb")
        each.remember("Polish the lens with vinegar.", kind="skill")
    clock.advance(days=11)
    assert anna.maintenance.expire().forgotten == {"conversation": 1}
    assert team.maintenance.expire().forgotten == {}
    clock.advance(days=100)
    assert anna.maintenance.expire().forgotten == team.maintenance.expire().forgotten == {"kb": 1}
    clock.advance(days=10_000)
    assert anna.maintenance.expire().forgotten == {}, "skills have no rule"
    assert len(team.episodes.list()) == 1, "nor do conversations of the team"


def test_the_longest_rule_counts_and_a_run_of_maintenance_enforces_it(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=keeping({"days": 10}, {"days": 50, "kinds": ["conversation"], "scope": ["default"]}))
    memory.record(OLD)
    memory.remember("The lantern was forged in Delft.", kind="kb")
    clock.advance(days=11)
    assert memory.maintenance.expire().forgotten == {"kb": 1}
    clock.advance(days=40)
    report = memory.maintenance.run()
    assert not report.errors
    assert report.retention
    assert report.retention.forgotten == {"conversation": 1}
    assert not memory.episodes.list()


def test_a_fact_that_is_kept_longer_keeps_what_it_was_taken_from(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=keeping({"days": 10, "kinds": ["conversation"]}))
    memory.facts["north pier"] = "open"
    turn = memory.record("The north pier is closed.", thread="a")
    memory.record(OLD, thread="b")
    memory.facts.resolve(memory.facts.conflicts()[0].id, keep="claim")
    clock.advance(days=11)
    report = memory.maintenance.expire()
    assert (report.forgotten, report.kept) == ({"conversation": 1}, (turn.id,))
    assert memory.facts["north pier"] == "closed"
    memory.facts.forget("north pier")
    assert memory.maintenance.expire().ids == (turn.id,)


@pytest.mark.parametrize("rule", [{}, {"days": 0}, {"days": 5, "kinds": ["dossier"]}, {"days": 5, "age": 3}])
def test_a_rule_that_makes_no_sense_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        keeping(rule)


def test_a_turn_that_goes_on_is_as_old_as_its_last_message(open_memory: Any, clock: FrozenClock) -> None:
    memory = open_memory(settings=keeping({"days": 10}))
    memory.record(OLD, id="t", thread="a")
    clock.advance(days=8)
    memory.record(OLD, "I will look at it.", id="t", thread="a")
    clock.advance(days=8)
    assert memory.maintenance.expire().ids == ()
    clock.advance(days=3)
    assert memory.maintenance.expire().forgotten == {"conversation": 1}
