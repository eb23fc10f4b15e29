"""Labelled sentences of a test file: what each of them shows stands beside it, in a file of the same name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def sentences(test_file: str) -> Any:
    """Return the tables for ``test_x.py``, which stand in ``x.json``."""
    path = Path(test_file)
    return json.loads(path.with_name(f"{path.stem.removeprefix('test_')}.json").read_text("utf-8"))
