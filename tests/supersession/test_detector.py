"""What supersedes what: invented sentences, with the values that are to be found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.tables import tables, wrong
from tidal_plugins.model.supersession import Utterance
from tidal_plugins.supersession.detector import supersedes

THEN = datetime(2026, 3, 2, 10, tzinfo=UTC)  # a Monday


def found(later: str, earlier: str, cosine: float = 0.6, who: tuple[str | None, str | None] = (None, None)) -> Any:
    return supersedes(Utterance(later, THEN + timedelta(days=7), who[0]), Utterance(earlier, THEN, who[1]), cosine)


def test_changed_values_are_found_and_what_changes_nothing_is_not() -> None:
    def values(later: str, earlier: str) -> list[str] | None:
        replacement = found(later, earlier)
        return replacement and [replacement.old, replacement.new]

    assert wrong(values, tables("supersession/detector.jsonl")["supersedes"]) == []
    replacement = found("Thursday is no good for the dentist after all.", "Dentist on Thursday 5 March at 8:30.")
    assert replacement is None or replacement.new == ""


def test_what_is_said_of_oneself_is_not_said_of_another() -> None:
    for later, earlier in (
        ("My checkup moved to 16 May.", "My checkup is on 9 May."),
        ("My favourite drink is ginger tea now.", "My favourite drink is cocoa."),
        ("I moved to Lisbon.", "I live in Porto."),
    ):
        assert found(later, earlier, who=("Ann", "Ann")) is not None
        assert found(later, earlier, who=("Ann", "Bob")) is None


def test_confidence_goes_by_what_is_named() -> None:
    earlier = "The lease is due on 20 June."
    named = found("The lease moved from 20 June to 24 June.", earlier)
    cued = found("The lease is due on 24 June now.", earlier)
    plain = found("The lease is due on 24 June.", earlier)
    assert named.confidence > cued.confidence > plain.confidence
    assert found("The lease is due on 24 June.", earlier, cosine=0.3) is None, "without a cue the texts must be near"
    longer = found("The lease moved from 20 June to 24 June.", "The lease of the shop is due on 20 June.")
    assert longer.confidence > 0.85, "a thing that is named at more length is the same"


def test_two_names_for_what_may_be_one_thing_are_never_sure() -> None:
    said = "Otto's statin dose went from 20 mg to 40 mg.", "Otto takes 20 mg of ramipril."
    replacement = found(*said)
    assert replacement is None or replacement.confidence <= 0.6
    assert found(*said, cosine=0.4) is None
