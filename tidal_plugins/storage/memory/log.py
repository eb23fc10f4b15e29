"""Logs in memory."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from dataclasses import replace
from datetime import datetime
from itertools import islice

from tidal_plugins.model.clock import aware
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Claim, Line, Log
from tidal_plugins.storage.log import check_one_given, latest_claim
from tidal_plugins.storage.memory.state import Draft, MemoryBase, Name
from tidal_plugins.storage.rows import check_storable
from tidal_plugins.storage.values import from_json, to_json

LAST_SEQ = ("last_seq",)
"""The name of the table with the number of the last line that was appended to any log."""


class LogStore(MemoryBase, Log):
    """Stores the lines of each log in order, their values as JSON."""

    def append_log(self, scope: Scope, log: str, lines: Iterable[Line]) -> list[int]:
        kept = [(line.key, aware(line.at), to_json(line.value)) for line in lines]
        for key, _, text in kept:
            check_storable((log, key, text))
        with self._draft() as draft:
            table = draft.change(scope, "log", log)
            first = draft.table(*LAST_SEQ).get("log", 0) + 1
            seqs = list(range(first, first + len(kept)))
            table.update({seq: Line(*line, seq) for seq, line in zip(seqs, kept, strict=True)})
            if seqs:
                draft.change(*LAST_SEQ)["log"] = seqs[-1]
            return seqs

    def read_log(
        self,
        scope: Scope,
        log: str,
        *,
        keys: Collection[str] | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Line]:
        table, chosen = self._state().table(scope, "log", log), None if keys is None else set(keys)
        lines: Iterable[Line] = reversed(list(table.values())) if newest_first else table.values()
        found = (
            line
            for line in lines
            if line.seq > after and (chosen is None or line.key in chosen) and (since is None or line.at >= since)
        )
        end = None if limit is None else max(limit, 0)
        return [replace(line, value=from_json(line.value)) for line in islice(found, end)]

    def trim_log(
        self,
        scope: Scope,
        log: str,
        *,
        keep: int | None = None,
        before: datetime | None = None,
        keys: Collection[str] | None = None,
    ) -> int:
        check_one_given(keep=keep, before=before, keys=keys)
        with self._draft() as draft:
            lines: list[Line] = list(draft.table(scope, "log", log).values())
            gone = lines[: max(len(lines) - max(keep, 0), 0)] if keep is not None else []
            if before is not None:
                last = {line.key: line.seq for line in lines}
                gone = [line for line in lines if line.at < before and line.seq != last[line.key]]
            if keys is not None:
                chosen = set(keys)
                gone = [line for line in lines if line.key in chosen]
            return _erase(draft, (scope, "log", log), gone)

    def claim_log(
        self,
        scope: Scope,
        log: str,
        seqs: Collection[int],
        *,
        by: str,
        now: datetime,
        until: datetime,
        limit: int | None = None,
        ended: Collection[str] = (),
    ) -> list[int]:
        end, chosen = None if limit is None else max(limit, 0), set(seqs)
        with self._draft() as draft:
            lines = [line for line in draft.table(scope, "log", log).values() if line.seq in chosen]
            latest, others = latest_claim(now, until), {by, *ended}

            def is_free(claim: Claim | None) -> bool:
                return claim is None or claim.by in others or not now < claim.until <= latest

            held = list(islice((line for line in lines if is_free(line.claim)), end))
            for line in held:
                draft.change(scope, "log", log)[line.seq] = replace(line, claim=Claim(by, aware(until)))
            return [line.seq for line in held]


def erase_lines(draft: Draft, scope: Scope, keys: Container[str]) -> None:
    """Remove the lines under these keys from every log of a scope."""
    for name in draft.names(scope, "log"):
        _erase(draft, name, [line for line in draft.table(*name).values() if line.key in keys])


def _erase(draft: Draft, name: Name, lines: Collection[Line]) -> int:
    """Remove lines from a table; return how many there were."""
    for line in lines:
        del draft.change(*name)[line.seq]
    return len(lines)
