"""Recall over the own store and its peers."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.inside import raw
from tidal_plugins import (
    Coverage,
    Entry,
    Explanation,
    HashingEmbedder,
    Hit,
    InvalidInput,
    Note,
    Peer,
    Recall,
    Settings,
    TidalMemory,
)
from tidal_plugins.model.recall import Dropped
from tidal_plugins.retrieval.federation import Merger, PeerAnswer
from tidal_plugins.testing import FrozenClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PIANO = "The jazz piano of the planner stands in the attic"
TURN = "where does the jazz piano of the planner stand, in the attic?"


class OtherEmbedder(HashingEmbedder):
    """The same vectors under another name."""

    id = "other"


class Asking:
    """Always asks one more thing."""

    def assess(self, query: str, texts: Any) -> Coverage:
        return Coverage(("more",), ("where is the jazz piano?",))


@pytest.fixture
def peer_file(open_memory: Any, tmp_path: Path) -> Path:
    """A peer's file at rest, with two memories in it."""
    with open_memory("planner.db") as memory:
        memory.remember([Note(PIANO), Note("bread and jam for breakfast")])
    return tmp_path / "planner.db"


def traces(path: Path) -> Mapping[str, tuple[int, bytes]]:
    """The times and bytes of everything in a folder whose name begins as the file's does."""
    found = sorted(file for file in path.parent.iterdir() if file.name.startswith(path.name))
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in found}


def origins(recall: Recall) -> list[tuple[str, str]]:
    return [(hit.text, hit.origin) for hit in recall]


def errors(recall: Recall) -> str:
    return "; ".join(report.error for report in recall.peers)


# what comes up


def merged(own: Recall, *answers: PeerAnswer, limit: int = 5) -> Recall:
    return Merger(Settings(), limit, ("default",), lambda scope, texts: set()).merged(own, answers)


def test_a_peer_answers_what_the_own_store_cannot(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[peer_file])
    own = memory.remember("the dentist on monday")
    recall = memory.recall("jazz piano", limit=2)
    assert origins(recall)[0] == (PIANO, "planner")
    [report] = recall.peers
    assert (report.name, report.trust, report.error) == ("planner", 0.8, "")
    assert report.hits == sum(hit.origin == "planner" for hit in recall)
    assert recall.degraded == ()
    assert recall[0].why.factors["trust"] == 0.8
    assert "from planner" in recall.explain()
    assert own.id in {*recall.ids, *(item.id for item in recall.dropped)}


def test_scores_of_all_stores_stand_against_the_best_of_all(open_memory: Any, peer_file: Path) -> None:
    texts = [PIANO, "bread and jam for breakfast", "a piano teacher", "the attic is cold"]
    by_meaning = Settings(tuning={"recall.keywords": 0.0})  # how rare a word is depends on the store
    alone = open_memory("alone.db", settings=by_meaning)
    alone.remember([Note(text) for text in texts])
    memory = open_memory(settings=by_meaning, peers=[Peer(peer_file, trust=1.0)])
    memory.remember([Note(text) for text in texts[2:]])
    together, apart = alone.recall("jazz piano"), memory.recall("jazz piano")
    assert {hit.origin for hit in apart} == {"own", "planner"}
    for one, other in zip(together, apart, strict=True):
        assert (one.text, one.score) == (other.text, pytest.approx(other.score, abs=1e-5))
        assert one.why.relevance == pytest.approx(other.why.relevance, abs=1e-5)


def test_less_trust_is_less_score(open_memory: Any, peer_file: Path) -> None:
    scores = {}
    for trust in (1.0, 0.5):
        memory = open_memory(f"{trust}.db", peers=[Peer(peer_file, trust=trust)])
        memory.remember("a piano teacher")
        scores[trust] = next(hit.score for hit in memory.recall("jazz piano") if hit.origin == "planner")
    assert scores[0.5] == pytest.approx(scores[1.0] / 2)


