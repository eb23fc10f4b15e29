"""Forms about things: what people own, use and make, what it costs, where it is, and what state it is in."""

from __future__ import annotations

from tidal_plugins.graph.reading.clauses import MASK
from tidal_plugins.graph.reading.talk.days import DATED
from tidal_plugins.graph.reading.talk.forms import ADV, HAVE, HAVING, IS, NOT, USED, anywhere, form
from tidal_plugins.graph.reading.talk.subjects import ALL, NONE, PEOPLE, THINGS
from tidal_plugins.graph.reading.talk.words import NAME

STATE = (
    r"(?:up\s+and\s+running|(?:all\s+)?(?:gone|dead|done|finished|off|cancell?ed|broken|missing|lost|ready|late|ill"
    r"|injured|down|"
    r"away|home|empty|full|quiet|swollen|fixed|solved|settled|paid|posted|delivered|signed|approved|rejected|sold"
    r"|rented|booked|"
    r"closed|deleted|merged|deployed|released|installed|rotated|restored|postponed|delayed|pregnant|retired|"
    r"engaged|married|divorced|unemployed|stuck|blocked|repaired|renewed|replaced|removed|locked|archived|moved|"
    r"reachable|unreachable|online|offline|overdue|expired|sorted|ordered|submitted|handed\s+in|shut|confirmed|live"
    r"|resolved|slow|withdrawn|degraded|enabled|disabled|unstable|stable|healthy|pending|idle|completed|"
    r"updated|tested|drafted|finali[sz]ed|published|reviewed|packed|accepted|refused|declined|unwell|sick|"
    r"on\s+hold|in\s+progress|out\s+of\s+order|under\s+repair|out\s+of\s+stock|closed\s+down|shut\s+down|packed\s+up|"
    r"being\s+\w+ed|ticked\s+off|not\s+too\s+serious|hard\s+to\s+reach|back\s+to\s+normal))"
)
MEASURE = (
    r"(?:\d[\d.,]*\d?|\d)\s?(?:%|percent|(?:ms|s|[kmg]b|gb|tb|mg|mcg|ml|km|kg|euros?|dollars?|pounds?|micrograms?|"
    r"milligrams?|hours?|minutes?|seconds?|degrees)\b)"
)
"""A number with its unit."""
_CHANGED = r"(?:went|dropped|fell|rose|grew|climbed|shrank|improved|is\s+down|is\s+up)(?:\s+(?:down|up))?"
_WITH_TIME = (
    r"(?:\s+(?:since|until|till|on|from|by|at|in|last|yesterday|today|tonight|now|again|too|already|for|this"
    r"|so\s+far|anyway)\b[^.,;!?]*)?"
)
_EVENT = (
    r"(?:physio|dentist|doctor|appointment|meeting|party|wedding|funeral|MRI|scan|interview|exam|flight|train|ferry"
    r"|move|launch|"
    r"lunch|dinner|birthday|concert|session|call|class|course|visit|check-?up|review|talk|trip|tour|test|match|day"
    r"|operation|"
    r"surgery|release|delivery|inspection|rehearsal|recital|reunion|picnic|barbecue|conference|workshop|hearing"
    r"|ceremony)"
)
_NO_FRAGMENT = (
    r"(?:i|you|we|he|she|they|it|is|are|was|were|be|been|will|has|have|had|can|could|would|should|must|need"
    r"|needs|to(?!\s(?:the\b|(?-i:[A-Z])))|if"
    r"|when|that|this|who|what|let|get|got|do|does|did|not|no|please|and|but|or|so|i['’]ll|we['’]ll|i['’]m|\w+n['’]t"
    r"|\w+ed)\b"
)
"""Words of a clause with a verb, which names no thing that is due."""
_MOVE = (
    r"(?:moved|moves|is\s+moved|was\s+moved|got\s+moved|has\s+moved|been\s+moved|postponed|pushed|rescheduled"
    r"|shifted|goes|went|(?:is|are)\s+(?:moving|shifting|switching))"
)
_IN = r"(?:in|on|at|under|behind|inside|next\s+to|beside|above|below)"
_MADE = (
    r"(?:made(?!\s+my\b)|painted|wrote|drew|built|baked|cooked|created|designed|composed|knitted|sewed|carved"
    r"|recorded"
    r"|published|released|launched|founded|started\s+writing|put\s+together|set\s+up)"
)

