"""Tasks that are open, and those that are not, or never were."""

import pytest

from tidal_plugins.dossiers.tasks import pending


def texts(found):
    return [point.raw for point in found]


@pytest.mark.parametrize(
    "text",
    [
        "Remind me to send the contract to Bob by Friday.",
        "Don't forget to renew the certificate.",
        "I need to call Anna tomorrow.",
        "I'll book the flight.",
        "We still have to fix the login bug.",
        "TODO: rotate the API keys",
        "[ ] write docs for the parser",
    ],
)
def test_what_somebody_means_to_do_is_pending(entries, text):
    assert texts(pending(entries(text))) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I'll be happy to help.",
        "I'll let you know.",
        "Will I need to call Anna?",
        "If it rains, I'll book the flight.",
        "Maybe I'll book the flight.",
        "I won't book the flight.",
        "I'll check it out!",
        "I'll give these recipes a try.",
        "I need to sleep.",
        "I booked the flight.",
        "- [x] write docs for the parser",
        "The payload must be JSON.",
    ],
)
def test_what_nobody_means_to_do_is_not(entries, text):
    assert pending(entries(text)) == []


@pytest.mark.parametrize(
    ("task", "later"),
    [
        ("I need to call Anna tomorrow.", "I called Anna."),
        ("I'll send the report to Bob.", "The report is done."),
        ("We have to fix the login bug.", "Fixed the login bug in v2."),
        ("I will pay the invoice 4711 next week.", "Invoice paid."),
        ("TODO: rotate the API keys", "- [x] rotate the API keys"),
        ("I need to buy the tickets.", "Good news: I bought the tickets!"),
        ("I'll book the flight.", "The flight is no longer needed."),
        ("I must return the ladder to Ravi.", "Returned the ladder this morning."),
        ("I must return the ladder to Ravi.", "The ladder was returned yesterday."),
        ("I have to ask the notary about the deed.", "The notary and the deed: done."),
        ("Remind me to order the tiles from Marco.", "Ordered, Marco was in the shop."),
        ("I need to cancel the gym with Vitalis.", "I cancelled Vitalis last week."),
        ("The boiler has to be checked by a plumber.", "We checked the boiler."),
        ("Ravi lent me 80 euros.", "I paid Ravi back."),
    ],
)
def test_what_was_done_since_is_not_pending(entries, task, later):
    assert pending(entries(task, later)) == []


@pytest.mark.parametrize(
    ("task", "later"),
    [
        ("I must extend the visa by 25 March.", "The extension desk was paid by my cousin for his visa."),
        ("TODO: mail the poster to Halden.", "I mailed the stamps to Halden."),
        ("I have to ring the vet about the bridge.", "The bridge club met there, done with cards."),
        ("I must return the ladder to Ravi.", "Ravi is ready for the climb and the ladder crew cancelled it."),
        ("Remind me to water the ivy.", "The ivy is closed in by the shelf now."),
        ("Ravi lent me 80 euros.", "I paid Ravi 30 euros, 50 left."),
    ],
)
def test_a_sentence_that_only_shares_words_with_a_task_does_not_close_it(entries, task, later):
    assert texts(pending(entries(task, later)))[-1:] == [task]


@pytest.mark.parametrize(
    "later",
    ["I haven't booked the flight yet.", "Is the flight booked?", "I booked a table.", "I'll be booked all day."],
)
def test_what_only_sounds_done_stays_pending(entries, later):
    assert texts(pending(entries("I'll book the flight.", later))) == ["I'll book the flight."]


def test_an_agent_that_says_done_in_the_same_turn_has_done_it(entries):
    assert pending(entries("I need to book the flight.", "Done.", roles=["user", "assistant"])) == []


def test_an_agent_does_at_once_what_it_says_it_will(entries):
    assert pending(entries("I'll check the logs of the server.", roles=["assistant"])) == []
    assert pending(entries("Still open: check the logs of the server.", roles=["assistant"]))


def test_a_task_set_again_stands_there_once_and_the_newest_first(entries):
    said = entries("I need to renew my passport.", "I need to call the bank.", "I need to renew the passport soon!")
    assert texts(pending(said)) == ["I need to renew the passport soon!", "I need to call the bank."]


def test_whose_a_task_is_and_that_it_has_no_date_is_no_part_of_what_is_to_be_done(open_memory, clock):
    memory = open_memory()
    memory.record("actions: 1) alarm on tank level above 70%, Ji-woo, no date. 2) order gaskets, Petra.", "Added.")
    clock.advance(days=1)
    memory.record("the tank alarm is live, tick it off", "Ticked off: alarm on tank level above 70 %.")
    text = str(memory.dossiers.refresh("tank gaskets"))
    assert "order gaskets" in text.partition("Open:")[2].partition("Done:")[0]
    assert "Ji-woo" not in text


def test_many_tasks_that_differ_in_a_number_stay_apart(memory):
    for turn in range(4):
        memory.record(". ".join(f"TODO: check batch {turn * 10 + n} of the pump logs" for n in range(10)), "Noted.")
    text = str(memory.dossiers.refresh("pump logs"))
    assert text.count("check batch") > 10
    assert len({word for word in text.split() if word.isdigit()}) > 10


@pytest.mark.parametrize(
    "said",
    [
        "If I were rich I would order a new boat for the harbour.",
        "Imagine we had to sell the boat in the harbour. We have to call the harbour broker then.",
        "She said that one might need to paint the boat in the harbour.",
    ],
)
def test_what_is_imagined_or_rumoured_sets_no_task_and_is_no_work(memory, said):
    memory.record(said, "Right.")
    assert "Open:" not in str(memory.dossiers.refresh("harbour boat"))
    assert "harbour" not in str(memory.capsule.read())
