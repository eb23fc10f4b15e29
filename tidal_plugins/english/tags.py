"""Read by rules what a text is about [Tidal §2.2]."""

from __future__ import annotations

import re
from collections import Counter

from tidal_plugins.english.sentences import ends
from tidal_plugins.english.words import CLEAR_MONTHS, PLEASANTRIES, STOP_WORDS, UNSPACED, WEEKDAYS
from tidal_plugins.patterns import lazy_re


def tags(text: str, *, limit: int = 8) -> tuple[str, ...]:
    """Return what ``text`` is about, lower-cased: at most ``limit`` labels of at most 40 characters, no two alike.

    In this order: hashtags, quoted terms and code; files, identifiers, addresses and packages with their versions;
    names; then other words, those first that come often or are long. A capitalised word that begins a sentence is a
    name only when it stands elsewhere in the text too.
    """
    text = ends(text)
    found: dict[str, None] = {}
    for kind in (_marked, _technical, _named):
        labels: list[str] = []
        text = kind(text, labels)
        if labels:
            found |= dict.fromkeys(label for label in labels if 1 < len(label) <= _MAX_TAG and label not in DULL)
    if len(found) < limit:
        parts = set(_WORD.findall(" ".join(found))) if found else ()
        found |= dict.fromkeys(word for word in _words(text) if word not in parts)
    return tuple(found)[:limit]


_MAX_TAG = 40
DULL = (
    STOP_WORDS
    | PLEASANTRIES
    | frozenset(
        "don won might may one two three four five six seven eight nine ten first second third last next new old "
        "best better bad big little small long short high low lot lots bit kind sort part whole thing things "
        "something anything everything nothing someone anyone everyone way ways time times day days week weeks "
        "month months year years today tonight tomorrow yesterday morning afternoon evening night hour hours "
        "minute minutes ago later soon early late always often sometimes usually maybe perhaps probably "
        "definitely certainly actually really quite pretty almost already back away around along together else "
        "instead like love loved want wants wanted need needs needed know knows knew known think thinks thought "
        "feel feels feeling felt make makes made making take takes took taking taken give gives gave given goes "
        "going went gone gonna come comes came coming see sees saw seen look looks looking looked say says said "
        "saying tell tells told ask asks asked asking talk talking talked use uses used using try tries tried "
        "trying find finds found keep keeps kept put puts set start started starting stop stopped help helps "
        "helped work works worked working lets show shows showed mean means meant happen happens happened become "
        "seem seems able lol hmm true glad happy hope hoping wish guess believe remember forget note people "
        "person man woman guy guys different important possible available enough via per etc without within "
        "toward towards upon among across behind beyond near especially particularly exactly simply finally "
        "recently currently basically generally however therefore thus getting either anyway awesome amazing fun "
        "wonderful".split()
    ).union(CLEAR_MONTHS, WEEKDAYS)
)
"""Words that label nothing."""
_CAPITAL = "A-ZÀ-ÖØ-ÞĆČĎĐĘĚĞİŁŃŇŐŒŘŚŞŠŤŮŰŹŻŽΑ-ΩА-ЯЁЄІЇ"
_EXTENSION = (
    r"(?:py|pyi|ipynb|[cm]?js|jsx|tsx?|java|kt|c|h|cc|cpp|hpp|cs|go|rs|rb|php|swift|scala|sh|ps1|bat|sql|html?|s?css|"
    r"jsonl?|ya?ml|toml|ini|cfg|conf|env|xml|csv|tsv|md|rst|txt|log|lock|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|mp[34]|"
    r"wav|zip|gz|tar|db|sqlite|parquet|proto|tf|whl|exe|so|dll)"
)
_MARKED = lazy_re(r"""#(?<!\w#)([^\W\d]\w{1,39})(?!\w)|["“]([^"“”\n]{2,40})["”]|`([^`\n]{2,40})`""")
_HINT = lazy_re(r"[_./@=A-Z](?:(?<=\w[_./@=])(?=[\w=/])|(?<=[a-z][A-Z]))|://")
_TOKEN = lazy_re(r"\S+")
_ADDRESS = lazy_re(r"\w{2,8}://(?:www\.)?([\w.-]*\w)|([\w.+-]+@[\w-]+(?:\.[\w-]+)+\Z)")
_PINNED = lazy_re(r"([A-Za-z][\w.-]*)(?:[=~<>]=|@)v?(\d[\w.]*)")
_FILE = lazy_re(rf"[\w.-]*\w\.{_EXTENSION}", re.IGNORECASE)
_VERSIONED = lazy_re(rf"([{_CAPITAL}](?<!\w\w)[\w+#-]{{1,30}}) v?(\d{{1,4}}(?:\.\d{{1,6}}){{1,3}})(?![\w%])")
_HUMP = lazy_re(r"[a-z][A-Z]")
_EDGES = "\"'`()[]{}<>,;:!?.*…“”‘’"
_NAME_REST = rf"[\w-]*(?:['’][{_CAPITAL}]\w*)?"
_NAMES = lazy_re(
    rf"[{_CAPITAL}](?<!\w\w){_NAME_REST}(?: (?:(?:of|de|da|del|la|van|von)(?: the)? )?[{_CAPITAL}]{_NAME_REST}){{0,4}}"
)
_WORD = lazy_re(r"\w[\w-]+\w")
_UNSPACED_WORD = lazy_re(r"[ァ-ヺー]{3,}|(?<![㐀-鿿])[㐀-鿿]{2,4}(?![㐀-鿿])")
_UNSPACED_RUN = lazy_re(f"[{UNSPACED}]+")