_PROPER = r"(?:(?-i:[A-Z])|[a-z]\w*-[a-z])"
"""The beginning of a name: of a product, or of a service such as «mail-relay»."""

FORMS = (
    form("owns", PEOPLE, rf"\s+{USED}{NOT}{ADV}owns?\s+", "thing", "possession"),
    form("owns", PEOPLE,
        rf"(?:\s+{USED}{NOT}{ADV}(?:have|has)|(?:['’]ve|\s+have|['’]s|\s+has)\s+{ADV}got)\s+",
        "had", "possession"),
    form("owns", PEOPLE,
        rf"{HAVING}{ADV}(?:just\s+)?(?:bought|purchased|adopted|inherited|picked\s+up|downloaded|ordered|got\s+"
        r"(?:myself|ourselves|himself|herself)|acquired|rescued)\s+", "gotten", "possession"),
    form("owns", PEOPLE,
        rf"{HAVING}{ADV}(?:got|did\s+get)\s+(?=(?:an?|some|two|three|this|these)\s)", "gotten", "possession"),
    form("uses", frozenset(("third", "kin")),
        rf"(?:\s+{USED}{NOT}{ADV}uses?|(?:{IS}|{HAVE}been)\s+{ADV}using|{HAVING}{ADV}started\s+using)\s+", "thing"),
    form("uses", ALL,
        rf"(?:{HAVING}|{IS}\s+){ADV}(?:switched|switching|migrated|migrating|moved\s+over|moving\s+over"
        rf"|upgraded)\s+(?:from\s+[^,.;]{{2,40}}?\s+)?to\s+(?!{DATED})", "thing"),
    form("uses", ALL,
        rf"(?:{HAVING}|{IS}\s+){ADV}(?:switched|switching|migrated|migrating|moved|moving)\s+(?:away\s+from|off"
        r"(?:\s+of)?)\s+", "thing", ended=True),
    form("uses", THINGS,
        rf"\s+{NOT}{ADV}(?:uses|runs\s+on|runs\s+against|sends\s+(?:through|over|via|with)|now\s+takes)\s+(?=(?:an?"
        rf"|the)\s|{MASK}|{_PROPER})", "thing"),
    form("depends_on", THINGS,
        rf"\s+{NOT}{ADV}(?:depends\s+on|relies\s+on|needs|reads\s+from|writes\s+to|talks\s+to|connects\s+to)\s+(?="
        rf"(?:an?|the|our)\s|{MASK}|{_PROPER})", "things"),
    form("created", PEOPLE,
        rf"{HAVING}{ADV}{_MADE}\s+(?=(?:an?|the|my|our|some|this|two|three|{MASK})\s|{MASK})", "gotten", "creation"),
    form("created", NONE, rf"(?:added|created|wrote|made)\s+(?P<o>{MASK}+)", "", "creation"),
    form("costs", ALL, r"\s+(?:costs?|is\s+priced\s+at|will\s+cost)\s+(?:me\s+|us\s+)?", "price", "price"),
    form("located_in", THINGS,
        rf"(?:\s+(?:is|are)|['’]s)(?P<not>n['’]t|\s+not|\s+no\s+longer)?\s+{ADV}(?:kept\s+|parked\s+|stored\s+"
        rf"|hidden\s+|located\s+|right\s+|over\s+)?{_IN}\s+(?!{DATED})", "spot", "place"),
    form("has_status", frozenset(("thing", "code", "service")),
        r"(?:\s+(?:is|are|was|were|has\s+been|have\s+been|got|gets)|['’]s)(?P<not>n['’]t|\s+not"
        rf"|\s+no\s+longer)?\s+{ADV}(?P<o>{STATE})(?={_WITH_TIME}\s*(?:[.,;:!)–-]|$|\b(?:and|but|so|because|with"
        r"|to)\b))", "", "status"),
    form("has_status", frozenset(("name", "kin", "third")),
        rf"(?:\s+(?:is|are)|['’]s)(?P<not>n['’]t|\s+not|\s+no\s+longer)?\s+{ADV}(?P<o>{STATE})(?={_WITH_TIME}\s*"
        r"(?:[.,;:!)–-]|$|\b(?:and|but|so|because)\b))", "", "status"),
    form("has_status", frozenset(("thing", "code", "name", "kin")),
        rf"{HAVING}{ADV}(?P<o>died|passed\s+away|broke\s+down|crashed|fell\s+over|closed\s+down|shut\s+down"
        r"|packed\s+up|stopped\s+working|failed|expired|burned\s+down|went\s+back|came\s+back|runs\s+again"
        r"|works\s+again|got\s+stolen|fell\s+through)\b", "", "status"),
    form("has_status", frozenset(("me",)),
        rf"(?:{IS}\s+{ADV}(?:feeling\s+)?|\s+(?:feel|felt)\s+{ADV})(?P<o>(?:exhausted|knackered|shattered"
        r"|worn\s+out|lonely|sick(?!\s+(?:of|and))"
        r"|ill|unwell|fed\s+up|injured|pregnant|retired|engaged|divorced|unemployed|burned\s+out|homesick"
        r"|depressed|overwhelmed|upset|frustrated|anxious|heartbroken|devastated|shaken|swamped"
        r"|under\s+(?:a\s+lot\s+of\s+)?(?:stress|pressure)|on\s+the\s+mend|(?:un|de)motivated|recovering)"
        r"(?:\s+and\s+\w+(?:\s+up)?)?)\b", "", "status"),
    form("has_status", NONE,
        r"(?P<s>(?:the\s+|my\s+|our\s+)?(?:(?!(?:and|as|keep|kept|me|you|marked|was|is|been|be|not|just|already|have|has|had|it|that"
        r"|this|i|we|get|got|well|all|also|then|were|are|being|to)\b)[\w-]+\s+){1,2}?)(?P<o>deleted|posted"
        r"|cancelled|ordered|booked|paid|signed|fixed"
        r"|installed|merged|deployed|handed\s+in|delivered|shipped)(?=\s+(?:on|in|at|last|yesterday|today|already"
        r"|too)\b|\s*[.,;!]|$)", "", "status"),
    form("has_status", THINGS,
        rf"(?:(?:\s+(?:is|are)|['’]s)\s+{ADV}(?:at|back\s+(?:at|to)|down\s+to|up\s+to)|\s+(?:stays?|remains?)"
        rf"\s+(?:at|on))"
        rf"\s+(?P<o>{MEASURE})", "", "status"),
    form("has_status", PEOPLE | frozenset(("none",)),
        rf"(?:{HAVING}|\A|(?<=\s)){ADV}(?P<o>posted|deleted|rotated|installed|paid|cancelled|ordered|booked"
        rf"|sold|completed|finished"
        r"|reviewed|updated|drafted|finali[sz]ed|packed|published|fixed|solved|merged|deployed"
        r"|returned|repaired|renewed|signed|submitted)\s+(?P<s>(?:the|my|our|his|her|those|that)"
        r"\s+(?:(?-i:[a-z])[\w-]+\s(?=[\w-]+s\b))?[\w-]+(?:\s(?!on\b|you\b|we\b|i\b|at\b"
        r"|in\b|to\b|for\b|from\b|with\b|by\b|and\b|first\b|last\b|this\b|yesterday\b|today\b|already\b|because\b"
        r"|so\b|off\b|again\b)[\w-]+)?)", "", "status"),
    form("appointment", frozenset(("thing", "kin", "name")),
        r"(?:\s+(?:is|are|will\s+be|takes\s+place|starts|begins|happens)|['’]s)\s+(?:now\s+|still\s+|all\s+)?"
        rf"(?:scheduled\s+|set\s+|booked\s+|planned\s+|moved\s+)?(?:on\s+|for\s+|to\s+|this\s+)?(?={DATED})",
        "day", "date"),
    form("appointment", frozenset(("thing",)),
        rf"\s+{_MOVE}(?:\s+back|\s+forward|\s+over)?(?:\s+from\s+[^,.;]{{2,30}}?)?\s+to\s+(?={DATED})", "day", "date"),
    form("appointment", frozenset(("thing",)),
        rf"\s+{_MOVE}(?:\s+back|\s+forward|\s+over)?\s+from\s+(?={DATED})", "day", "date", ended=True),
    form("appointment", frozenset(("me", "us", "name", "kin")),
        rf"{HAVING}(?:(?:made|booked|scheduled|got|have)\s+)?(?P<s>(?:an?|my|the|our)\s+(?:[\w-]+\s+){{0,2}}?"
        "(?:appointment|meeting|interview|session|exam|check-up|checkup|flight|call)"
        rf"(?:\s+with\s+[\w\s,]+?)?),?\s+(?:is\s+|on\s+|for\s+|this\s+)?(?={DATED})", "day", "date"),
    form("deadline", frozenset(("thing", "name")),
        rf"(?:\s+(?:is|are)|['’]s)\s+{ADV}due\s+(?:on\s+|by\s+)?(?={DATED})", "day", "date"),
)  # fmt: skip
"""Forms with a subject and a verb."""

