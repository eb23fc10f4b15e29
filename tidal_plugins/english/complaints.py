"""Find complaints that something has to be said, or goes wrong, again and again. They seldom have a charged word."""

from __future__ import annotations

import re

from tidal_plugins.english.sentences import LONGEST, plain
from tidal_plugins.patterns import lazy_re

_NTH = r"(?:second|third|fourth|fifth|sixth|tenth|hundredth|thousandth|umpteenth|\d+(?:nd|rd|th))"
_TOLD = r"(?:told|said|asked|explained|mentioned|reported|written|wrote|complained|repeated|corrected)"
_TIMES = r"(?:twice|(?:two|three|four|five|six|ten|a hundred|several|so many|many|countless|\d+) times|repeatedly)"
_WRONGLY = (
    r"(?:ignor|forget|mak|do|gett|break|chang|add|send|giv|say|repeat|ask|miss|mess|delet|remov|overwrit|fail|crash|"
    r"interrupt|screw)\w*ing"
)
_CURSE = lazy_re(r"\b\w\*{2,}|\b(?:f+u+c+k\w*|shit\w*|damn\w*|crap)\b", re.IGNORECASE)
_CURSE_WORDS = 2
_WORD = lazy_re(r"[^\W_]+(?:['’]\w+)?")
_COMPLAINT = lazy_re(
    rf"\b{_NTH} time\W*$"
    rf"|\b{_NTH} time (?:(?:now|today|already|in a row|this (?:week|month)|that|where)\W+)*"
    rf"(?:you\b|i(?:'ve| have| had|'m| am| must)? (?:had to|have to|need to|to|{_TOLD}|ask|tell|say|explain|repeat)\w*|"
    rf"it (?:breaks|broke|fails|failed|crashe[sd]|happens|happened|goes wrong|went wrong)|$)"
    rf"|\Afor the {_NTH} time:|\bfor the last time:?"
    rf"|\bhow (?:many times (?:do|did|must|should|have|will|shall)|often (?:do|did|must|have|shall)) (?:i|"
    rf"we) (?:have|need|got|must|tell|ask|say|told|asked|said)\b"
    rf"|\bi(?:'ve| have| had)? already {_TOLD}(?: you| for)?(?: (?:that|this|it|so))?\W*$"
    rf"|\b(?:i|we)(?:'ve| have| had)? (?:already )?{_TOLD} (?:you|that|this|it|so)\b(?:.*\b{_TIMES}\b|"
    rf" (?:already|before)\W*$)"
    rf"|\byou(?:'re| are)? (?:keep|still keep|always keep|kept) (?:on )?{_WRONGLY}"
    rf"|\b(?:why|how) (?:do|can|did) you (?:still |always )?(?:keep|kept)? ?{_WRONGLY}"
    rf"|\A(?:(?:please|just|and|now|can you|will you),? )*stop {_WRONGLY} (?:that|this|it)\W*$"
    rf"|\b(?:yet again|once again|again),? you(?:'ve| have)? (?:\w+ )?(?:ignor|forg[eo]t|broke|miss|delet|"
    rf"chang|mess|fail)"
    rf"|\byou(?:'ve| have)? (?:did|done|ignored|forgot|forgotten|broke|broken|missed|deleted|messed|failed|got) "
    rf"(?:\w+ ){{0,4}}again\W*$"
    rf"|\b(?:the )?same (?:mistake|error|bug|problem|nonsense|thing|wrong answer|answer)s? (?:again|"
    rf"as (?:before|last time|yesterday)"
    rf"|(?:over and over|every time))"
    rf"|\Astill (?:broken|wrong|failing|not (?:working|fixed|done|there|right))\b|\b(?:over and over|time and again)\b"
)


_CUES = (
    "d time", "h time", "t time", " times", "how often", "already", "twice", "repeatedly", "before", "keep", "kept",
    "why do you", "why did you", "why can you", "how do you", "how did you", "how can you", "stop", "again", "same ",
    "still", "over and over",
)  # fmt: skip
"""Words of which every complaint has one, in lower case and with single spaces."""

_DENIED = lazy_re(
    r"(?:(?:and|but|so|no|ok|okay|honestly|really|don't worry),? )*"
    r"(?:i'm|i am|we're|we are|i was|we were|i feel|i don't feel|i wasn't|"
    r"we aren't|we weren't) ?(?:not |no longer |never )?"
    r"(?:really |even |that |at all |so |too |very |feeling )*"
    r"(?:angry|mad|furious|upset|cross|annoyed|irritated|frustrated|sad|unhappy|worried|anxious|nervous|afraid|scared|"
    r"stressed|disappointed|offended|hurt|ashamed|jealous|bored|lonely|depressed|sorry)"
    r"(?: (?:at all|any ?more|now|today|with you|at you|about (?:it|this|that)))*\W*"
)
_NOT = lazy_re(r"\b(?:not|no longer|never)\b|n't feel|n't\b(?! worry)")


def denies_feeling(sentence: str) -> bool:
    """Return whether a sentence only says that its speaker does not feel bad: «I'm not angry at all»."""
    said = plain(sentence[:LONGEST])
    return _DENIED.fullmatch(said) is not None and _NOT.search(said) is not None


def complains(sentence: str) -> bool:
    """Return whether a sentence complains of repetition: «I've told you twice», «this is the third time»."""
    return may_complain(sentence) and _COMPLAINT.search(plain(sentence[:LONGEST])) is not None


def may_complain(text: str) -> bool:
    """Return whether a text has words of a complaint, which most have not. This is quicker than to read it."""
    return any(map(" ".join(text.lower().split()).__contains__, _CUES))


def curses(sentence: str) -> bool:
    """Return whether a sentence is a curse and hardly anything else: «S***!», «oh damn»."""
    return len(_WORD.findall(sentence)) <= _CURSE_WORDS and _CURSE.search(sentence) is not None
