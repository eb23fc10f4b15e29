"""What ``import tidal_plugins`` gives, what it costs, and what the wheel carries."""

import copy
import gc
import importlib
import pickle
import pkgutil
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tidal_plugins
from tidal_plugins.patterns import lazy_re

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"tidal_plugins"} | {init.parent.name for init in ROOT.glob("adapters/*/__init__.py")}


def python(*args):
    return subprocess.run([sys.executable, *args], cwd=ROOT, check=True, capture_output=True, text=True)


@pytest.mark.slow
def test_import_loads_little_of_its_own_and_nothing_heavy():
    loaded = set(python("-c", "import sys, tidal_plugins; print(*sys.modules)").stdout.split())
    frameworks = {"langchain", "langchain_core", "langgraph", "llama_index"}
    heavy = {
        "apsw", "dateparser", "numpy", "onnxruntime", "rich", "sentence_transformers", "sqlite_vec", "tokenizers",
        "torch", "transformers", "vaderSentiment",
    }  # fmt: skip
    assert sorted(loaded & (frameworks | heavy)) == []
    assert len([name for name in loaded if name.startswith("tidal_plugins.")]) < 40


@pytest.mark.slow
def test_doubles_need_no_pytest():
    assert python("-c", "import sys, tidal_plugins.testing; print('pytest' in sys.modules)").stdout == "False\n"


REST = ("background", "compaction", "dossiers", "graph", "ingestion", "maintenance", "model.graph", "summarising")
"""Rooms of the core that neither an import nor a recall needs."""

RECALLED = """
import sys
from tidal_plugins import HashingEmbedder, TidalMemory
path, embedder = sys.argv[1], HashingEmbedder()
with TidalMemory(path, embedder=embedder, read_only=True) as memory:
    memory.whisper("What did we say about the kiln?")
    assert memory.recall("the kiln")
print(*sys.modules)
"""


@pytest.mark.slow
def test_importing_the_memory_loads_no_part_of_a_store():
    loaded = set(python("-c", "import sys; from tidal_plugins import TidalMemory; print(*sys.modules)").stdout.split())
    rooms = {name.split(".")[1] for name in loaded if name.startswith("tidal_plugins.")}
    assert sorted(loaded & {"numpy", "pydantic", "vaderSentiment", "snowballstemmer", "dateparser"}) == []
    assert sorted(rooms & {"english", "ingestion", "retrieval", "services", "settings", "storage", "tuning"}) == []


@pytest.mark.slow
def test_a_first_recall_loads_what_it_needs_alone(tmp_path):
    path = str(tmp_path / "memory.db")
    with tidal_plugins.TidalMemory(path, embedder=tidal_plugins.HashingEmbedder()) as memory:
        memory.record("The kiln fires at noon and cools until the evening.", "Noted.")
        memory.close(timeout=60)
    loaded = set(python("-c", RECALLED, path).stdout.split())
    rest = tuple(f"tidal_plugins.{room}" for room in REST)
    needed = {"tidal_plugins.compaction", "tidal_plugins.compaction.preparation"}  # the place of what one prepares
    assert sorted(name for name in loaded - needed if name.startswith(rest)) == []
    heavy = {"dateparser", "jsonschema", "numpy.ma", "onnxruntime", "tokenizers", "xml.etree.ElementTree"}
    assert sorted(loaded & heavy) == []


@pytest.mark.slow
def test_every_pattern_compiles():
    for module in pkgutil.walk_packages(tidal_plugins.__path__, "tidal_plugins."):
        if not module.name.startswith("tidal_plugins.apps.graphs."):  # graphiti_core warns when it is imported
            importlib.import_module(module.name)
    lazy = type(lazy_re(""))
    patterns = [item for item in gc.get_objects() if type(item) is lazy]
    assert patterns
    for pattern in patterns:
        assert pattern.flags


@pytest.mark.parametrize("used", [False, True])
def test_a_pattern_is_copied_and_pickled(used):
    for again in (copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))):
        pattern = lazy_re("(LAMP) two", re.IGNORECASE)
        if used:
            assert pattern.search("lamp two")
        assert again(pattern).search("a lamp two")[1] == "lamp"


@pytest.mark.slow
def test_wheel_holds_the_import_packages_typed_and_nothing_else(tmp_path):
    python("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
