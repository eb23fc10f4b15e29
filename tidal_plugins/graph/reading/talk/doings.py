"""Forms about doings: what people like, do and attend, what they plan and wish, and what they decided."""

from __future__ import annotations

from tidal_plugins.graph.reading.talk.forms import ADV, HAVE, HAVING, IS, NOT, USED, anywhere, form
from tidal_plugins.graph.reading.talk.subjects import ALL, MINE, NONE, PEOPLE
from tidal_plugins.graph.reading.talk.words import NAME, PLANNED

_WILL = r"(?:['’]ll|\s+will)"
_FUN = (
    r"(?:fun|relaxing|therapeutic|a\s+blast|enjoyable|a\s+joy|exciting|calming|great|my\s+(?:go-to|passion|escape"
    r"|thing|happy\s+place))"
)
_AHEAD = rf"(?=(?:[^.;!?]|[.](?=\w))*\b{PLANNED})"
_PLAN = frozenset(("me", "us", "third", "kin", "name"))

FORMS = (
    # tastes
    form("likes", PEOPLE,
        rf"\s+{USED}{NOT}{ADV}(?:likes?|loves?|enjoys?|adores?)\s+(?!to\s+(?:see|hear|know|think|say)\b)",
        "liked", "preference", confidence=0.9),
    form("likes", PEOPLE,
        rf"{HAVE}always\s+(?:loved|liked|enjoyed|adored|had\s+a\s+(?:love|passion|thing)\s+for)\s+",
        "liked", "preference"),
    form("likes", PEOPLE,
        rf"{IS}\s+{ADV}(?:into|fond\s+of|obsessed\s+with|passionate\s+about|crazy\s+about|hooked\s+on|keen\s+on"
        r"|enjoying|loving|an?\s+(?:big\s+|huge\s+|massive\s+)?fan\s+of)\s+", "liked", "preference"),
    form("likes", NONE,
        r"(?:(?:still\s+)?enjoying|love|loving)\s+(?=(?:this|these|my|the|\w+ing)\s)(?!the\s+(?:way|idea|fact"
        r"|details|colou?rs|look|energy|enthusiasm|quote|vibes?|spirit|attitude|sound|name)\b)", "liked", "preference"),
    form("likes", NONE,
        r"(?P<o>(?!(?:being|having|going|nothing|something|everything|anything)\b)[a-z]+ing\s"
        rf"(?:[\w'’-]+\s){{0,8}}?)(?:is|are|has\s+been|have\s+been)\s+(?:always\s+|so\s+|such\s+|really\s+|super\s+"
        rf"|also\s+|one\s+of\s+my\s+)*{_FUN}\b(?!\s+(?:for|to|way)\b)", "", "preference"),
    form("likes", NONE,
        r"(?P<o>(?:[\w'’-]+\s){1,7}?)(?:is|are)\s+(?:also\s+|definitely\s+|still\s+|one\s+of\s+)*(?P<s>my)\s+"
        r"(?:all-time\s+)?(?:favou?rites?|faves?|go-to|passion|happy\s+place)\b(?!\s+\w+\s+(?:is|are))",
        "", "preference"),
    form("likes", ALL,
        r"\s+(?:gives?|brings?)\s+me\s+(?:so\s+much\s+|a\s+lot\s+of\s+|great\s+|such\s+)?(?:joy|peace|happiness"
        r"|pleasure|comfort)\b(?P<o>)", "", "preference"),
    form("likes", MINE,
        r"\s+find\s+(?P<o>\w+(?:\s\w+){0,3}?)\s+(?:to\s+be\s+)?(?:so\s+|very\s+|really\s+|a\s+great\s+"
        r"|such\s+a\s+)?(?:relaxing|calming|therapeutic|soothing|enjoyable|stress\s+reliever|fun)\b",
        "", "preference"),
    form("dislikes", PEOPLE,
        rf"(?:\s+{USED}{ADV}(?:hates?|dislikes?|detests?|loathes?|can(?:['’]t|not)\s+(?:stand|bear))|{IS}\s+{ADV}"
        r"(?:sick|tired)\s+of)\s+(?!to\s+(?:say|admit|see|think|tell|hear)\b)", "liked", "preference", confidence=0.9),
    form("dislikes", PEOPLE, rf"(?:{HAVE}gone|\s+went)\s+(?:right\s+)?off\s+", "liked", "preference"),
    form("prefers", PEOPLE, rf"{IS}\s+{ADV}leaning\s+towards?\s+", "thing", "preference"),
    # what people do
    form("attends", PEOPLE,
        rf"{HAVING}{ADV}(?:went|gone|been\s+going|started\s+going|goes|go)\s+to\s+(?=(?:an?|the|that|this|my|our"
        r"|boot|yoga|physio|therapy|church|[A-Z\w]+\s+(?:class|camp|meeting|concert|festival|event|show"
        r"|workshop)))(?!the\s+(?:same|next|point|trouble|bathroom|toilet|loo)\b)", "event", "event"),
    form("attends", PEOPLE,
        rf"{HAVING}{ADV}(?:went|gone|been\s+going|started\s+going|goes|go)\s+(?=\w+ing\b)(?!(?:through|crazy"
        r"|missing|looking|wrong|thing|being|everything|nothing|something|anything)\b)", "event", "event"),
    form("attends", PEOPLE,
        rf"{HAVING}{ADV}(?:attended|attends?|been\s+attending|took\s+part\s+in|taken\s+part\s+in|participated\s+in"
        r"|competed\s+in|entered|volunteered\s+(?:at|for|with)|volunteers?\s+(?:at|for|with)|(?:started\s+)?"
        r"(?=volunteering\b)|signed\s+up\s+for|enrolled\s+in|took\s+(?=an?\s(?:\w+\s)?(?:class|course|workshop"
        r"|lesson)))\b\s*", "event", "event"),
    form("attends", PEOPLE,
        r"\s+had\s+(?:the|a)\s+(?:chance|opportunity)\s+to\s+(?:go\s+to|attend|visit)\s+", "event", "event"),
    form("attends", PEOPLE,
        r"\s+had\s+(?:an?|such\s+an?|so\s+much)\s+(?:\w+\s+)?(?:blast|time|day|fun|weekend)\s+at\s+(?=(?:an?|the|my"
        r"|our)\s)", "event", "event"),
    form("attends", PEOPLE,
        rf"{IS}\s+{ADV}(?:taking|attending|doing)\s+(?=(?:an?|some|easy|my)\s+(?:\w+\s+)?(?:class|classes|course"
        r"|courses|exercises|workshop|lessons)\b)", "event", "event"),
    form("visited", PEOPLE,
        rf"{HAVING}{ADV}(?:visited|explored|toured|been\s+to|travell?ed\s+to|flew\s+to|went\s+to"
        r"|took\s+a\s+trip\s+to)\s+(?=[A-Z]|the\s+[A-Z])", "place", "place"),
    form("plays", PEOPLE,
        rf"(?:\s+{USED}{NOT}{ADV}plays?|(?:{IS}|{HAVE}been)\s+{ADV}(?:playing|getting\s+into)|{HAVING}{ADV}"
        r"(?:started\s+(?:playing|learning)|played|taken\s+up|took\s+up))\s+(?!with\b|for\b|an?\s+(?:\w+\s+)?"
        r"(?:role|part|hobby|team)\b|along\b|around\b)", "thing", "activity"),
    form("plays", PEOPLE,
        r"\s+(?P<ended>used\s+to)\s+(?=(?:go\s+(?:\w+\s+)?\w+ing|ride|dance|swim|run|ski|surf|paint|draw|sing)\b)",
        "matter", "activity"),
    form("studies", PEOPLE,
        rf"(?:\s+{USED}{NOT}{ADV}(?:study|studies)|(?:{IS}|{HAVE}been)\s+{ADV}(?:studying|learning|majoring\s+in"
        rf"|taking\s+(?:a\s+)?(?:course|class|lessons)\s+in)|{HAVING}{ADV}(?:started|began)\s+(?:learning"
        r"|studying))\s+(?:about\s+|to\s+)?(?!a\s+lot\b|so\s+much\b|how\b)", "thing", "subject"),
    form("member_of", PEOPLE,
        rf"{IS}\s+{ADV}(?:an?\s+)?(?:\w+\s+)?(?:part|member)\s+of\s+(?=(?:an?|the|my|our|this)\s)(?!the\s+"
        r"(?:process|journey|fun|difference|problem|reason|solution)\b)", "thing", "organisation"),
    form("member_of", PEOPLE,
        rf"{HAVING}{ADV}(?:joined|joins?|been\s+accepted\s+(?:in)?to)\s+(?=(?:an?|the|my|our)\s)",
        "thing", "organisation"),
    form("member_of", PEOPLE,
        rf"(?:{IS}\s+{ADV}(?:in|on|with)|{HAVING}moved\s+to)\s+(?=(?:an?|the|my|our)\s+(?:[\w-]+\s+){{0,4}}(?:team"
        r"|program|programme|club|band|choir|crew|league|committee|board)\b)", "thing", "organisation"),
    form("responsible_for", PEOPLE,
        rf"{IS}\s+{ADV}(?:responsible\s+for|in\s+charge\s+of|heading(?:\s+up)?|looking\s+after|taking\s+care\s+of"
        r"|running|leading|managing)\s+(?=(?:an?|the|our|my|\w+ing)\s)", "matter"),
    form("responsible_for", frozenset(("me", "us", "name", "kin", "third")),
        rf"{HAVING}{ADV}(?:leads?|manages?|handles?|maintains?|looks?\s+after|takes?\s+care\s+of|heads?(?:\s+up)?"
        r"|took\s+over|looks\s+after|runs)\s+(?=(?:an?|the|our|all)\s)", "thing"),
    form("responsible_for", frozenset(("name",)), rf"\s+{ADV}(?:leads|heads(?:\s+up)?|manages|maintains)\s+", "thing"),
    form("on_call", PEOPLE, rf"{IS}\s+{ADV}(?P<o>on\s+call)\b", ""),
    # plans and wishes
    form("plans", _PLAN,
        rf"{IS}\s+{ADV}(?:planning\s+(?:on|to)|going\s+to|gonna|about\s+to|off\s+to|set\s+to|(?:all\s+)?ready\s+to"
        r"(?:\s+start)?|aiming\s+to|determined\s+to|hyped\s+to|psyched\s+to)\s+", "deed", "plan"),
    form("plans", _PLAN,
        rf"{IS}\s+{ADV}(?:planning|putting\s+together|organi[sz]ing|preparing)\s+(?=(?:an?|the|my|our|some"
        r"|another)\s)", "whole", "plan"),
    form("plans", _PLAN - {"us"},
        rf"{_WILL}\s+(?P<not>not\s+|never\s+)?{ADV}(?=[a-z])(?:be\s+(?=\w+ing\b))?(?!(?:be|have|let|give\s+you|see"
        r"|say|admit|tell\s+you|miss|love|need|get\s+there|support|always)\b)", "deed", "plan"),
    form("plans", frozenset(("us",)),
        rf"{_WILL}\s+(?P<not>not\s+|never\s+)?{ADV}(?=[a-z])(?:be\s+(?=\w+ing\b))?{_AHEAD}", "deed", "plan"),
    form("plans", MINE, rf"(?:\s+(?:need|have)\s+to|\s+gotta|['’]ve\s+got\s+to)\s+{ADV}", "deed", "plan"),
    form("plans", _PLAN,
        rf"{IS}\s+{ADV}(?!going\s+to\s+(?!the\b|an?\b|my\b|our\b|(?-i:[A-Z])))(?=(?:going|coming|taking|moving"
        "|meeting|visiting|having|getting|flying|driving|starting"
        "|leaving|travell?ing|hosting|seeing|running|bringing|giving|attending|throwing|heading|selling"
        rf"|doing)\b){_AHEAD}", "deed", "plan"),
    form("plans", frozenset(("name", "kin", "third")),
        rf"\s+(?=(?:comes|arrives|leaves|starts|visits|moves|flies|gets|brings)\b){_AHEAD}", "deed", "plan"),
    form("plans", NONE,
        rf"let['’]?s\s+(?!(?:decide|see|say|hope|keep|talk|take|not|be)\b)"
        rf"(?:get\s+everything\s+ready\s+and\s+)?(?=[a-z]){_AHEAD}", "deed", "plan"),
    form("plans", NONE, r"(?:can\s+you\s+|please\s+)?remind\s+me\s+to\s+", "deed", "plan"),
    form("wants", PEOPLE,
        rf"(?:\s+{NOT}{ADV}(?:(?:wants?|hopes?|wish|wishes|aims?|dreams?)\s+to|dreams?\s+of)|(?:['’]d|\s+would)\s+{ADV}"
        rf"(?:love|like)\s+to|(?:{IS}|{HAVE}been)\s+{ADV}(?:hoping\s+to|looking\s+forward\s+to|dying\s+to|trying\s+to)|(?:\s+can['’]?t|\s+cannot)\s+wait\s+to)\s+(?!thank\b|hear(?:ing)?\b|know\b|say\b"
        r"|tell\b|see\s+(?:your|what|how|you)\b)", "deed", "plan"),
    form("wants", NONE,
        r"(?:can['’]?t\s+wait\s+to|hoping\s+to|looking\s+forward\s+to|hope\s+to)\s+(?!hear(?:ing)?\b|know\b"
        r"|see\s+(?:your|what|how|you|more)\b)", "deed", "plan"),
    form("wants", MINE, r"\s+(?:want|(?:['’]d|would)\s+like)\s+(?=(?:an?|another|some|the)\s)", "thing", "plan"),
    form("promised", PEOPLE,
        rf"{HAVING}{ADV}promised\s+(?:(?:him|her|them|you|me|us|mum|mom|dad|{NAME})\s+)?(?:that\s+|to\s+)?",
        "matter", "promise"),
    form("decided", NONE,
        r"let['’]?s\s+(?:just\s+)?(?:go\s+with|use|stick\s+with|switch\s+to)\s+", "thing", "decision"),
    form("decided", MINE,
        rf"(?:{IS}\s+{ADV}going\s+with|{HAVE}{ADV}(?:gone|settled)\s+(?:with|for|on))\s+(?=(?:an?|the|our)\s|[A-Z])",
        "thing", "decision"),
)  # fmt: skip
"""Forms with a subject and a verb."""

