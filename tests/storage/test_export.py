"""Export and load: a whole memory as one file, without loss; damaged files are refused."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.files.make import GONE, QUIET, fill
from tidal_plugins import (
    Conflict,
    Corrupt,
    Forgotten,
    InvalidInput,
    Message,
    Policy,
    PolicyViolation,
    StorageError,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.maintenance.export import FORMAT, SCHEMA, LineWriter
from tidal_plugins.model.entry import Entry, Link
from tidal_plugins.testing import FrozenClock

OpenMemory = Callable[..., TidalMemory]


@pytest.fixture
def source(tmp_path: Path, clock: FrozenClock, open_memory: OpenMemory) -> TidalMemory:
    """Return a memory with something of everything."""
    memory = open_memory("source.db", settings=QUIET)
    fill(memory, clock)
    return memory


def loaded(memory: TidalMemory, path: Path) -> TidalMemory:
    memory.load(path)
    return memory


@pytest.fixture
def exported(source: TidalMemory, tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    source.export(path)
    return path


def test_a_round_trip_is_the_same_to_the_byte(
    open_memory: OpenMemory, exported: Path, tmp_path: Path, source: TidalMemory
) -> None:
    memory = loaded(open_memory("new.db", settings=QUIET), exported)
    assert memory.export(tmp_path / "again.jsonl") == len(exported.read_text("utf-8").splitlines()) - 1
    assert (tmp_path / "again.jsonl").read_bytes() == exported.read_bytes()
    assert memory.check().ok
    source.export(tmp_path / "twice.jsonl")
    assert (tmp_path / "twice.jsonl").read_bytes() == exported.read_bytes()


def test_what_was_loaded_answers_as_before(open_memory: OpenMemory, exported: Path, source: TidalMemory) -> None:
    memory = loaded(open_memory("new.db", settings=QUIET), exported)
    for query in ("Where is the mast?", "varnish the hull", "bowline knots", "spruce"):
        assert memory.recall(query).explain() == source.recall(query).explain()
        assert memory.recall(query).hits == source.recall(query).hits
    assert memory.episodes.list() == source.episodes.list()
    assert memory.facts.history("harbour") == source.facts.history("harbour")
    assert memory.dossiers["mast"].body == source.dossiers["mast"].body
    assert memory.sessions.list() == source.sessions.list()
    assert memory.sessions.audit(1) == source.sessions.audit(1)
    assert memory.documents.list() == source.documents.list()
    assert memory.graph.entities() == source.graph.entities()
    assert [hit.text for hit in memory.scoped("user", "7").recall("cellar")] == ["Only seven knows of the cellar."]


def test_what_was_forgotten_stays_so_and_writing_goes_on(open_memory: OpenMemory, exported: Path) -> None:
    memory = loaded(open_memory("new.db", settings=QUIET), exported)
    with pytest.raises(Forgotten):
        memory.remember(GONE)
    before = memory.episodes.list(thread="boats")
    again = memory.record("The oars are ash.", "Ash.", thread="boats", id="oars")
    assert again.turn == len(before) + 1
    assert memory.episodes.id_of("oars", thread="boats") == again.id
    assert again.id[:2] == before[0].id[:2], "ids bear the mark of the store that they come from"
    assert memory.sessions.open(agent="planner").signal("like", memory.recall("oars")[0].id) is not None
    memory.maintenance.run()
    assert memory.check().ok


def test_only_a_new_memory_is_loaded_into(open_memory: OpenMemory, exported: Path) -> None:
    memory = open_memory("used.db", settings=QUIET)
    note = memory.remember("The anchor is heavy.")
    for _ in range(2):
        with pytest.raises(Conflict):
            memory.load(exported)
        memory.erase_scope() if note.id in {entry.id for entry in memory.entries.list()} else None
        memory.facts["left"] = "something"
    with pytest.raises(InvalidInput, match="view"):
        memory.scoped("other").load(exported)


def altered(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> bytes:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(lines)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


DAMAGE: dict[str, Callable[[Path], bytes]] = {
    "cut off in a line": lambda path: path.read_bytes()[:-400],
    "cut off after a line": lambda path: b"".join(path.read_bytes().splitlines(keepends=True)[:-1]),
    "a line is gone": lambda path: path.read_bytes().replace(path.read_bytes().splitlines(keepends=True)[3], b""),
    "a word is another": lambda path: path.read_bytes().replace(b"spruce", b"bamboo", 1),
    "something follows": lambda path: path.read_bytes() + b"{}\n",
    "another kind of line": lambda path: altered(path, lambda lines: lines[2].update({"is": "riddle"})),
    "a vector of another size": lambda path: altered(
        path, lambda lines: next(one for one in lines if one.get("passages"))["passages"][0].__setitem__(3, "AAAA")
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_whole(open_memory: OpenMemory, exported: Path, tmp_path: Path, damage: str) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(DAMAGE[damage](exported))
    memory = open_memory("new.db", settings=QUIET)
    with pytest.raises(Corrupt):
        memory.load(broken)
    assert memory.stats().entries == 0
    assert memory.load(exported) > 0, "nothing was left by the failed attempt"


OLDER: dict[str, Callable[[dict[str, Any]], bool]] = {
    "an embedder without an id": lambda line: line.get("key") == "embedder" and bool(change(line, "id")),
    "a fact without a time": lambda line: line.get("collection") == "facts" and bool(change(line, "since")),
    "a session without a policy": lambda line: line.get("collection") == "sessions" and bool(change(line, "policy")),
    "a document without parts": lambda line: line.get("collection") == "sources" and bool(change(line, "parts")),
    "a key that is no hex": lambda line: line.get("key") == "secret" and bool(line.update(versions=[[1, "zz"]]) or 1),
    "a message without a role": lambda line: (
        line.get("entry", {}).get("kind") == "episode" and bool(line["entry"]["metadata"].clear() or 1)
    ),
}


def change(line: dict[str, Any], field: str) -> int:
    """Take a field out of the value of a document, and return in how many versions it was."""
    return sum(value.pop(field, None) is not None for _, value in line["versions"] if value)


def rewritten(path: Path, altered: Callable[[dict[str, Any]], bool], target: Path) -> Path:
    """Write an export with other lines and the right checksum, as another version of the library would."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        lines = [json.loads(line) for line in file.read().splitlines()][:-1]
    assert sum([altered(line) for line in lines]) > 0
    out = LineWriter(str(target), compressed=False)
    for line in lines:
        out.write(line)
    out.end()
    out.close()
    return target


