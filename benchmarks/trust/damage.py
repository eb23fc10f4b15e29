"""Damage: files in which one value of a table, some raw bytes or whole pages are not what was written.

Every door of the memory is asked the same questions of the intact file and of the damaged one. An answer may be the
same, an error of the library, or another one that tells of the damage in its ``degraded``. One that differs and tells
of nothing is silent; a text that was never stored is forged.
"""

from __future__ import annotations

import shutil
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import apsw
from rich.console import Console
from rich.table import Table

from benchmarks.trust.life import TURNS, WORKERS, each, quiet
from tidal_plugins import HashingEmbedder, Policy, Settings, StorageError, TidalError, TidalMemory
from tidal_plugins.storage.sqlite.opening import INSTALL, OS
from tidal_plugins.testing import FrozenClock

FILES = 1000

VERBATIM = ("get", "recall", "episodes", "list", "facts", "history")
"""The doors whose lines are texts that were stored, as they were stored."""


SILENT_SWAPS = 1 / 200
"""Share of the plain files with swapped pages that may answer otherwise without a word."""

KEY = """\
refused: SQLite did not let it happen, or the file was refused as a whole with a typed error.
stuck: no more turns are taken until a repair. found: check() names a fault. told: an answer was an error or told of
damage. silent: an answer differed and told of nothing. harmless: every answer was that of the intact file.
repaired: check(repair=True) left no fault, and every answer is that of the intact file. Goal: no bad one, that is no
silent answer (of a plain file with swapped pages at most one in 200), no text that was never stored, no scope without
any answer for a damaged value, no foreign error, and nothing wrong after a repair that left no fault."""


@dataclass(frozen=True, slots=True)
class Intact:
    """The file that copies of are damaged, the ids of its entries by scope, its answers, the texts in them, and the
    key of an encrypted file."""

    path: Path
    ids: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, Answer]
    texts: frozenset[str]
    key: bytes | None = None


@dataclass(slots=True)
class Outcome:
    """What came of one damage.

    Attributes:
        damage: the damage.
        refused: the error with which SQLite did not let it happen, or the memory did not open the file.
        stuck: the error with which the memory took no more turns until it was repaired.
        found: whether ``check()`` found it.
        told: answers that were errors, or that differed and told of damage.
        silent: the names of those that differed and told of nothing.
        forged: texts that were never stored.
        failed: the scopes in which no question was answered any more.
        broken: errors that are not the library's own.
        repaired: whether a repair left no fault, and afterwards every answer was that of the intact file.
        wrong: the answers that differed after a repair that left no fault, and the error if no turn is taken then.
    """

    damage: Damage
    refused: str = ""
    stuck: str = ""
    found: bool = False
    told: int = 0
    silent: list[str] = field(default_factory=list)
    forged: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    repaired: bool = False
    wrong: list[str] = field(default_factory=list)

    @property
    def bad(self) -> list[str]:
        """Return what must not be, in words."""
        what = {
            "silent": self.silent, "forged": self.forged, "failed": self.failed, "broken": self.broken,
            "wrong after repair": self.wrong,
        }  # fmt: skip
        return [f"{name}: {', '.join(map(str, items))[:200]}" for name, items in what.items() if items]


def run(files: int, console: Console, workers: int = WORKERS) -> bool:
    """Damage files, print what came of it, and return whether nothing was silent, forged or lost as a whole."""
    return show("Damaged files", damaged(files, workers), console)


def run_encrypted(files: int, console: Console, workers: int = WORKERS) -> bool:
    """Damage the bytes of encrypted files, as :func:`run` does. Without an SQLite with ciphers nothing is tried."""
    if not hasattr(apsw, "mc_version"):
        console.print(f"encrypted: skipped, this SQLite has no ciphers; {INSTALL}")
        return True
    return show("Damaged encrypted files", damaged(files, workers, key=bytes(range(32))), console)


