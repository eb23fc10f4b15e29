"""Files that the agent had read or changed, put back after a compaction: which ones, in what order, in what size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.histories import chat, size_of, step, tokens_of
from tests.compaction.oracle import WHISPER, texts
from tidal_plugins import Compaction, Message, NotFound, Settings
from tidal_plugins.model.compaction import RestoredFile, Size
from tidal_plugins.settings import FileTool
from tidal_plugins.testing import NOON

ASKED = Message("user", "Work on it.", "work")
DONE = Message("assistant", "It is done.", "done")
NOW = Message("user", "What is left to do?", "now")

Steps = Sequence[Sequence[Message]]


def read(number: int, path: str, content: str = "", *, at: float = 0, tool: str = "Read", **more: Any) -> list[Message]:
    """A file is read, ``at`` seconds after noon."""
    call, result = step(number, (tool, {"file_path": path}, content or f"content of {path}"), **more)
    return [call, replace(result, at=NOON + timedelta(seconds=at))]


def use(number: int, tool: str, **arguments: Any) -> list[Message]:
    return step(number, (tool, arguments, "done"))


def worked(*parts: Sequence[Message], ongoing: Steps = (), before: int = 24) -> list[Message]:
    """A long conversation whose last completed turn consists of these steps."""
    own = [message for part in parts for message in part]
    return [*chat(0, before), ASKED, *own, DONE, NOW, *(message for part in ongoing for message in part)]


def most(history: Sequence[Message], share: float = 0.9) -> int:
    return int(sum((size_of(m) for m in history), WHISPER).tokens / share)


@pytest.fixture
def restored(check: Any) -> Any:
    """The files that a compaction of a history puts back."""

    def restored(history: list[Message], **options: Any) -> list[RestoredFile]:
        return list(check(history, **{"max_tokens": most(history), **options}).files)

    return restored


def body(file: RestoredFile) -> str:
    """The file itself, below the line that says of when it is."""
    head, _, rest = file.content.partition("\n")
    assert head == file.header
    return rest


def paths(files: Sequence[RestoredFile]) -> list[str]:
    return [file.path for file in files]


def test_a_file_comes_back_as_the_call_that_read_it_and_its_result(check: Any, memory: Any) -> None:
    history = worked(
        read(1, "src/app.py", "def app():\n    return 1\n", at=1), read(2, "src/app.py", "x = 1\n\n", at=9)
    )
    compaction = check(history, max_tokens=most(history))
    [file] = compaction.files
    at = next(n for n, message in enumerate(compaction.messages) if message.tool_calls)
    call, result = compaction.messages[at : at + 2]
    assert (call.role, call.tool_calls[0].name, dict(call.tool_calls[0].arguments)) == (
        "assistant", "Read", {"file_path": "src/app.py"},
    )  # fmt: skip
    assert (result.role, body(file), file.cut, file.reads) == ("tool", "x = 1\n\n", False, 2), "as it was last"
    assert result.text == file.content == f"{file.header}\n{body(file)}"
    assert result.tool_call_id == call.tool_calls[0].id == file.id
    assert any(message.role == "user" for message in compaction.messages[:at])
    assert file.episode == memory.episodes.id_of("work", thread="s")
    assert "x = 1\n\n" in [message.text for message in memory.episodes[file.episode].messages]


def test_without_a_disk_the_content_is_what_the_agent_saw_and_says_of_when(restored: Any, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("what is on disk now")
    [file] = restored(worked(read(1, str(path), "what was read then", at=61)))
    assert (body(file), file.doubt, file.state) == ("what was read then", None, "read")
    assert file.header == f"[as of {NOON + timedelta(seconds=61):%Y-%m-%d %H:%M} UTC; may have changed since]"


@pytest.mark.parametrize("between", [0, 7, 8, 9])
def test_only_the_last_twenty_messages_are_searched(restored: Any, between: int) -> None:
    """The result stands ``2 * between + 3`` messages from the end, its call one more."""
    other = [use(number, "look", at=number) for number in range(2, 2 + between)]
    files = restored(worked(read(1, "src/app.py"), *other))
    assert paths(files) == (["src/app.py"] if 2 * between + 4 <= 20 else [])


@pytest.mark.parametrize("number", [0, 2])
def test_what_tools_do_and_how_many_files_come_back_are_settings(open_memory: Any, check: Any, number: int) -> None:
    tools = {
        "fetch_source": "read",
        "Read": "nothing",
        "amend": FileTool(does="edit", path="where", old="was", new="is"),
    }
    memory = open_memory("own.db", settings=Settings(compaction={"file_tools": tools, "max_files": number}))
    amended = step(3, ("amend", {"where": "src/a.py", "was": "x = 1", "is": "x = 2"}, "done"))
    others = [read(5 + n, f"src/f{n}.py", at=5.0 * n, tool="fetch_source") for n in range(3)]
    history = worked(*others, read(1, "src/a.py", "x = 1\n", tool="fetch_source"), read(2, "src/b.py"), amended)
    files = check(history, memory=memory, max_tokens=most(history)).files
    assert len(files) == number
    assert "src/b.py" not in paths(files)
    if files:
        assert (files[0].path, files[0].state, body(files[0])) == ("src/a.py", "edited", "x = 2\n")


@pytest.mark.parametrize(("reads", "order"), [(3, ["a", "b"]), (4, ["b", "a"])])
def test_the_score_is_the_first_time_less_a_second_for_each_reading(
    restored: Any, reads: int, order: list[str]
) -> None:
    """a is first read 2.5 s after b, whose score is −1 s: a's is 2.5 s less its number of readings."""
    first = [read(0, "b", at=0)]
    files = restored(worked(*first, *(read(1 + n, "a", at=2.5 + 10 * n) for n in range(reads))))
    assert paths(files) == order
    a = next(file for file in files if file.path == "a")
    assert (a.reads, a.seen) == (reads, NOON + timedelta(seconds=2.5))


