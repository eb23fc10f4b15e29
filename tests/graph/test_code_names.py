"""Names in code: what a call means is told by what its file imports, defines and takes, and nothing else."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tests.graph.coding import edited, ran, read, sentences, worked, wrote
from tidal_plugins import Settings, TidalMemory

pytest.importorskip("tree_sitter")

LOAD = "def load(): ...\n"


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    return open_memory(settings=Settings(graph={"background": False}))


@pytest.mark.parametrize("line", ["from two.disk import load", "from .disk import load"])
@pytest.mark.parametrize("first", [True, False], ids=["importer first", "importer last"])
def test_of_functions_of_one_name_the_imported_one_is_called(memory: TidalMemory, line: str, first: bool) -> None:
    files = [read("one/disk.py", LOAD), read("two/disk.py", LOAD)]
    caller = read("two/main.py", f"{line}\n\n\ndef start():\n    load()\n")
    worked(memory, *([caller, *files] if first else [*files, caller]))
    [called] = memory.graph.relations(predicate="calls")
    [place] = memory.graph.relations(subject=called.object, predicate="defined_in")
    assert place.object == memory.graph.entity("two/disk.py").id


def test_what_a_module_passes_on_is_what_it_imports(memory: TidalMemory) -> None:
    worked(memory, read("shop/store/disk.py", LOAD), read("shop/other.py", LOAD))
    worked(memory, read("shop/base.py", "from shop.store.disk import load\n"))
    worked(memory, read("shop/main.py", "from shop.base import load\n\n\ndef start():\n    load()\n"))
    assert sentences(memory, "calls") == {"start calls load"}
    assert "load is defined in shop/store/disk.py" in sentences(memory)


def test_a_parameter_is_none_of_the_functions_of_its_name(memory: TidalMemory) -> None:
    text = (
        "from disk import load, store\n\n\ndef start(load, store):\n    load()\n    store.put()\n\n\n"
        "def each(items):\n    def inner(load=None):\n        load()\n    return inner\n"
    )
    worked(memory, read("disk.py", LOAD), read("main.py", text))
    assert sentences(memory, "calls") == set()


def test_a_list_of_things_is_no_thing(memory: TidalMemory) -> None:
    text = (
        "from typing import Optional\nfrom shop.models import Order\n\n\n"
        "def all_of(many: list[Order], by: dict[str, Order], one: Optional[Order], two: 'Order | None'):\n"
        "    many.append(1)\n    by.values()\n    one.pay()\n    two.send()\n"
    )
    worked(memory, read("shop/main.py", text))
    assert sentences(memory, "calls") == {"all_of calls Order.pay", "all_of calls Order.send"}


def test_a_constant_is_no_class(memory: TidalMemory) -> None:
    text = "from shop.forms import NUMBER\n\n\ndef number_in(text):\n    return NUMBER.search(text)\n"
    worked(memory, read("shop/main.py", text))
    assert sentences(memory, "calls") == set()


def test_folders_and_modules_that_a_forgotten_turn_named_are_forgotten(memory: TidalMemory) -> None:
    first = worked(memory, ran("ls -R", "acme/hidden/a.py"), wrote("acme/b.py", "from acme.hidden import run\n"))
    memory.forget(first)
    text = "from hidden.a import run\n\n\ndef start():\n    run()\n"
    worked(memory, read("main.py", text))
    assert sentences(memory, "calls") == set()  # as in a project of which nothing else was ever seen


def test_a_function_that_moves_to_another_file_stays_the_same(memory: TidalMemory) -> None:
    worked(memory, read("a.py", "def f(): ...\n\ndef g():\n    f()\n"), read("b.py", "import os\n"))
    worked(
        memory, edited("a.py", "def f(): ...\n", "from b import f\n"), edited("b.py", "os\n", "os\n\ndef f(): ...\n")
    )
    assert {"g calls f", "f is defined in b.py"} <= sentences(memory)