def show(title: str, found: Iterable[Outcome], console: Console) -> bool:
    """Print what came of damages, and return whether it is as it should be."""
    begun = time.monotonic()
    outcomes = list(found)
    table = Table("table", "files", "refused", "stuck", "found", "told", "silent", "harmless", "repaired", "bad")
    table.title = title
    for name in sorted({outcome.damage.table for outcome in outcomes}):
        table.add_row(name, *_row([outcome for outcome in outcomes if outcome.damage.table == name]))
    table.add_section()
    table.add_row("all", *_row(outcomes))
    console.print(table)
    bad = [outcome for outcome in outcomes if outcome.bad]
    for outcome in bad[:40]:
        console.print(f"  {outcome.damage}: {'; '.join(outcome.bad)}", markup=False)
    console.print(f"{KEY} {time.monotonic() - begun:.0f} s")
    swaps = [outcome for outcome in outcomes if outcome.damage.table == "swapped"]
    few = sum(bool(one.bad) for one in swaps) <= len(swaps) * SILENT_SWAPS and "encrypted" not in title
    return not [outcome for outcome in bad if not few or outcome.damage.table != "swapped"]


def _row(outcomes: list[Outcome]) -> list[str]:
    harmless = [one for one in outcomes if not (one.refused or one.told or one.bad)]
    counts = Counter(
        refused=sum(bool(one.refused) for one in outcomes),
        stuck=sum(bool(one.stuck) for one in outcomes),
        found=sum(one.found for one in outcomes),
        told=sum(one.told > 0 for one in outcomes),
        silent=sum(bool(one.silent) for one in outcomes),
        harmless=len(harmless),
        repaired=sum(one.repaired for one in outcomes),
        bad=sum(bool(one.bad) for one in outcomes),
    )
    return [f"{len(outcomes):,}", *(f"{count:,}" for count in counts.values())]


def damaged(files: int, workers: int, key: bytes | None = None) -> Iterator[Outcome]:
    """Damage that many files, encrypted if there is a key, and yield what came of each."""
    with TemporaryDirectory(prefix="tidal-damage-") as folder:
        path = Path(folder, "intact.db")
        ids = fill(path, key)
        with open_file(path, key) as memory:
            answers = {name: answer(question) for name, question in questions(memory, ids).items()}
            ids_only = {name: one for name, one in answers.items() if name.split()[1] in VERBATIM}
        texts = frozenset(line for one in ids_only.values() for line in one.lines)
        chosen = raw_damages(files) if key else damages(path, files)
        yield from each(partial(suffer, Intact(path, ids, answers, texts, key)), chosen, workers)


@quiet()
def suffer(intact: Intact, damage: Damage) -> Outcome:
    """Damage a copy of a file, and return what comes of it."""
    outcome = Outcome(damage)
    with TemporaryDirectory(prefix="damaged-", dir=intact.path.parent) as folder:
        path = Path(folder, "agent.db")
        shutil.copy(intact.path, path)
        if apply(path, damage):
            try:
                _use(path, intact, outcome)
            except StorageError as error:
                outcome.refused = type(error).__name__
            except Exception as error:
                outcome.broken.append(repr(error))
        else:
            outcome.refused = "ConstraintError"
    return outcome


def _use(path: Path, intact: Intact, outcome: Outcome) -> None:
    with open_file(path, intact.key) as memory:
        answers = {name: answer(question) for name, question in questions(memory, intact.ids).items()}
        _judge(answers, intact, outcome)
        outcome.found = _is_found(memory, outcome)
        try:
            memory.record("The tram leaves at six.", "At six, noted.", thread="later")
        except StorageError as error:
            outcome.stuck = type(error).__name__
    with open_file(path, intact.key) as memory:
        if not outcome.found or not _is_repaired(memory, outcome):
            return
        try:
            memory.record("The tram leaves at six.", "At six, noted.", thread="later")
        except StorageError as error:
            outcome.wrong.append(f"still stuck: {error}")
            return
        for episode in memory.episodes.list(thread="later"):
            memory.forget(episode.id)
        after = {name: answer(question) for name, question in questions(memory, intact.ids).items()}
        outcome.wrong = [name for name in intact.answers if after[name].lines != intact.answers[name].lines]
        outcome.repaired = not outcome.wrong


