"""Damaged pages: what is on them is found as far as it is intact, and never is a wrong answer given without a word."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from shutil import copyfile
from typing import Any

import apsw
import pytest

from tests.inside import raw
from tidal_plugins import Busy, Corrupt, HashingEmbedder, Note, NotFound, Settings, StorageError, TidalMemory
from tidal_plugins.storage.sqlite import connections, opening
from tidal_plugins.storage.sqlite import read_only as read_only_files

PAGE = 4096
THINGS = [f"thing {number}" for number in range(60)]


def opened(path: Path, *, read_only: bool = False) -> TidalMemory:
    settings = Settings(graph={"background": False})
    return TidalMemory(path, embedder=HashingEmbedder(), settings=settings, read_only=read_only)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "agent.db"
    with opened(path) as memory:
        memory.remember([Note(f"The {thing} stands in the shed.", source=thing) for thing in THINGS])
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    return Path(copyfile(whole, tmp_path / "agent.db"))


def has_sum(page: bytes) -> bool:
    """Return whether a page ends with the checksum of the rest, as SQLite documents it."""
    first = second = 0
    for one, other in struct.iter_unpack("<II", page[:-8]):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return struct.pack("<II", first, second) == page[-8:]


def all_have_sums(path: Path) -> bool:
    data = path.read_bytes()
    return data[20] == opening.RESERVED and all(has_sum(data[at : at + PAGE]) for at in range(0, len(data), PAGE))


def page_of(path: Path, name: str) -> int:
    """Return the first leaf page of a table or an index: its place in the file, from 0."""
    with closing(raw(path)) as connection:
        number = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).get
    data = path.read_bytes()
    while data[(number - 1) * PAGE] in (2, 5):  # an interior page, whose cells begin with the page below
        [cell] = struct.unpack_from(">H", data, (number - 1) * PAGE + 12)
        [number] = struct.unpack_from(">I", data, (number - 1) * PAGE + cell)
    return int(number) - 1


def flip(path: Path, page: int, at: int = PAGE - 100) -> None:
    """Let the disk change a bit of a page."""
    data = bytearray(path.read_bytes())
    data[page * PAGE + at] ^= 1
    path.write_bytes(data)


def test_every_page_of_a_file_of_its_copies_and_of_a_rewritten_one_has_a_checksum(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        memory.forget(memory.recall("thing 7").ids[0])  # rewrites the file
        memory.record("The ladder is in the barn.", "Noted.")
        memory.backup(tmp_path / "copy.db")
    assert all_have_sums(path)
    assert all_have_sums(tmp_path / "copy.db")


@pytest.mark.parametrize("name", ["entries", "sqlite_autoindex_entries_1", "passages", "vectors", "entries_by_time"])
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_intact_is_found_and_the_damage_told(path: Path, name: str, read_only: bool) -> None:
    with opened(path) as memory:
        every = {thing: memory.recall(thing).ids[0] for thing in THINGS}
    flip(path, page_of(path, name), PAGE - 1)  # of the checksum, so that all that it holds is intact
    with opened(path, read_only=read_only) as memory:
        recall = memory.recall("thing 41")
        assert recall.hits[0].text == "The thing 41 stands in the shed."
        assert "damaged pages" in recall.degraded or name not in ("entries", "passages", "vectors")
        assert {memory.get(id_).text for id_ in every.values()} == {
            f"The {thing} stands in the shed." for thing in THINGS
        }
        assert not memory.check().ok


def test_an_index_that_lost_a_bit_makes_no_entry_unknown(path: Path) -> None:
    with opened(path) as memory:
        every = [memory.recall(thing).ids[0] for thing in THINGS]
    page, data = page_of(path, "sqlite_autoindex_entries_1"), path.read_bytes()
    lost = next(id_ for id_ in every if id_.encode() in data[page * PAGE : (page + 1) * PAGE])
    flip(path, page, data.index(lost.encode(), page * PAGE) - page * PAGE)
    with opened(path) as memory:
        with pytest.raises(Corrupt):
            memory.get(lost)
        with pytest.raises(NotFound):
            memory.get("nonesuch") if memory.check(repair=True).ok else None
        assert memory.get(lost).id == lost
        assert memory.recall("thing 41").degraded == ()
    assert all_have_sums(path)


def test_a_write_into_a_damaged_page_is_refused_with_the_repair(path: Path) -> None:
    flip(path, page_of(path, "corpus"))
    with opened(path) as memory:
        with pytest.raises(Corrupt, match=r"memory\.check\(repair=True\)"):
            memory.remember("The ladder is in the barn.")
        assert memory.check(repair=True).ok
        memory.remember("The ladder is in the barn.")


@pytest.mark.parametrize("statement", [b"entries = entries - 1", b"remove_diacritics 2", b"anchored_at < cold_at"])
def test_a_damaged_statement_of_the_schema_gets_no_new_checksum(path: Path, statement: bytes) -> None:
    data = path.read_bytes()
    place = data.index(statement) + len(statement) - 1
    flip(path, place // PAGE, place % PAGE)
    damaged = path.read_bytes()
    with pytest.raises(Corrupt):
        opened(path)
    assert path.read_bytes() == damaged


def test_a_damaged_page_of_values_about_the_store_is_written_anew(path: Path) -> None:
    flip(path, page_of(path, "documents"), PAGE - 1)  # of the checksum; what the page does not hold may have been there
    with opened(path) as memory:
        assert memory.recall("thing 41").hits
        assert memory.stats().unscrubbed_bytes  # it cannot be told
        assert not memory.check().ok
        assert memory.check(repair=True).ok
        assert memory.stats().unscrubbed_bytes == 0
        memory.remember("The ladder is in the barn.")
    assert all_have_sums(path)


@pytest.mark.parametrize("name", ["keywords_data", "keywords_idx", "keywords_docsize", "keywords_config"])
def test_a_damaged_keyword_index_is_left_out_and_written_anew(path: Path, name: str) -> None:
    with opened(path) as memory:
        right = [(hit.id, hit.score) for hit in memory.recall("thing 41")]
    flip(path, page_of(path, name), PAGE - 10)
    with opened(path) as memory:
        assert memory.recall("thing 41").hits
        assert not memory.check().ok
        assert memory.check(repair=True).ok
        assert [(hit.id, hit.score) for hit in memory.recall("thing 41")] == right


@pytest.mark.parametrize("damage", ["zeros", "end"])
def test_zeros_and_a_lost_end_are_typed_errors(path: Path, damage: str) -> None:
    data, page = bytearray(path.read_bytes()), page_of(path, "entries")
    if damage == "zeros":
        data[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
    else:
        del data[len(data) - len(data) // PAGE // 2 * PAGE :]
    path.write_bytes(data)
    with suppress(Corrupt), opened(path) as memory:
        assert not memory.check().ok
        assert not memory.check(repair=True).ok
        degraded = memory.recall("thing 41").degraded
        assert "damaged pages" in degraded or set(degraded) == {"vectors", "keywords"}


def swap(path: Path, one: int, other: int) -> None:
    data = bytearray(path.read_bytes())
    for to, page in ((one, other), (other, one)):
        data[to * PAGE : (to + 1) * PAGE] = path.read_bytes()[page * PAGE : (page + 1) * PAGE]
    path.write_bytes(data)


def leaves(path: Path, name: str) -> list[int]:
    """Return the leaf pages of a table or an index: their places in the file, from 0."""
    with closing(raw(path)) as connection:
        sql = "SELECT pageno - 1 FROM dbstat WHERE name = ? AND pagetype = 'leaf'"
        return [int(page) for (page,) in connection.execute(sql, (name,)).fetchall()]


def tells(read: Callable[[], Any]) -> bool:
    """Return whether an answer says that pages are damaged, or is an error that says so."""
    try:
        return "damaged pages" in read().degraded
    except Corrupt:
        return True


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("name", ["vectors", "entries", "passages_by_entry", "lost end"])
def test_pages_in_wrong_places_and_a_part_of_a_page_are_told_in_every_answer(
    path: Path, name: str, read_only: bool
) -> None:
    if name == "lost end":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        places = leaves(path, name)
        swap(path, places[0], places[-1] if len(places) > 1 else leaves(path, "log_by_name")[0])
    with opened(path, read_only=read_only) as memory:
        assert tells(lambda: memory.recall("thing 41"))
        assert tells(lambda: memory.whisper("Where is thing 41?"))
        assert tells(memory.entries.list)
        assert tells(memory.capsule.read)
        with pytest.raises(Corrupt):
            memory.get("nonesuch")
        assert not memory.check().ok


def test_swapped_pages_are_told_no_more_once_they_are_mended(path: Path) -> None:
    swap(path, leaves(path, "passages_by_entry")[0], leaves(path, "entries_by_time")[0])
    with opened(path) as memory:
        assert memory.recall("thing 41").degraded
        assert memory.check(repair=True).ok
        assert memory.recall("thing 41").degraded == ()
        with pytest.raises(NotFound):
            memory.get("nonesuch")


def test_a_large_file_is_examined_by_its_maintenance(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "EXAMINED_BYTES", PAGE)
    swap(path, leaves(path, "entries_by_time")[0], leaves(path, "log_by_name")[0])
    with opened(path) as memory:
        assert memory.recall("thing 41").degraded == ()
        thread = memory.maintenance.start()
        thread.stop()
        assert "damaged pages" in memory.recall("thing 41").degraded


def test_a_file_that_is_locked_is_not_told_as_damaged(tmp_path: Path) -> None:
    with (
        closing(apsw.Connection(str(tmp_path / "a.db"))) as one,
        closing(apsw.Connection(str(tmp_path / "a.db"))) as other,
    ):
        one.execute("CREATE TABLE a (b); BEGIN EXCLUSIVE")
        with pytest.raises(apsw.BusyError):
            opening.is_sound(other, "a.db")
        one.execute("COMMIT")
        assert opening.is_sound(other, "a.db")


@pytest.mark.parametrize("read_only", [False, True])
def test_a_memory_that_cannot_be_examined_is_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool
) -> None:
    def locked(*_: object) -> bool:
        raise apsw.BusyError("database is locked")

    with monkeypatch.context() as patch:
        for module in (connections, read_only_files):
            patch.setattr(module, "is_sound", locked)
        with pytest.raises(Busy):
            opened(path, read_only=read_only).recall("thing 41")
    with opened(path, read_only=read_only) as memory:
        assert memory.recall("thing 41").degraded == ()
    with closing(raw(path)) as alone:
        assert alone.pragma("journal_mode", "delete") == "delete"


def test_a_recall_that_meets_an_index_without_its_entries_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "EXAMINED_BYTES", PAGE)
    indexes = leaves(path, "sqlite_autoindex_entries_1")
    for index in indexes:
        swap(path, index, leaves(path, "entries_by_time")[0])
    with opened(path) as memory:
        degraded = set[str]()
        for thing in THINGS:
            with suppress(Corrupt):
                degraded.update(memory.recall(thing).degraded)
        assert "damaged entries" in degraded


@pytest.fixture
def without_extensions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let apsw be one that was built without its extensions."""
    monkeypatch.setattr(opening, "_plain", lambda: opening.OS)
    return


