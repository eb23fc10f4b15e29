"""A folder in which an agent works at random, with real files and a real shell, and the messages that this makes."""

from __future__ import annotations

import random
import shlex
import subprocess
from pathlib import Path
from typing import Any

from tidal_plugins import Message, ToolCall

WORDS = "anchor beacon cinder drift ember fathom gable hollow islet jetty keel ledge".split()
NAMES = ("one.py", "two.py", "lib/three.py", "lib/four.py", "notes.md")


class Workshop:
    """Uses tools in a folder, and keeps what an agent would see of it.

    Every call is what a coding agent could send, every result what its tool would return.
    """

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random = root, random.Random(seed)
        self.messages: list[Message] = [Message("user", "Work on it.", "work")]
        (root / "lib").mkdir()
        for name in NAMES[:3]:
            self.path(name).write_text(self.text(), "utf-8")

    def step(self) -> None:
        """Do one thing at random."""
        self.random.choice([
            self.read, self.read, self.read_part, self.write, self.edit, self.edit, self.edit_wrongly, self.shell_write,
            self.shell_append, self.shell_read, self.move, self.copy, self.delete, self.formatter, self.look,
        ])()  # fmt: skip

    # what an agent does

    def read(self) -> None:
        name = self.any()
        self.called("Read", {"file_path": name}, numbered(self.lines(name)))

    def read_part(self) -> None:
        name = self.any()
        lines = self.lines(name)
        start = self.random.randint(1, len(lines))
        count = self.random.randint(1, 5)
        shown = numbered(lines[start - 1 : start - 1 + count], start)
        self.called("Read", {"file_path": name, "offset": start, "limit": count}, shown)

    def write(self) -> None:
        name, text = self.random.choice(NAMES), self.text()
        self.put(name, text)
        self.called("Write", {"file_path": name, "content": text}, f"File created successfully at: {name}")

    def edit(self) -> None:
        name = self.any()
        text = self.content(name)
        start = self.random.randrange(len(text))
        old = text[start : start + self.random.randint(4, 60)]
        if text.count(old) == 1:
            new = self.text(2)[: self.random.randint(0, 40)]
            after = text.replace(old, new)
            self.put(name, after)
            arguments = {"file_path": name, "old_string": old, "new_string": new}
            self.called(
                "Edit", arguments, self.random.choice([f"The file {name} has been updated.", snippet(text, after)])
            )
        else:
            every = self.random.random() < 0.5
            if every:
                self.put(name, text.replace(old, "swell"))
            result = (
                "The file has been updated." if every else f"Found {text.count(old)} matches of the string to replace"
            )
            arguments = {"file_path": name, "old_string": old, "new_string": "swell", "replace_all": every}
            self.called("Edit", arguments, result, error=not every)

    def edit_wrongly(self) -> None:
        arguments = {"file_path": self.any(), "old_string": "nowhere to be seen", "new_string": "x"}
        marked = self.random.random() < 0.5
        self.called("Edit", arguments, "Error: String to replace not found in file.", error=marked)

    def shell_write(self) -> None:
        text = self.text()
        if text.endswith("\n"):
            self.ran(f"cat > {self.random.choice(NAMES)} <<'EOF'\n{text}EOF")

    def shell_append(self) -> None:
        self.ran(f"echo '{self.line()}' >> {self.any()}")

    def shell_read(self) -> None:
        name = self.any()
        self.ran(self.random.choice([
            f"cat {name}", f"cat -n {name}", f"head -n 3 {name}", f"tail -n +2 {name}", f"sed -n '2,4p' {name}",
            f"cat {name} | head -2", f"cat {name}; ls", f"wc -l {name} && cat {name}", f"tail -n 2 {name}",
        ]))  # fmt: skip

    def move(self) -> None:
        name, to = self.any(), self.random.choice([*NAMES, "lib", "lib/", "."])
        self.ran(f"mv {name} {to}")

    def copy(self) -> None:
        self.ran(f"cp {self.any()} {self.random.choice([*NAMES, 'lib'])}")

    def delete(self) -> None:
        self.ran(self.random.choice([f"rm {self.any()}", "rm -f lib/*.py", "rm -r missing; echo done"]))

    def formatter(self) -> None:
        self.ran(self.random.choice([
            f"sed -i 's/e/E/' {self.any()}", f"sort -o {self.any()} {self.any()}",
            "for f in *.py; do echo x >> $f; done",
            f"tr a-z A-Z < {self.any()} > upper.txt && mv upper.txt {self.any()}", f"echo $(rm -f {self.any()})",
            f"perl -pi -e 's/a/A/' {self.any()}", f"python3 -c \"open('{self.any()}', 'a').write('more\\n')\"",
            f"test -f missing && echo no > {self.any()} || echo yes > {self.any()}",
            f"cat {self.any()} {self.any()} > both.txt; mv both.txt {self.any()}", f"printf 'no end' > {self.any()}",
        ]))  # fmt: skip

    def look(self) -> None:
        self.ran(self.random.choice(["ls -R", "grep -rn anchor .", "wc -l *.py", "git status", "echo 'cat > one.py'"]))

    # how it does it

    def ran(self, command: str) -> None:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.root, capture_output=True, encoding="utf-8", timeout=500, check=False
        )
        self.called("Bash", {"command": command}, done.stdout + done.stderr, error=done.returncode != 0)
        for path in self.root.rglob("*"):  # what the tools above cannot work on is not there
            if path.is_file() and not path.read_text("utf-8").strip():
                name = path.relative_to(self.root).as_posix()
                path.unlink()
                self.called("Bash", {"command": f"rm {shlex.quote(name)}"}, "")

    def called(self, tool: str, arguments: dict[str, Any], result: str, *, error: bool = False) -> None:
        number = len(self.messages)
        call = ToolCall(tool, arguments, f"c{number}")
        self.messages.append(Message("assistant", "", f"a{number}", tool_calls=(call,)))
        self.messages.append(Message("tool", result, f"r{number}", tool_call_id=call.id, error=error))

    def any(self) -> str:
        found = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())
        if not found:
            self.put("one.py", self.text())
            self.called("Write", {"file_path": "one.py", "content": self.content("one.py")}, "ok")
            return "one.py"
        return self.random.choice(found)

    def path(self, name: str) -> Path:
        return self.root / name

    def content(self, name: str) -> str:
        return self.path(name).read_text("utf-8")

    def lines(self, name: str) -> list[str]:
        return self.content(name).removesuffix("\n").split("\n")

    def put(self, name: str, text: str) -> None:
        self.path(name).write_text(text or "left\n", "utf-8")

    def text(self, most: int = 12) -> str:
        lines = "\n".join(self.line() for _ in range(self.random.randint(1, most)))
        return lines + ("" if self.random.random() < 0.2 else "\n")

    def line(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 4)))


def numbered(lines: list[str], start: int = 1) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start))


def snippet(before: str, after: str) -> str:
    """Return the message of an edit that shows the lines around it."""
    old, new = before.split("\n"), after.removesuffix("\n").split("\n")
    same = next((n for n, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(new) - 1)
    first = max(0, same - 2)
    lines = new[first : same + 4]
    return (
        f"The file has been updated. Here's the result of running `cat -n` on a snippet:\n{numbered(lines, first + 1)}"
    )
