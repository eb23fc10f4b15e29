"""Histories into memory: each turn once, however often its file is imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidal_plugins.apps.cli.command import Account
from tidal_plugins.apps.histories import Conversation, Skipped, Unknown, reader_of
from tidal_plugins.apps.histories.conversation import MALFORMED, record_all, repeated, settle
from tidal_plugins.apps.histories.files import files_at, format_of

if TYPE_CHECKING:
    from tidal_plugins import Exchange, Message, TidalMemory


BATCH = 64
"""Turns that are recorded at a time."""

Bar = Callable[..., None]


@dataclass
class ImportAccount(Account):
    """The account of an import: counts of turns, and each file or turn that was skipped, with the reason.

    ``passed_over`` has the files in folders that are in no format that is known.
    """

    conversations: int = 0
    new: int = 0
    grown: int = 0
    known: int = 0
    forgotten: int = 0
    tool_calls: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    passed_over: list[str] = field(default_factory=list)


def import_all(memory: TidalMemory, paths: Sequence[Path], format: str | None, bar: Bar) -> ImportAccount:
    """Record the conversations in files and folders, and return an account."""
    account = ImportAccount()
    files = [file for path in paths for file in _files(path, format, account)]
    for done, file in enumerate(files):
        bar(done, len(files), file.name)
        name = format
        try:
            name = name or format_of(file, "; --format names one")
            for conversation in reader_of(name)(file):
                if isinstance(conversation, Skipped):
                    account.skipped.append((f"{file}: {conversation.item}", conversation.reason))
                    continue
                account.conversations += 1
                bar(done, len(files), f"{file.name}: {account.new + account.known:,} turns")
                _record(memory, conversation, account)
            account.formats[name] += 1
        except Unknown as error:
            if name or file in paths:
                account.skipped.append((str(file), str(error)))
            else:
                account.passed_over.append(str(file))
        except OSError as error:
            account.skipped.append((str(file), error.strerror or str(error)))
        except MALFORMED as error:  # a file that only looks like its format
            account.skipped.append((str(file), f"it is not as {format or 'its format'} should be: {error!r}"))
    return account


def _files(path: Path, format: str | None, account: ImportAccount) -> Iterator[Path]:
    try:
        yield from files_at(path, format)
    except Unknown as error:
        account.skipped.append((str(path), str(error)))


def _record(memory: TidalMemory, conversation: Conversation, account: ImportAccount) -> None:
    """Record the turns of a conversation that are new, or that have grown since they were recorded.

    Turns on branches that were left are recorded, too, and leave recall.
    """
    there = repeated(memory, conversation)
    account.known += there
    conversation = replace(conversation, turns=conversation.turns[there:])
    _record_turns(memory, conversation, conversation.left, account)
    _record_turns(memory, conversation, conversation.turns, account)
    settle(memory, conversation)


def _record_turns(
    memory: TidalMemory, conversation: Conversation, turns: Sequence[Sequence[Message]], account: ImportAccount
) -> None:
    waiting: list[tuple[Exchange, bool]] = []
    for exchange in _exchanges(conversation, turns):
        id_ = memory.episodes.id_of(str(exchange.key), thread=conversation.thread)
        there = memory.episodes.get(id_)
        if there is not None and len(there.messages) >= len(exchange.messages):
            account.known += 1
            continue
        waiting.append((exchange, there is not None))
        if len(waiting) == BATCH:
            _flush(memory, waiting, account)
    _flush(memory, waiting, account)


def _flush(memory: TidalMemory, waiting: list[tuple[Exchange, bool]], account: ImportAccount) -> None:
    exchanges, grown = [exchange for exchange, _ in waiting], {id(exchange) for exchange, grows in waiting if grows}
    waiting.clear()

    def refused(exchange: Exchange, reason: str) -> None:
        account.skipped.append((f"{exchange.thread}: {exchange.key}", reason))

    for exchange in record_all(memory, exchanges, refused):
        if memory.episodes.get(memory.episodes.id_of(str(exchange.key), thread=exchange.thread)) is None:
            account.forgotten += 1
            continue
        account.grown += id(exchange) in grown
        account.new += id(exchange) not in grown
        account.tool_calls += sum(len(message.tool_calls) for message in exchange.messages)


def _exchanges(conversation: Conversation, turns: Sequence[Sequence[Message]]) -> Iterator[Exchange]:
    """Yield the turns in which anything was said. A turn without a time has that of the one before it."""
    from tidal_plugins import Exchange

    at = conversation.at
    for turn in turns:
        at = next((message.at for message in turn if message.at), at)
        if any(message.text.strip() for message in turn):
            yield Exchange(tuple(turn), conversation.thread, occurred_at=at, metadata=conversation.metadata)
