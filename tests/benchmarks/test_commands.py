"""Each benchmark runs on a tiny input, and prints its table or writes its figures."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path

import pytest

from benchmarks import (
    affect,
    compaction,
    embedders,
    extraction,
    peers,
    presence,
    retrieval,
    stories,
    story,
)
from benchmarks.stories import live
from benchmarks.story_checks import TYPES
from benchmarks.trust import __main__ as trust
from tests.benchmarks.data import (
    apiary,
    garden,
    openai_run,
    swe_agent_run,
    talk,
    turn,
    written,
)  # fmt: skip
from tidal_plugins import HashingEmbedder

pytestmark = pytest.mark.slow

HASHING = ["--embedder", "hashing"]
Printed = pytest.CaptureFixture[str]


def table_of(printed: str, head: str) -> list[list[str]]:
    """Return the cells of the table whose head has the words, by row."""
    lines = iter(printed.splitlines())
    next(line for line in lines if line.startswith("┃") and head in line)
    rows = takewhile(lambda line: not line.startswith("└"), lines)
    return [[cell.strip() for cell in row.split("│")[1:-1]] for row in rows if row.startswith("│")]


def test_recall(tmp_path: Path, capsys: Printed) -> None:
    retrieval.main([*HASHING, "--data", str(written(tmp_path / "garden.json", [garden()]))])
    printed = capsys.readouterr().out
    for part in (
        "3 questions and 1 adversarial ones",
        "2 evidence ids repaired, 2 skipped",
        "Recall with two hops",
        "Recall with associations",
        "The whisper, balanced: area under the curve",
    ):
        assert part in printed
    cells = {cell.strip() for line in printed.splitlines() for cell in line.split("│")}
    assert {"plain RRF", "vectors only", "balanced", "tidal", "attention", "no keywords"} <= cells
    [found] = [line for line in printed.splitlines() if line.startswith("│ keywords only")][:1]
    assert found.split("│")[5].strip().startswith("83.3"), "«Put wire over them» shares no word with its question"


def test_embedders(tmp_path: Path, capsys: Printed) -> None:
    data, languages = written(tmp_path / "garden.json", [garden()]), tmp_path / "languages.jsonl"
    english, spanish = ("The key is under the pot.", "Where is it?"), ("La llave está bajo la maceta.", "¿Dónde está?")
    names = ("note", "question", "english_note", "english_question")
    languages.write_text(json.dumps({"language": "Spanish", **dict(zip(names, (*spanish, *english), strict=True))}))
    embedders.main(["--data", str(data), "--languages", str(languages), "--embedders", "hashing", "wide"])
    printed = capsys.readouterr().out
    assert [row[:2] for row in table_of(printed, "recall@10")] == [["garden", "hashing"], ["garden", "wide"]]
    alone = {(name, where): all_ for name, where, _, all_, _ in table_of(printed, "Spanish")}
    assert set(alone.values()) == {"1 / 1"}
    assert len(alone) == 4


def test_compaction(tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SPEED_MESSAGES", 80)
    data = tmp_path / "data"
    data.mkdir()
    written(data / "talk.json", [talk()])
    written(data / "boats.json", [openai_run(n) for n in range(5)])
    written(data / "tills.jsonl", "\n".join(json.dumps(swe_agent_run(n)) for n in range(5)))
    written(data / "other.json", {"no": "conversation"})
    compaction.main(["--data", str(data), "--limits", "800", *HASHING])
    printed = capsys.readouterr()
    assert "passed over" in printed.err
    assert "other.json" in printed.err
    titles = "Conversations, compacted at once|on top of the time before|boats.json|tills.jsonl|recorded messages"
    for part in (
        *titles.split("|"),
        "ours",
        "SummarizationMiddleware",
        "langmem",
        "trim_messages",
        "the last messages",
    ):
        assert part in printed.out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.out.splitlines()]
    first = {row[0]: row for row in reversed(rows) if len(row) > 8}
    assert int(first["ours"][1]) <= 800
    assert first["ours"][4] == "1/1", "it fits"
    assert float(first["ours"][8].split()[0]) > float(first["the last messages"][5].split()[0])
    monkeypatch.delenv("TIDAL_BENCH_DATA", raising=False)
    compaction.main(["--quick", *HASHING])
    assert "Compacting 80 recorded messages" in capsys.readouterr().out


def test_affect_and_recall_follows_the_mood(tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDAL_BENCH_DATA", raising=False)
    few = json.loads(affect.PAIRS.read_text("utf-8"))[:15]
    monkeypatch.setattr(affect, "PAIRS", written(tmp_path / "pairs.json", few))
    affect.main([])
    printed = capsys.readouterr().out
    rows = {row[0]: list(map(float, row[1:])) for row in table_of(printed, "60 pairs, in percent")}
    assert min(rows["agitated"]) >= 90
    assert rows["order unchanged without a mood"] == [100, 100]


def test_extraction(capsys: Printed) -> None:
    extraction.main([])
    assert sum(int(row[1]) for row in table_of(capsys.readouterr().out, "precision")) > 100


def test_peers_are_each_asked_in_a_process_of_its_own(capsys: Printed) -> None:
    """The peers that come with the tests stand for all."""
    peers.main(["--size", "100", "--repeats", "5", "--stores", "tidal", "SqliteStore"])
    rows = table_of(capsys.readouterr().out, "search")
    assert [row[0] for row in rows] == ["tidal", "SqliteStore"]


def test_presence(tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [turn("I have to pay Wouter 300 euros by Friday.", "Noted.")]
    session = {"id": "s1", "scope": "ada", "start": "2026-03-01T12:00:00+00:00", "turns": turns}
    week = written(tmp_path / "week.json", {"name": "week", "sessions": [session], "checks": []})
    presence.main(["--month", str(week), "--zone", "UTC", *HASHING])
    printed = " ".join(capsys.readouterr().out.split())
    for part in (
        "Thu 05 Mar 08:00: You wanted to pay Wouter 300 euros by Friday; that is tomorrow.",
        "speaks: something is due",
        "1 messages.",
        "it said enough for a day already",
    ):
        assert part in printed


def test_trust_runs_the_arms_that_are_named(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setattr(trust, "ARMS", {"one": (lambda *_: True, 1), "two": (lambda *_: False, 1)})
    assert trust.main(["one"]) == 0
    assert trust.main([]) == 1
    with pytest.raises(SystemExit):
        trust.main(["three"])
    assert "no such arm: three" in capsys.readouterr().err


# stories


def test_every_type_of_check_is_asked_at_its_time() -> None:
    outcomes = live(story.parsed(apiary()), HashingEmbedder(), TYPES)
    order = [outcome.check.id for outcome in outcomes]
    assert sorted(order) == sorted(TYPES)
    assert order[-1] == "remembered"
    assert order.index("mood") < order.index("whisper") < order.index("compaction") < order.index("dossier")
    assert {outcome.check.id: outcome.faults for outcome in outcomes if not outcome.passed} == {}


def test_stories_are_counted_by_type_and_story_and_hard_ones_apart(tmp_path: Path, capsys: Printed) -> None:
    given = apiary()
    given["checks"] += [{**given["checks"][2], "id": "lost", "shows": [["wasps"]]}]
    given["checks"] += [{**given["checks"][2], "id": "far", "shows": [["hornets"]], "hard": True}]
    written(tmp_path / "apiary.json", given)
    stories.main(["--data", str(tmp_path), *HASHING, "--type", "recall", "--fails"])
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    assert rows == [["recall", "1/2", "1/2"], ["all", "1/2", "1/2"], ["hard", "0/1", "0/1"]]
    for part in (
        "lost (recall): one of each type",
        "query: bees in the meadow, limit: 3",
        "✗ shows none of «wasps»",
        "| The bees are in the meadow now",
    ):
        assert part in printed
    written(tmp_path / "apiary.json", apiary())
    stories.main(["--data", str(tmp_path), *HASHING, "-j", "2"])
    assert "13/13" in capsys.readouterr().out, "processes count the same"
