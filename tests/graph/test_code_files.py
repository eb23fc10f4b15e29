"""Code in the calls of an agent's tools: what is read, written, edited, moved and deleted becomes relations that hold
and end."""

from __future__ import annotations

from datetime import datetime
from threading import Thread

import pytest

from tests.conftest import OpenMemory
from tests.graph.coding import affected, edited, ended, ran, read, sentences, worked, wrote
from tidal_plugins import Exchange, Message, NotFound, Settings, TidalMemory, ToolCall

pytest.importorskip("tree_sitter")

STORE = """\
import sqlite3

from shop.models import Order


class OrderStore:
    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path)

    def open_orders(self, customer: str) -> list[Order]:
        return [Order(*row) for row in self._db.execute("SELECT 1")]
"""
ROUTES = """\
from shop.pages import first_page
from shop.store import OrderStore


def list_orders(customer: str, store: OrderStore) -> dict:
    return first_page(store.open_orders(customer))
"""
TEST = """\
from shop.routes import list_orders


def test_orders_are_listed():
    assert list_orders("ada", None) == {}
"""
LOAD = "def load(): ...\n"


def test_files_that_are_read_say_what_defines_imports_calls_and_tests_what(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/store.py", STORE), read("src/shop/routes.py", ROUTES), read("tests/test_r.py", TEST))
    assert {
        "OrderStore is defined in src/shop/store.py",
        "OrderStore contains OrderStore.open_orders",
        "list_orders is defined in src/shop/routes.py",
        "src/shop/routes.py imports src/shop/store.py",
        "src/shop/routes.py imports shop.pages",
        "list_orders calls OrderStore.open_orders",
        "list_orders calls first_page",
        "src/shop/store.py uses SQLite",
        "test_orders_are_listed tests list_orders",
    } <= sentences(memory)
    assert not {one for one in sentences(memory, "calls") if "connect" in one}  # of another project


def test_impact_answers_what_a_change_reaches(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/routes.py", ROUTES), read("src/shop/store.py", STORE), read("tests/test_r.py", TEST))
    assert affected(memory, "OrderStore.open_orders") == {"list_orders", "test_orders_are_listed"}
    assert affected(memory, "OrderStore") == {"list_orders", "test_orders_are_listed"}
    assert {"src/shop/routes.py", "list_orders", "tests/test_r.py"} <= affected(memory, "src/shop/store.py")
    assert affected(memory, "test_orders_are_listed") == set()


def test_the_evidence_is_the_line_of_code(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/routes.py", ROUTES))
    [call] = memory.graph.relations(predicate="calls", object="first_page")
    [evidence] = memory.graph.evidence(call)
    assert evidence.quote == "return first_page(store.open_orders(customer))"
    worked(memory, edited("src/shop/routes.py", "    return first", "    audit(customer)\n    return first"))
    worked(memory, edited("src/shop/routes.py", "import OrderStore", "import OrderStore, audit"))
    [call] = memory.graph.relations(predicate="calls", object="audit")
    assert memory.graph.evidence(call)[0].quote == "import OrderStore, audit"


def test_an_edit_ends_what_it_removed_and_keeps_the_rest(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/routes.py", ROUTES))
    worked(memory, edited("src/shop/routes.py", "first_page(store.open_orders(customer))", "store.all_orders()"))
    assert "list_orders calls OrderStore.all_orders" in sentences(memory)
    assert ended(memory, "list_orders") == {"list_orders calls OrderStore.open_orders", "list_orders calls first_page"}
    assert "src/shop/routes.py imports shop.store" in sentences(memory)


def test_what_is_removed_within_a_turn_is_known_as_ended(memory: TidalMemory) -> None:
    worked(memory, wrote("a.py", "def f():\n    g()\n\ndef g(): ...\n"), edited("a.py", "    g()\n", "    pass\n"))
    assert ended(memory, "f") == {"f calls g"}
    worked(memory, edited("a.py", "    pass\n", "    g()\n"))
    assert "f calls g" in sentences(memory)


def test_a_file_that_is_written_anew_says_all_that_holds_of_it(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/store.py", STORE))
    worked(memory, wrote("src/shop/store.py", "import psycopg\n\n\nclass OrderStore:\n    def one(self): ...\n"))
    assert "src/shop/store.py uses PostgreSQL" in sentences(memory)
    assert "src/shop/store.py uses SQLite" in ended(memory, "src/shop/store.py")
    assert "OrderStore contains OrderStore.open_orders" in ended(memory, "OrderStore")


def test_a_rename_moves_what_a_file_defines(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/routes.py", ROUTES))
    worked(memory, ran("git mv src/shop/routes.py src/shop/http.py", ""))
    assert "list_orders is defined in src/shop/http.py" in sentences(memory)
    assert "list_orders is defined in src/shop/routes.py" in ended(memory, "list_orders")
    worked(memory, edited("src/shop/http.py", "def list_orders", "def orders_of"))
    assert "orders_of is defined in src/shop/http.py" in sentences(memory)


def test_a_deletion_ends_what_a_file_says(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/routes.py", ROUTES))
    worked(memory, ran("rm src/shop/routes.py", ""))
    assert sentences(memory, "calls", "imports", "defined_in") == set()
    assert "list_orders calls first_page" in ended(memory, "list_orders")


def test_a_patch_is_followed(memory: TidalMemory) -> None:
    worked(memory, read("a.py", "def f():\n    return g()\n\ndef g(): ...\n"))
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n def f():\n-    return g()\n+    return 1\n*** End Patch"
    worked(memory, ToolCall("apply_patch", {"input": patch}, result="Success"))
    assert ended(memory, "f") == {"f calls g"}


def test_an_edit_of_an_unknown_file_is_read_from_its_own_texts(memory: TidalMemory) -> None:
    worked(memory, edited("lib/a.py", "import json\n", "import json\n\nfrom lib.b import load\n"))
    assert sentences(memory) == {"lib/a.py imports json", "lib/a.py imports lib.b"}
    worked(memory, edited("lib/a.py", "from lib.b import load\n", ""))
    assert ended(memory, "lib/a.py") == {"lib/a.py imports lib.b"}


def test_a_part_of_a_file_makes_no_functions_of_its_methods(memory: TidalMemory) -> None:
    part = "    40\t    def close(self):\n    41\t        self.flush()\n    42\t\n    43\tdef reopen(): ..."
    worked(memory, ToolCall("Read", {"file_path": "a.py", "offset": 40, "limit": 4}, result=part))
    assert sentences(memory) == {"reopen is defined in a.py"}


def test_an_edit_that_failed_changes_nothing(memory: TidalMemory) -> None:
    worked(memory, read("a.py", "def f():\n    return g()\n\ndef g(): ...\n"))
    arguments = {"file_path": "a.py", "old_string": "return g()  # twice", "new_string": "return 1"}
    worked(memory, ToolCall("Edit", arguments, result="Error: String to replace not found in file.", error=True))
    assert "f calls g" in sentences(memory)


# one file by many names


def test_a_path_is_one_file_however_much_of_it_is_said(memory: TidalMemory) -> None:
    worked(memory, read("/home/kit/shop/src/shop/routes.py", ROUTES), said="look at routes.py please")
    worked(memory, said="I created `list_orders` in `shop/routes.py`, and `list_orders` is defined in `routes.py`.")
    files = [each for each in memory.graph.entities(type="file") if each.name.endswith("routes.py")]
    assert [each.name for each in files] == ["/home/kit/shop/src/shop/routes.py"]
    assert memory.graph.entity("routes.py").id == files[0].id


def test_an_absolute_path_joins_the_relative_one(memory: TidalMemory) -> None:
    worked(memory, read("src/shop/routes.py", ROUTES))
    worked(memory, edited("/home/kit/shop/src/shop/routes.py", "first_page(", "last_page("))
    assert "list_orders calls first_page" in ended(memory, "list_orders")
    worked(memory, read("/home/kit/shop/src/shop/store.py", STORE))
    assert "OrderStore is defined in src/shop/store.py" in sentences(memory)


def test_packages_of_a_monorepo_keep_their_files_apart(memory: TidalMemory) -> None:
    one, other = "def start():\n    first()\n\ndef first(): ...\n", "def start():\n    second()\n\ndef second(): ...\n"
    worked(memory, read("packages/a/src/main.py", one), read("packages/b/src/main.py", other))
    worked(memory, said="main.py is long")
    names = {each.name for each in memory.graph.entities(type="file")}
    assert names == {"packages/a/src/main.py", "packages/b/src/main.py", "main.py"}
    assert affected(memory, "first") == {"start"}
    assert affected(memory, "second") == {"packages/b/src/main.py::start"}


# bounds, growth, forgetting


def test_huge_minified_and_hostile_files_are_passed_over(memory: TidalMemory) -> None:
    worked(
        memory,
        read("big.py", "x = 1\n" * 60_000),
        read("min.js", "function a(){b()};" * 20_000),
        read("deep.js", "if(a){" * 30_000 + "}" * 30_000),
        read("deep.py", "(" * 50_000),
        read("list.js", "export const ones = () => [" + "1,\n" * 30_000 + "];\n"),
        read("small.py", "def f(): ...\n"),
    )
    assert sentences(memory) == {"f is defined in small.py"}


def test_of_very_many_functions_as_many_are_kept_as_a_message_may_state(memory: TidalMemory) -> None:
    text = "".join(f"def f{number}(): ...\n" for number in range(2_000))
    worked(memory, wrote("many.py", text))
    assert 0 < len(memory.graph.relations()) <= 500


def test_damaged_code_is_read_as_far_as_it_goes(memory: TidalMemory) -> None:
    worked(memory, wrote("a.py", "def f(:\n    ]]\n\nimport json\n\ndef g():\n    h(\n"))
    assert "a.py imports json" in sentences(memory)


def test_a_turn_that_grows_is_read_on_from_where_it_was(memory: TidalMemory) -> None:
    def turn(*done: ToolCall) -> Exchange:
        said = [Message("user", "go", id="u")]
        for number, call in enumerate(done):
            call = ToolCall(call.name, call.arguments, f"c{number}")
            said += [Message("assistant", "", id=f"a{number}", tool_calls=(call,))]
            said += [Message("tool", done[number].result or "", id=f"t{number}", tool_call_id=f"c{number}")]
        return Exchange(tuple(said), "t", "turn")

    calls = [
        wrote("a.py", "def f():\n    g()\n\ndef g(): ...\n"),
        edited("a.py", "    g()\n", "    h()\n\ndef h(): ...\n"),
        edited("a.py", "    h()\n", "    pass\n"),
    ]
    for count in (1, 2, 3):
        memory.record_many([turn(*calls[:count])])
        memory.graph.index_pending()
    assert sentences(memory, "calls") == set()
    assert ended(memory, "f") == {"f calls g", "f calls h"}


def test_a_call_that_is_answered_later_is_read_then(memory: TidalMemory) -> None:
    call = ToolCall("Write", {"file_path": "a.py", "content": "def f(): ...\n"}, "c")
    said = (Message("user", "go", id="u"), Message("assistant", "", id="a", tool_calls=(call,)))
    memory.record_many([Exchange(said, "t", "turn")])
    memory.graph.index_pending()
    assert sentences(memory) == set()
    answered = Message("tool", "File created.", id="r", tool_call_id="c")
    memory.record_many([Exchange((*said, answered), "t", "turn")])
    memory.graph.index_pending()
    assert sentences(memory) == {"f is defined in a.py"}


def test_what_a_turn_showed_is_forgotten_with_it(memory: TidalMemory) -> None:
    first = worked(memory, read("a.py", "def f():\n    g()\n\ndef g(): ...\n"))
    second = worked(memory, edited("a.py", "    g()\n", "    pass\n"))
    memory.forget(second)
    assert "f calls g" in sentences(memory)
    memory.forget(first)
    assert sentences(memory) == set()
    with pytest.raises(NotFound):
        memory.graph.entity("f")


def test_secrets_in_code_are_not_read(memory: TidalMemory) -> None:
    key = "sk-ant-api03-" + "Ab3dE6gH9" * 10
    worked(memory, wrote("a.py", f'KEY = "{key}"\n\ndef f(): ...\n'))
    assert "f is defined in a.py" in sentences(memory)
    [relation] = memory.graph.relations()
    assert all(key not in each.quote for each in memory.graph.evidence(relation))


def test_an_old_turn_that_comes_late_does_not_undo_what_is_known(memory: TidalMemory) -> None:
    now = memory.now()
    memory.record_many([_at(now, wrote("a.py", "def f():\n    g()\n\ndef g(): ...\n"), "new")])
    memory.graph.index_pending()
    old = wrote("a.py", "def f():\n    h()\n\ndef h(): ...\n")
    memory.record_many([_at(now.replace(year=now.year - 1), old, "old")])
    memory.graph.index_pending()
    assert "f calls g" in sentences(memory)
    assert "f calls h" in ended(memory, "f")


def _at(at: datetime, call: ToolCall, thread: str) -> Exchange:
    asked = ToolCall(call.name, call.arguments, "c")
    said = (
        Message("user", "go"),
        Message("assistant", "", tool_calls=(asked,)),
        Message("tool", call.result or "", tool_call_id="c"),
    )
    return Exchange(said, thread, thread, occurred_at=at)


def test_a_file_that_was_said_before_it_was_seen_is_the_same(memory: TidalMemory) -> None:
    worked(memory, said="Where?", answer="I created `list_orders` in `shop/routes.py`. `list_orders` is in routes.py.")
    worked(memory, read("src/shop/routes.py", ROUTES))
    file = memory.graph.entity("routes.py")
    assert file.name == "src/shop/routes.py"
    assert set(file.aliases) == {"shop/routes.py", "routes.py"}
    worked(memory, read("packages/two/routes.py", "def other(): ...\n"))
    assert memory.graph.entity("shop/routes.py").name == "src/shop/routes.py"
    assert memory.graph.entity("routes.py").name == "routes.py"  # of which there are two


def test_two_files_that_were_seen_are_never_joined(memory: TidalMemory) -> None:
    worked(memory, read("src/main.py", "def one(): ...\n"))
    worked(memory, read("packages/two/src/main.py", "def two(): ...\n"))
    assert sentences(memory) == {"one is defined in src/main.py", "two is defined in packages/two/src/main.py"}
    assert memory.graph.merges() == []


def test_a_merge_that_a_user_undid_stays_undone(memory: TidalMemory) -> None:
    worked(memory, said="routes.py is long")
    worked(memory, read("src/shop/routes.py", ROUTES))
    [merge] = memory.graph.merges()
    memory.graph.undo(merge)
    worked(memory, ran("git mv src/shop/routes.py src/shop/http.py", ""))
    worked(memory, wrote("src/shop/routes.py", ROUTES))
    assert memory.graph.entity("routes.py").name == "routes.py"


def test_a_folder_that_moves_takes_its_files_along(memory: TidalMemory) -> None:
    worked(memory, read("shop/routes.py", ROUTES), read("shop/store.py", STORE))
    worked(memory, ran("git mv shop store_front", ""))
    assert "list_orders is defined in store_front/routes.py" in sentences(memory)
    assert "OrderStore is defined in store_front/store.py" in sentences(memory)
    assert "OrderStore is defined in shop/store.py" in ended(memory, "OrderStore")
    worked(memory, ran("rm -rf store_front", ""))
    assert sentences(memory, "defined_in", "calls") == set()


def test_calls_of_one_message_are_read_in_their_order(memory: TidalMemory) -> None:
    calls = (
        ToolCall("Write", {"file_path": "a.py", "content": "def f(): ...\n"}, "1"),
        ToolCall("Write", {"file_path": "b.py", "content": "from a import f\n\n\ndef g():\n    f()\n"}, "2"),
    )
    said = [Message("user", "go"), Message("assistant", "On it.", tool_calls=calls)]
    said += [Message("tool", "File created.", tool_call_id=id_) for id_ in ("1", "2")]
    memory.record_many([Exchange(tuple(said), "t")])
    memory.graph.index_pending()
    assert {"g calls f", "b.py imports a.py", "f is defined in a.py"} <= sentences(memory)
    [calling] = memory.graph.relations(predicate="calls")
    assert [each.quote for each in memory.graph.evidence(calling)] == ["f()"]


def test_files_of_other_packages_are_none_of_the_project(memory: TidalMemory) -> None:
    worked(memory, read(".venv/lib/python3.12/site-packages/lib/a.py", ROUTES))
    assert sentences(memory) == set()


def test_an_object_of_no_told_class_is_likely_of_the_one_that_it_is_named_after(memory: TidalMemory) -> None:
    routes = "from shop.store import OrderStore\n\ndef listed(store, db):\n    db.vacuum()\n    store.open_orders(1)\n"
    worked(memory, read("shop/store.py", STORE), read("shop/routes.py", routes))
    assert sentences(memory, "calls") == {"listed calls OrderStore.open_orders", "OrderStore.open_orders calls Order"}
    [told] = memory.graph.relations(predicate="calls", object="Order")
    [guessed] = memory.graph.relations(predicate="calls", object="OrderStore.open_orders")
    assert guessed.confidence < told.confidence


def test_two_that_read_the_same_queue_lose_nothing(open_memory: OpenMemory) -> None:
    settings = Settings(graph={"background": False})
    one, other = open_memory(settings=settings), open_memory(settings=settings)
    for number in range(12):
        one.record("go", "done", tools=[wrote(f"shop/part{number}.py", f"def part{number}(): ...\n")])
    both = [Thread(target=memory.graph.index_pending) for memory in (one, other)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    one.graph.index_pending()
    assert one.graph.pending() == []
    assert sentences(one) == {f"part{number} is defined in shop/part{number}.py" for number in range(12)}


def test_words_of_a_tool_in_place_of_a_file_end_nothing(memory: TidalMemory) -> None:
    worked(memory, read("a.py", "def f():\n    g()\n\ndef g(): ...\n"))
    for words in ("File unchanged since last read: look there.", "[9 lines were cut]\ndef h(): ...", "<!-- same -->"):
        worked(memory, ToolCall("Read", {"file_path": "a.py"}, result=words))
        assert {"f calls g", "f is defined in a.py", "g is defined in a.py"} <= sentences(memory), words


def test_an_edit_of_a_file_that_may_have_changed_is_read_from_its_own_texts(memory: TidalMemory) -> None:
    worked(memory, read("a.py", "def f():\n    g()\n\ndef g(): ...\n"))
    worked(memory, ran("python format.py a.py", "done"))
    worked(memory, edited("a.py", "def f():\n    g()\n", "def f():\n    pass\n"))
    assert memory.graph.pending() == []
    assert sentences(memory, "calls") == set()


# names: what a call means is told by what its file imports, defines and takes, and nothing else


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
