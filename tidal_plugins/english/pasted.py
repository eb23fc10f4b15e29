"""What a person pastes: quoted speech, code, logs, mails, binary data, and texts given as matter for a task.

A person's own words are what is left. Where they end is told by marks (fences, quotation marks, the head of a mail, the
beginnings of lines of a log) and by what introduces a text: «Translate: …», «here is the mail:» and a new line. Such a
text ends with its paragraph if it begins on the line that introduces it, else with the turn.
"""

from __future__ import annotations

import re

from tidal_plugins.patterns import lazy_re, may_have_run

SPEECH = lazy_re(r"“[^”]*”|«[^»]*»|„[^“]*“|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
QUOTED = lazy_re(rf"{SPEECH.pattern}|`[^`\n]*`")
FENCED = lazy_re(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*$")


FEW_WORDS = 3
"""Words that a person may put in quotation marks and still mean: the «blue» one."""

_TASKS = (
    r"translat\w+|proof-?read|paraphrase|rephrase|reword|rewrite|summari[sz]e|shorten|polish|correct|edit|classify|"
    r"reply to|answer|respond to|comment on|analy[sz]e|review|improve|check|spell-?check|make"
)
_MATTER = (
    r"logs?|log ?file|output|error|errors|traceback|stack ?trace|mail|e-?mail|message|text|letter|review|reviews|"
    r"article|transcript|code|config|diff|post|comment|draft|paragraph|passage|sentence|essay|abstract|poem|lyrics|"
    r"quote|tweet|story|report|feedback|chat|thread|ticket|speech|dialogue|script|statement|note"
)
_INLINE = lazy_re(
    r"(?im)^[^\n:.!?]{0,60}\b(?:translat\w+|proof-?read|paraphrase|rephrase|reword|rewrite|summari[sz]e|polish|"
    r"spell-?check)\b[^\n:.!?\"“«]{0,60}:[ \t]+(?![\"“«„'])(?P<text>[^\n]+(?:\n(?![ \t]*\n)[^\n]+)*)"
)
"""A task and, after a colon, its matter on the same line, to the end of the paragraph."""
_BLOCK = lazy_re(
    rf"(?im)^[^\n]{{0,160}}\b(?:(?:{_TASKS})\b[^\n]{{0,80}}\b(?:this|these|the following|{_MATTER})\b|"
    rf"(?:(?:here(?:['’]s| is| are)|this is|these are|got|get|gives?|says?|said|wrote|sent|reads?|the|his|her|their)\b"
    rf"[^\n.:]{{0,60}})\b(?:{_MATTER}))\b[^\n.:]{{0,60}}:[ \t]*\n(?P<text>.+)",
    re.DOTALL,
)
"""The words that introduce a text, a colon at the end of their line, and all that follows."""
_MAIL = lazy_re(
    r"(?im)^[ \t]*(?:(?:from|to|subject|sent|date|cc|reply-to): [^\n]+\n[ \t]*(?:from|to|subject|sent|date|cc|"
    r"reply-to): "
    r"|-{2,} ?(?:original|forwarded|begin forwarded) message|begin forwarded message:).*",
    re.DOTALL,
)
_WROTE = lazy_re(r"(?m)^[ \t]*On [^\n]{6,120} wrote:[ \t]*$")
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|PANIC)"
_STAMP = r"\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|(?:[A-Z][a-z]{2} ){1,2}\s?\d{1,2} \d\d:\d\d:\d\d)"
_LOG = lazy_re(rf"(?m)^[ \t]*(?:{_STAMP}[^\n]*|\[?{_LEVEL}\b\]?[:\s|\-][^\n]*)$")
_SURE = lazy_re(rf"(?m)^[ \t]*{_STAMP}[^\n]{{0,60}}\b{_LEVEL}\b")
_TRACE = lazy_re(
    r"(?m)^[ \t]*Traceback \(most recent call last\):[ \t]*\n(?:[ \t]+[^\n]*\n?)*(?:[^\n]*(?:\n|\Z))"
    r"|^[ \t]+at [\w.$<>/]+ ?\([^\n]*\)[ \t]*$|^[ \t]+File \"[^\n]*$|^(?:Exception in thread|Caused by:)[^\n]*$"
    r"|^[\w.]*[a-z](?:Error|Exception): [^\n]*$"
)
_CODE_LINE = lazy_re(
    r"(?m)^[ \t]*(?:>>> [^\n]*|\$ [^\n]*|[^\n]*[;{}][ \t]*|(?:(?:async )?def|class|elif|except|for|while|"
    r"with)\b[^\n]*:[ \t]*|"
    r"(?:try|else|finally):[ \t]*|raise \w+\([^\n]*|"
    r"return [\w.]*[(\[{\"'][^\n]*|from [\w.]+ import [^\n]*|#include\b[^\n]*|"
    r"(?:const|let|var) \w+ ?=[^\n]*|function \w*\([^\n]*|import \w+(?:\.\w+)+[^\n]*)$"
)
_HINT = lazy_re(r"[\n:;{}(\[=>$#`~]|--|File \"|(?:import|return) ")
"""What a text that has something pasted into it has somewhere. Most of what people say has none of it."""
_DIARY = 2
"""Lines with a time at their beginning from which on they are a log; one alone may be a person's own note."""
_READ = 20_000


def own_words(text: str) -> str:
    """Return what a person says in a text, without what is pasted into it and without quoted speech."""
    rest = without_pasted(text)
    return text if (own := SPEECH.sub(_unless_few, rest)) == text else own.strip()


def without_pasted(text: str) -> str:
    """Return a person's text without what is pasted into it, empty if nothing else is there. Quoted speech stays."""
    if not _HINT.search(text):
        return text
    if len(text) > _READ:
        text = f"{text[: _READ // 2]}\n\n{text[-_READ // 2 :]}"
    rest = FENCED.sub("\n", text)
    for pattern in (_MAIL, _WROTE, _TRACE):
        rest = pattern.sub("\n", rest)
    if len(_LOG.findall(rest)) >= _DIARY or _SURE.search(rest):
        rest = _LOG.sub("\n", rest)
    for pattern in (_INLINE, _BLOCK) if ":" in rest else ():
        rest = pattern.sub(lambda match: match[0][: match.start("text") - match.start()], rest)
    rest = _CODE_LINE.sub("\n", rest)
    return text if rest == text else rest.strip()


def _unless_few(match: re.Match[str]) -> str:
    return match[0] if len(match[0].split()) <= FEW_WORDS else " "


_RUN = 200
"""Characters without a space, a dot or another sign between words, from which on a run is no word, path or address."""

_LINES, _LINE = 3, 60
"""Lines of at least so many such characters that are base 64 folded to a width: MIME's is 76, PEM's 64."""

_BINARY = lazy_re(
    rf"(?:data:[\w.+/-]*+;base64,)?(?:[A-Za-z0-9+/_-]{{{_RUN},}}={{0,2}}"
    rf"|(?:(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{_LINE},}}={{0,2}}\s+){{{_LINES},}}(?:[A-Za-z0-9+/]+={{0,2}}$)?)",
    re.MULTILINE,
)


def without_binary(text: str) -> str:
    """Return ``text`` without the runs in it that are binary data."""
    if not may_have_run(text, _LINE):  # as nearly always, and much quicker than the pattern
        return text
    return _BINARY.sub(" ", text)


def is_binary(text: str) -> bool:
    """Return whether nothing of ``text`` can be read beside binary data."""
    return not any(map(str.isalnum, without_binary(text)))