def test_an_apsw_without_extensions_reads_but_does_not_write_checksums(path: Path, without_extensions: None) -> None:
    with pytest.raises(StorageError, match="wheel of apsw"):
        opened(path)
    with opened(path, read_only=True) as memory:
        assert memory.recall("thing 41").hits[0].text == "The thing 41 stands in the shed."


@pytest.mark.slow
def test_other_programs_that_rewrite_the_whole_file_do_no_harm(path: Path) -> None:
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM')"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert not all_have_sums(path)
    with opened(path, read_only=True) as memory:
        assert "damaged pages" in memory.recall("thing 41").degraded
    with opened(path) as memory:
        assert memory.check().ok
        assert memory.recall("thing 41").degraded == ()
        memory.remember("The ladder is in the barn.")
    assert all_have_sums(path)


BESIDE = """
import sys
import pysqlite3, sqlite_vec
from tidal_plugins import HashingEmbedder, TidalMemory

def remembered(name, text):
    with TidalMemory(f"{sys.argv[1]}/{name}.db", embedder=HashingEmbedder()) as memory:
        memory.remember(text)
        return [hit.text for hit in memory.recall(text).hits]

first = remembered("one", "jazz piano")
other = pysqlite3.connect(f"{sys.argv[1]}/other.db")
other.enable_load_extension(True)
sqlite_vec.load(other)
other.execute("CREATE TABLE kept (id)")
print(first, remembered("one", "jazz piano"), remembered("two", "oboe"))
"""


@pytest.mark.slow
def test_another_sqlite_of_the_process_may_load_extensions(tmp_path: Path) -> None:
    pytest.importorskip("pysqlite3", reason="no other SQLite that loads extensions is installed")
    ended = subprocess.run([sys.executable, "-c", BESIDE, str(tmp_path)], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "['jazz piano'] ['jazz piano'] ['oboe']\n"), ended.stderr
