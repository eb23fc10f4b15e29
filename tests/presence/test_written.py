"""Messages that a model writes: what its sources bear out stands, and the quote stands for the rest."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.presence.conftest import DEBT
from tidal_plugins import Settings, Statement

QUOTED = "You wanted to pay the plumber 80 euros by Thursday; that is tomorrow."
WRITTEN = Settings(presence={"written": True})


class Scripted:
    """A model that writes the same of everything."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = texts, []

    def summarise(self, sources, *, purpose, previous=(), max_tokens):
        self.asked.append((purpose, [message.text for source in sources for message in source.messages]))
        return [Statement(text, tuple(source.id for source in sources)) for text in self.texts]


def said(open_memory, days_of, summariser, settings=WRITTEN):
    memory = open_memory(summariser=summariser, settings=settings)
    memory.presence.allow(zone="UTC")
    days = days_of(memory)
    days.say(DEBT)
    [message] = days.until(datetime(2026, 3, 4, 9, tzinfo=UTC))
    return message


def test_a_model_may_word_what_its_sources_say(open_memory, days_of):
    model = Scripted("Tomorrow is Thursday: you wanted to pay the plumber 80 euros.")
    message = said(open_memory, days_of, model)
    assert (message.text, message.written_by_model) == (model.texts[0], True)
    [(purpose, given)] = [each for each in model.asked if each[0] == "message"]
    assert purpose == "message"
    assert given[0] == DEBT
    assert message.citations


INVENTED = (
    "You wanted to pay the plumber 95 euros by Thursday.",
    "You wanted to pay Ottokar 80 euros by Thursday.",
    "You wanted to pay the plumber 80 euros by 17 June.",
    "",
    " ",
    "You wanted to pay the plumber 80 euros. " * 40,
)


def test_an_invention_is_refused_and_the_quote_stands(open_memory, days_of, clock):
    memory = open_memory(summariser=(model := Scripted()), settings=WRITTEN)
    for number, invented in enumerate(INVENTED):
        model.texts = (invented,)
        days = days_of(memory.scoped(str(number)))
        days.memory.presence.allow(zone="UTC")
        clock.set(datetime(2026, 3, 1, 12, tzinfo=UTC))
        days.say(DEBT)
        [message] = days.until(datetime(2026, 3, 4, 9, tzinfo=UTC))
        assert (message.text, message.written_by_model) == (QUOTED, False)


def test_a_model_that_fails_leaves_the_quote_and_no_words_in_the_log(open_memory, days_of, caplog):
    class Broken:
        def summarise(self, sources, **_):
            raise RuntimeError(str(sources))

    message = said(open_memory, days_of, Broken())
    assert (message.text, message.written_by_model) == (QUOTED, False)
    assert "plumber" not in caplog.text


def test_a_model_is_not_asked_unless_the_settings_say_so(open_memory, days_of):
    model = Scripted("Anything.")
    message = said(open_memory, days_of, model, Settings())
    assert (message.text, message.written_by_model) == (QUOTED, False)
    assert [purpose for purpose, _ in model.asked if purpose == "message"] == []
