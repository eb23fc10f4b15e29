"""What somebody says was done to code: it joins the files and functions that tool calls show."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tests.graph.coding import ended, sentences, worked, wrote
from tidal_plugins import Settings, TidalMemory

SAID = {
    "I created `net_sum` in `till/sums.py`.": {"net_sum is defined in till/sums.py"},
    "We've added the helper `net_sum()` to till/sums.py.": {"net_sum is defined in till/sums.py"},
    "Done. Wrote a test `test_net` in `tests/test_sums.py`.": {"test_net is defined in tests/test_sums.py"},
    "I moved `net_sum` from `till/sums.py` to `till/net.py`.": {
        "net_sum is defined in till/net.py",
        "net_sum is not defined in till/sums.py",
    },
    "I removed `net_sum` from `till/sums.py`.": {"net_sum is not defined in till/sums.py"},
    "`Till.open` is called by `start_day`.": {"start_day calls Till.open"},
    "`Drawer` inherits from `Box`.": {"Drawer extends Box"},
    "`test_net` covers `net_sum`.": {"test_net tests net_sum"},
}
SILENT = (
    "Should I create `net_sum` in `till/sums.py`?",
    "I will add `net_sum` to `till/sums.py`.",
    "You could put `net_sum` in `till/sums.py`.",
    "I never added `net_sum` to `till/sums.py`.",
    "If I moved `net_sum` to `till/net.py`, the test would fail.",
    "I put the coins in the drawer and two people on the list in plans.md.",
)


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    return open_memory(settings=Settings(graph={"background": False}))


@pytest.mark.parametrize("text", SAID)
def test_a_plain_sentence_says_what_was_done(memory: TidalMemory, text: str) -> None:
    worked(memory, answer=text)
    assert sentences(memory) == SAID[text]


@pytest.mark.parametrize("text", SILENT)
def test_questions_plans_and_denials_say_nothing(memory: TidalMemory, text: str) -> None:
    worked(memory, answer=text)
    talk = (" plans to ", "coins is in the drawer")  # the place of things is no work on code
    assert not {said for said in sentences(memory) if not any(part in said for part in talk)}


def test_what_is_said_and_what_is_done_are_one(memory: TidalMemory) -> None:
    pytest.importorskip("tree_sitter")
    code = wrote("src/till/sums.py", "def net_sum(): ...\n")
    worked(memory, code, answer="I created `net_sum` in `till/sums.py`.")
    [relation] = memory.graph.relations()
    assert memory.graph.sentence(relation) == "net_sum is defined in src/till/sums.py"
    assert len(memory.graph.evidence(relation)) == 2
    worked(memory, answer="I removed `net_sum` from `sums.py`.")
    assert "net_sum is defined in src/till/sums.py" in ended(memory, "net_sum")
