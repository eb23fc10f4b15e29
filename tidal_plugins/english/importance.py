"""Estimate by rules how much a text matters later [Tidal §2.2]."""

from __future__ import annotations

import re
from math import sqrt
from typing import NamedTuple

from tidal_plugins.english.calendar import ANY_MONTH, WEEKDAY
from tidal_plugins.english.excerpt import ends
from tidal_plugins.english.lasting import lasting
from tidal_plugins.english.shouting import is_shouted
from tidal_plugins.english.small_talk import ACKNOWLEDGING
from tidal_plugins.patterns import lazy_re


class Rule(NamedTuple):
    """``delta`` joins the importance of a text in which ``pattern`` is found."""

    name: str
    pattern: re.Pattern[str]
    delta: float


def _rule(name: str, delta: float, *phrases: str) -> Rule:
    """Return a rule for any of ``phrases``, as whole words. Patterns see the text as :func:`_plain` leaves it."""
    return Rule(name, lazy_re(rf" (?:{'|'.join(phrases)})(?!\w)"), delta)


def _opening(name: str, delta: float, *phrases: str) -> Rule:
    return Rule(name, lazy_re(rf"\A (?:{'|'.join(phrases)})(?!\w)"), delta)


_SUBJECT = r"(?:i|we|you|he|she|they|my \w+)(?: \w+ly| also| always| still| just| do| don't| doesn't)?"
_OPINION = r"(?:love|like|prefer|hate|dislike|enjoy|adore|loathe|avoid)s?"
_SOMEONE = (
    r"(?:wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|parents?|sisters?|"
    r"brothers?|sons?|daughters?|kids?|child|children|baby|uncle|aunt|cousins?|grand\w+|nephew|niece|boss|manager|"
    r"colleagues?|team|neighbou?rs?|roommate|friends?|dogs?|cats?|puppy|kitten)"
)
_OWN = r"(?:name|birthday|anniversary|address|phone|number|e-?mail|id|username|account|job|hobby|hobbies|degree)"
_PRAISE = r"(?:good|great|fun|amazing|awesome|nice|cool|wonderful|lovely|interesting|awful|sad|fine|perfect|true|right)"
_PERIOD = r"(?:day|night|week|weekend|month|quarter|year|spring|summer|fall|autumn|winter)"

BASE = 4.5
"""Importance of a text that no rule speaks about."""

FOR_GOOD = 8.0
"""Importance from which a text matters for good."""

