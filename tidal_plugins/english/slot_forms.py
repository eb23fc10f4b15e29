"""Describe the forms in which a sentence fills a slot that holds one thing at a time."""

from __future__ import annotations

import re
from typing import NamedTuple

from tidal_plugins.english.calendar import CLEAR_MONTH, WEEKDAY
from tidal_plugins.english.kinds import KIND_NOUNS, MEMBERS
from tidal_plugins.english.opposites import COLOURS, STATES
from tidal_plugins.english.statements import SINGULAR_ATTRIBUTES
from tidal_plugins.patterns import lazy_re

_NAME = r"(?-i:[A-ZÀ-ÖØ-Þ][\w-]+(?:[ -][A-ZÀ-ÖØ-Þ][\w-]+){0,2})"
_THING = r"(?:the|our|my|your|all|this)?\s*(?P<thing>[\w-]+(?:\s(?!now\b|from\b|since\b|and\b|instead\b)[\w-]+){0,4}?)"
_END = (
    r"(?=\s*(?:[,;:.!()\n–—]|\Z|\s(?:now|from|since|and|but|instead|in|for|again|because|until|after|with|at|on|by|"
    r"these)\b))"
)
_NOW = r"(?:(?:now|currently)\s+)?"
_CHARGE = (
    r"(?P<role>owns?|runs?|leads?|manages?|maintains?|handles?|coordinates?|chairs?|looks\s+after|takes\s+care\s+of|"
    r"is\s+(?:now\s+)?(?:responsible\s+for|in\s+charge\s+of|on))"
)
_TAKES = (
    r"(?P<role>takes\s+over|took\s+over|has\s+taken\s+over|is\s+taking\s+over|will\s+take\s+over|inherits|inherited)"
)
_POST = r"(?:owner|lead|maintainer|contact|manager|keeper|chair|reviewer|organi[sz]er|coordinator|coach|captain)"
_SINGLE = (
    rf"(?:{'|'.join(sorted(SINGULAR_ATTRIBUTES))}|{_POST}|supplier|carrier|doctor|dentist|landlord|landlady|teacher|"
    r"therapist|vendor|venue|editor)"
)
_ATTRIBUTE = (
    r"(?P<thing>(?:[\w'’-]+\s){0,3}?"
    rf"(?:favou?rite(?:\s[\w-]+){{1,2}}?|{_SINGLE}(?:\s(?:of|for)\s(?:the\s)?[\w-]+(?:\s[\w-]+)?)?))"
)
_OWN = r"(?P<own>the|our|my)"
_VALUE = (
    r"(?P<value>(?!not\b|no\b|very\b|so\b|too\b|that\b|to\b|it\b|what\b|how\b|in\b|on\b|at\b|up\b|going\b|being\b)"
    r"[^\s,;:.!?()\n–—\d]+(?:\s(?!now\b|from\b|and\b|but\b|these\b|instead\b|because\b|since\b)[^\s,;:.!?()\n–—\d]+){0,3}?)"
)
_OFF = (
    r"(?!work|duty|sick|the\s+hook|limits|"
    r"the\s+(?:phone|table|charts?|grid|record|rails|menu|beaten|top|ground|mark)\b)"
)
_STATE = "|".join(sorted(STATES))
_KIN = (
    r"(?:(?:grand)?(?:mother|father|mum|mom|dad|ma|pa|son|daughter)|wife|husband|partner|spouse|sister|brother|uncle|aunt|"
    r"cousin|nephew|niece|boss|friend|neighbou?r|colleague|(?:grand)?parents)"
)
_PERSON = rf"(?:I|we|(?:(?:my|our|his|her)\s+)?{_KIN}|{_NAME})"


class Form(NamedTuple):
    """A form in which a sentence fills a slot of ``kind``. A value that has ended is ``over``.

    Each sentence in the form has one of the ``cues``, which are quick to find, in lower case and with single spaces;
    a form without cues is quick itself.
    """

    kind: str
    pattern: re.Pattern[str]
    cues: tuple[str, ...]
    over: bool = False

    def may_be_in(self, line: str) -> bool:
        """Return whether a sentence may have the form, given in lower case and with single spaces."""
        return not self.cues or any(map(line.__contains__, self.cues))


