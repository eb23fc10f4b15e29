"""The forms of statements that the rules read: a subject, a verb, and the kind of words that may follow."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tidal_plugins.english.clauses import ADVERB, BEFORE
from tidal_plugins.graph.reading.vocabulary import CUE, PERIOD, STATES

MASK = "\ue000"
"""Replaces each character of a technical name, so that a pattern sees one word."""
HUSH = "\ue001"
"""Replaces each character of quoted speech, which no pattern reads."""

_OFTEN = (
    rf"(?:(?:{ADVERB}|usually|generally|personally|mostly|absolutely|strongly|much|both|mainly|primarily|recently|"
    r"eventually)\s+){0,2}"
)
_WORD = r"[^\W\d_][\w'’-]*"
_NAME = rf"{MASK}+"
_THING = rf"(?:the|our|all|an?)\s+(?P<thing>{_WORD}(?:\s+{_WORD}){{0,2}}?)"
_CODE = rf"(?:(?:the|our|this|an?)\s+)?(?:{CUE}\s+)?(?P<code>{_NAME})(?:\s+{CUE})?"
_PERSON = r"(?P<person>(?-i:[^\W\d_a-z])[\w'’-]+)"
_US = r"(?P<us>I|we|(?:the|our)\s+team)"
_US_OR_YOU = r"(?P<us>I|we|you|(?:the|our)\s+team)"
_SELF = r"(?P<us>I)"
_ANY = (_CODE, _THING)
_SIDE = (_CODE,)
_OPEN = rf"(?:{BEFORE})(?:(?:(?:on|in)\s+{_NAME}|((?:since|as\s+of)\s+{_NAME}|since\s+{PERIOD})),?\s+)?"
"""Its only numbered group is a time from which on something is so."""
_UNOPENED = "(?:((?!)))?"
"""The same group, which matches nothing."""
_NOT = r"(?P<not>(?:do|does|did)(?:n['’]t|\s+not)\s+|no\s+longer\s+)?"
_BE_NOT = r"(?:is|are|am|['’]s)(?P<not>n['’]t|\s+not|\s+no\s+longer)?"
_TO_DATE = r"(?(1)|(?=[^;!?\n]*?\s(?:since|for|all\s+(?:my|his|her)\s+life)\b))"
_SINCE = r"(?(1)|(?=[^;!?\n]*?\ssince\b))"
"""Words that make «have lived» a state that goes on, not an experience."""
_HAVE_DONE = r"(?:\s+have|['’]ve|\s+has)"
_HAVE = r"(?:(?:['’]ve|\s+have|\s+has))?"


@dataclass(frozen=True, slots=True)
class Clause:
    """One form: ``pattern`` ends where the object begins, and ``object`` names how to read that.

    ``further`` is the same form without a subject, after the object of another («… and work for Y»). ``reverse`` swaps
    the two («X is caused by Y»). ``conditional`` forms hold although a condition follows them.
    """

    predicate: str
    pattern: re.Pattern[str]
    further: re.Pattern[str] | None
    object: str
    confidence: float
    words: frozenset[str]
    reverse: bool = False
    conditional: bool = False
    negative: bool = False
    technical: bool = field(default=False)
    """Whether one side at least has to be a piece of code."""


def _clause(
    predicate: str,
    subjects: tuple[str, ...],
    verb: str,
    object: str,
    words: str,
    *,
    confidence: float = 0.8,
    reverse: bool = False,
    conditional: bool = False,
    negative: bool = False,
    technical: bool = False,
) -> Clause:
    pattern = re.compile(rf"{_OPEN}(?:{'|'.join(subjects)}){verb}\s+", re.IGNORECASE)
    further = re.compile(rf"{_UNOPENED}\s+and{verb}\s+", re.IGNORECASE) if {_US, _SELF}.intersection(subjects) else None
    return Clause(
        predicate,
        pattern,
        further,
        object,
        confidence,
        frozenset(words.split()),
        reverse,
        conditional,
        negative,
        technical,
    )


CLAUSES = (
    # preferences, tools and roles of people
    _clause("prefers", (_US, _PERSON), rf"\s+{_OFTEN}{_NOT}prefers?", "preferred", "prefer prefers", confidence=0.9),
    _clause(
        "uses",
        (_US, _PERSON),
        rf"(?:\s+{_OFTEN}{_NOT}{_OFTEN}uses?|(?:\s+(?:am|are)|['’](?:m|re))\s+{_OFTEN}using)",
        "used",
        "use uses using",
        confidence=0.9,
    ),
    _clause("uses", (_US,), rf"\s+{_OFTEN}{_NOT}(?:run|are\s+on)", "named", "run on", confidence=0.8),
    _clause("uses", _ANY, rf"\s+{_OFTEN}uses", "named", "uses", technical=True),
    _clause(
        "prefers",
        (rf"(?P<us>my)\s+favou?rite\s+(?!thing|part|one|moment|way){_WORD}(?:\s+{_WORD})?",),
        r"\s+is",
        "preferred",
        "favourite favorite",
    ),
    _clause("is", (r"(?P<us>my)\s+name",), r"\s+is", "person", "name", confidence=0.95),
    _clause("is", (_CODE, _THING.replace("|all|an?", "")), rf"\s+{_BE_NOT}\s+an?", "kind", "is", confidence=0.7),
    # decisions and rules
    _clause("decided", (_US,), rf"{_HAVE}\s+{_OFTEN}(?:decided|agreed)(?P<not>\s+not)?\s+to", "deed", "decided agreed"),
    _clause(
        "decided", (_US,), rf"{_HAVE}\s+{_OFTEN}(?:decided|agreed|settled)\s+on", "matter", "decided agreed settled"
    ),
    _clause("decided", (_US,), rf"{_HAVE}\s+{_OFTEN}decided\s+against", "matter", "decided", negative=True),
    _clause(
        "chose",
        (_US,),
        rf"{_HAVE}\s+{_OFTEN}(?:chose|chosen|went\s+with|gone\s+with|opted\s+for)",
        "chosen",
        "chose chosen went gone opted",
    ),
    _clause("chose", (_US,), rf"{_HAVE}\s+{_OFTEN}(?:picked|selected)", "named", "picked selected"),
    _clause("never", (_US_OR_YOU, *_ANY), r"\s+(?:must|should)\s+never", "rule", "must should", confidence=0.85),
    _clause("always", (_US_OR_YOU, *_ANY), r"\s+(?:must|should)\s+always", "rule", "must should", confidence=0.85),
    _clause(
        "must",
        (_US_OR_YOU, *_ANY, rf"(?P<plain>{_WORD}(?:\s+{_WORD}){{0,2}}?)"),
        r"\s+must(?P<not>\s+not|n['’]t)?",
        "duty",
        "must mustn't mustn’t",
        confidence=0.8,
    ),
    _clause("never", (_US, *_SIDE), r"\s+never", "habit", "never", confidence=0.8),
    _clause("always", (_US, *_SIDE), r"\s+always", "habit", "always", confidence=0.8),
    # relations within code
    _clause(
        "depends_on",
        _ANY,
        rf"\s+{_OFTEN}{_NOT}(?:depends?\s+on|rel(?:y|ies)\s+on|(?:is|are)\s+dependent\s+on)",
        "part",
        "depend depends rely relies dependent",
    ),
    _clause("depends_on", _SIDE, rf"\s+{_OFTEN}{_NOT}requires?", "named", "require requires", conditional=True),
    _clause(
        "calls",
        _ANY,
        rf"\s+{_OFTEN}{_NOT}(?:calls?|invokes?)",
        "named",
        "call calls invoke invokes",
        conditional=True,
        technical=True,
    ),
    _clause("imports", _SIDE, rf"\s+{_OFTEN}{_NOT}imports?", "named", "import imports", conditional=True),
    _clause("contains", _SIDE, rf"\s+{_OFTEN}{_NOT}(?:contains?|defines?)", "named", "contain contains define defines"),
    _clause(
        "defined_in",
        _SIDE,
        rf"\s+(?:{_BE_NOT}\s+{_OFTEN}(?:defined|implemented|declared)\s+in|{_OFTEN}lives?\s+in)",
        "named",
        "defined implemented declared lives live",
    ),
    _clause(
        "causes",
        _ANY,
        rf"\s+{_OFTEN}{_NOT}(?:causes|caused|triggers|triggered)",
        "part",
        "causes caused triggers triggered",
    ),
    _clause(
        "causes",
        _ANY,
        rf"\s+(?:is|are|was|were)(?P<not>n['’]t|\s+not)?\s+{_OFTEN}(?:caused|triggered)\s+by",
        "part",
        "caused triggered",
        reverse=True,
    ),
    _clause(
        "fixed_by",
        _ANY,
        rf"\s+(?:is|are|was|were|got)(?P<not>n['’]t|\s+not)?\s+{_OFTEN}(?:fixed|resolved|solved)\s+by",
        "cure",
        "fixed resolved solved",
    ),
    _clause(
        "fixed_by",
        (_CODE, rf"(?P<doing>{_WORD}ing\s+(?:the\s+|a\s+)?(?:{_NAME}|{_WORD})(?:\s+{_WORD}){{0,2}}?)"),
        rf"\s+{_OFTEN}(?:fixed|fixes|resolved|resolves|solved|solves)",
        "part",
        "fixed fixes resolved resolves solved solves",
        reverse=True,
    ),
    _clause(
        "raises",
        _SIDE,
        rf"\s+{_OFTEN}{_NOT}(?:raises?|throws?)(?:\s+an?)?",
        "error",
        "raise raises throw throws",
        conditional=True,
    ),
    _clause(
        "raises",
        _SIDE,
        rf"\s+(?:is|are)\s+{_OFTEN}(?:raised|thrown)\s+by",
        "named",
        "raised thrown",
        reverse=True,
        conditional=True,
    ),
    # settings, versions, states, places
    _clause(
        "configured_as", _SIDE, rf"\s+{_BE_NOT}\s+{_OFTEN}(?:set|configured)\s+(?:to|as)", "value", "set configured"
    ),
    _clause(
        "configured_as",
        (rf"(?:I|we)\s+{_OFTEN}(?:set|changed|raised|lowered|increased|reduced|bumped)\s+{_CODE}(?:\s+from\s+\S+)?",),
        r"\s+to",
        "value",
        "set changed raised lowered increased reduced bumped",
    ),
    _clause(
        "has_version",
        (
            rf"(?:I|we)(?:['’]ve|\s+have)?\s+{_OFTEN}(?:upgraded|updated|downgraded|bumped|pinned)\s+{_CODE}(?:\s+from\s+\S+)?",
        ),
        r"\s+to(?:\s+version)?",
        "version",
        "upgraded updated downgraded bumped pinned",
    ),
    _clause("has_version", _SIDE, rf"\s+is\s+{_OFTEN}(?:at|on)(?:\s+version)?", "version", "at on"),
    _clause("located_in", _ANY, rf"\s+{_BE_NOT}\s+{_OFTEN}located\s+(?:in|at)", "place", "located"),
    _clause("has_status", _ANY, rf"\s+{_BE_NOT}(?:\s+{ADVERB}){{0,2}}(?=\s+{STATES}(?!\w|-))", "state", "is are"),
)
"""Every form of statement that is read [SIYA §3.3]."""
