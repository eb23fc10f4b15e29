"""Forms about choices: what people decide on, find good or bad, share, keep, and work on."""

from __future__ import annotations

from tidal_plugins.graph.reading.clauses import MASK
from tidal_plugins.graph.reading.talk.days import DATED
from tidal_plugins.graph.reading.talk.forms import ADV, HAVE, HAVING, IS, anywhere, form
from tidal_plugins.graph.reading.talk.subjects import MINE, NONE, PEOPLE
from tidal_plugins.graph.reading.talk.words import NAME, OWNED, PETS, ROLE

_GOOD = (
    r"(?:appealing|perfect|ideal|lovely|wonderful|fantastic|fair|tempting|promising|spot\s+on|like\s+(?:the"
    r"\s+best|the\s+right|a\s+perfect)\b[^.;!?]*)"
)
_SO = r"(?:(?:so|very|really|absolutely|just|quite|pretty|particularly|especially|definitely|more)\s+){0,2}"
_THING = (
    r"(?!(?:it|that|this|what|which|who|everything|all|he|she|they|you|i|we|idea|plan|one|there|here|thing"
    r"|things|your|usually|always|also|really|definitely|now|then|today|glad|hope|know|think|\d+)\b)"
)
_NAMED = (
    rf"(?:(?:the|an?|my|our)\s+)?{_THING}[\w'’&-]+(?:\s(?!really\b|sounds?\b|looks?\b|seems?\b|is\b|just"
    rf"\b)[\w'’&-]+){{0,6}}?"
)
_TAKEN = (
    r"(?:going\s+with|go\s+with|use|using|stick(?:ing)?\s+with|stay(?:ing)?\s+with|switch(?:ing)?\s+to|aim"
    r"\s+for|aiming\s+for"
    r"|lock(?:ing)?\s+in|settle\s+on|opt(?:ing)?\s+for|sticking\s+to|stick\s+to)"
)
_SHARE = r"(?:(?:an?|one|two|three|the)\s+)?(?:half|halves|thirds?|quarters?|fifths?)"
_AT_HAND = (
    r"(?=(?:the|that|this|my|our|your)\s+(?!same\b|right\b|hang\b|feeling\b|idea\b|point\b|gist\b|picture\b|drill\b))"
)
_ONE = frozenset(("me", "us", "name", "kin", "third"))

