"""Forms about happenings: events and outings, gifts, new roles and ailments, and intentions in looser words."""

from __future__ import annotations

from tidal_plugins.english.calendar import ANY_MONTH, WEEKDAY
from tidal_plugins.graph.reading.clauses import MASK
from tidal_plugins.graph.reading.talk.days import DATED
from tidal_plugins.graph.reading.talk.forms import ADV, HAVE, HAVING, IS, NOT, anywhere, form
from tidal_plugins.graph.reading.talk.subjects import ANYBODY, MINE, NONE, PEOPLE
from tidal_plugins.graph.reading.talk.words import NAME, PLANNED

_EVENT = (
    r"(?:game|match|race|marathon|tournament|tourney|competition|contest|championship|trip|hike|retreat|festival"
    r"|concert|gig|show|exhibition|parade|party|wedding|funeral|reunion|picnic|barbecue|bbq|gala|fundraiser|event"
    r"|(?:toy|food|blood|charity)\s+drive|class|course|workshop|seminar|webinar|lesson|boot\s?camp|camp|conference"
    r"|convention|meetup|meeting|interview|audition|rally|march|protest|check-?up|appointment|surgery|exam"
    r"|presentation|speech|ceremony|graduation|celebration|cruise|vacation|honeymoon|getaway|excursion|expedition"
    r"|outing|tasting|premiere|recital|photoshoot|debate|hackathon|lecture|cleanup|internship|support\s+group"
    r"|game\s+night|sleepover|tour)s?"
)
_DID = (
    r"(?:had|ran|held|hosted|organi[sz]ed|did|won|lost|made\s+it\s+to|went\s+on|gone\s+on|been\s+on|been\s+to|been\s+at"
    r"|(?:got|came|returned|gotten|are|am)\s+(?:back\s+)?from|back\s+from|played(?:\s+in|\s+at)?|sp(?:oke|oken)\s+at"
    r"|performed\s+(?:at|in)|took|finished|completed|watched|saw|gave|threw|celebrated|enjoyed|stopped\s+by|joined"
    r"|left\s+for|leav(?:e|ing)\s+for|helped\s+(?:out\s+)?(?:at|with)|been\s+(?:taking|attending|doing)|tak(?:e|es|ing)|run|hold|host|passed|failed)"
)
_DETERMINED = r"(?:an?|the|my|our|another|some|this|that|two|three|his|her|their)"
_NO_PLACE = r"(?!(?:out|for|in|with|to|at|from|by|on|and|or|that|about|after|before)\b)"
_SPORT = (
    r"(?:yoga|pilates|tai\s+chi|karate|judo|(?:kick)?boxing|surfing|skiing|snowboarding|snowshoeing|kayaking|climbing"
    r"|swimming|running|cycling|hiking|dancing|painting|pottery|photography|knitting|gardening|drawing|meditation"
    r"|weightlifting|strength\s+training|tennis|football|soccer|basketball|volleyball|golf|chess|ballet|archery"
    r"|calligraphy|woodworking|baking|sewing|crochet|rowing|sailing|fencing|skating|paddleboarding)"
)
_AILMENT = (
    r"(?:stress|anxiety|depression|pain|discomfort|burnout|insomnia|grief|injury|addiction|migraines?|headaches?"
    r"|asthma|diabetes|arthritis|allerg(?:y|ies)|wrinkles|fine\s+lines|acne|dry\s+skin|jet\s?lag|hay\s+fever)"
)
_SCARE = (
    r"(?:(?:health|cancer)\s+scare|(?:car|minor|bad|nasty)\s+(?:accident|fall|crash)|accident|allergic\s+reaction"
    r"|panic\s+attack|(?:heart|knee|hip|back|shoulder|eye)\s+surgery)"
)
_LOOSE = (
    r"(?!(?:be|have|make\s+sure|say|see|let|keep\s+(?:you|in\s+mind|that|it)|give\s+(?:you|it)"
    r"|start\s+(?:with\s+)?that)\b)"
)
_NOBODY = (
    r"(?!(?:it|that|this|what|which|who|everything|something|nothing|anything|all|he|she|they|you|i|we|there|here|thing"
    r"|things|life|people|someone|everyone|nobody|one|how|why|where|when|if|as|because|and|or|but|so|being|both|these"
    r"|those|most|some|many|time|times|hope|think|know|once|until|after|before|when|unless|by|then|now|till)\b)"
)
_WANTED = r"(?=(?:an?|some|new|another)\s)"
_DONE = (
    r"(?:done|finished|gone|ready|cancell?ed|broken|fixed|solved|paid|booked|confirmed|closed|sorted(?:\s+out)?|idle"
    r"|delivered|signed|approved|rejected|sold|lost|missing|merged|deployed|installed|postponed|delayed|expired|overdue)"
)
_SHORT = r"\w+(?:\s(?!and\b|but\b|so\b|because\b|when\b|while\b|after\b|before\b|with\b|that\b|if\b|as\b)[\w'’-]+){0,5}"

