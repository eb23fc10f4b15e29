"""The words that make a phrase say too little: nouns that nobody owns, places that are none, verbs of mere intent."""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re

NOT_OWNED = lazy_re(
    r"\b(?:time|times|day|days|weeks?|weekend|nights?|hours?|minutes?|years|evenings?|morning|year|month|months"
    r"|moment|blast|look|question|idea"
    r"|ideas|feeling|chance|"
    r"opportunity|plan|plans|problem|issue|fun|way|ways|goal|goals|dream|dreams|meeting|appointment|exam|exams"
    r"|conversation|talk|chat|"
    r"rest|break|sense|impact|effect|experience|experiences|setback|scare|thing|things|stuff|one|ones|point|right"
    r"|choice|say|news|"
    r"luck|doubt|trouble|hope|faith|passion|love|respect|kind|sort|type|much|many|more|less|need|needs|memories"
    r"|memory|"
    r"party|game|match|trip|vacation|journey|adventure|ride|walk|run|hike|shot|try|go|hand|grip|start|reason"
    r"|reasons|story|stories|"
    r"response|reply|message|call|email|text|update|answer|access|place|visit|result|results|success|support|help"
    r"|advice|"
    r"guide|information|details|process|inspiration|energy|strength|courage|power|job|role|work|interest|skills?|"
    r"knowledge|attitude|spirit|sign|opinion|reaction|thought|thoughts|date|deal|discussion|deadline|budget|"
    r"progress|strategy|coming\s+up|(?:pic|picture|photo|shot)s?(?:\s+of\s.*)?|tasty|clear|(?!(?:b|sh|sl|se|we)ed\b)\w{2,}ed(?:\s(?:down|in|up|out))?"
    r"|improvement|improvements|gains?|step|steps|difference|change|changes|challenge|challenges|mistake|"
    r"victory|win|season|career|offer|promotion|raise|lesson|lessons|class|course|shift|laugh|cry|nap|sleep|shower|"
    r"breakfast|lunch|dinner|drink|beer|coffee|tea|meal|snack|baby|crush|bond|connection|friendship|relationship|"
    r"situation|option|options|reminder|shot|glimpse|task|list|couple|number|variety|range|ton|tons|lots|bunch|few"
    r"|part|side|end|hug|kiss|smile|lift|discount|refund|warning|boost|push|headache|second|minute|sec|here|there|move|decision|jump|switch|effort|leap|support\s+system|friends|people|folks|team|family|R&R|knack|sweat|tips|recommendations?|suggestions?|hint|heads-?up|go-ahead|shout)$",
    re.IGNORECASE,
)
"""Nouns that are had or got, but not owned."""
NO_SPOT = lazy_re(
    r"\b(?:mood|way|trouble|middle|moment|end|time|future|past|world|process|midst|mind|heart|hands|air|same|right|"
    r"wrong|best|other|beginning|long run|meantime|works|making|mix|loop|know|edge|rocks|fence|verge|list|mend|team|"
    r"go|move|rise|market|clock|table|hunt|lookout|weekend|morning|afternoon|evening|week|month|year|day|summer"
    r"|winter|case|"
    r"pace|calls?|budget|schedule|rescue|grind|road trip|job|loose|phone|core|cusp|form|shape|state|condition|phase"
    r"|level|stage|peak|top)\b",
    re.IGNORECASE,
)
"""Nouns after «in the» and «on the» that are no places."""
INTENT = lazy_re(
    r"(?:let\s+(?:them|him|her|people|everyone)\s+(?:know|down)|give\s+(?:it|that|this)\s+a\s+\w+|play\s+it\s+by\s+ear"
    r"|worry|take\s+(?:a\s+look|your|it|that)|(?:chat|talk|speak)\s+soon|wait\b|get\s+moving|(?:get\s+)?(?:stuck|straight)\s+into\s+(?:it|this)|get\s+on\s+(?:it|this)"
    r"|get\s+started\s+with\s+(?:it|this|that)|be|have|say|admit|know|see|think|feel|agree|thank|let\s+you|tell\s+you|ask\s+(?:you|if|whether|about|a"
    r"\s+question)|mention|hear|understand|remember|"
    r"believe|love|like|hate|stop|keep|stay|stick\s+together|never|always|not|do\s+(?:it|that|this|so|the"
    r"\s+same)|try\s+(?:it|that)"
    r"|make\s+sure|ensure|forget|(?:show|let|hit|tell|give)\s+(?:you|ya|u|y[’']all)\b|"
    r"get\s+(?:it|there|this(?!\s+\w+\s+\w+ed\b)|that(?!\s+\w+ed\b))|go\s+(?:now|ahead|for\s+it)|come\s+true|help\s+(?:you|out)"
    r"|check\s+(?:it|that"
    r"|them)|work\s+on\s+it)\b",
    re.IGNORECASE,
)
"""Verbs of what is meant, but is no plan: «I want to be happy», «I'll never forget»."""
