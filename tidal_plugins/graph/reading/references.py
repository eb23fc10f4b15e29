"""References: whom «she» and what «it» means, among what an episode has named so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidal_plugins.graph.reading.candidates import kin_word, phrase
from tidal_plugins.graph.reading.parsing import Sentence
from tidal_plugins.graph.reading.vocabulary import FEMALE, HE, IT, MALE, SHE, THEY
from tidal_plugins.model.graph import Mention

if TYPE_CHECKING:
    from spacy.tokens import Token

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
