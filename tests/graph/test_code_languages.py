"""The languages whose code is read from tool calls: one small file of each."""

from __future__ import annotations

import pytest

from tests.conftest import OpenMemory
from tests.graph.coding import sentences, worked, wrote
from tidal_plugins import Settings

pytest.importorskip("tree_sitter")

CASES = {
    "web/cart.ts": (
        "import { round } from './money';\nimport * as api from './api';\nexport class Cart extends Basket {\n"
        "  constructor(private readonly till: Till) { super(); }\n  total(): number { return round(this.sum()); }\n"
        "  sum(): number { api.load(); return 1; }\n  pay() { return this.till.open(); }\n}\n"
        "export const empty = () => { return new Cart(); };\nclass Till { open() {} }\n",
        {
            "web/cart.ts imports web/money.ts",
            "Cart extends Basket",
            "Cart contains Cart.total",
            "Cart.total calls round",
            "Cart.total calls Cart.sum",
            "Cart.sum calls load",
            "Cart.pay calls Till.open",
            "empty calls Cart",
            "empty is defined in web/cart.ts",
        },
    ),
    "web/cart.test.js": (
        "const { total } = require('./cart');\ntest('adds', () => { expect(total(1)).toBe(1); });\n",
        {"web/cart.test.js imports web/cart.ts", "web/cart.test.js tests total"},
    ),
    "till/till.go": (
        'package till\n\nimport "acme.dev/shop/store"\n\ntype Till struct {\n\tdb *Store\n}\n\ntype Store struct{}\n\n'
        "func (s *Store) Get() {}\n\nfunc (t *Till) Open() {\n\tt.db.Get()\n\tcount()\n}\n\nfunc count() {}\n",
        {
            "till/till.go imports acme.dev/shop/store",
            "Till contains Till.Open",
            "Till.Open calls Store.Get",
            "Till.Open calls count",
        },
    ),
    "src/till.rs": (
        "use crate::money::{round, Money};\npub struct Till { store: Store }\npub struct Store;\n"
        "impl Store { fn get(&self) {} }\n"
        "impl Drawer for Till { fn open(&self) { self.store.get(); round(1); } }\npub trait Drawer {}\n",
        {"Till extends Drawer", "Till contains Till.open", "Till.open calls Store.get", "Till.open calls round"},
    ),
    "src/Till.java": (
        "import com.acme.Store;\nclass Till extends Box implements Drawer {\n  private Ledger ledger;\n"
        "  void open() { ledger.add(); close(); new Ledger(); }\n  void close() {}\n}\n"
        "class Ledger { void add() {} }\n",
        {
            "src/Till.java imports com.acme.Store",
            "Till extends Box",
            "Till extends Drawer",
            "Till.open calls Ledger.add",
            "Till.open calls Till.close",
            "Till.open calls Ledger",
        },
    ),
    "src/till.c": (
        '#include "money.h"\nstatic int round_up(int x) { return x; }\nint total(int x) { return round_up(x); }\n',
        {"src/till.c imports src/money.h", "total calls round_up", "total is defined in src/till.c"},
    ),
    "src/till.cpp": (
        "class Till : public Box {\n  Ledger* ledger;\n public:\n  int open();\n};\n"
        "class Ledger { public: int add() { return 1; } };\nint Till::open() { return ledger->add(); }\n",
        {"Till extends Box", "Till contains Till.open", "Till.open calls Ledger.add"},
    ),
    "src/Till.cs": (
        "using Acme.Money;\nnamespace Acme;\nclass Till : Box {\n  private readonly Ledger _ledger;\n"
        "  void Open() { _ledger.Add(); Close(); }\n  void Close() {}\n}\nclass Ledger { public void Add() {} }\n",
        {
            "src/Till.cs imports Acme.Money",
            "Till extends Box",
            "Till.Open calls Ledger.Add",
            "Till.Open calls Till.Close",
        },
    ),
    "lib/till.rb": (
        "require_relative 'money'\nclass Till < Box\n  def initialize\n    @ledger = Ledger.new\n  end\n"
        "  def open\n    @ledger.add(1)\n  end\nend\nclass Ledger\n  def add(x)\n  end\nend\n",
        {
            "lib/till.rb imports lib/money.rb",
            "Till extends Box",
            "Till contains Till.open",
            "Till.open calls Ledger.add",
        },
    ),
    "src/Till.php": (
        "<?php\nuse Acme\\Money\\Coin;\nclass Till extends Box {\n  private Ledger $ledger;\n"
        "  function open() { $this->ledger->add(); $this->close(); }\n  function close() {}\n}\n"
        "class Ledger { function add() {} }\n",
        {
            "src/Till.php imports Acme\\Money",
            "Till extends Box",
            "Till.open calls Ledger.add",
            "Till.open calls Till.close",
        },
    ),
    "db/001.sql": (
        "CREATE TABLE orders (id int, customer int REFERENCES customers(id));\n"
        "CREATE VIEW open_orders AS SELECT * FROM orders WHERE id > 1;\n",
        {
            "orders is defined in db/001.sql",
            "orders depends on customers",
            "open_orders depends on orders",
        },
    ),
    "bin/deploy.sh": (
        "source lib/log.sh\nbuild() { say hello; }\nrelease() {\n  build\n}\n",
        {"bin/deploy.sh imports bin/lib/log.sh", "release calls build", "build is defined in bin/deploy.sh"},
    ),
}


@pytest.mark.parametrize("path", CASES)
def test_code_is_read_in_each_language(open_memory: OpenMemory, path: str) -> None:
    memory = open_memory(settings=Settings(graph={"background": False}))
    text, said = CASES[path]
    if path.endswith(".js"):
        worked(memory, wrote("web/cart.ts", "export function total(x) { return x; }\n"))
    worked(memory, wrote(path, text))
    assert said <= sentences(memory)