FORMS = (
    # decisions
    form("decided", NONE,
        rf"(?:let['’]?s|we\s+should|i\s+think\s+we\s+should)\s+(?:just\s+|definitely\s+|then\s+)*{_TAKEN}\s+"
        r"(?!(?:it|that|this|them|(?!using\b)\w+ing)\b)", "matter", "decision"),
    form("decided", NONE,
        r"let['’]?s\s+(?:just\s+|definitely\s+|then\s+)*(?=(?:swap|replace|drop|add|move|book|order|schedule"
        r"|start\s+with"
        r"|automate|call\s+it|remove|cancel|name)\s+(?!(?:some|by)\b))", "deed", "decision"),
    form("decided", MINE | frozenset(("you",)),
        rf"(?:{IS}|{HAVING}|{HAVE})\s*{ADV}(?:decided|settled|chosen|agreed|committed)\s+(?:on|upon|for)\s+", "matter",
        "decision"),
    form("decided", frozenset(("you",)),
        rf"(?:{HAVING}|{HAVE}){ADV}(?:decided|chose|chosen|agreed)\s+to\s+", "deed", "decision"),
    form("decided", MINE,
        rf"(?:{IS}\s+{ADV}|\s+)(?!using\b|use\b){_TAKEN}\s+(?=(?:the|an?|our)\s|[A-Z]|{MASK})", "thing",
        "decision"),
    form("promised", NONE, r"will\s+do:\s+(?!(?:i|we|you|it)\b)", "matter", "promise"),
    # opinions
    form("likes", NONE,
        rf"(?P<o>{_NAMED})\s+(?:really\s+|definitely\s+|just\s+)*(?:sounds?|seems?)\s+{_SO}{_GOOD}", "", "preference"),
    form("likes", NONE,
        rf"(?P<o>{_NAMED})\s+(?:really\s+|definitely\s+|just\s+|usually\s+|always\s+)*(?:works?\s+(?:a\s+treat"
        rf"|best|better|great"
        r"|well|perfectly)(?!\s+for\s+you)(?:\s+for\s+(?:me|us))?|worked\s+(?:like\s+a\s+charm|a\s+treat"
        r"|wonders)(?!\s+for\s+you)|makes\s+the\s+most\s+sense"
        r")\b", "", "preference"),
    form("dislikes", NONE,
        rf"(?P<o>{_NAMED})\s+(?:just\s+|really\s+)?(?:is|are|feels|seems)(?:n['’]t|\s+not)\s+(?:quite\s+|really"
        rf"\s+|exactly\s+)*(?:right|for\s+me"
        r"|for\s+us|my\s+thing|good\s+enough)\b", "", "preference"),
    form("wants", frozenset(("name", "kin", "third")),
        rf"\s+{ADV}(?:wants|insists\s+on|asks\s+for|asked\s+for|demands)\s+(?!(?:to|me|us|you|it|him|her|them)\b)",
        "thing", "plan"),
    # what people work on and mean to do
    form("plans", _ONE,
        rf"(?:{IS}|{HAVE}been)\s+{ADV}(?:focus(?:s)?(?:ed|ing)|concentrating|working)\s+on\s+(?=\w+ing\b|(?:the"
        rf"|an?|my|our|her|his)\s)",
        "matter", "plan"),
    form("plans", NONE, r"(?:it['’]s\s+)?time\s+to\s+(?!(?:be|say|time)\b)(?:go\s+)?", "deed", "plan"),
    form("plans", NONE,
        r"(?:(?:my|our)\s+(?:main\s+|next\s+|first\s+)?|the\s+(?:main|whole|big|ultimate)\s+)(?P<s>)(?:plan"
        r"|goal|aim|idea|priority)"
        r"(?:\s+(?!is\b|was\b)[\w-]+){0,4}?\s+is\s+(?:definitely\s+|really\s+|simply\s+|just\s+|still\s+|now"
        r"\s+)*to\s+",
        "deed", "plan"),
    form("plans", frozenset(("us",)),
        r"(?:['’]ll|\s+will)\s+(?:also\s+|then\s+)?be\s+(?=\w+ing\b)(?!(?:being|having|missing|needing|seeing)\b)",
        "deed", "plan"),
    form("plans", frozenset(("third", "kin", "name")),
        rf"{IS}\s+{ADV}(?=(?:coming|bringing|arriving|hosting|getting\s+married|having\s+a\s+baby)\b)(?!coming"
        rf"\s+(?:along\s+well|from)\b)"
        , "deed", "plan"),
    form("plans", _ONE,
        rf"\s+(?:was|were)\s+{ADV}(?:going|planning|supposed|meant|hoping)\s+to\s+(?=[^.;!?]*(?:,\s+but|\sbut)"
        rf"\b)", "deed", "plan",
        ended=True),
    form("promised", frozenset(("third", "name", "kin")),
        r"\s+(?:pays|will\s+pay|is\s+paying)\s+(?:me\s+|us\s+)?(?P<o>back\s+[$€£]?\d[\d.,]*\d?(?:\s(?:euros"
        r"|pounds|dollars))?)",
        "", "promise"),
    form("promised", _ONE,
        rf"{HAVING}{ADV}told\s+(?:him|her|them|you|mum|mom|dad|{NAME})\s+(?:that\s+)?(?:i|we)(?:['’]d|['’]ll|"
        rf"\s+will|\s+would)\s+"
        r"(?!(?:have|be|love|like)\b)", "matter", "promise"),
    # what is owned, kept and shared
    form("owns", PEOPLE, rf"\s+{ADV}(?:take|takes|own|owns|keep|keeps|have|has|get|gets)\s+(?P<o>{_SHARE}(?:"
        rf"\s+of\s+(?:the\s+)?\w+)?)(?=\s*(?:[.,;!]|$|and\b))", "",
        "possession"),
    form("owns", frozenset(("me", "you")),
        rf"(?:['’]ve|\s+have|['’]s|\s+has)\s+{ADV}got\s+{_AT_HAND}", "gotten", "possession"),
    form("uses", NONE,
        rf"(?:switched|migrated|moved\s+over|upgraded)\s+(?:from\s+[^,.;]{{2,40}}?\s+)?to\s+(?=(?-i:[A-Z])"
        rf"|{MASK}|the\s+new\s)", "thing"),
    form("has_status", frozenset(("me", "us")),
        rf"(?:{IS}|\s+have\s+been|['’]ve\s+been|\s+feel|\s+was)\s+{ADV}(?P<o>out\s+of\s+action|off\s+sick|on"
        rf"\s+(?:sick\s+)?leave"
        r"|snowed\s+under|swamped|stressed(?:\s+out)?|under\s+the\s+weather|in\s+hospital|on\s+holiday|on"
        r"\s+vacation|jet-?lagged"
        r"|in\s+pain|self-employed|working\s+part-time|on\s+maternity\s+leave|between\s+jobs|out\s+of\s+work)\b", "",
        "status"),
    form("has_status", frozenset(("thing", "code")),
        r"\s+(?:still\s+|just\s+|now\s+)?(?:looks?|looked|seems?|feels?|sounds?)\s+(?:a\s+bit\s+|really\s+"
        r"|pretty\s+)?"
        r"(?P<o>solid|off|wrong|broken|dead|faulty|fishy|loose|stuck)\b", "", "status"),
    form("has_status", frozenset(("code", "service")),
        rf"(?:\s+(?:is|are)|['’]s)\s+{ADV}(?P<o>up|down|slow|red|green)\b(?!\s+(?:to|for|from)\b)", "", "status"),
    form("works_as", PEOPLE, rf"{IS}\s+{ADV}(?P<o>ceo|cto|cfo|coo|vp|treasurer|chair|chairman|chairwoman"
        rf"|president)\b", "", "role"),
    form("has_condition", frozenset(("me", "third", "kin", "name")),
        rf"{HAVING}{ADV}had\s+(?P<o>an?\s+(?:mild\s+|minor\s+|bad\s+|nasty\s+)?(?:stent|pacemaker|stroke|heart"
        rf"\s+attack|seizure"
        r"|concussion|miscarriage|panic\s+attack|(?:hip|knee)\s+(?:replacement|operation)|bypass|transplant"
        r"|biopsy|migraine))\b", "",
        "condition"),
    form("has_status", NONE,
        r"been\s+(?P<o>out\s+of\s+action|off\s+sick|under\s+the\s+weather|in\s+hospital)\b", "",
        "status"),
    form("has_status", frozenset(("name", "kin", "third")),
        r"(?:\s+is(?P<not>n['’]t|\s+not)|['’]s(?P<not>\s+not))\s+(?P<o>(?:eating|sleeping|working|answering"
        r"|drinking|talking|speaking|breathing"
        r"|responding|feeling\s+well))\b", "", "status"),
    form("created", NONE, rf"(?P<o>{MASK}+)\s+is\s+(?:written|there|ready|in\s+place)(?=\s*[:.,;]|$)", "", "creation"),
)  # fmt: skip
"""Forms with a subject and a verb."""

