"""A rebuilt context as messages, in the form that a provider accepts [SIYA §2]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from tidal_plugins.model.compaction import Compaction, Kept, Part, RestoredFile, Written
from tidal_plugins.model.exchange import Message
from tidal_plugins.model.transcript import file_text
from tidal_plugins.validation import check_choice

SummaryAs = Literal["assistant", "human"]
RestoreAs = Literal["tool", "human"]


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A message that a compaction wrote. ``name`` is its own among the messages of the compaction.

    ``tool`` names the tool whose result a restored file is.
    """

    part: Part | Literal["file"]
    name: str
    message: Message
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Style:
    """Who speaks in the messages that a compaction writes.

    ``human`` is for providers that refuse assistant messages or tool calls that they did not write. Raises
    ``InvalidInput`` for any other value.
    """

    summary_as: SummaryAs = "assistant"
    restore_as: RestoreAs = "tool"

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("summary_as", self.summary_as, get_args(SummaryAs)),
            ("restore_as", self.restore_as, get_args(RestoreAs)),
        ):
            check_choice(value, name, choices)

    def messages(self, compaction: Compaction) -> Iterator[int | WrittenMessage]:
        """Yield the messages of a rebuilt context: the position of one that was kept, or one that was written."""
        for piece in compaction.view:
            if isinstance(piece, Kept):
                yield piece.position
            elif isinstance(piece, Written):
                human = piece.part == "question" or self.summary_as == "human"
                yield WrittenMessage(piece.part, piece.part, Message("user" if human else "assistant", piece.text))
            else:
                yield from self._file(piece)

    def _file(self, file: RestoredFile) -> Iterator[WrittenMessage]:
        if self.restore_as == "human":
            yield WrittenMessage("file", file.id, Message("user", file_text(file)))
            return
        call, result = file.messages
        yield WrittenMessage("file", f"{file.id}-call", call)
        yield WrittenMessage("file", f"{file.id}-result", result, tool=file.tool)