def size(file: RestoredFile) -> Size:
    """Of what the file says, without the frame around it."""
    return Size(tokens_of(file.content), len(file.content.encode()))


def test_a_long_file_is_cut_at_a_line(restored: Any) -> None:
    lines = [f"line {number} of a long file" for number in range(400)]
    history = worked(read(1, "src/long.py", "\n".join(lines)))
    [file] = restored(history)
    assert file.cut
    assert size(file).tokens <= 0.4 * 0.6 * most(history), "two fifths of what the rest leaves of the target"
    kept = [line for line in file.content.splitlines() if line.startswith("line ")]
    assert len(kept) > 10
    assert kept == lines[: len(kept)]


def test_small_files_come_back_though_a_large_one_that_comes_first_does_not_fit(check: Any) -> None:
    large = f"src/{'very/' * 60}large.py"
    parts = [read(1, "src/a.py", "A = 1", at=1), read(2, large, "x = 1\n" * 60, at=9), read(3, "src/b.py", "B = 1")]
    history = [*chat(40, 60), *worked(*parts, before=20)]
    found = [
        set(paths(check(history, max_tokens=limit, thread=str(limit)).files)) for limit in range(1_000, 4_000, 500)
    ]
    assert {"src/a.py", "src/b.py"} in found
    assert {"src/a.py", "src/b.py", large} in found


SYSTEM = ["node_modules/left-pad/index.js", "/repo/.git/config", "/repo/.venv/lib/x.py", "a/__pycache__/b.pyc",
          "C:\\repo\\node_modules\\x.js", "./node_modules/x.js"]  # fmt: skip
LIKE_SYSTEM = [".gitignore", "my.git/x", "src/node_modules.py", "docs/venv.md", "/repo/.github/a.yml"]
NAMES = ["file_path", "path", "filename"]
"""Names that the argument with the path may have."""


def test_system_paths_never_come_back_and_those_that_only_look_like_them_do(restored: Any) -> None:
    readings = [("Read", {NAMES[n % 3]: path}, "x = 1") for n, path in enumerate([*SYSTEM, *LIKE_SYSTEM])]
    files = restored(worked(step(1, *readings)))
    assert sorted(paths(files)) == sorted(LIKE_SYSTEM), "files that were read side by side all come back"
    assert len({file.id for file in files}) == len(LIKE_SYSTEM)