RULES = (
    _rule(
        "remember",
        4.0,
        r"remember(?<! you remember)(?<! i remember)(?<!'ll remember)(?<!'t remember),?"
        r" (?:that|this|to|my|our|me|the|i|i'm|we|it|for)",
        r"(?:don't|do not|never) forget",
        r"for (?:future|later) reference",
        r"for the record",
        r"(?:keep|bear) (?:this |that |it )?in mind",
        r"(?:make|take) (?:a )?note",
        r"(?:please )?note(?: down)?:? that",
        r"from now on",
        r"(?:write|note|jot) (?:this|that|it) down",
        r"(?:save|store|memori[sz]e) (?:this|that)",
    ),
    _rule(
        "decision",
        2.0,
        r"deci(?:de|ded|sion|sions|ding)",
        r"(?:agreed|settled|opted|chose|chosen|approved|rejected|finali[sz]ed)",
        r"(?:go|going|went|stick|sticking) with",
        r"signed off",
        r"made up (?:my|our|his|her|their) minds?",
        r"(?:switch|switched|switching|migrated|migrating|moved|moving) (?:over )?(?:to|from)",
        r"(?:conclusion|concluded)",
        r"instead of",
    ),
    _rule(
        "preference",
        2.0,
        rf"{_SUBJECT} {_OPINION}(?! (?:it|that|this|your|how|to (?:hear|see|know))\b)",
        r"(?:prefer|prefers|preferred|preference|preferences|preferably|favou?rites?)",
        r"rather than",
        r"can't stand",
        r"(?:allergy|allergies|allergic|vegan|vegetarian|intolerant|intolerance|kosher|halal|gluten)",
        r"(?:big |huge )?fan of",
        r"(?:really |very )?(?:into|fond of|keen on) (?=\w)(?!the|a|it|this|that|account)\w+",
    ),
    _rule(
        "requirement",
        2.0,
        r"must(?! be (?:nice|fun|great|hard|so|exciting))",
        r"(?:require|requires|required|requirements?|mandatory|forbidden|prohibited|constraints?)",
        r"(?:not|isn't|aren't) allowed",
        r"(?:make|be) (?:absolutely )?sure",
        r"ensure",
        r"at (?:most|least)",
        r"no (?:more|less|later|fewer|longer) than",
        r"(?:always|never) (?:use|run|call|send|put|add|ask|write|commit|push|deploy|start|include|reply|share|delete)",
        r"(?:should|may|shall) (?:always|never|only)",
        r"needs? to (?:be|have|support|run|work|include|handle|fit)",
        r"budget",
    ),
    _rule(
        "error",
        1.5,
        r"(?:traceback|crash|crashed|crashes|crashing|fails?|failed|failing|failures?|bugs?|broken|outage|regression)",
        r"(?:doesn't|don't|didn't|isn't|not|stopped|stops) work(?:ing)?",
        r"(?:times?|timed) out",
        r"(?:segfault|deadlock|corrupt|corrupted|corruption|leak|leaks|leaking|timeouts?|incidents?)",
        r"out of memory",
    ),
    Rule("exception", lazy_re(r"error(?<!terror)s?\b|exceptions?\b"), 1.5),  # also as the end of a class name
    _rule(
        "resolution",
        1.5,
        r"(?:fixed|resolved|solved|patched|mitigated|workaround|solution)",
        r"root cause",
        r"roll(?:ed|ing)? back",
        r"the (?:fix|problem|issue|cause|culprit|trick|reason) (?:is|was)",
        r"turn(?:s|ed) out",
        r"caused by",
        r"works (?:now|again)",
        r"lessons? learned",
    ),
    _rule(
        "commitment",
        1.0,
        r"(?:i|we)(?:'ll| will|'m going to|'re going to| am going to| are going to| plan to| promised?| intend to)",
        r"(?:deadlines?|appointments?|scheduled|booked|reservations?|meeting|interview|exam|flight|signed up)",
        r"due (?:on|by|date|in|next|this|tomorrow)",
        r"planning (?:to|on|a)",
        r"committed to",
        r"remind me",
    ),
    _rule(
        "date",
        1.0,
        r"(?:tonight|tomorrow|yesterday)",
        rf"{WEEKDAY}s?",
        r"(?:19|20)\d\d(?:-\d\d-\d\d)?",
        r"\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m|p\.m)",
        rf"{ANY_MONTH} \d{{1,2}}(?:st|nd|rd|th)?",
        rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {ANY_MONTH}",
        rf"in {ANY_MONTH}",
        rf"(?:last|next|this|every) {_PERIOD}",
        r"(?:an?|two|three|four|few|couple of|\d+) (?:hours?|days?|weeks?|months?|years?) (?:ago|from now|later)",
    ),
    _rule(
        "personal fact",
        1.5,
        rf"my (?:\w+ )?{_SOMEONE}",
        rf"my (?:\w+ )?{_OWN}",
        r"my (?:\w+ ){1,2}(?:is|are|was|were)",
        r"i(?:'m| am) (?:an?|from|called|named|married|engaged|single|divorced|pregnant|\d+|based|originally)",
        r"i (?:currently |used to |also )?(?:lived?|work(?:ed)?|study|studied|own(?:ed)?|play|speak|teach|volunteer)",
        r"i(?:'ve| have)?(?: just| recently| finally)? (?:grew up|moved|was born|bought|started|joined|quit|finished)",
        r"i(?:'ve| have)?(?: just| recently| finally)? (?:won|lost|adopted|signed|graduated|visited|got an?)",
        r"(?:born|diagnosed|hired|fired|promoted|retired|graduated|adopted|divorced|passed away|died|years old)",
    ),
    _rule("emphasis", 1.0, r"(?:important|importantly|critical|crucial|urgent|essential|asap|warning|vital)"),
    Rule("detail", lazy_re("[0-9`_]"), 0.5),
    _opening(
        "greeting",
        -1.5,
        r"(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|welcome back)",
    ),
    _rule(
        "thanks", -1.5, r"(?:thanks|thank you|thx|much appreciated|i appreciate|you're welcome|no problem|my pleasure)"
    ),
    _rule(
        "farewell",
        -1.5,
        r"(?:bye|goodbye|good night|take care|see (?:you|ya)|talk (?:to you )?(?:soon|later)|catch (?:you|up) later)",
        r"have a (?:good|great|nice|lovely|wonderful)",
    ),
    _rule(
        "small talk",
        -1.5,
        r"how(?:'s it going| are (?:you|things)|'ve you been| have you been| about you)",
        r"what(?:'s up|'s new| about you)",
        r"(?:nice|lovely|beautiful) (?:day|weather)",
        r"(?:good|nice|great|lovely) to (?:see|hear|meet)",
        r"long time no see",
    ),
    _opening(
        "reaction",
        -1.0,
        r"(?:wow|whoa|awesome|amazing|cool|nice|great|lovely|congrat\w*|haha\w*|lol|oh|aw+|yay|yeah|yes|yep|no|nope|sure)",
        r"(?:absolutely|definitely|of course|ok|okay|right|true|exactly|glad|so glad|good luck|i see|i hope|hope)",
        rf"(?:sounds|that sounds|that's|that is|it's) (?:so |really |very |like |a )?{_PRAISE}",
    ),
    Rule("question", lazy_re(r"\?\W{0,4}\Z"), -1.0),
    Rule("acknowledgement", lazy_re(rf"\A(?: {ACKNOWLEDGING}\b[^\w ]*+)++\Z"), -2.0),
    Rule("short", lazy_re(r"\A(?: [!-~]++){1,3}\Z"), -1.0),
)
"""Rules that move the importance of a text. Each rule counts once, however often it matches."""


