"""The text of a dossier: written by a model or quoted, and fit to replace the one in place, or not [Capsule]."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tidal_plugins.aio import in_time
from tidal_plugins.dossiers.sentences import AGENT_NAME, LONGEST, Sentence
from tidal_plugins.dossiers.sources import DossierTuning
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.delimiters import inert
from tidal_plugins.model.dossier import HEADINGS, Dossier, Finding, Maker, Source, Statement
from tidal_plugins.model.entry import Entry, bare_id
from tidal_plugins.model.exchange import Message
from tidal_plugins.protocols import Purpose, Summariser
from tidal_plugins.scoring.text import terms
from tidal_plugins.secrets.finding import masked
from tidal_plugins.summarising.summary import Evidence, all_names, borne_out

PURPOSE: Purpose = "dossier"

CHARS_PER_SOURCE = 20
"""Characters below which a text does not tell what a source says, unless the source itself has fewer."""

_CHARS_PER_TOKEN = 6  # beyond which a model did not keep to its limit


@dataclass(frozen=True, slots=True)
class Draft:
    """The new text of a dossier. ``fed`` are the entries that a model read: its text may come from any of them,
    cited or not."""

    findings: tuple[Finding, ...] = ()
    made_by: Maker | None = None
    fed: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class InPlace:
    """The dossier in place, with those of the entries it cites that are still there."""

    dossier: Dossier
    entries: Mapping[str, Entry]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.dossier.findings if self.entries.keys() >= set(finding.sources))

    def kept(self, reason: str) -> Draft:
        return Draft(self.findings, self.dossier.made_by, problem=reason)

    def refuses(self, new: Sequence[Finding], standing: Collection[str], settings: DossierTuning) -> str | None:
        """Return why a new text may not replace this one, or ``None`` if it may.

        ``standing`` are the entries that still have something to say: what was superseded or done may be left out.
        A text that has lost its sources is kept if the new one is shorter or has few others. Any text is kept if the
        new one is shorter and cites more of its sources than it can tell of.
        """
        old = {id_ for finding in self.findings for id_ in finding.sources if id_ in standing}
        cited = {id_ for finding in new for id_ in finding.sources}
        lost = old - cited
        shorter = _length(new) < settings.shrunk * _length(self.findings)
        if len(lost) >= settings.lost * len(old) and (shorter or len(cited) < settings.shrunk * len(old)):
            what = "is shorter and leaves" if shorter else "leaves"
            return f"the new text {what} out {len(lost)} of {len(old)} sources of the one in place"
        told = old & cited
        if shorter and _length(new) < sum(min(CHARS_PER_SOURCE, len(self.entries[id_].text)) for id_ in told):
            return f"the new text is shorter, and cites {len(told)} sources in {_length(new)} characters"
        return None


@dataclass(frozen=True, slots=True)
class Drafter:
    """Writes the findings of some sentences with a summariser, or quotes them.

    They are quoted if there is no summariser, or if the summariser fails on a topic that has no text yet.
    """

    summariser: Summariser | None
    settings: DossierTuning
    timeout: float
    """Seconds to wait for the summariser, after which it has failed."""

    def draft(self, said: Sequence[Sentence], place: InPlace) -> Draft:
        """Return the new draft of a dossier: the text as it stands if the new text is not fit to replace it."""
        quoted = Draft(tuple(findings(said)), "extractive")
        if self.summariser is None or not said:
            return quoted if said or not place.findings else place.kept("nothing is stated of it any more")
        found, reason = self._asked(self.summariser, said, place)
        if reason is None and place.findings:
            reason = place.refuses(found, {one.entry.id for one in said}, self.settings)
        if reason is None:
            return Draft(found, "model", tuple(dict.fromkeys(one.entry.id for one in said)))
        return place.kept(reason) if place.findings else replace(quoted, problem=reason)

    def _asked(
        self, summariser: Summariser, said: Sequence[Sentence], place: InPlace
    ) -> tuple[tuple[Finding, ...], str | None]:
        """Ask the summariser. Return the findings that may stand in a dossier, and the reason if there are none."""
        known = {entry.id: entry.citation for entry in place.entries.values()}
        known |= {one.entry.id: one.entry.citation for one in said}
        most = self.settings.max_tokens

        def ask() -> tuple[Finding, ...]:
            answer = summariser.summarise(
                list(_sources(said)),
                purpose=PURPOSE,
                previous=[Statement(finding.text, finding.sources) for finding in place.findings],
                max_tokens=most,
            )
            return tuple(_findings(answer, known, most * _CHARS_PER_TOKEN))

        try:
            found = in_time(ask, self.timeout)
        except Exception as error:  # its message may quote what is forgotten one day: the name must do
            pass_interrupt(error)
            return (), f"the summariser raised {type(error).__name__}"
        if not found:
            return (), "nothing that was written cites a source"
        return self._faithful(found, said, place)

    def _faithful(
        self, written: Sequence[Finding], said: Sequence[Sentence], place: InPlace
    ) -> tuple[tuple[Finding, ...], str | None]:
        """Return findings without the sentences that their sources do not bear out.

        The sources of a finding of which nothing is left are quoted instead, unless another one cites them.
        """
        evidence = _evidence({**place.entries, **{one.entry.id: one.entry for one in said}}, place.dossier.topic)
        names = all_names(evidence)
        kept = [
            replace(finding, text=text)
            for finding in written
            if terms(text := borne_out(finding.text, finding.sources, evidence, names))
        ]
        if not kept:
            return (), "nothing that was written is borne out by what it cites"
        told = {id_ for finding in kept for id_ in finding.sources}
        lost = {id_ for finding in written for id_ in finding.sources} - told
        return (*kept, *findings(one for one in said if one.entry.id in lost)), None


def _evidence(entries: Mapping[str, Entry], topic: str) -> dict[str, list[Evidence]]:
    """Return what may be said of each entry: its words, the rest of its turn, which it is cited with, and the topic."""
    turns = defaultdict[str, list[Evidence]](list)
    for entry in entries.values():
        turns[entry.citation].append(Evidence.of_entry(entry))
    return {id_: [*turns[entry.citation], Evidence(topic)] for id_, entry in entries.items()}


def _sources(said: Sequence[Sentence]) -> Iterator[Source]:
    """Yield each entry with its sentences, dated and under the heading of their part, oldest first."""
    by_entry = defaultdict[str, list[Sentence]](list)
    for one in sorted(said, key=lambda one: one.entry.occurred_at):
        by_entry[one.entry.id].append(one)
    for id_, of_entry in by_entry.items():
        text = "\n".join(map(_headed, findings(of_entry)))
        yield Source(id_, (Message("user" if of_entry[0].entry.role == "user" else "assistant", text, id_),))


def _headed(found: Finding) -> str:
    return found.dated if found.part == "now" else f"{HEADINGS[found.part]} {found.dated}"


def _findings(answer: object, known: Mapping[str, str], max_chars: int) -> Iterator[Finding]:
    """Yield the findings that cite something known, until their texts have ``max_chars`` characters."""
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise TypeError(f"a summariser returns a sequence of Statements, and this one returned {type(answer).__name__}")
    for statement in answer:
        sources = tuple(id_ for id_ in dict.fromkeys(map(bare_id, statement.sources)) if id_ in known)
        text = masked(inert(statement.text))
        max_chars -= len(text)
        if max_chars < 0:
            return
        if sources and terms(text):
            yield Finding(text, sources, tuple(dict.fromkeys(known[id_] for id_ in sources)))


def findings(chosen: Iterable[Sentence], most: int = LONGEST) -> Iterator[Finding]:
    """Yield sentences as lines of a document. Those of one entry and part that follow each other share a line, up to
    ``most`` characters. A sentence that says little by itself comes after the one before it."""
    for _, group in groupby(chosen, lambda said: (said.entry.id, said.part)):
        lines: list[list[Sentence]] = []
        for said in group:
            if lines and sum(len(other.text) for other in lines[-1]) + len(said.text) < most:
                lines[-1].append(said)
            else:
                lines.append([said])
        shown = ""
        for line in lines:
            yield _finding(sorted(line, key=lambda said: said.entry.text.find(said.raw)), shown, most)
            shown += " ".join(said.text for said in line)


def _finding(line: Sequence[Sentence], shown: str, most: int) -> Finding:
    entry, part, before = line[0].entry, line[0].part, line[0].before
    text = " ".join(map(_with_history, line))
    if before and before not in shown and len(before) + len(text) < most:
        text = f"{before} {text}"
    place = None if entry.source and entry.source.startswith(("ep:", "mem:")) else entry.source
    name = entry.speaker or (AGENT_NAME if line[0].by_agent else None if entry.role else place)
    at = None if part == "documents" else entry.occurred_at
    return Finding(f"{inert(name)}: {text}" if name else text, (entry.id,), (entry.citation,), part, at)


def _with_history(said: Sentence) -> str:
    """Return a sentence with the value that it replaces."""
    return (
        f"{said.text} (was {inert(said.was)})" if said.was and said.was.lower() not in said.text.lower() else said.text
    )


def _length(findings: Iterable[Finding]) -> int:
    return sum(len(finding.text) for finding in findings)