FORMS = (
    # events and outings
    form("attends", PEOPLE,
        rf"(?:{HAVING}|{IS}\s+){ADV}{_DID}\s+(?={_DETERMINED}\s+(?:{_NO_PLACE}[\w'’-]+\s+){{0,4}}?{_EVENT}\b)", "event",
        "event"),
    form("attends", PEOPLE,
        rf"{HAVING}{ADV}had\s+(?=(?:an?\s+)?(?:coffee|lunch|dinner|tea|brunch|drinks?)\s+(?:at|with)\s+"
        rf"(?:{NAME}|my\s|our\s|the\s))", "event", "event"),
    form("attends", PEOPLE,
        r"\s+had\s+(?:an?|such\s+an?|so\s+much|lots\s+of)\s+(?:\w+\s+){0,2}?(?:blast|time|day|fun|weekend|experience)\s+"
        r"(?:(?:on|during|at)\s+(?=(?:an?|the|my|our)\s)|(?=(?!(?:be|hav|see|gett|mak|know|meet|talk|chatt|catch|hang)ing\b)"
        r"\w+ing\b))", "event", "event"),
    form("attends", PEOPLE,
        rf"{HAVING}{ADV}(?:got|managed)\s+to\s+(?:go\s+to|attend|visit|volunteer\s+(?:at|for|with)|join)\s+"
        rf"(?={_DETERMINED}\s)", "event", "event"),
    form("attends", PEOPLE,
        rf"(?:{IS}|{HAVE}(?:been|gotten)|\s+got)\s+{ADV}(?:getting\s+)?involved\s+(?:in|with)\s+(?!(?:it|that|this)\b)",
        "event", "event"),
    form("visited", MINE, rf"\s+(?:was|were)\s+{ADV}in\s+(?=(?-i:[A-Z]))(?!{ANY_MONTH})", "place", "place"),
    form("visited", PEOPLE,
        rf"{HAVING}{ADV}went\s+(?:up|down|over|back|out)\s+to\s+(?=(?:the\s+)?(?-i:[A-Z]))", "place", "place"),
    form("visited", PEOPLE,
        rf"{HAVING}{ADV}(?:visited|toured|checked\s+out|explored|stopped\s+by|took\s+(?:(?:my|the|our|his|her)\s+\w+"
        r"|him|her|them)\s+to)\s+(?=(?:an?|the|some|our|my)\s(?!\w*(?:idea|option|possibilit)))", "thing", "place"),
    form("plays", PEOPLE,
        rf"(?:{IS}\s+{ADV}(?:trying(?:\s+out)?|doing|practi[cs]ing|getting\s+into|taking\s+up)|{HAVING}{ADV}(?:tried"
        r"(?:\s+out)?|been\s+(?:trying|doing|practi[cs]ing)|started(?:\s+doing)?|did|does?|practi[cs]es?|took\s+up))"
        rf"\s+(?:some\s+)?(?=(?:(?!play|learn)[\w-]+\s+)?{_SPORT}\b)", "thing", "activity"),
    form("plays", PEOPLE,
        rf"(?:{IS}\s+{ADV}learning|{HAVE}been\s+{ADV}learning|{HAVING}{ADV}(?:started\s+(?:learning|to\s+learn)|learned"
        r"|learnt))\s+(?:how\s+)?to\s+play\s+", "thing", "activity"),
    # gifts
    form("owns", PEOPLE | ANYBODY,
        rf"{HAVING}{ADV}(?:gave|given|bought|got|gotten|gifted|sent)\s+(?P<s>me|us)\s+", "gotten", "possession"),
    # roles and groups
    form("works_as", PEOPLE | ANYBODY,
        rf"{HAVING}{ADV}(?:asked|chose|appointed|elected|hired|offered|named|picked|invited)\s+(?P<s>me)\s+(?:to\s+be"
        r"|to\s+become|as|the\s+role\s+of|a\s+(?:job|role|position)\s+as)\s+", "job", "role"),
    form("works_as", PEOPLE,
        r"(?:\s+was|\s+got|['’]ve\s+been|\s+have\s+been|\s+has\s+been)\s+(?:just\s+|recently\s+)?(?:asked\s+to\s+be"
        r"|chosen\s+(?:as|to\s+be)|appointed(?:\s+as)?|elected(?:\s+as)?|hired\s+as|named|promoted\s+to"
        r"|picked\s+(?:as|to\s+be))\s+", "job", "role"),
    form("works_as", NONE,
        r"(?:being|been)\s+(?:chosen|picked|named|elected|appointed|hired)\s+(?:as\s+|to\s+be\s+)?", "job", "role"),
    form("studies", NONE,
        r"(?:learning|studying)\s+(?P<o>(?-i:[A-Z])\w+)\s+(?P<s>)(?:has\s+been|is|was)\b", "", "subject"),
    form("member_of", PEOPLE,
        rf"{IS}\s+{ADV}(?:lucky|proud|happy|honou?red|excited|thrilled|glad|blessed|grateful)\s+to\s+be\s+(?:an?\s+)?"
        r"(?:\w+\s+)?(?:part|member)\s+of\s+(?=(?:an?|the|my|our|this|such\s+an?)\s)(?!(?:the|this)\s+(?:process"
        r"|journey|fun|difference|problem|reason|solution)\b)", "thing", "organisation"),
    form("member_of", PEOPLE,
        rf"{HAVING}{ADV}signed\s+(?:a\s+(?:contract|deal)\s+)?with\s+(?=(?:an?|the|my|our)\s+(?:[\w-]+\s+){{0,3}}"
        r"(?:team|club|label|agency|band|gym|group)\b)", "thing", "organisation"),
    # health
    form("has_condition", PEOPLE,
        rf"(?:{IS}|{HAVE}been)\s+{ADV}(?:struggling\s+with|dealing\s+with|suffering\s+from|recovering\s+from|battling"
        r"|living\s+with|noticing|fighting)\s+(?:(?:my|some|an?|the|his|her|a\s+lot\s+of)\s+)?"
        rf"(?P<o>(?:(?!and\b)[\w-]+\s+){{0,2}}?{_AILMENT})\b", "", "condition"),
    form("has_condition", PEOPLE, rf"{HAVING}{ADV}had\s+(?P<o>(?:an?\s+)?{_SCARE})\b", "", "condition"),
    form("diet", PEOPLE,
        rf"{IS}\s+{ADV}on\s+an?\s+(?P<o>(?:(?:new|strict|healthy|low-\w+|keto|vegan|paleo)\s+)?diet)\b", "", "diet"),
    # tastes
    form("likes", PEOPLE,
        rf"\s+{NOT}{ADV}(?:likes?|loves?)\s+(?P<o>to\s+(?!(?:see|hear|know|think|say|be|have|add|help|share|ask|see)\b)"
        rf"{_SHORT})(?=\s|[.,;!]|$)", "", "preference"),
    form("likes", PEOPLE,
        rf"{IS}\s+{ADV}an?\s+(?:(?:total|huge|big|massive|real|true|lifelong|die-?hard)\s+)*(?P<o>(?!(?:big|huge|new|good"
        r"|great|total)\b)[\w'’-]+(?:\s[\w'’-]+){0,2}?)\s+(?:fan|lover|enthusiast|buff|nerd|fanatic|geek)\b(?!\s+of\b)",
        "", "preference"),
    form("likes", PEOPLE,
        rf"{HAVING}{ADV}(?:started|begun|come|grown|learned)\s+to\s+(?:enjoy|love|like)\s+", "liked", "preference"),
    form("dislikes", PEOPLE,
        rf"{HAVING}{ADV}never\s+(?:really\s+|much\s+)?(?:liked|enjoyed|loved|been\s+(?:into|fond\s+of|a\s+fan\s+of))\s+",
        "liked", "preference"),
    form("likes", NONE,
        rf"(?P<o>{_NOBODY}[\w-]+)['’]s\s+(?:mostly\s+|definitely\s+|really\s+|always\s+been\s+)?my\s+(?:all-time\s+)?(?:thing"
        r"|passion|fave|favou?rite|go-to|jam)\b(?!\s+\w)", "", "preference"),
    form("likes", MINE, rf"{IS}\s+{ADV}more\s+into\s+", "liked", "preference"),
    form("likes", NONE,
        rf"(?P<o>{_NOBODY}(?!your?\b)(?:[\w'’-]+\s){{1,6}}?)(?:is|are)\s+(?:really\s+|so\s+|very\s+|super\s+|still\s+)*"
        r"(?:important|dear|close)\s+to\s+(?:me|my\s+heart)\b", "", "preference"),
    # intentions
    form("plans", PEOPLE - {"you"}, rf"\s+{ADV}(?:plans?|intends?|intended)\s+to\s+{_LOOSE}", "deed", "plan"),
    form("plans", MINE,
        rf"\s+(?:think|guess|reckon|figured?|suppose)\s+(?:that\s+)?(?:i|we)(?:['’]ll|\s+will|['’]m\s+going\s+to)\s+"
        rf"(?:also\s+|just\s+|definitely\s+)*{_LOOSE}", "deed", "plan"),
    form("plans", PEOPLE,
        rf"{IS}\s+{ADV}(?:keen\s+to|eager\s+to|gearing\s+up\s+to|getting\s+ready\s+to|excited\s+to(?=\s+(?:try\b|start\b"
        rf"|learn\b|visit\b|join\b|begin\b)))\s+{_LOOSE}(?!hear\b|see\b|know\b)", "deed", "plan"),
    form("plans", PEOPLE - {"you"},
        rf"{IS}\s+{ADV}(?:up\s+for|on\s+board\s+with|getting\s+ready\s+for|gearing\s+up\s+for|preparing\s+for)\s+"
        r"(?=\w+ing\s|(?:an?|the|my|our)\s)(?!\w*thing\b)", "whole", "plan"),
    form("wants", PEOPLE,
        rf"(?:{IS}|{HAVE}been)\s+{ADV}(?:thinking\s+(?:of|about)|considering|toying\s+with\s+the\s+idea\s+of"
        r"|looking\s+into)\s+(?=\w+ing\s)(?!\w*thing\b|being\b|having\b)", "whole", "plan"),
    form("wants", PEOPLE - {"you"},
        rf"(?:{IS}|{HAVE}been)\s+{ADV}(?:looking|searching|hunting|on\s+the\s+(?:hunt|lookout))\s+for\s+{_WANTED}",
        "gotten", "plan"),
    form("plans", MINE | {"you"},
        r"\s+(?=(?:drive|go|fly|leave|travel|meet|visit|pick\s+up|bring|start|move|see|take|come|arrive|return|play)\s)"
        rf"(?=(?:[^.;!?,]|[.](?=\w))*\b{PLANNED})(?![^.;!?]*\b(?:every|usually|always|often|each)\b)", "deed", "plan"),
    form("wants", NONE, r"(?:my|our)\s+(?P<s>)(?:(?:big|biggest|ultimate)\s+)?dream\s+is\s+to\s+", "deed", "plan"),
    # states
    form("appointment", NONE,
        rf"(?P<s>{_NOBODY}(?!(?:to(?:day|morrow)|yesterday|its|his|her|my|our|the|this|next)\b)(?:(?!and\b|or\b|but\b)[\w'’-]+\s){{1,7}}?)is"
        rf"\s+(?:now\s+|still\s+)?(?:on\s+|set\s+for\s+|in\s+[\w\s]{{2,15}},\s+)?(?P<o>{DATED})(?=\s*(?:[.,;!]|$))",
        "", "date"),
    form("appointment", frozenset(("thing", "name", "kin")),
        r"\s+(?:goes\s+(?:in|out|live|up|on\s+sale)|moves\s+in|opens|closes|departs|lands|ships|expires|ends|kicks\s+off"
        rf"|runs\s+out)\s+(?:\w+\s+){{0,3}}?on\s+(?={DATED})", "day", "date"),
    form("uses", NONE,
        rf"(?P<s>(?:(?:the|our|all|my)\s+)?[a-z]\w+s)\s+(?:now\s+|all\s+)?use\s+(?={MASK}|(?-i:[A-Z]))", "thing"),
    form("appointment", NONE,
        rf"(?:(?:my|our|the)\s+)?(?P<s>next\s+(?:[\w'’-]+\s){{1,4}}?)is\s+(?:on\s+|set\s+for\s+|in\s+[\w\s]{{2,15}},\s+)?"
        rf"(?P<o>{DATED})", "", "date"),
    form("has_status", NONE,
        rf"(?P<s>{_NOBODY}[a-z][\w-]+(?:\s(?:and\s+)?(?!is\b|are\b|you\b|i\b|we\b|that\b|who\b|it\b)[\w-]+){{0,2}}?)\s+"
        rf"(?:is|are)(?P<not>n['’]t|\s+not)?\s+(?:all\s+|now\s+|already\s+|finally\s+|still\s+)?(?P<o>{_DONE})"
        r"(?=\s*(?:[.;!,]|$|\bsince\b|\bagain\b|\bnow\b))", "", "status"),
)  # fmt: skip
"""Forms with a subject and a verb."""

