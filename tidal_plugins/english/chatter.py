"""Find the sentences that state nothing worth keeping: questions, requests, thanks, reactions and jokes."""

from __future__ import annotations

import re

from tidal_plugins.english.changes import is_question
from tidal_plugins.english.objects import PAST_VERBS
from tidal_plugins.english.small_talk import SMALL_TALK
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.english.verbs import is_past

_LEAD = (
    r"(?:\W|\b(?:and|but|so|ok|okay|also|oh|hm+|well|then|now|anyway|btw|first|right|yes|no|please|just|"
    r"or|honestly|actually|really|honest|look|listen)\b)*"
)
_PRONOUN = (
    r"(?:i|we|you|he|she|it|they|there|this|that|these|those|the|my|our|your|his|her|their|anyone|anybody|somebody)"
)
_ASKS = re.compile(
    rf"{_LEAD}(?:(?:do|does|did|is|are|am|was|were|can|could|would|should|will|have|has|had|shall|may|might|don't|"
    rf"doesn't|isn't|aren't|can't|won't)\s+{_PRONOUN}\b"
    r"|(?:who|whom|whose|what|where|why|how|which)\b(?!ever)|when\s+(?:is|are|was|do|does|did|will|can)\b|and\s*\Z)",
    re.IGNORECASE,
)
"""The beginnings of questions, which people who type fast leave without a mark, and of exclamations."""
_TAG = re.compile(
    r", *(?:is|are|was|were|do|does|did|have|has|will|would|can)n't (?:it|they|he|she|you|we|that|i)\W*\Z"
)
"""A question tag at the end: «that's the offset, isn't it»."""
_POLITE = re.compile(
    rf"{_LEAD}(?:please\b|(?:(?:can|could|would|will)\s+(?:you|we)\b)|(?:let\s+me\s+know|tell\s+(?:me|him|her|them|us|mum|"
    r"dad)|show\s+me|give\s+me|help\s+me|remind\s+\w+|forget\s+(?:that|it|this)|have\s+a\s+look|look\s+(?:it|this|that)\s+up|"
    r"do\s+(?:it|that|so|both)|go\s+ahead|go\s+on|hang\s+on|hold\s+me|make\s+sense)\b)"
    r"|.*\bplease\W*\Z",
    re.IGNORECASE | re.DOTALL,
)
"""Requests in the words of courtesy, and those that name nothing."""
_ORDERS = (
    "add apply ask attach book build bump call cancel change check close commit copy create cross "
    "delete deploy describe "
    "disable do draft drop edit enable explain export find fix format generate get give have implement import "
    "install keep lift list look make mark merge move open order page pass pick plan port post print "
    "push put raise read "
    "rebuild recreate remind remove rename repeat replace re-send resend restart revert review rewrite roll run save "
    "schedule search send set ship show sort start stop strike summarise summarize switch tell test "
    "tick translate try turn "
    "undo update upgrade use wait watch write output paraphrase rephrase identify introduce answer act"
)
ORDER = re.compile(rf"{_LEAD}(?:{'|'.join(_ORDERS.split())})\b(?!\s+(?:is|are|was|were|has|ran|will)\b)", re.IGNORECASE)
"""The beginnings of orders: the infinitive of a verb of work."""
RULE = re.compile(
    r"\b(?:always|never|must|mustn't|from now on|rule|rules|banned|forbidden|not allowed|no longer|at most|only ever|"
    r"instead of|rather than|please stick|whenever|every time|nobody|no one|no \w+ (?:before|after|on|without)\b)\b"
    r"|, not\b|\bnot \w+[.!]?\Z",
    re.IGNORECASE,
)
"""What makes an order one that holds for good, or a decision: it is a statement then."""
_JOKE = re.compile(r"\b(?:jok(?:e|es|ing)|kidding|lol|haha\w*|just saying|in theory)\b", re.IGNORECASE)
_REACTION = re.compile(
    rf"{_LEAD}(?:(?:i'm|i am|we're|that's|that is|it's|it is|this is|you're|you are|sounds|how|what an?)\s+"
    r"(?:\w+\s+){0,2}?(?:sorry|glad|happy|afraid|great|good|nice|lovely|wonderful|brilliant|awesome|fine|terrible|awful|"
    r"outrageous|annoying|furious|angry|annoyed|exhausted|tired|fed up|thrilled|excited|relieved|"
    r"relief|pity|shame|rough|"
    r"infuriating|bad|news|weird|welcome|the best|worth your)\b"
    r"|(?:wow|woah|whoa|yay|aw+|omg|congratulations|congrats|"
    r"welcome|enjoy|happy to|glad|good luck|take care|sleep well|good night|gnight|nite|"
    r"thank|thanks|cheers|you're welcome|any time|anytime|until next time|my pleasure|all the best|give my|feel free|"
    r"let me know|anything else|i hate|i love this|i could (?:hug|kiss|scream|cry)|i hope|hope|i wish|don't ask|"
    r"small (?:mercy|victories)|fine by me|of course|poor you|oh dear|i wouldn't|i'd (?:love|hate)|not a joke)\b)",
    re.IGNORECASE,
)
"""The beginnings of thanks, wishes and feelings about what was said."""
_CURSE = re.compile(r"\b\w\*{2,}|\b(?:f+u+c+k\w*|shit\w*|damn\w*|crap)\b", re.IGNORECASE)
FRAGMENT = 3
"""Words with a content below which a sentence says nothing by itself."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|isn't|aren't|wasn't|has|have|had|will|can|must|needs?|costs?|opens?|closes?)\b|'s\b"
)
_RETRACTED = re.compile(
    r"\bwrong (?:window|chat|thread|tab)\b|\b(?:forget|ignore|delete|scratch) (?:that|this|it)\b(?! "
    r"(?:branch|file|line))",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"(?:(?:it|that|this|both|all|which) (?:is|are) (?:now )?)?(?!(?:noted|agreed|understood|indeed|"
    r"need|settled|done,)\b)"
    r"(?:\w{2,}ed|built|sent|written|set|found|done(?!,))\b(?: |[.:,])",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    rf"{_LEAD}(?:you (?:can|could|should|might|may|needn't|need not|don't|have not|haven't|hadn't)|"
    rf"i(?:'d| would| could| can| cannot| can't| don't|"
    r" didn't| have not| haven't| had)|i'll (?:wait|ask|put it|raise|mention|repeat|leave|be|not|try|"
    r"keep an eye)|i won't|i used|"
    r"as far as i know|if\b|perhaps|maybe|why not|let's|shall|then (?:tell|enjoy|let|put|say|use|take|"
    r"he|she|they)|ask|take|put|"
    r"make sure|remember to|try|keep|ring|"
    r"call|say|tell|don't|do not|be|stay|give|give it)\b",
    re.IGNORECASE,
)
"""The beginnings of what an agent advises, offers or cannot do: no statement of what is."""
_ACKNOWLEDGED = re.compile(
    r"(?:(?:noted|understood|got it|good(?: morning)?|great|right|ok|okay|thanks|thank you|so|agreed|"
    r"done|sure|of course|"
    r"certainly|will do|both noted|added|lovely|yes|no|nice|perfect|fine|moved|closed|true)"
    r"(?:,? (?:then|so|[A-Z][a-z]+))?\s*[:,.!;]+\s*)+",
    re.IGNORECASE,
)
"""What stands before the statement in an agent's restatement: «Noted: …»."""
_WORD = re.compile(r"[^\W_]+(?:['’]\w+)?")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"`[^`\n]*`")