_POSTS = tuple("owner lead maintainer contact manager keeper chair reviewer organi coordinator coach captain".split())
_SINGLES = (
    "favo",
    *sorted(SINGULAR_ATTRIBUTES),
    *_POSTS,
    *"supplier carrier doctor dentist landlord landlady teacher therapist vendor venue editor".split(),
)
_LYING = (" is ", " are ", " lie", " stand", " sit")
FORMS = tuple(
    Form(kind, lazy_re(pattern, re.IGNORECASE), cues, over)
    for kind, pattern, over, cues in (
        ("holder", rf"(?P<value>{_NAME})\s+{_NOW}{_CHARGE}\s+{_THING}{_END}", False, ()),
        ("holder", rf"(?P<value>{_NAME})\s+(?P<cue>{_TAKES})\s+{_THING}{_END}", False, ()),
        ("holder", rf"(?P<value>{_NAME})\s+(?:has|does|builds|keeps)\s+{_THING}{_END}", False, ()),
        (
            "holder",
            rf"\b{_THING}\s+(?:is|are)\s+{_NOW}(?P<value>{_NAME})['’](?P<role>s?)(?=\s*(?:[,;.!]|\Z|\s(?:now|from)\b))",
            False,
            ("'", "’"),
        ),
        ("holder", rf"\b{_THING}\s+{_NOW}(?P<role>belongs?)\s+{_NOW}to\s+(?P<value>{_NAME})", False, ("belong",)),
        (
            "holder",
            rf"\b{_THING}\s+(?:is|are)\s+{_NOW}(?P<role>owned|run|led|managed|maintained|handled)\s+by\s+(?P<value>{_NAME})",
            False,
            ("owned", "run", "led", "managed", "maintained", "handled"),
        ),
        (
            "holder",
            rf"\b{_THING}\s+(?P<cue>(?:goes|went|passes|passed|(?:was|is)\s+handed)(?:\s+over)?\s+to)\s+(?P<value>{_NAME})",
            False,
            (),
        ),
        (
            "holder",
            rf"\b(?P<role>{_POST})\s+(?:of|for)\s+{_THING}\s*(?:\s(?:is|are)\s+{_NOW}|:\s)(?P<value>{_NAME})",
            False,
            _POSTS,
        ),
        (
            "holder",
            rf"(?P<value>{_NAME})\s+is\s+{_NOW}(?:the|our|my)\s+{_NOW}(?:new\s+)?(?P<role>{_POST})\s+(?:of|for)\s+{_THING}{_END}",
            False,
            (),
        ),
        (
            "holder",
            rf"(?P<value>{_NAME})\s+(?:is|has\s+(?:come|gone)|came|went)\s+(?P<cue>off)\s+{_OFF}{_THING}{_END}",
            True,
            (),
        ),
        ("holder", rf"(?P<value>{_NAME})\s+(?P<cue>no\s+longer)\s+{_CHARGE}\s+{_THING}{_END}", True, ()),
        (
            "attribute",
            rf"\b{_ATTRIBUTE}\s+(?:is|are)\s+{_NOW}(?:called\s+)?(?:the\s+|an?\s+)?{_VALUE}{_END}",
            False,
            _SINGLES,
        ),
        ("attribute", rf"\b{_ATTRIBUTE}:\s+{_VALUE}{_END}", False, (":",)),
        ("attribute", rf"(?P<value>{_NAME})\s+is\s+{_NOW}{_OWN}\s+(?P<new>new\s+)?{_ATTRIBUTE}{_END}", False, ()),
        (
            "attribute",
            rf"\b(?P<cue>(?:switch|chang|mov)(?:e|es|ed))\s+(?:(?:the|our|my)\s+)?{_ATTRIBUTE}\s+(?:over\s+)?to\s+{_VALUE}{_END}",
            False,
            _SINGLES,
        ),
        (
            "state",
            rf"\b{_THING}\s+(?:is|are|went|has\s+been)\s+(?:(?:now|back|fully|again)\s+){{0,2}}(?P<value>{_STATE}){_END}",
            False,
            (),
        ),
        ("state", rf"\bstatus:\s+{_THING}\s+(?P<value>{_STATE}){_END}", False, ("status",)),
        (
            "home",
            rf"\b(?P<thing>{_PERSON})\s+{_NOW}(?:lives?|(?:am|are|is)\s+living)\s+in\s+(?P<value>{_NAME})",
            False,
            ("live", "living"),
        ),
        (
            "home",
            rf"\b(?P<thing>{_PERSON})\s+(?:have\s+|has\s+)?(?P<cue>(?:just\s+)?moved\s+to)\s+(?P<value>{_NAME})",
            False,
            ("moved",),
        ),
    )
)
"""Forms that stand anywhere in a sentence."""

