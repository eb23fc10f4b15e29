"""Turns of an agent's run: where it remembers, what surfaces before a turn, and how a turn is recorded after it.

The adapters of all frameworks stand on this package, and convert messages. One policy for errors holds in all of them:

- A mistake of the caller raises ``InvalidInput`` or one of its kind, and a closed memory raises ``Closed``.
- An embedder that fails raises ``EmbeddingError``, before a turn and after it, as a model that fails raises. So the
  retries and fallbacks of the framework apply.
- A store that fails (a damaged file, a full disk, a lock that others hold) takes its memories away and not the answer:
  the agent goes on without them, and an error is logged, once for each kind. Nothing is half-written, and the next run
  of the thread records the turn that was missed.
- A turn whose content cannot be stored (too long, invalid Unicode) is logged without its text and left out. It would
  stop its thread for good otherwise.
- A tool answers a refusal (:data:`REFUSALS`) in text, for the model to read.
"""

from tidal_plugins.sessions.session import REFUSALS
from tidal_plugins.turns.going_on import going_on
from tidal_plugins.turns.kept import CACHE, Cache, KeptWhisper, checked_cache, drop_kept, read_kept
from tidal_plugins.turns.place import (
    Nested,
    Place,
    SessionConfig,
    by_agent,
    checked_memory,
    checked_nested,
    in_scope,
    session_config,
)
from tidal_plugins.turns.recording import (
    Recent,
    Recorder,
    json_arguments,
    record_history,
    record_turns,
    spoken_text,
    to_exchange,
)
from tidal_plugins.turns.whispers import (
    RestoreAs,
    Style,
    SummaryAs,
    Surfaced,
    WrittenMessage,
    capsule_text,
    entry_metadata,
    surface,
    thread_capsule,
    work_lines,
)

__all__ = [
    "REFUSALS",
    "by_agent",
    "CACHE",
    "Cache",
    "capsule_text",
    "checked_cache",
    "checked_memory",
    "checked_nested",
    "entry_metadata",
    "going_on",
    "in_scope",
    "json_arguments",
    "KeptWhisper",
    "Nested",
    "Place",
    "drop_kept",
    "read_kept",
    "Recent",
    "record_history",
    "record_turns",
    "Recorder",
    "RestoreAs",
    "session_config",
    "SessionConfig",
    "spoken_text",
    "Style",
    "SummaryAs",
    "surface",
    "Surfaced",
    "thread_capsule",
    "to_exchange",
    "work_lines",
    "WrittenMessage",
]
