"""Read conversation files for the benchmarks and the demo: LoCoMo's format, samples of LongMemEval, and RealMem's.

``load`` takes each format and returns the same classes. Any mistake in a file ends the program with one line that
says where it is.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tidal_plugins import (
    Exchange,
    Message,
    Note,
    TidalMemory,
)

ADVERSARIAL = "5 adversarial"
CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    5: ADVERSARIAL,
    6: "6 decision",
    7: "7 preference",
}
"""Names of the categories: LoCoMo's five, and two of our own."""
ROLES = ("user", "assistant", "document")
PACE = timedelta(seconds=30)
"""Time between two turns of a session; the formats date sessions only."""

_DATES = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%d %B, %Y", "%d %B %Y")
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """An utterance. ``speaker`` is a person's name, or ``None`` if the file knows roles only."""

    id: str
    text: str
    at: datetime
    role: str = "user"
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question. ``evidence`` holds the ids of the turns that answer it.

    A question with ``at`` is asked then, over the sessions that began before; one without, after the last turn.
    """

    text: str
    category: str
    evidence: frozenset[str]
    answer: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation: its sessions in order of time, and the questions about them."""

    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def turns(self) -> list[Turn]:
        return [turn for session in self.sessions for turn in session.turns]

    @property
    def end(self) -> datetime:
        """Return a time just after the last turn."""
        return max(turn.at for turn in self.turns) + PACE

    def moments(self) -> Iterator[tuple[datetime, Conversation, tuple[Session, ...]]]:
        """Yield each time at which questions are asked, in order.

        With it come the conversation until then, with the questions of that time, and its sessions that are new since
        the time before.
        """
        asked, begun = defaultdict[datetime, list[Question]](list), 0
        for question in self.questions:
            asked[question.at or self.end].append(question)
        for at in sorted(asked):
            sessions = tuple(session for session in self.sessions if session.at < at)
            yield at, Conversation(self.name, sessions, tuple(asked[at])), sessions[begun:]
            begun = len(sessions)


@dataclass(slots=True)
class Counts:
    """Counts of what was repaired or left out while reading."""

    evidence_repaired: int = 0
    evidence_skipped: int = 0
    questions_without_evidence: int = 0
    turns_without_text: int = 0
    dates_mended: int = 0

    def __str__(self) -> str:
        return (
            f"{self.evidence_repaired} evidence ids repaired, {self.evidence_skipped} skipped; "
            f"{self.questions_without_evidence} questions without evidence left out, "
            f"and {self.turns_without_text} turns without text; {self.dates_mended} dates mended"
        )


@dataclass(slots=True)
class Data:
    """The conversations of a file."""

    name: str
    conversations: list[Conversation]
    counts: Counts = field(default_factory=Counts)


def load(path: str | Path) -> Data:
    """Read a file of any of the formats, or exit with a message that says what is wrong with it.

    Image captions are left out. A LoCoMo speaker is a person in the role of the user, unless called user, assistant or
    document. All sessions of a LongMemEval sample are one history. The evidence of its question is the messages marked
    ``has_answer``, or its whole conversation if none is marked.
    """
    path = Path(path)
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path} cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise SystemExit(f"{path} is not JSON: {error}") from None
    try:
        data = Data(path.name, [])
        single = isinstance(value, dict) and "conversation" in value
        if isinstance(value, dict) and "data" in value:
            chats = [_long_mem_eval(item, place, data.counts) for item, place in items(value["data"], "data")]
            data.conversations = [_pooled(path.stem, chats)]
        elif is_realmem(value) and not single:
            data.conversations = people(value, data.counts)
        else:
            parts = items([value] if single else value, "the file")
            data.conversations = [_locomo(item, place, data.counts) for item, place in parts]
    except Malformed as error:
        raise SystemExit(
            f"{path} is neither LoCoMo's format nor a sample of LongMemEval nor RealMem's: {error}"
        ) from None
    if not any(conversation.questions for conversation in data.conversations):
        raise SystemExit(f"{path} asks no question that has evidence: there is nothing to measure ({data.counts})")
    return data


