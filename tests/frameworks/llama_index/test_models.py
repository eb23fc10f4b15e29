import json
import re
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM, MockLLM

from llama_index_tidal import LLMExtractor, LLMSummariser, TidalChatMemory
from tests.frameworks.llama_index.conftest import calling
from tidal_plugins import InvalidInput, Message, Statement
from tidal_plugins.errors import CompactionError, ComponentError
from tidal_plugins.model.summary import Source
from tidal_plugins.protocols import GraphExtractor

SOURCES = [
    Source("a1", (Message("user", "Use {context_str} and {x}, as {{y}} says."), Message("assistant", "Done."))),
    Source("b2", (Message("user", "And port 8080?"), Message("assistant", "It is free now."))),
]
STATED = [Statement("The templates use {x}.", ("a1",)), Statement("Port 8080 is free.", ("b2",))]
ARGUMENTS = {"statements": [{"text": each.text, "episodes": list(each.sources)} for each in STATED]}


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


def summarised(llm, **others):
    return list(LLMSummariser(llm).summarise(SOURCES, purpose="summary", max_tokens=500, **others))


def test_a_model_that_calls_functions_answers_by_calling_one(says):
    model = says(calling(("answer", ARGUMENTS)))
    assert summarised(model) == STATED
    (question,) = model.shown[0]
    assert question.role == "user"
    assert "Use {context_str} and {x}, as {{y}} says." in question.content
    assert "a1" in question.content


def test_the_model_is_offered_one_function_that_it_must_call(says, monkeypatch):
    model = says(calling(("answer", ARGUMENTS)))
    offered = []
    chat_with_tools = type(model).chat_with_tools

    def watched(self, tools, **options):
        offered.append(([tool.metadata.get_parameters_dict() for tool in tools], options["tool_required"]))
        return chat_with_tools(self, tools, **options)

    monkeypatch.setattr(type(model), "chat_with_tools", watched)
    summarised(model)
    (((parameters,), required),) = offered
    assert list(parameters["properties"]) == ["statements"]
    assert required is True


def test_what_it_writes_in_place_of_a_call_is_parsed(says):
    assert summarised(says("- The templates use {x}. [ep:a1]\n- Port 8080 is free. [ep:b2]")) == STATED


def test_a_model_that_only_completes_is_parsed():
    model = Completing(text="The templates use {x}. [ep:a1]\nPort 8080 is free. [ep:b2]")
    assert summarised(model, previous=[Statement("An older one.", ("c3",))]) == STATED
    assert "Use {context_str} and {x}, as {{y}} says." in model.asked[-1]
    assert "An older one. [ep:c3]" in model.asked[-1]


def test_a_model_with_a_small_window_is_shown_shorter_episodes():
    model = Completing(text="It is long. [ep:c3]")  # 3,900 tokens, unless a model says something else
    long = [Source("c3", (Message("user", "word " * 20_000),))]
    LLMSummariser(model).summarise(long, purpose="summary", max_tokens=500)
    assert 3_000 < len(model.asked[-1]) < 3_900 * 3


def test_a_refusal_states_nothing(says):
    assert summarised(says("I cannot help with that.")) == []


CUT = {"choices": [{"finish_reason": "length", "message": {}}]}


def test_an_answer_that_was_cut_off_raises(says, monkeypatch):
    with pytest.raises(CompactionError, match="cut off"):
        summarised(Completing(text="Port 8080 is free. [ep:b2]", raw=CUT))
    model = says(calling(("answer", ARGUMENTS)))
    message = calling(("answer", ARGUMENTS))
    monkeypatch.setattr(type(model), "chat", lambda *_, **__: ChatResponse(message=message, raw=CUT))
    with pytest.raises(CompactionError, match="cut off"):
        summarised(model)


def test_arguments_that_do_not_fit_raise(says):
    with pytest.raises(ValueError, match="statements"):
        summarised(says(calling(("answer", {"summary": "all is well"}))))


# in a chat


def grown(memory, llm):
    chat = TidalChatMemory(memory, thread="friday", token_limit=2_000, summariser=llm)
    for number in range(20):
        text = f"We decided to ship crate {number} on day {number}. " + "Please note it. " * 20
        chat.put_messages([ChatMessage(text), ChatMessage("I noted it. " * 20, role="assistant")])
    chat.put(ChatMessage("And now?"))
    return chat.get()


def told(messages):
    """What a model that does as it is told makes of the episodes it was shown."""
    ids = dict.fromkeys(re.findall(r'id="([0-9a-z]+)"', messages[-1].content))
    return "\n".join(f"The model tells of it. [ep:{id_}]" for id_ in ids)


def test_an_llm_writes_the_summary_of_a_chat(memory, says):
    view = grown(memory, says(told))
    assert "The model tells of it. [ep:" in view[0].content


def test_what_is_no_summariser_is_refused(memory):
    with pytest.raises(InvalidInput, match="summariser"):
        TidalChatMemory(memory, token_limit=2_000, summariser="gpt")


# reading entities and relations

SAID = "The {x} template depends on `Layout`."
FOUND = {
    "entities": [{"name": "{x} template", "type": "concept"}, {"name": "Layout", "type": "class"}],
    "relations": [
        {
            "subject": "{x} template",
            "predicate": "depends_on",
            "object": "Layout",
            "quote": "The {x} template depends on `Layout`.",
            "confidence": 0.8,
        }
    ],
}


def extracted(llm, *texts):
    return list(LLMExtractor(llm).extract_graph(texts or [SAID]))


def test_it_is_an_extractor_for_the_graph(says):
    assert isinstance(LLMExtractor(says("x")), GraphExtractor)


def test_a_model_that_calls_functions_says_what_it_found_by_calling_one(says):
    model = says(calling(("answer", FOUND)))
    nothing, found = extracted(model, "Thanks!", SAID)
    assert nothing.assertions == ()
    (assertion,) = found.assertions
    assert (assertion.start, assertion.end) == (0, len(SAID))
    assert assertion.subject.name == "{x} template"
    (question,) = model.shown[0]
    assert SAID in question.content


def test_several_calls_are_taken_together(says):
    (found,) = extracted(says(calling(("answer", FOUND), ("answer", {**FOUND, "entities": []}))))
    assert len(found.assertions) == 2


@pytest.mark.parametrize("form", ["{}", "Sure:\n```json\n{}\n```"])
def test_json_in_plain_text_is_read(says, form):
    answer = form.replace("{}", json.dumps(FOUND))
    for model in (says(answer), Completing(text=answer)):
        assert len(extracted(model)[0].assertions) == 1


def test_a_model_with_a_small_window_is_shown_a_long_text_in_pieces():
    model = Completing(text=json.dumps(FOUND))
    model.asked.clear()
    (found,) = extracted(model, "word " * 2_000 + SAID)
    assert len(model.asked) > 2
    assert max(map(len, model.asked)) < 3_900 * 3
    assert found.assertions[-1].end == 10_000 + len(SAID)


def test_what_cannot_be_read_raises_so_that_the_queue_asks_again(says):
    for model in (says("I cannot help with that."), MockLLM(max_tokens=5)):
        with pytest.raises(ComponentError, match="model's answer"):
            extracted(model)
    with pytest.raises(ValueError, match="entities"):
        extracted(says(calling(("answer", {"summary": "all is well"}))))
    with pytest.raises(ComponentError, match="cut off"):
        extracted(Completing(text=json.dumps(FOUND), raw=CUT))
