"""Find the sentences that state nothing worth keeping: questions, requests, thanks, reactions and jokes."""

from __future__ import annotations

import re

from tidal_plugins.english.clauses import LEAD
from tidal_plugins.english.objects import PAST_VERBS
from tidal_plugins.english.people import NAMING
from tidal_plugins.english.requests import RULE
from tidal_plugins.english.small_talk import SMALL_TALK
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.english.verbs import is_past

_JOKE = re.compile(r"\b(?:jok(?:e|es|ing)|kidding|lol|haha\w*|just saying|in theory)\b", re.IGNORECASE)
_FEELINGS = (
    "sorry glad happy afraid great good nice lovely wonderful brilliant awesome fine terrible awful outrageous "
    "annoying furious angry annoyed exhausted tired thrilled excited relieved relief pity shame rough infuriating bad "
    "news weird welcome proud grateful thankful stoked pumped stunning beautiful amazing gorgeous incredible inspiring"
).split()
_EXCLAMATIONS = (
    "wow woah whoa yay woohoo hooray hurray kudos aw+ omg congratulations congrats welcome enjoy glad nite thank "
    "thanks cheers hope"
).split()
_WISHES = (
    "happy to", "good luck", "take care", "sleep well", "good night", "gnight", "you're welcome", "any time", "anytime",
    "until next time", "my pleasure", "all the best", "give my", "feel free", "let me know", "anything else", "i hope",
    "i wish", "of course", "fine by me", "small (?:mercy|victories)",
    "wishing you", "(?:i )?can(?:'t|not) wait", "lucky you", "sure thing", "good for you", "well done", "way to go",
    "no worries", "no problem", "so proud", "proud of", "looking forward", "poor you", "oh dear",
    "don't ask", "not a joke", "long time no", "(?:so )?(?:great|good|nice|lovely|sorry) to (?:hear|see|meet)",
)  # fmt: skip
_OUTBURSTS = ("i hate", "i love this", "i could (?:hug|kiss|scream|cry)", "i wouldn't", "i'd (?:love|hate)")
_REACTION = re.compile(
    rf"{LEAD}(?:(?:i'm|i am|we're|that's|that is|it's|it is|this is|you're|you are|sounds|how|what an?)\s+"
    rf"(?:\w+\s+){{0,2}}?(?:{'|'.join(_FEELINGS)}|fed up|the best|worth your)\b"
    rf"|(?:{'|'.join((*_EXCLAMATIONS, *_WISHES, *_OUTBURSTS))})\b)",
    re.IGNORECASE,
)
"""The beginnings of thanks, wishes and feelings about what was said."""
_EXCLAIMED = re.compile(
    rf"(?:(?:{'|'.join(_EXCLAMATIONS)}|well done|lucky you|good news|great news|sure thing)"
    rf"(?: (?:so much|a lot|again|[A-Z]\w+))?(?:[,!.:–—]+\s+))+",
    re.IGNORECASE,
)
"""An exclamation before a statement."""
_CURSE = re.compile(r"\b\w\*{2,}|\b(?:f+u+c+k\w*|shit\w*|damn\w*|crap)\b", re.IGNORECASE)
FRAGMENT = 3
"""Words with a content below which a sentence says nothing by itself."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|isn't|aren't|wasn't|has|have|had|will|can|must|needs?|costs?|opens?|closes?)\b|'s\b"
)
_OWN = re.compile(
    r"(?:i|we)(?:'m|'re|'ve| (?:am|are|have|had|was|were|can't|cannot|don't|do not|will|must))?"
    r"(?: (?:also|now|still|always|never|not|\w+ly))* (?P<verb>\w+)",
    re.IGNORECASE,
)
"""The beginning of a statement about oneself: «I'm vegan», «we use Postgres»."""
_RETRACTED = re.compile(
    r"\bwrong (?:window|chat|thread|tab)\b"
    r"|\b(?:forget|ignore|delete|scratch) (?:that|this|it)\b(?! (?:branch|file|line))",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"(?:(?:it|that|this|both|all|which) (?:is|are) (?:now )?)?"
    r"(?!(?:noted|agreed|understood|indeed|need|settled|done,)\b)"
    r"(?:\w{2,}ed|built|sent|written|set|found|done(?!,))\b(?: |[.:,])",
    re.IGNORECASE,
)
_YOU = r"you (?:can|could|should|might|may|needn't|need not|don't|have not|haven't|hadn't)"
_I = (
    r"i(?:'d| would| could| can| cannot| can't| don't| didn't| have not| haven't| had)|i won't|i used|"
    r"i'll (?:wait|ask|put it|raise|mention|repeat|leave|be|not|try|keep an eye)"
)
_THEN = r"then (?:tell|enjoy|let|put|say|use|take|he|she|they)"
_COUNSELS = (
    "ask", "take", "put", "make sure", "remember to", "try", "keep", "ring", "call", "say", "tell", "don't", "do not",
    "be", "stay", "give",
)  # fmt: skip
_ADVICE = re.compile(
    rf"{LEAD}(?:{_YOU}|{_I}|{_THEN}|i(?:'d| would)? (?:recommend|suggest|advise)|we (?:can|could|should|might)"
    rf"|here(?:'s| is| are)|as far as i know|if|perhaps|maybe|why not|let's|shall|{'|'.join(_COUNSELS)})\b",
    re.IGNORECASE,
)
"""The beginnings of what an agent advises, offers or cannot do: no statement of what is."""
_ACKNOWLEDGING = (
    "noted", "understood", "got it", "good(?: morning)?", "great", "right", "ok", "okay", "thanks", "thank you", "so",
    "agreed", "done", "sure", "of course", "certainly", "will do", "both noted", "added", "lovely", "yes", "no", "nice",
    "perfect", "fine", "moved", "closed", "true",
)  # fmt: skip
_ACKNOWLEDGED = re.compile(
    rf"(?:(?:{'|'.join(_ACKNOWLEDGING)})(?:,? (?:then|so|[A-Z][a-z]+))?\s*[:,.!;]+\s*)+", re.IGNORECASE
)
"""What stands before the statement in an agent's restatement: «Noted: …»."""
_WORD = re.compile(r"[^\W_]+(?:['’]\w+)?")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"`[^`\n]*`")


