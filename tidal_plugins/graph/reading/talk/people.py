"""Forms about people: family, home, work, health, and what they are called."""

from __future__ import annotations

from tidal_plugins.graph.reading.talk.forms import ADV, HAVE, HAVING, IS, NOT, USED, anywhere, form
from tidal_plugins.graph.reading.talk.subjects import ALL, NONE, PEOPLE
from tidal_plugins.graph.reading.talk.words import BODY, CLOSE, KIND, MEDICINE, NAME, OF, OWNED, PETS, ROLE

_AT = r"(?:at|for|with)"
_PLACE = r"(?P<o>(?-i:[A-ZÀ-ÖØ-Þ])[\w'’-]*\w(?:\s(?:\d[\w-]*|(?-i:[A-ZÀ-ÖØ-Þ])[\w'’-]*\w)){0,3})"
_FIRM = r"(?P<o>(?-i:[A-ZÀ-ÖØ-Þ])[\w'’&-]*\w(?:\s(?-i:[A-ZÀ-ÖØ-Þ])[\w'’&-]*\w){0,3})"

FORMS = (
    # home
    form("lives_in", PEOPLE,
        rf"\s+{USED}{NOT}{ADV}(?:lives?|resides?|live)\s+(?:in|on|at|near)\s+", "place", "place", confidence=0.9),
    form("lives_in", PEOPLE, rf"{IS}\s+{ADV}(?:living|based|staying)\s+(?:in|on|at|near)\s+", "place", "place"),
    form("lives_in", PEOPLE, rf"{HAVE}been\s+living\s+(?:in|on|at|near)\s+", "place", "place"),
    form("lives_in", PEOPLE, rf"{HAVE}(?P<since>lived)\s+(?:in|on|at|near)\s+", "place", "place"),
    form("lives_in", PEOPLE,
        rf"{HAVING}{ADV}(?:moved|relocated)\s+(?:back\s+|over\s+|out\s+)?(?:from\s+[^,.;]{{2,40}}?\s+)?(?:in)?to\s+",
        "place", "place"),
    form("lives_in", PEOPLE,
        rf"{HAVING}{ADV}(?:moved|relocated)\s+(?:away\s+|out\s+)?(?:from|of)\s+", "place", "place", ended=True),
    form("from_place", PEOPLE, rf"(?:{IS}|\s+comes?)\s+{ADV}from\s+", "place", "place"),
    form("from_place", PEOPLE,
        rf"(?:\s+was|\s+were)?\s+{ADV}(?:grew\s+up|born|raised)\s+(?:and\s+raised\s+)?(?:in|on)\s+", "spot", "place"),
    # work
    form("works_at", PEOPLE,
        rf"\s+{USED}{NOT}{ADV}works?\s+(?:as\s+an?\s+[\w\s-]{{3,30}}?\s+)?{_AT}\s+",
        "firm", "organisation", confidence=0.9),
    form("works_at", PEOPLE, rf"(?:{IS}|{HAVE}been)\s+{ADV}working\s+{_AT}\s+", "firm", "organisation"),
    form("works_at", PEOPLE, rf"{HAVE}(?P<since>worked)\s+{_AT}\s+", "firm", "organisation"),
    form("works_at", PEOPLE,
        rf"{HAVING}{ADV}(?:got|landed|accepted|taken|took)\s+(?:a|the|my)\s+(?:\w+\s+)?(?:job|position|role)\s+"
        rf"(?:as\s+[\w\s-]{{3,30}}?\s+)?{_AT}\s+", "firm", "organisation"),
    form("works_at", PEOPLE,
        rf"{HAVING}{ADV}(?:starts?|started)\s+(?:a\s+(?:new\s+)?job\s+|work(?:ing)?\s+"
        rf"|as\s+[\w\s-]{{3,30}}?\s+)at\s+", "firm", "organisation"),
    form("works_at", PEOPLE, rf"{IS}\s+{ADV}(?:an?|the|our|my)\s+{ROLE}\s+(?:at|for|with)\s+", "firm", "organisation"),
    form("works_as", PEOPLE, rf"{IS}\s+{ADV}(?:an?|the|our|my|one\s+of\s+the)\s+(?:new\s+)?", "job", "role"),
    form("works_as", PEOPLE,
        rf"(?:\s+{USED}{NOT}{ADV}works?|(?:{IS}|{HAVE}been)\s+{ADV}working|{HAVING}{ADV}started(?:\s+work"
        r"(?:ing)?)?)\s+as\s+", "job", "role"),
    # health
    form("allergic_to", ALL, rf"{IS}\s+(?:[\w-]+\s+)?allergic\s+to\s+", "liked", "concept", confidence=0.9),
    form("has_condition", PEOPLE | NONE,
        rf"(?:{HAVING}|(?<=\s)|\A){ADV}(?:broke|twisted|sprained|hurt|messed\s+up|injured|pulled|tore|dislocated"
        rf"|fractured)\s+(?P<o>my\s+(?:\w+\s+)?{BODY})\b", "", "condition"),
    form("has_condition", PEOPLE, rf"(?:{IS}\s+{ADV}|\s+was\s+|{HAVE}been\s+)diagnosed\s+with\s+", "ill", "condition"),
    form("takes", PEOPLE,
        rf"(?:\s+{USED}{NOT}{ADV}takes?|{IS}\s+{ADV}(?:taking|on)|{HAVING}{ADV}(?:started|been\s+taking"
        r"|been\s+prescribed))\s+", "drug", "medicine"),
    form("diet", PEOPLE,
        rf"(?:{HAVING}{ADV}(?:started\s+|been\s+)?eating|{IS}\s+{ADV}(?:eating\s+)?|{HAVING}(?:gone|went)"
        rf"|{IS}\s+trying\s+to\s+eat)\s+", "diet", "diet"),
    form("age_is", PEOPLE,
        rf"{IS}\s+(?P<o>\d{{1,2}}|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|forty|fifty|sixty)"
        r"(?:\s+years\s+old|\s+now)?(?=\s*(?:[.,;!]|$|\band\b))", "", "age"),
    form("age_is", PEOPLE,
        rf"(?:\s+turns|{IS}\s+turning|\s+turned)\s+(?P<o>\d{{1,2}}|[a-z]+)(?=\s+(?:on|in|this|next|today"
        r"|tomorrow)\b|[.!,])", "", "age"),
)  # fmt: skip
"""Forms with a subject and a verb."""

