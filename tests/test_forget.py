"""Forgetting on request, wherever a text stands, erasing a scope, and what the receipts say."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.inside import raw
from tidal_plugins import (
    Corrupt,
    DiskFull,
    Forgotten,
    HashingEmbedder,
    InvalidInput,
    Message,
    Note,
    NotFound,
    Receipt,
    Settings,
    Statement,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.storage.base import Where
from tidal_plugins.storage.sqlite import SQLiteStorage
from tidal_plugins.testing import NOON, FrozenClock

SECRET = "my grandmother Zerbinetta hides gold under the xylophone"
RARE = ("zerbinetta", "xylophone")


def test_a_note_is_forgotten_by_id_or_citation(memory: TidalMemory) -> None:
    kept = memory.remember("jazz one")
    for number, citation in enumerate(("{id}", "mem:{id}", "[mem:{id}]")):
        gone = memory.remember(f"jazz two {number}")
        assert memory.forget(citation.format(id=gone.id)).count == 1
        assert [hit.entry for hit in memory.recall("jazz")] == [kept]
        for id_ in (gone.id, f"[{gone.citation}]"):
            with pytest.raises(Forgotten):
                memory.get(id_)
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


def test_forgetting_needs_something_to_forget(memory: TidalMemory) -> None:
    with pytest.raises(InvalidInput):
        memory.forget()
    with pytest.raises(InvalidInput, match="is no id"):
        memory.forget("The ferry leaves from berth nine.")
    assert memory.forget("unknown").count == memory.forget(source="unknown").count == 0
    assert not memory.forget("unknown")
    assert memory.forget("unknown") == Receipt()
    with pytest.raises(NotFound) as caught:
        memory.get("ep:unknown")
    assert not isinstance(caught.value, Forgotten)


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


def test_a_forgotten_turn_that_is_replayed_stays_forgotten(memory: TidalMemory, clock: FrozenClock) -> None:
    call = ToolCall("search", {"q": "xylophone"}, id="c", result="gold!")
    turn = {"id": "t", "thread": "s", "tools": [call]}
    episode = memory.record(SECRET, "ok then", **turn)
    memory.forget(episode.id)
    clock.advance(hours=1)
    again = memory.record(SECRET, "ok then", **turn)
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
        receipt = memory.forget(thread="s")
        assert (receipt.count, receipt.complete) == (3, False)
        assert "no space left" in receipt.remains[0]
    assert memory.episodes.list() == []
    memory.close()
    open_memory().close()
    on_disk = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file()).lower()
    assert not [word for word in RARE if word.encode() in on_disk]


def test_everyday_words_of_a_forgotten_turn_can_be_said_again(memory: TidalMemory) -> None:
    memory.forget(memory.record("run the tests again", "Noted.").id)
    assert memory.record("run the tests again", "Noted.").query == "run the tests again"


TELLING = [
    "Anna is pregnant.",
    "He has HIV.",
    "I'm gay.",
    "My mother died.",
    "zebra",
    "Ana está embarazada.",
    "彼は病気です",
]
EVERYDAY = ["ok", "Thanks!", "yes, please", "Got it.", "Looks good to me.", "continue", "да, спасибо", "好的", "👍"]


@pytest.mark.parametrize("text", TELLING)
def test_a_short_text_that_tells_something_is_not_captured_again(memory: TidalMemory, text: str) -> None:
    memory.forget(memory.record(text, "ok", thread="s").id)
    for said in (text, f" {text.upper()} "):
        assert memory.record(said, "I see.").query == "[forgotten]"
    with pytest.raises(Forgotten):
        memory.remember(text)
    assert text not in {hit.text for hit in memory.recall(text)}


@pytest.mark.parametrize("text", EVERYDAY)
def test_what_anybody_says_any_day_is_captured_again_but_not_by_a_replay(memory: TidalMemory, text: str) -> None:
    turn = memory.record("Anna is pregnant.", text, id="t", thread="s")
    memory.forget(turn.id)
    assert memory.record("Anna is pregnant.", text, id="t", thread="s").messages == ()
    assert memory.record("The tram leaves at nine.", text, id="u", thread="s").answer == text


def test_a_short_text_that_tells_something_is_forgotten_in_every_thread(memory: TidalMemory) -> None:
    first, second = (memory.record("He has HIV.", "ok", thread=thread) for thread in "ab")
    memory.forget(first.entries[0], everywhere=True)
    left = memory.episodes[second.id]
    assert (left.query, left.answer) == ("[forgotten]", "ok")


def test_a_forgotten_secret_is_not_captured_again(memory: TidalMemory) -> None:
    memory.forget(memory.record("hunter2", "I will keep it").id)
    assert memory.record("hunter2", "I will keep it").query == "[forgotten]"


# receipts, forgetting everywhere, and scopes


ZITHER = "my uncle Barnaby buried the zither under the pergola"


def left_in(folder: Path, *words: str) -> list[str]:
    """The words that stand in any file. Nothing else in this process reads the files meanwhile."""
    files = [file.read_bytes().lower() for file in folder.iterdir() if file.is_file()]
    return [word for word in words for content in files if word.encode() in content]


# receipts


def test_a_receipt_says_what_went_and_from_where(memory: TidalMemory) -> None:
    turn = memory.record(ZITHER, "I see.", thread="a")
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


def test_what_is_erased_during_a_scrub_is_scrubbed_too(memory: TidalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = memory.record(ZITHER, "ok"), memory.record("The spare key hangs in the cellar.", "ok")
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
    first = memory.record(ZITHER, "Noted.", thread="a")
    again = memory.record(ZITHER.upper(), "Noted.", thread="b")
    quoted = memory.record(f"Did I tell you that {ZITHER}?", "Yes.", thread="c")
    memory.remember(f"Notes. {ZITHER.capitalize()}.", source="diary.md")
    memory.facts["treasure"] = ZITHER
    memory.facts["treasure"] = "gone"
    call = ToolCall("search", {"query": ZITHER}, id="c", result=f"1 result: {ZITHER}")
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


def test_everywhere_spares_what_everybody_says_and_other_scopes(memory: TidalMemory) -> None:
    other = memory.scoped("other").record(ZITHER, "Noted.")
    first = memory.record(ZITHER, "Noted.", thread="a")
    tram = memory.record("The tram leaves at nine.", "Noted.", thread="b")
    memory.forget(first.id, everywhere=True)
    assert memory.episodes[tram.id] == tram
    assert memory.scoped("other").episodes[other.id] == other


# what drops and deletes


def test_a_dossier_that_is_dropped_leaves_no_byte(memory: TidalMemory, tmp_path: Path) -> None:
    memory.record("The harbour light is broken.", "I see.")
    memory.dossiers.refresh("Zebedee's harbour light")
    assert left_in(tmp_path, "zebedee")
    memory.dossiers.drop("Zebedee's harbour light")
    assert not left_in(tmp_path, "zebedee")


def test_a_topic_without_sources_leaves_no_byte(memory: TidalMemory, tmp_path: Path) -> None:
    memory.dossiers.refresh("Zebedee's harbour light")
    assert left_in(tmp_path, "zebedee")
    assert memory.dossiers.drop("Zebedee's harbour light")
    assert not left_in(tmp_path, "zebedee")
    assert not memory.stats().unscrubbed_bytes


def test_a_loaded_graph_that_is_forgotten_leaves_no_byte(memory: TidalMemory, tmp_path: Path) -> None:
    other = memory.scoped("other")
    other.record("Zebedee works at Xylotech.", "I see.")
    other.graph.index_pending()
    text = other.graph.export()
    assert "Zebedee" in text
    other.erase_scope()
    assert not left_in(tmp_path, "zebedee")
    memory.graph.load(text, source="crm")
    assert left_in(tmp_path, "zebedee")
    assert memory.graph.forget_source("crm")
    assert not left_in(tmp_path, "zebedee", "xylotech")


@pytest.mark.parametrize("how", ["source", "parts", "stale", "empty"])
def test_a_forgotten_source_leaves_neither_name_nor_digest(memory: TidalMemory, tmp_path: Path, how: str) -> None:
    parts = [Note("The harbour light is broken."), Note("The tram leaves at nine.")]
    kept = memory.documents.put("kept.md", [Note("The bell rings at noon.")], digest="aa")
    put = memory.documents.put("zebedee.md", [] if how == "empty" else parts, digest="d1gest0fxylophone")
    if how == "stale":
        memory.documents.put("zebedee.md", parts[1:], digest="d1gest0fxylophone")
    dry = memory.forget(source="zebedee.md", dry_run=True)
    assert len(memory.documents.list()) == 2
    receipt = memory.forget(*put.parts) if how == "parts" else memory.forget(source="zebedee.md")
    assert receipt.shelves == dry.shelves
    assert (receipt.shelves["documents"], receipt.complete) == (1, True)
    assert memory.documents.list() == [kept]
    memory.export(tmp_path / "export.jsonl")
    assert not left_in(tmp_path, "zebedee", "xylophone")


def test_a_document_that_keeps_a_part_stands(memory: TidalMemory) -> None:
    parts = [Note("The harbour light is broken."), Note("The tram leaves at nine.")]
    put = memory.documents.put("notes.md", parts, digest="d")
    assert "documents" not in memory.forget(put.parts[0]).shelves
    assert memory.documents.get("notes.md").digest == "d"


def test_a_text_goes_from_the_metadata_of_sessions_too(memory: TidalMemory, tmp_path: Path) -> None:
    turn = memory.record(ZITHER, "Noted.")
    with memory.sessions.open(user="u", agent="a", metadata={"task": [ZITHER], "desk": "four"}) as session:
        assert memory.forget(turn.entries[0], everywhere=True).shelves["sessions"] == 1
        assert session.info.metadata == {"task": ["[forgotten]"], "desk": "four"}
    [closed] = memory.sessions.list()
    assert closed.metadata["desk"] == "four"
    assert not left_in(tmp_path, "zither")


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
    from langgraph_tidal import TidalStore

    store = TidalStore(mine)
    store.put(("notes",), "k", {"text": ZITHER})
    near = memory.scoped("user", "10").record("The tram leaves at nine.", "Noted.")
    mine.erase_scope()
    assert store.get(("notes",), "k")
    receipt = mine.erase_scope(below=True)
    assert receipt.shelves == {"item": 1}
    assert store.get(("notes",), "k") is None
    assert not left_in(tmp_path, "zither")
    assert memory.scoped("user", "10").episodes[near.id] == near


def test_what_was_forgotten_in_an_erased_scope_is_not_refused(memory: TidalMemory) -> None:
    memory.forget(memory.remember(ZITHER).id)
    with pytest.raises(Forgotten):
        memory.remember(ZITHER)
    memory.erase_scope()
    assert memory.remember(ZITHER).text == ZITHER


class Pausing(HashingEmbedder):
    """Lets a test act between the reading and the writing of an operation."""

    def __init__(self) -> None:
        super().__init__()
        self.act: Any = None

    def embed(self, texts: Any) -> Any:
        act, self.act = self.act, None
        if act:
            act()
        return super().embed(texts)


def test_a_turn_that_grows_meanwhile_is_blanked_as_it_then_is(open_memory: Any) -> None:
    embedder = Pausing()
    memory, other = open_memory(embedder=embedder), open_memory()
    asked = Message("user", "my pin is 4711", id="u")
    episode = other.record(messages=[asked, Message("assistant", "One moment.", id="a")])
    embedder.act = lambda: other.record(messages=[asked, Message("assistant", "There.", id="b")], id="u")
    assert memory.forget(episode.entries[0]).count == 1
    assert [m.text for m in memory.episodes[episode.id].messages] == ["[forgotten]", "One moment.", "There."]


def test_a_turn_forgotten_while_it_is_recorded_again_stays_forgotten(open_memory: Any) -> None:
    embedder = Pausing()
    memory, other = open_memory(embedder=embedder), open_memory()
    asked = Message("user", "my pin is 4711", id="u")
    episode = other.record(messages=[asked])
    embedder.act = lambda: other.forget(episode.id)
    memory.record(messages=[asked, Message("assistant", "There.", id="b")])
    with pytest.raises(NotFound):
        memory.episodes[episode.id]
    assert memory.episodes.list() == []


def test_forgetting_and_recording_at_once_leaves_no_entry_without_its_episode(memory: TidalMemory) -> None:
    start = threading.Barrier(2)

    def write() -> None:
        start.wait()
        for n in range(40):
            memory.record(f"turn {n}", "ok", thread="s", id=str(n))

    def wipe() -> None:
        start.wait()
        for _ in range(8):
            memory.forget(thread="s")

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write), pool.submit(wipe)]:
            done.result()
    kept = {episode.id: set(episode.entries) for episode in memory.episodes.list()}
    for hit in memory.recall("turn ok", limit=200):
        assert hit.entry.episode
        assert hit.id in kept[hit.entry.episode]


def test_bytes_that_a_reader_holds_are_reported_and_go_when_the_memory_is_closed(
    open_memory: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(settings=Settings(storage={"busy_timeout": 0.1}, graph={"background": False}))
    episode = memory.record("my pin is xylophone", "ok")
    reader = SQLiteStorage(tmp_path / "agent.db")
    with reader.snapshot():
        assert len(reader.find(memory.scope, Where())) == 3
        receipt = memory.forget(episode.id)
    assert (receipt.count, receipt.complete) == (3, False)
    assert "reader" in receipt.remains[0]
    assert "reader" in caplog.text
    assert "xylophone" not in caplog.text
    reader.close()
    memory.close()
    assert not [file for file in tmp_path.iterdir() if b"xylophone" in file.read_bytes()]


@pytest.mark.parametrize("versions", [0, 9])
def test_what_a_model_carries_on_from_text_to_text_goes_with_its_source(
    open_memory: Any, clock: FrozenClock, versions: int
) -> None:
    class CarryingOn:
        def summarise(self, sources: Any, *, purpose: Any, previous: Any = (), max_tokens: int) -> Any:
            said = [*(item.text for item in previous), *(m.text for source in sources for m in source.messages)]
            return [Statement(" ".join(said), (sources[-1].id,))]

    memory = open_memory(summariser=CarryingOn(), settings=Settings(tuning={"dossier.versions": versions}))
    first = memory.remember("The harbour pin is xylophone.", valid_until=NOON + timedelta(hours=1))
    memory.dossiers.refresh("harbour")
    for n in range(3):
        clock.advance(hours=1)
        memory.remember(f"The harbour has news {n}.")
        assert "xylophone" in str(memory.dossiers.refresh("harbour", force=True))
    memory.forget(first.id)
    assert "xylophone" not in str(memory.dossiers.list())


# damaged rows are forgotten with their bytes, and no log tells what is stored


TEXT = "The alarm of the boathouse is set by Marguerite."


def opened(path: Path) -> TidalMemory:
    return TidalMemory(path, embedder=HashingEmbedder(), settings=Settings(graph={"background": False}))


def sql(path: Path, statement: str, *bindings: Any) -> None:
    connection = raw(path)
    try:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement, bindings)
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with opened(path) as memory:
        memory.record("The tide turns at four.", "At four, noted.", thread="quay", id="tide")
        memory.record(TEXT, "Good to know.", thread="boats", id="alarm")
        memory.remember("Marguerite has the spare oars.", source="oars.md")
    return path


def episode(path: Path) -> Any:
    with opened(path) as memory:
        return memory.episodes[memory.episodes.id_of("alarm", thread="boats")]


def held(path: Path) -> bytes:
    return b"".join(part.read_bytes() for part in path.parent.glob("agent.db*"))


@pytest.mark.parametrize("text", ["text || '?'", "CAST(x'ff' || text AS TEXT)"], ids=["altered", "no text"])
def test_a_damaged_entry_that_is_named_goes_with_its_bytes(path: Path, text: str) -> None:
    turn = episode(path)
    sql(path, f"UPDATE entries SET text = {text} WHERE id = ?", turn.entries[0])
    with opened(path) as memory:
        with pytest.raises(Corrupt):
            memory.get(turn.entries[0])
        receipt = memory.forget(turn.entries[0])
        assert (receipt.count, receipt.shelves["damaged"], receipt.complete) == (1, 1, True)
        assert receipt.ids == (turn.entries[0],)
        assert receipt.blanked == (turn.id,)
        assert [message.text for message in memory.episodes[turn.id].messages] == ["[forgotten]", "Good to know."]
        with pytest.raises(Forgotten):
            memory.get(turn.entries[0])
        assert memory.check().lost == ()
    assert b"boathouse" not in held(path)
    assert b"spare oars" in held(path)


def test_a_damaged_episode_takes_along_what_was_said_in_it(path: Path) -> None:
    turn = episode(path)
    sql(path, "UPDATE entries SET metadata = metadata || ' ' WHERE id = ?", turn.id)
    with opened(path) as memory:
        receipt = memory.forget(f"ep:{turn.id}")
        assert set(receipt.ids) == {turn.id, *turn.entries}
        assert [episode.thread for episode in memory.episodes.list()] == ["quay"]
    assert b"boathouse" not in held(path)


def test_a_damaged_document_goes_by_its_source(path: Path) -> None:
    sql(path, "UPDATE entries SET importance = 9 WHERE source = 'oars.md'")
    with opened(path) as memory:
        assert memory.forget(source="oars.md").count == 1
    assert b"spare oars" not in held(path)
    assert b"boathouse" in held(path)


def test_no_log_tells_the_name_of_a_damaged_row(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(path) as memory:
        memory.facts["Marguerite"] = "harbour master"
    sql(path, "UPDATE documents SET value = replace(value, 'master', 'mister') WHERE value LIKE '%harbour%'")
    with caplog.at_level(logging.INFO), opened(path) as memory:
        with pytest.raises(Corrupt):
            memory.facts["Marguerite"]
        memory.record("Marguerite is the harbour pilot.", "Noted.")
    assert "a row of documents is damaged" in caplog.text
    assert "marguerite" not in caplog.text.lower()
