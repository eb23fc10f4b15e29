"""List the words by which an object of a statement begins, ends, or says too little."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

EMPTY_OBJECT = lazy_re(  # what says too little to be known, or begins a clause
    r"(?:it|its|that|this|these|those|them|him|her|you|your|me|he|she|they|we|us|i|to|how|what|who|where|when|why|being|"
    r"not|nothing|nobody|everything|anything|something|someone|one|ones|both|neither|none|each|up|out|off|so|there|"
    r"myself|yourself|same|other|others|more|less|most|much|many|some|any|all|no|very|too|just|only|like|"
    r"way|lot|bit|little|few|thing|things|problem|issue|question|fan|matter|member|part|disagree|"
    r"(?:good|bad|best|nice|great|fine)$|their|his|her|also|even|such|idea|fact|sound|look|feel|"
    r"in|on|at|for|from|with|by|of|about|u|ya|ur|every|mine)\b",
    re.IGNORECASE,
)
HOLLOW_END = lazy_re(
    r"\b(?:fan|thing|things|way|one|ones|bit|lot|mess|believer|that|these|those|this|it|them|you|to|of|for)$",
    re.IGNORECASE,
)
RELATIVE_CLAUSE = lazy_re(r"\s(?:that|which|who|whose|where|when|while|like|as|than|how|what|if)\b", re.IGNORECASE)
CLAUSE_START = lazy_re(
    r"(?:my\s+\w+|but|of|and|or|because|though|especially|particularly|such|as|from|with|even|"
    r"i|we|you|he|she|it|they|the|then|so|also|not|will|would|can|is|are|was|hate|like|love)\b",
    re.IGNORECASE,
)
PAST_VERBS = frozenset(
    "met went saw knew got had was were thought came did made took found heard ate said told wrote left felt kept lost "
    "gave became began been quite really again mind did even once forgot understood".split()
)
POINTING = lazy_re(r"(?:\S+\s+){0,2}(?:it|them|him)\b", re.IGNORECASE)
"""At something that only the conversation before knows."""
GUESSED = lazy_re(  # a guess, not a duty: «it must cost a lot», «they must be tired»
    r"(?:have|say|admit|confess|know|mean|always|never|not|surely|love|feel|think|like|enjoy|want|need|miss|seem|look|"
    r"remember|taste|smell|cost|take|feel)\b|be\s+(?:\w+ly\s+)?(?:\w+ing|tired|excited|thrilled|relieved|exhausted|worried|"
    r"disappointed|bored|scared|pleased|stressed|interested|surprised|delighted|overwhelmed|mistaken|confused|devastated|"
    r"a|an|the|in|at|on|from|due|because|here|there|somewhere|related|so|very|such|really|quite|nice|great|fun|hard|"
    r"tough|wonderful|terrible|horrible|proud|happy|sad|true|wrong)\b",
    re.IGNORECASE,
)
IMPERSONAL = lazy_re(r"(?:be|have|been|say|admit|confess|know|understand)\b", re.IGNORECASE)
AFTER_STATE = lazy_re(
    r"\s*(?:[;!?()\n–—,.:]|$|(?:for|since|until|till|due|because|today|tonight|again|at|during|from|right|now|"
    r"and|but|so|anymore|too|yet|already|as\s+of)\b)",
    re.IGNORECASE,
)
PREPOSITION = lazy_re(
    r"\s(?:for|in|on|with|from|at|of|to|via|inside|within|about|into|during|every|now|here|there|everywhere|daily|more|"
    r"a\s+lot|most|all)\b",
    re.IGNORECASE,
)
OBJECT_ARTICLE = lazy_re(r"(?:the|an?|our)\s+(?=\S)", re.IGNORECASE)
