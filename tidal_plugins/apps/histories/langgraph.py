"""Checkpoints that LangGraph's SqliteSaver keeps in a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidal_plugins.apps.histories.conversation import Conversation, Unknown, time_of

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver


def read_langgraph(path: Path) -> Iterator[Conversation]:
    """Yield the threads as their newest checkpoints have them. A message's time is that of the first with it.

    The file is only read. Raises ``Unknown`` if it has no checkpoints, or if LangGraph's packages are missing.
    """
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ModuleNotFoundError as error:
        needs = "pip install langgraph-checkpoint-sqlite 'tidal-plugins[langgraph]'"
        raise Unknown(f"to read checkpoints, {error.name} is needed: {needs}") from error
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        saver = SqliteSaver(connection)
        saver.is_setup = True  # it would write its tables
        try:
            found = "SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = '' ORDER BY thread_id"
            threads = [str(row[0]) for row in connection.execute(found)]
        except sqlite3.DatabaseError as error:
            raise Unknown(f"it has no checkpoints of LangGraph: {error}") from error
        for thread in threads:
            yield from _conversation(saver, thread)


def _conversation(saver: SqliteSaver, thread: str) -> Iterator[Conversation]:
    from langchain_tidal.messages import to_message, turns

    newest: list[Any] | None = None
    first_seen: dict[str, datetime] = {}
    for checkpoint in saver.list({"configurable": {"thread_id": thread, "checkpoint_ns": ""}}):  # the newest first
        messages = checkpoint.checkpoint["channel_values"].get("messages")
        if not isinstance(messages, list):
            continue
        newest = messages if newest is None else newest
        if at := time_of(checkpoint.checkpoint["ts"]):
            first_seen |= {str(message.id): at for message in messages if getattr(message, "id", None)}
    said = [
        [replace(one, at=first_seen.get(str(one.id))) for message in turn if (one := to_message(message)) and one.id]
        for turn in turns(newest or [])
    ]
    kept = [turn for turn in said if turn]
    if kept:
        yield Conversation(thread, kept, kept[0][0].at, {"program": "langgraph"})
