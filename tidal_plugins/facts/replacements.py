"""Replacements: statements by which a fact's value holds no more, though their subject is not the fact's key.

«Friday is my last day at Corvus» ends an employer, «raise the limit to 40» sets a limit. They are held against a fact
that was set, never against another text: there such a statement is a change over time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from tidal_plugins.english.changes import changes, is_unsure
from tidal_plugins.english.kinds import kind_named, kind_of, more_general
from tidal_plugins.english.questions import ends_asking
from tidal_plugins.english.quotations import FENCED
from tidal_plugins.english.sentences import LONGEST, sentences
from tidal_plugins.facts.claims import plain_words, words_of
from tidal_plugins.model.fact import Claim
from tidal_plugins.patterns import lazy_re
from tidal_plugins.scoring.text import terms

_GENERIC = frozenset("name owner home main new current usual default type value number".split())
"""Words of keys that say nothing of what a fact is about."""
_LEAVES = (
    r"(?:last (?:day|week|month|shift) (?:at|with|for)|(?:just |have |has |'ve |i |we |she |he |they )(?:left|quit)|"
    r"leaving|quitting|resigned from|retired from|done with|no longer (?:\w+ ){0,3}|stopped (?:\w+ing )?|gave up|"
    r"given up|gone (?:right )?off|dropped|dropping|ditched|instead of|rather than|moved (?:away )?(?:from|off)|"
    r"moving away from|switched (?:away )?from|got rid of|sold|cancelled|canceled|not (?:with|at|on|in|using) )"
)
"""Words before a value that is over."""
_GOES = (
    r"(?:(?:'s| is| are| was)(?: now)? (?:off|out|gone|no longer|leaving|retired|history|deprecated|the former|"
    r"not \w+ (?:\w+ )?any ?more)\b|"
    r"(?: becomes| is now| will be)(?: the| a| our)? (?:spare|backup|fallback|standby|reserve)\b|"
    r"(?: has| have|'s)? ?(?:left|quit|retired|resigned|handed (?:it |that )?over|hands (?:it |that )?over|"
    r"stepped down|steps down)\b|(?: has)? moved to\b)"
)
"""Words after a value that is over."""
_SETS = r"\b(?:rais|lower|set|chang|increas|reduc|bump|cut|drop|put|mov|extend|shorten)(?:e|ed|es|ing|s|ting|ped)?\b"
_FIGURE = (
    r"[-+]?[$£€]?\d+(?:[.,:]\d+)*(?:\s?%|\s?(?!(?:then|and|now|from|for|please|as|at|on|in|to|by|or|but|this|so|if|with)\b)"
    r"[a-z]{1,12}\b)?"
)
_WE_HAVE = r"\b(?:i|we)(?:'re|'m|'ve| are| am| have| got| get| moved| move)(?: \w+){0,2}?(?: on| in| at| to)? "
_PERSON = lazy_re(r"[A-ZÀ-ÖØ-Þ][\w'’-]+(?: [A-ZÀ-ÖØ-Þ][\w'’-]+){1,2}")


def replacements(text: str, values: Mapping[str, Any]) -> list[Claim]:
    """Return what a text says of facts whose value it ends or replaces. ``values`` are the facts' values by key."""
    found: dict[str, Claim] = {}
    plain = FENCED.sub(" ", text).replace("’", "'")
    for start, end in sentences(plain):
        sentence = plain[start:end]
        if end - start > LONGEST or ends_asking(sentence) or is_unsure(sentence):
            continue
        for key, value in values.items():
            if key not in found and isinstance(value, str | int | float) and not isinstance(value, bool):
                said = str(value).strip()
                claim = next(_read(sentence, key, said, text[start:end]), None) if said else None
                if claim:
                    found[key] = claim
    return list(found.values())


