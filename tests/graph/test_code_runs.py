"""Manifests and test runs in the calls of an agent's tools: what a project depends on, which tests pass and fail."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tests.graph.coding import ended, ran, read, sentences, worked, wrote
from tidal_plugins import Settings, TidalMemory

MANIFESTS = {
    "pyproject.toml": (
        '[project]\nname = "shop"\ndependencies = ["httpx>=0.27", "rich==13.9.4"]\n'
        '[dependency-groups]\ndev=["pytest"]\n',
        {"shop depends on httpx", "shop depends on pytest", "rich has version 13.9.4", "httpx has version >=0.27"},
    ),
    "requirements.txt": ("httpx==0.27.0  # http\n-r other.txt\n", {"requirements.txt depends on httpx"}),
    "package.json": (
        '{"name": "web", "dependencies": {"react": "^19.0.0"}, "devDependencies": {"vite": "*"}}',
        {"web depends on react", "react has version ^19.0.0", "web depends on vite"},
    ),
    "go.mod": (
        "module acme.dev/shop\n\nrequire (\n\tgithub.com/go-chi/chi/v5 v5.1.0\n)\n",
        {"acme.dev/shop depends on github.com/go-chi/chi/v5", "github.com/go-chi/chi/v5 has version v5.1.0"},
    ),
    "Cargo.toml": (
        '[package]\nname = "till"\n[dependencies]\nserde = "1.0"\ntokio = { version = "1.40", features = [] }\n',
        {"till depends on serde", "tokio has version 1.40"},
    ),
    "pom.xml": (
        "<project><artifactId>till</artifactId><dependencies><dependency><groupId>org.slf4j</groupId>"
        "<artifactId>slf4j-api</artifactId><version>2.0.16</version></dependency></dependencies></project>",
        {"till depends on org.slf4j:slf4j-api", "org.slf4j:slf4j-api has version 2.0.16"},
    ),
    "Gemfile": ("source 'https://rubygems.org'\ngem 'rails', '~> 8.0'\n", {"Gemfile depends on rails"}),
    "composer.json": (
        '{"name": "acme/till", "require": {"php": ">=8.2", "monolog/monolog": "^3.0"}}',
        {"acme/till depends on monolog/monolog"},
    ),
    "Till.csproj": (
        '<Project><ItemGroup><PackageReference Include="Serilog" Version="4.1.0" /></ItemGroup></Project>',
        {"Till.csproj depends on Serilog", "Serilog has version 4.1.0"},
    ),
}


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    return open_memory(settings=Settings(graph={"background": False}))


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_says_what_a_project_depends_on(memory: TidalMemory, name: str) -> None:
    text, said = MANIFESTS[name]
    worked(memory, wrote(name, text))
    assert said <= sentences(memory)


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


RUNS = {
    "pytest -v": (
        "=== test session starts ===\ntests/test_a.py::test_one PASSED [ 50%]\n"
        "tests/test_a.py::TestB::test_two[x-1] FAILED\n",
        {"TestB.test_two fails in pytest", "tests/test_a.py fails in pytest"},
    ),
    "npx jest": (
        "FAIL src/cart.test.ts\n  ● Cart › adds two prices\n\n    TypeError: x is undefined\n\n"
        "      at sum (src/cart.ts:14:9)\n\nPASS src/till.test.ts\n",
        {
            "adds two prices fails in jest",
            "adds two prices fails at src/cart.ts:14",
            "adds two prices raises TypeError",
            "src/cart.test.ts fails in jest",
            "src/till.test.ts passes in jest",
        },
    ),
    "npx vitest run": (
        " RUN  v3.0.0 /w\n\n ✓ src/till.test.ts (3 tests) 4ms\n FAIL  src/cart.test.ts > Cart > adds two prices\n",
        {"adds two prices fails in vitest", "src/till.test.ts passes in vitest", "src/cart.test.ts fails in vitest"},
    ),
    "go test ./...": (
        "--- FAIL: TestTotal (0.00s)\n    till_test.go:9: got 1\nFAIL\n"
        "FAIL\tacme.dev/shop/till\t0.003s\nok  \tacme.dev/shop/web\t0.01s\n",
        {"TestTotal fails in go test", "TestTotal fails at till_test.go:9"},
    ),
    "cargo test": (
        "running 2 tests\ntest till::adds ... ok\ntest till::rounds ... FAILED\n\n---- till::rounds stdout ----\n"
        "thread 'till::rounds' panicked at src/till.rs:30:5:\nassertion failed\n",
        {"rounds fails in cargo test", "rounds fails at src/till.rs:30"},
    ),
}


@pytest.mark.parametrize("command", RUNS)
def test_the_usual_runners_are_read(memory: TidalMemory, command: str) -> None:
    output, said = RUNS[command]
    worked(memory, ran(command, output))
    assert said <= sentences(memory)


def test_a_text_that_only_looks_like_a_run_says_nothing(memory: TidalMemory) -> None:
    worked(memory, ran("cat notes.txt", "PASS the salt\nFAIL: better\n3 passed by\n" + "=" * 90_000))
    assert sentences(memory, "passes", "fails") == set()


def test_recall_finds_what_a_project_needs_and_leaves_how_its_code_is_built_to_the_graph(memory: TidalMemory) -> None:
    pytest.importorskip("tree_sitter")
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
