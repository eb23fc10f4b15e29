"""The closed lists by which statements are compared: words of change, of doubt, of addition; states that exclude each
other; words that say of which one of a kind something is said."""

from __future__ import annotations

import re

from tidal_plugins.english.words import WEEKDAY, stem
from tidal_plugins.patterns import lazy_re

_OPPOSITES = (
    "up/down open/closed open/shut on/off true/false yes/no enabled/disabled active/inactive online/offline alive/dead "
    "available/unavailable running/stopped working/broken valid/invalid locked/unlocked present/absent public/private "
    "full/empty connected/disconnected allowed/forbidden healthy/unhealthy safe/unsafe passed/failed passing/failing "
    "started/stopped reachable/unreachable possible/impossible reserved/free occupied/free busy/free married/single "
    "married/divorced complete/incomplete finished/unfinished paid/unpaid mandatory/optional required/optional "
    "approved/rejected accepted/rejected up/degraded healthy/degraded online/down alive/down working/down running/down"
)
OPPOSED = frozenset(frozenset(pair.split("/")) for pair in _OPPOSITES.split())
"""Pairs of states that exclude each other."""
STATES = frozenset[str]().union(*OPPOSED)
COLOURS = frozenset(
    "red orange yellow green blue purple violet pink brown black white grey gray beige cream navy teal".split()
)


def _phrases(text: str) -> re.Pattern[str]:
    """Return a pattern of the phrases of a text that «/» parts. A phrase may end in «*», for any ending."""
    said = "|".join(re.escape(phrase.strip()).replace(r"\*", r"\w*") for phrase in text.split("/"))
    return lazy_re(rf"\b(?:{said})\b", re.IGNORECASE)


# change

VERB = (
    r"(?:mov|chang|switch|rais|lower|reschedul|postpon|push|shift|increas|reduc|updat|renam|bump|upgrad|downgrad|delay|"
    r"migrat|swap|extend|replac|transfer|relocat|correct)(?:e|es|ed|ing|s)?"
)
CHANGE_VERB = lazy_re(rf"\b{VERB}\b", re.IGNORECASE)
"""Verbs of change, in any form: what was moved is not about moving."""
CUE = lazy_re(
    rf"\b(?:{VERB}|set)\b(?=[^;!?]{{0,50}}\b(?:to|until|into)\b)|^from {WEEKDAY}\b|^new\b|'s new\b|"
    r"\bmake (?:it|that)\b(?= \d)|"
    r"\b(?:no longer|any ?more|instead|from now on|as of|now(?! and then)|nowadays|these days|back to|correction|"
    r"after all|scratch that|i meant|turns out|finally|again|previous(?:ly)?|takes over|taking over|took over|"
    r"this (?:year|season|term|semester)|(?:my|our|his|her|their|your|the) new|"
    r"(?:from|since) (?:(?:this|next) (?:term|week|month|year|season|quarter|sprint)|today|tomorrow))\b",
    re.IGNORECASE,
)
"""Words that say that something is not as before."""
AGAIN = lazy_re(r"again", re.IGNORECASE)
WEAK = lazy_re(r"again|finally|previous(?:ly)?|the new|after all", re.IGNORECASE)
"""Words of change that say as well that something happens once more, or for the first time."""

_P = r"(?:[\w@#][^\s,;:!?()\n–—]*)(?: [^\s,;:!?()\n–—]+){0,3}?"
_STOP = (
    r"(?=\s*(?:[,;:!?()\n–—]|\.(?!\d)|$|\b(?:and|but|because|since|so|as|for|which|who|from|by|after|before|at|in|on|"
    r"with|now|then|to|last|this)\b))"
)
_ENDING = (
    r"(?:cancell?ed|cancels|sold|left|quit|drop(?:ped|s)?|ditch\w*|stopp?(?:ed|s)?(?: \w+ing)?|gave up|given up|"
    r"got rid of|closed down|remov(?:ed|es)|abandon\w*|retired|deprecat\w*|mov(?:ed|ing) (?:away from|off|out of)|"
    r"(?:switched|migrated) (?:away from|off)|shut down|(?:done|finished) with|last (?:day|week|month) (?:at|with)|"
    r"resigned from|not (?:with|at|on|in|using)|broke up with|unsubscribed from|gone (?:right )?off)"
)
_GONE = (
    r"(?:(?:is|are|was|were|has|have|'s) (?:now )?(?:off|out|gone|left|sold|dead|history|no more|called off|cancell?ed|"
    r"closed down|deprecated|retired|resigned|quit|the (?:spare|backup|fallback))|"
    r"(?-i:retired|died|passed away|left|quit|resigned|stepped down|moved (?:away|on|out)))\b"
)
_BUT = r"(?!(?:on|at|in|by|for|with|to|of|from|until|when|because|it|that|only|just|yet|even|like|a|an|any)\b)"
_INSTEAD = r"(?:instead of|rather than|in place of|no longer|replac(?:es|ed|ing))"
OVER = tuple(
    lazy_re(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:{VERB}|went|put|brought|cut|set|goes)\b[^.;!?]{{0,50}}?\bfrom (?P<old>{_P}) (?:in)?to (?P<new>{_P})"
        rf"{_STOP}",
        rf"(?P<old>[\w@/.-]+(?: [\w@/.-]+){{0,2}}) ?(?:->|→) ?(?P<new>[^\s,;]+(?: [^\s,;]+){{0,2}}){_STOP}",
        rf"(?P<new>{_P}),? {_INSTEAD} (?:the |my |our )?(?P<old>{_P}){_STOP}",
        rf"\b(?:no longer|not) {_BUT}(?P<old>{_P}) but (?P<new>{_P}){_STOP}",
        rf"(?P<new>{_P}), (?:and )?not (?:the |a )?{_BUT}(?P<old>{_P}){_STOP}",
        rf"\b(?:no longer|no more) (?:a |an )?(?P<old>{_P}){_STOP}",
        r"(?:\bnot|n't) (?P<old>[^.;,!?]{3,60}?) any ?more\b",
        rf"\b{_ENDING} (?:the |my |our |any |all )?{_BUT}(?P<old>{_P}){_STOP}",
        rf"(?P<new>{_P}) (?:has taken|takes|took|is taking) over\b[^.;!?]{{0,40}}? from (?P<old>{_P}){_STOP}",
        rf"(?-i:(?P<old>[A-Z@][\w@.'-]*(?: [\w@][\w@.-]*){{0,2}}?))(?: |(?='s)){_GONE}",
        rf"\b(?:the|my|our|that) (?P<old>[\w-]+(?: [\w-]+)?)(?: |(?='s)){_GONE}",
    )
)
"""Ways to say what holds no more, and what holds instead."""
OVER_HINT = lazy_re(
    rf"\bfrom\b|->|→|\b(?:instead|rather|place) |longer|replac|\bno more\b|\bnot\b|n't\b|\b{_ENDING}|{_GONE}",
    re.IGNORECASE,
)
"""Words of which each of them has one: most sentences have none."""
LEADING_VERB = lazy_re(rf"{_ENDING}|{VERB}", re.IGNORECASE)

