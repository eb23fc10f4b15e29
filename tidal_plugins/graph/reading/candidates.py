"""Candidates: what a parsed sentence may state, as subject, verb and object off the tree of its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from tidal_plugins.graph.reading.mentions import KIN

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

Mood = Literal["fact", "planned", "wished", "unreal"]
_MOODS: tuple[Mood, ...] = get_args(Mood)
"""From the surest to the least sure: of several that a sentence shows the last counts."""

MAX_WORDS = 8
"""Words of a name. Longer phrases are clauses."""
MAX_DEED_WORDS = 16
"""Words of what somebody plans, promises or decides."""

_SUBJECTS = frozenset(("nsubj", "nsubjpass"))
_OBJECTS = frozenset("dobj obj attr acomp oprd dative".split())
_LEFT_OUT = frozenset("relcl advcl appos conj cc punct parataxis ccomp mark intj meta dep preconj".split())
"""Parts after a word that say something of their own."""
_PARTS = frozenset("prep acl relcl advcl cc punct mark".split())
"""Words that begin a part of a phrase, before which a long one may end."""
_LEADING = frozenset("det predet cc preconj punct mark intj aux advmod neg expl".split())
_CONDITIONS = frozenset("if unless whether suppose supposing imagine assuming in_case lest".split())
_MAYBE = frozenset("maybe perhaps possibly hopefully hypothetically almost nearly".split())
_MODAL_MOODS: dict[str, Mood] = {
    "will": "planned", "'ll": "planned", "’ll": "planned", "wo": "planned", "shall": "planned", "gon": "planned",
    **dict.fromkeys("should can must ca ought".split(), "wished"),
    **dict.fromkeys("could might may would 'd".split(), "unreal"),
}  # fmt: skip
_GOVERNED: dict[str, Mood] = {
    **dict.fromkeys("plan go intend aim promise decide agree arrange prepare expect".split(), "planned"),
    **dict.fromkeys(
        "want hope wish like love need have try consider think dream prefer let help ask tell beg".split(), "wished"
    ),
    **dict.fromkeys(
        "pretend imagine guess doubt wonder suppose assume joke kid hear claim say refuse fail forget".split(), "unreal"
    ),
}
"""What a verb makes of the one that it governs."""
_TASTES = frozenset("like love prefer want appreciate".split())
_OVER = frozenset("stop quit leave cancel drop end abandon retire sell lose cease".split())
_QUIT = frozenset("quit stop leave sell cancel".split())
_PASSING = frozenset("think believe want plan go like be".split())
"""Verbs whose denial is that of what they govern: «I don't think that he works there»."""
_OVER_WORDS = frozenset(("longer", "anymore", "formerly", "previously", "ex"))
_NEGATIONS = frozenset("no not n't n’t never nobody none nothing neither nor without nt".split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a sentence may state. ``subject`` and ``object`` are tokens with the spans of their phrases."""

    subject: Token | None
    """``None`` is whoever speaks: «Had a check-up»."""
    verb: str
    object: Token
    object_span: tuple[int, int]
    """First and last token of the object, the last one not included."""
    form: str
    """The way that the two are bound: ``object``, ``of`` (with a preposition), ``is``, ``deed``, ``kin``, ``has``, …"""
    mood: Mood = "fact"
    negated: bool = False
    ended: bool = False
    marks: frozenset[str] = field(default_factory=frozenset)
    """What else the sentence's tree shows: the tense, the modal verb, that it asks, who governs it."""


def candidates(doc: Doc) -> Iterator[Candidate]:
    """Yield what each clause of a sentence may state, in the order of its verbs and nouns."""
    for token in doc:
        if token.dep_ == "ROOT" and token.pos_ in ("NOUN", "PROPN", "ADJ", "NUM"):
            mood, negated, ended, marks = _mood(token)
            yield Candidate(None, "", token, phrase(token), "fragment", mood, negated, ended, marks)
        if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
            yield from _of_verb(token)
        elif token.pos_ in ("NOUN", "PROPN"):
            yield from _of_noun(token)


def phrase(token: Token, most: int = MAX_WORDS) -> tuple[int, int]:
    """Return the first token of the phrase at ``token``, without its article, and the one behind its last."""
    doc, first, last = token.doc, token.left_edge.i, token.right_edge.i + 1
    for child in token.children:
        if child.dep_ in _LEFT_OUT and child.i > token.i:
            last = min(last, child.left_edge.i)
        elif child.dep_ in _LEFT_OUT:
            first = max(first, child.right_edge.i + 1)
    while first < token.i and (doc[first].dep_ in _LEADING or doc[first].is_punct or doc[first].is_space):
        first += 1
    while last - 1 > token.i and (doc[last - 1].is_punct or doc[last - 1].is_space):
        last -= 1
    if last - first > most:
        parts = [at for at in range(token.i + 1, first + most + 1) if doc[at].dep_ in _PARTS or doc[at].tag_ == "TO"]
        last = parts[-1] if parts and parts[-1] > token.i + 1 else min(last, first + most)
    return first, max(last, token.i + 1)


def kin_word(token: Token) -> str:
    """Return a noun as a word for a relative, or an empty text if it is none."""
    return next((word for word in (token.lower_, token.lemma_.lower()) if word in KIN), "")


def deed(token: Token) -> tuple[int, int]:
    """Return the span of a verb with what belongs to it, without its subject: «repaint the hall by Friday»."""
    last = token.right_edge.i + 1
    for child in token.children:
        if child.i > token.i and child.dep_ in ("conj", "cc", "punct", "advcl", "parataxis", "mark"):
            last = min(last, child.left_edge.i)
    return token.i, min(max(last, token.i + 1), token.i + MAX_DEED_WORDS)


# verbs


def _of_verb(verb: Token) -> Iterator[Candidate]:
    subjects: list[Token | None] = [*_subjects(verb)]
    if not subjects:
        if verb.dep_ != "ROOT" or verb.tag_ == "VB":
            return
        subjects = [None]
    mood, negated, ended, marks = _mood(verb)
    for subject in subjects:
        for name, object_, span, form in _objects(verb):
            if subject is not None and (object_ == subject or span[0] <= subject.i < span[1]):
                continue
            if form == "kin":
                if subject is not None:  # «she has two daughters»
                    yield Candidate(object_, name, subject, phrase(subject), form, mood, negated, ended, marks)
                continue
            own = negated or any(_is_denied(one) for one in (subject, object_) if one is not None)
            over = ended and not (object_ == verb and verb.lemma_ in _OVER)  # what is cancelled is so now
            over, form = over or form == "rival", "object" if form == "rival" else form
            yield Candidate(subject, name, object_, span, form, mood, own, over, marks)


def _is_denied(noun: Token) -> bool:
    return any(
        child.lower_ in ("no", "neither")
        for child in (*noun.children, *noun.head.children)
        if child.head in (noun, noun.head) and child.dep_ in ("det", "preconj")
    )


def _subjects(verb: Token) -> list[Token]:
    """Return who does it: the verb's own subject, or that of the verb that it is joined to or governed by."""
    for _ in range(4):
        own = [child for child in verb.children if child.dep_ in _SUBJECTS]
        if own:
            subject = own[-1]
            if subject.lower_ in ("who", "that", "which") and verb.dep_ == "relcl":
                subject = verb.head
            return [subject, *_joined(subject)]
        if verb.dep_ == "acl" and verb.tag_ == "VBN" and verb.head.pos_ in ("NOUN", "PROPN"):
            return [verb.head]
        if verb.dep_ not in ("conj", "xcomp") or verb.head == verb:
            return []
        if verb.dep_ == "conj" and verb.tag_ == "VB" and verb.head.tag_ != "VB":
            return []  # «it works, keep it» goes on with an order
        if verb.dep_ == "xcomp":
            between = [child for child in verb.head.children if child.dep_ in ("dobj", "dative") and child.i < verb.i]
            if between:
                return between[:1]
        verb = verb.head
    return []


def _joined(token: Token) -> list[Token]:
    found, rest = [], [token]
    while rest:
        rest = [
            child
            for one in rest
            for child in one.children
            if child.dep_ == "conj" and child.pos_ in ("NOUN", "PROPN", "PRON", "NUM", "ADJ")
        ]
        found += rest
    return found


def _objects(verb: Token) -> Iterator[tuple[str, Token, tuple[int, int], str]]:
    """Yield what follows a verb, with the words of the verb that lead to it."""
    name = " ".join([verb.lemma_.lower(), *(child.lower_ for child in verb.children if child.dep_ == "prt")])
    if any(child.dep_ == "auxpass" for child in verb.children):
        name = f"be {verb.lower_}"
    direct = ""
    for child in verb.children:
        if child.dep_ in _OBJECTS and child.i > verb.i and child.pos_ != "ADP":
            form = "is" if verb.lemma_ == "be" else "object"
            direct = direct or child.lower_
            for one in (child, *_joined(child)):
                rival = any(token.lower_ == "instead" for token in verb.doc[child.i : one.i])
                yield name, one, phrase(one), "rival" if rival else form
                if verb.lemma_ == "have" and kin_word(one):
                    yield kin_word(one), one, phrase(one), "kin"
            for prep in child.children:
                if prep.dep_ == "prep":  # «the owner of the mill»: the mill
                    yield from _behind(f"{name} {child.lemma_.lower()}", prep, "noun_of")
        elif child.lower_ in ("over", "than", "to") and verb.lemma_ in ("prefer", "choose"):
            continue  # «tea to coffee»
        elif child.dep_ in ("prep", "agent"):
            if verb.lemma_ == "be":
                yield name, child, (child.i, min(child.right_edge.i + 1, child.i + MAX_WORDS)), "state"
            yield from _behind(f"{name} {direct}".strip() if verb.lemma_ != "be" else name, child, "of")
        elif child.dep_ in ("advmod", "npadvmod") and child.i > verb.i and verb.lemma_ == "be" and _is_state(child):
            yield name, child, phrase(child), "is"
        elif child.dep_ == "npadvmod" and child.i > verb.i:
            yield f"{name} at", child, phrase(child), "when"
        elif child.dep_ in ("xcomp", "ccomp") and child.i > verb.i and child.pos_ in ("VERB", "AUX"):
            to = any(one.lower_ == "to" and one.dep_ == "aux" for one in child.children)
            yield name, child, deed(child), "that" if child.dep_ == "ccomp" else "to" if to else "ing"
    if verb.lemma_ != "be":
        rule = next((child.lower_ for child in verb.children if child.lower_ in ("always", "never")), "")
        modal = next((child.lower_ for child in verb.children if child.dep_ == "aux" and child.tag_ == "MD"), "do")
        yield rule or modal, verb, deed(verb), "deed"


def _is_state(adverb: Token) -> bool:
    """Return whether an adverb after «is» says where or how: «now» and «still» say nothing without what follows."""
    return adverb.lower_ in ("here", "there") or adverb.pos_ != "ADV" or not adverb.is_stop


def _behind(name: str, prep: Token, form: str) -> Iterator[tuple[str, Token, tuple[int, int], str]]:
    for child in prep.children:
        if child.dep_ in ("pobj", "pcomp"):
            for one in (child, *_joined(child)):
                yield f"{name} {prep.lower_}", one, deed(one) if one.pos_ == "VERB" else phrase(one), form
            for inner in child.children:
                if inner.dep_ == "prep" and form != "noun_of":
                    yield from _behind(f"{name} {prep.lower_} {child.lemma_.lower()}", inner, "noun_of")
        elif child.dep_ == "prep":
            yield from _behind(f"{name} {prep.lower_}", child, form)


# nouns


def _of_noun(noun: Token) -> Iterator[Candidate]:
    """Yield what a noun says with its neighbours: «my sister Noor», «Jelle, my landlord», «the shed at the mill»."""
    owner = next((child for child in noun.children if child.dep_ == "poss"), None)
    mood, _, _, marks = _mood(noun)
    mood = mood if mood == "unreal" else "fact"
    kin = kin_word(noun)
    for other in _same(noun):
        if kin and owner is not None and other.pos_ == "PROPN":
            yield Candidate(other, kin, owner, (owner.i, owner.i + 1), "kin", mood, marks=marks)
        elif "orders" not in marks and (other.dep_ == "appos" or other.head == noun):  # no «Salad: slice two onions»
            yield Candidate(noun, "be", other, phrase(other), "appos", mood, marks=marks)
    if owner is not None:
        if kin and not any(other.pos_ == "PROPN" for other in _same(noun)):
            yield Candidate(noun, kin, owner, (owner.i, owner.i + 1), "kin", mood, marks=marks)
        else:
            yield Candidate(
                owner,
                "have",
                noun,
                (noun.i if owner.i > noun.i else owner.right_edge.i + 1, phrase(noun)[1]),
                "has",
                mood,
                marks=marks,
            )
    for prep in noun.children:
        if prep.dep_ == "prep" and prep.i > noun.i and prep.lower_ != "of":
            for child in prep.children:
                if child.dep_ == "pobj":
                    yield Candidate(noun, f"be {prep.lower_}", child, phrase(child), "beside", mood, marks=marks)


def _same(noun: Token) -> Iterator[Token]:
    """Yield the other words for the one that a noun means."""
    for child in noun.children:
        if child.dep_ == "appos":
            yield child
    if noun.dep_ == "compound" and noun.head.pos_ == "PROPN" and noun.pos_ == "NOUN":
        yield noun.head
    if noun.dep_ == "appos":
        yield noun.head
    if noun.dep_ == "attr" and noun.head.lemma_ == "be":
        yield from (child for child in noun.head.children if child.dep_ in _SUBJECTS and child.pos_ == "PROPN")
    if noun.dep_ in _SUBJECTS and noun.head.lemma_ in ("be", "call", "name"):
        yield from (child for child in noun.head.children if child.dep_ in ("attr", "oprd") and child.pos_ == "PROPN")


# mood


def _mood(token: Token) -> tuple[Mood, bool, bool, frozenset[str]]:
    """Return how a clause is meant: its mood, whether it is denied, whether it is over, and what else it shows."""
    verb, moods, marks = token, list[Mood](), set[str]()
    while verb.pos_ not in ("VERB", "AUX") and verb.head != verb:
        verb = verb.head
    negated, ended, last = False, verb == token and verb.lemma_ in _QUIT and verb.tag_ in ("VBD", "VBN"), verb
    for last, governed in _above(verb):
        if _is_negated(last):
            negated = negated or last == verb or last.lemma_ in _PASSING
            marks.add("neg" if last == verb else "neg above")
        ended = ended or _is_over(last, governed)
        for mood, mark in _signs(last, governed):
            moods.append(mood)
            marks.add(mark)
        if governed is not None:
            marks.add(f"under {last.lemma_}")
    mood = max(moods, key=_MOODS.index, default="fact")
    conditions = [child for child in last.children if child.dep_ == "advcl" and _is_condition(child)]
    if conditions:
        marks.add("if")  # a function that raises an error if … does raise it
        mood = "fact" if mood == "fact" and conditions[0].i > last.i else "unreal"
    return mood, negated, ended, frozenset(marks.union(_kinds(verb))) - {""}


def _above(verb: Token) -> Iterator[tuple[Token, Token | None]]:
    """Yield a verb and those above it in its clause, each with the verb that it governs, or ``None`` for the one that
    it is joined to: «I went and bought»."""
    governed = None
    while True:
        yield verb, governed
        if verb.dep_ not in ("xcomp", "ccomp", "advcl", "acl", "conj", "pcomp") or verb.head == verb:
            return
        joined = verb.dep_ == "conj"
        if (verb.dep_ == "advcl" and _is_condition(verb)) or (joined and any(map(_is_subject, verb.children))):
            return
        governed, verb = None if joined else verb, verb.head


def _is_negated(verb: Token) -> bool:
    beside = ("advmod", "det", "nsubj", "preconj", "cc")
    return any(one.dep_ == "neg" or (one.lower_ in _NEGATIONS and one.dep_ in beside) for one in verb.children)


def _is_over(verb: Token, governed: Token | None) -> bool:
    """Return whether a verb, or a word beside it, says that something is no more."""
    for child in verb.children:
        inside = child.subtree if child.dep_ in ("advmod", "neg") else (child,)
        if any(one.lower_ in _OVER_WORDS for one in inside):
            return True
    used = verb.lemma_ == "use" and verb.tag_ in ("VBD", "VBN")
    return governed is not None and (used or verb.lemma_ in _OVER)


def _signs(verb: Token, governed: Token | None) -> Iterator[tuple[Mood, str]]:
    """Yield the moods that a verb and the words beside it give, with their marks."""
    for child in verb.children:
        low = child.lower_
        if child.dep_ == "aux" and (child.tag_ == "MD" or low in _MODAL_MOODS):
            taste = low in ("would", "'d") and verb.lemma_ in _TASTES  # «I'd love to» is a wish, «I'd ring her» none
            yield "wished" if taste else _MODAL_MOODS.get(low, "wished"), f"modal {low}"
        if (child.dep_ == "mark" and low in _CONDITIONS) or low in _MAYBE:
            yield "unreal", ""
    if governed is not None:
        to = any(child.lower_ == "to" and child.dep_ == "aux" for child in governed.children)
        mood = _GOVERNED.get(verb.lemma_) if to or verb.lemma_ != "go" else None  # «I went hiking»
        if mood:
            yield mood, f"under {mood}"


def _kinds(verb: Token) -> Iterator[str]:
    """Yield the marks of a question, of an order, and of the verb's tense and place."""
    doc, root = verb.doc, verb
    while root.head != root:
        root = root.head
    if "?" in doc.text[-3:]:
        yield "asks"
    if len(doc) > 1 and doc[0].tag_ in ("WP", "WRB", "WDT", "WP$") and doc[1].pos_ in ("AUX", "VERB"):
        yield "asks"
    if len(doc) > 1 and doc[0].pos_ == "AUX" and _is_subject(doc[1]):
        yield "asks"
    if root.tag_ == "VB" and not any(map(_is_subject, root.children)):
        yield "orders"
    yield f"tag {verb.tag_}"
    yield f"dep {verb.dep_}"
    if any(child.dep_ == "aux" and child.lemma_ == "have" for child in verb.children):
        yield "perfect"


def _is_subject(token: Token) -> bool:
    return token.dep_ in _SUBJECTS


def _is_condition(clause: Token) -> bool:
    return any(child.dep_ == "mark" and child.lower_ in _CONDITIONS for child in clause.children)
