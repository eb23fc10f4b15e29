"""The time zone by which a moment belongs to a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from tidal_plugins import Settings
from tidal_plugins.testing import FrozenClock

BEFORE = datetime(2026, 3, 16, 22, 30, tzinfo=UTC)
"""Half an hour before midnight in Berlin, on a Monday, half past six in the evening in New York."""
AFTER = BEFORE + timedelta(hours=1)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo")


def settings(zone):
    return Settings(time_zone=zone, graph={"background": False})


@pytest.mark.parametrize("zone", ZONES)
def test_a_dossier_a_brief_and_a_capsule_tell_days_by_the_zone(open_memory, clock, zone):
    memory = open_memory(settings=settings(zone))
    for number, said in enumerate((BEFORE, AFTER)):
        scope, today = memory.scoped(str(number)), said.astimezone(ZoneInfo(zone)).day
        clock.set(said)
        scope.record("I paid the rent for the allotment yesterday.", "Noted.")
        dated = f"2026-03-{today}: I paid the rent for the allotment yesterday ({today - 1} March)."
        assert dated in str(scope.dossiers.refresh("allotment rent"))
        assert dated in str(scope.dossiers.brief("allotment rent"))
        assert dated in str(scope.capsule.read()) or "allotment" not in str(scope.capsule.read())


@pytest.mark.parametrize(("zone", "part"), [("UTC", "Open:"), ("Europe/Berlin", "Earlier plans:")])
def test_a_task_is_over_when_its_day_is_over_in_the_zone(open_memory, clock, zone, part):
    memory = open_memory(settings=settings(zone))
    clock.set(BEFORE - timedelta(hours=10))
    memory.record("I will file the permit for the greenhouse on 16 March.", "Noted.")
    clock.set(AFTER)
    assert part in str(memory.dossiers.refresh("greenhouse permit"))


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("UTC", "16 Mar", "16 Mar"),
        ("Europe/Berlin", "16 Mar", "17 Mar"),
        ("America/New_York", "16 Mar", "16 Mar"),
    ],
)
def test_a_whisper_dates_its_lines_by_the_zone(open_memory, clock, zone, before, after):
    for at, day in ((BEFORE, before), (AFTER, after)):
        memory = open_memory(f"{at:%H}.db", settings=settings(zone))
        clock.set(at)
        memory.record("The spare key of the boathouse is under the blue bucket.", "Noted.")
        clock.set(at + timedelta(days=10, hours=10))
        assert f"] {day}, " in memory.whisper("Where is the spare key of the boathouse?").text


@pytest.mark.parametrize(
    ("zone", "at", "yesterday"),
    [
        ("UTC", AFTER, "2026-03-15…2026-03-16"),
        ("Europe/Berlin", BEFORE, "2026-03-15…2026-03-16"),
        ("Europe/Berlin", AFTER, "2026-03-16…2026-03-17"),
    ],
)
def test_a_query_speaks_of_days_of_the_zone(open_memory, clock, zone, at, yesterday):
    memory = open_memory(settings=settings(zone))
    clock.set(at)
    assert memory.recall("What did I say yesterday?").times == (f"«yesterday» {yesterday}",)


def test_turns_keep_their_order_in_the_hour_that_comes_twice(open_memory, clock):
    memory = open_memory(settings=settings("Europe/Berlin"))
    for minute, colour in ((50, "green"), (70, "amber")):  # 2:50 in summer, then 2:10 in winter
        clock.set(datetime(2026, 10, 25, 0, tzinfo=UTC) + timedelta(minutes=minute))
        memory.record(f"The lamp of the weather station is {colour}.", "Noted.")
    clock.set(datetime(2026, 10, 25, 12, tzinfo=UTC))
    first = memory.dossiers.refresh("weather station lamp").findings[0]
    assert "amber" in first.text


def test_an_unknown_zone_is_refused():
    for name in ("Europe/Atlantis", "", "Europe", "../UTC", "CEST-2\x00"):
        with pytest.raises(ValidationError, match="time zone"):
            Settings(time_zone=name)


def test_a_frozen_clock_stands_still_until_told_otherwise() -> None:
    clock = FrozenClock()
    start = clock()
    assert clock() == start
    clock.advance(hours=3, microseconds=1)
    assert clock() - start == timedelta(hours=3, microseconds=1)
