"""The week that ``examples/graph.py`` lives through: a developer and an agent work on a shop's back end, 40 turns in
four threads. Each turn is what the developer says and what the agent answers.
"""

from __future__ import annotations

MONDAY = [
    ("My name is Ines. I took over the back end of the shop on Friday.", "Welcome, Ines. Where do you want to begin?"),
    (
        "Where is the tax worked out?",
        "The function `calculate_tax_liability` is defined in `billing/tax.py`.",
    ),
    (
        "Show me.",
        """This is `billing/tax.py`:

```python
from decimal import Decimal

from billing.rates import rate_for


def calculate_tax_liability(order):
    \"\"\"Work out the tax that an order owes, by country.\"\"\"
    return sum(line.net * rate_for(line, order.country) for line in order.lines)
```""",
    ),
    (
        "What is it for?",
        "`calculate_tax_liability` is a pure function for the tax that an order owes, by the buyer's country.",
    ),
    ("Who calls it?", "`create_invoice` calls `calculate_tax_liability`. It is defined in `billing/invoice.py`."),
    ("Good. Does anything else call it?", "`refund_order` calls `calculate_tax_liability`, too."),
    (
        "I prefer small functions to clever ones.",
        "Understood: small functions.",
    ),
    ("We must never round before the last line.", "Noted: the rounding comes last."),
    (
        "Which database is it?",
        "PostgreSQL: `DATABASE_URL` is set to postgres://shop@db.internal/shop.",
    ),
    (
        "Is `billing/rates.py` a table by hand?",
        "Yes. `billing.rates` imports `billing.countries`, and that is a table.",
    ),
]

TUESDAY = [
    ("Morning. How does the deployment look?", "The deployment is blocked."),
    (
        "Why?",
        "The smoke test fails: `payments.ping` raises `ConnectionError`. The expired certificate causes the "
        "ConnectionError.",
    ),
    ("Who renews certificates?", "Tomasz does, as far as the runbook says."),
    ("Is the deployment ready otherwise?", "The tests pass, so I see nothing else."),
    ("Let us look at stock meanwhile. Where are items modelled?", "`InventoryItem` is defined in `stock/schema.py`."),
    (
        "Show me the schema.",
        """Here it is:

```python
from dataclasses import dataclass

from stock.units import Unit


@dataclass
class InventoryItem:
    sku: str
    count: int
    unit: Unit
```""",
    ),
    ("What depends on it?", "The `stock.reorder` module depends on `InventoryItem`."),
    ("And the warehouse screen?", "`WarehouseView` depends on `stock.reorder`."),
    (
        "And the suppliers' export?",
        "`export_suppliers` depends on `InventoryItem`. The nightly job calls `export_suppliers`.",
    ),
    ("If we renamed `sku`, would invoices break?", "I think not: they read the order's lines."),
]

WEDNESDAY = [
    ("Tomasz renewed it last night.", "Then I run the smoke test again."),
    ("And?", "It passes. The ConnectionError is fixed by the renewed certificate."),
    ("So, the deployment?", "The deployment is running."),
    ("We decided to ship on Thursdays only.", "Shipping on Thursdays only, from now on."),
    ("Maybe the cache is broken, I am not sure.", "I find no sign of it."),
    ("Which cache is it, even?", "The shop uses Redis 7.4, and `CACHE_URL` is set to `redis://cache.internal`."),
    ("Always run `make smoke` before a release.", "I will."),
    (
        "I use `uv` for environments, by the way.",
        "Then the commands in the runbook should say uv.",
    ),
    ("Can the reorder job live without the units table?", "`stock.reorder` imports `stock.units`, so no."),
    (
        "A colleague said «the deployment is doomed».",
        "The dashboard is calm. I would not go by that.",
    ),
]

THURSDAY = [
    ("Status?", "The deployment is finished."),
    ("Wonderful. Move the tax code out of billing, please.", "Into which module?"),
    (
        "Into `tax/core.py`.",
        "Done. `calculate_tax_liability` is defined in `tax/core.py`. "
        "`calculate_tax_liability` is no longer defined in `billing/tax.py`.",
    ),
    ("And the callers?", "`create_invoice` imports `tax.core` now, and so does `refund_order`."),
    (
        "Show me the new invoice.",
        """With the import changed:

```python
from tax.core import calculate_tax_liability


def create_invoice(order):
    return {"order": order.id, "tax": calculate_tax_liability(order)}
```""",
    ),
    ("Run everything.", "212 tests pass, and the smoke test too."),
    ("I like how short that got.", "Thank you."),
    ("Which numbers did the customs people ask for?", "https://customs.example/tariff has the list."),
    ("We chose polars over pandas for the report.", "Polars it is."),
    ("That was a good week.", "It was."),
]

DAYS = [("monday", MONDAY), ("tuesday", TUESDAY), ("wednesday", WEDNESDAY), ("thursday", THURSDAY)]
