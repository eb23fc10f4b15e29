"""Closed lists of words: months and weekdays, stop words, past forms, words that deny; and the stems of words."""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from typing import Any

from tidal_plugins.patterns import lazy_re

UNSPACED = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # iteration mark, Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
"""Characters of the scripts that put no white space between words, as the inside of a character class."""


MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
SHORT_MONTHS = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec")
CLEAR_MONTHS = tuple(month for month in MONTHS if month != "may")
"""The months whose names mean nothing else: «may» is a verb more often than a month."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MONTH = rf"(?:{'|'.join(MONTHS)})"
CLEAR_MONTH = rf"(?:{'|'.join(CLEAR_MONTHS)})"
SHORT_MONTH = rf"(?:{'|'.join(SHORT_MONTHS)})"
ANY_MONTH = rf"(?:{'|'.join((*MONTHS, *SHORT_MONTHS))})"
WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)})"


def month_number(name: str) -> int:
    """Return the number of a month, 1 to 12, by its name or the beginning of it; three letters are enough."""
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name[:3].lower()))


TIME_WORDS = frozenset(
    "yesterday today tonight tomorrow ago recently weekend last next week weeks month months year years".split()
).union(CLEAR_MONTHS, WEEKDAYS, (f"{day}s" for day in WEEKDAYS))
"""Words by which a text says when something was."""


STOP_WORDS = frozenset(
    # articles, pronouns, determiners
    "a an the i me my mine myself we our ours ourselves you your yours yourself yourselves he him his himself she her "
    "hers herself it its itself they them their theirs themselves this that these those one some any each every other "
    "another such own same both all few more most much many "
    # question words and connectives
    "who whom whose which what when where why how and or but if because as until while than so though although "
    "whether since unless "
    # prepositions and particles
    "of at by for with about against between into through during before after above below to from up down in out on "
    "off over under upon again further once then here there also just only very too even still yet ever now "
    # auxiliaries
    "am is are was were be been being have has had having do does did doing done can could will would shall should "
    "might must ought let get got "
    # negations
    "no nor not none never neither "
    # what contractions leave behind, and contractions that are typed without the apostrophe
    "s t ll ve re didn doesn isn aren wasn weren hasn haven hadn couldn shouldn wouldn mustn needn ain "
    "im ive dont didnt doesnt isnt arent wasnt werent cant couldnt wouldnt shouldnt havent hasnt wont youre "
    "theyre thats".split()
)
"""Lower-case words that no search needs. «don», «won», «may» and «us» are also names or nouns and are not listed."""

PLEASANTRIES = frozenset(
    "yes yeah yep nope ok okay sure thanks thank great good nice cool fine right well please sorry welcome hello "
    "hi hey bye wow haha thx cheers agreed perfect awesome goodbye "
    # other languages in Latin letters
    "danke super gut gerne merci gracias vale bien bueno perfecto obrigado obrigada grazie bene dank bedankt goed tack "
    "takk tak kiitos dzięki dziękuję dobrze děkuji hvala köszönöm teşekkürler mulțumesc".split()
)
"""Words of greetings, thanks and assent."""

EVERYDAY = PLEASANTRIES | frozenset(
    "see know understand understood noted got get done do make let go going ahead on keep continue proceed carry "
    "start stop wait try again retry repeat run rerun test tests check look looks sound sounds work works worked "
    "working mean help show fix fixed moment minute second thing things way morning afternoon evening night day later "
    "soon mind back one two first next last other another both all same different wrong correct true exactly "
    "absolutely course problem worries bit lot makes sense point question questions idea think guess hope want need "
    "like yet still already maybe perhaps really pretty much very more less better best quick pass passes passed "
    "failed fails "
    # other languages
    "ja nein doch sí si oui non não nie ne bitte favor oke klar genau natürlich entendu compris entiendo claro certo "
    "да нет спасибо хорошо ладно ок дякую так 好的 好 谢谢 是的 可以 继续 はい うん 네 감사 사합 합니 니다".split()
)
"""Words that make no text of their own: what consists of them alone anybody says any day, and it tells nothing."""


PAST_FORMS = dict(
    pair.split("/")
    for pair in "sent/send bought/buy paid/pay wrote/write written/write made/make did/do took/take taken/take "
    "gave/give given/give told/tell met/meet got/get went/go gone/go built/build found/find ran/run spoke/speak "
    "spoken/speak chose/choose chosen/choose sold/sell brought/bring held/hold kept/keep left/leave drew/draw "
    "drove/drive taught/teach put/put set/set cut/cut".split()
)
"""The infinitives of irregular past forms."""


def is_past(word: str) -> bool:
    """Return whether a lower-case word is the past form of a verb."""
    return word in PAST_FORMS or (word.endswith("ed") and len(word) > 4)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word by Snowball's English rules; an irregular past has that of its present.

    Safe to use from several threads: a stemmer keeps the word that it works on, so that each call has its own.
    """
    return str(_stemmer()().stemWord(PAST_FORMS.get(word, word)))


@cache
def _stemmer() -> Any:
    """Return the class of Snowball's English stemmer, without the thirty other languages that its package imports."""
    if "snowballstemmer" in sys.modules or (found := find_spec("snowballstemmer")) is None:
        return import_module("snowballstemmer.english_stemmer").EnglishStemmer
    alone = ModuleSpec(f"{__name__}.snowball", None, is_package=True)
    alone.submodule_search_locations = found.submodule_search_locations
    sys.modules.setdefault(alone.name, module_from_spec(alone))
    return import_module(f"{alone.name}.english_stemmer").EnglishStemmer


_NOT = "not|never|cannot"

NEGATED = lazy_re(rf"\b(?:{_NOT}|no longer|hardly|no|\w+n't)\b")
"""The words by which two lower-case sentences differ when one denies the other."""
DENIAL = lazy_re(rf"(?:\b(?:{_NOT}|no|nothing|unlike)\b|n['’]t\b)[^.,;:!?\n]*+", re.IGNORECASE)
"""A denial, to the end of its clause."""
