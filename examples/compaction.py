"""A coding agent's context grows past its limit and is rebuilt: before and after side by side, with the ledger.

Runs offline: what the agent says is scripted, its tools read, write and run real files in a temporary folder.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from textwrap import shorten

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidal_plugins import DiskFiles, HashingEmbedder, Message, TidalMemory, ToolCall
from tidal_plugins.model.compaction import Compaction

LIMIT = 1_600
THREAD = "ferry"
WIDTH = 120
SYSTEM = "You are a coding agent. Your tools are Read, Write and Bash."

FARES = """SINGLE = 420
RETURN = 700


def fare(kind, adults, bikes=0):
    price = SINGLE if kind == "single" else RETURN
    return adults * price + bikes * 150
"""
MENDED = FARES.replace("bikes * 150", "bikes * 150 * ways").replace(
    "    return", "    ways = 1 + (kind == 'return')\n    return"
)
CHILDREN = MENDED.replace("bikes=0", "bikes=0, under_six=0")
CHECK = """from fares import fare

assert fare("single", 2) == 840, fare("single", 2)
assert fare("return", 1, bikes=1) == 1000, fare("return", 1, bikes=1)
print("2 checks passed")
"""
NOTES = """# Notes on fares

- amounts are whole cents, never floats
- a bike pays for each crossing
- children under six ride free, two for each adult
"""

STORY: list[tuple[str, list[tuple[str, dict[str, str]]], str]] = [
    (
        "Please start fares.py for our ferry. A single crossing is 420 cents, a return 700, a bike 150 each way. "
        "Use the standard library only.",
        [("Write", {"file_path": "fares.py", "content": FARES})],
        "fares.py is there: fare(kind, adults, bikes) adds up the prices, without any dependency.",
    ),
    (
        "I prefer whole cents everywhere. Never use floats for money.",
        [],
        "Decided: all amounts are integers, in cents.",
    ),
    (
        "Write a small check that I can run.",
        [("Write", {"file_path": "check.py", "content": CHECK}), ("Bash", {"command": "python check.py"})],
        "check.py fails: a return with a bike costs 850 instead of 1000, because the bike is charged for one way only.",
    ),
    (
        "Fix that, please.",
        [
            ("Read", {"file_path": "fares.py"}),
            ("Write", {"file_path": "fares.py", "content": MENDED}),
            ("Bash", {"command": "python check.py"}),
        ],
        "Fixed: fare() now multiplies the bikes by the number of ways. Both checks pass.",
    ),
    ("Lovely. I am getting a coffee.", [], "Enjoy it!"),
    (
        "Children under six ride free, two for each adult. Note that down, and what we agreed on before.",
        [("Write", {"file_path": "notes.md", "content": NOTES})],
        "notes.md holds the three rules.",
    ),
    (
        "Let fare() take the number of those children, even if it changes nothing yet.",
        [
            ("Read", {"file_path": "fares.py"}),
            ("Write", {"file_path": "fares.py", "content": CHILDREN}),
            ("Bash", {"command": "python check.py"}),
        ],
        "fare() has a parameter under_six, 0 by default. The checks pass.",
    ),
    ("Is the coffee machine in the harbour office yours?", [], "No, I only know the code."),
    (
        "What does a return cost for two adults with one bike?",
        [("Bash", {"command": "python -c 'from fares import fare; print(fare(\"return\", 2, bikes=1))'"})],
        "1700 cents.",
    ),
    (
        "How long is fares.py by now? Read it once more, I want to be sure of its state.",
        [("Read", {"file_path": "fares.py"})],
        "Eight lines. fare() takes kind, adults, bikes and under_six, and charges bikes for each way.",
    ),
]
QUESTION = "Now add dogs: 90 cents each way, free on Sundays. Mind what we agreed on about money."

if hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(errors="replace")  # a console that lacks … shows a question mark, and goes on
console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        TidalMemory(Path(folder, "agent.db"), embedder=HashingEmbedder()) as memory,
    ):
        workshop = Path(folder, "ferry")
        workshop.mkdir()
        history = worked(workshop)
        compaction = memory.compactor(max_tokens=LIMIT).compact(history, thread=THREAD)
        (workshop / "notes.md").write_text(f"{NOTES}- dogs are free on Sundays\n", "utf-8")  # somebody else adds a rule
        looking = memory.compactor(max_tokens=LIMIT, files=DiskFiles(workshop))
        current = looking.compact(history, thread=THREAD, force="compact")
        show(history, compaction)
        show_ledger(compaction)
        follow(memory, compaction.citations[0])
        show_files("followed through the conversation", compaction)
        show_files("read from the disk", current)


# the agent


def worked(workshop: Path) -> list[Message]:
    """The whole conversation so far, as the agent would send it to its model."""
    history = [Message("system", SYSTEM)]
    for number, (asked, calls, answer) in enumerate(STORY, 1):
        history.append(Message("user", asked, f"user-{number}"))
        for step, (tool, arguments) in enumerate(calls, 1):
            call = ToolCall(tool, arguments, f"call-{number}-{step}")
            history.append(Message("assistant", "", f"step-{number}-{step}", tool_calls=(call,)))
            failed, result = run(workshop, tool, arguments)
            history.append(Message("tool", result, f"result-{number}-{step}", tool_call_id=call.id, error=failed))
        history.append(Message("assistant", answer, f"answer-{number}"))
    return [*history, Message("user", QUESTION, "user-now")]


def run(workshop: Path, tool: str, arguments: dict[str, str]) -> tuple[bool, str]:
    """Use a tool; return whether it failed, and what it gave."""
    if tool == "Bash":
        command = [sys.executable, *shlex.split(arguments["command"])[1:]]
        done = subprocess.run(command, cwd=workshop, capture_output=True, encoding="utf-8", timeout=60, check=False)
        return done.returncode != 0, (done.stdout + done.stderr).replace(str(workshop), ".").strip()
    path = workshop / arguments["file_path"]
    if tool == "Write":
        path.write_text(arguments["content"], "utf-8")
        return False, f"wrote {len(arguments['content'])} characters"
    return False, path.read_text("utf-8")


# the screen


def show(history: list[Message], compaction: Compaction) -> None:
    """Print the history beside the messages that the model is shown now."""
    before, after, limit = compaction.before, compaction.after, compaction.limit
    console.print(f"Everything sent took {before.tokens:,} of {limit.tokens:,} tokens; now it takes {after.tokens:,}.")
    console.print("[dim]Both with 750 characters reserved for what memory may whisper.\n")
    table = Table(expand=True)
    table.add_column(f"before: {len(history)} messages", ratio=2, no_wrap=True)
    table.add_column(f"after: {len(compaction.messages)} messages", ratio=3)
    for row in zip_longest([line(message, 44) for message in history], compaction_lines(compaction), fillvalue=""):
        table.add_row(*row)
    console.print(table)


def compaction_lines(compaction: Compaction) -> list[str]:
    """Return the messages that the model is shown, a line for each; those that compaction wrote are given in full."""
    theirs = {message.text for message in compaction.history}
    lines: list[str] = []
    for message in compaction.messages:
        written = message.role == "assistant" and message.text and message.text not in theirs
        lines += [f"  {escape(part)}" for part in message.text.splitlines()] if written else [line(message, 110)]
    return lines


def line(message: Message, width: int) -> str:
    called = [f"{call.name}({', '.join(map(str, call.arguments.values()))})" for call in message.tool_calls]
    text = shorten(" ".join([message.text, *called]), width, placeholder="…")
    return f"[dim]{message.role:9}[/] {escape(text)}"


def show_ledger(compaction: Compaction) -> None:
    """Print each message that the model no longer sees: its place, its episode, and what is still said of it."""
    table = Table(title="\nLedger: what was left out", title_justify="left", expand=True)
    table.add_column("", justify="right", style="dim")
    table.add_column("message", ratio=2, no_wrap=True)
    table.add_column("stands in", style="dim", no_wrap=True)
    table.add_column("what the context still says of it", ratio=3, no_wrap=True)
    for loss in compaction.ledger:
        dropped = line(compaction.history[loss.position], WIDTH)
        stated = " / ".join(loss.stated) or "only cited"
        table.add_row(str(loss.position), dropped, f"ep:{loss.episode[:8]}…/{loss.index}", escape(stated))
    console.print(table)


def follow(memory: TidalMemory, citation: str) -> None:
    """Resolve a citation to the turn, word for word."""
    console.print(f"\n[bold]{escape(f'[ep:{citation}]')} leads to the turn as it was:")
    for message in memory.episodes[citation].messages:
        called = [f"{call.name}({arguments(call)})" for call in message.tool_calls]
        console.print(f"[dim]{message.role}[/]\n{escape(' '.join([message.text, *called]).strip())}")


def arguments(call: ToolCall) -> str:
    return ", ".join(f"{name}={value}" for name, value in call.arguments.items())


def show_files(how: str, compaction: Compaction) -> None:
    for file in compaction.files:
        console.print(f"\n[bold]{escape(file.path)}[/] ({file.state}) is back in the context, {how}:")
        console.print(escape(file.content), style="green")


if __name__ == "__main__":
    main()