# LoCoMo


def _locomo(item: Any, place: str, counts: Counts) -> Conversation:
    talk = get(item, "conversation", dict, place)
    name = str(item.get("sample_id", place))
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    sessions = [_locomo_session(talk, number, name, counts) for number in numbers]
    kept = tuple(sorted((session for session in sessions if session.turns), key=lambda session: session.at))
    if not kept:
        raise Malformed(f"{name} has no session_N with turns")
    known = [turn.id for session in kept for turn in session.turns]
    if len(set(known)) < len(known):
        raise Malformed(f"{name} has two turns of the same dia_id")
    asked = [_locomo_question(q, where, set(known), counts) for q, where in items(item.get("qa", []), f"{name}.qa")]
    return Conversation(name, kept, _answerable(asked, counts))


def _locomo_session(talk: Mapping[str, Any], number: int, name: str, counts: Counts) -> Session:
    place = f"{name}.session_{number}"
    given = list(items(talk[f"session_{number}"], place))
    at = _date(talk.get(f"session_{number}_date_time"), f"{place}_date_time") if given else datetime.min
    turns = []
    for position, (item, where) in enumerate(given):
        text, speaker = get(item, "text", str, where), get(item, "speaker", str, where)
        if text.strip():
            role, person = (speaker, None) if speaker in ROLES else ("user", speaker)
            turns.append(Turn(get(item, "dia_id", str, where), text, at + position * PACE, role, person))
    counts.turns_without_text += len(given) - len(turns)
    return Session(f"session_{number}", at, tuple(turns))


def _locomo_question(item: Any, place: str, known: set[str], counts: Counts) -> Question:
    category = get(item, "category", int, place)
    evidence = item.get("evidence") or []
    found = [_mended(given, known, counts) for given in ([evidence] if isinstance(evidence, str) else evidence)]
    ids = frozenset(id_ for ids in found for id_ in ids)
    text, answer = get(item, "question", str, place), item.get("answer", item.get("adversarial_answer", ""))
    return Question(text, CATEGORIES.get(category, str(category)), ids, str(answer))


def _mended(given: Any, known: set[str], counts: Counts) -> list[str]:
    """Return the ids of turns that an evidence item means: two for "D8:6; D9:17", one for "D:11:26", none for "D"."""
    if given in known:
        return [given]
    found = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(str(given))]
    ids = [id_ for id_ in found if id_ in known]
    counts.evidence_repaired += bool(ids)
    counts.evidence_skipped += len(found) - len(ids) if ids else 1
    return ids


# LongMemEval


def _long_mem_eval(item: Any, place: str, counts: Counts) -> Conversation:
    sessions: dict[str, list[Turn]] = {}
    marked = set()
    for number, (message, where) in enumerate(items(get(item, "conversation", list, place), f"{place}.conversation")):
        role, text, date = (get(message, key, str, where) for key in ("role", "content", "date"))
        if role not in ROLES:
            raise Malformed(f"{where} has the role {role!r}")
        if not text.strip():
            counts.turns_without_text += 1
            continue
        turns = sessions.setdefault(date, [])
        turns.append(Turn(str(number), text, _date(date, where) + len(turns) * PACE, role))
        if message.get("has_answer"):
            marked.add(str(number))
    dated = tuple(Session(date, turns[0].at, tuple(turns)) for date, turns in sessions.items())
    evidence = frozenset(marked or (turn.id for session in dated for turn in session.turns))
    kind = str(item.get("question_type"))
    asked = items(get(item, "questions", list, place), f"{place}.questions")
    questions = [Question(get(q, "question", str, where), kind, evidence, str(q.get("answer"))) for q, where in asked]
    return Conversation(str(item.get("id", place)), dated, _answerable(questions, counts))


def _pooled(name: str, conversations: Sequence[Conversation]) -> Conversation:
    """Put several conversations into one history; the conversations' names keep their ids apart."""
    parts = [_prefixed(conversation) for conversation in conversations]
    sessions = sorted((session for part in parts for session in part.sessions), key=lambda session: session.at)
    return Conversation(name, tuple(sessions), tuple(question for part in parts for question in part.questions))


