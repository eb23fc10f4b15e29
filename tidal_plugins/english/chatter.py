"""Find the sentences that state nothing worth keeping: questions, requests, thanks, reactions and jokes."""

from __future__ import annotations

import re

from tidal_plugins.english.clauses import LEAD
from tidal_plugins.english.people import NAMING
from tidal_plugins.english.praise import praises
from tidal_plugins.english.requests import RULE
from tidal_plugins.english.small_talk import SMALL_TALK
from tidal_plugins.english.stop_words import STOP_WORDS
from tidal_plugins.english.verbs import is_past
from tidal_plugins.patterns import lazy_re

_PAST_VERBS = frozenset(
    "met went saw knew got had was were thought came did made took found heard ate said told wrote left felt kept lost "
    "gave became began been quite really again mind did even once forgot understood".split()
)
_JOKE = lazy_re(r"\b(?:jok(?:e|es|ing)|kidding|lol|haha\w*|just saying|in theory)\b", re.IGNORECASE)
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
_REACTION = lazy_re(
    rf"{LEAD}(?:(?:i'm|i am|we're|that's|that is|it's|it is|this is|you're|you are|sounds|how|what an?)\s+"
    rf"(?:\w+\s+){{0,2}}?(?:{'|'.join(_FEELINGS)}|fed up|the best|worth your)\b"
    rf"|(?:{'|'.join((*_EXCLAMATIONS, *_WISHES, *_OUTBURSTS))})\b)",
    re.IGNORECASE,
)
"""The beginnings of thanks, wishes and feelings about what was said."""
_EXCLAIMED = lazy_re(
    rf"(?:(?:{'|'.join(_EXCLAMATIONS)}|well done|lucky you|good news|great news|sure thing)"
    rf"(?: (?:so much|a lot|again|[A-Z]\w+))?(?:[,!.:–—]+\s+))+",
    re.IGNORECASE,
)
"""An exclamation before a statement."""
_CURSE = lazy_re(r"\b\w\*{2,}|\b(?:f+u+c+k\w*|shit\w*|damn\w*|crap)\b", re.IGNORECASE)
_CURSE_WORDS = 2
FRAGMENT = 3
"""Words with a content below which a sentence says nothing by itself."""
_VERB = lazy_re(
    r"\b(?:is|are|was|were|isn't|aren't|wasn't|has|have|had|will|can|must|needs?|costs?|opens?|closes?)\b|'s\b"
)
_OWN = lazy_re(
    r"(?:i|we)(?:'m|'re|'ve| (?:am|are|have|had|was|were|can't|cannot|don't|do not|will|must))?"
    r"(?: (?:also|now|still|always|never|not|\w+ly))* (?P<verb>\w+)",
    re.IGNORECASE,
)
"""The beginning of a statement about oneself: «I'm vegan», «we use Postgres»."""
_RETRACTED = lazy_re(
    r"\bwrong (?:window|chat|thread|tab)\b"
    r"|\b(?:forget|ignore|delete|scratch) (?:that|this|it)\b(?! (?:branch|file|line))",
    re.IGNORECASE,
)
_REPORT = lazy_re(
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
_ADVICE = lazy_re(
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
_ACKNOWLEDGED = lazy_re(
    rf"(?:(?:{'|'.join(_ACKNOWLEDGING)})(?:,? (?:then|so|[A-Z][a-z]+))?\s*[:,.!;]+\s*)+", re.IGNORECASE
)
"""What stands before the statement in an agent's restatement: «Noted: …»."""
_CALLED = r"(?!I\b)[A-Z][a-z]+"
_INTERJECTIONS = (
    r"yeah|yep|yup|yes|no|nope|nah|hey|hi|hello|oh|wow|woohoo|whoa|cool|nice|great|thanks|thank you|sure|ok|"
    r"okay|well|so|"
    r"btw|by the way|fyi|agreed|definitely|absolutely|exactly|totally|true|right|alright|ouch|ugh|haha|hmm|oh man|"
    r"oh dear|good call|good stuff|you['’]?re right|unrelated|other question|another question|quick question|"
    r"other thing|another thing|one more thing|next (?:problem|question|thing|topic)|g['’]day|mate|also, something else"
)
_LED = lazy_re(
    rf"(?:(?i:{_INTERJECTIONS})(?:,? (?:{_CALLED}|mate|man|all|everyone)(?=[,!.:]))?(?:\s?[,!.:…]+\s*|"
    rf"\s+[–—-]+\s+))+(?=\S)"
)
"""Interjections, greetings and announcements that stand before what somebody says: «Hey Mona, unrelated: …»."""
_OPINION = lazy_re(
    r"\b(?:is|are|was|were|be|feels?|been|'s|'re)(?: (?:all|always|also|just|really|so|super|very|such|truly|"
    r"pretty|quite|most|"
    r"definitely))* (?:important|crucial|essential|key|vital|great|amazing|awesome|incredible|inspiring|wonderful|"
    r"beautiful|special|tough|hard|challenging|rewarding|worth it|precious|powerful|meaningful|unpredictable|"
    r"exciting|fun|a great way|a must|the best|what matters)\b",
    re.IGNORECASE,
)
_EMPATHY = lazy_re(
    rf"{LEAD}(?:(?:\w+ ){{0,4}}must(?:'ve| have| be| feel)(?: \w+){{0,2}} (?:been|felt|be|feel|so|great|hard|"
    rf"tough|amazing|"
    r"awesome|special|satisfying|rewarding|traumati[sz]ing|fun|nice|exciting|incredible|really)\b"
    r"|(?:i )?(?:can't wait|totally agree|(?:\d+ ?% |completely )?agree(?:d)?\b(?! (?:to|on|that we)\b)|can imagine|"
    r"know what you mean|hear you|feel you|will take your advice)"
    r"|(?:i'll|i will|gonna) (?:\w+ly )?(?:check|give|take|keep) (?:it|that|this|these|those|them|your advice|"
    r"an eye|a try)\b"
    r"|never heard of|hang in there|no regrets|here's to|bon voyage|life's\b|(?:and )?remember,? (?:i'm|"
    r"that you|you|it's)\b"
    r"|you're (?:being|so|such|really|very)\b|i(?:'m| am| feel) (?:so |really |very |truly )*(?:lucky|thankful|"
    r"grateful|blessed)\b)",
    re.IGNORECASE,
)
_ADMONISHED = lazy_re(
    rf"{LEAD}(?:remember|don't forget|be sure|make sure|try|keep|take (?:care|time)|believe|you(?:'re| are|"
    rf" need| have| should))\b"
    r"|.*\bremember to\b",
    re.IGNORECASE,
)
_OF_ONESELF = lazy_re(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur|us|me)\b")
_NAMED = lazy_re(r"\d|(?<=[a-z] )[A-Z]\w|`")
_WORD = lazy_re(r"[^\W_]+(?:['’]\w+)?")
_DIGIT = lazy_re(r"\d")
_CODE = lazy_re(r"`[^`\n]*`")


def curses(sentence: str) -> bool:
    """Return whether a sentence is a curse and hardly anything else: «S***!», «oh damn»."""
    return len(_WORD.findall(sentence)) <= _CURSE_WORDS and _CURSE.search(sentence) is not None


def jokes(sentence: str) -> bool:
    """Return whether a sentence says that it, or the one before it, is not meant."""
    return _JOKE.search(sentence) is not None and "not a joke" not in sentence.lower()


def reacts(sentence: str) -> bool:
    """Return whether a sentence is thanks, praise, a wish, a feeling or a curse, and says nothing of the matter."""
    plain = _straight(sentence)
    rest = plain[match.end() :] if (match := _EXCLAIMED.match(plain)) else ""
    if len(rest.split()) > FRAGMENT - 1 and content(rest):
        plain = rest  # «Yay, we got the flat»
    return _REACTION.match(plain) is not None or praises(plain) or _CURSE.search(plain) is not None


def opines(sentence: str) -> bool:
    """Return whether a sentence is empathy, advice for life or an opinion of things in general, and tells of nothing.

    «It must have been hard», «taking time for yourself is so important», «remember to enjoy small things». One
    that names something, has a number, or in which somebody speaks of themselves is none, unless it begins so.
    """
    plain = _straight(sentence)
    if _EMPATHY.match(plain):
        return _NAMED.search(plain) is None or "must" in plain.lower().split()
    if _OF_ONESELF.search(plain):
        return False
    if _ADMONISHED.match(plain):
        return _NAMED.search(plain) is None
    return _OPINION.search(plain) is not None and _NAMED.search(plain) is None


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
    past = any(word in _PAST_VERBS or is_past(word) for word in map(str.lower, _WORD.findall(plain)))
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


def without_lead(sentence: str) -> str:
    """Return a person's sentence without the interjections before it: «Hey Mona, I moved» is «I moved»."""
    match = _LED.match(sentence)
    rest = sentence[match.end() :] if match else sentence
    if rest is sentence or len(content(rest)) < 1:
        return sentence
    return rest[:1].upper() + rest[1:] if sentence[:1].isupper() else rest


def _straight(sentence: str) -> str:
    return sentence.replace("’", "'").strip()
