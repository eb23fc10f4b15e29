"""Models of both frameworks as summarisers and as extractors of the graph: what they are asked, and how answers are
read."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM

from langchain_tidal import ChatModelExtractor, ChatModelSummariser
from llama_index_tidal import LLMExtractor, LLMSummariser, TidalChatMemory
from tests.frameworks.conftest import ScriptedModel
from tests.frameworks.llama_index import conftest as index
from tidal_plugins import InvalidInput, Message, Statement
from tidal_plugins.errors import CompactionError, ComponentError
from tidal_plugins.model.dossier import Source
from tidal_plugins.protocols import GraphExtractor, Summariser

ASKED = "Use {context_str} and {x}, as {{y}} says."
SOURCES = [
    Source("a1", (Message("user", ASKED), Message("assistant", "Done."))),
    Source("b2", (Message("user", "And port 8080?"), Message("assistant", "It is free now."))),
]
STATED = [Statement("The templates use {x}.", ("a1",)), Statement("Port 8080 is free.", ("b2",))]
IN_TEXT = "- The templates use {x}. [ep:a1]\n- Port 8080 is free. [ep:b2]"
ARGUMENTS = {"statements": [{"text": each.text, "episodes": list(each.sources)} for each in STATED]}
EARLIER = [Statement("An older one.", ("c3",))]
SAID = "The {x} template depends on `Layout`."
RELATION = {"subject": "{x} template", "predicate": "depends_on", "object": "Layout", "quote": SAID, "confidence": 0.8}
FOUND = {
    "entities": [{"name": "{x} template", "type": "concept"}, {"name": "Layout", "type": "class"}],
    "relations": [RELATION],
}
CUT = {"choices": [{"finish_reason": "length", "message": {}}]}
ERRORS = (ValueError, CompactionError, ComponentError)


class Completing(CustomLLM):
    """A model that only completes text."""

    text: str
    raw: Any = None
    asked: list[str] = []  # noqa: RUF012

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        self.asked.append(prompt)
        return CompletionResponse(text=self.text, raw=self.raw)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)


class Chain:
    summariser, extractor = ChatModelSummariser, ChatModelExtractor

    def says(self, *replies):
        return ScriptedModel(replies=list(replies))

    def only_writes(self, text):
        return FakeListChatModel(responses=[text])

    def structure(self, tool, arguments, **fields):
        return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": "call-1"}], **fields)

    def cut(self, tool, arguments):
        return self.says(self.structure(tool, arguments, response_metadata={"finish_reason": "length"}))

    def cut_text(self, text):
        return self.says(AIMessage(text, response_metadata={"finish_reason": "length"}))

    def text(self, message):
        return message.text


class Index:
    summariser, extractor = LLMSummariser, LLMExtractor

    def says(self, *replies):
        return index.ScriptedLLM(replies=list(replies))

    def only_writes(self, text):
        return Completing(text=text)

    def structure(self, tool, arguments):
        return index.calling(("answer", arguments))

    def cut(self, tool, arguments):
        class Cut(index.ScriptedLLM):
            def chat(self, messages, **kwargs):
                return ChatResponse(message=super().chat(messages).message, raw=CUT)

        return Cut(replies=[self.structure(tool, arguments)])

    def cut_text(self, text):
        return Completing(text=text, raw=CUT)

    def text(self, message):
        return message.content


BOTH = pytest.mark.parametrize("models", [Chain(), Index()], ids=["LangChain", "LlamaIndex"])


def summarised(models, model, previous=()):
    summariser = models.summariser(model)
    assert isinstance(summariser, Summariser)
    return list(summariser.summarise(SOURCES, purpose="summary", previous=previous, max_tokens=500))


@BOTH
def test_a_model_that_calls_tools_answers_by_a_structure(models):
    model = models.says(models.structure("Answer", ARGUMENTS))
    assert summarised(models, model, EARLIER) == STATED
    asked = models.text(model.shown[0][0])
    assert all(part in asked for part in (ASKED, "a1", "It is free now.", "An older one. [ep:c3]"))


@BOTH
def test_what_is_written_in_place_of_a_structure_is_read(models):
    for model in (models.says(IN_TEXT), models.only_writes(IN_TEXT)):
        assert summarised(models, model) == STATED


@BOTH
def test_an_answer_that_was_cut_off_or_does_not_fit_raises(models):
    for model in (models.cut("Answer", ARGUMENTS), models.cut_text("Port 8080 is free. [ep:b2]")):
        with pytest.raises(ERRORS, match="cut off"):
            summarised(models, model)
    if isinstance(models, Index):
        with pytest.raises(ValueError, match="statements"):
            summarised(models, models.says(models.structure("Answer", {"summary": "all is well"})))
    with pytest.raises(ConnectionError):
        summarised(models, models.says(ConnectionError("away")))


def test_a_chat_model_without_tools_is_asked_in_text_at_once_or_from_then_on(says, monkeypatch):
    other = {"statements": [{"text": "By a structure.", "episodes": ["a1"]}]}
    again = Chain().structure("Answer", other).model_copy(update={"content": IN_TEXT})
    model = says(ValueError("llama2 does not support tools (status code: 400)"), IN_TEXT, again)
    summariser = ChatModelSummariser(model)
    for _ in range(2):
        assert summariser.summarise(SOURCES, purpose="synthesis", max_tokens=200) == STATED
    assert len(model.shown) == 3
    model = says(IN_TEXT)
    monkeypatch.setattr(type(model), "bind_tools", None)  # would be called for structured output
    model.profile = {"tool_calling": False}
    assert summarised(Chain(), model) == STATED


def test_a_model_of_llama_index_is_offered_one_function_that_it_must_call(monkeypatch):
    model, offered = index.ScriptedLLM(replies=[index.calling(("answer", ARGUMENTS))]), []
    chat_with_tools = type(model).chat_with_tools

    def watched(self, tools, **options):
        offered.append(([tool.metadata.get_parameters_dict() for tool in tools], options["tool_required"]))
        return chat_with_tools(self, tools, **options)

    monkeypatch.setattr(type(model), "chat_with_tools", watched)
    summarised(Index(), model)
    (((parameters,), required),) = offered
    assert (list(parameters["properties"]), required) == (["statements"], True)


def test_a_model_with_a_small_window_is_shown_less_at_once():
    model = Completing(text="It is long. [ep:c3]")  # 3,900 tokens, unless a model says something else
    long = [Source("c3", (Message("user", "word " * 20_000),))]
    LLMSummariser(model).summarise(long, purpose="summary", max_tokens=500)
    assert 3_000 < len(model.asked[-1]) < 3_900 * 3
    model = Completing(text=json.dumps(FOUND))
    model.asked.clear()
    (found,) = LLMExtractor(model).extract_graph(["word " * 2_000 + SAID])
    assert len(model.asked) > 2
    assert max(map(len, model.asked)) < 3_900 * 3
    assert found.assertions[-1].end == 10_000 + len(SAID)


def test_an_llm_writes_the_summary_of_a_chat(memory):
    def told(messages):
        ids = dict.fromkeys(re.findall(r'id="([0-9a-z]+)"', messages[-1].content))
        return "\n".join(f"The model tells of it. [ep:{id_}]" for id_ in ids)

    llm = index.ScriptedLLM(replies=[told])
    chat = TidalChatMemory(memory, thread="friday", token_limit=2_000, summariser=llm)
    for number in range(20):
        text = f"We decided to ship crate {number} on day {number}. " + "Please note it. " * 20
        chat.put_messages([ChatMessage(text), ChatMessage("I noted it. " * 20, role="assistant")])
    chat.put(ChatMessage("And now?"))
    assert "The model tells of it. [ep:" in chat.get()[0].content
    with pytest.raises(InvalidInput, match="summariser"):
        TidalChatMemory(memory, token_limit=2_000, summariser="gpt")


# reading entities and relations


@BOTH
def test_entities_and_relations_are_read_by_a_structure_or_in_text(models):
    model = models.says(models.structure("Found", FOUND))
    extractor = models.extractor(model)
    assert isinstance(extractor, GraphExtractor)
    nothing, found = extractor.extract_graph(["Thanks!", SAID])
    assert nothing.assertions == nothing.mentions == ()
    (assertion,) = found.assertions
    assert (assertion.start, assertion.end) == (0, len(SAID))
    assert (assertion.subject.name, assertion.object.type) == ("{x} template", "class")
    assert SAID in models.text(model.shown[0][0])
    assert len(extractor.extract_graph(["", " "])) == 2
    assert len(model.shown) == 1, "a model is not asked about nothing"
    for form in ("{}", "Sure:\n```json\n{}\n```"):
        text = form.replace("{}", json.dumps(FOUND))
        for model in (models.says(text), models.only_writes(text)):
            assert len(models.extractor(model).extract_graph([SAID])[0].assertions) == 1


def test_several_calls_of_llama_index_are_taken_together():
    calls = index.calling(("answer", FOUND), ("answer", {**FOUND, "entities": []}))
    (found,) = LLMExtractor(index.ScriptedLLM(replies=[calls])).extract_graph([SAID])
    assert len(found.assertions) == 2


@BOTH
def test_what_cannot_be_read_raises_so_that_the_queue_asks_again(models):
    for model, match in (
        (models.says("I cannot help with that."), "model's answer"),
        (models.cut_text(json.dumps(FOUND)), "cut off"),
        (models.says(models.structure("Found", {"all": "well"})), "answer|entities"),
    ):
        with pytest.raises(ERRORS, match=match):
            list(models.extractor(model).extract_graph([SAID]))
    with pytest.raises(ConnectionError, match="away"):
        list(models.extractor(models.says(ConnectionError("away"))).extract_graph([SAID]))
