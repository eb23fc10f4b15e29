"""Lessons: what fixed the errors of an episode, and what caused them, as its answer says [SIYA §3.3].

Who said it, when, and what the last tool returned decide, with the learned tags; no words are looked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidal_plugins.actions.results import failed
from tidal_plugins.english.sentences import plain, sentences, shortened
from tidal_plugins.english.words import NEGATED
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.exchange import Episode, final_of
from tidal_plugins.model.graph import Assertion, Extraction, Mention, Reading

ERROR = "error"
SURE, NAMED = 0.4, 0.04
"""Chance that a sentence tells what was done from which on it may tell a fix; the lower one if it names the error. The
lower one was set on twenty sentences of our own, ten of each kind: it knows seven fixes, and takes no cause for one."""
CONFIDENCE = 0.6
LONGEST = 160
"""Characters of a fix or a cause that are kept."""


def lessons(episode: Episode, readings: Sequence[Reading]) -> list[Reading]:
    """Return what the answer of an episode says of the errors that its question or its tools named before.

    Nothing while a tool's last result is a failure or names the error.
    """
    answer = final_of(episode.messages)
    if answer is None:
        return []
    place = next(number for number, message in enumerate(episode.messages) if message is answer)
    before = [
        (reading.position, one.name)
        for reading in readings
        for one in reading.extraction.mentions
        if one.type == ERROR and reading.position < place
    ]
    results = [message for message in episode.messages[:place] if message.role == "tool"]
    if results and (results[-1].error or failed(results[-1].text)):
        return []
    names = [name for name in dict.fromkeys(name for _, name in before) if not results or name not in results[-1].text]
    entry = next((reading.entry for reading in readings if reading.position == place), None)
    said = [found for name in names for found in _told(answer.text, name)]
    return [Reading(place, entry, Extraction((), tuple(said)), parsed=True, elsewhere=frozenset(names))] if said else []


def _told(text: str, error: str) -> list[Assertion]:
    """Return the fix of an error, and its cause: another sentence that names it."""
    spans = [(start, end) for start, end in sentences(text) if not text[start:end].rstrip().endswith("?")]
    read = tag([text[start:end] for start, end in spans]) if spans else ()
    told = [(tags, span) for span, tags in zip(spans, read, strict=True) if tags.act == "statement"]
    naming = {span for _, span in told if error in text[slice(*span)]}
    done = {span: tags.scores["done"] for tags, span in told if not NEGATED.search(plain(text[slice(*span)]))}
    fixes = [span for span, chance in done.items() if chance >= (NAMED if span in naming else SURE)]
    fix = max(fixes, key=lambda span: done[span], default=None)
    if fix is None:
        return []
    cause = min(naming - {fix}, default=None)
    of_error = Mention(error, ERROR, "technical", *fix)
    found = [Assertion(of_error, "fixed_by", _quoted(text, fix, "solution"), *fix, CONFIDENCE)]
    if cause:
        found.append(Assertion(_quoted(text, cause, "problem"), "causes", of_error, *cause, CONFIDENCE))
    return found


def _quoted(text: str, span: tuple[int, int], type: str) -> Mention:
    return Mention(f"“{shortened(text[slice(*span)].strip(), LONGEST)}”", type, "behavioural", *span)
