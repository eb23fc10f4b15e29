"""What makes a sentence less than a plain statement of the present: a question, doubt, hearsay, what is imagined, and
what is asked of former times."""

from __future__ import annotations

import re

from tidal_plugins.english.sentences import sentences
from tidal_plugins.patterns import lazy_re

ADVERB = (
    r"(?:now|currently|again|still|actually|already|officially|definitely|really|indeed|unfortunately|sadly|just|"
    r"completely|totally|fully|permanently|temporarily|also|finally)"
)
BEFORE = (  # what may stand before the subject; anything else makes it another thing, or another's words
    r"(?:\A|[.;,!()\n–—]|(?<!\w)(?:note|remember|update|correction|reminder|fyi|ps|news|warning|careful|"
    r"attention|heads[- ]up):|"  # any other colon is a title's, or another speaker's
    r"(?<!\w)(?:and|but|so|then|now|however|note|remember|fyi|update|correction|also|today|actually|"
    r"unfortunately|sorry|yes|ok|okay|turns out|note that|remember that|confirmed that|it turns out that|since|"
    r"because)(?!\w))[\s*\-•\"]*+"
)
TRAIL = lazy_re(
    rf"(?:\s+(?:{ADVERB}|today|tonight|anymore|any more|at the moment|right now|for now|as well|too|please|\.+))+$",
    re.IGNORECASE,
)

LEAD = (
    r"(?:\W|\b(?:and|but|so|ok|okay|also|oh|hm+|well|then|now|anyway|btw|first|right|yes|no|please|just|"
    r"or|honestly|actually|really|honest|look|listen|hey|hi|hello|yeah|yep|thanks|alright|next|maybe|instead)\b)*"
)
"""Words that may lead a sentence and say nothing of what kind it is."""


MARKS = ("?", "？", "؟")
ASKING = tuple("who whom whose what when where why how which".split())
AUXILIARIES = tuple("do does did is are am was were can could would should will shall may might have has had".split())
SOMEBODY = (
    r"(?:i|we|you|he|she|it|they|there|this|that|these|those|the|my|our|your|his|her|their|anyone|anybody|somebody)"
)

_CLOSERS = " \t\r\n\"'”’»)]*_"
_DENIED = r"(?:isn|aren|wasn|weren|don|doesn|didn|haven|hasn|won|wouldn|can|couldn)['’]t"
_UNMARKED = lazy_re(
    rf"{LEAD}(?:(?:{'|'.join(AUXILIARIES)}|{_DENIED})\s+{SOMEBODY}\b"
    rf"|(?:{'|'.join(word for word in ASKING if word != 'when')})\b"
    r"|when\s+(?:is|are|was|do|does|did|will|can)\b)",
    re.IGNORECASE,
)
"""The beginnings of questions, which people who type fast leave without a mark, and of exclamations."""
_TAG = lazy_re(rf", *{_DENIED} (?:it|they|he|she|you|we|that|i)\W*\Z", re.IGNORECASE)
"""A question at the end: «that's the offset, isn't it»."""
_BEGINS = lazy_re(rf"\W*(?:{'|'.join((*ASKING, *AUXILIARIES))})\b", re.IGNORECASE)


