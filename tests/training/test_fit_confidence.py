"""Fitting the weights of confidences, on a handful of conversations."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidal_plugins import HashingEmbedder
from training import fit_confidence
from training.confidence_cases import LINES, Case, conversations, stories

THINGS = {"anchor": "red", "lantern": "brass", "compass": "old", "kettle": "blue"}


def case(part: str, margin: float, helps: bool, kind: str = "chats") -> Case:
    near = {"margin": margin, "behind": 0.0, "short": 0.0, "ahead": 0.2}
    far = {"margin": margin, "behind": -0.3, "short": -0.2, "ahead": 0.0}
    return Case(kind, part, "balanced", (near, far), (helps, False))


@pytest.fixture
def found() -> list[Case]:
    cases = []
    for part in ("one", "two", "three"):
        cases += [case(part, 0.3 + 0.1 * n, n > 1) for n in range(5)]
        cases += [case(part, 0.2 + 0.05 * n, n == 3) for n in range(5)]
    return cases


def test_more_margin_is_more_of_a_chance_and_nearer_hits_have_more_of_it(found: list[Case]) -> None:
    head = fit_confidence.fit(found)
    assert head.of_recall({"margin": 0.7}) > 0.5 > head.of_recall({"margin": 0.2})
    near, far = ({"behind": -0.3 * n, "short": -0.2 * n, "ahead": 0.2 * (1 - n)} for n in (0, 1))
    assert head.of_hit(near) > head.of_hit(far)
    assert head.of_line(near) > head.of_line(far)


def test_nothing_is_fitted_on_what_only_checks_and_every_kind_counts_the_same(found: list[Case]) -> None:
    wrong = [case("other", 0.1 * n, n < 5, kind="locomo") for n in range(10)]
    assert fit_confidence.fit([*found, *wrong]) == fit_confidence.fit(found)
    domains = [replace(one, kind="domains") for one in found]
    other = [replace(one, kind="realmem", helps=(False, False)) for one in found]
    assert fit_confidence.fit([*domains, *other]) == fit_confidence.fit([*domains * 3, *other])


def test_reliability_has_a_line_for_each_kind(found: list[Case]) -> None:
    head, line, tenths = fit_confidence.reliability(found, "balanced")
    assert head.startswith("balanced:")
    assert line.startswith("  chats (30 recalls, 60 hits): 40.0 / ")
    bins = re.findall(r"(0\.\d): (\d+) \((\d+)\)", tenths)
    assert [float(least) for least, _, _ in bins] == sorted(float(least) for least, _, _ in bins)
    assert sum(int(number) for _, number, _ in bins) == 60
    assert int(bins[0][2]) < int(bins[-1][2])


def test_questions_are_asked_with_their_evidence_and_without_it(tmp_path: Path) -> None:
    turns = [
        {"speaker": "Ann", "dia_id": f"D1:{n}", "text": f"The {thing} on our boat is {colour}."}
        for n, (thing, colour) in enumerate(THINGS.items())
    ]
    asked = [
        {"question": f"What is the {thing} like?", "answer": "", "evidence": [f"D1:{n}"], "category": 4}
        for n, thing in enumerate(THINGS)
    ]
    value = {
        "sample_id": "boat",
        "conversation": {"session_1": turns, "session_1_date_time": "9:20 am on 3 June, 2024"},
        "qa": asked,
    }
    file = tmp_path / "boat.json"
    file.write_text(json.dumps([value]), "utf-8")
    cases = [one for one in conversations("chats", file, HashingEmbedder()) if one.profile == "balanced"]
    assert len(cases) == 2 * len(THINGS)
    assert [one.answered for one in cases] == [True, False] * len(THINGS)
    assert all(0 < len(one.helps) <= LINES for one in cases)


def test_what_a_story_must_show_is_what_helps(tmp_path: Path) -> None:
    turn: dict[str, Any] = {"user": "The anchor is red.", "agent": "Noted.", "minutes": 1}
    start = "2026-03-02T09:00:00+00:00"
    check = {"id": "c", "type": "whisper", "why": "", "turn": "What colour is the anchor?", "shows": [["red"]]}
    session = {"id": "s", "scope": "ann", "start": start, "turns": [turn]}
    document = {"source": "rope.md", "kind": "kb", "at": start, "text": "The rope is coiled."}
    value = {"name": "boat", "sessions": [session], "documents": [document], "checks": [check]}
    (tmp_path / "boat.json").write_text(json.dumps(value), "utf-8")
    full, empty = (one for one in stories(tmp_path, HashingEmbedder()) if one.profile == "balanced")
    assert full.answered
    assert not empty.answered
