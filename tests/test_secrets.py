"""Secrets through the public doors: shown in nothing that memory makes, kept, where the settings keep them, in
everything that is read by its id."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_tidal import TidalRetriever
from llama_index_tidal import TidalRetriever as NodeRetriever
from tidal_plugins import Message, Note, Peer, Settings, TidalMemory, ToolCall
from tidal_plugins.testing import FrozenClock
from tidal_plugins.turns import Place, surface

SECRET = "Heron42blue"
SAID = f"For the guests: the wifi password of the harbour office is {SECRET}, I must write it on the board."
SHOWN = SAID.replace(SECRET, "[password]")
ASKED = "What is the wifi password of the harbour office?"

KEPT = Settings(secrets={"stored": "keep"})


@pytest.fixture
def told(open_memory: Any) -> TidalMemory:
    memory: TidalMemory = open_memory(settings=Settings(whisper={"threshold": 0.0}, secrets={"stored": "keep"}))
    memory.record(SAID, "I will remember the harbour office.", thread="monday", id="t")
    return memory


def entry_id(memory: TidalMemory) -> str:
    return next(hit.id for hit in memory.recall(ASKED) if hit.entry.role == "user")


def test_recall_masks_a_secret_and_shows_the_rest(told: TidalMemory) -> None:
    recall = told.recall(ASKED, window=1, associative=True, hops=2)
    hit = next(hit for hit in recall if hit.entry.role == "user")
    assert (hit.text, hit.passage, hit.hidden) == (SHOWN, SHOWN, ("password",))
    assert SECRET.casefold() not in repr(recall).casefold(), "neither in tags, windows and reasons"
    assert SECRET not in recall.explain() + str(recall.explanation())


def test_what_asks_for_secrets_gets_them(told: TidalMemory) -> None:
    hit = next(hit for hit in told.recall(ASKED, secrets=True) if hit.entry.role == "user")
    assert (hit.text, hit.hidden) == (SAID, ())
    assert told.get(hit.id).text == SAID
    assert told.episodes[hit.entry.citation].messages[0].text == SAID
    assert SECRET in told.episodes.page(hit.entry.citation)


def test_a_search_of_episodes_masks_their_messages(told: TidalMemory) -> None:
    [hit] = told.recall(ASKED, kinds={"episode"})
    assert SECRET not in repr(hit)
    assert "harbour office" in hit.text


def test_a_link_from_a_new_password_to_the_old_one_quotes_neither(told: TidalMemory, clock: FrozenClock) -> None:
    clock.advance(days=1)
    told.record(f"The wifi password of the harbour office is now Gull77red instead of {SECRET}.", thread="tuesday")
    told.supersessions.find()
    recall = told.recall(ASKED)
    assert recall[0].why.replaces, "the newest comes first"
    shown = repr(recall) + recall.explain() + repr(told.supersessions.list()) + repr(told.whisper(ASKED))
    assert "Gull77red" not in shown
    assert SECRET not in shown


def test_a_thought_seed_shows_none(open_memory: Any) -> None:
    memory = open_memory(settings=KEPT)
    kept = [memory.record(SAID, thread="monday"), memory.record("Guests bring cake at noon.", thread="tuesday")]
    surfaced = [id_ for each in kept for id_ in each.entries]
    for n in range(3):
        memory.record(f"Question {n}", thread=f"t{n}", surfaced=surfaced)
    [seed] = memory.maintenance.run().seeds
    assert SHOWN in (seed.first.text, seed.second.text)


def test_a_whisper_says_that_there_is_one_and_where(told: TidalMemory) -> None:
    whisper = told.whisper(ASKED)
    assert "wifi password of the harbour office is [password]" in whisper.text
    assert "(hidden here; the citation leads to it)" in whisper.text
    assert SECRET not in whisper.text + repr(whisper)
    assert len(whisper.text) <= 500


def test_a_secret_whose_cue_is_in_an_earlier_passage_is_masked(open_memory: Any) -> None:
    memory = open_memory(settings=KEPT)
    steps = "The crane on the quay swings slowly over the boats. " * 60
    memory.remember(f"{steps}The password for the crane is:\n\n{SECRET}\n\n{steps}", source="crane.md")
    for query in ("crane on the quay", SECRET):
        hits = memory.recall(query).hits
        assert hits
        assert SECRET not in repr(hits)


def test_metadata_and_sources_are_masked(open_memory: Any) -> None:
    memory = open_memory(settings=KEPT)
    note = Note("The crane has a login.", source=f"https://ann:{SECRET}@x.example", metadata={"password": SECRET})
    stored = memory.remember(note)
    assert SECRET not in repr(memory.recall("crane login"))
    assert memory.get(stored.id).metadata == {"password": SECRET}


def test_a_peers_secrets_are_masked(told: TidalMemory, open_memory: Any) -> None:
    asking = open_memory("asking.db", settings=KEPT, peers=[Peer(told, name="harbour")])
    recall = asking.recall(ASKED)
    assert [hit.origin for hit in recall if hit.hidden] == ["harbour"]
    assert SECRET not in repr(recall)


def test_dossiers_briefs_and_the_capsule_are_made_without_secrets(told: TidalMemory) -> None:
    dossier, brief, capsule = told.dossiers.refresh("harbour office"), told.dossiers.brief("wifi"), told.capsule.read()
    assert "[password]" in str(dossier)
    assert SECRET not in str(dossier) + repr(dossier) + repr(brief) + repr(capsule) + str(capsule)
    assert SECRET not in repr(told.dossiers.brief("harbour office"))


def test_a_compaction_condenses_without_secrets_and_keeps_the_ongoing_turn(open_memory: Any) -> None:
    memory = open_memory(settings=KEPT)
    call = ToolCall("login", {"user": "ann", "password": SECRET}, id="c")
    history = [
        Message("user", SAID, "1"),
        Message("assistant", "", "2", tool_calls=(call,)),
        Message("tool", f"logged in, token: {SECRET}Xy7Q9w", "3", tool_call_id="c"),
        Message("assistant", f"The wifi password is {SECRET}, and it works.", "4"),
        Message("user", "Thanks. Now list the boats.", "5"),
        Message("assistant", "There are three boats: Anna, Berta and Clara.", "6"),
        Message("user", f"Try the password {SECRET}x again.", "7"),
    ]
    compaction = memory.compactor(max_tokens=2_000).compact(history, thread="s", force="compact")
    written = [piece.text for piece in compaction.view if hasattr(piece, "text")]
    assert any("[password]" in text for text in written)
    assert SECRET not in repr((written, compaction.statements, compaction.ledger))
    assert compaction.messages[-1] == history[-1], "the ongoing turn stays byte for byte"


def test_a_file_with_a_secret_is_not_restored(open_memory: Any) -> None:
    memory = open_memory(settings=KEPT)
    history = [Message("user", "Read the files.", "0")]
    for name, content in (("a.env", f"DB_PASSWORD={SECRET}\n"), ("b.py", "print('boats')\n")):
        call = ToolCall("Read", {"file_path": name}, id=name)
        history += [
            Message("assistant", "", f"call {name}", tool_calls=(call,)),
            Message("tool", content, f"result {name}", tool_call_id=name),
        ]
    history += [Message("assistant", "Done.", "8"), Message("user", "Go on.", "9")]
    compaction = memory.compactor(max_tokens=2_000).compact(history, thread="s", force="compact")
    assert [file.path for file in compaction.files] == ["b.py"]


def test_the_graph_reads_no_secret_and_quotes_none(told: TidalMemory) -> None:
    told.record(f"Ann works at Harbour Ltd, and her password is {SECRET}.", "Noted.", thread="tuesday")
    told.graph.index_pending()
    relations = told.graph.relations()
    assert relations
    quotes = [each.quote for relation in relations for each in told.graph.evidence(relation)]
    assert any(quotes)
    assert SECRET not in repr((relations, quotes, told.graph.search(SECRET)))


def test_consolidated_facts_and_retrievers_show_none(told: TidalMemory) -> None:
    documents = TidalRetriever(told).invoke(ASKED)
    nodes = NodeRetriever(told).retrieve(ASKED)
    assert any("[password]" in document.page_content for document in documents)
    assert any("[password]" in node.text for node in nodes)
    assert SECRET.casefold() not in repr((documents, nodes)).casefold()


def test_a_message_that_the_model_sees_is_no_memory_though_its_secret_is_hidden(told: TidalMemory) -> None:
    place = Place(told, None)
    assert entry_id(told) in surface(place, ASKED).whisper.ids
    assert entry_id(told) not in surface(place, ASKED, shown_texts=[SAID]).whisper.ids


def test_a_turn_that_repeats_a_secret_is_still_known(told: TidalMemory) -> None:
    assert entry_id(told) not in told.whisper(SAID).ids, "it says word for word what the turn says"
    again = told.record(SAID, "I will remember the harbour office.", thread="monday", id="t")
    assert [episode.id for episode in told.episodes.list()] == [again.id]
