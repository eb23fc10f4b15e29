"""The subject of a clause: the speaker, the one spoken to, a named person, a relative, or a thing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidal_plugins.graph.reading.clauses import MASK
from tidal_plugins.graph.reading.talk.words import KIND, NAME, OF
from tidal_plugins.patterns import lazy_re

_VERB = (
    r"(?=['’]s\s|\s+(?:(?:also|now|still|just|always|finally|really|already)\s+)?(?:is|are|was|were|has|have"
    r"|had|will|"
    r"lives?|works?|likes?|loves?|owns?|uses?|runs?|takes?|costs?|starts?|moves?|moved|went|goes|got|gets"
    r"|needs?|died|"
    r"looks?|looked|seems?|sounds?|comes|must|broke|crashed|fell|closed|shut|packed|fail(?:s|ed)|stopped|came"
    r"|comes|hangs?|sits?|stays?|stands?|sleeps?|plays?|"
    r"wants?|hates?|prefers?|depends?|sends?|reads|talks|gives?|arrives?|arrived|leaves?|begins?|hurts?|aches?"
    r"|expired|gave|bought|turned|made|told|can|would|enjoys?|takes|studies|started|joined|visited)\b)"
)
_WORD = r"[^\W\d_][\w'’-]*"
_NO_CLAUSE = (
    r"(?!(?:only|just|still|now|really|said|says|it|that|this|i|you|we|he|she|they|who|which|and|but"
    r"|or|what|when|if|is|are|was)\b)"
)
_START = lazy_re(
    rf"(?:(?P<me>i)(?=['’\s])|(?P<us>we|(?:my|our)(?:\s+{_WORD}){{1,3}}?\s+and\s+i)(?=['’\s])|(?P<you>you)(?=['’\s])|(?P<third>he|she)(?=['’\s])"
    r"|(?P<others>they|someone|somebody)(?=['’\s])"
    rf"|(?P<kin>(?:my|our|your|his|her)\s+{OF}{KIND}|(?:mum|mom|dad|grandma|grandpa|gran|nan)(?=\s))(?:,?\s+"
    rf"(?P<called>{NAME}))?,?{_VERB}"
    rf"|(?P<thing>(?:the|my|our|your|his|her|this|that|{NAME}['’]s)\s+{_WORD}(?:"
    rf"\s+{_NO_CLAUSE}{_WORD}){{0,4}}?){_VERB}"
    rf"|(?P<name>{NAME})(?:,\s(?!(?:has|is|was|and|but|who|he|she|it|i|we|you|they)\b)[^,.]{{3,30}},|\sand\s"
    rf"(?P<and>i|{NAME}))?(?:(?=['’](?:s|ll|d)\s|\s)|,(?=\s(?:has|is|was|works|lives|owns|runs|leads)\b))?"
    rf"|(?P<code>(?:(?:the|our|my)\s+)?{MASK}+)(?=['’]s\s|\s)|(?P<service>[a-z]\w*(?:-[a-z0-9]+)+){_VERB})",
    re.IGNORECASE,
)
ANYBODY = frozenset(("others",))
"""The kind of those whom only the talk before names, and who may still give the speaker something."""
_KINDS = ("me", "us", "you", "third", "others", "kin", "thing", "name", "code", "service")
MINE = frozenset(("me", "us"))
"""Kinds of subjects that are the speaker, alone or with others."""
PEOPLE = frozenset(("me", "us", "you", "third", "kin", "name"))
"""Kinds of subjects that are people. A name may be that of a thing, too."""
THINGS = frozenset(("thing", "code", "service", "name"))
"""The same of things. A service has a name with hyphens: «mail-relay»."""
ALL = PEOPLE | THINGS
NONE = frozenset(("none",))
"""Nobody is named: «Love this map!»."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Subject:
    """Who or what a clause is about: its ``kind``, where its words stand, and where the verb begins."""

    kind: str
    spans: tuple[Span, ...]
    end: int


def subject_at(masked: str, start: int) -> Subject:
    """Return the subject of the clause that begins at ``start``; of the kind ``none`` if it has none."""
    match = _START.match(masked, start)
    if match is None:
        return Subject("none", ((start, start),), start)
    kind = next(kind for kind in _KINDS if match[kind])
    if kind == "name" and match["and"] and match[kind].endswith("ing"):
        return Subject("none", ((start, start),), start)  # «Combining work and play is a great idea»
    named = match.span("called") if kind == "kin" and match["called"] else match.span(kind)
    if kind == "us" and " " in match[kind]:
        named = (match.end(kind) - 1, match.end(kind))  # «my wife and I»: the speaker is one of them
    also = (match.span("and"),) if kind == "name" and match["and"] else ()
    return Subject(kind, (named, *also), match.end())