def _is_found(memory: TidalMemory, outcome: Outcome) -> bool:
    """Return whether a check finds a fault. It raises nothing for damage."""
    try:
        return not memory.check().ok
    except StorageError as error:
        outcome.broken.append(f"check() raised {error!r}")
        return False


def _is_repaired(memory: TidalMemory, outcome: Outcome) -> bool:
    """Repair what can be rebuilt, and return whether nothing else is wrong."""
    try:
        return memory.check(repair=True).ok
    except StorageError as error:
        if outcome.damage.table not in RAW:
            outcome.broken.append(f"no repair: {error}")
        return False


def _judge(answers: Mapping[str, Answer], intact: Intact, outcome: Outcome) -> None:
    for name, right in intact.answers.items():
        now = answers[name]
        if name.split()[1] in VERBATIM:
            outcome.forged += [line for line in now.lines if line not in intact.texts]
        if now.lines == right.lines and now.error == right.error:
            continue
        if now.told or now.error:
            outcome.told += 1
        else:
            outcome.silent.append(name)
    verbatim = [name for name, right in intact.answers.items() if name.split()[1] in VERBATIM and right.lines]
    for scope in () if outcome.damage.table in RAW else ("own", "other"):
        asked = [name for name in verbatim if name.startswith(scope)]
        if not any(any(answers[name].lines) for name in asked):
            outcome.failed.append(scope)


# ways to damage a file
#
# One bit of one value of a table changes, behind the back of all indexes and triggers, or raw bytes do. The checksums
# of pages stay what they were, as when a disk does it.


RAW: Final = ("flipped", "zeroed", "truncated", "swapped")
"""Damages of the raw bytes of the file."""

FLIPS: Final = (1, 8, 40)
"""Bytes that are changed at once, at random places behind the file's header."""
HEADER = 100
"""Bytes of the header of an SQLite file. Damage there is told by SQLite, or it is no database."""
SECTOR = 512
"""Bytes of a disk's sector."""
PAGE = 4096
"""Bytes of a page."""


class Damage(NamedTuple):
    """A damage: its table or one of ``RAW``, the column, and a seed for what else chance decides."""

    table: str
    column: str
    seed: int

    def __str__(self) -> str:
        return f"{self.table}.{self.column} #{self.seed}" if self.column else f"{self.table} #{self.seed}"


def columns(path: Path) -> list[tuple[str, str]]:
    """Return table and column of every column with a value, SQLite's own tables and those of the index included."""
    connection = apsw.Connection(str(path), vfs=OS)
    try:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'keywords' ORDER BY name"
        tables = [name for (name,) in connection.execute(sql)]
        return [
            (str(table), str(row[1]))
            for table in tables
            for row in connection.execute(f"PRAGMA table_info ({table})").fetchall()
            if connection.execute(f'SELECT count("{row[1]}") FROM {table}').get
        ]
    finally:
        connection.close()


