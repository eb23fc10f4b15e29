"""``tidal presence``: what the memory says first, from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tests.cli.conftest import Tidal
from tests.waiting import PATIENCE
from tidal_plugins import HashingEmbedder, TidalMemory
from tidal_plugins.testing import FrozenClock

DEBT = "I have to pay Tom back by {:%A}."
ALLOW = ("presence", "allow", "--zone", "UTC", "--quiet", "none")


@pytest.fixture
def tomorrow() -> date:
    """Return the day after today, which stays that until the test is over: at its end the next one is waited for."""
    now = datetime.now(UTC)
    if (left := datetime.combine(now + timedelta(days=1), time.min, UTC) - now) < timedelta(minutes=1):
        sleep(left.total_seconds() + 1)
    return datetime.now(UTC).date() + timedelta(days=1)


@pytest.fixture
def told(tmp_path: Path, tomorrow: date) -> Path:
    """Return a memory to which somebody spoke three days ago of what is due tomorrow."""
    path, words = tmp_path / "tidal.db", f"The ferry was late. {DEBT.format(tomorrow)}"
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=3))
    with TidalMemory(path, embedder=HashingEmbedder(), clock=clock) as memory:
        memory.record(words, "I will remember that.", thread="monday")
    return path


@pytest.mark.usefixtures("told")
def test_a_message_is_decided_shown_and_taken_once(tidal: Tidal, tomorrow: date) -> None:
    assert "UTC, no quiet hours, at most 1 a day, 12 hours apart" in tidal(*ALLOW).out
    assert tidal("presence", "why").out.startswith("speaks: something is due")
    ran = tidal("presence", "step")
    assert (ran.code, ran.err) == (0, "")
    assert "task, queued: You wanted to pay Tom back" in ran.out
    assert "[ep:" in ran.out
    assert tidal("presence", "step").out.startswith("silent: a message waits")
    ran = tidal("presence", "step", "--take")
    assert (ran.code, ran.out) == (0, f"You wanted to pay Tom back by {tomorrow:%A}; that is tomorrow.\n")
    ran = tidal("presence", "step", "--take")
    assert (ran.code, ran.out) == (3, "")
    assert "silent: it said 1 of 1 a day already" in ran.err
    assert "task, taken: You wanted to pay Tom back" in tidal("presence", "messages").out


@pytest.mark.usefixtures("told")
def test_the_state_says_what_is_on_its_mind(tidal: Tidal, tomorrow: date) -> None:
    tidal(*ALLOW)
    assert tidal("presence", "state").code == 3
    tidal("presence", "step")
    out = tidal("presence", "state").out
    assert f"task, due {tomorrow}: {DEBT.format(tomorrow)}" in out
    assert "mood: valence" in out
    state = tidal("presence", "state", "--json").data
    assert [(one["kind"], one["text"]) for one in state["threads"]] == [("task", DEBT.format(tomorrow))]


@pytest.mark.usefixtures("told")
def test_everything_is_json_if_asked(tidal: Tidal) -> None:
    assert tidal(*ALLOW, "--per-day", "2", "--cooldown", "90m", "--json").data["per_day"] == 2
    assert tidal("presence", "why", "--json").data["speaks"]
    step: Any = tidal("presence", "step", "--json").data
    assert step["decision"]["parts"].keys() == {"threads", "seeds", "arousal", "absence"}
    assert step["message"]["status"] == "queued"
    assert tidal("presence", "step", "--take", "--json").data["message"]["status"] == "taken"
    again = tidal("presence", "step", "--take", "--json")
    assert (again.code, again.data["message"]) == (3, None)
    assert [one["kind"] for one in tidal("presence", "messages", "--json").data] == ["task"]
    assert tidal("presence", "pause", "--until", "2100-01-01", "--json").data["until"].startswith("2100-01-01T00:00")
    assert not tidal("presence", "resume", "--json").data["paused"]
    assert tidal("presence", "erase", "--yes", "--json").data == {"messages": 1}


@pytest.mark.usefixtures("told")
def test_a_pause_ends_when_it_is_resumed(tidal: Tidal) -> None:
    tidal("presence", "allow", "--zone", "Asia/Tokyo")
    assert "paused until 2100-01-01 00:00" in tidal("presence", "pause", "--until", "2100-01-01").out
    assert tidal("presence", "step").out.startswith("silent: it is paused until 2100-01-01 00:00")
    assert "paused" not in tidal("presence", "resume").out
    assert "paused" in tidal("presence", "pause").out


@pytest.mark.usefixtures("told")
def test_erase_asks_and_leaves_memories(tidal: Tidal, tomorrow: date) -> None:
    tidal(*ALLOW)
    tidal("presence", "step")
    refused = tidal("presence", "erase", given="n\n")
    assert refused.code == 1
    assert "nothing was erased" in refused.err
    assert "erased, with 1 message" in tidal("presence", "erase", given="y\n").out
    assert tidal("presence", "messages").code == 3
    assert DEBT.format(tomorrow) in tidal("recall", "Tom").out


@pytest.mark.usefixtures("told")
def test_nothing_is_done_that_nobody_allowed_and_a_mistake_ends_with_a_sentence(tidal: Tidal) -> None:
    for name in ("step", "why", "state", "messages", "pause", "resume", "watch"):
        ran = tidal("presence", name)
        assert (ran.code, ran.out) == (3, "")
        assert "tidal presence allow --zone" in ran.err
    allow = ["", "--zone Berlin", "--zone ../../etc/passwd", "--zone UTC --quiet night", "--zone UTC --per-day 0"]
    allow += ["--zone UTC --quiet 21:00-25:00", "--zone UTC --cooldown soon", "--zone UTC --cooldown 9999d"]
    wrong = [*(f"allow {options}" for options in allow), "pause --until tomorrow", "watch --every 0m", "listen"]
    for words in wrong:
        if words.startswith("pause"):
            tidal(*ALLOW)
        ran = tidal("presence", *words.split())
        assert (ran.code, ran.out) == (2, "")
        assert ran.err
        assert "Traceback" not in ran.err


@pytest.mark.slow
def test_watch_prints_what_is_said_until_it_is_interrupted(tidal: Tidal, told: Path) -> None:
    tidal(*ALLOW)
    command = [sys.executable, "-m", "tidal_plugins", "presence", "watch", "--json"]
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # one that is ignored would be inherited
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=told.parent)
    signal.signal(signal.SIGINT, handler)
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["text"].startswith("You wanted to pay Tom back")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
