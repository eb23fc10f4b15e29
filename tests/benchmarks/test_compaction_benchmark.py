"""The compaction benchmark: what counts as kept, what its loaders read, and the command as it is run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compaction, compaction_cases, contexts, locomo, trajectories
from benchmarks.compaction_arms import Compacted, Opener
from benchmarks.compaction_cases import Asked, Case, Fact, Shown
from benchmarks.trajectories import Run
from tidal_plugins import ContextOverflow, HashingEmbedder, Message, ToolCall
from tidal_plugins.compaction.turns import history
from tidal_plugins.model.compaction import unpaired
from tidal_plugins.scoring.text import terms

ROOT = Path(__file__).resolve().parents[2]
SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo wu".split()


def name(number: int) -> str:
    """A word that no other number has."""
    return "".join(SYLLABLES[number // 15**place % 15] for place in range(3))


def fact(text: str, *, verbatim: bool = True) -> Fact:
    return Fact("evidence", text if verbatim else "", frozenset(terms(text)))


def talk(turns: int = 60) -> dict[str, Any]:
    """A conversation of two people in LoCoMo's format, each with something to find later."""
    said = [
        {
            "speaker": ("Nora", "Ilse")[n % 2],
            "dia_id": f"D1:{n + 1}",
            "text": "I decided that " + ", ".join(name(5 * n + k) for k in range(5)) + f" stay in {name(5 * n + 5)}.",
        }
        for n in range(turns)
    ]
    asked = [
        {"question": f"Where does {name(5 * n)} stay?", "answer": "-", "evidence": [f"D1:{n + 1}"], "category": 4}
        for n in range(0, turns, 9)
    ]
    asked.append(
        {"question": "What is Nora's sister called?", "adversarial_answer": "-", "evidence": ["D1:1"], "category": 5}
    )
    talked = {
        "speaker_a": "Nora",
        "speaker_b": "Ilse",
        "session_1_date_time": "9:20 am on 3 June, 2024",
        "session_1": said,
    }
    return {"sample_id": "talk", "conversation": talked, "qa": asked}


