"""What a context says of an agent's work: files by what changed, commands by what they came to, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.sentences import sentences
from tidal_plugins import Exchange, HashingEmbedder, Message, Settings, TidalMemory, ToolCall
from tidal_plugins.settings import FileTool

SENTENCES = sentences(__file__)

THREAD = "work"


def turn(number: int, user: str, agent: str = "Done.", *tools: tuple[str, dict[str, Any], str]) -> Exchange:
    """Return a turn in which tools ran one after another."""
    messages = [Message("user", user, f"u{number}")]
    for place, (name, arguments, result) in enumerate(tools):
        call = ToolCall(name, arguments, f"c{number}-{place}")
        messages += [
            Message("assistant", "", f"a{number}-{place}", tool_calls=(call,)),
            Message("tool", result, f"r{number}-{place}", tool_call_id=call.id),
        ]
    return Exchange((*messages, Message("assistant", agent, f"z{number}")), THREAD)


LAST = turn(999, "And what is the weather like?", "I cannot see that from here.")


def told(memory: TidalMemory, turns: Sequence[Exchange], max_tokens: int = 4_000) -> str:
    """Return the summary of turns that were completed before the last one."""
    compactor = memory.compactor(max_tokens=max_tokens)
    return compactor.compact([*turns, LAST], thread=THREAD, force="compact").summary


def line(text: str, label: str) -> str:
    """Return a line about the state of the work, without its citations."""
    found = next((line for line in text.splitlines() if line.startswith(f"{label}: ")), "")
    return re.sub(r" \[ep:\w+\]", "", found).removeprefix(f"{label}: ")


# edits


PAGE = "def page(limit, offset):\n    return rows[offset:]\n"
PAGE_NOW = "def page(limit, after):\n    return rows[after:]\n\n\ndef cursor(row):\n    return row.id\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Edit", {"file_path": "a.py", "old_string": PAGE, "new_string": PAGE_NOW}, "Edited `a.py`: `page`, `cursor`"),
        ("str_replace", {"path": "a.py", "old_str": "LIMIT = 50", "new_str": "LIMIT = 25"},
         "Edited `a.py`: `LIMIT = 25` (was `50`)"),
        ("write_file", {"path": "b.go", "content": "func (s *Store) Add(x int) error {\n\treturn nil\n}\n"},
         "Wrote `b.go`: `Add`"),
        ("Write", {"file_path": "m.sql", "content": "CREATE INDEX IF NOT EXISTS by_date ON bills (date);"},
         "Wrote `m.sql`: `by_date`"),
        ("MultiEdit", {"file_path": "a.ts", "edits": [{"old_string": "x", "new_string": "function one() {}"},
                                                      {"old_string": "y", "new_string": "const two = () => 2"}]},
         "Edited `a.ts`: `one`, `two`"),
        ("apply_patch", {"patch": "*** Update File: lib/a.rb\n-  def old\n+  def fresh\n"},
         "Edited `lib/a.rb`: `fresh`, `old`"),
        ("Bash", {"command": "cat >> notes.md <<'X'\n## Tides at Brest\nX"}, "Edited `notes.md`: `## Tides at Brest`"),
        ("Bash", {"command": "git rm old/script.py"}, "Deleted `old/script.py`"),
    ],
)  # fmt: skip
def test_a_change_names_the_file_and_what_it_touches(
    memory: TidalMemory, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    assert expected in told(memory, [turn(1, "Change it.", "Changed.", (tool, arguments, "ok"))])


def test_tools_of_a_user_are_told_by_what_they_do() -> None:
    tools = {"amend": FileTool(does="edit", path="where", old="was", new="is"), "agenda": "plan"}
    amend = ("amend", {"where": "tides.py", "was": "LIMIT = 50", "is": "LIMIT = 25"}, "ok")
    agenda = ("agenda", {"items": ["Test leap years"]}, "noted")
    with TidalMemory(
        "memory://", embedder=HashingEmbedder(), settings=Settings(compaction={"file_tools": tools})
    ) as own:
        text = told(own, [turn(1, "Change it.", "Changed.", amend, agenda)])
    assert "Edited `tides.py`: `LIMIT = 25` (was `50`)" in text
    assert (line(text, "Files"), line(text, "Open")) == ("edited `tides.py`", "Test leap years")


def test_a_patch_of_several_files_and_moves_are_told_by_file(memory: TidalMemory) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-LOW = 1\n+LOW = 2\n*** Delete File: old.py\n*** End Patch"
    move = ("Bash", {"command": "cd src && git mv pier.py quay.py"}, "")
    text = told(memory, [turn(1, "Change it.", "Changed.", ("apply_patch", {"patch": patch}, "Done"), move)])
    assert "Edited `a.py`: `LOW = 2` (was `1`)" in text
    assert "Deleted `old.py`" in text
    assert "Moved `src/pier.py` to `src/quay.py`" in text
    assert line(text, "Files") == "edited `a.py`; created `src/quay.py`; deleted `src/pier.py`, `old.py`"


def test_the_edits_of_a_turn_are_listed_by_file(memory: TidalMemory) -> None:
    edits = [
        ("Edit", {"file_path": f"f{n % 5}.py", "old_string": "", "new_string": f"def part{n}():\n    pass\n"}, "ok")
        for n in range(25)
    ]
    text = told(memory, [turn(1, "Write the parts.", "All parts are written.", *edits)])
    assert text.count("Edited `f0.py`") == 1
    assert "Edited `f0.py`: `part0`, `part5`, `part10`, `part15`, `part20`" in text


# commands


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    SENTENCES["a command is told by its verdict"],
)  # fmt: skip
def test_a_command_is_told_by_its_verdict(memory: TidalMemory, command: str, output: str, expected: str) -> None:
    assert expected in told(memory, [turn(1, "Run it.", "I ran it.", ("Bash", {"command": command}, output))])


def test_a_run_of_some_tests_does_not_replace_the_run_of_all(memory: TidalMemory) -> None:
    whole = turn(1, "Run them.", "Two fail.", ("Bash", {"command": "pytest -q"}, "2 failed, 5 passed in 1s"))
    one = turn(2, "One.", "It passes.", ("Bash", {"command": "pytest -q t/test_a.py"}, "1 passed in 1s"))
    assert (
        line(told(memory, [whole, one]), "Tests") == "`pytest -q`: 2 failed, 5 passed (at 2026-03-01 12:00 UTC); "
        "`pytest -q t/test_a.py`: 1 passed (at 2026-03-01 12:00 UTC)"
    )


def test_a_verdict_survives_compactions_and_is_replaced_by_a_later_one(memory: TidalMemory) -> None:
    turns = [turn(0, "Run them.", "Two fail.", ("Bash", {"command": "make test"}, "2 failed, 5 passed in 1s"))]
    assert "2 failed" in told(memory, turns)
    turns += [turn(1, "Again.", "They pass.", ("Bash", {"command": "make test"}, "7 passed in 1s"))]
    assert "2 failed" not in told(memory, turns)


# the state of the work


@pytest.mark.parametrize(
    ("steps", "expected"),
    SENTENCES["a file is new unless something speaks of an older one"],
)  # fmt: skip
def test_a_file_is_new_unless_something_speaks_of_an_older_one(
    memory: TidalMemory, steps: list[tuple[str, dict[str, Any], str]], expected: str
) -> None:
    assert line(told(memory, [turn(1, "Do it.", "Done.", *steps)]), "Files") == expected


def test_rules_of_a_list_stand_without_their_numbers(memory: TidalMemory) -> None:
    asked = turn(1, "Keep this in mind:\n1. Never push on a Friday.\n- Always run the tests.\n", "I will.")
    rules = line(told(memory, [asked, turn(2, "Go on.", "Done.")]), "Rules and decisions")
    assert rules == "Never push on a Friday; Always run the tests"


def test_lines_of_code_that_a_command_printed_are_joined_as_code(memory: TidalMemory) -> None:
    shown = ("disassemble", {"command": "disassemble pump"}, "int level(void) {\n  open(&v);\n  return v;\n}\n")
    text = told(memory, [turn(1, "Look into it.", "It opens the valve.", shown)])
    assert "int level(void) { open(&v); return v; }" in text


def test_the_state_of_the_work_stands_first(memory: TidalMemory) -> None:
    steps = [
        ("Bash", {"command": "git switch -c fix/tides"}, "Switched to a new branch 'fix/tides'"),
        ("Write", {"file_path": "tides.py", "content": "def high():\n    return 4\n"}, "File created successfully"),
        ("Edit", {"file_path": "harbour.py", "old_string": "a", "new_string": "b"}, "updated"),
        ("Bash", {"command": "rm junk.txt"}, ""),
        ("Bash", {"command": "pytest -q"}, "9 passed in 1s"),
        ("Bash", {"command": "git commit -am tides"}, "[fix/tides 9f8e7d6] Tides\n 2 files changed"),
        ("TodoWrite", {"todos": [{"content": "Round the heights", "status": "completed"},
                                 {"content": "Write the manual page", "status": "pending"},
                                 {"content": "Test leap years", "status": "in_progress"}]}, "ok"),
    ]  # fmt: skip
    rule = turn(1, "From now on never push on a Friday. Thanks!")
    text = told(memory, [rule, turn(2, "Add the tides of Brest.", "Added.", *steps)])
    assert line(text, "Goal") == "Add the tides of Brest"
    assert line(text, "Branch") == "`fix/tides`, commit 9f8e7d6"
    assert line(text, "Files") == "edited `harbour.py`; created `tides.py`; deleted `junk.txt`"
    assert line(text, "Tests") == "`pytest -q`: 9 passed (at 2026-03-01 12:00 UTC)"
    assert line(text, "Open") == "Test leap years; Write the manual page"
    assert line(text, "Rules and decisions") == "From now on never push on a Friday"
    assert text.index("Tests: ") < text.index("\n- ")


def test_tests_say_what_has_changed_since(memory: TidalMemory) -> None:
    tested = turn(1, "Run them.", "They pass.", ("Bash", {"command": "pytest -q"}, "7 passed in 1s"))
    edits = [("Edit", {"file_path": f"dock{n}.py", "old_string": "a", "new_string": "b"}, "updated") for n in range(5)]
    said = line(told(memory, [tested, turn(2, "Change the docks.", "Changed.", *edits)]), "Tests")
    assert said.endswith("UTC; changed since: `dock4.py`, `dock3.py`, `dock2.py` and 2 more)")
    again = turn(3, "Run them.", "They fail.", ("Bash", {"command": "pytest -q"}, "1 failed, 6 passed in 1s"))
    assert "since" not in line(told(memory, [tested, turn(2, "Change.", "Changed.", *edits), again]), "Tests")


def test_files_of_another_branch_are_told_as_such(memory: TidalMemory) -> None:
    create = ("Write", {"file_path": "quay.py", "content": "x = 1\n"}, "File created successfully")
    edit = ("Edit", {"file_path": "pier.py", "old_string": "a", "new_string": "b"}, "updated")
    there = ("Bash", {"command": "git switch -c quays"}, "Switched to a new branch 'quays'")
    back = ("Bash", {"command": "git switch main"}, "Switched to branch 'main'")
    begun = turn(1, "Mend the pier.", "Done.", ("Bash", {"command": "git status"}, "On branch main\nclean"), edit)
    text = told(memory, [begun, turn(2, "Try a quay.", "Tried.", there, create), turn(3, "Go back.", "Back.", back)])
    assert line(text, "Branch") == "`main`"
    assert line(text, "Files") == "edited `pier.py`; on `quays`: created `quay.py`"
    new = turn(
        4, "Branch off.", "Done.", ("Bash", {"command": "git switch -c piers"}, "Switched to a new branch 'piers'")
    )
    assert line(told(memory, [begun, new]), "Files") == "edited `pier.py`"


def test_a_rule_that_another_one_replaced_is_not_told(memory: TidalMemory) -> None:
    turns = [
        turn(1, "From now on a mooring must cost at most 40 euros.", "I keep to that."),
        turn(2, "We decided to keep the berths in a table.", "Fine."),
        turn(3, "From now on a mooring must cost at most 55 euros.", "I keep to that now."),
    ]
    text = told(memory, turns)
    assert "at most 55 euros" in text
    assert "at most 40 euros" not in text
    assert "berths in a table" in text


def test_what_people_by_their_names_must_do_is_no_rule(memory: TidalMemory) -> None:
    said = Message("user", "You must never give up, it must be so hard.", "m1", "Ada")
    heard = Message("assistant", "I won't, I promise you that in 2024.", "m2", "Bo")
    assert not line(told(memory, [Exchange((said, heard), THREAD)]), "Rules and decisions")


# what the user said


def test_facts_and_rules_of_the_user_come_before_narration(memory: TidalMemory) -> None:
    turns = [
        turn(1, "I feel a bit odd today, who knows.", "That happens to the best of us, take it slowly then."),
        turn(
            2, "The inspection of the slipway is on 14 October at 9:30, fee 220 euros.", "Noted. I like slipways a lot."
        ),
        turn(3, "Rule from now on: no crane work above force 6.", "Understood, I will keep to that from here on."),
        turn(4, "What a long week it has been.", "Weeks can be long, and weekends are never long enough for anybody."),
    ]
    text = told(memory, turns, 305)
    assert "14 October" in text
    assert "no crane work above force 6" in text
    assert "best of us" not in text


def test_the_last_turn_is_told_even_if_it_came_to_nothing(memory: TidalMemory) -> None:
    compaction = memory.compactor(max_tokens=4_000).compact([turn(1, "ok", "Fine!")], thread=THREAD, force="compact")
    assert "]: Fine!\n" in compaction.synthesis


def test_a_secret_of_the_last_question_is_hidden(memory: TidalMemory) -> None:
    asked = turn(1, "Use postgresql://reader:Qu9-silentHeron-41@db-1:5432/tides once, then forget it.", "Done.")
    compaction = memory.compactor(max_tokens=4_000).compact([asked], thread=THREAD, force="compact")
    shown = "\n".join(message.text for message in compaction.messages)
    assert "Qu9-silentHeron-41" not in shown
    assert "once, then forget it" in shown


def test_a_failed_edit_says_so_and_talk_has_no_lines_about_work(memory: TidalMemory) -> None:
    failed = ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "Error: old_string not found")
    text = told(memory, [turn(1, "Change it.", "It failed.", failed)])
    assert "Edit of `a.py` failed: Error: old_string not found" in text
    assert not line(text, "Files")
    talk = turn(2, "My aunt Hedda lives in Tromsø since 2019.", "That is far north.")
    text = told(memory.scoped("talk"), [talk])
    assert not re.search("^(Goal|Branch|Files|Tests|Open): ", text, re.MULTILINE)
    assert "Hedda" in text
