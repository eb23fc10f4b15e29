"""What a text is worth and what it is about, read by rules where the caller does not say [Tidal §2.2]."""

from __future__ import annotations

import re
from collections import Counter
from math import sqrt
from typing import NamedTuple

from tidal_plugins.english.scripts import UNSPACED
from tidal_plugins.english.stop_words import STOP_WORDS

_HEAD, _TAIL = 6_000, 2_000  # characters that are read of a longer text


class Rule(NamedTuple):
    """``delta`` joins the importance of a text in which ``pattern`` is found."""

    name: str
    pattern: re.Pattern[str]
    delta: float


def _rule(name: str, delta: float, *phrases: str) -> Rule:
    """A rule for any of ``phrases``, as whole words. Patterns see the text as :func:`_plain` leaves it."""
    return Rule(name, re.compile(rf" (?:{'|'.join(phrases)})(?!\w)"), delta)


def _opening(name: str, delta: float, *phrases: str) -> Rule:
    return Rule(name, re.compile(rf"\A (?:{'|'.join(phrases)})(?!\w)"), delta)


_SUBJECT = r"(?:i|we|you|he|she|they|my \w+)(?: \w+ly| also| always| still| just| do| don't| doesn't)?"
_OPINION = r"(?:love|like|prefer|hate|dislike|enjoy|adore|loathe|avoid)s?"
_SOMEONE = (
    r"(?:wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|mother|mom|mum|father|dad|parents?|sisters?|"
    r"brothers?|sons?|daughters?|kids?|child|children|baby|uncle|aunt|cousins?|grand\w+|nephew|niece|boss|manager|"
    r"colleagues?|team|neighbou?rs?|roommate|friends?|dogs?|cats?|puppy|kitten)"
)
_OWN = r"(?:name|birthday|anniversary|address|phone|number|e-?mail|id|username|account|job|hobby|hobbies|degree)"
_PRAISE = r"(?:good|great|fun|amazing|awesome|nice|cool|wonderful|lovely|interesting|awful|sad|fine|perfect|true|right)"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_PERIOD = r"(?:day|night|week|weekend|month|quarter|year|spring|summer|fall|autumn|winter)"

BASE = 4.5
"""Importance of a text that no rule speaks about."""

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
    Rule("exception", re.compile(r"error(?<!terror)s?\b|exceptions?\b"), 1.5),  # also as the end of a class name
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
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?",
        r"(?:19|20)\d\d(?:-\d\d-\d\d)?",
        r"\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m|p\.m)",
        rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?",
        rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}",
        rf"in {_MONTH}",
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
        r"(?:born|diagnosed|hired|fired|promoted|retired|graduated|adopted|divorced|passed away|years old)",
    ),
    _rule("emphasis", 1.0, r"(?:important|importantly|critical|crucial|urgent|essential|asap|warning|vital)"),
    Rule("detail", re.compile("[0-9`_]"), 0.5),
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
    Rule("question", re.compile(r"\?\W{0,4}\Z"), -1.0),
    Rule(
        "acknowledgement",
        re.compile(
            r"\A(?: (?:ok|okay|k|sure|yes|yeah|yep|no|nope|great|cool|nice|perfect|fine|good|alright|right|got|it|"
            r"thanks|thank|you|so|much|very|lol|haha|hmm|wow|done|will|do|makes|sense|indeed|exactly|true|please|go|"
            r"ahead|that's|that|is|i|see|agreed|continue|next|again|works|for|me|hi|hello|hey|there|bye|sounds)"
            r"\b[^\w ]*+)++\Z"
        ),
        -2.0,
    ),
    Rule("short", re.compile(r"\A(?: [!-~]++){1,3}\Z"), -1.0),
)
"""What moves the importance of a text. Each rule counts once, however often it matches."""


def importance(text: str, *, role: str | None = None) -> float:
    """Estimate how much ``text`` matters later, in [1, 10], by :data:`RULES` (English).

    The strongest rule that raises it counts in full, each further one half as much as the one before. Both directions
    fade with length: what raises beyond 300 characters, because a long text meets most rules somewhere; what lowers
    beyond 80, because «Thanks!» is small talk and thanks within a report are not. What an assistant or a tool says
    matters less than what a user does.
    """
    plain = _plain(text)
    deltas = sorted([rule.delta for rule in RULES if rule.pattern.search(plain)], reverse=True)
    raised = sum(delta * 0.5**place for place, delta in enumerate(deltas) if delta > 0)
    lowered = sum(delta for delta in deltas if delta < 0)
    score = BASE + raised * sqrt(min(1.0, _LONG / len(plain))) + lowered * min(1.0, _SMALL / len(plain))
    return round(min(10.0, max(1.0, score + _ROLES.get(role or "", 0.0))), 2)