def _read(sentence: str, key: str, said: str, quote: str) -> Iterator[Claim]:
    about = bool((plain_words(key) - _GENERIC) & set(terms(sentence)))
    yield from _replaced(sentence, key, said, quote, about)
    kind = kind_named(key)
    wider = more_general(said) if kind and kind == kind_of(said) else ()  # a cappuccino is gone with all coffee
    patterns = [*_ended(said, about), *(pattern for word in wider for pattern in _ended(word, True))]
    if any(pattern.search(sentence) for pattern in patterns):
        yield Claim(key, said, quote, negated=True)
    yield from _set(sentence, key, said, quote)


def _replaced(sentence: str, key: str, said: str, quote: str, about: bool) -> Iterator[Claim]:
    """Yield a claim where a sentence names the value that it replaces: «88 mg instead of 75»."""
    for change in changes(sentence):
        old, new = set(terms(change.old, stop=frozenset())), set(terms(change.new, stop=frozenset()))
        mine = set(terms(said, stop=frozenset()))
        if not old or old == new or not (old == mine or (old < mine and _figures(old) and mine - old <= new)):
            continue
        if not (about or old != mine or len(mine) > 1):
            continue
        if new and bool(_figures(new)) == bool(_figures(mine)) and (_figures(new) or change.new[:1].isupper()):
            figure = re.search(_FIGURE, change.new, re.IGNORECASE)
            yield Claim(key, figure[0] if figure else change.new, quote, explicit=True)
        else:
            yield Claim(key, said, quote, negated=True)


def _set(sentence: str, key: str, said: str, quote: str) -> Iterator[Claim]:
    """Yield a claim where a sentence sets what the key is named after: «raise the limit to 40», «we're in room 9»."""
    head = _head(key)
    if not head or not _figures(set(terms(said, stop=frozenset()))):
        return
    match = _setting(head).search(sentence)
    if match and set(terms(match["which"])) <= plain_words(key):
        yield Claim(key, match["value"].strip(), quote, explicit=True)
    numbered = re.fullmatch(rf"{re.escape(head)} (\d+\w?)", said, re.IGNORECASE)
    match = numbered and _numbered(head).search(sentence)
    if numbered and match and match["value"] != numbered[1]:
        yield Claim(key, f"{head} {match['value']}", quote, explicit=True)


def _head(key: str) -> str:
    """Return the noun that a key is about: «limit» of «upload limit», and of «limit of uploads»."""
    words = [word.lower() for word in words_of(key)]
    return words[words.index("of") - 1] if "of" in words[1:] else words[-1] if words else ""


def _figures(words: set[str]) -> set[str]:
    return {word for word in words if any(map(str.isdigit, word))}


@lru_cache(maxsize=1024)
def _ended(said: str, about: bool) -> tuple[re.Pattern[str], ...]:
    """Return patterns of sentences in which a value is over. A person may go by one name where the key is spoken of."""
    names = [said, *(said.split() if about and _PERSON.fullmatch(said) else ())]
    if not about and not said[:1].isupper() and len(said.split()) < 2:
        return ()  # «no longer red» may be said of anything
    either = "|".join(re.escape(name) for name in names)
    patterns = [rf"\b{_LEAVES} ?(?:the |my |our |any )?(?:{either})\b", rf"(?<![\w-])(?:{either}){_GOES}"]
    if about:
        patterns.append(rf",? (?:and )?not (?:the |a )?(?:{either})(?=\s*(?:[.,;!)]|$))")
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


@lru_cache(maxsize=1024)
def _setting(head: str) -> re.Pattern[str]:
    which = rf"(?:the|our|my|your|that|this) (?P<which>(?:[\w-]+ ){{0,2}}){re.escape(head)}"
    return re.compile(rf"{_SETS}(?: up| down)? {which} (?:up |down )?to (?P<value>{_FIGURE})", re.IGNORECASE)


@lru_cache(maxsize=1024)
def _numbered(head: str) -> re.Pattern[str]:
    return re.compile(rf"{_WE_HAVE}{re.escape(head)} (?P<value>\d+\w?)\b", re.IGNORECASE)
