"""What ``import langchain_tidal`` gives, and what it costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import langchain_tidal

ROOT = Path(__file__).resolve().parents[2]


def python(code):
    paths = [str(ROOT), str(ROOT / "adapters")]
    code = f"import sys; sys.path[:0] = {paths!r}\n{code}"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_public_names_are_sorted_and_say_what_they_are():
    assert list(langchain_tidal.__all__) == sorted(langchain_tidal.__all__, key=str.casefold)
    assert set(langchain_tidal.__all__) <= set(dir(langchain_tidal))

    assert all(getattr(langchain_tidal, name).__doc__ for name in langchain_tidal.__all__)
    with pytest.raises(AttributeError, match="langchain_tidal"):
        _ = langchain_tidal.Nothing


OF_THE_CORE = "ChatModelExtractor SearchGraph TidalRetriever memory_tools reserved with_memory turns".split()


@pytest.mark.slow
def test_an_import_loads_no_framework_and_what_needs_only_the_core_of_langchain_no_more():
    loaded = set(python("import langchain_tidal; print(*sys.modules)").split())
    assert loaded & {"langchain", "langchain_classic", "langchain_core", "langgraph"} == set()
    names = f"from langchain_tidal import {', '.join(OF_THE_CORE)}; print(*sys.modules)"
    assert set(python(names).split()) & {"langchain", "langchain_classic", "langgraph"} == set()
    nodes = set(python("import langgraph_tidal; langgraph_tidal.CompactionNode; print(*sys.modules)").split())
    assert nodes & {"langchain", "langchain_classic"} == set()


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.delitem(vars(langchain_tidal), "TidalConversationMemory", raising=False)
    monkeypatch.delitem(sys.modules, "langchain_tidal.memory", raising=False)
    monkeypatch.setitem(sys.modules, "langchain_classic.base_memory", None)
    with pytest.raises(ImportError, match=r"needs langchain_classic, .*tidal-plugins\[classic\]"):
        _ = langchain_tidal.TidalConversationMemory
