"""The commands that read a memory and keep it in order."""

from __future__ import annotations

import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Tidal
from tidal_plugins import HashingEmbedder, TidalMemory, ToolCall


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Return a memory with two turns, a skill, a fact and a session."""
    path = tmp_path / "tidal.db"
    with TidalMemory(path, embedder=HashingEmbedder()) as memory:
        memory.record("My cousin Nora repairs clocks in Porto.", "Clocks, in Porto. Noted.", thread="monday")
        tool = ToolCall("search", {"query": "clock springs"}, result="Two shops sell them.")
        memory.record("Who sells clock springs?", "Two shops do.", thread="tuesday", tools=[tool])
        memory.remember("To flash the board, hold BOOT and tap RESET.", kind="skill", source="flash.md")
        memory.facts["bridge"] = "open"
        memory.facts["bridge"] = "closed"
        with memory.sessions.open(agent="planner", user="eva") as session:
            session.signal("like", memory.recall("clocks")[0].id)
    return path


def test_init_makes_a_memory_and_leaves_one_that_is_there(tidal: Tidal, tmp_path: Path) -> None:
    assert tidal("init", "--db", "new.db", "--json").data["new"]
    assert not tidal("init", "--db", "new.db", "--json").data["new"]
    assert (tmp_path / "new.db").exists()


def test_reading_makes_no_file(tidal: Tidal, tmp_path: Path) -> None:
    ran = tidal("recall", "anything")
    assert (ran.code, ran.out) == (3, "")
    assert "tidal init" in ran.err
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("told")
def test_recall_shows_where_each_hit_is_from(tidal: Tidal) -> None:
    ran = tidal("recall", "Who repairs clocks?", "--limit", "1")
    assert "My cousin Nora repairs clocks in Porto." in ran.out
    assert "thread monday" in ran.out
    [hit] = tidal("recall", "flash the board", "-n", "1", "--kind", "skill", "--json").data["hits"]
    assert hit["source"] == "flash.md"
    assert tidal("recall", "clocks", "--thread", "nowhere").code == 3
    assert tidal("recall", "clocks", "--since", "2100-01-01").code == 3


@pytest.mark.usefixtures("told")
def test_why_has_a_row_for_each_candidate(tidal: Tidal) -> None:
    assert "relevance" in tidal("why", "clocks", "--limit", "1").out
    explained = tidal("why", "clocks", "--limit", "1", "--json").data
    assert len(explained["hits"]) == 1
    assert explained["dropped"]


@pytest.mark.usefixtures("told")
def test_a_whisper_is_text_or_nothing(tidal: Tidal) -> None:
    assert "<tidal-memory>" in tidal("whisper", "Where does my cousin Nora repair clocks?").out
    thanks = tidal("whisper", "Thanks!")
    assert (thanks.out, thanks.code) == ("", 0)
    assert tidal("whisper", "Thanks!", "--json").data["text"] == ""


@pytest.mark.usefixtures("told")
def test_history_reads_turns_in_order(tidal: Tidal) -> None:
    ran = tidal("history")
    assert ran.out.index("Nora") < ran.out.index("springs")
    assert "(tools: search)" in ran.out
    full = tidal("history", "--thread", "tuesday", "--full")
    assert "Two shops sell them." in full.out
    assert "Nora" not in full.out
    [turn] = tidal("history", "--tool", "search", "--json").data
    assert tidal("history", f"ep:{turn['id']}").out == full.out
    assert tidal("history", "--thread", "nowhere").code == 3


@pytest.mark.usefixtures("told")
def test_entity_offers_names_for_one_that_is_not_known(tidal: Tidal) -> None:
    assert tidal("entity").code == 0
    unknown = tidal("entity", "Nobody Known")
    assert unknown.code == 3
    assert "Nobody Known" in unknown.err


@pytest.mark.usefixtures("told")
def test_facts_have_a_history(tidal: Tidal) -> None:
    assert "bridge: closed" in tidal("facts").out
    assert [fact["value"] for fact in tidal("facts", "bridge", "--json").data] == ["open", "closed"]
    assert tidal("facts", "tunnel").code == 3
    assert tidal("facts", "--conflicts").code == 0


@pytest.mark.usefixtures("told")
def test_a_dossier_is_made_when_it_is_asked_for(tidal: Tidal) -> None:
    assert "[ep:" in tidal("dossier", "clocks").out
    assert "clocks" in tidal("dossier").out
    assert "clocks" in tidal("dossier", "clocks", "--brief").out
    assert tidal("dossier", "submarines").code == 3


@pytest.mark.usefixtures("told")
def test_capsule_sessions_and_audit(tidal: Tidal) -> None:
    assert "# Capsule" in tidal("capsule").out
    [session] = tidal("sessions", "--json").data
    assert session["agent"] == "planner"
    assert "accepted like" in tidal("audit", str(session["id"])).out
    assert tidal("audit", "99").code == 3


@pytest.mark.usefixtures("told")
def test_stats_count_and_plot(tidal: Tidal) -> None:
    data = tidal("stats", "--json").data
    assert data["kinds"]["conversation"] == 4
    assert sum(data["tiers"].values()) == sum(data["kinds"].values()) == sum(data["growth"].values())
    assert "█" in tidal("stats").out


@pytest.mark.usefixtures("told")
def test_consolidate_backup_reembed_and_doctor(tidal: Tidal, tmp_path: Path) -> None:
    assert "entries settled" in tidal("consolidate").out
    assert tidal("consolidate", "--undo", "no-such-run").code == 3
    assert tidal("backup", "copy.db").code == 0
    assert tidal("backup", "copy.db").code == 1
    assert (tmp_path / "copy.db").exists()
    assert tidal("reembed", "hashing").code == 0
    assert "no faults" in tidal("doctor").out
    assert tidal("doctor", "--repair", "--json").data["ok"]


@pytest.mark.usefixtures("told")
def test_the_list_of_dossiers_and_a_brief_only_read(tidal: Tidal, tmp_path: Path) -> None:
    before = (tmp_path / "tidal.db").read_bytes()
    for words in (("dossier",), ("dossier", "clocks", "--brief")):
        assert tidal(*words).code == 0
    assert (tmp_path / "tidal.db").read_bytes() == before


@pytest.mark.usefixtures("told")
def test_another_embedder_is_named(tidal: Tidal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDAL_EMBEDDER", "minilm")
    ran = tidal("recall", "clocks")
    assert ran.code == 1
    assert "TIDAL_EMBEDDER" in ran.err
    assert tidal("reembed", "minilm").code == 0
    assert "clocks" in tidal("recall", "Who repairs clocks?", "-n", "1").out


def test_a_damaged_file_is_told_and_not_traced(tidal: Tidal, tmp_path: Path) -> None:
    (tmp_path / "tidal.db").write_text("this is a letter, and no memory at all\n" * 50)
    ran = tidal("doctor")
    assert ran.code == 1
    assert ran.err.startswith("tidal: ")


@pytest.mark.usefixtures("told")
def test_forget_shows_what_would_go_and_asks(tidal: Tidal) -> None:
    assert tidal("forget").code == 2
    would = tidal("forget", "--thread", "monday", "--dry-run", "--json").data["would_go"]
    assert {"Nora" in each["text"] for each in would} == {True, False}
    assert tidal("forget", "--thread", "monday", given="n\n").code == 1
    assert "Nora" in tidal("history").out
    assert "removed" in tidal("forget", "--thread", "monday", given="y\n").out
    assert "Nora" not in tidal("history").out
    assert tidal("forget", "--thread", "monday", "--yes").code == 3


@pytest.mark.usefixtures("told")
def test_forget_by_id_source_and_query(tidal: Tidal) -> None:
    [turn] = tidal("history", "--thread", "tuesday", "--json").data
    assert tidal("forget", f"ep:{turn['id']}", "--yes").code == 0
    assert tidal("history", f"ep:{turn['id']}").code == 3
    assert "flash" in tidal("forget", "--source", "flash.md", "--dry-run").out
    assert tidal("forget", "--source", "flash.md", "--yes", "--json").data["count"] == 1
    assert tidal("forget", "--query", "Who repairs clocks in Porto?", "--yes", "--json").data["count"] == 1
    assert "repairs clocks" not in tidal("history", "--full").out


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("words", "told_in"),
    [
        ("recall kiln --kind poem", "none of conversation"),
        ("recall ''", "a query must not be empty"),
        ("whisper ' '", "a turn must not be empty"),
        ("mcp --http --port 70000", "--port"),
        ("stats --scope user//42", "names separated by slashes"),
        ("stats --scope ''", "names separated by slashes"),
        ("export tidal.db", "is the memory itself"),
    ],
)
def test_a_value_that_cannot_be_used_is_written_wrongly(tidal: Tidal, words: str, told_in: str) -> None:
    ran = tidal(*shlex.split(words))
    assert (ran.code, ran.out) == (2, "")
    assert told_in in ran.err


@pytest.mark.usefixtures("told")
def test_messages_name_the_scope_as_the_option_does(tidal: Tidal) -> None:
    assert "in scope 'user/42'" in tidal("history", "ep:zzz", "--scope", "user/42").err


def test_a_file_that_is_shorter_than_a_database_is_left_as_it_is(tidal: Tidal, tmp_path: Path) -> None:
    (tmp_path / "tidal.db").write_text("x")
    ran = tidal("init")
    assert (ran.code, "no traceback" if "not an SQLite database" in ran.err else ran.err) == (1, "no traceback")
    assert (tmp_path / "tidal.db").read_text() == "x"


def test_one_thing_is_not_told_as_several(tidal: Tidal, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("The kiln is hot.")
    assert tidal("ingest", "note.md").code == 0
    assert "with 1 entry\n" in tidal("init").out
    assert tidal("stats").out.startswith("1 entry with the turns")


@pytest.mark.parametrize("name", ["backup", "export"])
def test_a_file_that_is_there_is_kept_and_the_option_is_named(
    tidal: Tidal, told: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "copy").write_text("my own words, far from any memory")
    ran = tidal(name, "copy")
    assert ran.code == 1
    assert "--replace" in ran.err
    assert (tmp_path / "copy").read_text() == "my own words, far from any memory"
    assert tidal(name, "copy", "--replace").code == 0


def test_a_variable_that_is_set_to_nothing_is_not_set(
    tidal: Tidal, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("TIDAL_DB", "TIDAL_SCOPE"):
        monkeypatch.setenv(variable, "")
    assert tidal("recall", "clocks in Porto").code == 0


def test_no_bar_is_drawn_where_there_is_no_terminal(tidal: Tidal, tmp_path: Path) -> None:
    (tmp_path / "pump.md").write_text("The pump is primed with two litres of water.")
    assert tidal("ingest", "pump.md").err == ""


@pytest.mark.usefixtures("told")
def test_a_scope_sees_its_own_memories_alone(tidal: Tidal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tidal("recall", "clocks", "--scope", "user/7").code == 3
    monkeypatch.setenv("TIDAL_SCOPE", "user/7")
    assert tidal("recall", "clocks").code == 3
    assert tidal("recall", "clocks", "--scope", "default").code == 0
    assert tidal("recall", "clocks", "--scope", "").code == 2


def test_the_database_is_named_by_option_or_environment(
    tidal: Tidal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDAL_DB", str(tmp_path / "mine.db"))
    tidal("init")
    assert (tmp_path / "mine.db").exists()
    tidal("init", "--db", "other.db")
    assert (tmp_path / "other.db").exists()


@pytest.mark.slow
def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['tidal', '--help']\n"
        "from tidal_plugins.apps.cli import main\n"
        "try: main()\n"
        "except SystemExit: print('loaded', *sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    loaded = {name.split(".")[0] for name in out.partition("loaded")[2].split()}
    assert not loaded & {"numpy", "apsw", "pydantic", "langgraph", "bs4", "pypdf", "onnxruntime"}


@pytest.mark.slow
def test_a_missing_extra_is_named() -> None:
    program = "import sys; sys.modules['typer'] = None\nfrom tidal_plugins.apps.cli import main\nmain()"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "needs typer, which is not installed: pip install 'tidal-plugins[cli]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_days_are_those_of_the_person_s_time_zone(tidal: Tidal, tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "zone.db", embedder=HashingEmbedder()) as memory:
        late = datetime(2026, 11, 25, 6, 30, tzinfo=UTC)  # 22:30 in Los Angeles
        memory.record("The kiln is in the shed.", "Ok.", occurred_at=late)
    asked = ["whisper", "Where is the kiln, in the shed?", "--db", "zone.db"]
    assert "25 Nov" in tidal(*asked).out
    there = ["--db", "zone.db", "--time-zone", "America/Los_Angeles"]
    assert "24 Nov" in tidal(*asked, "--time-zone", "America/Los_Angeles").out
    assert "2026-11-24 22:30" in tidal("recall", "kiln", *there).out
    assert "kiln" in tidal("history", "--until", "2026-11-24T23:00:00", *there).out
    assert tidal("history", "--since", "2026-11-24T23:00:00", *there).code == 3
    assert (tidal(*asked, "--time-zone", "Mars").code, "no time zone" in tidal(*asked, "--time-zone", "Mars").err) == (
        2,
        True,
    )


def test_a_memory_is_corrected_and_what_has_a_tag_is_forgotten(tidal: Tidal, tmp_path: Path) -> None:
    with TidalMemory(tmp_path / "kiln.db", embedder=HashingEmbedder()) as memory:
        kiln = memory.remember("The kiln is in the shed.")
        memory.remember("The gate code is on the fridge.", tags=["door"])
        memory.record("The door is by the fridge.", "Which door?")  # its words are its tags
        memory.remember("Each door has a key.")
    here = ["--db", "kiln.db"]
    assert "in the barn" in tidal("correct", kiln.citation, "The kiln is in the barn.", *here).out
    assert "in the barn" in tidal("recall", "kiln", "-n", "1", *here).out
    assert tidal("correct", "mem:nonesuch", "x", *here).code == 3
    assert "fridge" in tidal("forget", "--tag", "door", "--dry-run", *here).out
    assert tidal("forget", "--tag", "door", "--yes", "--json", *here).data["count"] == 1
    assert tidal("forget", "--tag", "door", "--yes", *here).code == 3
