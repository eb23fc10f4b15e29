"""``tidal hook install``, ``remove`` and ``status``: hooks in the settings of an agent, beside those of others."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.conftest import ROOT
from tidal_plugins.apps.hooks import main

OTHER = {"matcher": "Bash", "hooks": [{"type": "command", "command": "make lint"}]}
FILES = {
    "claude-code": ".claude/settings.local.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "kiln"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    monkeypatch.chdir(root / "src")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return root


def of(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("agent", FILES)
def test_hooks_are_shown_first_written_once_and_taken_out_again(
    project: Path, capsys: pytest.CaptureFixture[str], agent: str
) -> None:
    path = project / FILES[agent]
    path.parent.mkdir()
    before = {"theme": "dark", "hooks": {"Stop": [OTHER], "PreToolUse": [OTHER]}, "name": "Töpfer"}
    path.write_text(json.dumps(before), "utf-8")
    assert main(["status", agent]) == 0
    assert "no hook for SessionStart" in capsys.readouterr().out
    assert main(["install", agent, "--project"]) == 1
    assert of(path) == before
    assert '+    "SessionStart": [' in capsys.readouterr().out
    assert main(["install", agent, "--yes"]) == 0
    assert '+    "SessionStart": [' in capsys.readouterr().out
    written = of(path)
    assert {name: written[name] for name in ("theme", "name")} == {"theme": "dark", "name": "Töpfer"}
    assert written["hooks"]["Stop"][0] == written["hooks"]["PreToolUse"][0] == OTHER
    assert main(["status", agent]) == 0
    assert "all hooks are there" in capsys.readouterr().out
    assert main(["install", agent, "--yes"]) == 0
    assert of(path) == written
    assert main(["remove", agent, "--yes"]) == 0
    assert of(path) == before


def test_hooks_of_a_user_have_the_options_that_were_given(project: Path, tmp_path: Path) -> None:
    assert main(["install", "codex", "--user", "--yes", "--db", "~/all pots.db", "--timeout", "0.5"]) == 0
    [group] = of(tmp_path / ".codex" / "hooks.json")["hooks"]["SessionStart"]
    [hook] = group["hooks"]
    assert hook["command"].endswith(f"hook --db '{tmp_path / 'all pots.db'}' --timeout 0.5")
    assert not (project / ".codex").exists()


@pytest.mark.parametrize("text", ["{ // a comment\n}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}'])
def test_settings_that_cannot_be_read_stay_as_they_are(
    project: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = project / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text(text)
    for action in ("install", "remove"):
        assert main([action, "gemini-cli", "--yes"]) == 1
        assert str(path) in capsys.readouterr().err
    assert path.read_text() == text


@pytest.mark.slow
@pytest.mark.parametrize("typed", [b"no\n", b"\n", b"\x03", b"\x04"], ids=["no", "nothing", "Ctrl-C", "Ctrl-D"])
def test_nothing_is_written_unless_somebody_says_yes(project: Path, typed: bytes) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # one that is ignored would be inherited
        env = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}"}
        os.execve(sys.executable, [sys.executable, "-m", "tidal_plugins", "hook", "install", "claude-code"], env)
    shown = b""
    with suppress(OSError), open(terminal, "r+b", buffering=0) as screen:  # noqa: PTH123 (it is no path)
        while not shown.endswith(b"[y/N] "):
            shown += screen.read(1)
        while True:  # the line editor drops what is typed while it is being set up
            screen.write(typed)
            while select.select([screen], [], [], 1.0)[0]:
                shown += screen.read(10_000)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert b"Traceback" not in shown
    assert not (project / ".claude").exists()


@pytest.mark.parametrize("given", [[], ["instal", "codex"], ["--db", "a.db"]])
def test_who_types_it_wrongly_is_told_how_it_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: list[str]
) -> None:
    _, terminal = pty.openpty()
    with os.fdopen(terminal) as screen:
        monkeypatch.setattr(sys, "stdin", screen)
        with pytest.raises(SystemExit) as ended:
            main(given)
    assert ended.value.code == 2
    assert "usage: tidal hook" in capsys.readouterr().err


def test_settings_that_cannot_be_written_are_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".claude").write_text("no folder")
    assert main(["install", "claude-code", "--yes"]) == 1
    assert "settings.local.json" in capsys.readouterr().err


def test_a_link_to_settings_stays_one(project: Path, tmp_path: Path) -> None:
    own = tmp_path / "dotfiles.json"
    own.write_text("{}")
    own.chmod(0o600)
    link = tmp_path / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(own)
    assert main(["install", "claude-code", "--user", "--yes"]) == 0
    assert link.is_symlink()
    assert "SessionEnd" in of(own)["hooks"]
    assert own.stat().st_mode & 0o777 == 0o600
