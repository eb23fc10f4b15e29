import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sentences import sentences
from tidal_plugins import CompactionError, Message, Statement, ToolCall
from tidal_plugins.model.dossier import Source
from tidal_plugins.protocols import Purpose, Summariser
from tidal_plugins.scoring.priority import MIN_PRIORITY
from tidal_plugins.summarising.extractive import ExtractiveSummariser
from tidal_plugins.summarising.quotes import quotes, weights
from tidal_plugins.summarising.sizes import ApproximateCounter
from tidal_plugins.summarising.summary import Condensed, condense

SENTENCES = sentences(__file__)

COUNTER = ApproximateCounter()


def said(id_: str, user: str = "", agent: str = "", *tools: ToolCall) -> Source:
    """A turn; a tool call with a result is answered."""
    messages = [Message("user", user, f"{id_}/u")]
    for number, call in enumerate(tools):
        call_id = f"c{number}"
        called = ToolCall(call.name, call.arguments, call_id)
        messages.append(Message("assistant", "", f"{id_}/a{number}", tool_calls=(called,)))
        if call.result is not None:
            result = Message("tool", call.result, f"{id_}/t{number}", tool_call_id=call_id, error=call.error)
            messages.append(result)
    return Source(id_, (*messages, Message("assistant", agent, f"{id_}/answer")))


def summary(
    sources: Sequence[Source],
    max_tokens: int = 1_000,
    *,
    purpose: Purpose = "summary",
    previous: Sequence[Statement] = (),
) -> list[Statement]:
    return ExtractiveSummariser().summarise(sources, purpose=purpose, previous=previous, max_tokens=max_tokens)


def text(statements: Sequence[Statement]) -> str:
    return "\n".join(map(str, statements))


def size(statements: Sequence[Statement]) -> int:
    return sum(COUNTER.count(str(statement)) for statement in statements)


BOATHOUSE = [
    said("e1", "Hi there!", "Hello! How can I help?"),
    said("e2", "The boathouse door must be painted green before 3 May.", "Okay, thanks!"),
    said("e3", "Thanks a lot!", "You're welcome!"),
    said("e4", "Which paint do we take?", "We decided on the linseed paint from Halvorsen, 24 euros a litre."),
    said(
        "e5",
        "Order it.",
        "The order is placed.",
        ToolCall("search_shop", {"query": "linseed paint"}, result="3 results"),
        ToolCall("order_paint", {"colour": "green", "litres": 4}, result="TimeoutError: the shop did not answer"),
        ToolCall("order_paint", {"colour": "green", "litres": 4}, result="order 7781 confirmed"),
    ),
]


def test_what_matters_is_quoted_and_cited_in_order() -> None:
    found = summary(BOATHOUSE)
    assert [statement.sources for statement in found] == [("e2",), ("e4",), ("e5",)]
    assert found[0].text == "User: The boathouse door must be painted green before 3 May."
    assert "decided on the linseed paint from Halvorsen" in found[1].text
    assert found[0].messages == ("e2/u",)
    assert set(found[2].messages) >= {"e5/a1", "e5/t1", "e5/a2", "e5/t2"}
    assert summary([BOATHOUSE[0], BOATHOUSE[2]], 10_000) == [], "chatter has no place"
    assert summary(BOATHOUSE, 80) == summary(list(BOATHOUSE), 80)


def test_what_carries_something_has_a_higher_priority_and_chatter_none() -> None:
    told = ("The report must be shorter than two pages.", "I moved to Oslo in May.", "Call me on 14 October at 9:30.")
    chatter = ("Hi there!", "Thanks so much!", "Talk to you soon!", "Ok, great.")
    [plain] = weights(["It rained a bit, and then it did not."], ["user"])
    assert min(weights(told, ["user"] * 3)) > plain >= MIN_PRIORITY
    assert max(weights(chatter, ["user"] * 4)) < MIN_PRIORITY
    assert weights(["How can I help?"], ["assistant"])[0] < MIN_PRIORITY
    assert min(weights(["Спасибо!", "ありがとう。"], ["user"] * 2)) >= MIN_PRIORITY, "nothing is dropped by a guess"
    assert weights(told[:1], ["assistant"]) < weights(told[:1], ["user"])


def test_tools_are_told_with_their_arguments_and_what_came_of_them() -> None:
    told = text(summary(BOATHOUSE))
    assert "order_paint(colour=green, litres=4) failed: TimeoutError: the shop did not answer" in told
    assert "order_paint(colour=green, litres=4): order 7781 confirmed" in told
    tight = text(summary(BOATHOUSE[4:], 45))
    assert "order 7781 confirmed" in tight
    assert "search_shop" not in tight, "what changed comes before what was looked up"
    unanswered = said("e1", "", "", ToolCall("order_paint", {"c": "green"}))
    assert "order_paint(green): no result" in text(summary([unanswered]))


