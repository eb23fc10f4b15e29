"""When a context is rebuilt, what it is rebuilt of, and what happens when something goes wrong meanwhile."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.histories import chat, loop, mark, question, said, size_of, step
from tests.compaction.oracle import WHISPER, checked, texts
from tests.inside import dying
from tests.waiting import PATIENCE, eventually, threads_end
from tidal_plugins import (
    Compaction,
    Exchange,
    Forgotten,
    InvalidInput,
    Message,
    Settings,
    Statement,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.model.compaction import Kept, RestoredFile, Size, Written
from tidal_plugins.model.dossier import Source

AMPLE = 10**9
NOW = Message("user", "What is left to do?", "now")


def payload(history: Sequence[Message]) -> Size:
    return sum((size_of(message) for message in history), WHISPER)


def limit(history: Sequence[Message], share: float) -> int:
    """Tokens of which a history with the whisper takes this share."""
    return int(payload(history).tokens / share)


class Scripted:
    """A summariser that plays its replies in order, the last one again and again.

    A reply is a list of statements, an exception to raise, or a function of the sources and the previous statements.
    """

    def __init__(self, *replies: Any) -> None:
        self.replies = replies or (tell,)
        self.calls: list[tuple[str, list[str]]] = []
        self.seen: list[str] = []

    def summarise(
        self, sources: Sequence[Source], *, purpose: str, previous: Sequence[Statement] = (), max_tokens: int
    ) -> Sequence[Statement]:
        reply = self.replies[min(len(self.calls), len(self.replies) - 1)]
        self.calls.append((purpose, [source.id for source in sources]))
        self.seen += [message.text for source in sources for message in source.messages]
        if isinstance(reply, BaseException):
            raise reply
        return reply(sources, previous) if callable(reply) else reply

    @property
    def summarised(self) -> list[str]:
        return [id_ for purpose, ids in self.calls if purpose == "summary" for id_ in ids]


def tell(sources: Sequence[Source], previous: Sequence[Statement]) -> list[Statement]:
    return [*previous, *(Statement(f"Told of {source.id}.", (source.id,)) for source in sources)]


# when


STAGES = {0.60: "none", 0.68: "none", 0.73: "prepare", 0.83: "prepare", 0.88: "compact", 0.93: "compact", 0.97: "hard",
          1.5: "hard", 6.0: "hard"}  # fmt: skip


@pytest.mark.parametrize("of", ["tokens", "bytes"])
def test_the_share_of_the_limit_decides_the_stage(check: Any, of: str) -> None:
    history = [replace(message, text=("漢字" if of == "bytes" else "") + message.text) for message in chat(0, 20)]
    history.append(NOW)
    for share, stage in STAGES.items():
        most = int(getattr(payload(history), of) / share)
        limits = {"max_tokens": most} if of == "tokens" else {"max_tokens": AMPLE, "max_bytes": most}
        compaction = check(history, thread=str(share), **limits)
        assert compaction.stage == stage
        assert compaction.rebuilt == (stage in ("compact", "hard"))


def test_shares_and_limits_are_settings(open_memory: Any) -> None:
    history = [*chat(0, 20), NOW]
    settings = Settings(
        compaction={"compact": 0.2, "max_tokens": limit(history, 0.25)},
        tuning={"compaction.prepare": 0.1, "compaction.hard": 0.3, "compaction.target": 0.15},
    )
    compaction = open_memory(settings=settings).compactor().compact(history, thread="s")
    assert compaction.stage == "compact"
    assert compaction.limit == Size(limit(history, 0.25), Settings().compaction.max_bytes)


EXCHANGES: Any = [NOW, Exchange((NOW,))]
REFUSED: list[tuple[dict[str, Any], Any, dict[str, Any], str]] = [
    *((limits, [NOW], {}, "max_") for limits in ({"max_tokens": 0}, {"max_tokens": -5}, {"max_bytes": 0})),
    *(({}, history, {}, r"Message|Exchange|history")
      for history in (["hello"], EXCHANGES, [{"role": "user", "content": "x"}], "hello", None)),
    ({}, [NOW, NOW], {"sizes": [Size(1, 1)]}, "size"),
    ({}, [NOW], {"force": "soft"}, "force"),
    ({}, [NOW, NOW], {"carried": "x"}, "Exchanges"),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "history", "options", "match"), REFUSED)
def test_what_makes_no_sense_is_refused(
    memory: TidalMemory, limits: dict[str, Any], history: Any, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(InvalidInput, match=match):
        memory.compactor(**{"max_tokens": 1_000, **limits}).compact(history, thread="s", **options)


# what


def agent_run() -> list[Message]:
    return [
        Message("system", "You are an agent."),
        *chat(0, 20),
        Message("user", "Fix the\nfailing  test: 'naïve' 🙂", "fix"),
        *step(1, ("Read", {"file_path": "src/app.py"}, "def app():\n    return 1\n" * 5)),
        *step(2, ("Bash", {"command": "pytest"}, "Error: 1 failed"), text="I run the tests."),
        Message("assistant", "Fixed: app returned 1 where 2 was required.", "fixed"),
        NOW,
        *loop(3, 5, width=2),
    ]


def test_the_five_parts_stand_in_order_and_the_synthesis_says_what_ran(check: Any, memory: TidalMemory) -> None:
    history = agent_run()
    compaction = check(history, max_tokens=limit(history, 0.9))
    assert compaction.stage == "compact"
    kinds = [piece.part if isinstance(piece, Written) else type(piece) for piece in compaction.view]
    asked = [kinds.index("summary") + 1]
    assert [kind for n, kind in enumerate(kinds) if n not in asked] == [
        Kept, "summary", "synthesis", RestoredFile, *[Kept] * 7,
    ]  # fmt: skip
    assert compaction.messages[asked[0]].role == "user"
    assert compaction.messages[asked[0]].text == "Fix the\nfailing  test: 'naïve' 🙂"
    assert compaction.messages[-7:] == tuple(history[-7:])
    assert compaction.messages[0] is history[0]
    for part in ("Fixed", "Bash", "1 failed", memory.episodes.id_of("fix", thread="s")):
        assert part in compaction.synthesis
    hard = check(history, thread="hard", max_tokens=limit(history, 0.9), force="hard")
    assert [file.path for file in hard.files] == [file.path for file in compaction.files] == ["src/app.py"]
    assert hard.after == compaction.after


def test_the_ledger_says_what_the_context_still_states(check: Any) -> None:
    history = [*chat(0, 20), NOW]
    compaction = check(history, max_tokens=limit(history, 0.9))
    assert compaction.after.share(compaction.limit) < 0.7
    stated = [(loss, text) for loss in compaction.ledger for text in loss.stated]
    assert stated
    written = compaction.summary + compaction.synthesis
    for loss, text in stated:
        assert text in written
        assert mark(loss.position // 2) in text or f"q{loss.position // 2}x" in text


@pytest.mark.parametrize("words", [10, 40])
def test_a_long_ongoing_turn_leaves_what_was_decided_just_before_it(check: Any, words: int) -> None:
    """Folding makes room again for what the first squeeze left out."""
    decision = (
        "We decided to use PostgreSQL 16 for the billing service in Berlin, because the team knows it, the backups run "
        "every night already, and the auditors asked for row level security in all of the tables that hold names."
    )
    last = [Message("user", "Which database for billing?", "db"), Message("assistant", decision, "db-agent")]
    history = [*chat(0, 40, words=40), *last, NOW]
    stages = set()
    for first in range(0, 40, 4):
        history += loop(first, first + 4, words=words)
        compaction = check(history, max_tokens=1_500)
        stages.add((compaction.rebuilt, bool(compaction.folded)))
        assert "PostgreSQL 16" in texts(compaction), f"lost, at {compaction.after.share(compaction.limit):.0%}"
    assert stages >= {(True, False), (True, True)}


@pytest.mark.parametrize("place", ["at the head", "in the turn that goes on", "everywhere"])
def test_a_system_message_made_anew_for_each_call_changes_nothing(memory: TidalMemory, place: str) -> None:
    summariser = Scripted()
    compactor = memory.compactor(max_tokens=1_500, summariser=summariser)
    turns = [*chat(0, 20), NOW]
    views, calls = [], []
    for minute in range(10, 16):
        turns += loop(minute, minute + 1, words=4)
        clock = Message("system", f"It is 10:{minute}, {'a day like any other ' * 3}.", f"clock-{minute}")
        at = {"at the head": [0], "in the turn that goes on": [len(turns)], "everywhere": [0, 9, 21, len(turns)]}[place]
        history = list(turns)
        for position in reversed(at):
            history.insert(position, clock)
        compaction = compactor.compact(history, thread="s")
        compaction.verify()
        assert [m for m in compaction.messages if m.role == "system"] == [clock] * len(at)
        views.append(compaction)
        calls.append(len(summariser.calls))
    assert views[0].rebuilt
    assert len({view.id for view in views}) == 1
    assert len({view.summary + view.synthesis for view in views}) == 1
    assert len(set(calls)) == 1
    assert len(memory.episodes.list(thread="s")) == 20


@pytest.mark.parametrize(("kept", "last"), [("the second", True), ("the first", False)])
def test_an_answer_that_was_thrown_away_is_told_nowhere(memory: TidalMemory, kept: str, last: bool) -> None:
    """Regenerating an answer leaves both in the episode, under the question's id."""
    asked = Message("user", "Which database shall we use for billing?", "q")
    answers = [
        Message("assistant", "Decision: we will use MongoDB 4 for billing, in Oslo.", "a1"),
        Message("assistant", "Decision: we will use Postgres 16 for billing, in Bergen.", "a2"),
    ]
    for answer in answers:
        memory.record(messages=[asked, answer], thread="s")
    (ours, lost) = (answers[1], "MongoDB") if kept == "the second" else (answers[0], "Postgres")
    history = [*chat(0, 6), asked, ours, *([] if last else chat(6, 12)), NOW]
    for call in range(3):
        compaction = check_all(memory, history, force=None if call else "compact")
        assert compaction.rebuilt
        assert lost not in texts(compaction)
        assert all(lost not in text for loss in compaction.ledger for text in loss.stated)
        if call == 0:
            assert ours.text.removeprefix("Decision: ").split(",")[0].lower() in texts(compaction).lower()
        history = [*history, Message("assistant", "Go on.", f"go-{call}"), *chat(20 + 9 * call, 29 + 9 * call)]
        history.append(replace(NOW, id=f"now-{call}"))


