"""README.md keeps its word.

Its ```` ```python ```` blocks run in order, in an empty folder and in one namespace, as one would type them in. What a
reader brings along is there already: ``call_model`` (a LangGraph node that answers), a ``model``, ``tools``, ``llm``.
``<!-- no-run -->`` on the line before a block leaves it out, which is only for code that needs a provider's key.
"""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from llama_index.core.llms import MockLLM

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"

BLOCK = re.compile(
    r"^(?P<skip>[ ]*<!-- no-run -->\n\s*)?(?P<indent>[ ]*)```python\n(?P<code>.*?)^(?P=indent)```", re.M | re.S
)
PROVIDER = re.compile(r"init_chat_model|api_key|langchain_(openai|anthropic|google)|llama_index\.llms", re.I)


class Block(NamedTuple):
    line: int
    code: str
    skip: bool


def blocks():
    text = README.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, match.start("code")), textwrap.dedent(match["code"]), bool(match["skip"]))
        for match in BLOCK.finditer(text)
    ]


SHOWN = []


def call_model(state):
    from langchain_core.messages import AIMessage

    from langgraph_tidal import model_input

    SHOWN.append(model_input(state)[-1].text)
    return {"messages": [AIMessage("Scales, then a standard.")]}


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runnable = [block for block in blocks() if not block.skip]
    assert runnable, "README.md shows no Python that runs"
    model = FakeListChatModel(responses=["Scales, then a standard."])
    namespace = {"__name__": "readme", "call_model": call_model, "model": model, "tools": [], "llm": MockLLM()}
    for block in runnable:
        code = "\n" * block.line + block.code  # tracebacks then name README's own lines
        exec(compile(code, str(README), "exec"), namespace)
    monday, friday = SHOWN
    assert friday.startswith("<tidal-memory>"), "README promises a whisper on Friday"
    assert monday in friday


def test_only_code_that_needs_a_provider_is_left_out():
    for block in blocks():
        assert not block.skip or PROVIDER.search(block.code), f"README.md:{block.line} needs no key: let it run"


def test_every_make_target_it_names_exists():
    prose = re.sub(r"^```(?!sh\b)\w.*?^```", "", README.read_text(encoding="utf-8"), flags=re.M | re.S)
    named = re.findall(r"(?:^|`|\$ )make ([a-z]+)", prose, re.M)
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(named) <= set(targets)


def test_every_file_it_links_to_exists():
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", README.read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []
