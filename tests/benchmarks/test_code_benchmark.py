"""The benchmark of code: what the graph learns of a package, beside what Python's own parser finds."""

from __future__ import annotations

import pytest

from benchmarks import code

pytest.importorskip("tree_sitter")


def test_a_package_is_read_and_its_dependents_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    code.main(["--package", "tidal_plugins/actions", "--ask", "read_command"])
    shown = capsys.readouterr().out
    assert "Replay._run (1)" in shown
    functions, found, right, true, precision, recall = shown.strip().split("\n")[-2].strip("│ ").split("│")
    assert int(functions) > 20
    assert int(right) <= min(int(found), int(true))
    assert float(precision) > 0.9
    assert float(recall) > 0.9
