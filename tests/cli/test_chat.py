"""``tidal chat``: a conversation that is remembered, with its whispers and compactions in sight."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Tidal


def test_what_was_said_surfaces_in_another_conversation(tidal: Tidal) -> None:
    first = tidal("chat", "--thread", "monday", given="My violin is at the luthier until May.\n/quit\n")
    assert first.code == 0
    assert "agent: You said: «My violin is at the luthier until May.»" in first.out
    second = tidal("chat", "--thread", "friday", given="\nWhere is my violin?\n/why\n")
    assert "│ <tidal-memory>" in second.out
    assert "That reminds me: My violin is at the luthier until May." in second.out
    assert "relevance" in second.err
    assert [turn["thread"] for turn in tidal("history", "--json").data] == ["monday", "friday"]
    assert "tidal-memory" not in tidal("history", "--full").out, "the whisper is not recorded"


def test_a_compaction_is_shown_when_it_happens(tidal: Tidal) -> None:
    said = [f"Crate {n} holds " + "lamps, ropes and a great many brass fittings, " * 12 for n in range(8)]
    ran = tidal("chat", "--thread", "crates", "--max-tokens", "900", "--json", given="\n".join(said) + "\n")
    turns = [json.loads(line) for line in ran.out.splitlines()]
    assert len(turns) == 8
    compacted = [turn["compaction"] for turn in turns if turn["compaction"]]
    assert compacted
    assert compacted[0]["tokens_after"] < compacted[0]["tokens_before"]
    assert "compacted:" in tidal("chat", "--max-tokens", "900", given="\n".join(said) + "\n").out


def test_a_model_that_cannot_be_had_is_told(tidal: Tidal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tidal("chat", "--model", "nobody:nothing").code == 1
    monkeypatch.setenv("TIDAL_MODEL", "echo")
    assert "model echo" in tidal("chat", given="").err