def check_all(memory: TidalMemory, history: list[Message], **options: Any) -> Compaction:
    return checked(memory, history, memory.compactor(max_tokens=1_500).compact(history, thread="s", **options))


@pytest.mark.parametrize("thread", [None, "s"])
def test_messages_without_ids_are_recorded_once(memory: TidalMemory, thread: str | None) -> None:
    history = [replace(message, id=None) for message in [*chat(0, 20), *chat(0, 2), NOW]]
    if thread:  # turns recorded without ids are found again
        for number in range(20):
            memory.record(question(number), said(number, 60), thread=thread)
    for _ in range(3):
        compaction = memory.compactor(max_tokens=limit(history, 0.9)).compact(history, thread=thread)
        checked(memory, history, compaction)
    assert len(memory.episodes.list()) == 22


def test_an_edited_history_is_kept_as_it_stands(memory: TidalMemory, check: Any) -> None:
    history = [Message("user", "Look.", "look"), *loop(0, 1), Message("assistant", "Seen.", "seen"), *chat(0, 20), NOW]
    most = limit(history, 0.9)
    check(history, max_tokens=most)
    [call] = history[1].tool_calls
    history[1] = replace(history[1], tool_calls=(replace(call, arguments={"at": "elsewhere"}),))
    history[9] = replace(history[9], text="We decided otherwise: no compass, and editedword instead.")
    compaction = check(history, max_tokens=most)
    assert mark(2) not in compaction.summary
    episodes = memory.episodes.list(thread="s")
    assert {"at": "elsewhere"} in [call.arguments for each in episodes for m in each.messages for call in m.tool_calls]


