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
from tidal_plugins import Compaction, FileTool, Message, NotFound, RestoredFile, Settings, Size
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


def worked(*parts: Sequence[Message], ongoing: Steps = ()) -> list[Message]:
    """A long conversation whose last completed turn consists of these steps."""
    own = [message for part in parts for message in part]
    return [*chat(0, 40), ASKED, *own, DONE, NOW, *(message for part in ongoing for message in part)]


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


def test_a_file_comes_back_as_the_call_that_read_it_and_its_result(check: Any) -> None:
    history = worked(read(1, "src/app.py", "def app():\n    return 1\n"))
    compaction = check(history, max_tokens=most(history))
    [file] = compaction.files
    at = next(n for n, message in enumerate(compaction.messages) if message.tool_calls)
    call, result = compaction.messages[at : at + 2]
    assert (call.role, call.tool_calls[0].name, dict(call.tool_calls[0].arguments)) == (
        "assistant", "Read", {"file_path": "src/app.py"},
    )  # fmt: skip
    assert (result.role, body(file)) == ("tool", "def app():\n    return 1\n")
    assert result.text == file.content == f"{file.header}\n{body(file)}"
    assert result.tool_call_id == call.tool_calls[0].id == file.id
    assert any(message.role == "user" for message in compaction.messages[:at])


def test_without_a_disk_the_content_is_what_the_agent_saw_and_says_of_when(restored: Any, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("what is on disk now")
    [file] = restored(worked(read(1, str(path), "what was read then", at=61)))
    assert (body(file), file.doubt, file.state) == ("what was read then", None, "read")
    assert file.header == f"[as of {NOON + timedelta(seconds=61):%Y-%m-%d %H:%M} UTC; may have changed since]"


@pytest.mark.parametrize("argument", ["file_path", "path", "filename"])
def test_the_path_may_have_several_names(restored: Any, argument: str) -> None:
    [file] = restored(worked(step(1, ("Read", {argument: "src/app.py", "limit": 10}, "x = 1"))))
    assert file.path == "src/app.py"
    assert dict(file.arguments) == {argument: "src/app.py", "limit": 10}


def test_its_episode_has_the_reading_verbatim(restored: Any, memory: Any) -> None:
    [file] = restored(worked(read(1, "src/app.py", "x = 1")))
    assert file.episode == memory.episodes.id_of("work", thread="s")
    assert "x = 1" in [message.text for message in memory.episodes[file.episode].messages]


@pytest.mark.parametrize("between", range(0, 12))
def test_only_the_last_twenty_messages_are_searched(restored: Any, between: int) -> None:
    """The result stands ``2 * between + 3`` messages from the end, its call one more."""
    other = [use(number, "look", at=number) for number in range(2, 2 + between)]
    files = restored(worked(read(1, "src/app.py"), *other))
    assert paths(files) == (["src/app.py"] if 2 * between + 4 <= 20 else [])


def test_files_read_in_earlier_turns_of_the_last_messages_come_back_too(restored: Any) -> None:
    earlier = [Message("user", "Read it.", "e1"), *read(1, "src/early.py"), Message("assistant", "Read.", "e2")]
    history = [*chat(0, 40), *earlier, ASKED, *read(2, "src/late.py"), DONE, NOW]
    assert set(paths(restored(history))) == {"src/early.py", "src/late.py"}


@pytest.mark.parametrize("tool", ["ReadDir", "reading", "look", "Bash", "Grep"])
def test_only_tools_that_read_count(restored: Any, tool: str) -> None:
    assert restored(worked(read(1, "src/app.py", tool=tool))) == []


def test_what_tools_do_is_a_setting(open_memory: Any, check: Any) -> None:
    tools = {
        "fetch_source": "read",
        "Read": "nothing",
        "amend": FileTool(does="edit", path="where", old="was", new="is"),
    }
    memory = open_memory("own.db", settings=Settings(compaction={"file_tools": tools}))
    amended = step(3, ("amend", {"where": "src/a.py", "was": "x = 1", "is": "x = 2"}, "done"))
    history = worked(read(1, "src/a.py", "x = 1\n", tool="fetch_source"), read(2, "src/b.py"), amended)
    [file] = check(history, memory=memory, max_tokens=most(history)).files
    assert (file.path, file.state, body(file)) == ("src/a.py", "edited", "x = 2\n")


@pytest.mark.parametrize(
    ("reads", "order"), [(1, ["a", "b"]), (3, ["a", "b"]), (4, ["b", "a"]), (6, ["b", "a"])]
)  # fmt: skip
def test_the_score_is_the_first_time_less_a_second_for_each_reading(
    restored: Any, reads: int, order: list[str]
) -> None:
    """a is first read 2.5 s after b, whose score is −1 s: a's is 2.5 s less its number of readings."""
    first = [read(0, "b", at=0)]
    files = restored(worked(*first, *(read(1 + n, "a", at=2.5 + 10 * n) for n in range(reads))))
    assert paths(files) == order
    a = next(file for file in files if file.path == "a")
    assert (a.reads, a.seen) == (reads, NOON + timedelta(seconds=2.5))


def test_at_most_five_files_come_back_the_best_ones(restored: Any) -> None:
    files = restored(worked(*(read(n, f"src/f{n}.py", at=5.0 * n) for n in range(8))))
    assert paths(files) == [f"src/f{n}.py" for n in (7, 6, 5, 4, 3)]


@pytest.mark.parametrize("number", [0, 2])
def test_how_many_come_back_is_a_setting(open_memory: Any, check: Any, number: int) -> None:
    memory = open_memory("own.db", settings=Settings(compaction={"max_files": number}))
    history = worked(*(read(n, f"src/f{n}.py", at=5.0 * n) for n in range(4)))
    assert len(check(history, memory=memory, max_tokens=most(history)).files) == number


def test_a_file_read_twice_comes_back_once_as_it_was_last(restored: Any) -> None:
    [file] = restored(worked(read(1, "src/a.py", "old", at=1), read(2, "src/a.py", "new", at=9)))
    assert (body(file), file.reads) == ("new", 2)


def test_files_read_side_by_side_all_come_back(restored: Any) -> None:
    together = step(1, *[("Read", {"file_path": f"src/{name}.py"}, f"# {name}") for name in "abc"])
    files = restored(worked(together))
    assert {file.path: body(file) for file in files} == {f"src/{name}.py": f"# {name}" for name in "abc"}
    assert len({file.id for file in files}) == 3


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


def test_a_file_that_fits_is_not_cut(restored: Any) -> None:
    [file] = restored(worked(read(1, "src/short.py", "x = 1\n\n")))
    assert not file.cut
    assert body(file) == "x = 1\n\n"


def test_files_take_their_share_or_what_the_summary_leaves_of_the_target(check: Any) -> None:
    content = "\n".join(f"line {number} of a long file" for number in range(400))
    readings = [read(n, f"src/f{n}.py", content, at=n) for n in range(5)]
    history = worked(*readings)
    compaction = check(history, max_tokens=most(history))
    assert 2 <= len(compaction.files) <= 5
    assert compaction.after.share(compaction.limit) <= 0.6
    history = [*chat(40, 400, words=40), *history]
    compaction = check(history, max_tokens=most(history, 3.0), thread="two")
    assert 2 <= len(compaction.files) <= 5
    assert sum(size(file).tokens for file in compaction.files) <= 0.20 * most(history, 3.0)
    assert compaction.after.share(compaction.limit) <= 0.8


def test_small_files_come_back_though_a_large_one_that_comes_first_does_not_fit(open_memory: Any, check: Any) -> None:
    large = f"src/{'very/' * 60}large.py"
    parts = [read(1, "src/a.py", "A = 1", at=1), read(2, large, "x = 1\n" * 60, at=9), read(3, "src/b.py", "B = 1")]
    history = [*chat(40, 80), *worked(*parts)]
    found = [paths(check(history, max_tokens=limit, thread=str(limit)).files) for limit in range(1_000, 7_000, 500)]
    assert {"src/a.py", "src/b.py"} in [set(each) for each in found]
    assert {"src/a.py", "src/b.py", large} in [set(each) for each in found]


def test_a_limit_in_bytes_cuts_files_too(check: Any) -> None:
    history = worked(read(1, "src/long.py", "\n".join("漢字" * 20 for _ in range(200))))
    room = int(sum((size_of(m) for m in history), WHISPER).bytes / 0.9)
    compaction = check(history, max_tokens=10**9, max_bytes=room)
    assert compaction.files
    assert compaction.after.bytes <= 0.6 * room


@pytest.mark.parametrize(
    "path",
    ["node_modules/left-pad/index.js", "/repo/.git/config", "/repo/.venv/lib/x.py", "a/__pycache__/b.pyc",
     "C:\\repo\\node_modules\\x.js", "./node_modules/x.js"],
)  # fmt: skip
def test_system_paths_never_come_back(restored: Any, path: str) -> None:
    assert restored(worked(read(1, path))) == []


@pytest.mark.parametrize(
    "path", [".gitignore", "my.git/x", "src/node_modules.py", "docs/venv.md", "/repo/.github/a.yml"]
)
def test_paths_that_only_look_like_the_systems_come_back(restored: Any, path: str) -> None:
    assert paths(restored(worked(read(1, path)))) == [path]


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
@pytest.mark.parametrize("where", ["then", "ongoing"])
def test_what_changed_later_comes_back_changed_or_marked(
    restored: Any, later: list[Message], content: str, sure: bool, where: str
) -> None:
    first = read(1, "src/a.py", "as it was")
    history = worked(first, later) if where == "then" else worked(first, ongoing=[later])
    found = {file.path: file for file in restored(history)}
    if where == "ongoing" and content == "new":
        assert "src/a.py" not in found, "the ongoing turn shows all of it"
        return
    file = found["src/a.py"]
    assert body(file) == content
    assert (file.doubt is None) == sure
    assert ("may be out of date: " in file.header) == (not sure)


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


def test_what_was_written_before_it_was_read_comes_back(restored: Any) -> None:
    [file] = restored(worked(use(1, "Write", file_path="src/a.py", content="new"), read(2, "src/a.py", "new")))
    assert body(file) == "new"


def test_what_was_read_again_after_it_was_written_comes_back_fresh(restored: Any) -> None:
    write = use(2, "Write", file_path="src/a.py", content="new")
    [file] = restored(worked(read(1, "src/a.py", "old"), write, read(3, "src/a.py", "new")))
    assert body(file) == "new"


def test_a_write_to_another_file_leaves_this_one(restored: Any) -> None:
    files = restored(worked(read(1, "src/a.py"), use(2, "Write", file_path="src/aa.py", content="new")))
    assert {file.path: (file.state, file.doubt) for file in files} == {
        "src/aa.py": ("created", None), "src/a.py": ("read", None),
    }  # fmt: skip


@pytest.mark.parametrize("again", ["src/a.py", "./src/a.py"])
def test_what_the_ongoing_turn_has_read_does_not_come_back(check: Any, again: str) -> None:
    history = worked(read(1, "src/a.py", "once only"), ongoing=[read(2, again, "read again")])
    compaction = check(history, max_tokens=most(history))
    assert not compaction.files
    assert "once only" not in [message.text for message in compaction.messages if message.role == "tool"]


def test_failed_readings_do_not_come_back(restored: Any) -> None:
    assert restored(worked(read(1, "src/a.py", "No such file", failed=True))) == []


def test_a_file_that_could_not_be_read_again_does_not_come_back(restored: Any) -> None:
    gone = read(2, "src/a.py", "No such file", failed=True)
    assert restored(worked(read(1, "src/a.py"), gone)) == []
    assert restored(worked(read(1, "src/a.py"), ongoing=[gone]), thread="ongoing") == []


def test_a_reading_without_a_result_does_not_come_back(restored: Any) -> None:
    assert restored(worked(step(1, ("Read", {"file_path": "src/a.py"}, None)))) == []


@pytest.mark.parametrize("arguments", [{}, {"file_path": ""}, {"file_path": None}, {"file_path": 3}, {"url": "x"}])
def test_a_reading_of_nothing_does_not_come_back(restored: Any, arguments: Any) -> None:
    assert restored(worked(step(1, ("Read", arguments, "something")))) == []


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


def test_restored_files_stay_as_they_are_until_the_next_rebuilding(check: Any) -> None:
    history = worked(read(1, "src/a.py", "as it was"))
    first = check(history, max_tokens=most(history))
    history += [*use(5, "Write", file_path="src/a.py", content="new"), Message("assistant", "Written.", "w")]
    history += [replace(NOW, id="now2")]
    second = check(history, max_tokens=most(history[:-4]))
    assert second.id == first.id
    assert second.files == first.files
    [third] = check(history, max_tokens=most(history[:-4]), force="compact").files
    assert (third.state, body(third)) == ("edited", "new")


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


def test_a_file_that_was_only_written_comes_back_as_a_reading_of_it(restored: Any) -> None:
    write = step(1, ("write_file", {"file_path": "src/new.py", "content": "x = 1\n"}, "ok"))
    [file] = restored(worked(write))
    assert (file.tool, dict(file.arguments), file.state) == ("read_file", {"file_path": "src/new.py"}, "created")
    assert body(file) == "x = 1\n"


def test_changed_files_come_before_those_that_were_only_read(restored: Any) -> None:
    edit = step(2, ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, "ok"))
    files = restored(worked(read(1, "src/a.py", "a = a0"), *(read(3 + n, f"src/r{n}.py", at=60.0) for n in range(2))))
    assert paths(files)[-1] == "src/a.py"
    files = restored(worked(read(1, "src/a.py", "a = 0"), edit, read(3, "src/r.py", at=60.0)), thread="two")
    assert paths(files) == ["src/a.py", "src/r.py"]


def test_files_that_the_request_or_the_failing_test_names_come_first(restored: Any) -> None:
    readings = [read(n, f"src/{name}.py", at=5.0 * n) for n, name in enumerate(("pump", "valve", "gauge"))]
    failing = step(9, ("Bash", {"command": "pytest -q"}, "E   assert 1 == 2\nsrc/pump.py:1: AssertionError\n1 failed"))
    assert paths(restored(worked(*readings)))[0] == "src/gauge.py"
    assert paths(restored(worked(*readings, failing), thread="two"))[0] == "src/pump.py"
    asked = [*worked(*readings)[:-1], Message("user", "Please look at valve.py again.", "now")]
    assert paths(restored(asked, thread="three"))[0] == "src/valve.py"


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
    with open_memory("secrets.db", settings=Settings(secrets={"stored": stored})) as memory:
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