LATER: dict[str, tuple[list[Message], str, bool]] = {
    "written": (use(2, "Write", file_path="src/a.py", content="new"), "new", True),
    "written with a dot": (use(2, "Write", file_path="./src/a.py", content="new"), "new", True),
    "edited": (use(2, "Edit", path="src/a.py", old="as it", new="what it"), "what it was", True),
    "edited from something else": (use(2, "Edit", path="src/a.py", old="nowhere", new="y"), "as it was", False),
    "rewritten by a command": (use(2, "Bash", command="sed -i 's/x/y/' src/a.py && ls"), "as it was", False),
    "rewritten in its folder": (use(2, "Bash", command="cd src && python mend.py a.py"), "as it was", False),
    "written under its full path": (use(2, "Write", file_path="/repo/src/a.py", content="new"), "as it was", False),
    "named to an unknown tool": (
        use(2, "apply", edits=[{"file": "src/b.py"}, {"file": "src/a.py"}]),
        "as it was",
        False,
    ),
}


@pytest.mark.parametrize(("later", "content", "sure"), LATER.values(), ids=LATER.keys())
def test_what_changed_later_comes_back_changed_or_marked(
    restored: Any, later: list[Message], content: str, sure: bool
) -> None:
    [file] = [file for file in restored(worked(read(1, "src/a.py", "as it was"), later)) if file.path == "src/a.py"]
    assert body(file) == content
    assert (file.doubt is None) == sure
    assert ("may be out of date: " in file.header) == (not sure)


def test_what_the_ongoing_turn_changes_comes_back_marked_unless_it_shows_all_of_it(restored: Any) -> None:
    first, names = read(1, "src/a.py", "as it was"), ("rewritten by a command", "edited", "written")
    found = [restored(worked(first, ongoing=[LATER[name][0]]), thread=name) for name in names]
    assert [[body(file) for file in files] for files in found] == [["as it was"], ["what it was"], []]
    assert found[0][0].doubt


def edit(old: str, new: str) -> tuple[str, dict[str, Any], str]:
    return ("Edit", {"file_path": "src/a.py", "old_string": old, "new_string": new}, "ok")


def test_calls_of_one_message_ran_in_their_order(restored: Any) -> None:
    history = worked(read(1, "src/a.py", "x1 x2"), step(2, edit("x1", "y1"), edit("x2", "y2")))
    [file] = restored(history)
    assert (body(file), file.doubt) == ("y1 y2", None)
    parts = [
        ("Read", {"file_path": "src/a.py"}, "as it was"),
        ("Write", {"file_path": "src/a.py", "content": "new"}, "ok"),
    ]
    [file] = restored(worked(step(1, *parts)), thread="two")
    assert (body(file), file.doubt) == ("new", None)
    write = [use(n, "Write", file_path="src/a.py", content="new") for n in (1, 2)]
    [file] = restored(worked(write[0], read(2, "src/a.py", "new"), use(3, "Write", file_path="src/aa.py", content="x")),
                      thread="three")[1:]  # fmt: skip
    assert (file.path, body(file), file.doubt) == ("src/a.py", "new", None), "written before it was read"
    [file] = restored(worked(read(1, "src/a.py", "old"), write[1], read(3, "src/a.py", "newer")), thread="four")
    assert body(file) == "newer", "read again after it was written"


@pytest.mark.parametrize(
    "calls",
    [
        (edit("x1", "x1 x1"), edit("x1 x1", "z")),
        (edit("x1", "x2 too"), edit("x2", "z")),
        (edit("x1", "y1"), ("Write", {"file_path": "src/a.py", "content": "new"}, "ok")),
        (("Write", {"file_path": "src/a.py", "content": "new"}, "ok"), ("Read", {"file_path": "src/a.py"}, "x1")),
    ],
)
def test_calls_of_one_message_whose_order_matters_are_a_doubt(restored: Any, calls: Any) -> None:
    [file] = restored(worked(read(1, "src/a.py", "x1 x2"), step(2, *calls)))
    assert file.doubt


