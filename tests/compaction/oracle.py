"""An oracle that reads the rules of compaction by itself.

It uses neither ``Compaction.verify`` nor the splitting, pairing or recording of the compactor: what must hold it works
out from the history.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.compaction.histories import flat, size_of
from tidal_plugins import Compaction, Exchange, Forgotten, Message, TidalMemory, ToolCall
from tidal_plugins.model.compaction import Kept, RestoredFile, Size, Written

WHISPER, WIDE_WHISPER = Size(188, 750), Size(750, 3_000)
"""Least and most room that is kept free for the whisper: 750 characters, which in some scripts are words."""

TIGHT = 0.6
"""Share of the limit. A history must be compacted with its last question shown if its unshortenable part takes less."""

CITED = re.compile(r"\[ep:([^\]\s]*)\]")
RUN = re.compile(r"\[ep:(\w+)\] to \[ep:(\w+)\] \((\d+) turns\)")


def checked(
    memory: TidalMemory,
    history: Sequence[Message] | Sequence[Exchange],
    compaction: Compaction,
    *,
    sizes: Sequence[Size] | None = None,
    reserved: Size = Size(),  # noqa: B008  it has no state
    ongoing: int | None = None,
    pressed: bool = False,
) -> Compaction:
    """Check every rule of a compaction, and return it.

    ``ongoing`` is the position at which the ongoing turn begins, for histories that do not tell. ``pressed`` says that
    an earlier call was already unable to show the last question.
    """
    starts = ongoing_starts(history) if ongoing is None else {ongoing}
    Oracle(memory, history, compaction, sizes, reserved, starts, pressed).check()
    return compaction


def texts(compaction: Compaction) -> str:
    """Return everything that the model would read."""
    calls = [str(dict(call.arguments)) for m in compaction.messages for call in m.tool_calls]
    return "\n".join([*(m.text for m in compaction.messages), *calls])


def reached(memory: TidalMemory, text: str) -> set[str]:
    """Return the ids of the episodes that an agent can reach from a text.

    These are the cited episodes, and those inside a cited run: the agent reads on from its first turn to its last, each
    turn naming the next.
    """
    ids = set(CITED.findall(text))
    for first, last, count in RUN.findall(text):
        id_ = first
        for _ in range(int(count) - 1):
            opening = memory.episodes.page(id_).partition("\n")[0]
            [id_] = re.findall(r' next="([^"]+)"', opening)
            ids.add(id_)
        assert id_ == last, f"the run of {count} turns from {first} leads to {id_}, not to {last}"
    return ids


@dataclass
class Oracle:
    """The rules for any compaction of ``history``, independent of the compactor."""

    memory: TidalMemory
    given: Sequence[Message] | Sequence[Exchange]
    compaction: Compaction
    sizes: Sequence[Size] | None
    reserved: Size
    starts: set[int] | None
    """Positions at which the ongoing turn may begin; ``None`` if the history leaves them open."""
    pressed: bool

    def check(self) -> None:
        self.the_view_is_what_it_says()
        self.every_citation_leads_somewhere()
        self.calls_and_results_go_together()
        self.the_ongoing_turn_is_as_it_was()
        self.a_fold_is_made_of_old_whole_steps()
        self.everything_dropped_is_in_its_episode()
        self.it_fits()
        self.the_parts_are_in_order()
        self.the_last_question_is_verbatim()
        self.compaction.verify()

    def the_view_is_what_it_says(self) -> None:
        assert list(self.compaction.history) == self.history
        assert list(self.compaction.messages) == self.messages
        if not self.compaction.rebuilt:
            assert self.messages == self.history
            assert not self.compaction.ledger

    def every_citation_leads_somewhere(self) -> None:
        for text in self.written_texts:
            for id_ in CITED.findall(text):
                self.resolve(id_)
        assert set(self.compaction.citations) == {id_ for text in self.written_texts for id_ in CITED.findall(text)}
        for statement in self.compaction.statements:
            for id_ in statement.sources:
                self.resolve(id_)

    def resolve(self, id_: str) -> None:
        with contextlib.suppress(Forgotten):
            assert self.memory.episodes[id_].id == id_

    def calls_and_results_go_together(self) -> None:
        """Check that calls and results without a partner had none in the history either.

        They must stand at the same place, verbatim.
        """
        sources = [p.position if isinstance(p, Kept) else None for p in self.pieces_by_message]
        wrong_before = {(self.history[p].role, p, id_) for p, id_ in unpaired(self.history)}
        for place, id_ in unpaired(self.messages):
            position = sources[place]
            assert position is not None, f"{id_} of {self.messages[place]} was written without its other half"
            assert (self.messages[place].role, position, id_) in wrong_before, f"{id_} lost its other half"

    def the_ongoing_turn_is_as_it_was(self) -> None:
        ongoing, folded = self.compaction.ongoing, set(self.compaction.folded)
        if self.starts is not None:
            assert ongoing in self.starts
        view = self.compaction.view
        fold = bool(folded) and min(folded) >= ongoing
        own = [place for place, p in enumerate(view) if self._of_ongoing(p, fold)]
        tail = view[own[0] :] if own else ()
        expected = [p for p in range(ongoing, len(self.history)) if p not in folded]
        assert [p.position for p in tail if isinstance(p, Kept)] == expected
        between = [p for p in tail if not isinstance(p, Kept)]
        assert all(isinstance(p, Written) and p.part == "fold" for p in between)
        assert len(between) == fold

    def _of_ongoing(self, piece: Any, fold: bool) -> bool:
        if isinstance(piece, Written):
            return fold and piece.part == "fold"
        return isinstance(piece, Kept) and piece.position >= self.compaction.ongoing

    def a_fold_is_made_of_old_whole_steps(self) -> None:
        folded = set(self.compaction.folded)
        if not folded:
            assert not any(isinstance(p, Written) and p.part == "fold" for p in self.compaction.view)
            return
        asked = [position for position, message in enumerate(self.history) if message.role == "user"]
        start = max([position for position in asked if position < min(folded)], default=0)
        end = min([position for position in asked if position > start], default=len(self.history))
        assert max(folded) < end, "a fold goes over the end of a turn"
        assert all(self.history[p].role in ("assistant", "tool") for p in folded)
        whole = [step for step in steps(self.history) if step.whole and start <= step.positions[0] < end]
        for step in steps(self.history):
            hidden = folded & set(step.positions)
            assert not hidden or (hidden == set(step.positions) and step.whole), "a step was folded in part"
        assert not folded & set(whole[-1].positions), "the last step is folded"
        old = [folded.issuperset(step.positions) for step in whole]
        assert old == sorted(old, reverse=True), "a newer step was folded before an older one"
        view = self.compaction.view
        [place] = [place for place, p in enumerate(view) if isinstance(p, Written) and p.part == "fold"]
        assert all(p.position < min(folded) for p in view[:place] if isinstance(p, Kept))
        assert all(p.position > min(folded) for p in view[place:] if isinstance(p, Kept))
        assert CITED.search(self.compaction.fold), "the fold cites nothing"

    def everything_dropped_is_in_its_episode(self) -> None:
        shown = [p.position for p in self.compaction.view if isinstance(p, Kept)]
        lost = [loss.position for loss in self.compaction.ledger]
        assert Counter(shown + lost) == Counter(range(len(self.history)))
        episodes = {}
        for id_ in {loss.episode for loss in self.compaction.ledger}:
            with contextlib.suppress(Forgotten):
                episodes[id_] = self.memory.episodes[id_]
        for loss in self.compaction.ledger:
            message, episode = self.history[loss.position], episodes.get(loss.episode)
            assert message.role != "system", "a system prompt is in no episode"
            assert loss.role == message.role
            assert episode is None or verbatim(episode.messages[loss.index], message), (
                loss,
                message,
                episode.messages[loss.index],
            )
        json.dumps(self.compaction.ledger.to_json())

    def it_fits(self) -> None:
        measured = self.reserved + WHISPER.at_most(self.compaction.limit * 0.15)
        for message, piece in zip(self.messages, self.pieces_by_message, strict=True):
            known = self.sizes[piece.position] if self.sizes and isinstance(piece, Kept) else None
            measured += known or size_of(message)
        assert measured.within(self.compaction.limit), f"{measured} of {self.compaction.limit}"
        assert measured.within(self.compaction.after), f"said to take {self.compaction.after}, and takes {measured}"
        assert self.compaction.after.within(self.compaction.limit)

    def the_parts_are_in_order(self) -> None:
        """Check the order: system prompt, summary, last question, synthesis, files, later messages, ongoing turn."""
        letters = {"summary": "s", "question": "q", "synthesis": "y", "fold": "d"}
        order = ""
        for piece in self.compaction.view:
            if isinstance(piece, RestoredFile):
                order += "f"
            elif isinstance(piece, Written):
                order += letters[piece.part]
            elif self.history[piece.position].role != "system":
                order += "u" if self.history[piece.position].role == "user" else "k"
        assert re.fullmatch("s?[qu]*y?f*[ukd]*", order), order
        leading = [p for p in range(len(self.history)) if all(m.role == "system" for m in self.history[: p + 1])]
        assert list(self.compaction.view[: len(leading)]) == [Kept(position) for position in leading]

    def the_last_question_is_verbatim(self) -> None:
        """Check that the last question is verbatim unless it is so long that only a summary of it can fit."""
        if not self.compaction.rebuilt or self.starts is None or len(self.starts) != 1:
            return
        needed = least(self.given, self.sizes) + self.reserved
        if self.pressed or needed.share(self.compaction.limit) > TIGHT:
            return
        kept = {p.position for p in self.compaction.view if isinstance(p, Kept)}
        asked = "\x00".join(p.text for p in self.compaction.view if isinstance(p, Written) and p.part == "question")
        for position in last_question(self.given, self.compaction.ongoing):
            assert position in kept or self.history[position].text in asked, "the last question is gone"

    @cached_property
    def history(self) -> list[Message]:
        return flat(self.given)

    @property
    def written_texts(self) -> list[str]:
        return [p.text for p in self.compaction.view if isinstance(p, Written) and p.part != "question"]

    @property
    def messages(self) -> list[Message]:
        return [message for message, _ in self._shown()]

    @property
    def pieces_by_message(self) -> list[Any]:
        return [piece for _, piece in self._shown()]

    def _shown(self) -> Iterator[tuple[Message, Any]]:
        for piece in self.compaction.view:
            if isinstance(piece, Kept):
                yield self.history[piece.position], piece
            elif isinstance(piece, RestoredFile):
                call = ToolCall(piece.tool, piece.arguments, piece.id)
                yield Message("assistant", "", tool_calls=(call,)), piece
                yield Message("tool", piece.content, tool_call_id=piece.id), piece
            else:
                yield Message("user" if piece.part == "question" else "assistant", piece.text), piece


@dataclass(frozen=True)
class Step:
    """An assistant's message that calls tools, and the results that follow it."""

    positions: tuple[int, ...]
    whole: bool