def _marked(text: str, labels: list[str]) -> str:
    def take(match: re.Match[str]) -> str:
        label = " ".join(match[match.lastindex or 0].lower().split()).rstrip(",.!?;: ")
        if label.count(" ") < 4:
            labels.append(label)
        return " "

    return _MARKED.sub(take, text) if any(mark in text for mark in '#"“`') else text


def _technical(text: str, labels: list[str]) -> str:
    """Take out what programs and addresses are made of."""

    def take(match: re.Match[str]) -> str:
        token = match[0].strip(_EDGES)
        known = _technical_labels(token) if _HINT.search(token) and len(token) <= 200 else []
        labels.extend(known)
        return match[0].replace(token, " ") if known else match[0]

    for match in _VERSIONED.finditer(text):
        if match[2].count(".") > 1 or not _begins_sentence(text, match.start()):
            labels += [match[1].lower(), match[0].lower()]
    return _TOKEN.sub(take, text) if _HINT.search(text) else text


def _technical_labels(token: str) -> list[str]:
    if address := _ADDRESS.match(token):
        return [address[address.lastindex or 0].lower()]
    if pinned := _PINNED.fullmatch(token):
        return [pinned[1].lower(), f"{pinned[1]} {pinned[2]}".lower()]
    last = token.rpartition("/")[2]
    return [last.lower()] if _FILE.fullmatch(last) or _is_identifier(last.removesuffix("()")) else []


def _is_identifier(token: str) -> bool:
    parts = token.split(".")
    return all(map(str.isidentifier, parts)) and (
        len(parts) > 2 or "_" in token.strip("_") or bool(_HUMP.search(token))
    )


def _named(text: str, labels: list[str]) -> str:
    if text.isupper():
        return text
    found = [(match[0].split(), _begins_sentence(text, match.start())) for match in _NAMES.finditer(text)]
    if not found:
        return text
    times = Counter(word for words, _ in found for word in words)
    for words, begins in found:
        unsure = begins and times[words[0]] == 1 and (len(words[0]) == 1 or not words[0].isupper())
        labels.append(_bare(words[1:] if unsure else words))
    return text


def _begins_sentence(text: str, position: int) -> bool:
    before = text[max(0, position - 8) : position].rstrip(" \t\"'“‘([*_")
    return not before or before[-1] in ".!?…:。\n\r|#>•-"


def _bare(words: list[str]) -> str:
    """Return the name without stop words at its ends."""
    words = [word.lower() for word in words]
    while words and words[0] in STOP_WORDS:
        del words[0]
    while words and words[-1] in STOP_WORDS:
        del words[-1]
    return " ".join(words)


def _words(text: str) -> list[str]:
    unspaced = []
    if not text.isascii():
        unspaced, text = _UNSPACED_WORD.findall(text), _UNSPACED_RUN.sub(" ", text)
    counts = Counter(word for word in unspaced + _WORD.findall(text.lower()) if word not in DULL)
    salient = {word: -n * min(len(word), 10) for word, n in counts.items() if word[0].isalpha()}
    return sorted((word for word in salient if len(word) <= _MAX_TAG), key=salient.__getitem__)