def jokes(sentence: str) -> bool:
    """Return whether a sentence says that it, or the one before it, is not meant."""
    return _JOKE.search(sentence) is not None and "not a joke" not in sentence.lower()


def reacts(sentence: str) -> bool:
    """Return whether a sentence is thanks, a wish, a feeling or a curse, and says nothing of the matter."""
    plain = _straight(sentence)
    rest = plain[match.end() :] if (match := _EXCLAIMED.match(plain)) else ""
    if len(rest.split()) > FRAGMENT - 1 and content(rest):
        plain = rest  # «Yay, we got the flat»
    return _REACTION.match(plain) is not None or _CURSE.search(plain) is not None


def is_fragment(sentence: str) -> bool:
    """Return whether a sentence has too few words with a content, or no verb, to say something by itself."""
    plain = _straight(sentence)
    words = content(plain)
    if len(words) >= FRAGMENT or (len(words) > 1 and (_DIGIT.search(plain) or RULE.search(plain))):
        return False
    if NAMING.search(plain) or _says_of_oneself(plain):
        return False
    verb = _VERB.search(plain)
    stated = verb is not None and bool(content(plain[: verb.start()]))
    past = any(word in PAST_VERBS or is_past(word) for word in map(str.lower, _WORD.findall(plain)))
    return not stated and not (len(words) > 1 and past)


def _says_of_oneself(plain: str) -> bool:
    """Return whether somebody says of themselves what they are, do or have: a verb and another word with a content."""
    match = _OWN.match(plain)
    if match is None:
        return False
    state = "'" in match[0] or len(match[0].split()) > 2  # «I'm vegan»: what follows is no verb, or not alone
    words = content(plain[match.start("verb") if state else match.end("verb") :])
    return any(not word.endswith("ly") for word in words)


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