# what a sentence is, beside a plain statement of the present

UNREAL = _phrases(
    "if / unless / whether / suppose / supposing / imagin* / maybe / perhaps / probably / possibly / would / could / "
    "might / should / wish* / hope / hopes / hoping / thinking of / thinking about / consider* / going to / gonna / "
    "plan to / plans to / planning to / want to / wants to / like to / almost / nearly / joking / kidding / rumour* / "
    "rumor* / dream* / wonder* / not sure / propose / proposes / proposed / proposing / suggest* / tempted / no idea / "
    "wow / typo / wrongly / by mistake / let's / let us / need to / needs to / has to / have to / try to / trying to / "
    "think / thinks / seem / seems / apparently / heard / claim / claims / say / says / said / tells people / "
    "tell everybody / telling everybody / telling everyone / telling people"
)
"""Words of conditions, wishes, guesses, plans, hearsay and mistakes."""
LONG_AGO = _phrases(
    "used to / ago / back then / back when / as a child / as a kid / as a student / was once / formerly"
)
ADDS = _phrases(
    "one of / other / also / as well / another / in addition / besides / additional* / second / for once / this once / "
    "only today / just today / only for today / just for today / only tonight / only tomorrow / just tomorrow / "
    "only this time / just this time / only this week / just this week / today only / tomorrow only / as an exception"
)
"""Words by which something holds beside others, or for once."""
TOO = lazy_re(r"\btoo(?=\W*(?:\Z|[,.;!]))", re.IGNORECASE)
ONE_DAY = lazy_re(r"(?<!as of )(?<!since )(?<!from )(?<!starting )\b(?:today|tonight|tomorrow)\b", re.IGNORECASE)
DENIED = lazy_re(r"\b(?:not|never|no|neither|nor|without|none|cannot|nothing)\b|n't\b", re.IGNORECASE)

# which one of a kind

_ENVIRONMENTS = (
    "staging stage",
    "production prod live",
    "development dev local",
    "test testing qa",
    "beta canary preview",
    "sandbox",
)
ENVIRONMENTS = {word: words.split()[0] for words in _ENVIRONMENTS for word in words.split()}
OWNERS = dict.fromkeys("i my mine me we us our ours".split(), "self") | dict.fromkeys(
    "his her hers their theirs".split(), "other"
)
KIN = frozenset(
    "mother father mum mom dad brother sister son daughter wife husband uncle aunt gran grandma grandpa grandmother "
    "grandfather cousin nephew niece neighbour neighbor".split()
)
NUMBERED = frozenset(
    map(
        stem,
        "floor room building level week phase chapter sprint lesson tier unit block wing zone track round season step "
        "episode stage grade class".split(),
    )
)
"""Nouns whose number says which one it is, if a sentence has another value, too."""
LETTERED = lazy_re(
    r"\b(?:team|floor|building|group|unit|line|room|class|block|wing|zone|plan|option|gate) (?-i:[A-Z]\b)",
    re.IGNORECASE,
)
HOLDERS = frozenset(map(stem, "owns owner maintains maintainer responsible charge leads belongs".split()))
"""Stems of words of what one person holds at a time."""
ATTRIBUTES = frozenset("limit size price cost fee rate amount number value total max maximum min minimum".split())
"""Nouns by which one attribute goes under two names: the upload size, and the upload limit."""
VAGUE = frozenset(
    map(
        stem,
        "change switch new noted update good done great still ok yes week day date please utc am pm thing use get go "
        "make take put keep note remember hi hello sorry now today tomorrow tonight yesterday time year month hour "
        "minute last next first one two also just already really finally instead currently say tell know think need "
        "want like mr mrs ms dr st term season previous per own owner live work run build leave start meet belong cost "
        "serve pay call name ask move set raise charge see have begin open close longer more anymore nowadays".split(),
    )
)
"""Stems of words that two statements may share without being about the same thing."""
