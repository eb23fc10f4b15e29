"""What a forgetting says of itself, forgetting a text wherever it stands, and erasing a whole scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langgraph_tidal import TidalStore
from tidal_plugins import DiskFull, Forgotten, Receipt, Settings, TidalMemory, ToolCall
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.sqlite import SQLiteStorage

SECRET = "my uncle Barnaby buried the zither under the pergola"


def left_in(folder: Path, *words: str) -> list[str]:
    """The words that stand in any file. Nothing else in this process reads the files meanwhile."""
    files = [file.read_bytes().lower() for file in folder.iterdir() if file.is_file()]
    return [word for word in words for content in files if word.encode() in content]


# receipts


def test_a_receipt_says_what_went_and_from_where(memory: TidalMemory) -> None:
    turn = memory.record(SECRET, "I see.", thread="a")
    assert "zither" in str(memory.dossiers.refresh("zither"))
    assert "zither" in str(memory.capsule.read())
    receipt = memory.forget(turn.id)
    assert receipt.count == 3
    assert receipt.ids == tuple(sorted([turn.id, *turn.entries]))
    assert (receipt.shelves["conversation"], receipt.shelves["episode"]) == (2, 1)
    assert receipt.shelves["dossiers"] == receipt.shelves["capsules"] == 1
    assert receipt.complete
    assert receipt.blanked == ()
    assert str(receipt).startswith("3 removed (1 capsules, 2 conversation, 1 dossiers, 1 episode")


def test_a_receipt_names_the_turns_that_lost_a_part(memory: TidalMemory) -> None:
    turn = memory.record(SECRET, "I see, under the pergola.", thread="a")
    receipt = memory.forget(turn.entries[0])
    assert (receipt.ids, receipt.blanked) == ((turn.entries[0],), (turn.id,))


def test_a_receipt_of_nothing_is_false(memory: TidalMemory) -> None:
    assert not memory.forget("unknown")
    assert memory.forget("unknown") == Receipt()


def test_a_receipt_says_that_a_reader_keeps_bytes(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory(settings=Settings(storage={"busy_timeout": 0.1}, graph={"background": False}))
    turn = memory.record(SECRET, "ok")
    reader = SQLiteStorage(tmp_path / "agent.db")
    with reader.snapshot():
        assert reader.find(memory.scope, Where())
        receipt = memory.forget(turn.id)
    reader.close()
    assert receipt.count == 3
    assert not receipt.complete
    assert "reader" in receipt.remains[0]


def test_a_receipt_says_why_the_file_could_not_be_rewritten(
    memory: TidalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: SQLiteStorage) -> bool:
        raise DiskFull("no space left")

    turn = memory.record(SECRET, "ok")
    monkeypatch.setattr(SQLiteStorage, "scrub", full)
    assert "no space left" in memory.forget(turn.id).remains[0]


def test_what_is_erased_during_a_scrub_is_scrubbed_too(memory: TidalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = memory.record(SECRET, "ok"), memory.record("The spare key hangs in the cellar.", "ok")
    scrubs = iter(("during", "full", "again"))

    def scrub(self: SQLiteStorage) -> bool:
        match next(scrubs):
            case "during":
                assert not memory.forget(second.id).complete
            case "full":
                raise DiskFull("no space left")
        return True

    monkeypatch.setattr(SQLiteStorage, "scrub", scrub)
    assert memory.forget(first.id).complete
    assert memory.stats().unscrubbed_bytes
    assert memory.forget(memory.remember("The bell is broken.").id).complete
    assert not memory.stats().unscrubbed_bytes


# everywhere


def test_the_same_text_is_forgotten_in_every_thread(memory: TidalMemory, tmp_path: Path) -> None:
    first = memory.record(SECRET, "Noted.", thread="a")
    again = memory.record(SECRET.upper(), "Noted.", thread="b")
    quoted = memory.record(f"Did I tell you that {SECRET}?", "Yes.", thread="c")
    memory.remember(f"Notes. {SECRET.capitalize()}.", source="diary.md")
    memory.facts["treasure"] = SECRET
    memory.facts["treasure"] = "gone"
    call = ToolCall("search", {"query": SECRET}, id="c", result=f"1 result: {SECRET}")
    memory.record("Search for it.", "Found one.", tools=[call], thread="d")
    memory.dossiers.refresh("pergola")
    receipt = memory.forget(first.entries[0], everywhere=True)
    assert receipt.complete
    assert {first.entries[0], again.entries[0], quoted.entries[0]} <= set(receipt.ids)
    for query in ("zither", "uncle Barnaby", "treasure pergola"):
        assert not [hit for hit in memory.recall(query, include_archived=True) if "zither" in hit.text.lower()]
    assert memory.episodes[quoted.id].answer == "Yes."
    [searched] = memory.episodes.list(thread="d")
    assert searched.answer == "Found one."
    assert "zither" not in str(searched)
    assert "zither" not in str(memory.facts.history("treasure"))
    assert memory.facts["treasure"] == "gone"
    assert not left_in(tmp_path, "zither", "barnaby")


def test_without_everywhere_the_other_thread_keeps_its_words(memory: TidalMemory) -> None:
    first, again = (memory.record(SECRET, "Noted.", thread=thread) for thread in "ab")
    memory.forget(first.id)
    assert memory.get(again.entries[0]).text == SECRET


def test_everywhere_spares_what_everybody_says(memory: TidalMemory) -> None:
    first = memory.record(SECRET, "Noted.", thread="a")
    other = memory.record("The tram leaves at nine.", "Noted.", thread="b")
    memory.forget(first.id, everywhere=True)
    assert memory.episodes[other.id] == other


def test_everywhere_is_within_the_scope(memory: TidalMemory) -> None:
    other = memory.scoped("other").record(SECRET, "Noted.")
    memory.forget(memory.record(SECRET, "Noted.").id, everywhere=True)
    assert memory.scoped("other").episodes[other.id] == other


# what drops and deletes


def test_a_dossier_that_is_dropped_leaves_no_byte(memory: TidalMemory, tmp_path: Path) -> None:
    memory.record("The harbour light is broken.", "I see.")
    memory.dossiers.refresh("Zebedee's harbour light")
    assert left_in(tmp_path, "zebedee")
    memory.dossiers.drop("Zebedee's harbour light")
    assert not left_in(tmp_path, "zebedee")


def test_an_item_that_is_deleted_leaves_no_byte(memory: TidalMemory, tmp_path: Path) -> None:
    store = TidalStore(memory)
    store.put(("notes",), "k", {"text": SECRET})
    assert store.search(("notes",), query="zither")
    store.delete(("notes",), "k")
    assert not left_in(tmp_path, "zither", "barnaby")


# scopes


def fill(memory: TidalMemory, word: str) -> None:
    """Write something with a word onto every shelf."""
    memory.record(f"My uncle {word} works at Harbour {word}.", f"I met {word}.", thread=word, metadata={"m": word})
    memory.record(f"{word} moved to Lisbon.", f"Bye {word}.", tools=[ToolCall(word, {word: word}, result=word)])
    memory.remember(f"All about {word}.", source=f"{word}.md", tags=[word])
    memory.facts["owner"] = word
    memory.facts["owner"] = f"not {word}"
    memory.graph.index_pending()
    memory.dossiers.refresh(word)
    memory.capsule.write(memory.capsule.read().edit(identity=f"I serve {word}."))
    memory.whisper(f"Who is {word}?")
    with memory.sessions.open(user=word, agent="a") as session:
        session.annotate(memory.episodes.list()[0].entries[0], f"look for {word}")
    memory.forget(memory.remember(f"A {word} to forget with many words.").id)
    memory.maintenance.run()


def test_an_erased_scope_leaves_no_byte_and_other_scopes_are_untouched(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory()
    gone, kept = memory.scoped("user", "1"), memory.scoped("user", "2")
    fill(kept, "quagmire")
    fill(gone, "zephyrine")
    before = kept.episodes.list(), dict(kept.facts), str(kept.dossiers["quagmire"]), kept.signals.tally()
    receipt = gone.erase_scope()
    assert receipt.complete
    assert receipt.shelves["episode"] == 2
    assert receipt.count > 6
    assert not left_in(tmp_path, "zephyrine")
    assert gone.episodes.list() == gone.dossiers.list() == gone.graph.entities() == []
    assert dict(gone.facts) == {}
    assert "serve" not in str(gone.capsule.read())
    assert not gone.recall("zephyrine")
    assert (kept.episodes.list(), dict(kept.facts), str(kept.dossiers["quagmire"]), kept.signals.tally()) == before
    assert kept.recall("quagmire")
    assert not gone.erase_scope()
    assert gone.record("zephyrine is back", "Welcome.").query == "zephyrine is back"
    assert gone.recall("zephyrine back")[0].text == "zephyrine is back"


def test_scopes_below_go_if_asked(memory: TidalMemory, tmp_path: Path) -> None:
    mine = memory.scoped("user", "1")
    store = TidalStore(mine)
    store.put(("notes",), "k", {"text": SECRET})
    near = memory.scoped("user", "10").record("The tram leaves at nine.", "Noted.")
    mine.erase_scope()
    assert store.get(("notes",), "k")
    receipt = mine.erase_scope(below=True)
    assert receipt.shelves == {"item": 1}
    assert store.get(("notes",), "k") is None
    assert not left_in(tmp_path, "zither")
    assert memory.scoped("user", "10").episodes[near.id] == near


def test_what_was_forgotten_in_an_erased_scope_is_not_refused(memory: TidalMemory) -> None:
    memory.forget(memory.remember(SECRET).id)
    with pytest.raises(Forgotten):
        memory.remember(SECRET)
    memory.erase_scope()
    assert memory.remember(SECRET).text == SECRET
