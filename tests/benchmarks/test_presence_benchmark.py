"""The benchmark of presence: its own month, and that what it counts is counted."""

from __future__ import annotations

import builtins
import json
from pathlib import Path

import pytest

from benchmarks import presence, presence_crash, presence_month
from tidal_plugins import HashingEmbedder

WEEK = {
    "name": "week",
    "sessions": [
        {
            "id": "s1",
            "scope": "ada",
            "start": "2026-03-01T12:00:00+00:00",
            "turns": [{"user": "I have to pay Wouter 300 euros by Friday.", "agent": "Noted.", "minutes": 1}],
        }
    ],
    "checks": [],
}


def test_the_month_of_the_documentation_says_what_is_due_and_nothing_false() -> None:
    [story] = presence_month.read(presence.OWN)
    month = presence_month.live(story, presence.OWN_ZONE, HashingEmbedder())
    said = "\n".join(one.message.text for one in month.said)
    for due in ("bottles from Herr Zoller", "inspector from the district", "20 September", "juice tax form", "tour"):
        assert due in said
    assert "Friday 25 September" in said
    for never in ("18 September", "silver leaf", "Saturday", "hose clamp"):
        assert never not in said
    days = [one.at.date() for one in month.said]
    assert len(set(days)) == len(days)


def test_a_month_is_printed_with_when_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "week.json"
    path.write_text(json.dumps(WEEK))
    presence.main(["--month", str(path), "--zone", "UTC", "--embedder", "hashing"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "Thu 05 Mar 08:00: You wanted to pay Wouter 300 euros by Friday; that is tomorrow." in printed
    assert "speaks: something is due" in printed
    assert "1 messages." in printed
    assert "it said enough for a day already" in printed


def test_a_conversation_is_lived_as_a_story(tmp_path: Path) -> None:
    talk = {
        "speaker_a": "Ada",
        "speaker_b": "Wouter",
        "session_1_date_time": "12:00 pm on 1 March, 2026",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "Hello!"},
            {"speaker": "Wouter", "dia_id": "D1:2", "text": "Hi Ada."},
            {"speaker": "Ada", "dia_id": "D1:3", "text": "The boat is sold."},
        ],
    }
    asked = {"question": "Is the boat sold?", "answer": "yes", "category": 4, "evidence": ["D1:3"]}
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"sample_id": "t", "conversation": talk, "qa": [asked]}]))
    [story] = presence_month.read(path)
    assert [(turn.user, turn.agent) for turn in story.turns] == [("Hello!", "Hi Ada."), ("The boat is sold.", "I see.")]


def test_a_file_that_is_no_story_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text("{")
    with pytest.raises(SystemExit, match=r"none\.json cannot be read"):
        presence_month.read(path)


def test_the_source_s_case_and_the_curve_are_shown() -> None:
    moods = list(presence.moods())
    assert moods[0].valence == pytest.approx(presence.UPSET.valence)
    assert 0.5 <= moods[-1].valence <= 0.75
    assert list(presence.case().columns[-2].cells)[1] == "0.515"
    assert presence.curve().row_count == presence.HOURS // 6 + 1


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **options: object) -> object:
        if name == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SystemExit, match=r"tidal-plugins\[plot\]"):
        presence.plot(tmp_path / "mood.png")


def test_ticks_at_once_and_one_by_one_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "TICKS", 50)
    monkeypatch.setattr(presence, "THREADS", 20)
    assert "with the same state" in presence.ticking()


@pytest.mark.slow
def test_a_crash_loses_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence_crash, "KILLS", 2)
    assert presence_crash.lost_turns() == 0