def _prefixed(conversation: Conversation) -> Conversation:
    mark = conversation.name + "/"
    sessions = tuple(
        Session(mark + session.id, session.at, tuple(replace(turn, id=mark + turn.id) for turn in session.turns))
        for session in conversation.sessions
    )
    questions = tuple(
        replace(question, evidence=frozenset(mark + id_ for id_ in question.evidence))
        for question in conversation.questions
    )
    return Conversation(conversation.name, sessions, questions)


# reading values


class Malformed(Exception):
    """Raised when a file does not have the expected format; the message says where."""


def items(value: Any, place: str) -> Iterable[tuple[Any, str]]:
    if not isinstance(value, list):
        raise Malformed(f"{place} should be a list, not {_kind(value)}")
    return [(item, f"{place}[{number}]") for number, item in enumerate(value)]


def get(item: Any, key: str, kind: type, place: str) -> Any:
    if not isinstance(item, dict):
        raise Malformed(f"{place} should be an object, not {_kind(item)}")
    if not isinstance(item.get(key), kind):
        raise Malformed(f"{place}.{key} should be {kind.__name__}, not {_kind(item.get(key))}")
    return item[key]


def _kind(value: Any) -> str:
    return "missing" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"


def _date(value: Any, place: str) -> datetime:
    """Parse a session's date. It has no time zone; UTC stands for the local time."""
    for style in _DATES:
        try:
            return datetime.strptime(str(value), style).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        raise Malformed(f"{place} should be a date such as '9:20 am on 3 June, 2024', not {_kind(value)}") from None
    return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)


def _answerable(questions: Iterable[Question], counts: Counts) -> tuple[Question, ...]:
    asked = list(questions)
    kept = tuple(question for question in asked if question.evidence)
    counts.questions_without_evidence += len(asked) - len(kept)
    return kept


# RealMem
#
# A turn with ``is_query`` is asked at its time, over the sessions before its own. Its evidence is the turns from which
# the memories come that the next turn names in ``memory_used``; a memory that was made of several turns names none.
# The order of the file is the order of time: no memory is used before its session there. Some sessions have a date
# before that of the session in front of them; they get the later date.


CATEGORY: Final = "going on"
GAP: Final = timedelta(minutes=20)
"""Time between two sessions of a day: the format names the day only."""
MORNING: Final = timedelta(hours=9)
SPEAKERS: Final = {"User": "user", "Assistant": "assistant"}

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
        if speaker not in SPEAKERS:
            raise Malformed(f"{where} has the speaker {speaker!r}")
        if text.strip():
            turns.append(Turn(f"{id_}:{number}", text, at + (number - 1) * PACE, SPEAKERS[speaker]))
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


# into a memory


def fill(memory: TidalMemory, sessions: Sequence[Session]) -> None:
    """Record sessions: one exchange for each turn of a person, with the assistant's turns that follow it."""
    exchanges: list[Exchange] = []
    for session in sessions:
        for turns in exchanges_in(session):
            exchanges.append(Exchange(tuple(map(to_message, turns)), session.id, occurred_at=turns[0].at))
    documents = [
        Note(turn.text, thread=session.id, occurred_at=turn.at, metadata={"message": turn.id})
        for session in sessions
        for turn in session.turns
        if turn.role == "document"
    ]
    memory.record_many(exchanges)
    memory.remember(documents)
    memory.supersessions.find()  # the background may not have come to it
    memory.graph.index_pending()  # what the graph says must not take the places of what was said


def exchanges_in(session: Session) -> Iterator[list[Turn]]:
    held: list[Turn] = []
    for turn in session.turns:
        if turn.role == "user" and held:
            yield held
            held = []
        if turn.role != "document":
            held.append(turn)
    if held:
        yield held


def to_message(turn: Turn) -> Message:
    return Message("assistant" if turn.role == "assistant" else "user", turn.text, turn.id, turn.speaker, at=turn.at)