def test_a_history_whose_head_others_removed_keeps_its_summary(check: Any) -> None:
    history = [*chat(0, 20), NOW]
    first = check(history, max_tokens=limit(history, 0.9))
    trimmed = history[20:]
    again = check(trimmed, max_tokens=limit(history, 0.9))
    assert again.id == first.id
    assert again.summary == first.summary


def test_a_rewritten_history_goes_on_from_what_it_carries(check: Any, memory: TidalMemory) -> None:
    """The last question that it holds is followed by the next one: what came between is in the written messages."""
    history = [Message("system", "You are an agent."), *chat(0, 20), NOW]
    most = limit(history, 0.9)
    first = check(history, max_tokens=most)
    rewritten = [history[p.position] for p in first.view if isinstance(p, Kept)]
    assert rewritten == [history[0], history[39], NOW]

    def carried(ongoing: int) -> Compaction:
        return check(by_question(rewritten), carried=first.id, max_tokens=most, ongoing=ongoing)

    assert carried(2).messages == first.messages
    rewritten += loop(0, 2)
    assert carried(2).messages == (*first.messages, *rewritten[-4:])
    rewritten += [Message("assistant", "Nothing is left.", "nothing"), *chat(30, 50), replace(NOW, id="now2")]
    second = carried(len(rewritten) - 1)
    assert second.rebuilt
    assert second.id != first.id
    assert set(first.citations) <= {*second.citations, *second.ledger.episodes, *covered_by_runs(second, memory)}
    assert len(second.citations) > 1


