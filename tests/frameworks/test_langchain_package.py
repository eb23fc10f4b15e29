"""What ``import langchain_tidal`` gives, and what it costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import langchain_tidal

ROOT = Path(__file__).resolve().parents[2]


def python(code, *arguments):
    paths = [str(ROOT), str(ROOT / "adapters")]
    code = f"import sys; sys.path[:0] = {paths!r}\n{code}"
    return subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True).stdout


def test_public_names_are_sorted():
    assert list(langchain_tidal.__all__) == sorted(langchain_tidal.__all__, key=str.casefold)
    assert set(langchain_tidal.__all__) <= set(dir(langchain_tidal))


@pytest.mark.parametrize("name", langchain_tidal.__all__)
def test_public_name_is_importable_and_says_what_it_is(name):
    assert getattr(langchain_tidal, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="langchain_tidal"):
        _ = langchain_tidal.Nothing


def test_importing_it_loads_no_framework():
    loaded = set(python("import langchain_tidal; print(*sys.modules)").split())
    assert loaded & {"langchain", "langchain_classic", "langchain_core", "langgraph"} == set()


OF_THE_CORE = "ChatModelExtractor SearchGraph TidalRetriever memory_tools reserved with_memory turns".split()


@pytest.fixture(scope="module")
def loaded():
    """Return what each of these names loads that those before it had not, all in one process."""
    code = """
known = set()
for name in sys.argv[1:]:
    exec(f"from langchain_tidal import {name}")
    print(name, *sys.modules.keys() - known)
    known.update(sys.modules)
"""
    return {name: set(modules) for name, *modules in map(str.split, python(code, *OF_THE_CORE).splitlines())}


@pytest.mark.parametrize("name", OF_THE_CORE)
def test_what_needs_only_the_core_of_langchain_loads_no_more(loaded, name):
    assert loaded[name] & {"langchain", "langchain_classic", "langgraph"} == set()


def test_langgraph_s_nodes_need_no_langchain_beyond_its_core():
    loaded = set(python("import langgraph_tidal; langgraph_tidal.CompactionNode; print(*sys.modules)").split())
    assert loaded & {"langchain", "langchain_classic"} == set()


@pytest.mark.parametrize(
    ("name", "missing", "extra"),
    [
        ("TidalConversationMemory", "langchain_classic", "classic"),
        ("TidalMemoryMiddleware", "langchain", "langchain"),
        ("TidalRetriever", "langchain_core", "langchain"),
    ],
)
def test_a_missing_extra_is_named(name, missing, extra):
    code = f"""
sys.modules[{missing!r}] = None
try:
    from langchain_tidal import {name}
except ImportError as error:
    print(error)
"""
    assert f"{name} needs {missing}, which is not installed: pip install 'tidal-plugins[{extra}]'" in python(code)
