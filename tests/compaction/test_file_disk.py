"""Files as they are on disk: what comes back with ``files=``, and what never leaves or enters the folder."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.test_file_dialects import DONE, NUMBERED, Call, bash, compacted
from tests.waiting import PATIENCE
from tidal_plugins import DiskFiles, HashingEmbedder, InvalidInput, Message, TidalMemory, ToolCall
from tidal_plugins.model.compaction import RestoredFile

SECRET = "the key of the harbour master\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET, "utf-8")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "sea.py").write_text("x = 1\n", "utf-8")
    return folder


def history(*calls: Call) -> list[Message]:
    messages = [Message("user", "Work on it.", "work")]
    for number, (tool, arguments, result) in enumerate(calls):
        call = ToolCall(tool, arguments, f"c{number}")
        messages.append(Message("assistant", "", f"a{number}", tool_calls=(call,)))
        messages.append(Message("tool", result, f"r{number}", tool_call_id=call.id))
    return [*messages, *DONE]


def restored(root: Path, *calls: Call, **options: Any) -> dict[str, RestoredFile]:
    return {file.path: file for file in compacted(history(*calls), DiskFiles(root, **options)).files}


READ: Call = ("Read", {"file_path": "sea.py"}, "     1\tx = 1")


def test_a_file_that_changed_comes_back_as_it_is_and_says_so(root: Path) -> None:
    (root / "sea.py").write_text("x = 2\ny = 3\n", "utf-8")
    file = restored(root, READ)["sea.py"]
    assert file.content.splitlines()[1:] == ["     1\tx = 2", "     2\ty = 3"]
    assert file.header.startswith("[as it is on disk now; it has changed since ")


def test_the_disk_settles_every_doubt_and_a_file_that_is_as_it_was_needs_no_header(root: Path) -> None:
    for calls in ((READ,), (READ, bash("ruff format ."), bash("git stash"))):
        file = restored(root, *calls)["sea.py"]
        assert (file.content, file.header, file.doubt) == ("     1\tx = 1", "", None)
    (root / "sea.py").write_text("password = 'correct-horse-7431'\n", "utf-8")
    assert restored(root, READ) == {}, "a file with a secret stays away"
    (root / "sea.py").unlink()
    assert restored(root, READ) == {}, "and so does one that is gone"


def test_a_file_whose_content_no_result_told_comes_back_from_the_disk(root: Path) -> None:
    (root / "out.txt").write_text("made by a program\n", "utf-8")
    file = restored(root, bash("make_it > out.txt"))["out.txt"]
    assert (file.state, file.content.splitlines()[-1]) == ("created", "made by a program")


def test_paths_from_the_root_of_the_disk_are_the_same_files(root: Path) -> None:
    full = ("Read", {"file_path": str(root / "sea.py")}, "     1\tx = 1")
    edit = ("Edit", {"file_path": "sea.py", "old_string": "1", "new_string": "2"}, "ok")
    (root / "sea.py").write_text("x = 2\n", "utf-8")
    [file] = restored(root, full, edit).values()
    assert (file.content, file.state, file.header) == ("     1\tx = 2", "edited", "")


def outside(root: Path) -> dict[str, str]:
    """Paths that lead out of the folder, or to what is no text file in it."""
    (root / "link.txt").symlink_to(root.parent / "secret.txt")
    (root / "around").symlink_to(root.parent, target_is_directory=True)
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")
    (root / "binary").write_bytes(b"\x00\x01\x02")
    (root / "latin").write_bytes(b"caf\xe9 au lait")
    (root / "large").write_text("x" * 2_000, "utf-8")
    (root / "folder").mkdir()
    return {
        "up": "../secret.txt",
        "up and down": "folder/../../secret.txt",
        "absolute": str(root.parent / "secret.txt"),
        "a link": "link.txt",
        "through a link": "around/secret.txt",
        "a loop": "loop",
        "a pipe": "pipe",
        "a device": "/dev/zero",
        "a process": "/proc/self/environ",
        "NUL": "sea.py\0.txt",
        "very long": "a/" * 5_000,
        "a long name": "a" * 300,
        "home": "~/secret.txt",
        "binary": "binary",
        "no UTF-8": "latin",
        "large": "large",
        "a folder": "folder",
        "the root": ".",
        "empty": "",
        "below a file": "sea.py/x",
    }


def test_what_is_outside_or_no_text_is_not_read(root: Path) -> None:
    for name, path in outside(root).items():
        if name != "home":
            assert DiskFiles(root, max_bytes=1_000).read(path) is None, name
        told = restored(root, ("Read", {"file_path": path}, "     1\told"), max_bytes=1_000)
        for file in told.values():
            assert SECRET.strip() not in file.content, name
            assert file.content.endswith("old")
            assert "could not be read" in file.header


def test_a_file_that_is_not_there_is_told_from_one_that_is_not_read(root: Path) -> None:
    outside(root)
    for path in ("missing.py", "missing/sea.py", "~/secret.txt"):
        with pytest.raises(FileNotFoundError):
            DiskFiles(root).read(path)


def test_links_inside_the_folder_are_followed_and_the_folder_may_be_one(root: Path) -> None:
    (root / "lib").mkdir()
    (root / "lib" / "deep.py").write_text("deep = 1\r\n", "utf-8")
    (root / "alias.py").symlink_to("lib/deep.py")
    (root / "also").symlink_to(root / "lib", target_is_directory=True)
    for path in ("alias.py", "also/deep.py", str(root / "lib" / "deep.py"), "./lib/../lib/deep.py"):
        assert DiskFiles(root).read(path) == "deep = 1\n"
    (root.parent / "way").symlink_to(root, target_is_directory=True)
    assert DiskFiles(root.parent / "way").root == str(root)
    for given in ("missing", "work/sea.py"):
        with pytest.raises(InvalidInput, match="folder"):
            DiskFiles(root.parent / given)


def test_a_link_that_is_swapped_in_while_it_is_opened_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.path.realpath

    def swapped(path: Any) -> str:
        found = real(path)
        (root / "sea.py").unlink()
        (root / "sea.py").symlink_to(root.parent / "secret.txt")
        return found

    disk = DiskFiles(root)
    monkeypatch.setattr(os.path, "realpath", swapped)
    assert disk.read("sea.py") is None


def test_anything_with_a_root_and_read_tells_the_files(root: Path) -> None:
    class Sandbox:
        root = "/sandbox"

        def read(self, path: str) -> str | None:
            return {"sea.py": "x = 7\n"}.get(path)

    [file] = compacted(history(("Read", {"file_path": "/sandbox/sea.py"}, "     1\tx = 1")), Sandbox()).files
    assert file.content.endswith("\tx = 7")
    with TidalMemory("memory://", embedder=HashingEmbedder()) as memory, pytest.raises(InvalidInput, match="DiskFiles"):
        memory.compactor(files=str(root))  # type: ignore[arg-type]


async def test_reading_never_blocks_the_event_loop(root: Path) -> None:
    """The disk is read on another thread, and the loop goes on meanwhile."""
    waits, goes_on = threading.Event(), threading.Event()

    class Slow(DiskFiles):
        def read(self, path: str) -> str | None:
            waits.set()
            assert goes_on.wait(PATIENCE), "the event loop stands still"
            return super().read(path)

    with TidalMemory("memory://", embedder=HashingEmbedder()) as memory:
        compactor = memory.compactor(max_tokens=10_000, files=Slow(root))
        made = asyncio.create_task(compactor.acompact(history(READ), thread="s", force="compact"))
        assert await asyncio.to_thread(waits.wait, 30)
        goes_on.set()
        assert [file.path for file in (await made).files] == ["sea.py"]


HOSTILE_PATHS = ("../../etc/passwd", "/etc/passwd", "x\0y", "a" * 5_000, "\n", "  ", "~root/.ssh/id")


def test_hostile_paths_harm_nothing_without_a_disk_either() -> None:
    calls: list[Call] = []
    for path in HOSTILE_PATHS:
        calls += [
            ("Read", {"file_path": path}, NUMBERED),
            ("Write", {"file_path": path, "content": "new"}, "ok"),
            ("move_file", {"source": path, "destination": path * 2}, "ok"),
            bash(f"cat {path}", "x"),
            bash(f"mv '{path}' {path}"),
            ("apply_patch", {"input": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"}, "ok"),
        ]
        for file in compacted(history(*calls[-6:])).files:
            assert "\0" not in file.path
            assert len(file.path) <= 4_096
    compacted(history(*calls))


HOSTILE = [
    "", "'", '"$(', "cat <<EOF\n", "((((", "a" * 300_000, "$(" * 200, "cat > " + "../" * 3_000 + "x", "\\", "|| && ;",
    "`",     "cat <<A <<B\nx\nA\ny\nB", "<" * 1_000, "echo " + "x" * 100_000 + " > f",
]  # fmt: skip


def test_hostile_commands_are_read_without_an_error() -> None:
    for command in HOSTILE:
        files = compacted(history(READ, bash(command))).files
        assert [file.path for file in files][-1:] == ["sea.py"], command[:80]
