"""A ferry company's assistant is asked what no single message answers: by time, by what stood around it, over two hops,
as of an earlier day, with a reranker, and in the harbour office's memory. No model is called.

Another reranker takes the place of the rule: ``CrossEncoderReranker("cross-encoder/ms-marco-MiniLM-L6-v2")``.
"""

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tidal_plugins import Recall, TidalMemory

TODAY = datetime(2026, 11, 20, 9, tzinfo=UTC)  # a Friday
TALKS = {
    110: [
        ("We moved to the old net store today.", "Then the keys are all in one place."),
        ("Where did we leave the spare anchor?", "Under the green tarpaulin, behind the stove."),
    ],
    150: [("The roof of the office leaked into the cash box again.", "I have noted it.")],
    60: [
        ("Maria's husband is called Jonas.", "Noted."),
        ("Jonas mends nets on Thursdays.", "On Thursdays, nets."),
    ],
    40: [("Somebody proposed blue for the Heron's new hull.", "Blue for the Heron's hull: a proposal.")],
    38: [("We decided on varnish for the mast, whatever blue the hull gets.", "Varnish it is.")],
    12: [("The Varn slipway is open.", "Varn: open.")],
    3: [("The Heron's steering cable broke off Varn.", "I have told the yard about the Heron.")],
    1: [("The Varn slipway is closed: the storm took the fender.", "Varn: closed.")],
}
OFFICE = ["The code of the gate at Ost pier has changed.", "The crane at Ost pier lifts four tonnes."]


class Clock:
    """Stands still until it is turned."""

    now = TODAY

    def __call__(self) -> datetime:
        return self.now


class DecisionsFirst:
    """A rule of the house in place of a model: what was decided comes before what was only said."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return [1.0 if "decided" in text else 0.0 for text in texts]


def main() -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        ferry, office = Path(folder) / "ferry.db", Path(folder) / "office.db"
        with TidalMemory(ferry, clock=clock) as memory:
            talk(memory, clock)
            times(memory)
            surroundings(memory)
            hops(memory)
            as_of(memory)
            reasons(memory)
        rerank(ferry, clock)
        peers(ferry, office, clock)


def talk(memory: TidalMemory, clock: Clock) -> None:
    for days, exchanges in sorted(TALKS.items(), reverse=True):
        for number, (said, answer) in enumerate(exchanges):
            clock.now = TODAY - timedelta(days=days) + timedelta(minutes=number)
            memory.record(said, answer, thread=f"{clock.now:%d %B}")
    clock.now = TODAY


def times(memory: TidalMemory) -> None:
    headline("Times in the question")
    for question in ("What broke last Tuesday?", "What did the roof of the office leak into before we moved?"):
        show(memory.recall(question, limit=1))


def surroundings(memory: TidalMemory) -> None:
    headline("What stands around it")
    recall = memory.recall("Where is the spare anchor?", limit=2, window=1)
    show(recall)
    print(f"  before the second: {', '.join(entry.text for entry in recall[1].window.before)}")


def hops(memory: TidalMemory) -> None:
    headline("Two hops")
    question = "What does Maria's husband mend?"
    show(memory.recall(question, limit=1))
    recall = memory.recall(question, limit=1, hops=2)
    print(f"  further query: {', '.join(hop.query for hop in recall.hops)}")
    print(f"  {recall[1].text}")


def as_of(memory: TidalMemory) -> None:
    headline("As it was known then")
    for day in (TODAY, TODAY - timedelta(days=5)):
        print(f"{day:%d %B}:", end=" ")
        show(memory.recall("Is the Varn slipway closed?", limit=1, as_of=day))


def reasons(memory: TidalMemory) -> None:
    headline("Why, and why not")
    recall = memory.recall("What broke on the Heron last Tuesday?", limit=2)
    print(recall.explain(dropped=2))  # rich.print(recall.table()) is the same as a table
    print(f"left out, by stage: {dict(recall.explanation().stages)}")


def rerank(ferry: Path, clock: Clock) -> None:
    headline("A reranker has the last word")
    for reranker in (None, DecisionsFirst()):
        with TidalMemory(ferry, clock=clock, reranker=reranker) as memory:
            show(memory.recall("Which blue was proposed for the Heron's hull?", limit=1))


def peers(ferry: Path, office: Path, clock: Clock) -> None:
    headline("Other memories")
    with TidalMemory(office, clock=clock) as memory:
        for text in OFFICE:
            memory.remember(text, source="gate book")
    before = office.read_bytes()
    question = "What is the code of the gate?"
    with TidalMemory(ferry, clock=clock) as memory:
        whisper = memory.whisper(question)
        print(f"alone, {sure(whisper.recall)}: {whisper if whisper else 'silence'}")
    with TidalMemory(ferry, clock=clock, peers=[office, office.with_name("yard.db")]) as memory:
        whisper = memory.whisper(question)
        print(f"with peers, {sure(whisper.recall)}: {whisper}")
        for report in whisper.recall.peers if whisper.recall else ():
            print(f"  {report}")
    print(f"the office's file was {'not ' if office.read_bytes() == before else ''}written to")


def sure(recall: Recall | None) -> str:
    return "not asked" if recall is None or recall.confidence is None else f"confidence {recall.confidence:.2f}"


def show(recall: Recall) -> None:
    print(" ".join([recall.query, *recall.times]))
    for hit in recall:
        print(f"  {hit.text}")


def headline(text: str) -> None:
    print(f"\n== {text}")


if __name__ == "__main__":
    main()
