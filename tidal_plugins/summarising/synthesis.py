"""Synthesis: what one turn came to, rather than how it went [SIYA §2.2]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidal_plugins.summarising.quotes import Quote

_OUTCOME, _RESOLVED = 2.0, 0.5  # factors of priority


def sections(found: Sequence[Quote]) -> list[list[Quote]]:
    """Return the quotes of one turn, regrouped: its outcome, reasons, changes, failures and findings.

    The user's words are left out, because the question stands beside the synthesis verbatim. An error that the same
    tool overcame later says so, and matters less.
    """
    said = [quote for quote in found if quote.role == "assistant"]
    final = said[-1].messages if said and found[-1] is said[-1] else None
    parts = {
        "Outcome": [_weighed(quote, _OUTCOME) for quote in said if quote.messages == final],
        "Why": [quote for quote in said if quote.messages != final],
        "Done": [quote for quote in found if quote.kind == "changed"],
        "Failed": list(_failures(found)),
        "Found": [quote for quote in found if quote.kind in ("ran", "looked")],
        "Tools": list(_counts(found)),
    }
    return [[replace(quote, speaker=name) for quote in part] for name, part in parts.items() if part]


def _weighed(quote: Quote, factor: float) -> Quote:
    return replace(quote, priority=quote.priority * factor)


def _failures(found: Sequence[Quote]) -> Iterator[Quote]:
    for place, quote in enumerate(found):
        if quote.kind == "failed":
            later = any(other.subject == quote.subject and other.kind != "failed" for other in found[place + 1 :])
            yield replace(_weighed(quote, _RESOLVED), text=f"{quote.text} (it worked later)") if later else quote


def _counts(found: Sequence[Quote]) -> Iterator[Quote]:
    times = Counter(tool for quote in found for tool in quote.tools)
    if sum(times.values()) > 1:
        text = ", ".join(f"{tool} ×{count}" if count > 1 else tool for tool, count in times.most_common(12))
        yield Quote(text, _OUTCOME, kind="ran", role="tool")