_ONE = (
    r"(?:(?:the|this)\s+)?(?P<thing>(?!(?:(?:the\s+)?(?:other|second|new|old|next|last|first(?!\s+aid))|an?|some|there|that|it|one)\b)"
    r"[\w'’-]+(?:\s(?!is\b|are\b|on\b|in\b|at\b)[\w'’-]+){0,3}?(?:\s(?:of|for|to)\s(?:(?:the|our|my)\s)?[\w-]+)?)"
)
_IS = r"\s+(?:is|are)\s+(?:now\s+)?"
_COLOUR = rf"(?P<value>{'|'.join(sorted(COLOURS))})"
_ON = r"(?:in|inside|under|underneath|beneath|behind|on|above|beside|next\s+to|on\s+top\s+of)"
_MORE = r"\s(?!(?:in|of|on|at|or|and|but|so|because|since|now|these|again)\b)[\w-]+"
_SPOT = rf"(?P<value>{_ON}\s(?:the|our|my)\s[\w-]+(?:{_MORE}){{0,2}})"
_TOWN = (
    rf"(?P<value>in\s+(?!(?:{WEEKDAY}|{CLEAR_MONTH}|March|May)\b){_NAME}|"
    rf"(?:in|on|at)\s+{_NAME}\s(?:Street|Road|Avenue|Lane|Square))"
)
_LIES = r"\s+(?:is|are|lies?|stands?|sits?)(?:\s+(?:now|still|always|back))?\s+"
_STAYS = r"(?P<role>(?:is|are)\s+(?:now\s+|always\s+|still\s+)?(?:kept|stored|hidden)|hangs?|lives?)"
_WHEN = (
    rf"(?P<when>on\s+{WEEKDAY}s|at\s+(?:the\s+)?weekends?|at\s+lunchtime|"
    rf"in\s+(?:winter|summer|spring|autumn|{CLEAR_MONTH}))"
)
_CLOCK = r"(?P<value>\d{1,2}(?:[:.]\d\d)?(?:\s?[ap]m)?)"
_LANGUAGE = r"(?-i:[A-Z][\w+#-]*)"
_MEMBER = rf"(?P<value>{MEMBERS})"
_KIND_OF_MEMBER = rf"(?P<value>(?:[\w-]+\s){{0,2}}(?:{MEMBERS}))"
_HAVE = r"(?:['’]ve|\s+have)?\s+(?:just\s+)?"
WHOLE_FORMS = tuple(
    Form(kind, lazy_re(pattern, re.IGNORECASE), cues)
    for kind, pattern, cues in (
        ("colour", rf"{_ONE}{_IS}(?:painted\s+)?(?:(?:dark|light|bright)\s+)?{_COLOUR}", tuple(COLOURS)),
        ("colour", rf"{_ONE}\s+colou?r{_IS}{_COLOUR}", ("colo",)),
        ("colour", rf"(?:the\s+)?colou?r\s+of\s+{_ONE}{_IS}{_COLOUR}", ()),
        ("hours", rf"{_ONE}{_IS}(?:always\s+)?(?P<value>open|closed|shut)\s+{_WHEN}", ("open", "closed", "shut")),
        ("hours", rf"{_ONE}\s+(?P<value>opens|closes)\s+{_WHEN}", ("opens", "closes")),
        (
            "day",
            rf"{_ONE}\s+(?:is|are|meets?|happens?|takes\s+place)\s+(?:now\s+)?on\s+(?P<value>{WEEKDAY}s)",
            ("day",),
        ),
        ("day", rf"(?:I|we)\s+(?:always\s+|only\s+|now\s+)?(?P<thing>[a-z]+)\s+on\s+(?P<value>{WEEKDAY}s)", ()),
        ("attribute", rf"(?P<value>{_NAME})\s+is\s+{_NOW}{_OWN}\s+(?:new\s+)?{_ONE}", ()),
        (
            "hour",
            rf"{_ONE}\s+(?:is|starts|begins|kicks\s+off|takes\s+place|leaves|departs)\s+(?:now\s+)?at\s+{_CLOCK}",
            (" at ",),
        ),
        ("holder", rf"{_ONE}\s+(?P<role>{_POST}){_IS}(?P<value>{_NAME})", _POSTS),
        ("place", rf"{_ONE}{_LIES}{_SPOT}(?:\s(?:in|of)\s(?:the|our|my)\s[\w-]+)?", _LYING),
        ("place", rf"{_ONE}{_LIES}{_TOWN}", _LYING),
        (
            "place",
            rf"{_ONE}\s+(?P<role>(?:is|are)\s+(?:located|based|headquartered|hosted))\s+{_TOWN}",
            ("located", "based", "headquartered", "hosted"),
        ),
        ("place", rf"{_ONE}\s+{_STAYS}\s+{_SPOT}", ("kept", "stored", "hidden", "hang", "live")),
        ("place", rf"(?:I|we)\s+(?:always\s+|now\s+)?(?P<role>keep|store)\s+{_ONE}\s+{_SPOT}", ()),
        (
            "place",
            rf"{_ONE}\s+(?:city|town|room|location|venue){_IS}(?P<value>{_NAME})",
            ("city", "town", "room", "location", "venue"),
        ),
        (
            "work",
            rf"(?P<thing>{_PERSON})\s+{_NOW}works?\s+(?P<value>(?:at|for)\s+(?:the\s+[\w-]+(?:\s[\w-]+)?|{_NAME}))",
            (" work",),
        ),
        ("name", rf"{_ONE}{_IS}(?:called|named)\s+(?P<value>{_NAME})", ("called", "named")),
        ("name", rf"{_ONE}['’]s\s+name{_IS}(?P<value>{_NAME})", ("s name",)),
        ("origin", rf"(?P<thing>{_PERSON})\s+comes?\s+from\s+(?P<value>{_NAME})", (" from ",)),
        ("written", rf"{_ONE}{_IS}(?:written|implemented)\s+in\s+(?P<value>{_LANGUAGE})", ("written", "implemented")),
        ("written", rf"(?:the\s+)?(?:programming\s+)?language\s+of\s+{_ONE}{_IS}(?P<value>{_LANGUAGE})", ()),
        ("hosted", rf"{_ONE}{_IS}(?:hosted|deployed)\s+(?:on|at|by|with)\s+(?P<value>{_NAME})", ("hosted", "deployed")),
        ("tool", rf"(?P<thing>I|we)(?:['’](?:m|re)|\s+am|\s+are)\s+(?:now\s+|all\s+)?on\s+{_MEMBER}", ()),
        ("tool", rf"(?P<thing>I|we){_HAVE}(?:switched|moved|migrated)\s+(?:over\s+)?to\s+{_MEMBER}", ()),
        (
            "tool",
            rf"(?P<thing>our|my|the)\s+(?:[\w-]+\s)?(?:{KIND_NOUNS})\s+(?:is|runs\s+on|uses)\s+(?:now\s+)?{_MEMBER}",
            (),
        ),
        (
            "tool",
            rf"(?P<thing>it)['’]s\s+(?:all\s+)?{_KIND_OF_MEMBER}\s+(?:for\s+me\s+)?(?:now|these\s+days)\b(?:,.*)?",
            (),
        ),
        ("tool", rf"(?P<thing>I)(?:['’]m\s+drinking|\s+drink)\s+{_KIND_OF_MEMBER}\s+(?:now|these\s+days|instead)", ()),
        ("use", rf"(?P<thing>I|we)\s+(?:use|run)\s+{_MEMBER}", ()),
        (
            "diet",
            rf"(?P<thing>{_PERSON})(?:['’]m|\s+am|\s+is|['’]s)\s+(?:an?\s+)?(?P<value>vegan|vegetarian)",
            ("vegan", "vegetarian"),
        ),
        ("diet", rf"(?P<thing>{_PERSON})\s+eats?\s+(?P<value>[\w-]+(?:(?:,|\sand|\sor)\s[\w-]+){{0,3}})", (" eat",)),
        ("civil", r"(?P<thing>I)(?:['’]m|\s+am)\s+(?P<value>single|married|divorced|widowed)", ()),
    )
)
"""Forms that are a whole sentence."""