@pytest.mark.parametrize("older", OLDER)
def test_a_file_of_another_shape_is_refused_whole(
    open_memory: OpenMemory, exported: Path, tmp_path: Path, older: str
) -> None:
    memory = open_memory("new.db", settings=QUIET)
    with pytest.raises(Corrupt, match="nothing was loaded"):
        memory.load(rewritten(exported, OLDER[older], tmp_path / "old.jsonl"))
    memory.close()
    again = open_memory("new.db", settings=QUIET)
    assert again.stats().entries == 0
    assert again.load(exported) > 0


@pytest.mark.parametrize("schema", [None, 0, SCHEMA + 1])
def test_an_export_of_another_schema_is_refused_by_name(
    open_memory: OpenMemory, exported: Path, tmp_path: Path, schema: int | None
) -> None:
    def other(line: dict[str, Any]) -> bool:
        return "schema" in line and [line.pop("schema"), line.update(schema=schema)] != [] and line["is"] == FORMAT

    file = rewritten(exported, other, tmp_path / "old.jsonl")
    named = f"schema {schema}" if schema is not None else "a schema before the first"
    with pytest.raises(StorageError, match=rf"with {named}, and this library reads schema {SCHEMA}"):
        open_memory("new.db", settings=QUIET).load(file)


SHAPED = {"facts", "dossiers", "topics", "sessions", "sources", "capsules", "merges", "session-counters"}
"""Collections whose values have the same fields always."""


def test_the_schema_has_another_number_when_its_fields_are_others(exported: Path) -> None:
    lines = [json.loads(line) for line in exported.read_bytes().splitlines()]
    fields: dict[str, set[str]] = {}
    for line in lines:
        if line.get("collection") in SHAPED:
            fields.setdefault(line["collection"], set()).update(*(value for _, value in line["versions"] if value))
    fields |= {"entry": {field.name for field in dataclasses.fields(Entry) if field.compare}}
    fields |= {"link": {field.name for field in dataclasses.fields(Link)}}
    fields |= {"message": {field.name for field in dataclasses.fields(Message)}}
    found = {"schema": SCHEMA, "fields": {name: sorted(names) for name, names in sorted(fields.items())}}
    known = json.loads((Path(__file__).parent / "export_schema.json").read_text("utf-8"))
    assert found == known, "raise SCHEMA in maintenance/export.py and write the new fields here"