def openai_run(number: int) -> dict[str, Any]:
    """A run of an agent that rents out boats, with an error and a change."""

    def call(name: str, id_: str, **arguments: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": id_, "type": "function", "function": function}],
        }

    def result(id_: str, text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": id_, "name": "-", "content": text}

    return {
        "traj": [
            {"role": "system", "content": "You rent out boats."},
            {"role": "user", "content": f"I want to rent the green dinghy number {number} for three days in June."},
            call("get_boats", "a", colour="green"),
            result("a", json.dumps([{"boat": n, "seats": n % 5, "colour": "green"} for n in range(40)])),
            call("book_boat", "a", boat=number, days=3, payment="voucher"),
            result("a", f"Error: the voucher {number} has expired"),
            call("book_boat", "b", boat=number, days=3, payment="card"),
            result("b", "booked"),
            {"role": "assistant", "content": f"Dinghy {number} is yours for three days, paid by card."},
            {"role": "user", "content": "Thanks!"},
        ]
    }


def swe_agent_run(number: int) -> dict[str, Any]:
    history = [
        {"role": "system", "content": "You repair code."},
        {"role": "user", "content": "A demonstration.", "is_demo": True},
        {
            "role": "user",
            "content": f"Please repair the rounding of prices in till_{number}.py, they are one cent off.",
        },
        {"role": "assistant", "content": "x", "thought": "I look first.", "action": f"open till_{number}.py"},
        {"role": "user", "content": "return int(price)\n" * 20},
        {
            "role": "assistant",
            "content": "x",
            "thought": "Round it.",
            "action": "edit 1:1\nreturn round(price)\nend_of_edit",
        },
        {"role": "user", "content": "SyntaxError: unexpected indent in line 3"},
        {"role": "assistant", "content": "x", "thought": "All done.", "action": "submit"},
    ]
    return {"path": "p", "traj": {"history": history}}


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


# what counts as kept


def test_a_statement_keeps_what_most_of_its_words_say() -> None:
    shown = Shown([Message("assistant", "- Nora planted quince trees [ep:1a]")])
    assert shown.states(fact("Nora planted eleven quince trees behind chapel")) == pytest.approx(4 / 7)


def test_words_in_different_statements_do_not_add_up() -> None:
    shown = Shown([Message("assistant", "Nora planted [ep:1a] eleven quince\ntrees")])
    assert shown.states(fact("Nora planted eleven quince trees")) == pytest.approx(2 / 5)


def test_an_id_alone_states_nothing() -> None:
    shown = Shown([Message("assistant", "[ep:quince] [mem:planted]")])
    assert shown.states(fact("planted quince")) == 0


def test_a_long_text_that_stands_there_word_for_word_is_kept() -> None:
    text = " ".join(f"word{n}" for n in range(200)) + "."
    assert Shown([Message("user", f"Well. {text} And so on.")]).states(fact(text)) == 1


def test_a_long_line_is_read_in_pieces() -> None:
    filler = " ".join(f"word{n}" for n in range(100))
    shown = Shown([Message("tool", f"quince {filler} trees")])
    assert shown.states(fact("quince trees")) == 0.5


def test_a_call_states_its_arguments() -> None:
    shown = Shown([Message("assistant", "", tool_calls=(ToolCall("book_boat", {"boat": 7, "payment": "card"}),))])
    assert shown.states(fact("book_boat 7 card", verbatim=False)) == 1


@pytest.mark.parametrize("arm", [lambda new: list(new), None])
def test_a_context_over_the_limit_and_an_error_keep_nothing(arm: Any) -> None:
    def refuses(new: Any) -> Any:
        raise ContextOverflow("it does not fit")

    case = Case("one", (Message("user", "quince trees " * 400),), (fact("quince trees"),), (Asked("all", (0,)),))
    made = compaction._filled(Opener(lambda own, trigger: arm or refuses), case.messages, 100, steps=1)
    result = compaction._measured(case, made, 100, made, 0, [[]])
    assert (result.fits, result.rows["kept"]) == (False, [[0.0, 0.0]])


def test_an_arm_that_leaves_room_may_have_a_higher_limit_of_its_own() -> None:
    given: list[int] = []

    def opened(limit: int, trigger: int) -> contexts.Arm:
        given.append(limit)
        return lambda new: [Message("assistant", "word " * (limit // 3))]  # less than half of what it may have

    messages = [Message("user", "hello")]
    made = compaction._filled(Opener(opened), messages, 1000, steps=1)
    assert 960 <= made.tokens <= 1000
    assert given[0] == 1000
    fixed: Compacted = compaction._filled(Opener(opened, fixed=True), messages, 1000, steps=1)
    assert fixed.tokens < 500


# what is read


def test_a_conversation_becomes_a_history_of_user_and_assistant(tmp_path: Path) -> None:
    value = talk(6)
    value["conversation"]["session_1"][1]["speaker"] = "Nora"  # two in a row
    (given,) = locomo.load(written(tmp_path / "talk.json", [value])).conversations
    case = compaction_cases.conversation(given)
    assert [message.role for message in case.messages] == ["user", "assistant", "user", "assistant"]
    assert case.messages[0].text.count("I decided") == 3
    assert [asked.query for asked in case.asked] == ["Where does bababa stay?"]  # the adversarial one is out


def test_runs_of_openai_style_keep_their_pairs(tmp_path: Path) -> None:
    (run,) = trajectories.load(written(tmp_path / "runs.json", [openai_run(7)]))
    assert [message.role for message in run.messages[:3]] == ["user", "assistant", "tool"]
    assert unpaired(run.messages) == []
    assert [message.error for message in run.messages if message.role == "tool"] == [False, True, False]


@pytest.mark.parametrize("form", ["history", "trajectory"])
def test_runs_of_swe_agent_become_calls_and_results(tmp_path: Path, form: str) -> None:
    value = swe_agent_run(1)
    if form == "trajectory":
        step = {"thought": "I look first.", "action": "open till_1.py", "observation": "return int(price)"}
        value = {"traj": {"trajectory": [step]}}
    (run,) = trajectories.load(written(tmp_path / "runs.jsonl", json.dumps(value)))
    asked, looked, found = run.messages[:3]
    assert (asked.role, looked.text, found.role) == ("user", "I look first.", "tool")
    assert looked.tool_calls[0].name == "open"
    assert dict(looked.tool_calls[0].arguments) == {"command": "open till_1.py"}
    assert unpaired(run.messages) == []


def test_joined_runs_are_one_session_of_several_turns(tmp_path: Path) -> None:
    runs = trajectories.load(written(tmp_path / "runs.json", [openai_run(n) for n in range(3)]))
    first, last = trajectories.joined(runs, 2)
    assert (len(first.messages), len(last.messages)) == (16, 8)
    assert unpaired(first.messages) == []
    assert len(history(first.messages).turns) == 2


def test_evidence_of_a_run_are_changes_requirements_and_errors(tmp_path: Path) -> None:
    case = compaction_cases.trajectory(trajectories.load(written(tmp_path / "runs.json", [openai_run(7)]))[0])
    kinds = [fact.kind for fact in case.facts]
    assert kinds[:4] == ["requirement", "action", "error", "action"]  # neither what was looked up, nor thanks
    assert kinds[4:] == ["constraint"]  # what is counted apart
    assert case.asked[0].facts == (0, 1, 2, 3)
    assert {"book", "7", "card"} <= case.facts[3].words


@pytest.mark.parametrize("text", ["", "{", "[]", '[{"traj": [{"role": "user"}, 3]}]', '{"traj": 1}'])
def test_what_is_no_trajectory_ends_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(SystemExit, match="bad"):
        trajectories.load(written(tmp_path / "bad.json", text))


# the peers


def turns(count: int = 40) -> list[Message]:
    value = [Run("r", trajectories._messages(openai_run(n)["traj"], n)) for n in range(count // 8)]
    run = trajectories.joined(value, len(value))[0]
    return list(compaction_cases.trajectory(run).messages)


@pytest.mark.parametrize(
    "opened",
    [
        contexts.last_messages,
        contexts.trimmed,
        lambda limit: contexts.summarised(limit, 0.5, limit, trims=True),
        lambda limit: contexts.summarised(limit, 0.875, limit, trims=False),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_peers_keep_within_the_limit_and_end_with_the_last_message(opened: Any, step: int) -> None:
    messages, arm = turns(), opened(900)
    for start in range(0, len(messages), step):
        context = arm(messages[start : start + step])
    assert contexts.size(context).tokens <= 900
    assert context[-1].text == messages[-1].text


def test_a_peer_is_given_its_earlier_summary_as_such() -> None:
    arm = contexts.summarised(600, 0.5, 600, trims=False)
    for message in turns():
        context = arm([message])
    assert context[0].text.startswith("Here is a summary")
    assert context[0].text.count("Here is a summary") == 1
    assert "[ep:" not in context[0].text


# the command


def test_the_command_measures_both_kinds_and_prints_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SPEED_MESSAGES", 80)
    data = tmp_path / "data"
    data.mkdir()
    written(data / "talk.json", [talk()])
    written(data / "boats.json", [openai_run(n) for n in range(5)])
    written(data / "tills.jsonl", "\n".join(json.dumps(swe_agent_run(n)) for n in range(5)))
    written(data / "other.json", {"no": "conversation"})
    out = tmp_path / "out.json"
    compaction.main(["--data", str(data), "--limits", "800", "--embedder", "hashing", "--json", str(out)])
    printed = capsys.readouterr()
    assert "passed over" in printed.err
    assert "other.json" in printed.err
    for title in (
        "Conversations, compacted at once",
        "on top of the time before",
        "boats.json",
        "tills.jsonl",
        "recorded messages",
    ):
        assert title in printed.out
    for arm in ("ours", "SummarizationMiddleware", "langmem", "trim_messages", "the last messages"):
        assert arm in printed.out
    figures = json.loads(out.read_text("utf-8"))
    first = {row["arm"]: row for row in figures["reports"][0]["arms"]}
    assert all(first["ours"]["fits"])
    assert max(first["ours"]["tokens"]) <= 800
    assert first["ours"]["scores"]["with recall"][0]["mean"] > first["the last messages"]["scores"]["kept"][0]["mean"]
    assert figures["speed"]["ours"]["seconds"] > 0


def test_without_data_it_measures_speed_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDAL_BENCH_DATA", raising=False)
    monkeypatch.setattr(compaction, "SPEED_MESSAGES", 80)
    compaction.main(["--quick", "--embedder", "hashing"])
    assert "Compacting 80 recorded messages" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_runs_by_its_path() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("TIDAL_BENCH_DATA", "PYTHONPATH")}
    command = [sys.executable, str(ROOT / "benchmarks" / "compaction.py"), "--help"]
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert "--data" in done.stdout


def test_what_is_measured_for_speed_is_a_history_of_recorded_turns() -> None:
    messages = compaction_cases.work(100)
    assert len(messages) == 100
    assert unpaired(messages) == []
    assert len(history(messages).turns) == 25
    assert HashingEmbedder().dimensions


def test_an_arm_that_shows_nothing_is_measured_too() -> None:
    made = compaction._filled(Opener(lambda own, trigger: lambda new: []), [Message("user", "hello")], 100, steps=1)
    assert (made.tokens, made.context) == (0, [])