PHRASES = (
    anywhere("kin",
        r"(?<!\w)with\s+(?P<o>(?:two|three|four|five|six|\d)\s+(?:\w+\s+)?(?P<kin>kids|children|sons"
        r"|daughters))(?P<s>)"
        r"(?=\s+(?:in\s+(?:high\s+|primary\s+|elementary\s+|middle\s+)?(?:school|college|nursery|kindergarten"
        r"|university)|at\s+home"
        r"|at\s+school|under)\b)", "person", confidence=0.7),
    anywhere("kin",
        r"(?<!\w)(?<!\byou and )the\s+(?P<o>(?P<kin>missus))\b(?P<s>)", "person", confidence=0.7),
    anywhere("kin",
        r"\A(?!.*\byou)[^\n]*?\bthe\s+(?P<o>(?P<kin>kids))\b(?P<s>)(?=\s+(?:are|is|have|were)\s+(?:in|at|off"
        r"|back|asleep|up|home|finally)\b"
        r"|\s+(?:to|from)\s+(?:school|bed|the\s+park|nursery|practice|football|soccer)\b"
        r"|\s*(?:[,.;!]|$))", "person", confidence=0.6),
    anywhere("kin",
        r"(?<!\w)(?=(?P<s>my|our))(?P<o>(?:my|our)\s+(?:(?:two|three)\s+)?(?:youngest|eldest|oldest"
        r"|(?P<kin>kids|parents)))\b"
        r"(?=\s*(?:[.,;!)]|$|\s(?:is|are|was|were|has|have|had|at|in|to|and|who|would|will|love|loves|likes|can"
        r"|just|still|turned"
        r"|turns|started|starts|goes|wants|came|comes)\b))", "person", confidence=0.7),
    anywhere("neighbour_of",
        r"(?<!\w)(?:the|our|my)\s+(?:lady|man|woman|couple|guy|family|neighbou?r)\s+(?:downstairs|upstairs|next"
        r"\s+door|across\s+the"
        rf"\s+(?:road|street|hall)|opposite),\s+(?P<s>(?:(?:Mrs?|Ms|Dr)\.?\s+)?{NAME})", "person"),
    anywhere("kin",
        r"(?<![\w-])(?P<s>)(?P<o>(?-i:(?P<kin>Aunt|Auntie|Uncle|Grandma|Grandpa|Granny|Cousin))"
        r"\s+(?-i:[A-Z])[\w-]+)", "person",
        confidence=0.7),
    anywhere("located_in",
        r"(?<!\w)(?P<s>(?:[a-z][\w-]+\s)?(?:offices?|shop|hotel|studio|chapel|church|clinic|hospital|restaurant"
        r"|caf[eé]|bakery|branch"
        r"|warehouse|museum|university|b&b|campsite|cottage|farm|gallery|library|marina|stadium|theatre|gym))\s+in\s+"
        r"(?P<o>(?-i:[A-Z])[\w'’-]+(?:\s(?-i:[A-Z])[\w'’-]+){0,2})", "place"),
    anywhere("located_in",
        rf"(?<!\w)(?P<s>i|we)(?:['’]m|['’]re|\s+am|\s+are)\s+{ADV}(?:on|in|at)\s+(?P<o>(?:berth|room|seat|gate"
        rf"|platform|pitch|ward"
        r"|table|desk|bed|floor|bay)\s+[\w-]*\d[\w-]*)", "place"),
    anywhere("appointment",
        rf"(?:\A|[.;:]\s+)(?P<s>{NAME}(?:\sand\s{NAME})?),\s+(?P<o>{DATED})(?=\s*(?:[,.;]|$))", "date"),
    anywhere("has_status",
        r"(?<!\w)(?P<s>threshold|limit|timeout|quota|rate|budget|deposit|salary|target|capacity|dose)\s+of\s+"
        r"(?P<o>[$€£]?\d[\d.,]*\d?\s?(?:%|(?:ms|mg|euros?|dollars?|pounds?|seconds|minutes|hours)\b)?)", "status"),
    anywhere("has_status",
        r"(?<![\w-])(?P<s>[a-z]\w*(?:-[a-z0-9]+)+)(?:,|\s+(?:is\s+)?(?:back\s+)?at)\s+(?P<o>\d[\d.]*\s?%)", "status"),
    anywhere("owns",
        rf"(?<!\w)(?P<s>{NAME})['’]s\s+(?:(?:own|new|old|vintage)\s+)?(?P<o>{OWNED})\b(?!['’]s|\s+(?:ride|trip"
        rf"|show|park|shop|wash"
        r"|club|dealer|key|keys|door))", "possession"),
    anywhere("has_pet",
        rf"(?<!\w)(?P<s>{NAME})['’]s\s+(?:(?:own|new|old|little)\s+)?(?P<o>{PETS})\b(?!['’]s|\s+(?:food|person"
        rf"|walker|owner|bed))",
        "pet"),
    anywhere("owns",
        rf"(?<!\w)(?:the|this|that)\s+(?P<o>{OWNED})\s+(?:is|stays|remains)\s+(?:still\s+)?(?P<s>mine|ours)\b",
        "possession"),
    anywhere("has_condition",
        r"(?<!\w)(?:this|my)\s+(?:nagging\s+|terrible\s+|awful\s+|bad\s+|constant\s+|chronic\s+|damn\s+|stupid\s+)?"
        r"(?P<o>malaria|pneumonia|flu|migraines?|bronchitis|sinusitis|(?:lower\s+)?(?:back|knee|neck|shoulder"
        r"|hip|chest)\s+pain)\b(?P<s>)"
        r"(?!\s+(?:is\s+common|can|in\s+(?:children|adults|people)|season|shot|jab|vaccine))", "condition"),
    anywhere("works_as",
        rf"(?<!\w)(?P<s>{NAME})\s+\((?P<o>{ROLE})\b", "role"),
    anywhere("works_as",
        rf"(?<!\w)(?P<s>{NAME}),\s+(?:the\s+)?(?:current|new)\s+(?P<o>{ROLE})\b", "role"),
    anywhere("decided",
        r"(?:\A|[.:;!]\s+)(?:also:?\s+)?(?P<o>(?:the\s+|all\s+)?(?!it\b|that\b|this\b|there\b|you\b|we\b|i\b|he"
        r"\b|she\b)[\w-]+"
        r"(?:\s[\w-]+){0,2}?\s+must\s+(?:not\s+|always\s+|never\s+)?be\s+\w+(?:ed|en|pt|ght|id)\s+(?:in|before"
        r"|by|on|at|within|every|after|via|through|with|to)\s+[\w#'-]+(?:\s[\w#'-]+){0,6})(?P<s>)", "decision"),
)  # fmt: skip
"""Forms found anywhere in a sentence."""
