"""Labelled tables: JSON Lines beside the tests, each row the name of its table, an input and what is expected."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any


def tables(file: str) -> dict[str, list[list[Any]]]:
    """Return the tables of a file by name, each a list of rows."""
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for line in (Path(__file__).parent / file).read_text("utf-8").splitlines():
        name, *row = json.loads(line)
        found[name].append(row)
    return dict(found)


def wrong(reads: Callable[..., object], rows: list[list[Any]]) -> list[str]:
    """Return what is read otherwise than the last value of a row says, one line for each; [] if all is as expected."""
    found = [(given, expected, reads(*given)) for *given, expected in rows]
    return [f"{given}: {got!r}, not {expected!r}" for given, expected, got in found if got != expected]