def asks(sentence: str) -> bool:
    """Return whether a sentence is a question, with its mark or without."""
    plain = _straight(sentence)
    return is_question(sentence) or _ASKS.match(plain) is not None or _TAG.search(plain) is not None


def requests(sentence: str) -> bool:
    """Return whether a sentence only asks somebody to do something now. A rule and a decision state something."""
    plain = _straight(sentence)
    if RULE.search(plain):
        return False
    return _POLITE.match(plain) is not None or ORDER.match(plain) is not None


def jokes(sentence: str) -> bool:
    """Return whether a sentence says that it, or the one before it, is not meant."""
    return _JOKE.search(sentence) is not None and "not a joke" not in sentence.lower()


def reacts(sentence: str) -> bool:
    """Return whether a sentence is thanks, a wish, a feeling or a curse, and says nothing of the matter."""
    plain = _straight(sentence)
    return _REACTION.match(plain) is not None or _CURSE.search(plain) is not None


def is_fragment(sentence: str) -> bool:
    """Return whether a sentence has too few words with a content, or no verb, to say something by itself."""
    plain = _straight(sentence)
    words = content(plain)
    if len(words) >= FRAGMENT or (len(words) > 1 and (_DIGIT.search(plain) or RULE.search(plain))):
        return False
    verb = _VERB.search(plain)
    stated = verb is not None and bool(content(plain[: verb.start()]))
    past = any(word in PAST_VERBS or is_past(word) for word in map(str.lower, _WORD.findall(plain)))
    return not stated and not (len(words) > 1 and past)


def retracts(sentence: str) -> bool:
    """Return whether a sentence takes back what stands beside it: «wrong window», «forget that please»."""
    return _RETRACTED.search(_straight(sentence)) is not None


def reports(sentence: str) -> bool:
    """Return whether a sentence of an agent reports work: «Added the route», «It passes: `make check`»."""
    plain = without_acknowledgement(sentence)
    return _REPORT.match(sentence) is not None or _CODE.search(plain) is not None


def advises(sentence: str) -> bool:
    """Return whether a sentence of an agent advises, offers or declines, rather than says what is."""
    return _ADVICE.match(_straight(sentence)) is not None


def content(sentence: str) -> list[str]:
    """Return the words of a sentence, in lower case, that are neither small talk nor stop words."""
    words = [word.lower() for word in _WORD.findall(_straight(sentence))]
    return [word for word in words if word.split("'")[0] not in STOP_WORDS and word not in SMALL_TALK]


def without_acknowledgement(sentence: str) -> str:
    """Return a sentence without the acknowledgement before it: «Noted: the fee is paid» is «The fee is paid»."""
    rest = sentence[match.end() :] if (match := _ACKNOWLEDGED.match(sentence)) else sentence
    return rest[:1].upper() + rest[1:] if rest and rest is not sentence else sentence


def _straight(sentence: str) -> str:
    return sentence.replace("’", "'").strip()
