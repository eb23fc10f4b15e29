"""Words for what is on the mind: one plain sentence for each thing, in the words in which it was said."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from tidal_plugins.aio import in_time
from tidal_plugins.dossiers.sentences import Sentence
from tidal_plugins.english.intentions import INTENTION, REMIND
from tidal_plugins.english.reported import to_second_person
from tidal_plugins.english.sentences import plain, shortened
from tidal_plugins.english.words import MONTHS, WEEKDAYS
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.clock import local
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.dossier import Source, Statement
from tidal_plugins.model.entry import Entry
from tidal_plugins.model.exchange import Message
from tidal_plugins.presence.unfinished import Unfinished
from tidal_plugins.protocols import Summariser
from tidal_plugins.secrets.finding import masked
from tidal_plugins.settings import Settings
from tidal_plugins.summarising.summary import Evidence, all_names, borne_out

logger = logging.getLogger(__name__)

TOKENS, LONGEST = 120, 600
"""Tokens that a model may write, and characters of a message from which on it did not keep to them."""
QUOTED = 240
"""Characters of what is quoted. A longer sentence is cut at a word."""

_OPEN = "As far as I know that is still open."
_ENDS, _MARKS = ".!?;, ", ".!?…"


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes what is said: with a summariser, whose sentences stand where the sources bear them out, or in the words
    in which it was said."""

    summariser: Summariser | None
    settings: Settings
    zone: str

    def write(self, items: Sequence[Unfinished], now: datetime) -> tuple[str, bool]:
        """Return the text of a message, and whether a model wrote it."""
        zone = ZoneInfo(self.zone)
        plain_text = " ".join(sentence(item, now, zone) for item in items)
        written = self._written(items, plain_text, now) if self.summariser else ""
        return (written, True) if written else (plain_text, False)

    def _written(self, items: Sequence[Unfinished], draft: str, now: datetime) -> str:
        summariser, entries = self.summariser, {item.said.entry.id: item.said.entry for item in items}
        sources = [Source(id_, (_said(entry), Message("assistant", draft)), now) for id_, entry in entries.items()]

        def ask() -> list[Statement]:
            assert summariser
            return list(summariser.summarise(sources, purpose="message", max_tokens=TOKENS))

        try:
            found = in_time(ask, self.settings.models.timeout)
        except Exception as error:  # its message may hold the text, which belongs into no log
            pass_interrupt(error)
            logger.warning("the summariser failed with %s; the message quotes instead", type(error).__name__)
            return ""
        drafted = Evidence(draft, frozenset({now.date()}))
        evidence = {id_: [Evidence.of_entry(entry), drafted] for id_, entry in entries.items()}
        names = all_names(evidence)
        kept = [borne_out(masked(inert(one.text)), list(entries), evidence, names) for one in found]
        text = " ".join(filter(None, kept)).strip()
        return text if 0 < len(text) <= LONGEST else ""


def _said(entry: Entry) -> Message:
    return Message("user" if entry.role == "user" else "assistant", entry.text)


def sentence(item: Unfinished, now: datetime, zone: ZoneInfo) -> str:
    """Return a sentence that brings a thing up, with its day as seen from now: «That is tomorrow.»"""
    told, today = _told(item, now, zone), local(now, zone).date()
    if item.since:
        day = _since(local(item.since.entry.occurred_at, zone).date(), today)
        told += f" Since then, {day}, you said: “{_quoted(item.since)}”"
    if item.associated and not item.due:
        day = _since(local(item.associated.entry.occurred_at, zone).date(), today)
        told += f" It came to mind with what you said {day}: “{_quoted(item.associated)}”"
    return told


def _told(item: Unfinished, now: datetime, zone: ZoneInfo) -> str:
    at, today = local(item.said.entry.occurred_at, zone), local(now, zone).date()
    when = f"that is {_day(item.due, today)}" if item.due else ""
    if item.kind == "task" and (told := _in_own_words(item)):
        return f"{told}; {when}." if when else f"{told} ({_since(at.date(), today)}). {_OPEN}"
    said = f"“{_quoted(item.said)}”"
    day = _since(at.date(), today)
    told = {
        "promise": f"I said {day}: {said}",
        "task": f"You said {day}: {said}",
        "plan": f"You said {day}: {said}",
        "question": f"You asked {day}, and I had no answer: {said}",
    }[item.kind]
    if when:
        return f"{told} {when.capitalize()}."
    return told if item.kind == "question" else f"{told} {_OPEN}"


def _in_own_words(item: Unfinished) -> str | None:
    """Return «You wanted to …», if what the person said is that they want to, in words that can be turned."""
    raw = " ".join(inert(item.said.raw).split()).strip(_ENDS)
    read = plain(raw)
    if len(read) != len(raw) or len(raw) > QUOTED:
        return None
    for pattern, lead in ((REMIND, "You asked me to remind you to"), (INTENTION, "You wanted to")):
        match = pattern.fullmatch(read)
        if match and (told := to_second_person(raw[match.start("task") :])):
            return f"{lead} {told}"
    return None


def _quoted(said: Sentence) -> str:
    """Return the words of a sentence, after the one that it needs to be understood, if there is room for both."""
    whole = f"{said.before} {said.text}".strip()
    text = said.text if len(whole) > QUOTED else whole
    text = shortened(text.replace("“", "‘").replace("”", "’"), QUOTED)
    text = text.strip().rstrip(";,")
    return text if text[-1:] in _MARKS else f"{text}."


def _day(day: date, today: date) -> str:
    days = (day - today).days
    if days in (0, 1):
        return ("today", "tomorrow")[days]
    if days == -1:
        return "yesterday"
    return f"on {_weekday(day)}" if 0 < days < 7 else f"on {_date(day, today)}"


def _since(day: date, today: date) -> str:
    days = (today - day).days
    if days in (0, 1):
        return ("today", "yesterday")[days]
    return f"on {_weekday(day)}" if 0 < days < 7 else f"on {_date(day, today)}"


def _weekday(day: date) -> str:
    return WEEKDAYS[day.weekday()].capitalize()


def _date(day: date, today: date) -> str:
    near = abs(day - today) < timedelta(days=180)
    return f"{day.day} {MONTHS[day.month - 1].capitalize()}{'' if near else f' {day.year}'}"
