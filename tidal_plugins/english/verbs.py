"""List the verbs whose past a stem does not show."""

from __future__ import annotations

PAST_FORMS = dict(
    pair.split("/")
    for pair in "sent/send bought/buy paid/pay wrote/write written/write made/make did/do took/take taken/take "
    "gave/give given/give told/tell met/meet got/get went/go gone/go built/build found/find ran/run spoke/speak "
    "spoken/speak chose/choose chosen/choose sold/sell brought/bring held/hold kept/keep left/leave drew/draw "
    "drove/drive taught/teach put/put set/set cut/cut".split()
)
"""The infinitives of irregular past forms."""


def is_past(word: str) -> bool:
    """Return whether a lower-case word is the past form of a verb."""
    return word in PAST_FORMS or (word.endswith("ed") and len(word) > 4)