def test_every_source_is_heard_before_one_is_told_in_full() -> None:
    long = said(
        "long", " ".join(f"The valve number {n} in hall {n * 7} needs a gasket of type K{n}." for n in range(60))
    )
    short = [said(f"s{n}", f"The meeting with team {name} moved to room {n}.") for n, name in enumerate("ABCDEF")]
    cited = {statement.sources[0] for statement in summary([long, *short], 260)}
    assert cited == {"long", *(f"s{n}" for n in range(6))}


TULIPS = (
    Message("user", "I planted forty tulips in the north bed.", "1", speaker="Aino"),
    Message("assistant", "I sold the greenhouse to Marek last week.", "2", speaker="Pekka"),
)
WOW = (Message("user", "Wow, my brother Tomas won the regatta in Kiel!", speaker="Ada"),)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (TULIPS, "Aino: I planted forty tulips in the north bed. Pekka: I sold the greenhouse to Marek last week."),
        (WOW, "Ada: My brother Tomas won the regatta in Kiel!"),  # without the interjection
        ("Yes, cancel the order for Lund.", "User: Yes, cancel the order for Lund."),
        ("No, keep the order for Lund.", "User: No, keep the order for Lund."),
        ("Our ferry leaves Turku at 20:55 on Sunday. It costs 89 euros, cabin included.",
         "User: Our ferry leaves Turku at 20:55 on Sunday. It costs 89 euros, cabin included."),
        ("私は毎週土曜日に京都の陶芸教室に通っています。", "User: 私は毎週土曜日に京都の陶芸教室に通っています。"),
    ],
)  # fmt: skip
def test_a_turn_is_quoted_by_whole_sentences_under_one_citation(turn: Any, expected: str) -> None:
    [found] = summary([Source("e1", turn) if isinstance(turn, tuple) else said("e1", turn)])
    assert str(found) == f"{expected} [ep:e1]"


def test_the_same_words_again_do_not_take_the_place_of_others() -> None:
    same = [said(f"a{n}", "The pump in cellar 4 must run on 60 volts.") for n in range(8)]
    other = said("b", "The gate code must be changed to Orion.")
    assert "Orion" in text(summary([*same, other], 60))


@pytest.mark.parametrize("purpose", ["summary", "synthesis"])
def test_the_budget_is_kept(purpose: Purpose) -> None:
    previous = [Statement("User: The mast is 12 m. The keel must be oiled yearly.", ("old1", "old2"))]
    for budget in (-5, 0, 3, 12, 25, 60, 150, 400, 2_000):
        assert size(summary(BOATHOUSE, budget, purpose=purpose, previous=previous)) <= max(0, budget)


texts = st.text(max_size=120) | st.text(alphabet="ab .!?\n:[]ep\u200b東é👍", max_size=120)
calls = st.builds(ToolCall, texts, st.dictionaries(texts, texts | st.integers(), max_size=3), result=st.none() | texts)


@given(st.lists(st.builds(said, st.sampled_from("abc"), texts, texts, calls), max_size=5), st.integers(0, 200))
def test_whatever_was_said_statements_are_lines_within_the_budget(sources: list[Source], budget: int) -> None:
    for purpose in ("summary", "synthesis"):
        found = summary(sources, budget, purpose=purpose)  # type: ignore[arg-type]
        assert size(found) <= budget
        for statement in found:
            assert statement.text.strip()
            assert statement.text.isprintable()
            assert "[ep:" not in statement.text.replace(" ", "").lower()


def test_nothing_said_gives_nothing() -> None:
    prompt = Source("e1", (Message("system", "You must never reveal the code 4411."),))
    nothing = [Source("e1", ()), said("e2"), said("e3", " \n", "👍"), said("e4", "[forgotten]"), prompt]
    assert summary([]) == summary(nothing) == []


def test_a_quoted_citation_cannot_pass_for_ours() -> None:
    hostile = said("e1", "The archive must cite [ep:zz9] and [\u200bep:zz8] and [ EP : zz7] on page 12.")
    told = text(summary([hostile]))
    assert "page 12" in told
    assert told.count("[") == 1
    assert told.endswith("[ep:e1]")


def test_long_sentences_and_results_are_cut() -> None:
    dump = ToolCall("Bash", {"command": f"echo {'x' * 5_000}"}, result="y " * 5_000)
    found = quotes(said("e1", "word " * 2_000, "", dump).messages)
    assert all(len(quote.text) < 500 for quote in found)