PHRASES = (
    anywhere("likes",
        r"(?<!\w)(?<!\bis\s)(?<!\bare\s)(?<!\bwas\s)(?<!['’]s\s)(?<!\bof\s)(?P<s>my)\s+"
        r"(?:all-time\s+)?favou?rite\s+(?P<o>(?!(?:was|is|are|were|has|to|of|and|so|but)\b|part|thing|time|way"
        r"|place|moment|memory|memories"
        r"|one|ones|people|person)[A-Z\w][\w:'’-]*(?:\s(?!by\b|for\b|with\b|at\b|on\b|from\b|is\b|are\b|was\b"
        r"|were\b|has\b|to\b|in\b|of\b|so\b"
        r"|and\b)[\w-]+)?)(?![\w'’-]|\s+(?:is|are|was|were|has|of)\b|\s\w+\s+(?:is|are|was)\b)", "preference"),
    anywhere("likes",
        r"(?<!\w)(?P<s>my)\s+(?:love|passion)\s+(?:for|of)\s+(?P<o>[\w-]+(?:\s(?!and\b|is\b|has\b|to\b|with\b|brings?\b|makes?\b|helps?\b|keeps?\b|gives?\b|grew\b|drives\b|started\b"
        r"|that\b|in\b)[\w-]+){0,4})", "preference"),
    anywhere("likes",
        r"(?<!\w)(?P<o>(?!(?:it|that|this|what|which|he|she|they|who|and|just|also|really|truly)\b)[\w-]+(?:\s(?!(?:really|truly"
        r"|also|just|always)\b)[\w-]+)?)\s+(?:always\s+|really\s+)?(?:helps|calms|relaxes|makes)\s+(?P<s>me)\s+"
        r"(?:relax|unwind|de-stress|destress|escape\s+stress|down|happy|so\s+happy|calm)\b", "preference"),
)  # fmt: skip
"""Forms found anywhere in a sentence."""
