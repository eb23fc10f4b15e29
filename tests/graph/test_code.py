"""Code in the calls of an agent's tools and in what is said: languages, manifests, runs of tests, and sentences."""

from __future__ import annotations

import pytest

from tests.graph.coding import ended, ran, read, sentences, worked, wrote
from tests.tables import tables
from tidal_plugins import TidalMemory

TABLE = tables("graph/code.jsonl")

pytest.importorskip("tree_sitter")


def test_code_manifests_and_runs_of_tests_are_read(memory: TidalMemory) -> None:
    store = memory
    for name in ("file", "run"):
        for place, text, expected in TABLE[name]:
            memory = store.scoped(name, place)
            if place.endswith(".js"):
                worked(memory, wrote("web/cart.ts", "export function total(x) { return x; }\n"))
            worked(memory, wrote(place, text) if name == "file" else ran(place, text))
            assert set(expected) <= sentences(memory), place


def test_plain_sentences_say_what_was_done_and_questions_plans_and_denials_nothing(memory: TidalMemory) -> None:
    store, talk = memory, (" plans to ", "coins is in the drawer", " have a helper")  # no work on code
    for number, (text, expected) in enumerate(TABLE["said"]):
        memory = store.scoped("said", str(number))
        worked(memory, answer=text)
        assert [said for said in sorted(sentences(memory)) if not any(part in said for part in talk)] == expected, text


def test_what_is_said_and_what_is_done_are_one(memory: TidalMemory) -> None:
    code = wrote("src/till/sums.py", "def net_sum(): ...\n")
    worked(memory, code, answer="I created `net_sum` in `till/sums.py`.")
    [relation] = memory.graph.relations()
    assert memory.graph.sentence(relation) == "net_sum is defined in src/till/sums.py"
    assert len(memory.graph.evidence(relation)) == 2
    worked(memory, answer="I removed `net_sum` from `sums.py`.")
    assert "net_sum is defined in src/till/sums.py" in ended(memory, "net_sum")


def test_a_dependency_that_is_removed_ends_and_a_version_changes(memory: TidalMemory) -> None:
    worked(memory, read("package.json", '{"name": "web",\n "dependencies": {\n  "a": "1.0.0",\n  "b": "2.0.0"\n }\n}'))
    worked(memory, wrote("package.json", '{"name": "web", "dependencies": {"b": "2.1.0"}}'))
    assert sentences(memory, "depends_on", "has_version") == {"web depends on b", "b has version 2.1.0"}
    assert "web depends on a" in ended(memory, "web")


def test_a_damaged_manifest_says_nothing(memory: TidalMemory) -> None:
    worked(memory, wrote("package.json", '{"name": "web", "dependencies": ["a"'), wrote("Cargo.toml", "[package\n"))
    assert sentences(memory) == set()


PYTEST = """\
============================= test session starts ==============================
collected 3 items

tests/test_till.py .F.                                                   [100%]

=================================== FAILURES ===================================
________________________________ test_rounding _________________________________

    def test_rounding():
>       assert total(1) == 2
E       AssertionError: assert 1 == 2

tests/test_till.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_till.py::test_rounding - AssertionError: assert 1 == 2
========================= 1 failed, 2 passed in 0.21s ==========================
"""


def test_a_run_of_pytest_says_what_fails_and_where_until_it_passes(memory: TidalMemory) -> None:
    worked(memory, ran("pytest", PYTEST))
    assert sentences(memory, "fails", "fails_at", "raises", "passes") == {
        "tests/test_till.py fails in pytest",
        "test_rounding fails in pytest",
        "test_rounding fails at tests/test_till.py:12",
        "test_rounding raises AssertionError",
    }
    [fails] = memory.graph.relations(predicate="fails", subject="test_rounding")
    assert memory.graph.evidence(fails)[0].quote.startswith("FAILED tests/test_till.py::test_rounding")
    worked(memory, ran("pytest -q", "...                                  [100%]\n3 passed in 0.02s"))
    assert sentences(memory, "fails", "fails_at", "passes") == {
        "tests/test_till.py passes in pytest",
        "test_rounding passes in pytest",
    }
    assert "test_rounding fails in pytest" in ended(memory, "test_rounding")


def test_a_text_that_only_looks_like_a_run_says_nothing(memory: TidalMemory) -> None:
    worked(memory, ran("cat notes.txt", "PASS the salt\nFAIL: better\n3 passed by\n" + "=" * 90_000))
    assert sentences(memory, "passes", "fails") == set()


def test_recall_finds_what_a_project_needs_and_leaves_how_its_code_is_built_to_the_graph(memory: TidalMemory) -> None:
    manifest = '{"name": "till-web", "dependencies": {"preact": "10.0.0"}}'
    worked(
        memory, wrote("package.json", manifest), wrote("a.py", "def ring_up():\n    sum_up()\n\ndef sum_up(): ...\n")
    )
    assert "till-web depends on preact" in _texts(memory, "till-web preact")
    assert not {text for text in _texts(memory, "ring_up calls sum_up") if "ring_up" in text}
    worked(memory, said="Who rings?", answer="`ring_up` calls `sum_up`.")
    assert "ring_up calls sum_up" in _texts(memory, "ring_up calls sum_up")
    worked(memory, wrote("a.py", "def ring_up(): ...\n"))
    assert "ring_up calls sum_up" not in _texts(memory, "ring_up calls sum_up")