def test_other_files_are_named_for_what_they_are(open_memory: OpenMemory, exported: Path, tmp_path: Path) -> None:
    memory, file = open_memory("new.db", settings=QUIET), tmp_path / "file"
    for content in (b"Dear reader,\n", b"", b'{"is": "something"}\n', b"\x00\xff"):
        file.write_bytes(content)
        with pytest.raises(StorageError):
            memory.load(file)
    file.write_bytes(altered(exported, lambda lines: lines[0].update(version=99)))
    with pytest.raises(StorageError, match=r"version 99.*upgrade"):
        memory.load(file)
    file.write_bytes(gzip.compress(exported.read_bytes())[:-20])
    with pytest.raises(Corrupt):
        memory.load(file)
    assert memory.stats().entries == 0


def test_a_file_that_is_there_is_replaced_on_request_alone(source: TidalMemory, exported: Path) -> None:
    before = exported.read_bytes()
    with pytest.raises(Conflict):
        source.export(exported)
    source.remember("One thing more.")
    assert source.export(exported, replace=True) > 0
    assert exported.read_bytes() != before
    with pytest.raises(InvalidInput):
        source.export(source.path, replace=True)
    assert [file for file in exported.parent.iterdir() if ".part" in file.name] == []


ODD = "\x00\x01\x7f\u202e\u200d\ufeff\U0001f469\u200d\U0001f680 \U000e0041"
ODD += " e\u0301 \r\n\t\x0b\u2028\u2029\x85 \uffff\U0010ffff"


def test_what_is_archived_large_or_oddly_written_travels_to_the_byte(
    tmp_path: Path, clock: FrozenClock, open_memory: OpenMemory
) -> None:
    memory = open_memory("odd.db", settings=QUIET).scoped("user", 'ö\u0301 %/"☃')
    memory.record(f"The mast {ODD} is spruce.", f"Noted {ODD}.", thread="m\u0301asts", metadata={"said": ODD})
    memory.record("Read it.", "Done.", tools=[ToolCall("read", {"path": ODD}, result="a plank of ash " * 66_000)])
    memory.remember("The hull is of oak.\n" * 47_000, source="hull.md")
    memory.record("glaze.py depends on recipes.py.", "I see.")
    for value in ("open", {"from": [1, 2.5, None, True, ODD]}, 10**25, "closed"):
        memory.facts["harbour"] = value
        clock.advance(hours=1)
    memory.sessions.policies["planner"] = Policy(allow={"like"}, max_signals=2)
    with memory.sessions.open(agent="planner", user="mira", policy="planner") as session:
        session.signal("like", memory.recall("mast")[0].id, note="ö\u0301 ☃")
        with pytest.raises(PolicyViolation):
            session.signal("dislike", memory.recall("mast")[0].id)
    memory.sessions.open(agent="left open").signal("like", memory.recall("mast")[0].id)
    memory.graph.index_pending()
    memory.dossiers.refresh("mast")
    memory.forget(memory.remember("The falcon nests on the crane.").id)
    memory.scoped("user/7").remember("Only seven knows of the cellar.")
    clock.advance(days=400)
    memory.maintenance.run()
    clock.advance(days=400)
    memory.maintenance.run()
    everything = memory.entries.list(include_archived=True, limit=256)
    assert len(memory.entries.list(limit=256)) < len(everything)
    assert max(len(entry.text) for entry in everything) > 900_000
    assert memory.graph.entities()

    first, again = tmp_path / "first.jsonl.gz", tmp_path / "again.jsonl.gz"
    memory.export(first)
    opened = open_memory("new.db", settings=QUIET)
    loaded(opened, first).export(again)
    assert again.read_bytes() == first.read_bytes()
    assert opened.check().ok
    new = opened.scoped(*memory.scope)
    assert new.entries.list(include_archived=True, limit=256) == everything
    assert new.facts.history("harbour") == memory.facts.history("harbour")
    assert (new.sessions.list(), new.sessions.policies["planner"]) == (
        memory.sessions.list(), memory.sessions.policies["planner"]
    )  # fmt: skip
    assert new.recall("mast", include_archived=True).hits == memory.recall("mast", include_archived=True).hits