def steps(messages: Sequence[Message]) -> list[Step]:
    found = []
    for position, message in enumerate(messages):
        if message.role != "assistant" or not message.tool_calls:
            continue
        end = position + 1
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        asked = Counter(call.id for call in message.tool_calls)
        answered = Counter(m.tool_call_id for m in messages[position + 1 : end])
        found.append(Step(tuple(range(position, end)), asked == answered))
    return found


def unpaired(messages: Sequence[Message]) -> list[tuple[int, str | None]]:
    """Return place and id of every call without a result right after it, and of every result without such a call."""
    wrong: list[tuple[int, str | None]] = []
    waiting: list[tuple[int, str | None]] = []
    for place, message in enumerate(messages):
        if message.role == "tool":
            match = next((w for w in waiting if w[1] == message.tool_call_id), None)
            if match:
                waiting.remove(match)
            else:
                wrong.append((place, message.tool_call_id))
        else:
            wrong += waiting
            waiting = [(place, call.id) for call in message.tool_calls]
    return wrong + waiting


def verbatim(stored: Message, message: Message) -> bool:
    """Return whether an episode has a message unchanged. SQLite stores no NUL; U+FFFD stands for it."""
    calls = [(call.name, call.arguments, call.id) for call in stored.tool_calls]
    return (
        (stored.role, stored.tool_call_id, stored.error) == (message.role, message.tool_call_id, message.error)
        and stored.text == message.text.replace("\0", "\ufffd")
        and calls == [(call.name, call.arguments, call.id) for call in message.tool_calls]
    )