def test_what_the_ongoing_turn_has_read_does_not_come_back(check: Any) -> None:
    for again in ("src/a.py", "./src/a.py"):
        history = worked(read(1, "src/a.py", "once only"), ongoing=[read(2, again, "read again")])
        compaction = check(history, max_tokens=most(history), thread=again)
        assert not compaction.files
        assert "once only" not in [message.text for message in compaction.messages if message.role == "tool"]


def test_what_was_not_read_does_not_come_back(restored: Any) -> None:
    nothing = [{}, {"file_path": ""}, {"file_path": None}, {"file_path": 3}, {"url": "x"}]
    readings = [step(n, ("Read", arguments, "something")) for n, arguments in enumerate(nothing, 10)]
    failed, gone = read(1, "src/a.py", "No such file", failed=True), read(2, "src/b.py", "No such file", failed=True)
    missing = step(4, ("Read", {"file_path": "src/c.py"}, None))
    assert restored(worked(*readings, failed, missing), thread="one") == []
    assert restored(worked(read(3, "src/b.py"), gone), thread="two") == [], "it is no longer there"
    assert restored(worked(read(3, "src/b.py"), ongoing=[gone]), thread="three") == []
    others = [read(n, "src/app.py", tool=tool) for n, tool in enumerate(["ReadDir", "reading", "look", "Bash", "Grep"])]
    assert restored(worked(*others), thread="four") == [], "only tools that read count"


def test_its_id_is_the_same_whenever_it_is_restored(open_memory: Any, check: Any) -> None:
    history = worked(read(1, "src/a.py"), read(2, "src/b.py", at=9))
    one = check(history, memory=open_memory(), max_tokens=most(history))
    two = check(history, memory=open_memory(), max_tokens=most(history), force="compact")
    assert [file.id for file in one.files] == [file.id for file in two.files]
    assert len({file.id for file in one.files}) == 2
    for file in one.files:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", file.id), "providers take no other"
    theirs = {call.id for message in history for call in message.tool_calls}
    assert not theirs & {file.id for file in one.files}


def test_a_forgotten_reading_does_not_come_back(check: Any, memory: Any) -> None:
    history = worked(read(1, "src/a.py", "the secret quillwort of it"))
    compaction: Compaction = check(history, max_tokens=most(history))
    assert compaction.files
    memory.forget(compaction.files[0].episode)
    again = check(history, max_tokens=most(history), force="compact")
    assert not again.files
    assert "quillwort" not in texts(again)
    assert b"quillwort" not in Path(memory.path).read_bytes()
    with pytest.raises(NotFound):
        memory.episodes[compaction.files[0].episode]


def test_a_file_edited_in_the_thread_comes_back_however_long_ago(restored: Any) -> None:
    edit = step(2, ("Edit", {"file_path": "src/a.py", "old_string": "x = 1", "new_string": "x = 2"}, "ok"))
    early = [
        Message("user", "Edit it.", "e1"),
        *read(1, "src/a.py", "x = 1\n"),
        *edit,
        Message("assistant", "Ok.", "e2"),
    ]
    [file] = restored([*early, *chat(0, 40), NOW])
    assert (file.path, file.state, body(file), file.doubt) == ("src/a.py", "edited", "x = 2\n", None)
    assert "with its edits" in file.header


