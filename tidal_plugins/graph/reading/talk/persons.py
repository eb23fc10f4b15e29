"""The persons of a text: who speaks, who is spoken to, and whom «he» and «her» mean."""

from __future__ import annotations

import re

from tidal_plugins.graph.reading.arguments import Sentence
from tidal_plugins.graph.reading.talk.words import FEMALE, KIND, MALE, NAME, OF
from tidal_plugins.graph.reading.vocabulary import mention
from tidal_plugins.model.graph import Mention
from tidal_plugins.patterns import lazy_re

_SPEAKER = lazy_re(
    r"\A\W{0,4}+(?:(?:hi|hello|hey|morning|good morning)[,.!]?\s+)?(?:(?:it['’]?s|this is|it is)\s+(?:me,\s+)?)?"
    rf"(?P<name>{NAME}|[a-z]{{3,12}}(?=\s+here))"
    r"(?:\s+here\b|\)(?=\s))",
    re.IGNORECASE,
)
_ANNOUNCED = lazy_re(
    rf"\A\W{{0,4}}+(?:(?:hi|hello|hey|morning|good morning)[,.!]?\s+)?(?:it['’]s|this is|it is)\s+(?P<name>{NAME})"
    "(?=[.,!])",
    re.IGNORECASE,
)
_NAMED = lazy_re(NAME)
_PLACED = lazy_re(r"\b(?:in|at|to|from|near|via|through|into|onto|off|on)\s+(?:the\s+)?\Z", re.IGNORECASE)
"""Words before a name that is no person's, or of somebody who is not spoken of."""
_RELATIVE = lazy_re(rf"(?<!\w)(?:my|our)\s+{OF}(?P<kin>{KIND})\b(?!,|\s+{NAME}|['’]s)", re.IGNORECASE)
_SELF = frozenset("i me my mine we us our".split())
_THIRD = {"he": MALE, "his": MALE, "him": MALE, "she": FEMALE, "her": FEMALE}


class Persons:
    """Keeps the persons that a text has named so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._named: list[Mention] = []
        self._kin: dict[str, str] = {}
        self._sentences: list[int] = []
        self.topic: Mention | None = None
        """What somebody was said to be responsible for: «Ada has it now»."""
        named = _SPEAKER.match(text) or _ANNOUNCED.match(text)
        self._speaker = mention(text, "person", *named.span("name")) if named else None

    def last(self, place: int) -> Mention | None:
        """Return the person who was named last before ``place``, if any."""
        return next((one for one in reversed(self._named) if one.end <= place), None)

    def meet(self, start: int, end: int) -> None:
        """Take note of the persons named in a sentence."""
        for match in _NAMED.finditer(self._text, start, end):
            signed = match.start() == 0 and not self._text[match.end() : end].strip(" .!")  # «Ada. He is ill.» is Ada's
            if not (
                signed
                or match[0].endswith(("ing", "ed", "ly"))
                or _PLACED.search(self._text, max(0, match.start() - 12), match.start())
            ):
                self._named.append(mention(self._text, "person", *match.span()))
        for match in _RELATIVE.finditer(self._text, start, end):
            self._named.append(mention(self._text, "person", *match.span()))
            self._kin[match[0]] = match["kin"].lower()
        self._named.sort(key=lambda one: one.start)
        self._sentences.append(start)

    def know(self, name: str, kin: str) -> None:
        """Take note of what somebody is to another: a sister is a she."""
        self._kin[name] = kin

    def speaker(self, sentence: Sentence, place: int) -> Mention:
        """Return the one who speaks, who is not named in the clause at ``place``."""
        if self._speaker:
            return self._speaker
        start = sentence.start + min(place, len(sentence.masked) - 1)
        return Mention("I", "person", "contextual", start, start + 1)

    def who(self, sentence: Sentence, kind: str, start: int, end: int) -> Mention | None:
        """Return the subject of a kind at a span of the sentence, or ``None`` if nobody knows whom it means."""
        if kind == "none":
            return self.speaker(sentence, start) if start == end else self._thing(sentence, start, end)
        if kind in ("thing", "code", "service"):
            return self._thing(sentence, start, end)
        return self.called(sentence, start, end)

    def called(self, sentence: Sentence, start: int, end: int) -> Mention | None:
        """Return the person that a word means: «I», «your», «her», a name, «my sister»."""
        if start == end:
            return self.speaker(sentence, start)
        said = sentence.masked[start:end]
        word = said.lower()
        if word in _SELF:
            if self._speaker:
                return self._speaker
            return sentence.mention("group" if word in ("we", "us") else "person", start, end)
        if word in ("you", "your"):
            return sentence.mention("person", start, end)
        if word in _THIRD:
            return self._third(_THIRD[word], sentence.start + start)
        return sentence.names.get(start) or self._thing(sentence, start, end, "person")

    def _third(self, gender: frozenset[str], place: int) -> Mention | None:
        """Return the one person named before ``place`` who may be a she, or a he.

        The only one who is known to be a she comes first, then the only one of this sentence and the one before.
        """
        other = MALE if gender is FEMALE else FEMALE
        before = [one for one in self._named if one.end <= place and not self._is_speaker(one)]
        fit = [one for one in before if self._kin.get(one.name) not in other]
        known = {one.name: one for one in fit if self._kin.get(one.name) in gender}
        if len(known) == 1:
            return next(iter(known.values()))
        since = next((start for start in reversed(self._sentences) if start <= place), 0)
        since = max((start for start in self._sentences if start < since), default=0)
        near = [one for one in fit if one.start >= since] or fit
        return near[-1] if len({one.name for one in near}) == 1 else None

    def _is_speaker(self, one: Mention) -> bool:
        return self._speaker is not None and one.name.lower() == self._speaker.name.lower()

    def _thing(self, sentence: Sentence, start: int, end: int, type: str = "concept") -> Mention | None:
        name = sentence.names.get(start)
        if name:
            return name
        articles = r"(?:the|an?|this|that)\s+" if type == "person" else r"(?:the|an?|this|that|our)\s+"
        article = re.match(articles, sentence.masked[start:end], re.IGNORECASE)
        start += article.end() if article else 0
        end = start + len(sentence.masked[start:end].rstrip(" ,"))
        return sentence.mention(type, start, end) if start < end else None
