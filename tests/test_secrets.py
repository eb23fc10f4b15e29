"""Secrets: shown in nothing that memory makes; in the store replaced, refused or kept, as the settings say."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import (
    ComponentError,
    Exchange,
    InvalidInput,
    Message,
    Note,
    Peer,
    Secret,
    Settings,
    TidalMemory,
    ToolCall,
)
from tidal_plugins.secrets import screening
from tidal_plugins.testing import FrozenClock
from tidal_plugins.turns import Place, surface

SECRET = "Heron42blue"
SAID = f"For the guests: the wifi password of the harbour office is {SECRET}, I must write it on the board."
SHOWN = SAID.replace(SECRET, "[password]")
ASKED = "What is the wifi password of the harbour office?"

KEPT = Settings(recording={"secrets": "keep"})


@pytest.fixture
def told(open_memory: Any) -> TidalMemory:
    memory: TidalMemory = open_memory(settings=Settings(whisper={"threshold": 0.0}, recording={"secrets": "keep"}))
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


def test_what_was_written_by_other_forms_of_secrets_is_searched_when_it_is_shown(
    told: TidalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SECRET not in repr(told.recall(ASKED))
    monkeypatch.setattr(screening, "FORMS", screening.FORMS + 1)
    assert [hit.text for hit in told.recall(ASKED) if hit.hidden] == [SHOWN]


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


def test_a_message_that_the_model_sees_is_no_memory_though_its_secret_is_hidden(told: TidalMemory) -> None:
    place = Place(told, None)
    assert entry_id(told) in surface(place, ASKED).whisper.ids
    assert entry_id(told) not in surface(place, ASKED, shown_texts=[SAID]).whisper.ids


# on their way into the store


PASSWORD = "Heron42blue"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
WIFI = f"The wifi password of the harbour office is {PASSWORD}."
MASKED = re.compile(r"The wifi password of the harbour office is \[password ·[0-9a-f]{8}\]\.")
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----"
TOLD = {
    PASSWORD: WIFI,
    TOKEN: f"Use {TOKEN} for the mirror.",
    "BAQEFAASCBKcwggSjAgEA": f"Here is the key of the crane:\n{KEY}",
    "4111 1111 1111 1111": "Book it on my card 4111 1111 1111 1111, please.",
    "DE89 3704 0044 0532 0130 00": "Send the deposit to DE89 3704 0044 0532 0130 00 by Friday.",
}


def store_of(memory: TidalMemory) -> Any:
    from langgraph_tidal import TidalStore

    return TidalStore(memory)


def bytes_of(folder: Path) -> bytes:
    """Return all bytes that files hold: the database, its log, and whatever lies beside them."""
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def is_clean(folder: Path, secret: str) -> bool:
    found = bytes_of(folder).lower()
    return secret.lower().encode() not in found and secret.lower().encode("utf-16-le") not in found


@pytest.mark.parametrize("secret", TOLD)
def test_no_byte_of_a_secret_is_in_any_file(
    open_memory: Any, tmp_path: Path, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    memory, said = open_memory(), TOLD[secret]
    call = ToolCall("post", {"body": said, "deep": [{"more": said}]}, result=f"Echo: {said}")
    turn = memory.record(said, f"Noted: {said}", tools=[call], thread="a", id="t", metadata={"about": said})
    memory.remember(f"{said} Keep it.", kind="kb", source=said, tags=[said], metadata={"text": said})
    memory.facts.set("harbour", said, source=said)
    with memory.sessions.open(agent="planner", metadata={"note": said}) as session:
        session.annotate(turn.entries[0], said)
    memory.capsule.write(memory.capsule.read().edit(identity=said))
    memory.dossiers.refresh("harbour office")
    memory.graph.index_pending()
    memory.supersessions.find()
    memory.maintenance.run()
    memory.compactor(max_tokens=500).compact([Message("user", said, "1"), Message("assistant", "Ok.", "2")], thread="c")
    store_of(memory).put(("notes",), "k", {"text": said})
    assert is_clean(tmp_path, secret), "while open, with its log"
    memory.close()
    assert is_clean(tmp_path, secret)
    assert secret not in caplog.text


@pytest.mark.parametrize("stored", ["mask", "keep", "refuse"])
def test_what_is_private_is_stored_nowhere(open_memory: Any, tmp_path: Path, stored: str) -> None:
    said = "The mooring is number 4. <private>Ask for Ottokar\nat the bar.</private> It costs 40 euros."
    shown = "The mooring is number 4. [private] It costs 40 euros."
    memory = open_memory(settings=Settings(recording={"secrets": stored}))
    call = ToolCall("post", {"body": said}, result=said)
    turn = memory.record(said, said, tools=[call], metadata={"about": said}, id="t")
    assert memory.remember(f"Note: {said.replace('private', 'Private')}").text == f"Note: {shown}"
    memory.facts["mooring"] = said
    assert [message.text for message in memory.episodes[turn.id].messages if message.text] == [shown] * 3
    assert memory.record(said, said, tools=[call], id="t").id == turn.id
    memory.close(timeout=60)
    assert is_clean(tmp_path, "Ottokar")
    assert is_clean(tmp_path, "at the bar")


def test_a_masked_turn_reads_well_and_is_found(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(whisper={"threshold": 0.0}))
    turn = memory.record(WIFI, thread="a")
    assert MASKED.fullmatch(memory.episodes[turn.id].messages[0].text)
    assert MASKED.fullmatch(memory.get(turn.entries[0]).text)
    hit = memory.recall("wifi password of the harbour office")[0]
    assert hit.text == WIFI.replace(PASSWORD, "[password]")
    whisper = memory.whisper("What is the wifi password of the harbour office?")
    assert "is [password]." in whisper.text
    assert "hidden here" not in whisper.text, "no citation leads to it"


def test_values_under_a_telling_name_are_masked(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory()
    login = ToolCall("login", {"user": "ann", "password": PASSWORD, "pin": 471193, "id": 471194}, result="Done.")
    turn = memory.record("Log in.", "Done.", tools=[login])
    stored = dict(memory.episodes[turn.id].tool_calls[0].arguments)
    assert (stored["user"], stored["id"]) == ("ann", 471194)
    memory.facts["wifi password"] = PASSWORD
    assert memory.facts["wifi password"].startswith("[password ·")
    assert is_clean(tmp_path, PASSWORD)
    assert b"471193" not in bytes_of(tmp_path)


def test_fields_within_strings_and_beside_their_names_are_masked(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory()
    within = json.dumps({"body": json.dumps({"password": PASSWORD})})
    calls = [
        ToolCall("post", {"payload": within, "env": [{"name": "DB_PASSWORD", "value": PASSWORD}]}, result=within),
        ToolCall("shell", {"command": f"sshpass -p {PASSWORD} ssh pier"}, result=f"<password>{PASSWORD}</password>"),
    ]
    memory.record("Deploy it.", "Done.", tools=calls)
    assert is_clean(tmp_path, PASSWORD)


def test_a_turn_with_a_secret_is_one_turn_however_often_it_comes(memory: TidalMemory) -> None:
    turn = memory.record(WIFI, "Noted.", thread="a", id="t")
    assert memory.record(WIFI, "Noted.", thread="a", id="t").id == turn.id
    history = [
        Exchange((Message("user", WIFI), Message("assistant", "Noted."))),
        Exchange((Message("user", "Thanks."),)),
    ]
    assert memory.episodes.match(history, thread="a").ids == [turn.id]
    other = [replaced(history[0], PASSWORD, "Gull77red"), history[1]]
    assert memory.episodes.match(other, thread="a").episodes[0] is None, "another password is another turn"
    note = memory.remember(WIFI, kind="kb")
    assert memory.remember(WIFI, kind="kb").id == note.id
    assert memory.remember(WIFI.replace(PASSWORD, "Gull77red"), kind="kb").id != note.id


def replaced(exchange: Exchange, old: str, new: str) -> Exchange:
    return Exchange(tuple(Message(m.role, m.text.replace(old, new)) for m in exchange.messages))


@pytest.mark.parametrize("said", [*TOLD.values(), f"Use postgresql://ann:{PASSWORD}@db-1:5432/tides once."])
def test_masking_again_changes_nothing(memory: TidalMemory, said: str) -> None:
    stored = memory.record(said, thread="a").messages[0].text
    assert memory.record(stored, thread="b").messages[0].text == stored != said


def test_compaction_knows_the_episode_of_a_turn_with_a_secret(open_memory: Any) -> None:
    memory = open_memory()
    call = ToolCall("login", {"password": PASSWORD}, id="c")
    history = [
        Message("user", WIFI, "1"),
        Message("assistant", "", "2", tool_calls=(call,)),
        Message("tool", f"logged in with password {PASSWORD}", "3", tool_call_id="c"),
        Message("assistant", "Done.", "4"),
        Message("user", "Thanks. Now list the boats.", "5"),
    ]
    compactor = memory.compactor(max_tokens=2_000)
    first = compactor.compact(history, thread="s", force="compact")
    compactor.compact(history, thread="s", force="compact")
    assert len(memory.episodes.list(thread="s")) == 1
    assert PASSWORD not in repr([piece for piece in first.view if hasattr(piece, "text")])


def test_forgotten_words_with_a_secret_stay_forgotten(memory: TidalMemory) -> None:
    memory.forget(memory.record(WIFI, thread="a").entries[0])
    assert not memory.record(WIFI, thread="b").entries
    address = f"https://ann:{PASSWORD}@harbour.example/log"
    memory.remember("The crane swings slowly.", source=address)
    assert memory.forget(source=address).count == 1


def test_a_new_password_supersedes_the_old_one(open_memory: Any, clock: Any) -> None:
    memory = open_memory()
    memory.record(WIFI, thread="a")
    clock.advance(days=1)
    memory.record(f"The wifi password of the harbour office is now Gull77red instead of {PASSWORD}.", thread="b")
    memory.supersessions.find()
    assert memory.recall("wifi password of the harbour office")[0].entry.thread == "b"


def test_refused_secrets_raise_and_nothing_is_written(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory(settings=Settings(recording={"secrets": "refuse"}))
    for write in (
        lambda: memory.record(WIFI),
        lambda: memory.record_many([Exchange((Message("user", "Hello."),)), Exchange((Message("user", WIFI),))]),
        lambda: memory.remember(["The crane is green.", WIFI], kind="kb"),
        lambda: memory.facts.set("wifi password", PASSWORD),
        lambda: memory.capsule.write(memory.capsule.read().edit(identity=WIFI)),
        lambda: store_of(memory).put(("a",), "k", {"text": WIFI}),
    ):
        with pytest.raises(InvalidInput, match=r"a secret \(password\)") as caught:
            write()
        assert PASSWORD not in str(caught.value)
    assert not memory.episodes.list()
    assert not memory.recall("crane")
    memory.close()
    assert is_clean(tmp_path, PASSWORD)


class Boats:
    """Finds the names of boats, which this owner does not want stored."""

    def find(self, text: str) -> Sequence[Secret]:
        return [Secret(match.start(), match.end(), "boat") for match in re.finditer("Seagull", text)]


def test_a_redactor_of_ones_own_is_used(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory(redactor=Boats())
    memory.record("The Seagull lies at the pier.")
    assert memory.recall("pier")[0].text == "The [boat] lies at the pier."
    assert is_clean(tmp_path, "Seagull")


class Fails:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def find(self, text: str) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("no rules"),
        None,
        ["x"],
        [Secret(3, 2, "x")],
        [Secret(0, 10_000, "x")],
        [Secret(0, 3, "x"), Secret(2, 4, "x")],
        [Secret(0, 3, "]\n")],
        [Secret(0, 3, None)],
    ],
    ids=repr,
)
def test_a_redactor_that_fails_is_an_error_and_nothing_is_written(open_memory: Any, answer: Any) -> None:
    memory = open_memory(redactor=Fails(answer))
    with pytest.raises(ComponentError, match=r"[Nn]othing was stored"):
        memory.record("The crane is green.")
    with pytest.raises(ComponentError):
        memory.remember("The crane is green.")
    assert not memory.episodes.list()


def test_what_is_no_redactor_is_refused(open_memory: Any) -> None:
    with pytest.raises(InvalidInput, match="method find"):
        open_memory("a.db", redactor=object())
    with pytest.raises(InvalidInput, match="redactor of your own"):
        open_memory("b.db", redactor=Boats(), settings=Settings(recording={"secrets": "keep"}))


def test_a_thought_seed_shows_none(open_memory: Any) -> None:
    memory = open_memory(settings=KEPT)
    kept = [memory.record(SAID, thread="monday"), memory.record("Guests bring cake at noon.", thread="tuesday")]
    surfaced = [id_ for each in kept for id_ in each.entries]
    for n in range(3):
        memory.record(f"Question {n}", thread=f"t{n}", surfaced=surfaced)
    [seed] = memory.maintenance.run().seeds
    assert SHOWN in (seed.first.text, seed.second.text)


def test_consolidated_facts_and_retrievers_show_none(told: TidalMemory) -> None:
    import langchain_tidal
    import llama_index_tidal

    documents = langchain_tidal.TidalRetriever(told).invoke(ASKED)
    nodes = llama_index_tidal.TidalRetriever(told).retrieve(ASKED)
    assert any("[password]" in document.page_content for document in documents)
    assert any("[password]" in node.text for node in nodes)
    assert SECRET.casefold() not in repr((documents, nodes)).casefold()


KEY = "ghp_R7kQ2mXvLt9WcPz4nHsJd5GuAe0KiVoBtMyR"


def test_names_and_ids_of_tools_digests_and_surfaced_ids_hold_no_secret(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory()
    asked = Message("assistant", "", tool_calls=[ToolCall(KEY, {}, id=KEY)])
    turn = memory.record(messages=[Message("user", "Look."), asked, Message("tool", "ok", tool_call_id=KEY)], id="t")
    again = memory.record(messages=[Message("user", "Look."), asked, Message("tool", "ok", tool_call_id=KEY)], id="t")
    assert again == turn
    [call] = turn.tool_calls
    assert call.name == call.id == turn.messages[2].tool_call_id
    assert call.result == "ok"
    memory.record("Look.", "Seen.", surfaced=[KEY])
    memory.documents.put("notes.md", [Note("The tram leaves at nine.")], digest=KEY)
    assert KEY not in str([*memory.episodes.list(), *memory.documents.list()])
    memory.export(tmp_path / "export.jsonl")
    memory.close()
    assert not [file for file in tmp_path.iterdir() if KEY.encode() in file.read_bytes()]


def test_a_schema_of_a_password_is_none(open_memory: Any) -> None:
    schema = {"properties": {"password": {"type": "string"}}, "required": ["password"]}
    turn = open_memory().record(
        "Look.", json.dumps(schema), tools=[ToolCall("make", schema, result=json.dumps(schema))]
    )
    assert turn.answer == turn.tool_calls[0].result == json.dumps(schema)
    assert turn.tool_calls[0].arguments == schema