def test_the_own_of_two_copies_is_shown(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[peer_file])
    own = memory.remember(f"{PIANO.upper()}")
    recall = memory.recall("jazz piano")
    assert [hit.origin for hit in recall if hit.text.lower() == PIANO.lower()] == ["own"]
    [copy] = [item for item in recall.dropped if item.stage == "federation"]
    assert (copy.origin, copy.reason) == ("planner", f"the same as {own.id}, own")


def said(*texts: str, score: float = 0.5, path: tuple[str, ...] = ()) -> list[Hit]:
    why = Explanation(1, 1.0, 1, 0.5, 1.0, 0.5, 1.0, profile="tidal", path=path)
    return [Hit(Entry(text, "kb", text, ("default",), NOON, NOON), score, text, why) for text in texts]


def answered(*hits: Hit, **fields: Any) -> Recall:
    return Recall("piano", ("piano",), hits, profile="tidal", **fields)


@pytest.mark.parametrize("own", ["a piano", ""])
def test_a_reranker_that_fails_has_its_time_once_for_all_stores(open_memory: Any, peer_file: Path, own: str) -> None:
    calls = []

    class Failing:
        def rerank(self, query: str, texts: Any) -> list[float]:
            calls.append(texts)
            raise TimeoutError("too late")

    with open_memory("other.db") as other:
        other.remember("another jazz piano")
    memory = open_memory(peers=[peer_file, other.path], reranker=Failing())
    memory.remember([Note(own)] if own else [])
    recall = memory.recall("jazz piano")
    assert len(calls) == 1
    assert {"planner", "other"} <= {hit.origin for hit in recall}
    assert recall.degraded == (("reranker",) if own else ("peer planner",))


def test_what_was_forgotten_here_no_peer_brings_back(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[peer_file])
    memory.forget(memory.remember(PIANO).id)
    recall = memory.recall("jazz piano")
    assert PIANO not in [hit.text for hit in recall]
    assert "was forgotten here on request" in [item.reason for item in recall.dropped]
    assert PIANO not in str(memory.whisper(TURN))


def test_turns_of_one_number_in_two_stores_have_ids_of_their_own(open_memory: Any) -> None:
    with open_memory("planner.db") as planner:
        theirs = planner.record("Where is the jazz piano?", "The jazz piano stands in the attic", thread="s", id="1")
    memory = open_memory(peers=[planner.path])
    own = memory.record("Is the jazz concert tomorrow?", "Tomato soup is on the menu", thread="s", id="1")
    assert not set(own.entries) & set(theirs.entries)
    memory.remember([Note(f"jazz piano lesson {n}") for n in range(12)])
    query, wanted = "where stands the jazz piano in the attic", ("The jazz piano stands in the attic", "planner")
    recall = memory.recall(query, limit=5)
    assert own.entries[1] in {item.id for item in recall.dropped if item.origin == "own"}
    assert wanted in origins(recall)
    first = memory.recall("tomato soup on the menu", limit=1)
    assert origins(first) == [("Tomato soup is on the menu", "own")]
    asking = open_memory(peers=[planner.path], assessor=Asking())
    further = asking.recall("tomato soup on the menu", limit=1, hops=2)
    assert wanted in origins(further), "a later hop finds it beside the own one"
    assert [report.hits for report in further.peers] == [sum(origin == "planner" for _, origin in origins(further))]


def test_filters_hold_for_peers_too(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[peer_file])
    assert len(memory.recall("jazz piano", kinds={"skill"})) == 0
    [piano] = [hit for hit in memory.recall("jazz piano") if hit.text == PIANO]
    assert PIANO not in [hit.text for hit in memory.recall("jazz piano", exclude=[piano.id])]


# whose memory


def test_a_path_is_read_in_the_scope_that_asks(open_memory: Any, tmp_path: Path) -> None:
    with open_memory("team.db") as team:
        team.scoped("user", "ada").remember("Ada keeps the jazz piano in the attic")
        team.scoped("user", "bob").remember("Bob sold the jazz piano")
    memory = open_memory(peers=[tmp_path / "team.db"])
    assert len(memory.recall("jazz piano")) == 0
    [hit] = memory.scoped("user", "ada").recall("jazz piano")
    assert (hit.text, hit.entry.scope) == ("Ada keeps the jazz piano in the attic", ("user", "ada"))
    fixed = open_memory("fixed.db", peers=[Peer(tmp_path / "team.db", scope=("user", "bob"))])
    assert [hit.entry.scope for hit in fixed.recall("jazz piano")] == [("user", "bob")]