def ongoing_starts(history: Sequence[Message] | Sequence[Exchange]) -> set[int] | None:
    """Return where the ongoing turn may begin: at the first of the user's last messages in a row.

    A history that ends with an answer has no ongoing turn. ``None`` means that the history leaves it open.
    """
    messages = flat(history)
    spoken = [position for position, message in enumerate(messages) if message.role != "system"]
    if not spoken or not any(message.role == "user" for message in messages):
        return None
    last = messages[spoken[-1]]
    if last.role == "assistant" and not last.tool_calls:
        return {len(messages)} if spoken[-1] == len(messages) - 1 else None
    if isinstance(history[0], Exchange):
        return {len(messages) - len(history[-1].messages)}  # type: ignore[union-attr]
    return {_run_start(messages, range(len(messages))), _run_start(messages, spoken)}


def least(history: Sequence[Message] | Sequence[Exchange], sizes: Sequence[Size] | None = None) -> Size:
    """Return the size of everything that no compaction may shorten.

    These are system prompts, the last completed question, and the ongoing turn except for the whole steps before its
    last one.
    """
    messages, starts = flat(history), ongoing_starts(history)
    start = min(starts) if starts else 0
    whole = [step for step in steps(messages) if step.whole and step.positions[0] >= start]
    foldable = {position for step in whole[:-1] for position in step.positions}
    kept = {p for p, m in enumerate(messages) if m.role == "system" or (p >= start and p not in foldable)}
    size = WIDE_WHISPER if any(re.search(r"[^\x00-\u2e7f]", message.text) for message in messages) else WHISPER
    for position in kept.union(last_question(history, start)):
        size += sizes[position] if sizes else size_of(messages[position])
    return size


def last_question(history: Sequence[Message] | Sequence[Exchange], end: int) -> list[int]:
    """Return the positions of the user's last messages in a row before ``end``."""
    completed, start = flat(history)[:end], 0
    spoken = [position for position, message in enumerate(completed) if message.role != "system"]
    if history and isinstance(history[0], Exchange):
        bounds = itertools.accumulate((len(part.messages) for part in history), initial=0)  # type: ignore[union-attr]
        start = max((bound for bound in bounds if spoken and bound <= spoken[-1]), default=0)
    else:
        start = _run_start(completed, spoken)
    return [p for p in spoken if p >= start and completed[p].role == "user"]


def _run_start(messages: Sequence[Message], positions: Iterable[int]) -> int:
    start, previous = 0, None
    for position in positions:
        if messages[position].role == "user" and previous != "user":
            start = position
        previous = messages[position].role
    return start
