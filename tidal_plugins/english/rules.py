"""Find the rules that people lay down for an agent or for the work, and the sentences that lift them again.

A rule is an order, or the passive of an obligation, that holds for good: «never merge without a review», «releases must
be announced». What people do themselves («I never use Windows»), guesses («it must be late»), conditions, hearsay and
quotations lay down none. The forms would rather miss a rule than take one up that nobody laid down.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tidal_plugins.english.quotations import SPEECH
from tidal_plugins.english.sentences import LONGEST, plain
from tidal_plugins.english.stems import stem
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.patterns import lazy_re


def any_of(*phrases: str) -> re.Pattern[str]:
    """Return a pattern for any of some phrases."""
    return lazy_re("|".join(f"(?:{phrase})" for phrase in phrases))


UNREAL = lazy_re(
    r"\bif (?:i|you|he|she|we|they|it|there)\b|\b(?:suppose|imagine|pretend|let's say|wonder|dream\w*)\b"
    r"|\bwould (?:be|have)\b|\b(?:story|novel|movie|film|character|episode|lyrics|song)\b"
)
"""Words of conditions and of fiction in a lower-case sentence."""
START = r"(?:\A|[,;:–—(-] ?|\. |\b(?:and|but|so|also|please|again) )(?:\W*(?:and|but|so|also|please|ok|okay|then),? )*"
"""The beginning of a clause."""
_DOING = (
    r"(?:use|run|call|send|put|add|ask|write|commit|push|deploy|start|include|reply|share|delete|drop|book|order|buy|pay|"
    r"sign|tell|open|close|lock|mock|retry|merge|restart|reboot|mention|schedule|invite|serve|feed|cook|quote|address|cc|"
    r"copy|page|mute|silence|touch|edit|round|store|log|print|charge|refund|ship|release|rotate|announce|translate|"
    r"answer|format|name|test|check|confirm|post|publish|install|import|hardcode|hard-code|assume|promise|offer|suggest|"
    r"recommend|seat|wake|ring|phone|email|mail|text|discuss|force-push|rebase|squash|patch|bypass|disable|enable)\b"
)
"""Deeds of which there are rules. «Never give up» and «always remember» are none."""
_TO_ALL = r"(?:please|must|always|never|only|make|ensure|don't|no|rule|(?:can|could|will) you)"
_THOSE = (
    r"\A(?:\W*(?:also|and|so|oh|ok|then|second|first|third|one more)[:,]? )*"
    r"(?!(?:the|this|that|it|these|those|i|we|you|he|she|they|there) )(?:[\w'-]+ ){0,2}[\w-]+s"
)
"""The subject of a sentence about all things of a kind."""
RULE_FOR_GOOD = any_of(
    rf"\A(?!.*\b(?:i|we)(?:'ll|'m| will| am| hope)\b)"
    rf".*(?:{START}from now on\b.*\w|\b{_TO_ALL}\b.*\bfrom now on\b|{START}{_DOING}.* from now on\b)",
    r"\b(?:new|house|standing|team|golden|ground|firm|one|two|three|our|my) rules?\b(?! of\b|,).{0,40}[:,]",
    r"\brules?(?: please| from now on| for \w+(?: \w+)?)?:(?<!rule of)",
    rf"\A(?!.*\b(?:you|they|people) (?:always|never|need|have|should)\b).*{START}"
    rf"(?:always|never|don't ever|do not ever) {_DOING}",
    rf"\b(?:you|we|i|nobody|no one|agents?) (?:must|should|may|shall) (?:always|never|only) {_DOING}",
    r"\b(?:no|every|all|any|each) (?:[\w-]+ ){1,5}must (?:be|go|have|never|always|not) \w+",
    rf"{_THOSE} must (?:always|never|be \w+ed)\b",
    r"(?<!\bit )(?<!\bthat )(?<!\bthis )\b(?:is|are) (?:strictly )?(?:banned|forbidden|prohibited)\b",
    r"\b(?:nobody|no one) (?:may|is allowed to|is to) \w+",
    r"\Ano [\w-]+(?: [\w-]+)? (?:on|before|after|during|at|without|in) .*\bplease\b",
)
"""Rules that must not fade, in a lower-case sentence."""

_RECURRING = r"(?:without|on (?:\w+days|weekends|bank holidays))\b"
_DEED = rf"(?:(?!plans|news|classes|signs|things|problems|ideas)\w+s|\w+ing|{_DOING})"
_RULE = any_of(
    rf"{START}(?:please )?use [\w-]+,? (?:not|instead of|rather than|never) \w",
    rf"{START}{_DOING}.* only (?:for|with|if|when|on|after)\b",
    rf"{START}no {_DEED} anywhere\b",
    rf"{START}no (?:[\w-]+ )?{_DEED} (?:{_RECURRING}|(?:before|after) (?!that\b|this\b|all\b)\w+)",
    rf"{START}(?:don't|do not) {_DOING}.* (?:{_RECURRING}|unless\b)",
    r"\A\W*(?:(?:and|but|also|please),? )*never "
    r"(?!mind|give|forget|say|lose|stop|underestimate|\w+(?:ed|wn|en|ing)\b)\w+ (?:the|an?|our|my|any) \w",
    r"\bplease stick to (?!your|the facts)\w+|\b(?:a|the|new) habit:",
    r"\b(?:is|are) not allowed\b(?<!i am not allowed)",
    r"\b(?:can|could|would|will) you (?:please )?(?:(?:be|keep|stop|always)\b.*\b(?:your \w+|answers|summaries|replies|"
    r"messages|emojis?)|be (?:\w+ )?(?:briefer|shorter|concise|brief|formal))\b",
)
"""Rules in other words, and wishes about the manner of answers."""
_NOT_LAID_DOWN = lazy_re(
    r"\b(?:says?|said|told|wrote|heard|reads?|claims?|claimed|thinks?|thought|believes?)\b(?! me\b)"
    r"|\b(?:translate|paraphrase|proofread|repeat)\b.*:|\b(?:for example|e\.g)\b"
)
"""Words of hearsay and of exercises. What they lead is somebody else's."""
_LIFTED = lazy_re(
    r"(?P<a>.+?) (?:is|are) (?:fine|ok|okay|allowed|possible|permitted|back) (?:again|now)\b"
    r"|\b(?:forget|drop|scrap|ignore|lift) (?:about )?(?:the|that|my|our) (?P<b>.{0,60}?)\s?rules?\b"
    r"|(?P<c>.+?) rules? (?:is|are|was) (?:off|over|gone|lifted|cancelled|history|no longer)\b"
    r"|(?P<d>.+?) (?:is|are) no longer (?:banned|forbidden|prohibited|needed|necessary|a rule)\b"
    r"|\b(?:you|we) (?:can|may) (?P<e>.+?) again\b"
    r"|\bno need to (?P<f>.+?) (?:anymore|any more|any longer)\b"
)
_NO_WORD = lazy_re(r"\W+")


def lays_down(sentence: str) -> bool:
    """Return whether a sentence, or what it says outside quotation marks, lays down a rule."""
    said = plain(SPEECH.sub(" ", sentence[:LONGEST]))
    found = RULE_FOR_GOOD.search(said) or _RULE.search(said)
    return found is not None and UNREAL.search(said) is None and _NOT_LAID_DOWN.search(said) is None


@lru_cache(maxsize=1 << 12)
def lifts(sentence: str) -> frozenset[str]:
    """Return the stems of what a sentence lifts a rule about: «the curfew rule is off» gives «curfew»."""
    match = _LIFTED.search(plain(sentence[:LONGEST]))
    about = next(filter(None, match.groups()), "") if match else ""
    return frozenset(stem(word) for word in _NO_WORD.split(about) if word and word not in STOP_WORDS)