def test_another_scope_of_the_same_file_can_be_a_peer(open_memory: Any) -> None:
    first = open_memory()
    first.scoped("team").remember(PIANO)
    memory = open_memory(peers=[Peer(first.scoped("team"), name="team")])
    assert origins(memory.recall("jazz piano")) == [(PIANO, "team")]
    assert memory.scoped("team").recall("jazz piano").peers == (), "asked of the very memory that it is"


def test_the_same_file_under_another_name_is_no_peer(open_memory: Any, tmp_path: Path) -> None:
    open_memory().remember(PIANO)
    (tmp_path / "link.db").symlink_to(tmp_path / "agent.db")
    assert open_memory(peers=[tmp_path / "link.db"]).recall("jazz piano").peers == ()


# no trace


STATES = ("in use", "left by one that died", "left without an index")


@pytest.mark.parametrize("state", ["at rest", *(pytest.param(state, marks=pytest.mark.slow) for state in STATES)])
def test_a_peer_is_never_written_and_what_stands_in_its_log_is_read(
    open_memory: Any, peer_file: Path, tmp_path: Path, state: str
) -> None:
    child = None
    if state != "at rest":
        script = (
            "import sys, os\nfrom tidal_plugins import HashingEmbedder, TidalMemory\n"
            "memory = TidalMemory(sys.argv[1], embedder=HashingEmbedder())\n"
            "memory.remember('the jazz piano was sold')\nprint('written', flush=True)\n"
            "sys.stdin.readline()\nos._exit(0)"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(peer_file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert child.stdout
        assert child.stdout.readline() == b"written\n"
    if child and state != "in use":
        child.communicate(b"\n")
        if state == "left without an index":
            peer_file.with_name("planner.db-shm").unlink()
    memory = open_memory(peers=[peer_file])
    before = traces(peer_file)
    try:
        for _ in range(3):
            found = memory.recall("jazz piano")
            memory.whisper(TURN)
        assert traces(peer_file) == before
        assert errors(found) == ""
        assert ("the jazz piano was sold" in [hit.text for hit in found]) == (state != "at rest")
    finally:
        if child and state == "in use":
            child.communicate(b"\n")
    assert len(before) == {"at rest": 1, "left without an index": 2}.get(state, 3)


def test_a_peer_that_is_replaced_by_another_file_is_read_anew(open_memory: Any, peer_file: Path) -> None:
    with open_memory("new.db") as new:
        new.remember([Note(f"jazz piano {n}") for n in range(5)])
    memory = open_memory(peers=[peer_file])
    memory.recall("jazz piano")
    Path(new.path).replace(peer_file)
    recall = memory.recall("jazz piano")
    assert {hit.text for hit in recall} == {f"jazz piano {n}" for n in range(5)}
    assert all(hit.why.cosine > 0.3 for hit in recall)


def test_a_peer_stays_writable_in_the_same_process(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[peer_file])
    for n in range(3):
        memory.recall("jazz piano")
        with open_memory("planner.db") as planner:
            memory.recall("jazz piano")
            planner.remember(f"jazz piano {n}")
            memory.recall("jazz piano")
            planner.remember(f"jazz piano {n} again")
    assert sum(hit.origin == "planner" for hit in memory.recall("jazz piano")) == 8


# peers that cannot be asked


def test_a_peer_that_cannot_be_read_is_reported_and_not_fatal(
    open_memory: Any, tmp_path: Path, peer_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "text.db").write_text("no database at all, but long enough to be taken for one" * 20)
    (tmp_path / "empty.db").touch()
    (tmp_path / "folder.db").mkdir()
    apsw.Connection(str(tmp_path / "foreign.db")).execute("CREATE TABLE notes (text)")
    names = ["missing", "text", "empty", "folder", "foreign"]
    memory = open_memory(peers=[*(tmp_path / f"{name}.db" for name in names), tmp_path / "no" / "such.db", peer_file])
    memory.remember("a piano teacher")
    before = sorted(tmp_path.iterdir())
    for _ in range(2):
        recall = memory.recall("jazz piano")
    assert {hit.origin for hit in recall} == {"own", "planner"}
    reports = {report.name: report.error for report in recall.peers}
    assert {name: error.split(":")[0] for name, error in reports.items()} == {
        **dict.fromkeys(names, "StorageError"), "such": "InvalidInput", "planner": "",
    }  # fmt: skip
    for name, reason in {
        "text": "not an SQLite",
        "empty": "is empty",
        "folder": "director",
        "foreign": "another",
    }.items():
        assert reason in reports[name]
    assert recall.degraded == tuple(f"peer {name}" for name in [*names, "such"])
    assert "peer missing was not asked" in recall.explain()
    assert sorted(tmp_path.iterdir()) == before, "nothing was made where there was nothing"
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 6, "once each"
    assert PIANO in str(memory.whisper(TURN))


@pytest.mark.parametrize(("version", "reason"), [(99, "schema version 99"), (0, "is empty")])
def test_a_peer_of_another_schema_is_reported(open_memory: Any, peer_file: Path, version: int, reason: str) -> None:
    connection = raw(peer_file)
    connection.pragma("user_version", version)
    connection.close()
    recall = open_memory(peers=[peer_file]).recall("jazz piano")
    assert len(recall) == 0
    assert reason in recall.peers[0].error


@pytest.mark.parametrize("by_path", [True, False])
def test_a_peer_of_another_embedder_is_reported(open_memory: Any, tmp_path: Path, by_path: bool) -> None:
    other = open_memory("other.db", embedder=OtherEmbedder())
    other.remember(PIANO)
    recall = open_memory(peers=[tmp_path / "other.db" if by_path else other]).recall("jazz piano")
    assert (len(recall), recall.degraded) == (0, ("peer other",))
    assert errors(recall).startswith("EmbedderMismatch: this store was written with other")


def test_an_open_memory_that_was_closed_is_reported(open_memory: Any) -> None:
    team = open_memory("team.db")
    team.remember(PIANO)
    memory = open_memory(peers=[team])
    team.close()
    assert errors(memory.recall("jazz piano")).startswith("Closed")


def test_a_damaged_row_of_a_peer_is_left_out(open_memory: Any, peer_file: Path) -> None:
    connection = raw(peer_file)
    connection.execute("UPDATE entries SET text = 'forged' WHERE text = ?", (PIANO,))
    connection.close()
    recall = open_memory(peers=[peer_file]).recall("jazz piano")
    assert [hit.text for hit in recall] == ["bread and jam for breakfast"]
    assert [(item.stage, item.origin) for item in recall.dropped] == [("checksum", "planner")]


# whispers


def test_a_whisper_says_whose_memory_it_is(open_memory: Any, peer_file: Path, clock: FrozenClock) -> None:
    memory = open_memory(peers=[peer_file])
    whisper = memory.whisper(TURN)
    assert PIANO in str(whisper)
    assert ", kb in planner: " in str(whisper)
    assert whisper.recall.confidence
    with open_memory("talk.db") as talk:
        talk.record("is the jazz piano of the planner in the attic?", "The jazz piano stands in the attic, yes", id="1")
    told = open_memory("me.db", peers=[talk.path]).whisper(TURN)
    assert "assistant in talk: " in str(told)
    assert ", you" not in str(told)


def test_a_peer_must_be_surer_the_less_it_is_trusted(open_memory: Any, peer_file: Path) -> None:
    sure = open_memory(peers=[Peer(peer_file, trust=1.0)]).whisper(TURN).recall.confidence
    sure_enough = Settings(whisper={"threshold": sure * 0.9})
    for trust, speaks in ((1.0, True), (0.8, False)):
        whisper = open_memory(f"{trust}.db", settings=sure_enough, peers=[Peer(peer_file, trust=trust)]).whisper(TURN)
        assert bool(whisper) == speaks
        assert whisper.recall.confidence == pytest.approx(sure * trust)
    assert "at a trust of 0.80" in {item.stage: item.reason for item in whisper.recall.dropped}["threshold"]


def test_what_a_peer_surfaced_can_be_recorded(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[peer_file])
    before = traces(peer_file)
    surfaced = memory.whisper(TURN).ids
    memory.record(TURN, "It stands in the attic", surfaced=surfaced)
    memory.record("thanks", "you are welcome")
    assert memory.episodes.list()[0].surfaced == surfaced
    assert traces(peer_file) == before


# what is asked for


@pytest.mark.parametrize("peers", ["agent.db", 3, [3], [None], [""], Peer("a.db")])
def test_peers_are_paths_memories_or_peers(open_memory: Any, peers: Any) -> None:
    with pytest.raises(InvalidInput, match="peer"):
        open_memory(peers=peers)


def test_a_peer_is_checked_when_it_is_made(memory: TidalMemory) -> None:
    for fields in ({"trust": 0}, {"trust": 1.1}, {"trust": True}, {"trust": "much"}, {"name": "own"}, {"name": 3}):
        with pytest.raises(InvalidInput):
            Peer("a.db", **fields)
    with pytest.raises(InvalidInput):
        Peer("a.db", scope="team")
    assert Peer("notes/planner.db").name == "planner"
    assert Peer(memory).name == "agent"
    assert replace(Peer("a.db"), name="b").name == "b"


def test_two_peers_of_one_name_need_names(open_memory: Any) -> None:
    with pytest.raises(InvalidInput, match="'notes'"):
        open_memory(peers=["a/notes.db", "b/notes.db"])


def test_the_turns_around_a_peers_hit_come_from_the_peer(open_memory: Any, clock: FrozenClock) -> None:
    with open_memory("talk.db") as talk:
        talk.record("did you sell the harp?", "No", thread="s", id="1")
        clock.advance(minutes=1)
        talk.record("where is the jazz piano?", "In the attic", thread="s", id="2")
    memory = open_memory(peers=[talk.path])
    [hit] = memory.recall("jazz piano", limit=1, window=1)
    assert [entry.text for entry in hit.window.before] == ["No"]
    assert [entry.text for entry in hit.window.after] == ["In the attic"]


def test_an_open_memory_is_read_in_its_own_scope(open_memory: Any) -> None:
    team = open_memory("team.db").scoped("team")
    team.remember(PIANO)
    memory = open_memory(peers=[Peer(team, name="the team")])
    assert origins(memory.recall("jazz piano")) == [(PIANO, "the team")]
    team.remember("another jazz piano")
    assert len(memory.recall("jazz piano")) == 2


def test_a_peer_comes_back(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[peer_file])
    away = peer_file.rename(peer_file.with_name("away.db"))
    assert memory.recall("jazz piano").degraded == ("peer planner",)
    away.rename(peer_file)
    assert memory.recall("jazz piano").degraded == ()


def test_what_a_peer_had_to_do_without_is_reported() -> None:
    found = merged(answered(), PeerAnswer("b", 1.0, answered(*said("b"), degraded=("keywords",))))
    assert found.degraded == ("peer b",)
    assert str(found.peers[0]) == "peer b: 1 hit, without keywords"


def test_what_fell_out_here_a_peer_does_not_bring_back() -> None:
    own = answered(dropped=(Dropped("b", "threshold", "no news"),))
    found = merged(own, PeerAnswer("peer", 1.0, answered(*said("b", "c"))))
    assert found.ids == ("c",)
    assert "fell out there at the stage threshold" in {item.origin: item.reason for item in found.dropped}["peer"]


def test_of_two_stores_a_whisper_shows_the_same_words_once(open_memory: Any, peer_file: Path) -> None:
    memory = open_memory(peers=[Peer(peer_file, trust=1.0)], settings=Settings(whisper={"threshold": 0.1}))
    memory.remember(f"{PIANO}.")
    whisper = memory.whisper(TURN)
    assert [hit.origin for hit in whisper.hits if PIANO in hit.text] == ["own"]
    assert ("diversity", "planner") in {(item.stage, item.origin) for item in whisper.recall.dropped}
    assert len(memory.recall("jazz piano")) == 3, "who searches gets both"