def importance(text: str, *, role: str | None = None) -> float:
    """Estimate how much ``text`` matters later, in [1, 10], by :data:`RULES` (English).

    The strongest rule that raises it counts in full, each further one half as much as the one before. Both directions
    fade with length: what raises beyond 300 characters, because a long text meets most rules somewhere; what lowers
    beyond 80, because «Thanks!» is small talk and thanks within a report are not. What an assistant or a tool says
    matters less than what a user does. A user's text reaches :data:`FOR_GOOD` if and only if it says something that
    must not fade (:func:`tidal_plugins.english.lasting.lasting`). Of a text that shouts
    (:func:`tidal_plugins.english.shouting.is_shouted`) one rule raises it, and that to :data:`FOR_GOOD` at most: five
    calls for attention say nothing five times.
    """
    plain = _plain(text)
    deltas, loud = sorted([rule.delta for rule in RULES if rule.pattern.search(plain)], reverse=True), is_shouted(text)
    raised = sum(delta * 0.5**place for place, delta in enumerate(deltas[:1] if loud else deltas) if delta > 0)
    lowered = sum(delta for delta in deltas if delta < 0)
    score = BASE + raised * sqrt(min(1.0, _LONG / len(plain))) + lowered * min(1.0, _SMALL / len(plain))
    kept = role not in _ROLES and lasting(text) is not None
    least, most = (FOR_GOOD, FOR_GOOD if loud else 10.0) if kept else (1.0, FOR_GOOD - 0.01)
    return round(min(most, max(least, score + _ROLES.get(role or "", 0.0))), 2)


_LONG, _SMALL = 300, 80  # characters
_ROLES = {"assistant": -1.0, "tool": -1.0}
_MARKS = str.maketrans(dict.fromkeys('"“”([{*>', " ") | dict.fromkeys("’‘", "'"))


def _plain(text: str) -> str:
    """Return a text lower-cased, with one space before every word, straight apostrophes and no opening marks."""
    return " " + " ".join(ends(text).lower().translate(_MARKS).split())
