"""Days that a sentence names by when it was said."""

from datetime import UTC, date, datetime

import pytest

from tidal_plugins.english.relative_dates import named_days, with_dates

MONDAY = datetime(2026, 3, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("It is due by Friday.", "It is due by Friday (20 March)."),
        ("She called yesterday.", "She called yesterday (15 March)."),
        ("The day after tomorrow we leave.", "The day after tomorrow (18 March) we leave."),
        ("We start next Monday.", "We start next Monday (23 March)."),
        ("We start next Friday.", "We start next Friday (27 March)."),
        ("The server fell over on Saturday night.", "The server fell over on Saturday night (14 March)."),
        ("It has run since Thursday.", "It has run since Thursday (12 March)."),
        ("See you next weekend.", "See you next weekend (28–29 March)."),
        ("It opens next month.", "It opens next month (April)."),
        ("Closed in two weeks.", "Closed in two weeks (30 March)."),
        ("I sold it three days ago.", "I sold it three days ago (13 March)."),
        ("It expires in fifteen days.", "It expires in fifteen days (31 March)."),
        ("We moved it to the 24th.", "We moved it to the 24th (24 March)."),
        ("I got the keys on the 2nd.", "I got the keys on the 2nd (2 March)."),
        ("It is Monday the 6th.", "It is Monday the 6th (6 April)."),
        ("It is Monday today.", "It is Monday (16 March) today."),
        ("Send it by Monday.", "Send it by Monday (16 March)."),
        ("I saw her on Monday.", "I saw her on Monday (9 March)."),
        ("We meet Thursday, the 2nd.", "We meet Thursday, the 2nd (2 April)."),
        ("We met on Thursday, the 5th.", "We met on Thursday, the 5th (5 March)."),
        ("She left this weekend open.", "She left this weekend (21–22 March) open."),
        ("Tomorrow I fly.", "Tomorrow (17 March) I fly."),
        ("On the 3rd we moved in.", "On the 3rd (3 March) we moved in."),
    ],
)
def test_a_relative_day_gets_its_date(said, dated):
    assert with_dates(said, MONDAY) == dated


@pytest.mark.parametrize(
    "said",
    [
        "Due Friday 20 March.",
        "On Friday, 20 March, it opens.",
        "Every Friday we meet.",
        "We train Monday, Wednesday and Friday.",
        "It is on the 4th floor.",
        "Run `next friday` first.",
        "Over the last weekend in June.",
        "It took three weeks.",
        "Friday's paper is here.",
        "We clean every second Friday.",
        "Never merge on Friday.",
        "The bins go out on Fridays.",
        "It is always on Monday.",
        "The mixer is for Black Friday.",
        "He hums the song Yesterday.",
        'She read "Tomorrow Is Late" twice.',
        "I came yesterday (15 March).",
        "It is on Thursday (5 March), the 5th.",
    ],
)
def test_dates_habits_and_code_stay_as_they_are(said):
    assert with_dates(said, MONDAY) == said


def test_a_year_is_named_where_it_is_another_one():
    assert with_dates("Due tomorrow.", datetime(2026, 12, 31, tzinfo=UTC)) == "Due tomorrow (1 January 2027)."


def test_the_days_that_a_text_names_are_read_with_the_nearest_year():
    assert named_days("From 2 January, or tomorrow, to 2027-03-01.", datetime(2026, 12, 30, tzinfo=UTC)) == [
        date(2027, 1, 2),
        date(2026, 12, 31),
        date(2027, 3, 1),
    ]
    assert named_days("On 31 February.", MONDAY) == []
    assert named_days("We row this weekend.", MONDAY) == [date(2026, 3, 21), date(2026, 3, 22)]


@pytest.mark.parametrize("year", [1, 9999])
def test_a_day_beyond_the_calendar_gets_no_date(year):
    edge = datetime(year, 1 if year == 1 else 12, 1 if year == 1 else 31, tzinfo=UTC)
    for said in (
        "The day after tomorrow.",
        "The day before yesterday.",
        "In 99 weeks.",
        "99 weeks ago.",
        "Next month.",
    ):
        with_dates(said, edge)
        named_days(said, edge)
    assert with_dates("Call me tomorrow.", datetime(9999, 12, 31, tzinfo=UTC)) == "Call me tomorrow."
    assert with_dates("It rained yesterday.", datetime(1, 1, 1, tzinfo=UTC)) == "It rained yesterday."


AHEAD, BEHIND = "20 March", "13 March"


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("I was told the sofa comes Friday.", AHEAD),
        ("Mum said the coach leaves on Friday.", AHEAD),
        ("I heard that the coach left on Friday.", BEHIND),
        ("He said Friday suits him.", AHEAD),
        ("Friday was chaos.", BEHIND),
        ("The rehearsal on Friday went well.", BEHIND),
        ("On Friday we painted the fence.", BEHIND),
        ("On Friday I have to see the vet.", AHEAD),
        ("I've got a fitting on Friday.", AHEAD),
        ("We eat together again on Friday.", AHEAD),
        ("The revised menu starts Friday.", AHEAD),
        ("The boiler will be replaced Friday.", AHEAD),
        ("The boiler was replaced Friday.", BEHIND),
        ("I booked the court on Friday.", AHEAD),
        ("They asked me to come on Friday.", AHEAD),
        ("I had to leave on Friday.", BEHIND),
        ("I didn't go on Friday.", BEHIND),
        ("I finished the poster and will print it Friday.", AHEAD),
        ("I'll put the bins out on Friday.", AHEAD),
    ],
)
def test_the_tense_decides_whether_a_weekday_is_behind_or_ahead(said, day):
    assert with_dates(said, MONDAY) == said.replace("Friday", f"Friday ({day})")


@pytest.mark.parametrize(
    "said",
    [
        "Don't deploy on Friday.",
        "Please do not schedule anything on Friday.",
        "You must not restart the pump on Friday.",
        "Fine, but don't paint on Friday.",
        "The Monday-Wednesday-Friday class won't work for me.",
    ],
)
def test_a_day_on_which_something_must_not_be_done_is_no_appointment(said):
    assert with_dates(said, MONDAY) == said


@pytest.mark.parametrize("said", ["Don't forget the choir on Friday.", "I can't come on Friday."])
def test_a_reminder_and_an_absence_are_dated(said):
    assert with_dates(said, MONDAY) == said.replace("Friday", "Friday (20 March)")