def _texts(memory: TidalMemory, query: str) -> set[str]:
    return {each.entry.text.partition(" [ep:")[0] for each in memory.recall(query, kinds={"fact"})}


def run_of(*failed: str, of: str = "tests/test_till.py", passed: int = 1) -> str:
    """Return what pytest prints of a file in which these tests failed."""
    listed = "".join(f"FAILED {of}::{test} - AssertionError: no\n" for test in failed)
    signs = "F" * len(failed) + "." * passed
    count = f"{len(failed)} failed, {passed} passed" if failed else f"{passed} passed"
    heads = f"=== short test summary info ===\n{listed}" if failed else ""
    return f"=== test session starts ===\n{of} {signs}  [100%]\n\n{heads}=== {count} in 0.10s ===\n"


def test_a_run_of_some_tests_says_nothing_of_the_others(memory: TidalMemory) -> None:
    both = {"test_sum fails in pytest", "test_tax fails in pytest", "tests/test_till.py fails in pytest"}
    worked(memory, ran("pytest", run_of("test_sum", "test_tax")))
    for command in ("pytest tests/test_till.py::test_ok", "pytest -x", "pytest -k ok"):
        worked(memory, ran(command, run_of()))
        assert sentences(memory, "fails", "passes") == both
    worked(memory, ran("pytest tests/test_till.py::test_sum", run_of("test_sum", passed=0)))
    assert sentences(memory, "fails", "passes") == both
    worked(memory, ran("pytest -q | tail -2", "FAILED tests/test_till.py::test_tax - no\n2 failed, 1 passed in 0.1s"))
    assert sentences(memory, "fails", "passes") == both
    worked(memory, ran("pytest tests/test_till.py::test_sum -q", ".   [100%]\n1 passed in 0.01s"))
    assert sentences(memory, "fails", "passes") == both - {"test_sum fails in pytest"} | {"test_sum passes in pytest"}
    worked(memory, ran("pytest", run_of(passed=3)))
    assert sentences(memory, "fails") == set()


def test_a_run_of_all_tests_says_which_fail_no_more(memory: TidalMemory) -> None:
    worked(memory, ran("pytest", run_of("test_sum", "test_tax")))
    worked(memory, ran("pytest", run_of("test_tax", passed=2)))
    assert sentences(memory, "fails") == {"test_tax fails in pytest", "tests/test_till.py fails in pytest"}
    assert sentences(memory, "passes") == {"test_sum passes in pytest"}


def test_what_a_test_prints_is_no_result(memory: TidalMemory) -> None:
    printed = "FAILED tests/test_web.py::test_two - no\ntests/test_web.py::test_one FAILED\ntests/test_web.py FF\n"
    captured = f"=== FAILURES ===\n___ test_sum ___\n--- Captured stdout call ---\n{printed}"
    summary = "=== short test summary info ==="
    output = run_of("test_sum").replace(summary, captured + summary)
    worked(memory, ran("pytest", output))
    worked(memory, ran("pytest -s", f"{printed}{run_of('test_sum')}"))
    worked(memory, ran("cat runs/last.log | head -50", run_of("test_old", of="tests/test_old.py")))
    assert sentences(memory, "fails") == {"test_sum fails in pytest", "tests/test_till.py fails in pytest"}


def test_workers_and_tests_of_one_name_are_told_apart(memory: TidalMemory) -> None:
    text = (
        "=== test session starts ===\n2 workers [3 items]\n"
        "[gw0] [ 33%] FAILED tests/test_a.py::test_one \n[gw1] [ 66%] FAILED tests/test_b.py::test_one \n"
        "[gw1] [100%] PASSED tests/test_b.py::test_two \n=== FAILURES ===\n___ test_one ___\n\n"
        "tests/test_a.py:4: ValueError\n___ test_one ___\n\nlib.py:9: KeyError\n=== short test summary info ===\n"
        "FAILED tests/test_a.py::test_one - ValueError: x\nFAILED tests/test_b.py::test_one - KeyError: 'y'\n"
        "=== 2 failed, 1 passed in 0.3s ===\n"
    )
    worked(memory, ran("pytest -n 2 -v", text))
    assert {each.object for each in memory.graph.relations(predicate="fails_at")} == {
        memory.graph.entity("tests/test_a.py:4").id
    }
    assert sentences(memory, "fails") >= {"tests/test_a.py fails in pytest", "tests/test_b.py fails in pytest"}


def test_a_place_without_a_head_is_no_test_s_own(memory: TidalMemory) -> None:
    text = (
        "=== ERRORS ===\n___ ERROR at setup of test_one ___\nE   RuntimeError: no\n=== FAILURES ===\n"
        "lib.py:2: TypeError: no\n=== short test summary info ===\nERROR tests/test_a.py::test_one - RuntimeError: no\n"
        "FAILED tests/test_a.py::test_two - TypeError: no\n=== 1 failed, 1 error in 0.1s ===\n"
    )
    worked(memory, ran("pytest --tb=line", text))
    assert sentences(memory, "fails_at") == set()