def by_question(messages: Sequence[Message]) -> list[Exchange]:
    starts = [0, *(n for n, message in enumerate(messages) if message.role == "user"), len(messages)]
    return [Exchange(tuple(messages[start:end])) for start, end in itertools.pairwise(starts)]


def covered_by_runs(compaction: Compaction, memory: TidalMemory) -> set[str]:
    """The episodes of a thread from the first cited one to the last: a run is cited by its ends."""
    ids = [episode.id for episode in memory.episodes.list(thread="s")]
    cited = [ids.index(id_) for id_ in compaction.citations if id_ in ids]
    return set(ids[min(cited) : max(cited) + 1])


# forgetting


def everywhere(memory: TidalMemory) -> bytes:
    """All bytes of the memory's files."""
    path = Path(memory.path)
    return b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))


def test_a_compaction_that_quoted_what_is_forgotten_goes_too(check: Any, memory: TidalMemory) -> None:
    history = [*chat(0, 8), NOW]
    most = limit(history, 0.9)
    compaction = check(history, max_tokens=most)
    quoted = next(n for n in range(7) if mark(n) in compaction.summary)
    doomed = memory.episodes.id_of(f"m{quoted}-user", thread="s")
    memory.forget(doomed)
    assert mark(quoted).encode() not in everywhere(memory)
    again = check(history, max_tokens=most, force="compact")
    assert again.id != compaction.id
    assert mark(quoted) not in texts(again)
    with pytest.raises(Forgotten):
        memory.episodes[doomed]
    assert mark(quoted).encode() not in everywhere(memory)


