"""The benchmark of stories: how an answer is judged, and that a story is lived in its order through the public API."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks import stories, story, story_checks
from benchmarks.story_asking import TYPES
from benchmarks.story_checks import File
from benchmarks.story_life import Outcome, live
from tidal_plugins import HashingEmbedder
from tidal_plugins.model.graph import Relation

NOW = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def relation(predicate: str = "works_at", *, until: datetime | None = None, negated: bool = False) -> Relation:
    return Relation("r", "a", predicate, "b", 0.9, NOW - 9 * DAY, until, NOW - 9 * DAY, None, (), (), negated)


# texts


def test_texts_are_compared_without_regard_to_case_and_white_space() -> None:
    assert story_checks.text_faults("The Bees\n  are on the ROOF.", {"shows": [["bees are on the roof"]]}) == []
    assert story_checks.text_faults("The bees ARE\tgone.", {"hides": ["are gone"]}) == ["must not show «are gone»"]


def test_one_alternative_of_each_group_is_enough() -> None:
    fields = {"shows": [["11 April", "April 11"], ["van", "lorry"]]}
    assert story_checks.text_faults("On April 11 with a van", fields) == []
    assert story_checks.text_faults("On 11 April", fields) == ["shows none of «van» | «lorry»"]


@pytest.mark.parametrize(
    ("text", "passes"), [("new, was old", True), ("new", True), ("old, now new", False), ("old", False), ("", False)]
)
def test_the_first_must_stand_before_the_later_or_alone(text: str, passes: bool) -> None:
    assert (story_checks.text_faults(text, {"order": [["new"], ["old"]]}) == []) is passes


def test_a_group_that_is_missing_twice_is_one_fault() -> None:
    faults = story_checks.text_faults("old", {"shows": [["new"]], "order": [["new"], ["old"]]})
    assert faults == ["shows none of «new»"]


def test_only_an_empty_text_is_silent() -> None:
    assert story_checks.silent_faults(" \n") == []
    assert story_checks.silent_faults("something") == ["is not silent"]


# numbers, conflicts, relations, files


@pytest.mark.parametrize(
    ("valence", "expected", "passes"),
    [
        (-0.3, ["below", -0.2], True),
        (-0.1, ["below", -0.2], False),
        (0.3, ["above", 0.2], True),
        (0.0, ["between", -0.1, 0.1], True),
        (0.2, ["between", -0.1, 0.1], False),
    ],
)
def test_a_mood_lies_within_its_bounds(valence: float, expected: list[Any], passes: bool) -> None:
    assert (story_checks.mood_faults(valence, expected) == []) is passes


def test_a_conflict_must_be_open_exactly_where_one_is_expected() -> None:
    fields = {"key": "Berth", "value": "17", "turn_said": "We are on 9 now.", "expect": True}
    assert story_checks.conflict_faults(["berth"], fields) == []
    assert story_checks.conflict_faults([], fields) == ["no conflict is open: «We are on 9 now.» against Berth = 17"]
    assert story_checks.conflict_faults([], {**fields, "expect": False}) == []
    assert story_checks.conflict_faults(["berth"], {**fields, "expect": False})


def test_a_relation_holds_under_any_of_its_predicates() -> None:
    fields = {"predicate": ["works for", "works at"], "holds": True}
    assert story_checks.relation_faults([relation()], fields, NOW) == []
    assert story_checks.relation_faults([relation(until=NOW + DAY)], fields, NOW) == []
    assert story_checks.relation_faults([relation(until=NOW - DAY)], fields, NOW) == ["is known as ended"]
    assert story_checks.relation_faults([relation("likes"), relation(negated=True)], fields, NOW) == ["is not known"]


def test_a_relation_that_ended_must_be_known_and_not_absent() -> None:
    fields = {"predicate": ["works_at"], "holds": False}
    assert story_checks.relation_faults([relation(until=NOW - DAY)], fields, NOW) == []
    assert story_checks.relation_faults([], fields, NOW) == ["is not known as ended"]
    assert story_checks.relation_faults([relation()], fields, NOW) == ["is known as holding"]


def test_a_denial_joins_nothing() -> None:
    assert story_checks.no_relation_faults([relation(negated=True)]) == []
    assert story_checks.no_relation_faults([relation("owns")]) == ["they are joined by owns"]


def test_a_file_is_given_back_with_its_content() -> None:
    fields = {"restored": [{"path": "a.py", "contains": ["x = 2"], "lacks": ["x = 1"]}], "not_restored": ["b.py"]}
    assert story_checks.file_faults([File("a.py", "x = 2")], fields, {}) == []
    assert story_checks.file_faults([File("a.py", "x = 1"), File("b.py", "")], fields, {}) == [
        "b.py was given back",
        "a.py lacks «x = 2»",
        "a.py must not hold «x = 1»",
    ]
    assert story_checks.file_faults([], fields, {}) == ["a.py was not given back"]


def test_a_file_that_changed_is_given_as_it_is_now_or_marked() -> None:
    fields, disk = {"stale": ["a.py"]}, {"a.py": "x = 2\ny = 3\n"}
    assert story_checks.file_faults([File("a.py", "     1\tx = 2\n     2\ty = 3")], fields, disk) == []
    assert story_checks.file_faults([File("a.py", "x = 1\n(this may be out of date)")], fields, disk) == []
    assert story_checks.file_faults([File("a.py", "x = 1")], fields, disk)
    assert story_checks.file_faults([], fields, disk) == ["a.py was not given back"]


# living


def turn(user: str, agent: str, **more: Any) -> dict[str, Any]:
    return {"user": user, "agent": agent, "minutes": 2, **more}


def apiary() -> dict[str, Any]:
    """Two days of a beekeeper and an agent, and one check of each type."""
    read = {"name": "Read", "arguments": {"file_path": "hives.txt"}, "result": "hive 1: weak", "error": False}
    after = {"session": "s2", "after_turn": 2}
    bees = "Where do I keep the bees?"
    return {
        "name": "apiary",
        "about": "A beekeeper.",
        "documents": [
            {"source": "stings.md", "kind": "kb", "at": "2026-03-01T08:00:00+00:00", "text": "Cool a sting with ice."}
        ],
        "sessions": [
            {
                "id": "s1",
                "scope": "ada",
                "start": "2026-03-02T09:00:00+00:00",
                "turns": [
                    turn("I keep the bees on the roof of the barn.", "On the roof of the barn, noted."),
                    turn("I work at Quince Orchards.", "Good to know.", tools=[read]),
                ],
            },
            {
                "id": "s2",
                "scope": "ada",
                "start": "2026-03-05T09:00:00+00:00",
                "turns": [
                    turn("The bees are in the meadow now, not on the roof of the barn.", "In the meadow, noted."),
                    turn("Thanks", "You're welcome."),
                ],
            },
        ],
        "disk": {"hives.txt": "hive 1: strong"},
        "checks": [
            {"id": type, "type": type, "scope": "ada", "why": "one of each type", **fields}
            for type, fields in {
                "whisper": {"turn": bees, "at": "2026-03-03T09:00:00+00:00", "shows": [["roof"]], "hides": ["meadow"]},
                "silent": {"turn": "thanks!"},
                "recall": {"query": "bees in the meadow", "limit": 3, "shows": [["meadow now"]]},
                "remembered": {"query": bees, "at": "2026-09-01T09:00:00+00:00", "shows": [["meadow"]]},
                "capsule": {"hides": ["no such words"]},
                "dossier": {"topic": "bees", "shows": [["roof"]]},
                "brief": {"topic": "bees", "shows": [["meadow"]]},
                "relation": {
                    "subject": ["user"],
                    "predicate": ["works at"],
                    "object": ["quince orchards"],
                    "holds": True,
                },
                "no_relation": {"subject": ["user"], "object": ["stings"]},
                "conflict": {"key": "employer", "value": "Quince Orchards", "turn_said": "", "expect": False},
                "compaction": {**after, "max_tokens": 2_000, "shows": [["bees"]]},
                "files": {**after, "max_tokens": 2_000, "not_restored": ["other.txt"]},
                "mood": {"session": "s1", "after_turn": 1, "valence": ["between", -1, 1]},
            }.items()
        ],
    }


def test_every_type_of_check_is_asked_at_its_time() -> None:
    outcomes = live(story.parsed(apiary()), HashingEmbedder(), TYPES)
    assert sorted(outcome.check.id for outcome in outcomes) == sorted(TYPES)
    assert [outcome.check.id for outcome in outcomes][-1] == "remembered"
    order = [outcome.check.id for outcome in outcomes]
    assert order.index("mood") < order.index("whisper") < order.index("compaction") < order.index("dossier")
    assert {outcome.check.id: outcome.faults for outcome in outcomes if not outcome.passed} == {}


def test_a_turn_that_was_lived_is_checked_by_its_own_whisper() -> None:
    given = apiary()
    first = given["sessions"][0]["turns"][0]["user"]
    given["checks"] = [{"id": "w", "type": "whisper", "scope": "ada", "why": "the first turn", "turn": first}]
    [outcome] = live(story.parsed(given), HashingEmbedder(), ["whisper"])
    assert "meadow" not in outcome.text


def test_scopes_are_lived_apart() -> None:
    given = apiary()
    given["checks"] = [
        {"id": "w", "type": "whisper", "scope": "ben", "why": "Ada's", "turn": "Are bees on the roof?", "shows": []},
        {"id": "d", "type": "recall", "scope": "ben", "why": "for all", "query": "sting", "shows": [["with ice"]]},
    ]
    whisper, document = live(story.parsed(given), HashingEmbedder(), TYPES)
    assert "roof" not in whisper.text
    assert document.passed


def test_what_the_memory_refuses_is_a_failed_check() -> None:
    given = apiary()
    given["checks"] = [{"id": "d", "type": "dossier", "scope": "ada", "why": "stop words", "topic": "the"}]
    [outcome] = live(story.parsed(given), HashingEmbedder(), TYPES)
    assert outcome.faults[0].startswith("InvalidInput: ")


# the command


def told(tmp_path: Path, value: Any) -> Path:
    (tmp_path / "apiary.json").write_text(json.dumps(value), "utf-8")
    return tmp_path


def test_the_command_counts_by_type_and_story_and_hard_ones_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = apiary()
    given["checks"] += [{**given["checks"][2], "id": "lost", "shows": [["wasps"]]}]
    given["checks"] += [{**given["checks"][2], "id": "far", "shows": [["hornets"]], "hard": True}]
    argv = ["--data", str(told(tmp_path, given)), "--embedder", "hashing", "--type", "recall", "--fails"]
    stories.main(argv)
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    assert rows == [["recall", "1/2", "1/2"], ["all", "1/2", "1/2"], ["hard", "0/1", "0/1"]]
    assert "lost (recall): one of each type" in printed
    assert "query: bees in the meadow, limit: 3" in printed
    assert "✗ shows none of «wasps»" in printed
    assert "| The bees are in the meadow now" in printed


def test_a_failing_check_says_that_nothing_came() -> None:
    check = story.parsed(apiary()).checks[0]
    assert stories.failed(Outcome(check, "", ("is empty",))).endswith("(nothing)\n")


@pytest.mark.slow
def test_processes_count_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--data", str(told(tmp_path, apiary())), "--embedder", "hashing", "-j", "2"]
    stories.main(argv)
    assert "13/13" in capsys.readouterr().out


def test_files_that_are_no_stories_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no stories"):
        stories.main(["--data", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"apiary\.json is not a story: KeyError 'sessions'"):
        stories.main(["--data", str(told(tmp_path, {"name": "apiary"}))])
    given = apiary()
    given["checks"][-1]["after_turn"] = 9
    with pytest.raises(SystemExit, match="no turn is where these checks are asked: mood"):
        stories.main(["--data", str(told(tmp_path, given))])
    with pytest.raises(SystemExit, match="no story of these names: barn"):
        stories.main(["--data", str(told(tmp_path, apiary())), "--only", "barn"])