_POSSESSOR = rf"(?P<s>my|our|your|his|her|{NAME}(?=['’]s\s))(?:['’]s)?"

PHRASES = (
    anywhere("kin",
        rf"(?<!\w){_POSSESSOR}\s+{OF}(?P<kin>{KIND})\s+(?:is\s+(?:called\s+|named\s+)?|called\s+|named\s+)?"
        rf"(?P<o>{NAME})(?!['’]s\s+(?:{KIND}))",
        "person", confidence=0.9),
    anywhere("kin",
        rf"(?<!\w)(?<!\bis\s)(?<!\bwas\s){_POSSESSOR}\s+{OF}(?P<kin>{KIND}),\s+(?P<o>{NAME})(?!['’]s\s+(?:{KIND}))",
        "person", confidence=0.9),
    anywhere("kin",
        rf"(?<!\w)(?P<o>{NAME})(?:(?:,?\s+(?:is|was),?|['’]s|,)\s+|\s+(?=his\b|her\b))(?P<s>my|our|your|his|her"
        rf"|{NAME}(?=['’]s\s))"
        rf"(?:['’]s)?\s+{OF}(?P<kin>{KIND})(?!\w|['’]s)", "person", confidence=0.9),
    anywhere("kin",
        rf"(?<![\w'’])(?<!,\s)(?<!\bis\s)(?<!\bwas\s)(?<!['’]s\s)(?=(?P<s>my|our))(?P<o>(?:my|our)"
        rf"\s+{OF}(?P<kin>{CLOSE}))\b(?!,"
        rf"|\s+(?:is\s+)?(?:called|named)\b|\s+{NAME}|['’]s\s+(?:name|{KIND}))",
        "person", confidence=0.7),
    anywhere("has_pet",
        rf"(?<!\w)(?P<s>my|our|your)\s+(?:(?!favou?rite)[\w-]+\s+){{0,2}}?{PETS},?\s+(?P<o>{NAME})", "pet"),
    anywhere("has_pet",
        rf"(?<!\w)(?P<s>my|our)\s+(?P<o>(?:(?:two|three|four|old|new|little|late|other|lovely)\s+)?{PETS})"
        r"(?=\s*[.,;!)]|$|\s(?:is|are|was|were|has|have|and|in|on|at|to|who|loves?|likes?|for|with|always|had"
        r"|got)\b)", "pet"),
    anywhere("owns",
        rf"(?<!\w)(?P<s>my|our)\s+(?P<o>(?:(?:own|new|old|vintage)\s+)?{OWNED})\b(?!['’]s|\s+(?:ride|trip|show|park"
        "|shop|wash|club))", "possession"),
    anywhere("lives_in",
        r"(?<!\w)(?P<s>my|our)\s+(?:new\s+)?(?:flat|house|apartment|home|place|landlord|landlady|room|studio)\s+"
        rf"(?:in|on|at)\s+{_PLACE}", "place"),
    anywhere("lives_in",
        r"(?<!\w)(?P<o>(?-i:[A-Za-zÀ-ÖØ-Þ])[\w'’-]+(?:\s\d[\w-]*)?)\s+is\s+(?P<s>)(?:now\s+)?home\b(?=\s*"
        r"(?:now\s*)?[.,;!]|$)", "place"),
    anywhere("lives_in", rf"(?<!\w)(?P<s>i)(?:['’]m|\s+am)\s+(?:the|an?)\s+{KIND},?\s+in\s+{_PLACE}", "place"),
    anywhere("lives_in",
        rf"(?<!\w)(?:my|our)\s+{OF}{KIND},?\s+(?P<s>{NAME}),?\s+(?:who\s+(?:is|lives)\s+)?in\s+{_PLACE}", "place"),
    anywhere("from_place",
        rf"(?<!\w)(?P<o>(?:the|this|that|{NAME})(?:\s+\w+){{0,3}})\s+is\s+where\s+(?P<s>i|we|he|she)\s+(?:grew\s+up"
        r"|was\s+born|(?:am|come)\s+from)", "place"),
    anywhere("works_at",
        rf"(?<!\w)(?P<s>my|our|your)\s+(?:new\s+)?(?:job|first\s+(?:day|week))\s+at\s+{_FIRM}",
        "organisation"),
    anywhere("works_at",
        rf"(?<!\w)(?P<s>my|our|your)\s+last\s+(?:day|week)\s+(?:at|with)\s+{_FIRM}", "organisation", ended=True),
    anywhere("works_at",
        rf"\A(?:\W*(?:so|noted|then|ok(?:ay)?|congratulations)[:,])\s*(?P<you>)(?:{ROLE})\s+at\s+{_FIRM}(?=,|\.|$)",
        "organisation"),
    anywhere("works_at",
        rf"(?:\A|[.!;:]\s*){_FIRM},\s+(?:an?\s+|the\s+)?{ROLE},\s+(?P<s>I)\s+(?:start|begin)", "organisation"),
    anywhere("works_at",
        rf"(?<!\w)(?P<s>{NAME}),\s+(?:the|an?|our|my)\s+{ROLE}\s+(?:at|from|of)\s+{_FIRM}", "organisation"),
    anywhere("works_as",
        rf"(?<!\w)(?P<s>{NAME}),\s+(?:the|an?|our|my)\s+(?P<o>{ROLE})(?=\s*(?:[,.;!)]|\s(?:at|from|of)\b))", "role"),
    anywhere("responsible_for",
        rf"(?<!\w)(?P<s>(?!\w+\s(?:director|manager|officer|lead|head)\b){NAME})(?:,|\s+is)\s+(?:the\s+|our"
        rf"\s+)?(?:head|lead|director|owner|manager)\s+of\s+"
        r"(?:the\s+)?(?P<o>\w+(?:\s\w+)?)", "concept"),
    anywhere("takes", rf"(?<!\w)(?P<s>my|his|her|{NAME}(?=['’]s\s))(?:['’]s)?\s+(?P<o>{MEDICINE})\b", "medicine"),
    anywhere("has_condition",
        rf"(?<!\w)(?P<s>my|his|her)\s+(?P<o>(?:\w+\s+)?{BODY}(?:['’]s|\s+(?:is|are|was|were|has\s+been"
        r"|have\s+been))?\s+(?:still\s+|a\s+bit\s+|so\s+|really\s+)?(?:playing\s+up|hurts?|hurting|aches?|aching"
        r"|sore|swollen|broken|sprained|killing\s+me|acting\s+up|touch-and-go))", "condition"),
    anywhere("has_condition",
        r"(?<!\w)(?P<s>my|your|his|her)\s+(?P<o>(?:\w+\s+)?(?:injury|asthma|diabetes|migraines?|arthritis|eczema"
        r"|epilepsy|concussion|allerg(?:y|ies)))\b", "condition"),
)  # fmt: skip
"""Forms found anywhere in a sentence."""