def test_one_message_that_was_forgotten_is_quoted_no_more(check: Any, memory: TidalMemory) -> None:
    history = [*chat(0, 8), NOW]
    most = limit(history, 0.9)
    compaction = check(history, max_tokens=most)
    quoted = next(n for n in range(7) if mark(n) in compaction.summary)
    episode = memory.episodes[memory.episodes.id_of(f"m{quoted}-user", thread="s")]
    memory.forget(episode.entries[1])
    summariser = Scripted()
    again = memory.compactor(max_tokens=most, summariser=summariser).compact(history, thread="s", force="compact")
    assert mark(quoted) not in texts(again)
    assert not any(mark(quoted) in text for text in summariser.seen)
    assert mark(quoted).encode() not in everywhere(memory)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_what_is_forgotten_before_or_while_it_is_summarised_is_not_kept(
    check: Any, memory: TidalMemory, when: str
) -> None:
    def forgetting(sources: Sequence[Source], previous: Sequence[Statement]) -> list[Statement]:
        told = [Statement(m.text, (s.id,)) for s in sources for m in s.messages if mark(3) in m.text]
        memory.forget(turn.id)
        return told or tell(sources, previous)

    history = [*chat(0, 20), NOW]
    turn = memory.record(messages=history[6:8], thread="s")
    if when == "before":
        memory.forget(turn.id)
    summariser = Scripted(forgetting)
    compaction = check(history, max_tokens=limit(history, 0.9), summariser=summariser)
    assert mark(3) not in texts(compaction)
    assert any(mark(3) in text for text in summariser.seen) == (when == "meanwhile")
    assert mark(3).encode() not in everywhere(memory)


@pytest.mark.parametrize("by", ["thread", "id"])
def test_turns_without_ids_that_were_forgotten_stay_forgotten(memory: TidalMemory, by: str) -> None:
    """Recorded one by one, they stand under ids that nothing in the history tells."""
    history: list[Message] = []
    for number in range(12):
        call = ToolCall("Bash", {"command": f"cat file{number}"}, f"k{number}")
        turn = [
            Message("user", question(number)),
            Message("assistant", "", tool_calls=(call,)),
            Message("tool", f"zebra crossing {mark(number)}", tool_call_id=f"k{number}"),
            Message("assistant", f"It is configured on port {8000 + number} in hall {number}."),
        ]
        memory.record(messages=turn, thread="s")
        history += turn
    history.append(Message("user", "And now?"))
    compactor = memory.compactor(max_tokens=900)
    assert mark(3) in everywhere(memory).decode(errors="replace")
    assert compactor.compact(history, thread="s").rebuilt
    if by == "thread":
        assert memory.forget(thread="s")
    else:
        assert memory.forget(*[episode.id for episode in memory.episodes.list(thread="s")])
    for _ in range(2):
        compaction = compactor.compact(history, thread="s")
        compaction.verify()
        assert compaction.rebuilt
        assert mark(3) not in texts(compaction)
        assert question(3) not in texts(compaction)
        assert mark(3).encode() not in everywhere(memory)
        assert not any(
            message.text
            for episode in memory.episodes.list(thread="s")
            for message in episode.messages
            if message.text != "[forgotten]"
        )
    assert not memory.recall(f"zebra password {mark(3)}", kinds={"conversation", "episode"})


# summarisers


def test_a_models_summary_is_shown_with_its_citations_and_unknown_ones_are_counted(
    check: Any, memory: TidalMemory
) -> None:
    def invented(sources: Sequence[Source], previous: Sequence[Statement]) -> list[Statement]:
        return [Statement("We decided on jazz.", (sources[0].id, "0000000000000")), *tell(sources, previous)]

    history = [*chat(0, 20), NOW]
    compaction = check(history, max_tokens=limit(history, 0.9), summariser=Scripted(invented, tell))
    assert compaction.summariser == "model"
    assert compaction.fallback is None
    for number in range(19):
        id_ = memory.episodes.id_of(f"m{number}-user", thread="s")
        assert f"Told of {id_}. [ep:{id_}]" in compaction.summary
    assert "We decided on jazz." in compaction.summary
    assert "[ep:0000000000000]" not in compaction.summary
    assert compaction.unknown_citations >= 1