PHRASES = (
    anywhere("created",
        r"(?<!\w)(?:an?|my|this|the|recent)\s+(?P<o>(?:(?!recent\b)[\w-]+\s+){0,3}?(?:paintings?|drawing|sketch"
        r"|poem|song|cake|dish|recipe|piece|self-portrait|portrait|photo|picture|sculpture|bowl|pot|video|game"
        r"|story|script|book|design|avatar|app|model|quilt|scarf|mug))\s+(?:that\s+)?(?P<s>i|we)(?:['’]ve)?\s+"
        r"(?:just\s+|recently\s+)?(?:did|made|painted|wrote|drew|created|built|baked|designed|took)\b", "creation"),
    anywhere("uses",
        rf"(?<![\w-])(?P<s>{MASK}+|[a-z][\w-]+)\s+(?:now\s+)?sends\s+(?:[\w-]+\s){{0,4}}?(?:over|via|through)\s+"
        rf"(?P<o>{MASK}+|(?-i:[A-Z])[\w-]+)",
        "concept"),
    anywhere("has_status",
        r"(?<!\w)(?:the|my|our)\s+(?P<s>[\w-]+(?:\s[\w-]+)?)\s+(?:that|which)\s+(?:has\s+|just\s+|finally\s+)?"
        r"(?P<o>packed\s+up|broke\s+down|crashed|failed|stopped\s+working|expired|fell\s+through)\b",
        "status"),
    anywhere("has_status",
        rf"(?<!\w)(?:the|our|my)\s+(?P<s>[\w-]+(?:\s[\w-]+)?)\s+(?:has\s+)?{_CHANGED}\s+from\s+[^,.;]{{1,30}}?"
        rf"\s+to\s+"
        rf"(?P<o>{MEASURE})", "status"),
    anywhere("has_status",
        rf"(?:\A|[.;]\s+)(?:the\s+|our\s+|my\s+)?(?P<s>(?!noted\b)[a-z][\w-]+(?:\s[\w-]+)?):\s+"
        rf"(?P<o>(?:{STATE}))(?=\s*(?:[.,;]|$|\bsince\b|\bagain\b))", "status"),
    anywhere("has_status",
        rf"(?<!\w)(?:somebody|someone|{NAME}|i|we)\s+(?:has\s+|have\s+|already\s+|just\s+)*(?P<o>rotated"
        rf"|deleted|installed"
        r"|cancelled|renewed|repaired|revoked|restarted|restored|archived|merged|reverted|upgraded|returned"
        r"|signed|sold"
        r"|postponed|closed|reopened)\s+(?:the|my|our|his|her|your)\s+(?P<s>[\w-]+(?:\s(?:of\s+the\s+)?(?!on\b"
        r"|at\b|in\b"
        r"|to\b|for\b|from\b|with\b|by\b|and\b|of\b|yesterday\b|today\b|already\b|because\b|so\b|again\b|this\b"
        r"|last\b"
        r"|off\b|that\b)[\w-]+)?)", "status"),
    anywhere("located_in",
        rf"(?<!\w)(?:i|we|{NAME})\s+(?:(?:have|has|just|already|finally|usually|always|still)\s+)*(?:found|left"
        rf"|put|keeps?|kept"
        r"|stored|saved|parked|hid|placed|stuck|uploaded|leaves?|stores?)\s+(?P<s>(?:the|my|our|his|her|an?|all\s+the"
        rf"|{NAME}['’]s)\s+(?!(?:way|eye|mind)\b)[\w-]+(?:\s(?!in\b|on\b|under\b|behind\b|at\b)[\w-]+){{0,2}})\s+"
        rf"(?:in|on|under|behind|at|inside|next\s+to|beside)\s+(?!{DATED}|mind\b|hold\b|track\b)"
        rf"(?P<o>(?:(?:the|my|our|his|her|your|an?)\s+(?!(?:back|end|right|mood|way|middle|first|last|moment"
        rf"|loop|rain"
        r"|process|weekend|morning|evening|afternoon)\b)[\w'-]+(?:\s(?!and\b|so\b|but\b|because\b|yesterday\b|today\b"
        r"|for\b|just\b|last\b|while\b|when\b)[\w-]+){0,3}|(?-i:[A-Z])[\w-]*(?:\s(?-i:[A-Z])[\w-]*){0,2}))", "place"),
    anywhere("located_in",
        rf"(?:\A|[.;]\s+|\bthe\s+)(?P<s>{_EVENT})\b(?:['’]s|\s+is)?\s+(?:on\s+)?{DATED}(?:\s+at\s+[\w:.]+)?,\s+"
        r"(?:at\s+|in\s+)?(?:the\s+)?(?P<o>(?-i:[A-Z])[\w'’-]+(?:\s(?:in\s+)?(?-i:[A-Z])[\w'’-]+|\s(?:chapel"
        r"|church|hall"
        r"|hotel|school|hospital|clinic|station|centre|center|park|house|restaurant)){1,4})", "place"),
    anywhere("deadline",
        rf"(?<!\w)(?:{NAME}|i|we|they|he|she)\s+(?:wants?|needs?|expects?|asked\s+for|requires?)\s+(?P<s>(?:an?"
        rf"|the|my|our|your)"
        rf"\s+[\w-]+(?:\s(?!by\b)[\w-]+){{0,3}}?)(?:\s+(?:for|of|on)\s+\S+)?\s+by\s+(?P<o>{DATED})", "date"),
    anywhere("deadline",
        rf"(?<!\w)(?:the|my|our|your)\s+(?P<s>[\w-]+(?:\s[\w-]+){{0,2}}?)\s+(?:has|have|must|needs?)\s+(?:to"
        rf"\s+)?(?:be\s+"
        rf"(?:\w+\s+)?)?(?:\w+\s+)?by\s+(?P<o>{DATED})", "date"),
    anywhere("appointment",
        rf"(?<!\w)(?P<o>{DATED}s?)\s+(?:is|are)\s+for\s+(?P<s>(?:the|my|our|an?)?\s*(?!me\b|you\b|us\b|now\b|sure\b)"
        r"[\w-]+(?:\s(?:with\s+)?(?:the\s+|my\s+)?[\w-]+){0,3})(?=\s*(?:[,.;!]|$))", "date"),
    anywhere("appointment",
        rf"(?<!\w)(?P<s>{_EVENT}(?:\s(?:to|with)\s(?!{DATED})[\w'’-]+){{0,1}}?)\s+(?:on\s+(?P<o>{DATED})"
        rf"\s+(?:is|was|got)\s+"
        r"(?:all\s+|now\s+)?(?:off|cancell?ed|called\s+off)\b)", "date", ended=True),
    anywhere("appointment",
        rf"(?:\A|[.;:!]\s+)(?:the\s+)?(?P<s>(?:flight|train|ferry|trip|visit|dinner|lunch|appointment|meeting)"
        rf"\s(?:to|with|at)\s"
        rf"[\w'’-]+(?:\s(?!{DATED})(?-i:[A-Z])[\w'’-]+)?)\s+(?:on\s+)?(?P<o>{DATED})(?=\s*(?:[.;,]|$))", "date"),
    anywhere("deadline",
        rf"(?:\A|[;:]\s+)(?P<s>(?:(?!{_NO_FRAGMENT})[\w'’-]+\s+){{0,7}}?(?!{_NO_FRAGMENT})[\w'’-]+),?\s+(?:by|due)\s+"
        rf"(?P<o>{DATED})(?=\s*(?:[.;,]|$))",
        "date"),
    anywhere("responsible_for",
        r"(?<!\w)the\s+(?P<o>(?!(?:painting|drawing|photo|picture|song|poem|pleasure|fault|choice|idea|one)"
        r"\b)[\w-]+(?:\s[\w-]+){0,2}?)\s+is\s+(?P<s>mine)\b(?=\s*(?:now|[.,;!]|$))", "concept"),
    anywhere("appointment",
        rf"(?:\A|[;:]\s+|[.!]\s+)(?:\W*(?:noted|moved|done|so|then|ok(?:ay)?|right)[:,]\s*)?(?P<s>(?:(?!{DATED}|"
        rf"(?:i|you|we|he|she|they|it|is|are|has)\b)[\w'’-]+\s){{0,3}}?{_EVENT}(?:\s(?:with|at|for|of|in|to)(?:\s"
        rf"(?!on\b|is\b|are\b|was\b)[\w'’-]+){{1,4}}?)*?)(?:,|:|(?:\s+is)?\s+on)\s+(?:on\s+)?(?P<o>{DATED})(?="
        rf"\s*(?:[.;,]|$|\bin\b|\bas\b))",
        "date"),
    anywhere("appointment",
        rf"(?<!\w)(?P<s>(?:[\w-]+\s)?{_EVENT}(?:\s(?:with|at)\s\w+)?)\s+(?:is\s+)?(?:now\s+)?{_MOVE}(?:\s+back"
        rf"|\s+forward)?(?:\s+from\s+[^,.;]{{2,30}}?)?\s+to\s+(?P<o>{DATED})", "date"),
    anywhere("appointment",
        rf"(?<!\w)(?P<s>(?:[\w-]+\s)?{_EVENT}(?:\s(?:with|at)\s\w+)?)\s+(?:is\s+)?(?:now\s+)?{_MOVE}(?:\s+back"
        rf"|\s+forward)?\s+from\s+(?P<o>{DATED})", "date", ended=True),
    anywhere("responsible_for",
        rf"(?<!\w)(?P<s>{NAME})\s+(?:has|takes)\s+(?!\w+ed\b|been\b|had\b|got\b|gone\b)(?P<o>(?:the"
        rf"\s)?[\w-]+(?:\s[\w-]+){{0,2}}?|it)\s+"
        r"(?:over\s+)?now\b", "concept"),
    anywhere("responsible_for",
        rf"(?<!\w)(?P<s>{NAME})\s+is\s+off\s+the\s+(?P<o>[\w-]+(?:\s[\w-]+){{0,2}}?)(?=\s*(?:[.,;!]|$|\bfrom\b"
        r"|\bnow\b|\bsince\b))", "concept", ended=True),
    anywhere("on_call", rf"(?<!\w)(?P<s>{NAME}|i)\s+(?:has|have|takes?)\s+the\s+(?P<o>pager)\b", "concept"),
)  # fmt: skip
"""Forms found anywhere in a sentence."""
