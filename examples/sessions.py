"""Two agents of a ferry company write into its memory under rules: what one of them rewards comes up first for itself,
the other notices nothing, and what the rules forbid is refused. No model is called.
"""

import tempfile
from datetime import timedelta
from pathlib import Path

from tidal_plugins import Policy, PolicyViolation, Session, TidalMemory

QUESTION = "Where can the ferry land when the tide is low?"
KNOWN = [
    "When the tide is low the ferry can land at the north quay of Varn.",
    "When the tide is low the ferry can land at Ost pier, but only without cars.",
    "The ferry can land at the Heron slip when the tide is low, if the wind is west.",
]
PLANNER = Policy(allow={"reward", "annotate"}, max_signals=3, max_duration=timedelta(hours=1))
READER = Policy(allow={"view"})


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, TidalMemory(Path(folder) / "ferry.db") as memory:
        for text in KNOWN:
            memory.remember(text, source="pilot book")
        memory.sessions.policies["planner"] = PLANNER
        print(QUESTION)
        print(QUESTION)
        show(memory, "Before", None)
        last = memory.recall(QUESTION)[-1]
        with (
            memory.sessions.open(
                user="42", agent="planner", policy="planner", metadata={"task": "timetable"}
            ) as planner,
            memory.sessions.open(user="42", agent="reader", policy=READER) as reader,
        ):
            print(f"\nthe planner rewards: {last.text}")
            planner.signal("reward", last.id, 20, note="north quay")
            show(memory, "For the planner", planner)
            show(memory, "For the reader", reader)
            refused(reader, "reward", last.id)
            refused(planner, "skip", last.id)
            noted(planner)
        account(memory)


def show(memory: TidalMemory, title: str, session: Session | None) -> None:
    print(f"\n== {title}")
    for hit in memory.recall(QUESTION, session=session):
        print(f"{hit.score:.2f}  {hit.text}\n      {hit.why}")


def refused(session: Session, type_: str, entry: str) -> None:
    try:
        session.signal(type_, entry)
    except PolicyViolation as violation:
        print(f"\n{session.info.agent}: {violation}")


def noted(session: Session) -> None:
    """Print the notes that the session holds by now."""
    snapshot = session.snapshot()
    print(f"\nthe planner noted {[note.text for note in snapshot.annotations]}; {snapshot.info.remaining} signals left")


def account(memory: TidalMemory) -> None:
    print("\n== When all is closed")
    for info in memory.sessions.list():
        print(f"session {info.id}, {info.agent}: {info.accepted} accepted, {info.rejected} refused")
        for decision in memory.sessions.audit(info.id):
            print(f"  {decision.type}: {decision.reason or 'accepted'}")


if __name__ == "__main__":
    main()
