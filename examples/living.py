"""Thirty-two weeks of a ferry company's assistant, in seconds: what is used stays warm, what is not fades, facts and
dossiers keep up. No model is called, and the clock is turned by hand.
"""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidal_plugins import TidalMemory

START = datetime(2026, 3, 2, 9, tzinfo=UTC)

FIRST_DAY = [
    ("The slipway at Varn is closed at low water, below 0.9 metres.", "Noted: Varn needs 0.9 metres."),
    ("The old ticket machine at the quay takes coins only.", "I will tell passengers to bring coins."),
    ("We decided to paint the Heron's hull before Easter.", "The Heron's hull is to be painted before Easter."),
    ("I must order forty litres of red paint for the Heron.", "Forty litres of red, for the Heron."),
]
MORNING = [
    "May the nine o'clock boat land at Varn?",
    "The school's boat wants to land at Varn, may it?",
    "And the mail boat, at Varn?",
]
ANSWER = "Only if the gauge shows 0.9 metres or more: the slipway is closed at low water."


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def turn_to(self, day: int, hour: int = 0) -> None:
        self.now = START + timedelta(days=day, hours=hour)


def main() -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, TidalMemory(Path(folder) / "ferry.db", clock=clock) as memory:
        first_day(memory)
        facts(memory, clock)
        repetition(memory, clock)
        knowledge(memory, clock)
        weeks(memory, clock)
        archive(memory)


def first_day(memory: TidalMemory) -> None:
    headline("Day 0: the season begins")
    for number, (said, answer) in enumerate(FIRST_DAY):
        memory.record(said, answer, thread="march", id=f"first-{number}")
    memory.facts.set("Heron's berth", "pier 2", source="harbour office")
    memory.facts["Varn landing"] = "open"
    print(f"{len(memory.episodes.list())} turns recorded; facts: {dict(memory.facts)}")


def facts(memory: TidalMemory, clock: Clock) -> None:
    headline("Day 4: somebody says otherwise")
    clock.turn_to(4)
    memory.record("The Varn landing is closed: the storm took the fender.", "I see.", thread="march")
    [conflict] = memory.facts.conflicts()
    print(f"{conflict.key} was {conflict.fact!r}, and [{conflict.citation}] says: {conflict.quote}")
    memory.facts.resolve(conflict.id, keep="claim")
    clock.turn_to(6)
    memory.facts["Varn landing"] = "open"
    for fact in memory.facts.history("Varn landing"):
        print(f"  {fact.value} from {fact.since:%d %b} ({fact.source or 'set by hand'})")
    on_day_5 = memory.facts.as_of(START + timedelta(days=5))
    print(f"on day 5 it was {on_day_5['Varn landing']!r}")


def repetition(memory: TidalMemory, clock: Clock) -> None:
    headline("Day 7: what three turns use in one morning becomes a fact")
    for hour, question in enumerate(MORNING):
        clock.turn_to(7, hour)
        memory.record(question, ANSWER, thread="day 7", surfaced=[said(memory, 0)])
    report = memory.maintenance.run()
    for id_ in report.facts:
        print(f"made: {memory.get(id_).text}")
    undone, again = memory.maintenance.undo(str(report.run)), memory.maintenance.run()
    print(f"taken back: {undone}; made again of the same uses: {len(again.facts)}")


def knowledge(memory: TidalMemory, clock: Clock) -> None:
    headline("Day 9: a dossier is brought up to date in place")
    clock.turn_to(8)
    memory.record("The Heron's top speed is 9 knots.", "Good.", thread="march")
    print(f"{memory.dossiers.refresh('Heron')}\n")
    clock.turn_to(9)
    memory.record("The Heron's top speed is 8 knots.", "That is less.", thread="march")
    dossier = memory.dossiers.refresh("Heron")
    print(f"version {dossier.version}, from {len(dossier.sources)} memories:\n{dossier}")

    headline("Day 9: the capsule, to begin each thread with")
    memory.capsule.write(memory.capsule.read().edit(identity="I answer the passengers of the Varn ferry."))
    print(str(memory.capsule.read(max_age=timedelta(hours=4))).strip())


def weeks(memory: TidalMemory, clock: Clock) -> None:
    headline("Thirty-two weeks: one memory is used, another is not")
    for day in range(14, 7 * 33, 7):
        clock.turn_to(day)
        memory.record(f"Day {day}: may we land at Varn?", ANSWER, thread=f"day {day}", surfaced=[said(memory, 0)])
        report = memory.maintenance.run()
        if day % 28 == 0:
            told = (
                f"day {day:3}: the slipway is {state(memory, said(memory, 0))}, coins {state(memory, said(memory, 1))}"
            )
            print(f"{told}; turned cold: {report.settled}, associations gone: {report.pruned}")


def archive(memory: TidalMemory) -> None:
    headline("Archived is not deleted")
    question = "What does the ticket machine take?"
    for archived in (False, True):
        found = memory.recall(question, include_archived=archived, limit=20)
        print(f"include_archived={archived}: {[hit.text for hit in found if 'ticket machine' in hit.text]}")
    memory.record(question, "It takes coins only.", surfaced=[said(memory, 1)])
    print(f"used again, it is {state(memory, said(memory, 1))}")


def said(memory: TidalMemory, number: int) -> str:
    """Return the id of what a turn of the first day began with."""
    return memory.episodes[memory.episodes.id_of(f"first-{number}", thread="march")].entries[0]


def state(memory: TidalMemory, id_: str) -> str:
    """Return the tier of the memory now: warm, cold or archived."""
    tier = memory.get(id_).tier
    return tier.state(memory.now()) if tier else "warm"


def headline(text: str) -> None:
    print(f"\n== {text}")


if __name__ == "__main__":
    main()