_LONG, _SMALL = 300, 80  # characters
_ROLES = {"assistant": -1.0, "tool": -1.0}
_MARKS = str.maketrans(dict.fromkeys('"“”([{*>', " ") | dict.fromkeys("’‘", "'"))


def _plain(text: str) -> str:
    """Lower-cased, one space before every word, straight apostrophes, no opening marks."""
    return " " + " ".join(_read(text).lower().translate(_MARKS).split())


def _read(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def tags(text: str, *, limit: int = 8) -> tuple[str, ...]:
    """Return what ``text`` is about, lower-cased: at most ``limit`` labels of at most 40 characters, no two alike.

    In this order: hashtags, quoted terms and code; files, identifiers, addresses and packages with their versions;
    names; then other words, those first that come often or are long. A capitalised word that begins a sentence is a
    name only when it stands elsewhere in the text too.
    """
    text = _read(text)
    found: dict[str, None] = {}
    for kind in (_marked, _technical, _named):
        labels: list[str] = []
        text = kind(text, labels)
        found.update(dict.fromkeys(label for label in labels if 1 < len(label) <= _MAX_TAG and label not in _DULL))
    if len(found) < limit:
        parts = set(_WORD.findall(" ".join(found)))
        found.update(dict.fromkeys(word for word in _words(text) if word not in parts))
    return tuple(found)[:limit]


_MAX_TAG = 40
_DULL = STOP_WORDS | frozenset(
    "don won might may one two three four five six seven eight nine ten first second third last next new old good "
    "great nice best better bad big little small long short high low lot lots bit kind sort part whole thing things "
    "something anything everything nothing someone anyone everyone way ways time times day days week weeks month "
    "months year years today tonight tomorrow yesterday morning afternoon evening night hour hours minute minutes ago "
    "later soon early late always often sometimes usually maybe perhaps probably definitely certainly actually really "
    "quite pretty almost already back away around along together else instead well like love loved want wants wanted "
    "need needs needed know knows knew known think thinks thought feel feels feeling felt make makes made making take "
    "takes took taking taken give gives gave given goes going went gone gonna come comes came coming see sees saw seen "
    "look looks looking looked say says said saying tell tells told ask asks asked asking talk talking talked use uses "
    "used using try tries tried trying find finds found keep keeps kept put puts set start started starting stop "
    "stopped help helps helped work works worked working lets show shows showed mean means meant happen happens "
    "happened become seem seems able sure okay yes yeah yep nope hello hey bye thanks thank please sorry welcome wow "
    "haha lol hmm right fine true glad happy hope hoping wish guess believe remember forget note people person man "
    "woman guy guys different important possible available enough via per etc without within toward towards upon among "
    "across behind beyond near especially particularly exactly simply finally recently currently basically generally "
    "however therefore thus getting either anyway cool awesome amazing fun wonderful monday tuesday wednesday thursday "
    "friday saturday sunday january february march april june july august september october november december".split()
)
"""Words that label nothing."""
_CAPITAL = "A-ZÀ-ÖØ-ÞĆČĎĐĘĚĞİŁŃŇŐŒŘŚŞŠŤŮŰŹŻŽΑ-ΩА-ЯЁЄІЇ"
_EXTENSION = (
    r"(?:py|pyi|ipynb|[cm]?js|jsx|tsx?|java|kt|c|h|cc|cpp|hpp|cs|go|rs|rb|php|swift|scala|sh|ps1|bat|sql|html?|s?css|"
    r"jsonl?|ya?ml|toml|ini|cfg|conf|env|xml|csv|tsv|md|rst|txt|log|lock|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|mp[34]|"
    r"wav|zip|gz|tar|db|sqlite|parquet|proto|tf|whl|exe|so|dll)"
)
_MARKED = re.compile(r"""#(?<!\w#)([^\W\d]\w{1,39})(?!\w)|["“]([^"“”\n]{2,40})["”]|`([^`\n]{2,40})`""")
_HINT = re.compile(r"[_./@=A-Z](?:(?<=\w[_./@=])(?=[\w=/])|(?<=[a-z][A-Z]))|://")
_TOKEN = re.compile(r"\S+")
_ADDRESS = re.compile(r"\w{2,8}://(?:www\.)?([\w.-]*\w)|([\w.+-]+@[\w-]+(?:\.[\w-]+)+\Z)")
_PINNED = re.compile(r"([A-Za-z][\w.-]*)(?:[=~<>]=|@)v?(\d[\w.]*)")
_FILE = re.compile(rf"[\w.-]*\w\.{_EXTENSION}", re.IGNORECASE)
_VERSIONED = re.compile(rf"([{_CAPITAL}](?<!\w\w)[\w+#-]{{1,30}}) v?(\d{{1,4}}(?:\.\d{{1,6}}){{1,3}})(?![\w%])")
_HUMP = re.compile(r"[a-z][A-Z]")
_EDGES = "\"'`()[]{}<>,;:!?.*…“”‘’"
_NAME_REST = rf"[\w-]*(?:['’][{_CAPITAL}]\w*)?"
_NAMES = re.compile(
    rf"[{_CAPITAL}](?<!\w\w){_NAME_REST}(?: (?:(?:of|de|da|del|la|van|von)(?: the)? )?[{_CAPITAL}]{_NAME_REST}){{0,4}}"
)
_WORD = re.compile(r"\w[\w-]+\w")
_UNSPACED_WORD = re.compile(r"[ァ-ヺー]{3,}|(?<![㐀-鿿])[㐀-鿿]{2,4}(?![㐀-鿿])")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")


def _marked(text: str, labels: list[str]) -> str:
    def take(match: re.Match[str]) -> str:
        label = " ".join(match[match.lastindex or 0].lower().split()).rstrip(",.!?;:")
        if label.count(" ") < 4:
            labels.append(label)
        return " "

    return _MARKED.sub(take, text)


def _technical(text: str, labels: list[str]) -> str:
    """Take out what programs and addresses are made of."""

    def take(match: re.Match[str]) -> str:
        token = match[0].strip(_EDGES)
        known = _technical_labels(token) if _HINT.search(token) and len(token) <= 200 else []
        labels.extend(known)
        return match[0].replace(token, " ") if known else match[0]

    for match in _VERSIONED.finditer(text):
        if match[2].count(".") > 1 or not _begins_sentence(text, match.start()):
            labels += [match[1].lower(), match[0].lower()]
    return _TOKEN.sub(take, text) if _HINT.search(text) else text


def _technical_labels(token: str) -> list[str]:
    if address := _ADDRESS.match(token):
        return [address[address.lastindex or 0].lower()]
    if pinned := _PINNED.fullmatch(token):
        return [pinned[1].lower(), f"{pinned[1]} {pinned[2]}".lower()]
    last = token.rpartition("/")[2]
    return [last.lower()] if _FILE.fullmatch(last) or _is_identifier(last.removesuffix("()")) else []


def _is_identifier(token: str) -> bool:
    parts = token.split(".")
    return all(map(str.isidentifier, parts)) and (
        len(parts) > 2 or "_" in token.strip("_") or bool(_HUMP.search(token))
    )


def _named(text: str, labels: list[str]) -> str:
    if text.isupper():
        return text
    found = [(match[0].split(), _begins_sentence(text, match.start())) for match in _NAMES.finditer(text)]
    times = Counter(word for words, _ in found for word in words)
    for words, begins in found:
        unsure = begins and times[words[0]] == 1 and (len(words[0]) == 1 or not words[0].isupper())
        labels.append(_bare(words[1:] if unsure else words))
    return text


def _begins_sentence(text: str, position: int) -> bool:
    before = text[max(0, position - 8) : position].rstrip(" \t\"'“‘([*_")
    return not before or before[-1] in ".!?…:。\n\r|#>•-"


def _bare(words: list[str]) -> str:
    """The name, without stop words at its ends."""
    words = [word.lower() for word in words]
    while words and words[0] in STOP_WORDS:
        del words[0]
    while words and words[-1] in STOP_WORDS:
        del words[-1]
    return " ".join(words)


def _words(text: str) -> list[str]:
    unspaced = []
    if not text.isascii():
        unspaced, text = _UNSPACED_WORD.findall(text), _UNSPACED_RUN.sub(" ", text)
    counts = Counter(unspaced + _WORD.findall(text.lower()))
    salient = [word for word in counts if word not in _DULL and word[0].isalpha() and len(word) <= _MAX_TAG]
    return sorted(salient, key=lambda word: -counts[word] * min(len(word), 10))