def test_what_was_changed_or_the_request_or_the_failing_test_names_comes_first(restored: Any) -> None:
    readings = [read(n, f"src/{name}.py", at=5.0 * n) for n, name in enumerate(("pump", "valve", "gauge"))]
    failing = step(9, ("Bash", {"command": "pytest -q"}, "E   assert 1 == 2\nsrc/pump.py:1: AssertionError\n1 failed"))
    asked = [*worked(*readings)[:-1], Message("user", "Please look at valve.py again.", "now")]
    change = step(8, ("Edit", {"file_path": "src/valve.py", "old_string": "content", "new_string": "b"}, "ok"))
    new = step(8, ("write_file", {"file_path": "src/new.py", "content": "x = 1\n"}, "ok"))
    for history, first in (
        (worked(*readings), "src/gauge.py"),
        (worked(*readings, failing), "src/pump.py"),
        (asked, "src/valve.py"),
        (worked(*readings, change), "src/valve.py"),
        (worked(*readings, new), "src/new.py"),
        (worked(new), "src/new.py"),
    ):
        file, *_ = restored(history, thread=f"{first} {len(history)} {history[-1].text}")
        assert file.path == first
    assert (file.tool, dict(file.arguments)) == ("read_file", {"file_path": "src/new.py"}), "as if it had been read"
    assert (file.state, body(file)) == ("created", "x = 1\n")


def test_a_large_file_comes_back_around_its_edits_and_the_lines_that_a_test_names(restored: Any) -> None:
    lines = [f"line_{number} = 'of a long file'" for number in range(1, 401)]
    text = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))
    edit = step(2, ("Edit", {"file_path": "long.py", "old_string": "line_200 =", "new_string": "mended ="}, "ok"))
    failing = step(3, ("Bash", {"command": "pytest"}, "long.py:350: ValueError\n1 failed"))
    [file] = restored(worked(read(1, "long.py", text), edit, failing))
    assert file.cut
    assert "   200\tmended = 'of a long file'" in body(file).splitlines()
    assert "   350\tline_350 = 'of a long file'" in body(file).splitlines()
    assert "line_300 =" not in body(file)
    assert all(line[7:] in {*lines, "mended = 'of a long file'"} for line in body(file).splitlines() if "\t" in line)


def test_room_is_shared_so_that_small_files_are_whole(restored: Any) -> None:
    long = "\n".join(f"line {number} of a long file" for number in range(400))
    short = [read(n, f"src/s{n}.py", f"x = {n}\n", at=n) for n in range(4)]
    files = restored(worked(*short, read(9, "src/long.py", long, at=60.0)))
    assert [(file.path, file.cut) for file in files] == [
        ("src/long.py", True), *((f"src/s{n}.py", False) for n in (3, 2, 1, 0)),
    ]  # fmt: skip


@pytest.mark.parametrize("stored", ["mask", "keep"])
def test_a_file_with_a_secret_does_not_come_back_however_it_got_there(open_memory: Any, stored: str) -> None:
    history = worked(step(1, ("Write", {"file_path": "env.py", "content": "password = 'correct-horse-7431'\n"}, "ok")))
    with open_memory("secrets.db", settings=Settings(recording={"secrets": stored})) as memory:
        compaction = memory.compactor(max_tokens=most(history)).compact(history, thread="s")
    assert "correct-horse" not in str(compaction.view)
    assert compaction.files == () or stored == "mask"


def test_a_part_of_the_thread_that_was_forgotten_is_a_doubt(check: Any, memory: Any) -> None:
    first = [Message("user", "Read it.", "e1"), *read(1, "src/a.py", "x = 1\n"), Message("assistant", "Read.", "e2")]
    edit = step(2, ("Edit", {"file_path": "src/a.py", "old_string": "x = 1", "new_string": "x = 2"}, "ok"))
    then = [Message("user", "Edit it.", "f1"), *edit, Message("assistant", "Edited.", "f2")]
    last = [Message("user", "Look.", "g1"), *read(3, "src/b.py"), Message("assistant", "Seen.", "g2")]
    history = [*chat(0, 40), *first, *then, *last, NOW]
    compaction = check(history, max_tokens=most(history))
    assert {file.path: file.state for file in compaction.files} == {"src/a.py": "edited", "src/b.py": "read"}
    memory.forget(memory.episodes.id_of("f1", thread="s"))
    files = {file.path: file for file in check(history, max_tokens=most(history), force="compact").files}
    assert "forgotten" in str(files["src/a.py"].doubt)
    assert files["src/b.py"].doubt is None
