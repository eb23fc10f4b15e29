"""Texts and files of the default model, for the tests of embedders."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from tidal_plugins import embedding
from tidal_plugins.embedding import weights

ID = "sentence-transformers/all-MiniLM-L6-v2@53aa51172d14"
BUNDLE = Path(embedding.__file__).with_name("minilm")
_FOUND = importlib.util.find_spec(weights.PACKAGE)
assert _FOUND
assert _FOUND.submodule_search_locations
PACKAGED = Path(_FOUND.submodule_search_locations[0], "model")
TEXTS = [
    "The ferry leaves at nine.",
    "Our boat departs at 9 am.",
    "Basil needs sun and little water.",
    "",
    "   \n",
    "A very long story about a lighthouse keeper and his two dogs. " * 40,
    "ÉCOLE naïve Straße İstanbul",
    "日本語のテキスト と 中文",
    "👩‍👩‍👧 emoji\u200d and \x00 control\t characters",
    "[CLS] [SEP] [MASK] ##ing",
    "x" * 300,
    *[f"Parcel {index} weighs {index * 3} grams" + " and is fragile" * (index % 5) for index in range(40)],
]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
