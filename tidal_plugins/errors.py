"""Every error that this library raises on purpose.

    TidalError
    ├── InvalidInput            an argument cannot be used (also a ValueError)
    ├── NotFound                no entry or episode has this id in this scope (also a KeyError)
    │   └── Forgotten           the entry or text was forgotten on request
    ├── Closed                  the memory was closed
    │   └── SessionClosed       the session was closed, or belongs to another process
    ├── PolicyViolation         a session's policy refuses a signal
    ├── ComponentError          an extractor, reader, reranker, redactor or graph engine failed
    ├── CompactionError         a context could not be rebuilt
    │   └── ContextOverflow     the parts that may not be shortened exceed the limit
    ├── EmbeddingError          text could not be turned into vectors
    │   └── EmbedderMismatch    the store was written with another embedder
    └── StorageError            the store refused an operation or could not complete it
        ├── ReadOnly            the file or its folder cannot be written to, or was opened read-only
        ├── DiskFull            no space is left; nothing was written
        ├── Busy                others held the write lock for too long
        ├── Conflict            a document changed since it was read
        ├── Corrupt             stored bytes fail their checksum or cannot be read
        └── QueryTimeout        a question took longer than its deadline

An error has a class of its own where a caller does something else about it. Each message says what was wrong and what
to do about it, in at most 1,000 characters, whatever the caller gave.
"""

from tidal_plugins.shown import cut, shown


class TidalError(Exception):
    """Base of every error of this library. A message of more than 1,000 characters loses its middle."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(cut(arg) if isinstance(arg, str) else arg for arg in args))


class InvalidInput(TidalError, ValueError):
    """An argument cannot be used. The message names it, and what can be."""


class NotFound(TidalError, KeyError):
    """No entry or episode has this id in this scope."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would show the repr


class Forgotten(NotFound):
    """The entry or text was forgotten on request."""


class CompactionError(TidalError):
    """A context could not be rebuilt, or fails its own check. Nothing of it was dropped."""


class ContextOverflow(CompactionError):
    """The parts of a context that may not be shortened exceed the limit."""


class ComponentError(TidalError):
    """An extractor, a reader, a reranker, a redactor or a graph engine failed, or its answer cannot be used.

    Nothing is lost: a turn is read again later, mirroring goes on where it ended, a recall goes on without a reranker,
    and nothing is stored that a redactor did not see.
    """


class Closed(TidalError):
    """The memory was closed."""


class SessionClosed(Closed):
    """The session was closed, or its handle belongs to another process."""


class PolicyViolation(TidalError):
    """A policy refuses a signal.

    ``signal`` is its type, ``policy`` the policy's name, ``rule`` the field of the policy that refuses it, such as
    ``max_signals``, and ``reason`` the same in words.
    """

    def __init__(self, reason: str, *, rule: str, signal: str, policy: str) -> None:
        super().__init__(f"signal {shown(signal)} was refused by policy {shown(policy)}: {reason}")
        self.reason = reason
        self.rule = rule
        self.signal = signal
        self.policy = policy

    def __reduce__(self) -> tuple[object, ...]:
        return _violation, (self.reason, self.rule, self.signal, self.policy)


class EmbeddingError(TidalError):
    """Text could not be turned into vectors: the embedder's weights or library cannot be loaded, or it failed.

    ``answered`` is whether the embedder answered, but with vectors of the wrong size, or with NaN, Inf or zeros alone.
    Then one of the texts may be at fault, and the others can be embedded.
    """

    def __init__(self, *args: object, answered: bool = False) -> None:
        super().__init__(*args)
        self.answered = answered


class EmbedderMismatch(EmbeddingError):
    """The store was written with another embedder."""


class StorageError(TidalError):
    """The store refused an operation or could not complete it.

    When a memory is opened: the path leads to no database of this library, a key does not open it, it was written by a
    later version, or by an earlier one and may not be brought up to date. Later: the file, its log or the log's index
    was deleted, moved or replaced while it was open, and what the call wrote is not in the file at the path.
    """


class ReadOnly(StorageError):
    """The file or its folder cannot be written to, or the memory was opened with ``read_only=True``."""


class DiskFull(StorageError):
    """No space is left on the device. Nothing was written."""


class Busy(StorageError):
    """Other processes or threads held the write lock longer than the busy timeout, or the server ended a transaction
    in favour of another one, and did so again when the library repeated it. Nothing of it was written."""

    overruled = False
    """Whether the server ended the transaction, such as for a deadlock: the same one may succeed at once."""


class Conflict(StorageError):
    """A document changed since it was read, or another call began to re-embed the store."""


class Corrupt(StorageError):
    """Stored bytes fail their checksum or cannot be read. ``entry`` is the damaged entry's id, and ``row`` the table
    and the name of the damaged row, if they are known."""

    def __init__(self, message: str, entry: str | None = None, row: tuple[str, str] | None = None) -> None:
        super().__init__(message)
        self.entry = entry
        self.row = row


class QueryTimeout(StorageError):
    """A question to the store took longer than its deadline."""


def _violation(reason: str, rule: str, signal: str, policy: str) -> PolicyViolation:
    return PolicyViolation(reason, rule=rule, signal=signal, policy=policy)  # pickling alone passes no keywords
