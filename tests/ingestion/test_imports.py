"""Imports: what is found at once, and what follows in the jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tidal_plugins import Entry, Exchange, Message, Settings, TidalMemory
from tidal_plugins.testing import NOON

QUIET = Settings(graph={"background": False, "enabled": False})
SAID = (
    "I am allergic to peanuts.",
    "I love this wonderful, great day!!!",
    "This is the third time that the build is broken, damn!",
    "Thanks!",
    "We moved the standup to ten o'clock.",
    "Bananas are yellow.",
)


def history(turns: int) -> list[Exchange]:
    return [
        Exchange(
            (Message("user", f"{SAID[n % len(SAID)]} ({n})"), Message("assistant", f"Noted as item {n}.")),
            "history",
            f"turn-{n}",
            NOON - timedelta(days=9, minutes=-n),
        )
        for n in range(turns)
    ]


def entries_of(memory: TidalMemory) -> list[Entry]:
    return memory.entries.list(limit=1000, kinds=["conversation"])


def test_turns_of_an_import_are_found_at_once_and_stats_tell_how_many_wait(open_memory: Any) -> None:
    memory = open_memory(settings=QUIET)
    memory.record_many(history(40))
    assert memory.recall("Who is allergic to peanuts?", limit=1)[0].entry.text.startswith(SAID[0])
    assert memory.stats().waiting == 40
    memory.supersessions.find()
    assert memory.stats().waiting == 0


def test_an_import_ends_as_turns_that_are_recorded_one_by_one(open_memory: Any) -> None:
    whole, single = open_memory(settings=QUIET), open_memory("single.db", settings=QUIET)
    whole.record_many(history(40))
    for turn in history(40):
        single.record_many([turn])
    assert {one.affect for one in entries_of(whole)} == {None}
    for memory in (whole, single):
        memory.supersessions.find()

    def seen(memory: TidalMemory) -> list[Any]:
        return [(one.text, one.importance, one.affect, one.tier, one.tags) for one in entries_of(memory)]

    assert seen(whole) == seen(single)
    assert whole.affect.state() == single.affect.state()


def test_what_was_used_or_forgotten_before_its_appraisal_stays_so(open_memory: Any) -> None:
    memory = open_memory(settings=QUIET)
    memory.record_many(history(40))
    used, gone = (memory.recall(text, limit=1)[0].entry for text in (SAID[5], SAID[4]))
    memory.record("What colour are bananas?", f"Yellow [ep:{used.episode}].", surfaced=[used.id])
    tier = memory.get(used.id).tier
    memory.forget(gone.id)
    memory.supersessions.find()
    assert memory.get(used.id).tier == tier != used.tier
    assert memory.get(used.id).affect is not None
    assert gone.id not in {one.id for one in entries_of(memory)}


def test_a_turn_that_goes_on_before_its_appraisal_is_read_once(open_memory: Any) -> None:
    memory = open_memory(settings=QUIET)
    turns = history(40)
    memory.record_many(turns)
    more = (*turns[0].messages, Message("user", "And I hate walnuts!", "more"))
    memory.record_many([Exchange(more, "history", "turn-0", turns[0].occurred_at)])
    memory.supersessions.find()
    assert memory.stats().waiting == 0
    assert all(one.affect for one in entries_of(memory))
