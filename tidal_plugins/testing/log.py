"""Contract tests of the log."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tidal_plugins.errors import InvalidInput
from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.base import Claim, Line, Storage
from tidal_plugins.testing.clock import NOON
from tidal_plugins.testing.contract import Contract, OpenStore
from tidal_plugins.testing.samples import HERE, HOSTILE, record

THERE: Scope = ("there",)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def line(key: str, value: Any = None, hours: int = 0) -> Line:
    return Line(key, NOON + hours * HOUR, value)


def claim(store: Storage, seqs: Collection[int], by: str, minutes: int = 0, **asked: Any) -> list[int]:
    """Claim lines at some minutes past noon, for ten minutes."""
    now = NOON + minutes * MINUTE
    return store.claim_log(HERE, "log", seqs, by=by, now=now, **{"until": now + 10 * MINUTE} | asked)


def values(lines: list[Line]) -> str:
    return "".join(one.value for one in lines)


class LogContract(Contract):
    """Lines are appended, found by their key, and cut off at the old end."""

    def test_lines_come_back_in_the_order_in_which_they_were_appended(self, store: Storage, other: Storage) -> None:
        value = {"ü": [1, None, True, {"x": 1.5}], "text": "a\0b 🙂"}
        first = store.append_log(HERE, "log", [line("k", value, 5), line("k", None, 1)])
        second = other.append_log(HERE, "log", [line("j", "x")])
        assert store.append_log(HERE, "log", []) == []
        lines = store.read_log(HERE, "log")
        assert [one.seq for one in lines] == sorted(first + second) == first + second
        assert lines == [
            Line("k", NOON + 5 * HOUR, value, first[0]),
            Line("k", NOON + HOUR, None, first[1]),
            Line("j", NOON, "x", second[0]),
        ]
        assert other.read_log(HERE, "log", newest_first=True) == lines[::-1]
        assert store.read_log(HERE, "other") == []

    def test_lines_are_read_by_key_by_time_and_by_place(self, store: Storage) -> None:
        lines = [line("k", "a", 0), line("j", "b", 3), line("k", "c", 1), line("i", "d", 2), line("k", "e", 4)]
        seqs = store.append_log(HERE, "log", lines)

        def read(**asked: Any) -> str:
            return values(store.read_log(HERE, "log", **asked))

        assert read(keys=["k"]) == "ace"
        assert read(keys=["k", "i", "none", "k"]) == "acde"
        assert read(keys=[]) == read(keys=["K"]) == ""
        assert read(since=NOON + 2 * HOUR) == "bde"
        assert read(after=seqs[1]) == "cde"
        assert read(limit=2) == "ab"
        assert read(limit=2, newest_first=True) == "ed"
        assert read(keys=["k", "j"], since=NOON + HOUR, after=seqs[1], limit=9, newest_first=True) == "ec"
        assert read(limit=0) == read(after=seqs[-1]) == read(since=NOON + 5 * HOUR) == ""

    def test_trimming_keeps_the_newest(self, store: Storage) -> None:
        store.append_log(HERE, "log", [line("k", text) for text in "abcde"])
        store.append_log(HERE, "other", [line("k", text) for text in "xyz"])
        assert store.trim_log(HERE, "log", keep=9) == store.trim_log(HERE, "log", keep=5) == 0
        assert store.trim_log(HERE, "log", keep=2) == 3
        assert values(store.read_log(HERE, "log")) == "de"
        assert store.trim_log(HERE, "log", keep=0) == 2
        assert store.read_log(HERE, "log") == []
        assert values(store.read_log(HERE, "other")) == "xyz"

    def test_thinning_keeps_what_is_not_old_and_the_last_line_under_each_key(self, store: Storage) -> None:
        lines = [line("k", "a", 0), line("j", "b", 1), line("k", "c", 3), line("k", "d", 1), line("k", "e", 2)]
        store.append_log(HERE, "log", lines)
        store.append_log(HERE, "other", [line("k", "x"), line("k", "y")])
        store.append_log(THERE, "log", [line("k", "x"), line("k", "y")])
        assert store.trim_log(HERE, "log", before=NOON) == 0
        assert store.trim_log(HERE, "log", before=NOON + 2 * HOUR) == 2
        assert values(store.read_log(HERE, "log")) == "bce"
        assert store.trim_log(HERE, "log", before=NOON + 9 * HOUR) == 1
        assert (
            store.trim_log(HERE, "log", before=NOON + 9 * HOUR) == store.trim_log(("nowhere",), "log", before=NOON) == 0
        )
        assert values(store.read_log(HERE, "log")) == "be"
        assert values(store.read_log(HERE, "other")) == values(store.read_log(THERE, "log")) == "xy"

    @pytest.mark.parametrize("asked", [{}, {"keep": 1, "keys": ["k"]}, {"keep": 1, "before": NOON, "keys": ["k"]}])
    def test_trimming_asks_for_one_thing(self, store: Storage, asked: dict[str, Any]) -> None:
        store.append_log(HERE, "log", [line("k", "a"), line("k", "b")])
        with pytest.raises(InvalidInput):
            store.trim_log(HERE, "log", **asked)
        assert values(store.read_log(HERE, "log")) == "ab"

    def test_a_place_is_never_used_again(self, store: Storage, open_store: OpenStore) -> None:
        seqs = store.append_log(HERE, "log", [line("k"), line("k")])
        store.trim_log(HERE, "log", keep=0)
        seqs += store.append_log(HERE, "log", [line("k")])
        store.trim_log(HERE, "log", keys=["k"])
        store.close()
        again = open_store()
        seqs += again.append_log(HERE, "log", [line("k")])
        again.close()
        assert seqs == sorted(set(seqs))

    def test_lines_are_erased_by_key(self, store: Storage) -> None:
        store.append_log(HERE, "log", [line("k", "a"), line("j", "b"), line("k", "c"), line("i", "d")])
        store.append_log(HERE, "other", [line("k", "x")])
        assert store.trim_log(HERE, "log", keys=["k", "i", "none"]) == 3
        assert store.trim_log(HERE, "log", keys=["k"]) == store.trim_log(HERE, "log", keys=[]) == 0
        assert values(store.read_log(HERE, "log")) == "b"
        assert values(store.read_log(HERE, "other")) == "x"

    def test_an_erased_entry_takes_the_lines_under_its_id_along(self, store: Storage) -> None:
        for scope in (HERE, THERE):
            store.put(scope, [record("a", scope=scope), record("b", scope=scope)])
            store.append_log(scope, "uses", [line("a", "1"), line("b", "2"), line("c", "3")])
            store.append_log(scope, "signals", [line("a", "4")])
        assert store.erase(HERE, ["a", "c"]) == 1  # c is no entry
        assert values(store.read_log(HERE, "uses")) == "23"
        assert store.read_log(HERE, "signals") == []
        assert values(store.read_log(THERE, "uses") + store.read_log(THERE, "signals")) == "1234"

    def test_lines_of_another_scope_are_neither_seen_nor_touched(self, store: Storage) -> None:
        store.append_log(THERE, "log", [line("k", "x"), line("k", "y")])
        store.append_log(HERE, "log", [line("k", "a")])
        assert values(store.read_log(HERE, "log", keys=["k"])) == "a"
        assert store.trim_log(HERE, "log", keep=1) == 0
        assert store.trim_log(HERE, "log", keys=["k"]) == 1
        assert values(store.read_log(THERE, "log")) == "xy"
        assert store.read_log(("nowhere",), "log") == []
        assert store.trim_log(("nowhere",), "log", keep=0) == store.trim_log(("nowhere",), "log", keys=["k"]) == 0

    @pytest.mark.parametrize("text", [*HOSTILE, "", "é"])
    def test_any_text_names_a_log_and_a_key(self, store: Storage, text: str) -> None:
        store.append_log(HERE, text, [line(text, "a"), line("plain", "b")])
        store.append_log(HERE, "plain", [line(text, "c")])
        assert values(store.read_log(HERE, text, keys=[text])) == "a"
        assert store.trim_log(HERE, text, keys=[text]) == 1
        assert values(store.read_log(HERE, text) + store.read_log(HERE, "plain")) == "bc"

    @pytest.mark.parametrize("value", [float("nan"), b"x", object, "\ud800"], ids=repr)
    def test_only_json_is_logged(self, store: Storage, value: Any) -> None:
        with pytest.raises(InvalidInput):
            store.append_log(HERE, "log", [line("good", 1), line("bad", value)])
        assert store.read_log(HERE, "log") == []

    def test_a_line_is_rolled_back_with_its_transaction(self, store: Storage) -> None:
        store.append_log(HERE, "log", [line("k", "a"), line("j", "b")])
        with pytest.raises(KeyboardInterrupt), store.transaction():
            store.append_log(HERE, "log", [line("k", "c")])
            store.trim_log(HERE, "log", keys=["k"])
            store.trim_log(HERE, "log", keep=0)
            raise KeyboardInterrupt
        assert values(store.read_log(HERE, "log")) == "ab"

    def test_many_threads_append_without_loss(self, store: Storage) -> None:
        def append(thread: int) -> list[int]:
            return [seq for i in range(10) for seq in store.append_log(HERE, "log", [line(str(thread), i)])]

        with ThreadPoolExecutor(4) as pool:
            seqs = list(pool.map(append, range(4)))
        assert [one.seq for one in store.read_log(HERE, "log")] == sorted(seq for own in seqs for seq in own)
        for thread, own in enumerate(seqs):
            lines = store.read_log(HERE, "log", keys=[str(thread)])
            assert [(one.seq, one.value) for one in lines] == list(zip(own, range(10), strict=True))

    def test_a_claimed_line_is_its_holders_until_the_time_is_up(self, store: Storage, other: Storage) -> None:
        seqs = store.append_log(HERE, "log", [line(key) for key in "abc"])
        assert claim(store, seqs[:2], "one") == seqs[:2]
        assert claim(other, seqs, "two", 9) == seqs[2:]
        assert claim(store, seqs, "one", 9) == seqs[:2], "its holder may hold it for longer"
        assert claim(other, seqs, "two", 18) == seqs[2:]
        assert claim(other, seqs, "two", 19) == seqs
        assert claim(store, seqs, "one", 20) == []
        assert claim(store, [], "three", 90) == claim(store, [seqs[-1] + 1], "three", 90) == []

    def test_a_claim_takes_the_first_lines_that_are_free(self, store: Storage) -> None:
        seqs = store.append_log(HERE, "log", [line(key) for key in "abcde"])
        assert claim(store, seqs[1:2], "one") == seqs[1:2]
        assert claim(store, seqs[::-1], "two", limit=2) == [seqs[0], seqs[2]]
        assert claim(store, seqs, "three", limit=0) == []
        assert claim(store, seqs, "three", limit=9) == seqs[3:]

    def test_a_claim_is_given_back_and_counts_no_more_when_its_holder_has_ended(self, store: Storage) -> None:
        seqs = store.append_log(HERE, "log", [line(key) for key in "ab"])
        assert claim(store, seqs, "one") == seqs
        assert claim(store, seqs[:1], "one", until=NOON) == seqs[:1]
        assert claim(store, seqs, "two") == seqs[:1]
        assert claim(store, seqs, "three", ended=["one", "nobody"]) == seqs[1:]
        assert claim(store, seqs, "four") == []

    def test_a_claim_that_a_wrong_clock_made_does_not_hold_for_ever(self, store: Storage) -> None:
        seqs = store.append_log(HERE, "log", [line("a")])
        assert claim(store, seqs, "one", 11) == seqs, "a clock that is ahead"
        assert claim(store, seqs, "two") == seqs
        assert claim(store, seqs, "one", 9) == [], "a little ahead"

    def test_a_claim_is_read_with_its_line_and_changes_nothing_else(self, store: Storage, other: Storage) -> None:
        seqs = store.append_log(HERE, "log", [line("k", "a"), line("j", "b")])
        before = store.read_log(HERE, "log")
        claim(store, seqs[:1], "one")
        lines = other.read_log(HERE, "log")
        assert lines == before
        assert [one.claim for one in lines] == [Claim("one", NOON + 10 * MINUTE), None]
        assert store.trim_log(HERE, "log", keys=["k"]) == 1
        assert claim(store, seqs, "one") == seqs[1:]

    def test_a_claim_goes_with_its_line(self, store: Storage) -> None:
        store.put(HERE, [record("a"), record("b")])
        seqs = store.append_log(HERE, "log", [line("a"), line("b")])
        assert claim(store, seqs, "one") == seqs
        store.erase(HERE, ["a"])
        [again] = store.append_log(HERE, "log", [line("a")])
        assert claim(store, [*seqs, again], "two") == [again]

    def test_a_claim_is_of_one_log_of_one_scope(self, store: Storage) -> None:
        [seq] = store.append_log(HERE, "log", [line("k")])
        times: dict[str, Any] = {"by": "one", "now": NOON, "until": NOON + MINUTE}
        assert store.claim_log(THERE, "log", [seq], **times) == store.claim_log(HERE, "other", [seq], **times) == []
        assert store.claim_log(("nowhere",), "log", [seq], **times) == []
        assert claim(store, [seq], "two") == [seq]

    def test_a_claim_is_rolled_back_with_its_transaction(self, store: Storage) -> None:
        seqs = store.append_log(HERE, "log", [line("k")])
        with pytest.raises(KeyboardInterrupt), store.transaction():
            assert claim(store, seqs, "one") == seqs
            assert claim(store, seqs, "two") == []
            raise KeyboardInterrupt
        assert claim(store, seqs, "two") == seqs

    @pytest.mark.parametrize("name", [*HOSTILE, "", "é"])
    def test_any_text_names_a_holder(self, store: Storage, name: str) -> None:
        seqs = store.append_log(HERE, "log", [line("k")])
        assert claim(store, seqs, name) == claim(store, seqs, name) == seqs
        assert claim(store, seqs, f"{name}x") == []

    def test_many_workers_share_the_lines_of_a_log(self, store: Storage) -> None:
        seqs = store.append_log(HERE, "log", [line(str(number)) for number in range(60)])

        def work(worker: int) -> list[int]:
            got: list[int] = []
            while some := claim(store, [seq for seq in seqs if seq not in got], str(worker), limit=4):
                got += some
            return got

        with ThreadPoolExecutor(4) as pool:
            shares = list(pool.map(work, range(4)))
        assert sorted(seq for share in shares for seq in share) == seqs
