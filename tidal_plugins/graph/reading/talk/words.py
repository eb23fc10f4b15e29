"""The words that the readers of talk know: relatives, pets, roles, illnesses, and names that are none."""

from __future__ import annotations

from tidal_plugins.english.calendar import ANY_MONTH, WEEKDAY
from tidal_plugins.english.subjects import NOBODY

KIN = {
    **{
        word: f"{word}_of"
        for word in (
            "sister brother mother father daughter son wife husband partner aunt uncle cousin niece nephew "
            "grandmother grandfather friend neighbour colleague manager girlfriend boyfriend flatmate landlord "
            "godmother godfather mentor teacher coach stepmother stepfather stepson stepdaughter twin widow"
        ).split()
    },
    **dict.fromkeys("mum mom mam mama".split(), "mother_of"),
    **dict.fromkeys("dad papa".split(), "father_of"),
    **dict.fromkeys("gran grandma granny nan".split(), "grandmother_of"),
    **dict.fromkeys("grandpa grandad granddad".split(), "grandfather_of"),
    **dict.fromkeys("missus".split(), "wife_of"),
    "auntie": "aunt_of",
    **dict.fromkeys("kid kids child children sons daughters".split(), "child_of"),
    **dict.fromkeys("grandson granddaughter grandkids grandchildren".split(), "grandchild_of"),
    **dict.fromkeys("fiancé fiance fiancée fiancee".split(), "partner_of"),
    **dict.fromkeys("buddy bestie".split(), "friend_of"),
    **dict.fromkeys("neighbor".split(), "neighbour_of"),
    **dict.fromkeys("boss supervisor".split(), "manager_of"),
    **dict.fromkeys("coworker co-worker teammate".split(), "colleague_of"),
    **dict.fromkeys("roommate housemate".split(), "flatmate_of"),
    **dict.fromkeys("brother-in-law".split(), "brother_in_law_of"),
    "parents": "parent_of",
    **dict.fromkeys("sister-in-law".split(), "sister_in_law_of"),
}
"""What one person is to another, with the predicate that says so."""

FEMALE = frozenset(
    "sister mother mum mom mam mama daughter wife missus aunt niece grandmother gran grandma granny nan girlfriend "
    "godmother stepmother stepdaughter widow granddaughter fiancée sister-in-law".split()
)
MALE = frozenset(
    "brother father dad papa son husband uncle nephew grandfather grandpa grandad granddad boyfriend godfather "
    "stepfather stepson grandson fiancé brother-in-law".split()
)

CLOSE = (
    r"(?:kids?|child|children|sons?|daughters?|wife|husband|partner|missus|girlfriend|boyfriend|fianc[eé]e?|brother|"
    r"sister)"
)
"""Relatives who tell something without their name."""

_NO_NAMES = (
    "yes yeah yep yup no nope ok okay oh wow well so and but also plus hey hi hello thanks thank sure now then "
    "actually honestly hopefully luckily unfortunately sadly today yesterday tomorrow tonight lately recently "
    "currently finally anyway because since though although while if when where how why what who which that this "
    "these those there here it its my your our his her their i we you he she they the a an one two three first next "
    "last another some any all each every more most many much few not never only just even still maybe perhaps please "
    "let don't doesn't can could will would should may might must do does did is are was were has have had got get go "
    "going good great nice cool awesome amazing glad happy sorry congrats congratulations cheers morning evening "
    "night until after before during in on at by for from with about into over under of to as like nothing friend "
    "friends mon tue wed thu fri sat sun noted done got understood right sounds looks gotcha absolutely definitely "
    "agent assistant user ai christmas easter excellent perfect sharp alright listen brilliant lovely wonderful "
    "appreciate appreciated love loved loving been made took tried try went came saw met found gave gonna gotta wanna "
    "guess wish check keep take make give need want remember imagine speaking being having looking looked seems feel "
    "feels felt believe enjoy enjoyed stay working thinking planning heard hearing seeing reading getting started "
    "finished completed joined visited whoa woah ugh phew yay woohoo righto cheers excited stoked lucky mate everyone "
    "everything something anything someone sometimes usually basically apparently plus instead whatever both either "
    "neither such same bye create explain write describe list provide show generate continue summarize summarise act "
    "find add analyze analyse help convert rewrite translate discuss compare tell use using based"
).split()
NO_NAME = (
    rf"(?!(?i:{'|'.join(sorted({*NOBODY, *_NO_NAMES}, key=lambda word: (-len(word), word)))}|{WEEKDAY}|{ANY_MONTH})"
    rf"(?![\w-]))"
)
"""What stands with a capital and is the name of nobody."""
_PART = r"(?-i:[A-ZÀ-ÖØ-Þ])(?:[\w-]|['’](?!(?:s|m|re|ve|ll|d)\b))*"
_CAPITAL = r"(?=(?-i:[A-ZÀ-ÖØ-Þ]))"
"""Asked first, because it is cheap and most words have none."""
NAME = (
    rf"{_CAPITAL}(?:(?-i:Mrs?|Ms|Dr)\.?\s+)?{NO_NAME}{_PART}"
    rf"(?:\s(?:(?:van|de|der|von)\s)?{_CAPITAL}{NO_NAME}{_PART}){{0,2}}"
)
"""A name of one to three words."""
KIND = rf"(?:{'|'.join(sorted(KIN, key=lambda word: (-len(word), word)))})"
OF = (
    r"(?:(?:older|elder|big|little|younger|youngest|oldest|eldest|best|old|good|dear|late|twin|new|close|two|three"
    r"|own)\s+)?"
)
"""A word between «my» and a relative."""

