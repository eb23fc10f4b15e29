"""Labelled sentences: our own whole, those of others by their place in the data that they come from.

``training/data/sentences.jsonl`` holds sentences written for this project with their labels.
``training/data/sentence_labels.jsonl`` holds labels only: ``source`` names a turn of a story or of RealMem, ``span``
the characters of the sentence in it; or ``line`` a line of ``sentences_dev.jsonl``. Tags marked as unsure by two
readers were settled by a third.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).with_name("data")
OWN, LABELS = HERE / "sentences.jsonl", HERE / "sentence_labels.jsonl"

APART_STORIES = ("novel-writer", "data-warehouse")
"""Stories that nothing is fitted on."""


@dataclass(frozen=True)
class Labelled:
    """A sentence and its labels. ``apart`` names the part of the data that only measures, if it belongs to one."""

    source: str
    role: str
    text: str
    act: str
    tags: frozenset[str]
    lang: str
    apart: str


def own() -> list[Labelled]:
    """Return the project's own sentences; a tenth of their conversations is kept apart."""
    return [
        Labelled(
            source := f"own:{row['doc']}",
            row["speaker"],
            row["text"],
            row["act"],
            frozenset(row["tags"]),
            row["lang"],
            "own" if _tenth(source) else "",
        )
        for row in rows(OWN)
    ]


def others(data: Path) -> Iterator[Labelled]:
    """Yield the labelled sentences of others' texts, with their words from ``data``."""
    turns, given = texts(data), rows(data / "sentences_dev.jsonl")
    for row in rows(LABELS):
        if "line" in row:
            line = given[row["line"]]
            source, role, text = line["source"], line["speaker"], line["text"]
            role = "assistant" if role == "assistant" else "user"
        else:
            source, role = row["source"], row["role"]
            start, end = row["span"]
            text = turns[source][start:end]
        yield Labelled(source, role, text, row["act"], frozenset(row["tags"]), "en", _part(source))


def texts(data: Path) -> dict[str, str]:
    """Return the texts of the stories' and RealMem's turns by their sources."""
    return dict(_story_turns(data / "stories")) | dict(_realmem_turns(data / "realmem_dev.json"))


def _part(source: str) -> str:
    kind, name, *rest = source.split(":")
    if kind == "locomo":
        return "locomo"
    if kind == "story":
        return "stories" if name in APART_STORIES else ""
    return "realmem" if _tenth(name + rest[0]) else ""


def _tenth(source: str) -> bool:
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % 10 == 0


def _story_turns(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.json")):
        for session in json.loads(path.read_text("utf-8"))["sessions"]:
            for number, turn in enumerate(session["turns"]):
                for role in ("user", "agent"):
                    yield f"story:{path.stem}:{session['id']}:{number}:{role}", turn.get(role) or ""


def _realmem_turns(path: Path) -> Iterator[tuple[str, str]]:
    for person, sessions in json.loads(path.read_text("utf-8")).items():
        for session in sessions:
            for number, turn in enumerate(session["turns"]):
                yield f"realmem:{person}:{session['session']}:{number}", turn["content"]


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
