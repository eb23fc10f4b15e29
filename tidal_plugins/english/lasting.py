"""Find what a person says that must not fade: health, where things are kept, standing rules, promises, «remember this».

It is found by its form, not by a word alone. «I'm allergic to walnuts» counts, «a walnut allergy is common» does not;
«never retry a payment» counts, «never give up» does not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from tidal_plugins.english.pasted import without_pasted
from tidal_plugins.english.questions import ends_asking
from tidal_plugins.english.rules import RULE_FOR_GOOD, START, UNREAL, any_of
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.patterns import lazy_re

Lasting = Literal["health", "place", "rule", "promise", "request"]

MOST_CHARS = 1_500
"""Characters of a text that is read. A longer one is a document or a task, whose rules are its own."""


@lru_cache(maxsize=1024)
def lasting(text: str) -> Lasting | None:
    """Return what in ``text`` matters for good, or ``None``. Questions, conditions and fiction state nothing."""
    if len(text) > MOST_CHARS:
        return None
    plain = without_pasted(text).replace("’", "'")
    whole = plain.lower()
    forms = [form for form in FORMS if any(map(whole.__contains__, form.cues))]
    for start, end in sentences(plain) if forms else ():
        sentence = plain[start:end]
        lowered = sentence.lower()
        if end - start > LONGEST or UNREAL.search(lowered) or _asks(lowered):
            continue
        for kind, pattern, _ in forms:
            if pattern.search(lowered):
                return kind
    return None


def _asks(sentence: str) -> bool:
    """Return whether a sentence only asks. «Can you answer in French from now on?» is a rule."""
    return ends_asking(sentence) and "from now on" not in sentence


_OWNER = r"(?:the|my|our|a|his|her|their|spare|mum's|dad's)"
_WHO = (
    r"(?:i|we|he|she|they|you|(?:my|our|his|her|their) (?:\w+ ){0,2}\w+|"
    r"(?!it\b|this\b|that\b|there\b|what\b|who\b|people\b|some\b|many\b)[a-z]\w+)"
)
_BE = r"(?:'m|'s|'re| am| is| are| was diagnosed as)(?: \w+ly| very| also| still| both)?"
_ILL = (
    r"(?:allergic to|intolerant (?:to|of)|(?:lactose|gluten).intolerant|coeliac|celiac|diabetic|epileptic|asthmatic|"
    r"ha?emophiliac)\b"
)
_CONDITION = (
    r"(?:(?:allergy|allergies|intolerance|pacemaker|stent|epi-?pen|c(?:o)?eliac disease|diabetes|epilepsy|asthma|"
    r"seizures|migraines|high blood pressure)\b(?! (?:awareness|week|charity|research))"
    r"|(?:heart|lung|kidney|liver|thyroid|skin) (?:condition|disease|defect|murmur)\b)"
)
_FOOD = (
    r"(?:\w+ )?(?:shellfish|seafood|fish|nuts?|peanuts?|almonds?|sesame|dairy|milk|lactose|cheese|eggs?|gluten|wheat|"
    r"soya?|sugar|salt|alcohol|caffeine|grapefruit|pork|meat|strawberries|latex|chocolate|honey|grapes|raisins|onions?|"
    r"garlic)\b"
)
_STEMS = (
    "cillin mycin oxacin cycline sartan april ipril olol statin dipine formin prazole oxetine azepam zolam thyroxine "
    "xaban parin profen gliptin tidine setron triptan semide thiazide lukast fenac"
).split()
_MEDICINES = (
    "insulin|aspirin|paracetamol|acetaminophen|warfarin|morphine|codeine|prednisone|prednisolone|sertraline|"
    "methotrexate|ventolin|salbutamol|albuterol|antibiotics|blood thinner|blood thinners|beta blocker|beta blockers|"
    "betablocker|betablockers"
).split("|")
_BATTERY = r"(?! (?:aa|ion|batter|cell|iron|polymer))"
_DRUG = rf"\b(?:[a-z]{{2,}}(?:{'|'.join(_STEMS)})|{'|'.join(_MEDICINES)}|lithium{_BATTERY})\b"
"""Medicines, by the stems of international nonproprietary names (WHO) and a few names that have none."""
_DOSE = r"\b\d+(?:[.,]\d+)?[ -]?(?:mg|mcg|µg|micrograms?|milligrams?|i\.?u\.?|units|tablets?|pills?|puffs|drops)\b"
HEALTH = lazy_re(
    rf"\b(?:allerg\w+|intoleran\w+|epi-?pen|anaphyla\w+|emergency room|diabet\w+|asthma\w*|pregnan\w+|don't get on)\b"
    rf"|\b(?:vegan|vegetarian|kosher|halal|medicines?|medication|tablets?|prescri\w+)\b"
    rf"|\b{_ILL}|\b{_CONDITION}|{_DRUG}|{_DOSE}",
    re.IGNORECASE,
)
"""The words of health. A section with room for several lines is chosen by them; what must not fade needs a form."""
_TAKEN = (
    r"\b(?:takes?|taking|took|on|stays? on|puts?(?: \w+)? back (?:to|on)|puts? \w+ on|prescribed?|morning|night|"
    r"bedtime|daily|twice|a day|every day|before (?:breakfast|meals|bed)|with (?:food|meals)|"
    r"from (?:today|now|tomorrow)|instead)\b"
)
_MUST_NOT = r"(?:mustn't|must not|must never|may not|(?:am|is|are)(?: not|n't) allowed to)"
_SOMETHING = r"(?!(?:it|that|this|an?|the|in|out|any|anymore|much|with|at|to|been|had|\w+(?:ed|wn|en))\b)[a-z]+"
_LOCKED = (
    r"(?:door|gate|alarm|safe|garage|house|flat|building|entrance|cellar|shed|lock|locker|car|van|boat|bike|bicycle|"
    r"office|cabin|cottage|cupboard|mailbox|letterbox|attic|studio|workshop)"
)
_HIDDEN = (
    r"(?:keys?|key ?card|passports?|testament|birth certificate|deeds?|insurance papers|first.aid kit|epi-?pen|"
    r"(?:door|alarm|gate|access|entry|garage) codes?|"
    rf"codes?(?= (?:to|for|of)(?: \w+){{0,3}} {_LOCKED}\b)|"
    r"(?<=spare )(?!(?:\w+ )?(?:time|moments?|rooms?|bedroom|ones?|money|change)\b)(?:\w+ )?\w+|"
    r"fuse ?box|stopcock|shut-?off valve|safe|recovery codes?|backup disks?|(?:safe|lock) combination)"
)
_OF = rf"(?: (?:to|for|of)(?: \w+){{0,3}} {_LOCKED}\b|(?<!key)(?<!keys)(?<!code)(?<!codes) (?:for|of)(?: \w+){{1,3}}?)?"
"""What a key or a code opens, and whose a paper is: «the key to success» opens nothing."""
_LIES = r"(?:'s|'re| is| are| hangs?| lives?| stays?| sits?| goes| lies)(?: \w+ly| now| always| still| kept| hidden)*"
_KEEP = r"(?:keep|keeps|kept|hid|hide|left|leave|put|hung|hang|gave|moved)"
_AT = r"(?:in|on|under|underneath|behind|with|at|above|below|beside|beneath|inside|next to|by) \w+"


class Form(NamedTuple):
    """What is said in the form of ``pattern`` is of this kind. It has one of the ``cues``, which are quick to find."""

    kind: Lasting
    pattern: re.Pattern[str]
    cues: tuple[str, ...]


FORMS = (
    Form(
        "health",
        any_of(
            rf"\b{_WHO}{_BE} {_ILL}",
            rf"\b{_WHO}\W{{0,2}}(?:'ve| have| has|'s)(?: got)? (?:an? )?(?:\w+ ){{0,2}}{_CONDITION}",
            r"\bmy (?:\w+ ){0,2}(?:allergy|allergies|intolerance|blood type|blood group)\b",
            rf"\b{_WHO} (?:can't|cannot|can not|{_MUST_NOT}) (?:eat|drink|tolerate|digest|be given) {_SOMETHING}",
            rf"\b{_WHO} {_MUST_NOT} (?:have|take) {_SOMETHING}",
            rf"\b{_WHO} (?:can't|cannot|can not|{_MUST_NOT}) (?:have|get|be fed) {_FOOD}",
            r"\bmakes? (?:my|his|her|their) (?:throat|face|tongue|lips|eyes) swell\b|\bgives? (?:me|him|her) hives\b",
            rf"{_DRUG}.*\b(?:don't get on|doesn't agree|didn't agree|bad reaction|rash|swell\w*)\b",
            r"\b(?:put|sent|landed) (?:me|him|her|us) in (?:the )?(?:hospital|emergency|er\b|a&e|intensive)",
            rf"{_DRUG}.*{_TAKEN}",
            rf"{_TAKEN}.*{_DRUG}",
            rf"\b(?:take|takes|taking|prescribed|doubles?|halves?|raised?|lowered)\b.*{_DOSE}",
            rf"{_DOSE}.*\b(?:twice|daily|a day|every (?:morning|evening|night|day)|at night|in the morning)\b",
        ),
        (
            *(
                "allerg|intoleran|liac|diabet|epi|asthma|pacemaker|stent|seizure|migraine|blood|condition|disease"
                "|defect|murmur| eat | drink | tolerate | digest | be given |must|may not |allowed to |t have |t get "
                "|t be fed |swell"
                "|hives|me in |him in |her in |us in |mg|mcg|µg|gram|iu|i.u|units|tablet|pill|puff|drop|lithium"
            ).split("|"),
            *_STEMS,
            *_MEDICINES,
        ),
    ),
    Form(
        "place",
        any_of(
            rf"\b{_OWNER} (?:\w+ ){{0,3}}{_HIDDEN}{_OF}{_LIES} {_AT}",
            rf"\b{_WHO}(?:'ve| have| had)? {_KEEP} {_OWNER} (?:\w+ ){{0,3}}{_HIDDEN} (?:\w+ ){{0,4}}?{_AT}",
        ),
        tuple(
            "key|passport|testament|certificate|deed|insurance|kit|epi|fuse|stopcock|valve|safe|recovery|backup"
            "|combination|code|spare".split("|")
        ),
    ),
    Form(
        "rule",
        RULE_FOR_GOOD,
        tuple(
            "from now on|rule|always|never| ever |must|only|banned|forbidden|prohibited|nobody|no one|please".split("|")
        ),
    ),
    Form(
        "promise",
        any_of(
            r"\b(?:i|we)(?:'ve| have|'d| had)? (?:also )?promised (?!myself|ourselves|land)(?!to (?:be|stay|keep) )",
            r"\b(?:i|we)(?:'ve| have)? (?:gave|given) (?:\w+ ){1,2}(?:my|our) word\b",
            r"\bi (?:still )?owe (?!you (?:one|big|a (?:lot|coffee|drink)))(?:\w+ ){1,3}(?:\d|[£€$]|money|an? )",
            r"\blent (?:me|us) \b.*\d",
        ),
        ("promised", " word", "owe ", "lent "),
    ),
    Form(
        "request",
        any_of(
            rf"{START}(?:remember|don't forget|do not forget|never forget|note|keep in mind|bear in mind|make a note)"
            r"(?: down)?(?:(?: that|:) (?:i|i'm|my|we|we're|our|the|there|(?!it's|he's|she's|that's)\w+'s)\b"
            r"(?! (?:best|most important|key|goal|love|am here|believe)\b)|"
            r" (?:my|our) (?!time|chat|talk|conversation|trip|discussion|goal)\w+.*(?: is | are |: |'s )|: )",
            r"\bfor (?:future|later) reference\b[,:]",
            rf"{START}(?:write|note|jot|save|store) (?:this|that|it) down(?: for later)?: ",
        ),
        ("remember", "forget", "note", " in mind", "reference", " down"),
    ),
)
"""The forms of each kind; patterns see a sentence in lower case."""
