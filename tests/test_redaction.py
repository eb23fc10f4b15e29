"""Secrets on their way into the store: replaced in every stored form, refused, or kept, as the settings say."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import Item

from langgraph_tidal import TidalStore
from tidal_plugins import (
    Exchange,
    InvalidInput,
    Message,
    RedactionError,
    Secret,
    SecretRefused,
    Settings,
    TidalMemory,
    ToolCall,
)

PASSWORD = "Heron42blue"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
SAID = f"The wifi password of the harbour office is {PASSWORD}."
MASKED = re.compile(r"The wifi password of the harbour office is \[password ·[0-9a-f]{8}\]\.")
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----"
TOLD = {
    PASSWORD: SAID,
    TOKEN: f"Use {TOKEN} for the mirror.",
    "BAQEFAASCBKcwggSjAgEA": f"Here is the key of the crane:\n{KEY}",
    "4111 1111 1111 1111": "Book it on my card 4111 1111 1111 1111, please.",
    "DE89 3704 0044 0532 0130 00": "Send the deposit to DE89 3704 0044 0532 0130 00 by Friday.",
}


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
    TidalStore(memory).put(("notes",), "k", {"text": said})
    assert is_clean(tmp_path, secret), "while open, with its log"
    memory.close()
    assert is_clean(tmp_path, secret)
    assert secret not in caplog.text


def test_a_masked_turn_reads_well_and_is_found(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(whisper={"threshold": 0.0}))
    turn = memory.record(SAID, thread="a")
    assert MASKED.fullmatch(memory.episodes[turn.id].messages[0].text)
    assert MASKED.fullmatch(memory.get(turn.entries[0]).text)
    hit = memory.recall("wifi password of the harbour office")[0]
    assert hit.text == SAID.replace(PASSWORD, "[password]")
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


def test_a_stores_values_are_masked_too(open_memory: Any) -> None:
    store = TidalStore(open_memory())
    store.put(("logins",), "harbour", {"user": "ann", "password": PASSWORD, "berth": 7})
    item = store.get(("logins",), "harbour")
    assert isinstance(item, Item)
    assert (item.value["user"], item.value["berth"]) == ("ann", 7)
    assert item.value["password"].startswith("[password ·")


def test_a_turn_with_a_secret_is_one_turn_however_often_it_comes(memory: TidalMemory) -> None:
    turn = memory.record(SAID, "Noted.", thread="a", id="t")
    assert memory.record(SAID, "Noted.", thread="a", id="t").id == turn.id
    history = [
        Exchange((Message("user", SAID), Message("assistant", "Noted."))),
        Exchange((Message("user", "Thanks."),)),
    ]
    assert memory.episodes.match(history, thread="a").ids == [turn.id]
    other = [replaced(history[0], PASSWORD, "Gull77red"), history[1]]
    assert memory.episodes.match(other, thread="a").episodes[0] is None, "another password is another turn"
    note = memory.remember(SAID, kind="kb")
    assert memory.remember(SAID, kind="kb").id == note.id
    assert memory.remember(SAID.replace(PASSWORD, "Gull77red"), kind="kb").id != note.id


def replaced(exchange: Exchange, old: str, new: str) -> Exchange:
    return Exchange(tuple(Message(m.role, m.text.replace(old, new)) for m in exchange.messages))


def test_a_history_that_quotes_the_stored_form_is_known(memory: TidalMemory) -> None:
    turn = memory.record(SAID, "Noted.", thread="a", id="t")
    stored = memory.episodes[turn.id].messages[0].text
    again = memory.record(stored, "Noted.", thread="b")
    assert memory.episodes[again.id].messages[0].text == stored, "a mask is not masked again"


@pytest.mark.parametrize("said", [*TOLD.values(), f"Use postgresql://ann:{PASSWORD}@db-1:5432/tides once."])
def test_masking_again_changes_nothing(memory: TidalMemory, said: str) -> None:
    stored = memory.record(said, thread="a").messages[0].text
    assert memory.record(stored, thread="b").messages[0].text == stored != said


def test_compaction_knows_the_episode_of_a_turn_with_a_secret(open_memory: Any) -> None:
    memory = open_memory()
    call = ToolCall("login", {"password": PASSWORD}, id="c")
    history = [
        Message("user", SAID, "1"),
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
    memory.forget(memory.record(SAID, thread="a").entries[0])
    assert not memory.record(SAID, thread="b").entries
    address = f"https://ann:{PASSWORD}@harbour.example/log"
    memory.remember("The crane swings slowly.", source=address)
    assert memory.forget(source=address).count == 1


def test_a_new_password_supersedes_the_old_one(open_memory: Any, clock: Any) -> None:
    memory = open_memory()
    memory.record(SAID, thread="a")
    clock.advance(days=1)
    memory.record(f"The wifi password of the harbour office is now Gull77red instead of {PASSWORD}.", thread="b")
    memory.supersessions.find()
    assert memory.recall("wifi password of the harbour office")[0].entry.thread == "b"


def test_refused_secrets_raise_and_nothing_is_written(open_memory: Any, tmp_path: Path) -> None:
    memory = open_memory(settings=Settings(secrets={"stored": "refuse"}))
    for write in (
        lambda: memory.record(SAID),
        lambda: memory.record_many([Exchange((Message("user", "Hello."),)), Exchange((Message("user", SAID),))]),
        lambda: memory.remember(["The crane is green.", SAID], kind="kb"),
        lambda: memory.facts.set("wifi password", PASSWORD),
        lambda: memory.capsule.write(memory.capsule.read().edit(identity=SAID)),
        lambda: TidalStore(memory).put(("a",), "k", {"text": SAID}),
    ):
        with pytest.raises(SecretRefused, match=r"a secret \(password\)") as caught:
            write()
        assert PASSWORD not in str(caught.value)
    assert not memory.episodes.list()
    assert not memory.recall("crane")
    memory.close()
    assert is_clean(tmp_path, PASSWORD)


def test_kept_secrets_stand_in_the_store(open_memory: Any) -> None:
    memory = open_memory(settings=Settings(secrets={"stored": "keep"}))
    turn = memory.record(SAID)
    assert memory.episodes[turn.id].messages[0].text == SAID
    assert PASSWORD not in repr(memory.recall("wifi password"))


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
        [Secret(0, 3, None)],  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_redactor_that_fails_is_an_error_and_nothing_is_written(open_memory: Any, answer: Any) -> None:
    memory = open_memory(redactor=Fails(answer))
    with pytest.raises(RedactionError, match=r"[Nn]othing was stored"):
        memory.record("The crane is green.")
    with pytest.raises(RedactionError):
        memory.remember("The crane is green.")
    assert not memory.episodes.list()


def test_what_is_no_redactor_is_refused(open_memory: Any) -> None:
    with pytest.raises(InvalidInput, match="method find"):
        open_memory("a.db", redactor=object())
    with pytest.raises(InvalidInput, match="redactor of your own"):
        open_memory("b.db", redactor=Boats(), settings=Settings(secrets={"stored": "keep"}))
