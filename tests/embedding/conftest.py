from __future__ import annotations

from pathlib import Path

import pytest

from tidal_plugins.embedding import weights


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No package, no network, an empty cache: the folder of the cache."""
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    return tmp_path
