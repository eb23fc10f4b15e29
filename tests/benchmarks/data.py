"""Small inputs of the benchmarks, in the formats that they read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo wu".split()


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


# conversations in LoCoMo's format


def said(dia_id: str, speaker: str, text: str) -> dict[str, str]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text, "blip_caption": "a caption that stays out"}


def question(text: str, evidence: Any, category: int = 4) -> dict[str, Any]:
    return {"question": text, "answer": "an answer", "evidence": evidence, "category": category}


def garden() -> dict[str, Any]:
    """A conversation whose questions cite their evidence in every way that is met in the wild."""
    talk = {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_2_date_time": "12:05 am on 3 June, 2024",
        "session_2": [said("D2:1", "Ben", "The fox dug up my tulips."), said("D2:2", "Ada", "Put wire over them.")],
        "session_1_date_time": "1:56 pm on 8 May, 2024",
        "session_1": [
            said("D1:1", "Ada", "I planted eleven quince trees."),
            said("D1:2", "Ben", "My tulips are late."),
            said("D1:3", "Ada", "  "),
        ],
        "session_3_date_time": "1:00 pm on 9 July, 2024",
    }
    asked = [
        question("How many quince trees did Ada plant?", ["D1:1"]),
        question("What happened to the tulips?", ["D1:2; D2:1"], 1),
        question("Who protects tulips?", ["D:2:1 D2:02", "D9:9"], 2),
        question("Is there anything more?", ["D"]),
        question("Nothing at all?", []),
        question("Did Ben plant quinces?", "D1:1", 5),
    ]
    return {"sample_id": "garden", "conversation": talk, "qa": asked}


def name(number: int) -> str:
    """Return a word that no other number has."""
    return "".join(SYLLABLES[number // 15**place % 15] for place in range(3))


def talk(turns: int = 60) -> dict[str, Any]:
    """A conversation of two people, each with something to find later."""
    texts = [
        "I decided that " + ", ".join(name(5 * n + k) for k in range(5)) + f" stay in {name(5 * n + 5)}."
        for n in range(turns)
    ]
    lines = [said(f"D1:{n + 1}", ("Nora", "Ilse")[n % 2], text) for n, text in enumerate(texts)]
    asked = [question(f"Where does {name(5 * n)} stay?", [f"D1:{n + 1}"]) for n in range(0, turns, 9)]
    asked.append(question("What is Nora's sister called?", ["D1:1"], 5))
    session = {"session_1_date_time": "9:20 am on 3 June, 2024", "session_1": lines}
    return {"sample_id": "talk", "conversation": {"speaker_a": "Nora", "speaker_b": "Ilse", **session}, "qa": asked}


# other formats


def chat() -> dict[str, Any]:
    """Two conversations of a LongMemEval sample, the later one first."""

    def one(id_: str, date: str, kind: str, asked: str, *texts: str, **mark: bool) -> dict[str, Any]:
        roles = ("user", "assistant")
        turns = [{"role": role, "content": text, "date": date} for role, text in zip(roles, texts, strict=True)]
        turns[0] |= mark
        questions = [{"id": f"q {id_}", "question": asked, "answer": "-"}]
        return {"id": id_, "question_type": kind, "conversation": turns, "questions": questions}

    late, early = "2024/03/02 (Sat) 10:00", "2024/03/01 (Fri) 09:30"
    bike = one("late", late, "single-session-user", "What colour is my bike?", "My bike is green.", "A fine colour.")
    work = one("early", early, "multi-session", "How do I get to work?", "I ride to work.", "Good!", has_answer=True)
    return {"data": [bike, work]}


LOOP, MERGED, FERRY = "The user wants the classic loop.", "The user likes loops.", "The ferry is booked."


def ada() -> dict[str, Any]:
    """RealMem's person with a trip. Her query uses a memory of one turn, a merged one, and one of a later day."""

    def session(id_: str, day: str, *texts: str, **memories: int) -> dict[str, Any]:
        turns = [{"speaker": ("User", "Assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
        kept = [{"session": id_, "content": globals()[name], "turn": turn} for name, turn in memories.items()]
        return {"session": id_, "time": f"{day} (Monday)", "turns": turns, "memories": kept}

    asked = session("s2", "2026-01-05", "We settled on the loop. What's next?", "The ferry.")
    asked["turns"][0]["is_query"] = True
    used = [("s1", LOOP), ("s1", MERGED), ("s3", FERRY)]
    asked["turns"][1]["memory_used"] = [{"session_uuid": id_, "content": content} for id_, content in used]
    first = session("s1", "2026-01-05", "A trip, then.", "Which loop?", "The classic loop.", LOOP=3, MERGED=0)
    return {"Ada": [first, asked, session("s3", "2026-02-02", "Booked the ferry.", FERRY=1)]}


# runs of agents


def openai_run(number: int) -> dict[str, Any]:
    """A run of an agent that rents out boats, with an error and a change."""

    def call(name: str, id_: str, **arguments: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": id_, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}

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
    def act(thought: str, action: str) -> dict[str, str]:
        return {"role": "assistant", "content": "x", "thought": thought, "action": action}

    asked = f"Please repair the rounding of prices in till_{number}.py, they are one cent off."
    history = [
        {"role": "system", "content": "You repair code."},
        {"role": "user", "content": "A demonstration.", "is_demo": True},
        {"role": "user", "content": asked},
        act("I look first.", f"open till_{number}.py"),
        {"role": "user", "content": "return int(price)\n" * 20},
        act("Round it.", "edit 1:1\nreturn round(price)\nend_of_edit"),
        {"role": "user", "content": "SyntaxError: unexpected indent in line 3"},
        act("All done.", "submit"),
    ]
    return {"path": "p", "traj": {"history": history}}


# stories


def turn(user: str, agent: str, **more: Any) -> dict[str, Any]:
    return {"user": user, "agent": agent, "minutes": 2, **more}


def apiary() -> dict[str, Any]:
    """Two days of a beekeeper and an agent, and one check of each type."""
    read = {"name": "Read", "arguments": {"file_path": "hives.txt"}, "result": "hive 1: weak", "error": False}
    first = [turn("I keep the bees on the roof of the barn.", "On the roof of the barn, noted.")]
    first.append(turn("I work at Quince Orchards.", "Good to know.", tools=[read]))
    second = [turn("The bees are in the meadow now, not on the roof of the barn.", "In the meadow, noted.")]
    second.append(turn("Thanks", "You're welcome."))
    text, bees = "Cool a sting with ice.", "Where do I keep the bees?"
    after = {"session": "s2", "after_turn": 2, "max_tokens": 2_000}
    works = {"subject": ["user"], "predicate": ["works at"], "object": ["quince orchards"], "holds": True}
    checks = {
        "whisper": {"turn": bees, "at": "2026-03-03T09:00:00+00:00", "shows": [["roof"]], "hides": ["meadow"]},
        "silent": {"turn": "thanks!"},
        "recall": {"query": "bees in the meadow", "limit": 3, "shows": [["meadow now"]]},
        "remembered": {"query": bees, "at": "2026-09-01T09:00:00+00:00", "shows": [["meadow"]]},
        "capsule": {"hides": ["no such words"]},
        "dossier": {"topic": "bees", "shows": [["roof"]]},
        "brief": {"topic": "bees", "shows": [["meadow"]]},
        "relation": works,
        "no_relation": {"subject": ["user"], "object": ["stings"]},
        "conflict": {"key": "employer", "value": "Quince Orchards", "turn_said": "", "expect": False},
        "compaction": {**after, "shows": [["bees"]]},
        "files": {**after, "not_restored": ["other.txt"]},
        "mood": {"session": "s1", "after_turn": 1, "valence": ["between", -1, 1]},
    }
    return {
        "name": "apiary",
        "about": "A beekeeper.",
        "documents": [{"source": "stings.md", "kind": "kb", "at": "2026-03-01T08:00:00+00:00", "text": text}],
        "sessions": [
            {"id": id_, "scope": "ada", "start": f"2026-03-0{day}T09:00:00+00:00", "turns": turns}
            for id_, day, turns in (("s1", 2, first), ("s2", 5, second))
        ],
        "disk": {"hives.txt": "hive 1: strong"},
        "checks": [
            {"id": kind, "type": kind, "scope": "ada", "why": "one of each type", **fields}
            for kind, fields in checks.items()
        ],
    }