PHRASES = (
    anywhere("kin",
        rf"\A(?!.*\bif\b)[^\n]*?(?<![\w'’])(?=(?P<s>your))(?P<o>your\s+(?P<kin>wife|husband|daughter|son"
        rf"|kids|sister|brother|dad|mum|mom|grandpa|grandma))(?![\w-]|['’]s\s+name|,?\s+{NAME}|\s+(?:is\s+)?(?:called"
        r"|named)\b|\s+or\b)", "person", confidence=0.6),
    anywhere("kin",
        r"(?<![\w'’])(?=(?P<s>my|our))(?P<o>(?:my|our)\s+(?P<kin>mother|mum|mom|dad|father|parents|grandma|grandmother"
        r"|grandpa|grandfather))(?=\s+(?:is|are|was|were|has|have|had|came|gave|taught|told|used|always|never|lives?|loves?"
        r"|likes?|wants?|works?|made|got|died|passed|said|says|called|asked|just|already)\b|['’](?:s|ll|d)\s(?!\w+['’]s\b))",
        "person", confidence=0.6),
    anywhere("kin",
        r"(?<!\w)(?<!\b(?:an|as|my)\s)(?<!\b(?:our|the|his|her)\s)(?<!\b(?:your|new\s))(?<!\bof\s)(?<!\ba\s)(?<!\btheir\s)"
        r"(?P<s>)(?P<o>(?P<kin>mum|mom|dad|grandma|grandpa))(?=\s+(?:has|had|already|says?|said|gave|asks?|asked|came|rang"
        r"|wants|bought|told|thinks|won['’]t|never)\b)", "person", confidence=0.6),
    anywhere("has_status",
        r"\bwith\s+(?:your|my|our|the)\s+(?P<s>[\w'’-]+(?:\s[\w'’-]+){0,5}?)\s+(?:now\s+|all\s+|finally\s+"
        r"|already\s+)*(?P<o>locked\s+in|sorted(?:\s+out)?|done|finished|out\s+of\s+the\s+way|in\s+place|booked"
        r"|confirmed)\b", "status"),
    anywhere("created",
        r"\bhere(?:['’]s|\s+is)\s+(?P<s>my)\s+(?:(?:recent|latest|new|first|own)\s+)?(?P<o>(?!favou?rite)(?:[\w-]+\s)?"
        r"(?:painting|drawing|sketch|poem|song|recipe|sculpture|self-portrait|portrait|quilt))\b", "creation"),
    anywhere("appointment",
        rf"(?<!\w)(?P<s>{NAME})\s+\((?:days?\s+[\d–-]+:\s*)?(?!{MASK})(?P<o>{DATED})[^()]{{0,20}}\)", "date"),
    anywhere("appointment",
        rf"(?:\A|[,;:.]\s+)(?:the\s+)?(?P<s>(?!(?:back|see|until|also|then|only|except|and|for|after|before|i|we|you|he|she|they|an?"
        rf"|it)\b)(?!\w+(?:ed|ing)\b)[\w'’-]+(?:\s(?!\w+(?:ed|ing)\b)(?!(?:is|are"
        r"|was|will|be|has|have|you|i|we|he|she|it|they|me|us|on|by|to|due|starts?|can|that|goes)\b)[\w'’-]+){0,3})(?<!s)\s+on\s+"
        rf"(?P<o>(?:{WEEKDAY},?\s+)?(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{ANY_MONTH}|{ANY_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?))"
        r"(?=\s*(?:[.,;!]|$|\bat\s+\d|\baround\b|\bwith\b))", "date"),
    anywhere("deadline",
        rf"(?<!\w)deadline\b[\w\s]{{0,20}}?\s(?:is|for)\s+(?:the\s+)?(?P<s>[\w-]+(?:\s(?!on\b|is\b|by\b)[\w-]+){{0,2}})\s+"
        rf"(?:on|is|by)\s+(?P<o>{DATED})", "date"),
)  # fmt: skip
"""Forms found anywhere in a sentence."""
