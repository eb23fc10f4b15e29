"""Which statements take the place of others: floors of what is found, over labelled pairs, through the public door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.embedders import CachedEmbedder
from benchmarks.pairs import judged, load
from tests.tables import tables
from tidal_plugins import Message, OnnxEmbedder, Settings, TidalMemory
from tidal_plugins.testing import FrozenClock

TABLE = tables("facts/invalidation.jsonl")

PAIRS = Path(__file__).parents[2] / "benchmarks" / "data" / "pairs.jsonl"
FLOORS = {"pair": 0.8, "lookalike": 0.95}
"""The least share of the pairs, and of the look-alikes, that come out right by each way and door."""
LINKED, SPARED = 0.85, 0.9
"""The least share of the short pairs that get a link, and of the others that get none."""


@pytest.fixture
def memory(open_memory: Any) -> Any:
    return open_memory(settings=Settings(graph={"background": False}))


def links(memory: TidalMemory, clock: FrozenClock, *said: str | Message) -> list[str]:
    """Say one thing a day, and return what replaces what."""
    for one in said:
        clock.advance(days=1)
        memory.record(messages=[one if isinstance(one, Message) else Message("user", one)])
    memory.supersessions.find()
    return [f"{link.replacement.new} for {link.replacement.old}" for link in memory.supersessions.list()]


@pytest.mark.slow
def test_pairs_are_told_from_look_alikes() -> None:
    embedder = CachedEmbedder(OnnxEmbedder())
    right: dict[tuple[str, str, str], list[bool]] = {}
    for case in load(PAIRS):
        for way, door, good, _ in judged(case, embedder):
            right.setdefault((case["kind"], way, door), []).append(good)
    assert len(right) == 8
    shares = {key: sum(good) / len(good) for key, good in right.items()}
    assert all(share >= FLOORS[kind] for (kind, *_), share in shares.items()), shares


def test_short_pairs_get_a_link_and_others_none(memory: Any, clock: FrozenClock) -> None:
    rows = [json.loads(line) for line in Path(__file__).with_name("rivals.jsonl").read_text("utf-8").splitlines()]
    found = [
        bool(links(memory.scoped(str(place)), clock, earlier, later)) for place, (later, earlier, _) in enumerate(rows)
    ]
    linked = [one for one, (*_, rivals) in zip(found, rows, strict=True) if rivals]
    spared = [not one for one, (*_, rivals) in zip(found, rows, strict=True) if not rivals]
    assert sum(linked) >= LINKED * len(linked)
    assert sum(spared) >= SPARED * len(spared)


@pytest.mark.parametrize(("earlier", "later", "replaced"), TABLE["replaced"])
@pytest.mark.parametrize("way", ["turns", "notes"])
def test_notes_and_turns_take_part_alike(
    memory: Any, clock: FrozenClock, way: str, earlier: str, later: str, replaced: str
) -> None:
    say = memory.remember if way == "notes" else memory.record
    say(earlier)
    clock.advance(days=1)
    say(later)
    memory.supersessions.find()
    [link] = memory.supersessions.list()
    assert f"{link.replacement.new} for {link.replacement.old}" == replaced


def test_later_periods_do_not_replace_earlier_ones(memory: Any, clock: FrozenClock) -> None:
    said = ("The gas bill for January was 90 euros.", "The gas bill for February was 70 euros.")
    assert links(memory, clock, *said) == []
    assert not any(hit.why.superseded_by for hit in memory.recall("How much was the gas bill in January?"))


@pytest.mark.parametrize("later", [text for (text,) in TABLE["not so"]])
def test_what_is_not_so_replaces_nothing(memory: Any, clock: FrozenClock, later: str) -> None:
    assert links(memory, clock, "The standup is at 9.", later) == []


def test_of_two_people_not_both_speak_of_their_own(memory: Any, clock: FrozenClock) -> None:
    pairs = (
        ("My checkup is on 9 May.", "My checkup moved to 16 May."),
        ("My email is a@b.org.", "My email is now c@d.org."),
    )
    for place, (earlier, later) in enumerate(pairs):
        for who, count in (("Ann", 1), ("Bob", 0)):
            scope = memory.scoped(str(place), who)
            said = Message("user", earlier, speaker="Ann"), Message("user", later, speaker=who)
            assert len(links(scope, clock, *said)) == count


def test_rivals_that_no_link_joins_are_found_when_they_are_asked_for(memory: Any, clock: FrozenClock) -> None:
    for text in ("The retro starts at 15:00.", "Retro is at 14:30, since Ana leaves early."):
        clock.advance(days=1)
        memory.record(text)
    first, second = memory.recall("What time is the retro?")
    assert "14:30" in first.text
    assert [link.later for link in second.why.superseded_by] == [first.id]
    assert memory.supersessions.list() == [], "nothing is stored by asking"
    assert ", user, was: The retro starts at 15:00." in memory.whisper("What time is the retro?").text


STEPS = """Good, let's go through it.

**Step 2: Choose the paint.** Two litres of the matt white are enough for the hall, and one of the grey for the door.
**Step 3: Tape the edges.** Use the wide tape, press it down with a cloth, and take it off before the paint is dry.
**Step 4: Paint.** Two thin coats, four hours between them. The ceiling comes first, on Saturday, the walls on Sunday.
"""


@pytest.mark.parametrize(
    "said",
    [
        "I'm done with the tape, tell me what comes next and stop asking whether I'm ready.",
        "Done with the paint. What do I need for Step 4 now, and how long does it take to dry?",
    ],
)
def test_a_demand_in_long_talk_ends_nothing(memory: Any, clock: FrozenClock, said: str) -> None:
    assert not links(memory, clock, Message("assistant", STEPS), said)


def test_a_change_in_long_talk_is_linked(memory: Any, clock: FrozenClock) -> None:
    said = "The ceiling is on Monday now, not on Saturday. The rest stays as it is."
    assert links(memory, clock, Message("assistant", STEPS), said) == ["Monday for Saturday"]
