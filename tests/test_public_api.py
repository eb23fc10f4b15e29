"""What ``import tidal_plugins`` gives, what it costs, and what the wheel carries."""

import inspect
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tidal_plugins

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"tidal_plugins"} | {init.parent.name for init in ROOT.glob("adapters/*/__init__.py")}


def python(*args):
    return subprocess.run([sys.executable, *args], cwd=ROOT, check=True, capture_output=True, text=True)


def test_public_names_are_sorted_and_complete():
    defined = [name for name, value in vars(tidal_plugins).items() if name[0] != "_" and not inspect.ismodule(value)]
    assert list(tidal_plugins.__all__) == sorted({*tidal_plugins.__all__, *defined}, key=str.casefold)


@pytest.mark.parametrize("name", tidal_plugins.__all__)
def test_public_name_is_importable_and_says_what_it_is(name):
    value = getattr(tidal_plugins, name)
    if callable(value):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}("), "only the signature that dataclasses generate"


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
def test_wheel_holds_the_import_packages_typed_and_nothing_else(tmp_path):
    python("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_adapters_is_a_folder_and_no_package():
    assert not (ROOT / "adapters" / "__init__.py").exists(), "it would shadow PyPI's package of that name"
