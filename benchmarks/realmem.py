"""Read RealMem's people for the benchmarks: projects with an assistant over weeks, and turns that go on with them.

A turn with ``is_query`` is asked at its time, over the sessions before its own. Its evidence is the turns from which
the memories come that the next turn names in ``memory_used``; a memory that was made of several turns names none.

The order of the file is the order of time: no memory is used before its session there. Some sessions have a date before
that of the session in front of them, one person's many the day of the start. They get the later date.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from benchmarks.locomo import PACE, Conversation, Counts, Malformed, Question, Session, Turn, get, items

CATEGORY: Final = "going on"
GAP: Final = timedelta(minutes=20)
"""Time between two sessions of a day: the format names the day only."""
MORNING: Final = timedelta(hours=9)
ROLES: Final = {"User": "user", "Assistant": "assistant"}

Sources = Mapping[tuple[str, str], Sequence[int]]
"""The numbers of the turns that memories come from, by session and content; 0 and below are no turn."""


def is_realmem(value: Any) -> bool:
    """Return whether a file's value looks like RealMem: a list of sessions for each person."""
    return isinstance(value, dict) and bool(value) and all(map(_is_person, value.values()))


def people(value: Mapping[str, Any], counts: Counts) -> list[Conversation]:
    """Return a conversation for each person. Raises ``Malformed``."""
    return [_person(name, sessions, counts) for name, sessions in value.items()]


def _is_person(part: Any) -> bool:
    return isinstance(part, list) and bool(part) and isinstance(part[0], dict) and "session" in part[0]


def _person(name: str, given: Any, counts: Counts) -> Conversation:
    parts = list(items(given, name))
    days = _days(parts, counts)
    sessions = [_session(part, place, at, counts) for (part, place), at in zip(parts, days, strict=True)]
    sources, known, questions = _sources(parts), set[str](), list[Question]()
    for (part, place), session in zip(parts, sessions, strict=True):
        for text, used in _queries(part, place):
            evidence = _evidence(used, place, sources, known, counts)
            counts.questions_without_evidence += not evidence
            if evidence:
                questions.append(Question(text, CATEGORY, evidence, at=session.at))
        known |= {turn.id for turn in session.turns}
    return Conversation(name, tuple(session for session in sessions if session.turns), tuple(questions))


def _days(parts: Sequence[tuple[Any, str]], counts: Counts) -> list[datetime]:
    """Return when each session begins, in order of time."""
    found: list[datetime] = []
    last, same = datetime.min.replace(tzinfo=UTC), 0
    for part, place in parts:
        day = _day(get(part, "time", str, place), place)
        counts.dates_mended += day < last
        same = same + 1 if day <= last else 0
        last = max(day, last)
        found.append(last + MORNING + same * GAP)
    return found


def _session(part: Any, place: str, at: datetime, counts: Counts) -> Session:
    id_ = get(part, "session", str, place)
    turns, given = [], list(items(get(part, "turns", list, place), f"{place}.turns"))
    for number, (turn, where) in enumerate(given, 1):
        text, speaker = get(turn, "content", str, where), get(turn, "speaker", str, where)
        if speaker not in ROLES:
            raise Malformed(f"{where} has the speaker {speaker!r}")
        if text.strip():
            turns.append(Turn(f"{id_}:{number}", text, at + (number - 1) * PACE, ROLES[speaker]))
    counts.turns_without_text += len(given) - len(turns)
    return Session(id_, at, tuple(turns))


def _day(time: str, place: str) -> datetime:
    try:
        return datetime.fromisoformat(time.partition(" ")[0]).replace(tzinfo=UTC)
    except ValueError:
        raise Malformed(f"{place}.time should be a date such as '2026-01-31 (Saturday)', not {time!r:.40}") from None


def _sources(parts: Sequence[tuple[Any, str]]) -> Sources:
    found = defaultdict[tuple[str, str], list[int]](list)
    for part, place in parts:
        for memory, where in items(get(part, "memories", list, place), f"{place}.memories"):
            key = get(memory, "session", str, where), get(memory, "content", str, where)
            found[key].append(get(memory, "turn", int, where))
    return found


def _queries(part: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the text of each query of a session, and the memories that the next turn used."""
    turns = part["turns"]
    for number, turn in enumerate(turns):
        if turn.get("is_query"):
            answer = turns[number + 1] if number + 1 < len(turns) else {}
            yield turn["content"], answer.get("memory_used") or []


def _evidence(used: Any, place: str, sources: Sources, known: set[str], counts: Counts) -> frozenset[str]:
    """Return the turns of earlier sessions, ``known`` ones, that memories come from. Others are skipped and counted."""
    found = set()
    for memory, where in items(used, f"{place}.memory_used"):
        session, content = get(memory, "session_uuid", str, where), get(memory, "content", str, where)
        ids = {f"{session}:{number}" for number in sources.get((session, content), ())} & known
        counts.evidence_skipped += not ids
        found |= ids
    return frozenset(found)
