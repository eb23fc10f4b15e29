"""Fitting the weights that tell replacements from look-alikes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidal_plugins.scoring.ranking import chance
from training import fit_changes

TOLD, CHANGED = "The gate code of the garage is 3391.", "The gate code of the garage is 8820 now."
FILLER = "Bring the folding chairs and tell the others when we meet. " * 20


def test_they_learn_from_pairs_what_to_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [(TOLD, CHANGED, True), (f"{TOLD} {FILLER}", f"{CHANGED} {FILLER}", False)] * 50
    rows = [{"earlier": earlier, "later": later, "replaced": replaced} for earlier, later, replaced in given]
    monkeypatch.setattr(fit_changes, "rows", lambda path: rows if path.name == "changes.jsonl" else [])
    monkeypatch.setattr(fit_changes, "texts", lambda data: {})
    found = list(fit_changes.pairs(Path()))
    assert {group for group, _, _ in found} == {f"own {number}" for number in range(5)}
    weights, bias = fit_changes.fit(found)
    assert all((chance(known, weights, bias) >= fit_changes.LIKELY) == replaced for _, known, replaced in found)
    assert (weights, bias) == fit_changes.fit(found)
