"""Forgetting on request: out of every place, for good, and not captured again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import DiskFull, Exchange, Forgotten, InvalidInput, Message, Note, NotFound, TidalMemory, ToolCall
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import FrozenClock

SECRET = "my grandmother Zerbinetta hides gold under the xylophone"
RARE = ("zerbinetta", "xylophone")


@pytest.mark.parametrize("citation", ["{id}", "mem:{id}", "[mem:{id}]"])
def test_a_note_is_forgotten_by_id_or_citation(memory: TidalMemory, citation: str) -> None:
    kept, gone = memory.remember("jazz one"), memory.remember("jazz two")
    assert memory.forget(citation.format(id=gone.id)).count == 1
    assert [hit.entry for hit in memory.recall("jazz")] == [kept]
    with pytest.raises(Forgotten):
        memory.get(gone.id)
    with pytest.raises(Forgotten):
        memory.get(f"[{gone.citation}]")
    assert memory.forget(gone.id).count == 0


def test_an_episode_is_forgotten_with_its_entries(memory: TidalMemory) -> None:
    gone, kept = memory.record(SECRET, "ok", thread="s"), memory.record("hello there", "hi", thread="s")
    assert memory.forget(gone.citation).count == 3
    assert memory.episodes.list() == [kept]
    for id_ in (gone.id, *gone.entries):
        with pytest.raises(Forgotten):
            memory.episodes[id_]
    assert not memory.recall("xylophone gold", kinds={"episode"})[0].why.keyword_rank


def test_one_message_is_blanked_in_its_episode_and_the_summary_made_anew(memory: TidalMemory) -> None:
    call = ToolCall("search", {"q": "attic"}, id="c", result="found")
    episode = memory.record(SECRET, "I looked in the attic.", tools=[call], thread="s", id="t")
    assert memory.forget(episode.entries[0]).count == 1
    left = memory.episodes[episode.id]
    assert left.query == "[forgotten]"
    assert (left.answer, left.tool_calls, left.turn) == (episode.answer, episode.tool_calls, episode.turn)
    assert left.entries == episode.entries[1:]
    assert "Zerbinetta" not in left.summary
    assert "attic" in left.summary
    assert memory.recall("looked in the attic", kinds={"episode"})[0].id == episode.id
    hits = memory.recall("Zerbinetta xylophone", kinds={"episode", "conversation"})
    assert all(hit.why.keyword_rank is None for hit in hits)


def test_an_episode_of_which_nothing_is_left_goes_too(memory: TidalMemory) -> None:
    episode = memory.record(SECRET, "ok then")
    assert memory.forget(*episode.entries).count == 3
    with pytest.raises(Forgotten):
        memory.episodes[episode.id]
    assert memory.episodes.list() == []


def test_a_source_is_forgotten_whole(memory: TidalMemory) -> None:
    memory.remember(
        [Note("page one", source="a.md"), Note("page two", source="a.md"), Note("page three", source="b.md")]
    )
    assert memory.forget(source="a.md").count == 2
    assert [hit.text for hit in memory.recall("page")] == ["page three"]


def test_a_thread_is_forgotten_whole(memory: TidalMemory) -> None:
    memory.record(SECRET, "ok", thread="a")
    memory.remember([Note("kept in thread a", thread="a")])
    other = memory.record("hello there", "hi", thread="b")
    assert memory.forget(thread="a").count == 4
    assert memory.episodes.list() == [other]
    assert memory.forget(thread="a").count == 0


def test_other_scopes_keep_the_same_text(memory: TidalMemory) -> None:
    other = memory.scoped("other")
    kept = other.record(SECRET, "ok", thread="s", id="t")
    memory.record(SECRET, "ok", thread="s", id="t")
    assert memory.forget(thread="s").count == 3
    assert other.episodes[kept.id] == kept
    assert other.recall("xylophone")[0].why.keyword_rank == 1
    assert other.record(SECRET, "well").query == SECRET


def test_forgetting_needs_something_to_forget(memory: TidalMemory) -> None:
    with pytest.raises(InvalidInput):
        memory.forget()
    assert memory.forget("unknown").count == memory.forget(source="unknown").count == 0


def test_the_same_text_is_not_captured_again(memory: TidalMemory) -> None:
    episode = memory.record(SECRET, "ok then")
    memory.forget(episode.id)
    again = memory.record(f"  {SECRET.upper()}\n", "I see.")
    assert again.query == "[forgotten]"
    assert [memory.get(id_).text for id_ in again.entries] == ["I see."]
    with pytest.raises(Forgotten):
        memory.remember(SECRET)
    with pytest.raises(Forgotten):
        memory.remember([Note("something else"), Note(SECRET, kind="fact")])
    assert not any(hit.text == "something else" for hit in memory.recall("something else"))


def test_every_spelling_of_a_forgotten_text_in_one_batch_is_blanked(memory: TidalMemory) -> None:
    memory.forget(memory.remember(SECRET).id)
    spellings = [SECRET, SECRET.upper(), f" {SECRET}"]
    memory.record_many([Exchange((Message("user", text), Message("assistant", "hm"))) for text in spellings])
    assert [episode.query for episode in memory.episodes.list()] == ["[forgotten]"] * 3


def test_a_forgotten_turn_that_is_replayed_stays_forgotten(memory: TidalMemory, clock: FrozenClock) -> None:
    call = ToolCall("search", {"q": "xylophone"}, id="c", result="gold!")
    turn = {"id": "t", "thread": "s", "tools": [call]}
    episode = memory.record(SECRET, "ok then", **turn)  # type: ignore[arg-type]
    memory.forget(episode.id)
    clock.advance(hours=1)
    again = memory.record(SECRET, "ok then", **turn)  # type: ignore[arg-type]
    assert (again.id, again.messages, again.entries) == (episode.id, (), ())
    assert memory.episodes.list() == []
    with pytest.raises(Forgotten):
        memory.episodes[episode.id]


def test_a_turn_that_goes_on_keeps_its_forgotten_message_blank(memory: TidalMemory) -> None:
    asked = Message("user", SECRET, id="u")
    episode = memory.record(messages=[asked, Message("assistant", "One moment.", id="a")])
    memory.forget(episode.entries[0])
    after = memory.record(messages=[asked, Message("assistant", "Here you are.", id="b")], id="u")
    assert after.id == episode.id
    assert [m.text for m in after.messages] == ["[forgotten]", "One moment.", "Here you are."]
    assert "Zerbinetta" not in after.summary


def test_a_citation_of_something_unknown_is_not_called_forgotten(memory: TidalMemory) -> None:
    with pytest.raises(NotFound) as caught:
        memory.get("ep:unknown")
    assert not isinstance(caught.value, Forgotten)


@pytest.mark.parametrize("how", ["episode", "message", "note", "thread"])
def test_no_byte_of_a_forgotten_text_is_left_in_any_file(memory: TidalMemory, tmp_path: Path, how: str) -> None:
    for n in range(20):
        memory.record(f"filler {n}", "ok", id=str(n))
    if how == "note":
        gone = memory.remember(SECRET * 40).id
    else:
        episode = memory.record(SECRET, "Then I looked in the attic.", thread="quiet")
        gone = episode.entries[0] if how == "message" else episode.id
    memory.recall("xylophone")
    assert any(_found(tmp_path))
    if how == "thread":
        memory.forget(thread="quiet")
    else:
        memory.forget(gone)
    assert not any(_found(tmp_path))
    assert memory.recall("filler 7")[0].text == "filler 7"


def _found(folder: Path) -> list[Any]:
    """The words of the secret that stand in any file. Nothing else in this process reads the files meanwhile."""
    files = [file.read_bytes().lower() for file in folder.iterdir()]
    return [word for word in RARE for content in files if word.encode() in content]


def test_bytes_that_a_failed_scrub_left_go_when_the_memory_is_opened_again(
    open_memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: SQLiteStorage) -> bool:
        raise DiskFull("no space left")

    memory = open_memory()
    memory.record(SECRET, "ok", thread="s")
    with monkeypatch.context() as broken:
        broken.setattr(SQLiteStorage, "scrub", full)
        assert memory.forget(thread="s").count == 3
    assert memory.episodes.list() == []
    memory.close()
    open_memory().close()
    on_disk = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file()).lower()
    assert not [word for word in RARE if word.encode() in on_disk]


def test_everyday_words_of_a_forgotten_turn_can_be_said_again(memory: TidalMemory) -> None:
    memory.forget(memory.record("run the tests again", "Noted.").id)
    assert memory.record("run the tests again", "Noted.").query == "run the tests again"


def test_a_forgotten_secret_is_not_captured_again(memory: TidalMemory) -> None:
    memory.forget(memory.record("hunter2", "I will keep it").id)
    assert memory.record("hunter2", "I will keep it").query == "[forgotten]"