def damages(path: Path, count: int) -> list[Damage]:
    """Return that many damages: half are of values, of which each column has its share, the rest of raw bytes."""
    places = columns(path)
    Random(count).shuffle(places)  # a few damages are of many tables, too
    rows = max(count // 2, 1)
    some = [Damage(*places[number % len(places)], number) for number in range(rows)]
    return some + raw_damages(count - rows)


def raw_damages(count: int) -> list[Damage]:
    """Return that many damages of raw bytes, of all kinds in turn."""
    return [Damage(RAW[number % len(RAW)], "", number) for number in range(count)]


def apply(path: Path, damage: Damage) -> bool:
    """Damage a closed file; return whether SQLite let it happen."""
    dice = Random(f"{damage}")
    if damage.table in RAW:
        path.write_bytes(_altered(path.read_bytes(), damage.table, dice))
        return True
    connection = apsw.Connection(str(path), vfs=OS)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.execute("PRAGMA foreign_keys = OFF")
        _flip_value(connection, damage, dice)
    except (apsw.ConstraintError, apsw.MismatchError):
        return False
    finally:
        connection.close()
    return True


def _altered(whole: bytes, how: str, dice: Random) -> bytes:
    """Return the bytes of a file, damaged."""
    data, pages = bytearray(whole), len(whole) // PAGE
    if how == "flipped":
        for _ in range(dice.choice(FLIPS)):
            data[dice.randrange(HEADER, len(data))] ^= dice.randrange(1, 256)
    elif how == "zeroed":
        size = dice.choice((SECTOR, PAGE))
        start = dice.randrange(1, len(data) // size) * size
        data[start : start + size] = bytes(size)
    elif how == "truncated":
        del data[dice.choice((dice.randrange(1, pages) * PAGE, len(data) - dice.randrange(1, PAGE))) :]
    else:
        one, other = (PAGE * page for page in dice.sample(range(1, pages), 2))
        data[one : one + PAGE], data[other : other + PAGE] = whole[other : other + PAGE], whole[one : one + PAGE]
    return bytes(data)


def _flip_value(connection: apsw.Connection, damage: Damage, dice: Random) -> None:
    """Flip a bit of a column of a random row."""
    table, column = damage.table, damage.column
    info = connection.execute(f"PRAGMA table_info ({table})").fetchall()
    names = [f'"{row[1]}"' for row in sorted(info, key=lambda row: int(str(row[5]))) if row[5]] or ["rowid"]
    sql = f'SELECT {", ".join(names)}, "{column}" FROM {table} WHERE "{column}" IS NOT NULL ORDER BY {", ".join(names)}'
    *key, value = dice.choice(connection.execute(sql).fetchall())
    new, how = _flipped(value, dice)
    where = " AND ".join(f"{name} IS ?" for name in names)
    connection.execute(f'UPDATE {table} SET "{column}" = {how} WHERE {where}', (new, *key))


def _flipped(value: Any, dice: Random) -> tuple[Any, str]:
    """Return a value with one bit changed, and how SQL writes it."""
    if isinstance(value, int):
        return value ^ (1 << dice.randrange(max(value.bit_length(), 4))), "?"
    if isinstance(value, float):
        return struct.unpack("<d", _one_bit(struct.pack("<d", value), dice))[0], "?"
    if isinstance(value, str):
        return _one_bit(value.encode() or b"\0", dice), "CAST(? AS TEXT)"
    return _one_bit(value or b"\0", dice), "?"


def _one_bit(data: bytes, dice: Random) -> bytes:
    changed = bytearray(data)
    changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


# a memory with rows in every table, and questions through every door of it


OTHER: Final = ("user", "42")
"""A second scope of the file."""
LIVED = 12
QUERIES: Final = ("When does the electrician come?", "What does the small bowl cost?", "Where is the ladder?")
TOPIC = "glaze"


class Answer(NamedTuple):
    """What came of a question: its lines, the error that it raised, and whether it told of damage."""

    lines: tuple[str, ...] = ()
    error: str = ""
    told: bool = False


class Told(NamedTuple):
    """Lines of an answer, and whether it names damage."""

    lines: Sequence[str]
    degraded: bool


Question = Callable[[], Told]


def open_file(path: Path, key: bytes | None = None) -> TidalMemory:
    """Open a memory whose answers depend on the file alone."""
    settings = Settings(graph={"background": False}, storage={"query_deadline": 60.0, "busy_timeout": 5.0})
    given = None if key is None else lambda: key
    return TidalMemory(path, embedder=HashingEmbedder(64), settings=settings, clock=FrozenClock(), key=given)


def fill(path: Path, key: bytes | None = None) -> dict[str, tuple[str, ...]]:
    """Live through something of everything in a new file, and return the ids of the entries of each scope."""
    with open_file(path, key) as memory:
        shown: list[str] = []
        ids = []
        for number, (user, agent) in enumerate(TURNS[:LIVED]):
            turn = memory.record(user, agent, thread=f"day-{number // 4}", surfaced=shown)
            shown = list(turn.entries)
            ids += [turn.id, *shown]
        ids.append(memory.remember("The kiln needs a fuse of 32 amperes. " * 40, source="kiln.md").id)
        memory.facts["oven"] = "north wall"
        memory.facts["oven"] = "south wall"
        memory.facts["bowls"] = "28 euros"
        memory.sessions.policies["narrow"] = Policy(allow={"like"})
        memory.signals.add("like", shown[0])
        session = memory.sessions.open()
        session.annotate(shown[0], "market")
        session.signal("like", shown[1])
        memory.dossiers.refresh(TOPIC)
        memory.graph.index_pending()
        memory.supersessions.find()
        memory.maintenance.run()
        memory.forget(ids.pop(ids.index(shown[-1])))
        other = memory.scoped(*OTHER)
        turn = other.record("The ladder is in the shed.", "In the shed, noted.", thread="home")
        other.facts["shed"] = "green"
    return {"own": tuple(ids), "other": (turn.id, *turn.entries)}


def questions(memory: TidalMemory, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Question]:
    """Return questions by a name that begins with ``own``, for the memory's own scope, or ``other``."""
    asked: dict[str, Question] = {}
    for place, one in (("own", memory), ("other", memory.scoped(*OTHER))):
        for id_ in ids[place]:
            asked[f"{place} get {id_}"] = partial(_got, one, id_)
        for query in QUERIES:
            asked[f"{place} recall {query}"] = partial(_recalled, one, query)
            asked[f"{place} whisper {query}"] = partial(_whispered, one, query)
        asked |= {f"{place} {name}": partial(_told, *door) for name, door in _doors(one).items()}
    return asked


def _got(memory: TidalMemory, id_: str) -> Told:
    return Told([memory.get(id_).text], degraded=False)


def _recalled(memory: TidalMemory, query: str) -> Told:
    recall = memory.recall(query, associative=True, window=1)
    unread = any(item.stage == "checksum" for item in recall.dropped)
    return Told([hit.entry.text for hit in recall], bool(recall.degraded) or unread)


def _whispered(memory: TidalMemory, query: str) -> Told:
    whisper = memory.whisper(query)
    return Told([whisper.text], bool(whisper.degraded))


def _told(read: Callable[[], Any], lines: Callable[[Any], list[str]]) -> Told:
    found = read()
    return Told(lines(found), bool(getattr(found, "degraded", ())))


def _doors(memory: TidalMemory) -> dict[str, tuple[Callable[[], Any], Callable[[Any], list[str]]]]:
    """Return how each door is read, and the lines of what it returns."""

    def each(found: Any) -> list[str]:
        return [str(one) for one in found]

    def texts(entries: Any) -> list[str]:
        return [entry.text for entry in entries]

    def values(facts: Any) -> list[str]:
        return [str(fact.value) for fact in facts]

    policies = memory.sessions.policies
    return {
        "episodes": (memory.episodes.list, lambda found: [turn.text for one in found for turn in one.messages]),
        "list": (memory.entries.list, lambda found: sorted(texts(found))),  # of one time they come as they are numbered
        "facts": (lambda: list(memory.facts.items()), lambda found: [f"{key}: {value}" for key, value in found]),
        "standing": (memory.facts.list, values),
        "history": (lambda: memory.facts.history("oven"), values),
        "conflicts": (memory.facts.conflicts, each),
        "dossiers": (memory.dossiers.list, each),
        "policies": (lambda: [f"{name} {policies[name]}" for name in policies], each),
        "sessions": (memory.sessions.list, each),
        "signals": (memory.signals.tally, lambda found: [str(found)]),
        "relations": (memory.graph.relations, each),
        "entities": (memory.graph.entities, each),
        "admitted": (memory.maintenance.admitted, lambda found: [str(found)]),
        "capsule": (memory.capsule.read, lambda found: [str(found)]),
    }


def answer(question: Question) -> Answer:
    """Ask a question. An error that is not the library's own is raised."""
    try:
        lines, told = question()
    except TidalError as error:
        return Answer(error=type(error).__name__)
    return Answer(tuple(lines), told=told)