def test_a_summariser_is_told_what_it_may_take_and_what_it_said_before(check: Any) -> None:
    told: list[Statement] = []
    rooms: list[int] = []

    class Noting(Scripted):
        def summarise(self, sources: Any, *, purpose: Any, previous: Any = (), max_tokens: int) -> Any:
            if purpose == "summary":
                told.extend(previous)
            rooms.append(max_tokens)
            return super().summarise(sources, purpose=purpose, previous=previous, max_tokens=max_tokens)

    summariser = Noting()
    history = [*chat(0, 20), NOW]
    most = limit(history, 0.9)
    first = check(history, max_tokens=most, summariser=summariser)
    assert not told
    history += [Message("assistant", "Nothing.", "nothing"), *chat(20, 42), replace(NOW, id="now2")]
    second = check(history, max_tokens=most, summariser=summariser)
    assert second.id != first.id
    assert {source for statement in told for source in statement.sources} <= set(first.citations)
    assert told
    assert all(0 < room < most for room in rooms)
    assert len(summariser.summarised) == len(set(summariser.summarised)), "a turn was summarised twice"


def test_no_lock_is_held_while_a_summariser_runs(check: Any, memory: TidalMemory) -> None:
    ids: list[str] = []

    def writing(sources: Sequence[Source], previous: Sequence[Statement]) -> list[Statement]:
        if not ids:
            write = threading.Thread(target=lambda: ids.append(memory.record("meanwhile", "noted", thread="other").id))
            write.start()
            write.join(PATIENCE)
            assert not write.is_alive(), "the summariser runs under a lock"
            inner = [*chat(50, 70, name="inner"), NOW]
            assert memory.compactor(max_tokens=limit(inner, 0.9)).compact(inner, thread="inner").rebuilt
        return tell(sources, previous)

    history = [*chat(0, 20), NOW]
    compaction = check(history, max_tokens=limit(history, 0.9), summariser=Scripted(writing))
    assert compaction.summariser == "model"
    assert memory.episodes[ids[0]].query == "meanwhile"