def ends_asking(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return text.rstrip(_CLOSERS).endswith(MARKS)


def asks(sentence: str) -> bool:
    """Return whether a sentence asks: «where can I leave the keys» does so without a question mark."""
    said = sentence.strip()
    return ends_asking(said) or _UNMARKED.match(said) is not None or _TAG.search(said) is not None


def has_question(text: str) -> bool:
    """Return whether a sentence of a text asks."""
    return any(asks(text[start:end]) for start, end in sentences(text))


def stated(sentence: str) -> str:
    """Return the part of a sentence that states something: of «It's on Friday, isn't it?», all before the comma."""
    if not ends_asking(sentence):
        return sentence
    before = sentence.rpartition(",")[0]
    return "" if _BEGINS.match(before) else before


_IF = r"if|unless|whether|suppos(?:e|ing)|imagin\w+|pretend\w*|hypothetical\w*"
_WHEN = r"when|whenever"
_PERHAPS = r"maybe|perhaps|probably|possibly|apparently|guess\w*|wonder(?:s|ed|ing)?|not sure"
_HEARSAY = r"says?|said|rumou?rs?"
_JOKES = r"joking|kidding"
_WOULD = r"would|could|might|should"

_HEDGES = f"{_IF}|{_PERHAPS}|{_HEARSAY}|{_JOKES}"

DOUBT = lazy_re(
    rf"\b(?:{_HEDGES}|{_WHEN}|assum\w+|as though|wish\w*|hop(?:e|es|ed|ing)|think|thinks|thought|believ\w+|"
    r"feels? like|seem\w*|doubt\w*|unsure|presumably|allegedly|supposedly|reportedly|likely|not true|heard|hear|"
    r"claim\w*|told|tells?|according to|asked|asks|used to|was once|formerly|previously|at the time|back then|"
    r"in those days|once upon|until recently|no longer true|for example|e\.g|for instance|let's say|"
    r"in the (?:story|book|film|movie|game|novel|song|dream)|dream(?:t|ed)?|joke)\b",
    re.IGNORECASE,
)
"""Words anywhere in a sentence that make it no plain statement of the present."""
MODAL = lazy_re(
    rf"\b(?:{_WOULD}|(?-i:may)|shall|will|must|can|wo|gonna|going to|about to|want\w*|expect\w*|"
    r"plan(?:s|ned|ning)?\s+(?:to|on|for)|how|why|where|who|what)\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
"""The same, of the words before the claim has been made."""
ELSEWHERE = lazy_re(
    r"\b(?:once|after|as soon as|sometimes|often|usually|every|each|tomorrow|next (?:week|month|year|time)|on \w+days?|"
    r"at night|(?:in|by) \d{4}|translate|repeat|grammar|example|scenario|story|opposite|not the case)\b|"
    r"\A\W*(?:in|on|at)\s+(?!(?:fact|the moment|short|present|summary)\b)[^,]{1,40},",
    re.IGNORECASE,
)
"""Words before a claim about other times and places, and about exercises."""


_WERE = r"(?:were|was|had|could|knew|won|lived|owned|ever)"
_IMAGINED = r"(?:\b(?:would|could|might)|'d)"
_SUPPOSED = r"(?<!asked )(?<!ask )(?<!me )(?<!know )(?<!wonder )(?<!wondered )(?<!see )(?<!sure )(?<!check )\bif"
_SCENE = lazy_re(
    rf"\A{LEAD}(?:imagine\b|suppos(?:e|ing)\b|what if\b|hypothetically\b"
    r"|let's (?:say|pretend|imagine|suppose)\b|pretend (?:that|you|we|i)\b|if only\b"
    r"|in (?:a|an) (?:perfect|ideal|other|another) world\b)"
)
"""The beginning of a scene that is imagined: of a lower-case sentence, and the sentences after it belong to it."""
JOKE = lazy_re(r"\b(?:joke|jokes|joking|kidding|jk|just teasing|haha+|lol)\b", re.IGNORECASE)
"""Words that take back what stands beside them."""
_UNREAL = lazy_re(
    rf"{_SUPPOSED} (?:[\w']+ ){{1,3}}?{_WERE}\b.*{_IMAGINED}\b|{_IMAGINED}\b.*{_SUPPOSED} (?:[\w']+ ){{1,3}}?{_WERE}\b"
    r"|\bi wish (?:i|we|you|he|she|it|they|there|my|the)\b"
)
"""What would be if something were."""
_BACK = lazy_re(rf"\A{LEAD}(?:anyway|back to|in reality|in fact|actually|seriously|for real|meanwhile|today|real)\b")
"""The beginning of what is real again."""
_RUMOUR = lazy_re(
    r"\b(?:says?|said|told (?:me|us)|thinks?|reckons?|heard|read|claims?|suggested|rumou?rs?)\b"
    r"(?: that)?(?: [\w']+){0,4}? (?:might|could|may|perhaps|maybe)\b"
)


def opens_scene(plain: str) -> bool:
    """Return whether a lower-case sentence asks to imagine something, with the sentences that follow."""
    return _SCENE.match(plain) is not None


def leaves_scene(plain: str) -> bool:
    """Return whether a lower-case sentence comes back to what is real."""
    return _BACK.match(plain) is not None


def is_imagined(plain: str) -> bool:
    """Return whether a lower-case sentence tells what would be if something were."""
    return _UNREAL.search(plain) is not None


def is_rumoured(plain: str) -> bool:
    """Return whether a lower-case sentence tells what somebody holds for possible."""
    return _RUMOUR.search(plain) is not None


_FORMER = lazy_re(
    r"\b(?:before (?:that|this|it|the|we|i|then)|used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|initial(?:ly)?|"
    r"at first|earlier|back then|the old|my old|our old|once was|had been|no longer|"
    r"until then)\b|\bbefore\s*[?.!]*\s*$|\bin the beginning\b",
    re.IGNORECASE,
)
"""Words for a value that is no longer the newest: «where did I live before?», «what was the old time?»."""
_ASKED = r"\b(?:who|whom|whose|what|when|where|why|which|how)(?:\s+(?!(?:is|are|am|do|does|can|will)\b)[\w'’-]+){0,4}?"
_NOW = r"(?:is|are|am|do|does|can|could|will|should|shall|must|may)"
_THEN = r"(?:was|were|did|had|used\s+to)"
_PRESENT = lazy_re(
    rf"{_ASKED}(?:\s+|(?=['’]))(?:{_NOW}|['’](?:s|re))\b|(?:\A|[.,;:!?]\s+|\band\s+){_NOW}\s+", re.IGNORECASE
)
"""The beginnings of questions for what is: «when is …», «can it be …»."""
_PAST = lazy_re(rf"{_ASKED}\s+{_THEN}\b|(?:\A|[.,;:!?]\s+|\band\s+){_THEN}\s+", re.IGNORECASE)
"""The beginnings of questions for what was."""
_WHEN_WAS = lazy_re(r"\bwhen\s+(?:was|were)\b(?![^?]*\bagain\b)", re.IGNORECASE)
_SUBJECT = lazy_re(
    r"(?:\b(?:is|are)|['’](?:s|re))\s+(?:the|my|our|your|his|her|their)\s+"
    r"(?:old|previous|former|original|initial|earlier)\b",
    re.IGNORECASE,
)
"""What is asked for is the former one: «what is the old address?»."""


def asks_for_former(text: str, past: bool) -> bool:
    """Return whether a text asks for a value that is no longer the newest. ``past``: it names a time that is over.

    A question in the present tense asks for the newest, whatever else was before: «yesterday I forgot to ask when the
    concert is». Words alone, without a question, ask for the former if they say so.
    """
    former = past or _FORMER.search(text) is not None
    if _PAST.search(text):
        return former or _WHEN_WAS.search(text) is not None
    if _PRESENT.search(text):
        return _SUBJECT.search(text) is not None
    return former
