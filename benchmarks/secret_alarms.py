"""What the detector of secrets finds of labelled texts, what it marks in conversations, and how long it takes.

    python benchmarks/secret_alarms.py                 # the table over benchmarks/data/secrets.jsonl
    python benchmarks/secret_alarms.py --data FOLDER   # conversations, for eyes to judge

The labelled texts are 100 with a secret and 100 that look alike, written before the detector was read. Half of them are
kept apart: nobody tunes on those, and only their counts are printed.

With ``--data`` every ``.json`` and ``.jsonl`` file of the folder is read: the strings under the names that turns have
in them (``text``, ``content``, ``user``, ``result`` …), wherever they stand. Each alarm is printed with the words
around it. Whether it is true is for the reader: the aim is one false alarm or less in
2,000 turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run by its path, from a checkout

from tidal_plugins.secrets.finding import masked, secrets

LABELLED = Path(__file__).parent / "data" / "secrets.jsonl"

TURNS = frozenset("text content user agent result observation thought action response arguments".split())
"""Names of the strings in a file that are a turn, or a part of one."""
AROUND = 60
"""Characters that are printed on either side of an alarm."""


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of the turns in a file."""
    whole = path.read_text(encoding="utf-8")
    for document in map(json.loads, whole.splitlines() if path.suffix == ".jsonl" else [whole]):
        yield from _strings(document, "")


def _strings(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, key if name != "arguments" else name)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, name)
    elif isinstance(value, str) and name in TURNS and value.strip():
        yield value


def table() -> None:
    """Print recall and false alarms of both halves of the labelled texts, and what is wrong in the half to tune on."""
    lines = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    print("| half | recall | false alarms |\n|---|---|---|")
    for name, apart in (("to tune on", False), ("apart", True)):
        half = [line for line in lines if line["apart"] is apart]
        missed = [line for line in half if line["secret"] and line["secret"] in masked(line["text"])]
        alarms = [line for line in half if not line["secret"] and secrets(line["text"])]
        told = sum(bool(line["secret"]) for line in half)
        print(f"| {name} | {told - len(missed)} of {told} | {len(alarms)} of {len(half) - told} |")
        for line in () if apart else (*missed, *alarms):
            print(f"    {'missed' if line['secret'] else 'alarm'}: {masked(line['text'])!r}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of conversations, or one file")
    options = parser.parse_args()
    if options.data is None:
        table()
        return
    files = sorted(options.data.rglob("*.json*")) if options.data.is_dir() else [options.data]
    turns, characters, alarms, seconds = 0, 0, Counter[str](), 0.0
    for path in files:
        for text in texts(path):
            begin = time.process_time()
            found = secrets(text)
            seconds += time.process_time() - begin
            turns, characters = turns + 1, characters + len(text)
            for start, end, kind in found:
                alarms[kind] += 1
                before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
                print(f"{path.name}: {kind}: {before!r} >>> {text[start:end]!r} <<< {after!r}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in alarms.items()) or "none"
    print(f"{turns:,} turns: {alarms.total()} alarms ({kinds})")
    speed = characters / max(seconds, 1e-9) / 1e6
    print(f"{seconds / max(1, turns) * 1e6:.0f} µs of the processor a turn, {speed:.1f} million characters a second")


if __name__ == "__main__":
    main()