# in the background


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opens at the end of the test, so that nothing waits behind it for good."""
    event = threading.Event()
    yield event
    event.set()


def test_what_was_prepared_in_the_background_is_used(check: Any, memory: TidalMemory) -> None:
    summariser = Scripted()
    history = [*chat(0, 20), NOW]
    most, others = limit(history, 0.75), set(threading.enumerate())
    assert check(history, max_tokens=most, summariser=summariser).stage == "prepare"
    assert threads_end(others)
    prepared = list(summariser.summarised)
    assert len(prepared) > 10
    history += [Message("assistant", said(99, 10), "done"), *chat(20, 24), replace(NOW, id="now2")]
    compaction = check(history, max_tokens=most, summariser=summariser)
    assert compaction.rebuilt
    assert compaction.summariser == "model"
    assert not set(summariser.summarised[len(prepared) :]) & set(prepared)
    for id_ in prepared:
        assert f"Told of {id_}." in compaction.summary


@pytest.mark.parametrize("prepared", [False, True], ids=["at once", "in the background"])
def test_a_summariser_that_hangs_is_stood_in_for_in_time(
    open_memory: Any, gate: threading.Event, prepared: bool
) -> None:
    def hanging(sources: Sequence[Source], previous: Sequence[Statement]) -> list[Statement]:
        gate.wait(PATIENCE)
        return []

    memory = open_memory(settings=Settings(models={"timeout": 0.3}))
    summariser = Scripted(hanging)
    history = [*chat(0, 20), NOW]
    most = limit(history, 0.75)
    compactor = memory.compactor(max_tokens=most, summariser=summariser)
    if prepared:
        assert compactor.compact(history, thread="s").stage == "prepare"
        assert eventually(lambda: summariser.calls)
    compaction = checked(memory, history, compactor.compact(history, thread="s", force="compact"))
    assert compaction.summariser == "extractive"
    assert compaction.fallback
    assert any(mark(number) in compaction.summary for number in range(19))


def test_preparing_keeps_nobody_waiting_and_a_memory_may_be_closed_meanwhile(
    open_memory: Any, gate: threading.Event
) -> None:
    done = threading.Event()

    def slow(sources: Sequence[Source], previous: Sequence[Statement]) -> list[Statement]:
        gate.wait(PATIENCE)
        done.set()
        return tell(sources, previous)

    memory = open_memory()
    history, others = [*chat(0, 20), NOW], set(threading.enumerate())
    summariser = Scripted(slow)
    compactor = memory.compactor(max_tokens=limit(history, 0.75), summariser=summariser)
    for _ in range(2):
        assert compactor.compact(history, thread="s").stage == "prepare"
    assert eventually(lambda: summariser.calls)
    closing = threading.Thread(target=memory.close)
    closing.start()
    gate.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert done.wait(PATIENCE)
    assert threads_end(others)


def test_what_is_forgotten_after_it_was_prepared_is_not_used(check: Any, memory: TidalMemory) -> None:
    def quoting(sources: Sequence[Source], previous: Sequence[Statement]) -> list[Statement]:
        return [*previous, *(Statement(m.text, (s.id,)) for s in sources for m in s.messages if m.role == "assistant")]

    summariser = Scripted(quoting)
    history = [*chat(0, 20, words=20), NOW]
    most, others = limit(history, 0.75), set(threading.enumerate())
    check(history, max_tokens=most, summariser=summariser)
    assert threads_end(others)
    memory.forget(memory.episodes.id_of("m3-user", thread="s"))
    compaction = check(history, max_tokens=most, summariser=summariser, force="compact")
    assert mark(3) not in texts(compaction)
    assert mark(3).encode() not in everywhere(memory)


# at once


def test_threads_and_other_handles_that_compact_the_same_thread_agree(memory: TidalMemory, open_memory: Any) -> None:
    history = [*chat(0, 40), NOW]
    start, handles = threading.Barrier(4), [memory, open_memory()]

    def work(number: int) -> Compaction:
        start.wait()
        return handles[number % 2].compactor(max_tokens=limit(history, 0.9)).compact(history, thread="s")

    with ThreadPoolExecutor(4) as pool:
        compactions = list(pool.map(work, range(4)))
    for compaction in compactions:
        checked(memory, history, compaction)
    assert len({compaction.id for compaction in compactions}) == 1
    assert len(memory.episodes.list(thread="s")) == 40


@pytest.mark.parametrize("same", [True, False], ids=["the same history", "branches"])
def test_threads_that_force_each_other_all_get_a_context(memory: TidalMemory, same: bool) -> None:
    start = threading.Barrier(4)

    def work(thread: int) -> list[Compaction]:
        brief = Scripted(lambda sources, previous: tell(sources[-3:], previous[-3:]))
        compactor = memory.compactor(max_tokens=1_500, summariser=brief)
        start.wait()
        made = []
        for turns in (15, 18, 21):
            first = 0 if same else 30 * thread
            history = [*chat(first, first + turns), NOW]
            made.append(checked(memory, history, compactor.compact(history, thread="s", force="compact")))
        return made

    with ThreadPoolExecutor(4) as pool:
        made = [compaction for each in pool.map(work, range(4)) for compaction in each]
    assert all(compaction.rebuilt for compaction in made)
    assert len(memory.episodes.list(thread="s")) == (21 if same else 4 * 21)


def test_a_compaction_that_is_cut_off_leaves_a_whole_store_and_the_next_one_is_the_same(open_memory: Any) -> None:
    history = [*chat(0, 20), NOW]
    whole = open_memory("whole.db").compactor(max_tokens=1_500).compact(history, thread="s")
    told = [said.text for said in whole.statements]
    for after in range(4):
        memory = open_memory(f"{after}.db")
        with dying(memory, after):
            memory.compactor(max_tokens=1_500).compact(history, thread="s")
        compaction = checked(memory, history, memory.compactor(max_tokens=1_500).compact(history, thread="s"))
        assert [said.text for said in compaction.statements] == told
        assert len(memory.episodes.list(thread="s")) == 20