PETS = (
    r"(?:dogs?|pupp(?:y|ies)|pups?|cats?|kittens?|rabbits?|hamsters?|parrots?|turtles?|tortoise|snakes?|horses?"
    r"|pony|collie|poodle|terrier|retriever|labrador|guinea pigs?)"
)
OWNED = (
    r"(?:car|bike|bicycle|motorbike|van|truck|boat|yacht|guitar|piano|violin|camera|laptop|telescope"
    r"|caravan|cabin)"
)
ROLE = (
    r"(?:(?:[\w-]+\s+){0,3}?(?:engineer|designer|developer|programmer|manager|teacher|doctor|nurse|lawyer|dancer"
    r"|singer|writer|"
    r"painter|artist|musician|pianist|cellist|scientist|researcher|student|professor|consultant|accountant|architect|"
    r"analyst|chef|cook|baker|farmer|gardener|carpenter|plumber|electrician|driver|pilot|judge|journalist|editor|"
    r"photographer|dentist|vet|clerk|coach|intern|freelancer|founder|mentor|ambassador|director|maintainer|administrator|admin|"
    r"translator|planner|president|lead|head|librarian|therapist|physio|midwife|barista|waiter|waitress|mechanic|"
    r"firefighter|paramedic|pharmacist|surgeon|secretary|assistant|specialist|officer|instructor|tutor|volunteer|"
    r"technician|tester|owner|captain|ceo|cto|cfo|coo))"
)
ILLNESS = (
    r"(?:[\w-]+\s+){0,3}?(?:injury|asthma|diabetes|migraines?|flu|cold|fever|cough|headaches?|arthritis|anxiety"
    r"|depression|"
    r"eczema|epilepsy|infection|concussion|fracture|stent|pacemaker|tear in \w+ \w+|palpitations?|insomnia|cancer"
    r"|covid|"
    r"malaria|pneumonia|shingles|(?:back|knee|neck|shoulder|hip|chest|stomach) pain|broken \w+|sprained \w+"
    r"|torn \w+|sore \w+|bad back|bad knee|toothache|tinnitus|allerg(?:y|ies)|blood pressure)"
)
BODY = (
    r"(?:knees?|backs?|ankles?|shoulders?|wrists?|hips?|legs?|arms?|feet|foot|neck|heads?|hands?|elbows?|teeth|tooth|"
    r"eyes?|ears?|throat|stomach|heart|ribs?|toes?|fingers?|hamstring|thyroid|meniscus)"
)
MEDICINE = (
    r"(?:[\w-]+(?:pril|statin|cillin|olol|dipine|mycin|profen|oxetine|formin|thyroxine|prazole|sartan|umab|fumarate|"
    r"cetamol|barbital|azepam|triptan|floxacin|solone|sone)|insulin|aspirin|antibiotics?|antihistamines?|vitamin \w+|"
    r"iron tablets?|(?:[\w-]+\s+){0,2}(?:tablets?|pills?|medication|medicine|inhaler|supplements?))"
)
PLANNED = (
    r"(?:tomorrow|tonight|soon|later|(?:next|this)\s+(?:week|weekend|month|year|summer|winter|spring|autumn|fall|"
    rf"morning|afternoon|evening|{WEEKDAY})|(?:on|until|till|by|from)\s+(?:(?:the\s+)?{WEEKDAY}|the\s+\d|\d"
    rf"|{ANY_MONTH})|"
    rf"in\s+{ANY_MONTH}|\d{{1,2}}\s+{ANY_MONTH}|{ANY_MONTH}\s+\d{{1,2}}|"
    r"in\s+(?:a|an|two|three|four|\d+)\s+(?:days?|weeks?|months?|hours?))"
)
"""Times that are ahead."""
