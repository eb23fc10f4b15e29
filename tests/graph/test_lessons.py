"""What fixed an error and what caused it, and what code is for, as turns and their tools say."""

from __future__ import annotations

from tests.conftest import OpenMemory
from tidal_plugins import Settings, TidalMemory, ToolCall

TRACE = """Traceback (most recent call last):
  File "load.py", line 3, in load_region
    return d['region']
KeyError: 'region'"""
ASKED = "The import crashes. Can you fix it?"
ANSWER = "The importer raised KeyError because the region column was missing. I added a default and all tests pass now."


def bash(result: str) -> ToolCall:
    return ToolCall("bash", {"command": "pytest"}, result=result)


def learned(memory: TidalMemory) -> set[tuple[str, str, str]]:
    memory.graph.index_pending()
    found = [r for predicate in ("fixed_by", "causes") for r in memory.graph.relations(predicate=predicate)]
    return {(memory.graph.entity(r.subject).name, r.predicate, memory.graph.entity(r.object).name) for r in found}


def opened(open_memory: OpenMemory) -> TidalMemory:
    return open_memory(settings=Settings(graph={"background": False}))


def test_an_error_of_a_tool_is_linked_to_what_the_answer_says_was_done(open_memory: OpenMemory) -> None:
    memory = opened(open_memory)
    memory.record(ASKED, ANSWER, tools=[bash(TRACE), bash("3 passed in 0.10s")], thread="import")
    cause, fix = (f"“{sentence}.”" for sentence in ANSWER.removesuffix(".").split(". "))
    assert learned(memory) == {("KeyError", "fixed_by", fix), (cause, "causes", "KeyError")}
    seen = memory.recall("Have we seen this KeyError before?", kinds={"fact"})
    assert "KeyError is fixed by “I added a default and all tests pass now.”" in " ".join(hit.text for hit in seen)
    [relation] = memory.graph.relations(predicate="fixed_by")
    assert memory.graph.evidence(relation)[0].quote == "I added a default and all tests pass now."


def test_words_of_an_error_in_the_question_are_enough(open_memory: OpenMemory) -> None:
    memory = opened(open_memory)
    memory.record("We get a TimeoutError from the API.", "The TimeoutError was fixed by adding a retry with backoff.")
    memory.record("What is a TypeError?", "A TypeError is raised when an object has the wrong type.")
    memory.record("Why a ValueError here?", "I could not reproduce the ValueError.")
    fix = "“The TimeoutError was fixed by adding a retry with backoff.”"
    assert learned(memory) == {("TimeoutError", "fixed_by", fix)}


def test_nothing_is_learned_while_the_tools_still_show_the_error(open_memory: OpenMemory) -> None:
    memory = opened(open_memory)
    memory.record(ASKED, "I added a default to the import.", tools=[bash(TRACE), bash(TRACE)])
    assert learned(memory) == set()


CODE = {
    "/app/tax.py": 'def owed(income):\n    """Return the tax on an income. Of 2026."""\n    return income\n',
    "/app/cart.js": "// Adds a line to the cart.\nexport function addLine(cart, line) { return cart.concat(line); }\n",
    "/app/tax.go": "package tax\n\n// Sum adds up taxes.\nfunc Sum(of int) int { return of }\n",
}


def test_the_purpose_of_code_stands_beside_its_path_and_follows_its_docstring(open_memory: OpenMemory) -> None:
    memory = opened(open_memory)

    def write(path: str, text: str) -> None:
        call = ToolCall("Write", {"file_path": path, "content": text}, result="ok")
        memory.record("Write it.", "Done.", tools=[call], thread="app")
        memory.graph.index_pending()

    for path, text in CODE.items():
        write(path, text)
    purposes = {memory.graph.sentence(relation) for relation in memory.graph.relations(predicate="has_purpose")}
    assert purposes == {
        "owed has the purpose “Return the tax on an income.”",
        "addLine has the purpose “Adds a line to the cart.”",
        "Sum has the purpose “Sum adds up taxes.”",
    }
    write("/app/tax.py", CODE["/app/tax.py"].replace("Return the tax on an income", "Return the duty on an income"))
    assert {note.text for note in memory.graph.card("owed").current} == {
        "owed is defined in /app/tax.py",
        "owed has the purpose “Return the duty on an income.”",
    }