# earlier statements


def test_earlier_statements_come_first_and_keep_what_they_cite() -> None:
    earlier = Statement("User: The mast of the Albatros is 12 m high.", ("old1", "old2"), ("m1",))
    found = summary(BOATHOUSE[1:2], previous=[earlier])
    assert found[0] == earlier
    assert found[1].sources == ("e2",)


def test_earlier_statements_compete_sentence_by_sentence() -> None:
    earlier = [
        Statement(
            f"User: The key {n} of cabinet {n * 3} hangs in hall {n}. Agent: It was moved to drawer R{n}.",
            (f"old{n}",),
            ("m",),
        )
        for n in range(10)
    ]
    found = summary([], size(earlier) * 2 // 3, previous=earlier)
    assert len(found) >= 7
    assert any(statement.text not in {each.text for each in earlier} for statement in found)
    assert all(statement.messages in ((), ("m",)) for statement in found)


def test_who_said_it_stays_when_an_earlier_statement_is_taken_apart() -> None:
    told = "Pekka: It was quiet there. Aino: We met at noon. I planted forty tulips at Lake Saimaa in 2019."
    found = summary(
        [said("e1", "Aino and Pekka left.")], 30, previous=[Statement(told, ("old",)), Statement("Aino: Yes.", ("o",))]
    )
    assert found[0].text == "Aino: We met at noon. I planted forty tulips at Lake Saimaa in 2019."


# synthesis


TESTED = said(
    "t1",
    "Make the tests pass.",
    "The tests pass now: the fixture used a stale port. I decided to read the port from config.toml.",
    ToolCall("Bash", {"command": "pytest -q"}, result="E  OSError: port 8080 is taken\n1 failed in 0.4s"),
    ToolCall("Read", {"file_path": "tests/conftest.py"}, result="PORT = 8080"),
    ToolCall(
        "Edit", {"file_path": "tests/conftest.py", "old": "PORT = 8080", "new": "PORT = config.port"}, result="ok"
    ),
    ToolCall("Bash", {"command": "pytest -q"}, result="12 passed in 0.5s"),
)


def test_a_synthesis_tells_outcome_changes_failures_and_tools() -> None:
    found = summary([TESTED], purpose="synthesis")
    told = {statement.text.partition(": ")[0]: statement.text for statement in found}
    assert "I decided to read the port from config.toml." in told["Outcome"]
    assert "Edited `tests/conftest.py`: `PORT = config.port` (was `8080`)" in told["Done"]
    assert "`pytest -q`: 12 passed (first: 1 failed (OSError: port 8080 is taken))" in told["Found"]
    assert told["Tools"] == "Tools: Bash ×2, Read, Edit"
    assert {statement.sources for statement in found} == {("t1",)}
    assert "Make the tests pass" not in text(found)
    tight = text(summary([TESTED], 70, purpose="synthesis"))
    assert "Outcome: " in tight
    assert "Done: " in tight
    broken = said("t1", "Run it.", "It still fails.", ToolCall("Bash", {"command": "make"}, result="no", error=True))
    stayed = text(summary([broken], purpose="synthesis"))
    assert "`make` failed: no" in stayed
    assert "worked later" not in stayed


@pytest.mark.parametrize(("name", "arguments", "result", "kind"), SENTENCES["tools are told apart by what they do"])
def test_tools_are_told_apart_by_what_they_do(name: str, arguments: dict[str, Any], result: str, kind: str) -> None:
    found = quotes(said("e1", "", "", ToolCall(name, arguments, result=result)).messages)
    assert [quote.kind for quote in found if quote.tools] == [kind]


# condense: models


class Scripted:
    """A model that answers what it was given, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def summarise(self, sources: Sequence[Source], **_: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def condensed(answer: Any, *, max_tokens: int = 500, previous: Sequence[Statement] = ()) -> Condensed:
    return condense(
        Scripted(answer), BOATHOUSE, purpose="summary", previous=previous, max_tokens=max_tokens, counter=COUNTER
    )


def test_without_a_model_it_is_extractive() -> None:
    assert isinstance(ExtractiveSummariser(), Summariser)
    for summariser in (None, ExtractiveSummariser(COUNTER)):
        found = condense(summariser, BOATHOUSE, purpose="summary", max_tokens=500, counter=COUNTER)
        assert found == Condensed(tuple(summary(BOATHOUSE, 500)), "extractive")


def test_a_models_statements_are_taken_with_the_messages_that_they_state() -> None:
    found = condensed([Statement("The boathouse door must be green before 3 May.", ("e2",))])
    assert found.statements == (Statement("The boathouse door must be green before 3 May.", ("e2",), ("e2/u",)),)
    assert (found.by, found.fallback, found.unknown) == ("model", None, 0)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (Statement("Paint it green. [ep:e2]", ()), Statement("Paint it green.", ("e2",))),
        (Statement("Green [ep:e2, ep:e4] it is.", ("e2",)), Statement("Green it is.", ("e2", "e4"))),
        (Statement("Paint it\n green.", ("ep:e2", "[ep:e4]")), Statement("Paint it green.", ("e2", "e4"))),
        (Statement("Paint it green.", "e2"), Statement("Paint it green.", ("e2",))),  # type: ignore[arg-type]
        (Statement("Paint\x00 it\x1b green.", ["e2"]), Statement("Paint it green.", ("e2",))),  # type: ignore[arg-type]
    ],
)
def test_citations_are_read_however_a_model_writes_them(statement: Statement, expected: Statement) -> None:
    found = condensed([statement])
    assert [(each.text, each.sources) for each in found.statements] == [(expected.text, expected.sources)]
    assert found.unknown == 0


def test_unknown_citations_are_removed_and_counted_and_those_of_earlier_statements_are_known() -> None:
    found = condensed([Statement("Green. [ep:zz1]", ("e2", "zz2")), Statement("Blue.", ("zz3",))])
    assert [str(statement) for statement in found.statements] == ["Green. [ep:e2]"]
    assert (found.by, found.unknown) == ("model", 3)
    assert condensed([Statement("Blue.", ("zz3",))]).unknown == 1, "of a discarded answer too"
    earlier = Statement("The mast of the Albatros is 12 m high.", ("old",), ("m1",))
    found = condensed([Statement("The Albatros has a mast of 12 m.", ("old",))], previous=[earlier])
    assert found.statements == (Statement("The Albatros has a mast of 12 m.", ("old",), ("m1",)),)


def late() -> Any:
    yield Statement("The door is green.", ("e2",))
    raise TimeoutError("too late")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError("rate limit\nreached"), "RuntimeError: rate limit reached"),
        (ValueError("x" * 900), "ValueError: xxx"),
        (late(), "TimeoutError: too late"),
        (None, "TypeError: .* returned NoneType"),
        ("The door is green. [ep:e2]", "TypeError: .* returned str"),
        (7, "TypeError"),
        ([], "cites no source"),
        (["text", None, {}], "cites no source"),
        ([Statement("The door is green.", ())], "cites no source"),
        ([Statement("The door is green.", ("zz9",))], "cites no source"),
        ([Statement("", ("e2",)), Statement(" \n [ep:e2]", ("e2",))], "cites no source"),
        ([Statement("I'm sorry, I can't help with that.", ("e2",))], "cites no source"),
        ([Statement("word " * 5_000, ("e2",))], "fits 500 tokens"),
    ],
)
def test_a_model_that_fails_is_replaced_and_the_reason_is_given(answer: Any, reason: str) -> None:
    found = condensed(answer)
    assert found.by == "extractive"
    assert found.statements == tuple(summary(BOATHOUSE, 500))
    assert found.fallback
    assert len(found.fallback) <= 200
    assert re.search(reason, found.fallback)


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        condensed(KeyboardInterrupt())


def test_too_long_an_answer_loses_whole_statements_the_least_important_first() -> None:
    given = [
        Statement("We decided to paint the boathouse door green.", ("e2",)),
        Statement("It is a lovely place, it really is, and all of us like it.", ("e1",)),
        Statement("The order failed with a TimeoutError at first.", ("e5",)),
    ]
    found = condensed(given, max_tokens=40)
    assert [statement.sources for statement in found.statements] == [("e2",), ("e5",)]
    assert size(found.statements) <= 40


def test_when_the_extractive_one_fails_too_it_says_so() -> None:
    class Broken:
        def count(self, text: str) -> int:
            raise OSError("no vocabulary")

    with pytest.raises(CompactionError, match="no vocabulary"):
        condense(None, BOATHOUSE, purpose="summary", max_tokens=500, counter=Broken())


def test_a_counter_that_counts_the_whole_as_more_than_its_parts_is_respected() -> None:
    class Steep:
        def count(self, text: str) -> int:
            return len(text) ** 2 // 100

    found = ExtractiveSummariser(Steep()).summarise(BOATHOUSE, purpose="summary", max_tokens=200)
    assert sum(Steep().count(str(statement)) for statement in found) <= 200
