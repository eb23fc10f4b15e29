"""What supersedes what, case by case: invented sentences, with the values that are to be found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tidal_plugins.model.supersession import Utterance
from tidal_plugins.supersession.detector import supersedes

THEN = datetime(2026, 3, 2, 10, tzinfo=UTC)  # a Monday


def found(later: str, earlier: str, cosine: float = 0.6, who: tuple[str | None, str | None] = (None, None)):
    return supersedes(Utterance(later, THEN + timedelta(days=7), who[0]), Utterance(earlier, THEN, who[1]), cosine)


@pytest.mark.parametrize(
    ("later", "earlier", "old", "new"),
    [
        (
            "The regatta moved from 9 May to Saturday 16 May.",
            "The regatta is on Saturday 9 May.",
            "Saturday 9 May",
            "Saturday 16 May",
        ),
        ("The lease is due on 24 June now.", "The lease is due on 20 June.", "20 June", "24 June"),
        ("The choir meets on Friday instead of Tuesday.", "The choir meets on Tuesday.", "Tuesday", "Friday"),
        ("The rehearsal is now at 17:15.", "The rehearsal starts at 8:30.", "8:30", "17:15"),
        ("No keys on the 26th, it's 2 April now.", "Keys for the studio on the 26th.", "the 26th", "2 April"),
        ("New upload limit is 25 files.", "Set the upload limit to 50 files.", "50", "25"),
        ("The yacht is on pier 9 this year.", "The yacht is on pier 17.", "17", "9"),
        ("The Oslo trip was postponed to 14 September.", "The Oslo trip is on 8 June.", "8 June", "14 September"),
        (
            "Release 3.2.1 goes out Thursday instead.",
            "Release 3.2.1 goes out on Monday 9 March.",
            "Monday 9 March",
            "Thursday",
        ),
        ("We're moving off MySQL, to Postgres.", "MySQL is fine for the pilot database.", "MySQL", "Postgres"),
        ("The dose is 40 mg paracetamol.", "The dose is 20 mg paracetamol.", "20 mg", "40 mg"),
    ],
)
def test_a_changed_value_is_found(later: str, earlier: str, old: str, new: str) -> None:
    replacement = found(later, earlier)
    assert replacement is not None
    assert (replacement.old, replacement.new) == (old, new)


def test_what_ended_names_no_new_value() -> None:
    replacement = found("Thursday is no good for the dentist after all.", "Dentist on Thursday 5 March at 8:30.")
    assert replacement is None or replacement.new == ""
    replacement = found("The regatta on 9 May is cancelled.", "The regatta is on Saturday 9 May.")
    assert replacement is not None
    assert (replacement.old, replacement.new) == ("Saturday 9 May", "")


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("The regatta is on Saturday 9 May now.", "The regatta is on 9 May."),  # a confirmation
        ("Should we move the regatta to 16 May?", "The regatta is on 9 May."),  # a question
        ("If we move the regatta to 16 May, Ann can come.", "The regatta is on 9 May."),
        ("Maybe the regatta moves to 16 May.", "The regatta is on 9 May."),
        ("They wanted to move the regatta to 16 May, just kidding.", "The opera is on 9 May."),
        ("I wish the regatta were moved to 16 May.", "The regatta is on 9 May."),
        ("He moved the sofa to the window.", "The sofa is by the door."),
        ("He moved the sofa on 16 May.", "The regatta is on 9 May."),
        ("The ferry to Oban moved to 16 May.", "The ferry to Arran leaves on 9 May."),
        ("I'm feeling better now.", "I'm feeling sick."),
        ("We went back to the beach on 16 May.", "We were at the museum on 9 May."),
        ("It's not about winning, it's about 3 friends.", "We won 5 games."),
        ("Two tests are flaky now.", "The suite has 900 tests."),
        ("The lease is due on 24 June now.", "When is the lease due, on 20 June?"),
        ("The meeting moved last Tuesday.", "The meeting is on Friday."),
    ],
)
def test_what_changes_nothing_is_not(later: str, earlier: str) -> None:
    assert found(later, earlier) is None


def test_what_is_said_of_oneself_is_not_said_of_another() -> None:
    later, earlier = "My checkup moved to 16 May.", "My checkup is on 9 May."
    assert found(later, earlier, who=("Ann", "Ann")) is not None
    assert found(later, earlier, who=("Ann", "Bob")) is None


def test_a_value_that_is_named_is_surer_than_a_cue_and_a_cue_than_none() -> None:
    earlier = "The lease is due on 20 June."
    named = found("The lease moved from 20 June to 24 June.", earlier)
    cued = found("The lease is due on 24 June now.", earlier)
    plain = found("The lease is due on 24 June.", earlier)
    assert named.confidence > cued.confidence > plain.confidence


def test_without_a_cue_the_texts_must_be_near() -> None:
    assert found("The lease is due on 24 June.", "The lease is due on 20 June.", cosine=0.3) is None


@pytest.mark.parametrize(
    ("later", "earlier", "old", "new"),
    [
        ("The exporter is Jonas's now.", "Mara owns the exporter.", "Mara", "Jonas"),
        ("Jonas takes over the exporter from Mara.", "Mara owns the exporter.", "Mara", "Jonas"),
        ("Jonas Lind has the exporter now.", "Mara Holt is responsible for the exporter.", "Mara Holt", "Jonas Lind"),
        ("From Monday the exporter belongs to Jonas.", "The exporter is run by Mara.", "Mara", "Jonas"),
        ("Mara is off the exporter. Jonas Lind has it now.", "Mara builds the exporter.", "Mara", "Jonas Lind"),
        ("Mara no longer runs the exporter.", "Mara runs the exporter.", "Mara", ""),
        ("My favourite drink is ginger tea now.", "My favourite drink is cocoa.", "cocoa", "ginger tea"),
        ("The mail provider of billing is Postmark now.", "mail provider of billing: Mandrill", "Mandrill", "Postmark"),
        ("Postmark is the provider now, Mandrill the spare.", "mail provider: Mandrill", "Mandrill", "Postmark"),
        ("Our new landlord is Mrs Holt.", "Our landlord is Mr Pike.", "Mr Pike", "Mrs Holt"),
        ("I moved to Lisbon.", "I live in Porto.", "Porto", "Lisbon"),
        ("The ferry office is open again.", "The ferry office is closed.", "closed", "open"),
    ],
)
def test_a_slot_that_got_another_value_is_found(later: str, earlier: str, old: str, new: str) -> None:
    replacement = found(later, earlier)
    assert replacement is not None
    assert (replacement.old, replacement.new) == (old, new)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("Mara owns the exporter now.", "Mara owns the exporter."),  # a confirmation
        ("Should Jonas own the exporter now?", "Mara owns the exporter."),
        ("Maybe Jonas takes over the exporter.", "Mara owns the exporter."),
        ("Jonas owns the importer now.", "Mara owns the exporter."),
        ("Jonas runs the bakery now.", "Mara runs the marathon."),
        ("My favourite drink is ginger tea now.", "Tom's favourite drink is cocoa."),
        ("Mara is off work today.", "Mara works on the exporter."),
        ("Jonas owns the exporter.", "Mara owns the exporter."),  # no word says that it is new
        ("He moved the sofa to Anna.", "I live in Porto."),
        ("The museum is open again.", "The ferry office is closed."),
        ("The manager is Kim now.", "The manager of the bakery is Lee."),
    ],
)
def test_what_fills_no_slot_anew_is_not(later: str, earlier: str) -> None:
    assert found(later, earlier) is None


def test_what_two_people_call_their_own_is_not_one_thing() -> None:
    later, earlier = "My favourite drink is ginger tea now.", "My favourite drink is cocoa."
    assert found(later, earlier, who=("Ann", "Ann")) is not None
    assert found(later, earlier, who=("Ann", "Bob")) is None
    assert found("I moved to Lisbon.", "I live in Porto.", who=("Ann", "Bob")) is None


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("The choir outing moved from 9 May to 16 May.", "The choir dinner is on 9 May."),
        ("The office picnic moved from 9 May to 16 May.", "Vera's garden picnic is on 9 May."),
        ("We raised the roof budget from 4000 euros to 6000 euros.", "The cellar budget is 4000 euros."),
        ("The call with Omar is on Thursday instead of Tuesday.", "The call with Petra is on Tuesday."),
        ("The stable rent went up from 900 euros to 950 euros.", "Rent for the barn is 900 euros."),
        ("The proxy server was upgraded from 8 GB to 32 GB.", "The cache server has 8 GB of memory."),
        ("The deadline for the leaflet is now 8 March.", "The deadline for the loan is 1 March."),
        ("The download timeout is now 60 seconds.", "Timeout for the index API is 30 seconds."),
        ("In the evening I eat soup instead of bread.", "I eat bread in the morning."),
        (
            "The tryout moved from 12 June to 5 June so it is not on the day of the premiere.",
            "The premiere is 12 June.",
        ),
    ],
)
def test_other_words_in_the_same_place_are_another_thing(later: str, earlier: str) -> None:
    assert found(later, earlier) is None


def test_two_names_for_what_may_be_one_thing_are_never_sure() -> None:
    replacement = found("Otto's statin dose went from 20 mg to 40 mg.", "Otto takes 20 mg of ramipril.")
    assert replacement is None or replacement.confidence <= 0.6
    far = found("Otto's statin dose went from 20 mg to 40 mg.", "Otto takes 20 mg of ramipril.", cosine=0.4)
    assert far is None


def test_a_thing_that_is_named_at_more_length_is_the_same() -> None:
    replacement = found("The lease moved from 20 June to 24 June.", "The lease of the shop is due on 20 June.")
    assert replacement is not None
    assert replacement.confidence > 0.85
