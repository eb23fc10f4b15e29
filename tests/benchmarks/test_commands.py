"""Each benchmark runs on a tiny input, and prints its table or writes its figures."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import (
    affect,
    code,
    compaction,
    extraction,
    graph,
    graph_recall,
    living,
    living_arms,
    peers,
    presence,
    presence_crash,
    retrieval,
    scale_model,
    stories,
    story,
)  # fmt: skip
from benchmarks.story_asking import TYPES
from benchmarks.story_life import Outcome, live
from benchmarks.trust import __main__ as trust
from benchmarks.trust import costs
from tests.benchmarks.data import (
    ada,
    apiary,
    chat,
    garden,
    openai_run,
    question,
    said,
    swe_agent_run,
    talk,
    turn,
    written,
)  # fmt: skip
from tidal_plugins import HashingEmbedder

pytestmark = pytest.mark.slow

HASHING = ["--embedder", "hashing"]
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.json"


def read(out: Path) -> Any:
    return json.loads(out.read_text("utf-8"))


def test_recall(tmp_path: Path, out: Path, capsys: Printed) -> None:
    retrieval.main([*HASHING, "--data", str(written(tmp_path / "garden.json", [garden()])), "--json", str(out)])
    printed = capsys.readouterr().out
    for part in (
        "3 questions and 1 adversarial ones",
        "2 evidence ids repaired, 2 skipped",
        "Recall with two hops",
        "Recall with associations",
        "The whisper, balanced: area under the curve",
    ):
        assert part in printed
    (figures,) = read(out)["files"]
    found = figures["arms"]["keywords only"]["overall"]["recall@10"]["mean"]
    assert found == pytest.approx(250 / 3, abs=0.01)  # «Put wire over them» shares no word with its question
    assert {"plain RRF", "vectors only", "balanced", "tidal", "attention"} <= figures["arms"].keys()
    assert "no keywords" in figures["ablation"]
    assert len(figures["asked"]) == 4
    assert figures["asked"][0]["ranks"]["keywords only"] == [1]


def test_recall_leaves_out_what_it_is_told_to_and_asks_people_at_their_time(tmp_path: Path, out: Path) -> None:
    data = [str(written(tmp_path / f"{one.__name__}.json", one())) for one in (chat, ada)]
    options = ["--no-ablation", "--profiles", "balanced", "--limit-questions", "1", "--json", str(out)]
    retrieval.main([*HASHING, *options, "--data", *data])
    sample, person = read(out)["files"]
    assert (len(sample["asked"]), sample["ablation"]) == (1, {})
    assert "tidal" not in sample["arms"]
    assert person["asked"][0]["ranks"]["balanced"][0] in (1, 2, 3)


def test_compaction(tmp_path: Path, out: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SPEED_MESSAGES", 80)
    data = tmp_path / "data"
    data.mkdir()
    written(data / "talk.json", [talk()])
    written(data / "boats.json", [openai_run(n) for n in range(5)])
    written(data / "tills.jsonl", "\n".join(json.dumps(swe_agent_run(n)) for n in range(5)))
    written(data / "other.json", {"no": "conversation"})
    compaction.main(["--data", str(data), "--limits", "800", *HASHING, "--json", str(out)])
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
    figures = read(out)
    first = {row["arm"]: row for row in figures["reports"][0]["arms"]}
    assert all(first["ours"]["fits"])
    assert max(first["ours"]["tokens"]) <= 800
    assert first["ours"]["scores"]["with recall"][0]["mean"] > first["the last messages"]["scores"]["kept"][0]["mean"]
    assert figures["speed"]["ours"]["seconds"] > 0
    monkeypatch.delenv("TIDAL_BENCH_DATA", raising=False)
    compaction.main(["--quick", *HASHING])
    assert "Compacting 80 recorded messages" in capsys.readouterr().out


def test_living(tmp_path: Path, out: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [said("D1:1", "Ada", "The early quince blooms first, by the well.")]
    first.append(said("D1:2", "Ben", "Then frost may harm the early quince."))
    second = [said("D2:1", "Ada", "Which quince should I cover against frost?")]
    second.append(said("D2:2", "Ben", "The early quince by the well."))
    days = {"session_1_date_time": "1:56 pm on 8 May, 2024", "session_1": first}
    days |= {"session_2_date_time": "2:10 pm on 3 June, 2024", "session_2": second}
    asked = [question("Which quince blooms first?", ["D1:1"]), question("Did Ben plant quinces?", ["D1:1"], 5)]
    orchard = {"sample_id": "orchard", "conversation": days, "qa": asked}
    monkeypatch.setenv("TIDAL_BENCH_DATA", str(written(tmp_path / "orchard.json", [orchard])))
    living.main(["--quick", *HASHING, "--json", str(out)])
    printed = capsys.readouterr().out
    assert "1 lives of 4 turns in all, 1 questions" in printed
    assert "keeps to the rule" in printed
    assert "failed" not in printed
    figures = read(out)
    assert figures["arms"].keys() == living_arms.ARMS.keys()
    assert figures["arms"]["default"]["recall@5"]["mean"] == 100.0
    assert (figures["costs"]["default"]["turns"], figures["costs"]["off"]["surfaced"]) == (4, 0)


def test_affect_and_recall_follows_the_mood(
    tmp_path: Path, out: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDAL_BENCH_DATA", raising=False)
    few = json.loads(affect.PAIRS.read_text("utf-8"))[:15]
    monkeypatch.setattr(affect, "PAIRS", written(tmp_path / "pairs.json", few))
    affect.main(["--json", str(out)])
    assert "pairs, in percent" in capsys.readouterr().out
    for figures in read(out)["pairs"].values():
        assert figures["agitated"] >= 90
        assert figures["order unchanged without a mood"] == 100


def test_code_is_read_and_its_dependents_are_right(capsys: Printed) -> None:
    pytest.importorskip("tree_sitter")
    code.main(["--package", "tidal_plugins/actions", "--ask", "read_command"])
    shown = capsys.readouterr().out
    assert "Replay._run (1)" in shown
    functions, found, right, true, precision, recall = shown.strip().split("\n")[-2].strip("│ ").split("│")
    assert int(functions) > 20
    assert int(right) <= min(int(found), int(true))
    assert min(float(precision), float(recall)) > 0.9


def test_extraction(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["extraction.py", "--json", str(out)])
    extraction.main()
    assert set(read(out)) == {"all", "seen", "held out"}


def test_graph(out: Path, capsys: Printed) -> None:
    graph.main(["--relations", "60", "--repeats", "2", "--json", str(out)])
    figures = read(out)["sizes"]["60"]
    assert figures["rates"].keys() == {"insert", "networkx insert"}
    assert all(times["p50_ms"] > 0 for times in figures["calls"].values())
    assert "60 relations" in capsys.readouterr().out


def test_graph_in_recall(tmp_path: Path, capsys: Printed) -> None:
    texts = ["I live in Porto, near the river, since the spring.", "The kettle makes a strange noise in the mornings."]
    talk = {"session_1_date_time": "1:56 pm on 8 May, 2024"}
    talk["session_1"] = [said(f"D1:{n}", "Ana", text) for n, text in enumerate(texts, 1)]  # type: ignore[assignment]
    case = {"sample_id": "talk", "conversation": talk, "qa": [question("Where does Ana live?", ["D1:1"])]}
    graph_recall.main(["--data", str(written(tmp_path / "talk.json", [case])), *HASHING])
    shown = capsys.readouterr().out
    assert "0 relations" not in shown
    for part in ("1 questions", graph_recall.ALONE, graph_recall.ONE, graph_recall.FUSED):
        assert part in shown


def test_pages_of_a_larger_memory_are_no_longer(out: Path) -> None:
    pytest.importorskip("starlette", reason="the extra inspect is not installed")
    from benchmarks.pages import main

    found = []
    for entries in (200, 800):
        main(["--entries", str(entries), "--json", str(out)])
        found.append(read(out))
    small, large = found
    assert small.keys() == large.keys()
    for page, figures in large.items():
        assert figures["bytes"] < 1.1 * small[page]["bytes"], page


def test_peers_are_each_asked_in_a_process_of_its_own(out: Path, capsys: Printed) -> None:
    """The peers that come with the tests stand for all."""
    peers.main(["--size", "100", "--repeats", "5", "--stores", "tidal", "SqliteStore", "--json", str(out)])
    stores = read(out)["stores"]
    assert stores.keys() == {"tidal", "SqliteStore"}
    for figures in stores.values():
        assert figures.keys() == {"entries_per_second", "search", "add", "memory", "files"}
        assert min(figures[name] for name in ("entries_per_second", "search", "add", "files")) > 0
    assert "SqliteStore" in capsys.readouterr().out


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
    monkeypatch.setattr(presence_crash, "KILLS", 2)
    assert presence_crash.lost_turns() == 0
    real = builtins.__import__

    def without(name: str, *args: object, **options: object) -> object:
        if name == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SystemExit, match=r"tidal-plugins\[plot\]"):
        presence.plot(tmp_path / "mood.png")


def test_the_model_of_nodes(tmp_path: Path, capsys: Printed) -> None:
    rows = [{"bytes_per_entry": 9_000, "recalls_per_second": 50.0, "calls": {"record": {"p50_ms": 25.0}}}]
    path = written(tmp_path / "scale.json", {"cores": 2, "processes": 8, "rows": rows})
    scale_model.main(["--measured", str(path), "--entries", "1e9", "--recalls", "10000", "--record-core-ms", "30"])
    printed = capsys.readouterr().out
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    assert any("9,000 │ bytes on disk" in line and "scale.py" in line for line in lines)
    assert any("30 │ ms of one core for a record" in line and "assumed" in line for line in lines)
    assert "1,000 M" in printed


def test_trust_runs_the_arms_that_are_named(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setattr(trust, "ARMS", {"one": lambda *_: True, "two": lambda *_: False})
    assert trust.main(["one", *HASHING]) == 0
    assert trust.main(HASHING) == 1
    with pytest.raises(SystemExit):
        trust.main(["three"])
    assert "no such arm: three" in capsys.readouterr().err
    found = costs.measured(20, 2)
    assert set(found) == {"record", "recall"}
    for seconds, spent in found.values():
        assert 0 < spent["checksums"] < seconds
    assert found["record"][1]["redaction"] > 0


# stories


def test_every_type_of_check_is_asked_at_its_time() -> None:
    outcomes = live(story.parsed(apiary()), HashingEmbedder(), TYPES)
    order = [outcome.check.id for outcome in outcomes]
    assert sorted(order) == sorted(TYPES)
    assert order[-1] == "remembered"
    assert order.index("mood") < order.index("whisper") < order.index("compaction") < order.index("dossier")
    assert {outcome.check.id: outcome.faults for outcome in outcomes if not outcome.passed} == {}


def test_a_lived_turn_is_checked_by_its_own_whisper_and_scopes_are_lived_apart() -> None:
    given = apiary()
    check = {"type": "whisper", "scope": "ada", "why": "-"}
    given["checks"] = [
        {**check, "id": "own", "turn": given["sessions"][0]["turns"][0]["user"]},
        {**check, "id": "of Ben", "scope": "ben", "turn": "Are bees on the roof?", "shows": []},
        {**check, "id": "for all", "scope": "ben", "type": "recall", "query": "sting", "shows": [["with ice"]]},
        {**check, "id": "refused", "type": "dossier", "topic": "the"},
    ]
    found = {outcome.check.id: outcome for outcome in live(story.parsed(given), HashingEmbedder(), TYPES)}
    assert "meadow" not in found["own"].text
    assert "roof" not in found["of Ben"].text
    assert found["for all"].passed
    assert found["refused"].faults[0].startswith("InvalidInput: ")
    assert stories.failed(Outcome(found["own"].check, "", ("is empty",))).endswith("(nothing)\n")


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


def test_files_that_are_no_stories_are_refused_by_name(tmp_path: Path) -> None:
    late = apiary()
    late["checks"][-1]["after_turn"] = 9
    for value, options, match in (
        (None, [], "holds no stories"),
        ({"name": "apiary"}, [], r"apiary\.json is not a story: KeyError 'sessions'"),
        (late, [], "no turn is where these checks are asked: mood"),
        (apiary(), ["--only", "barn"], "no story of these names: barn"),
    ):
        if value:
            written(tmp_path / "apiary.json", value)
        with pytest.raises(SystemExit, match=match):
            stories.main(["--data", str(tmp_path), *options])
