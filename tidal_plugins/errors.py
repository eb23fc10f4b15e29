"""Every error that this library raises on purpose.

    TidalError
    ├── InvalidInput            an argument cannot be used (also a ValueError)
    │   ├── InvalidText         empty, too long, or not valid Unicode
    │   ├── InvalidVector       a vector of the caller's has the wrong size, holds NaN or Inf, or is zero
    │   ├── InvalidScope        a scope that is not a tuple of non-empty strings
    │   ├── InvalidCapsule      sections are missing, doubled or too long
    │   └── SecretRefused       a text holds a secret, and the settings refuse it
    ├── NotFound                no entry or episode has this id in this scope (also a KeyError)
    │   └── Forgotten           the entry or text was forgotten on request
    ├── CompactionError         a context could not be rebuilt
    │   ├── ContextOverflow     the parts that may not be shortened exceed the limit
    │   └── BrokenInvariant     a rebuilt context fails its own check
    ├── ExtractionError         an extractor's answer cannot be used
    ├── RedactionError          a redactor failed, or its answer cannot be used; nothing was stored
    ├── RerankError             a reranker cannot be loaded, or its answer cannot be used
    ├── Closed                  the memory was closed
    │   └── SessionClosed       the session was closed, or belongs to another process
    ├── PolicyViolation         a session's policy refuses a signal
    │   ├── SessionExpired      the session has lasted longer than it may
    │   ├── SignalCapReached    it has as many signals as it may have
    │   ├── SignalDenied        signals of this type are denied
    │   └── SignalNotAllowed    signals of this type are not among those allowed
    ├── EmbeddingError          text could not be turned into vectors
    │   ├── EmbedderUnavailable no weights, or a library is missing
    │   ├── EmbedderMismatch    the store was written with another embedder
    │   └── BadEmbedding        the embedder returned vectors of the wrong size, or with NaN, Inf or zeros alone
    └── StorageError            the store refused an operation or could not complete it
        ├── NotADatabase        the path does not lead to a database of this library
        ├── EncryptionError     a key does not open the file, or this SQLite has no ciphers
        ├── SchemaTooNew        written by a later version of this library
        ├── SchemaTooOld        written by an earlier version: before 1.0 there are no migrations
        ├── ReadOnly            the file or its folder cannot be written to, or was opened read-only
        ├── DiskFull            no space is left; nothing was written
        ├── FileReplaced        the file was deleted, moved or replaced while it was open
        ├── Busy                others held the write lock for too long
        ├── Conflict            a document changed since it was read
        ├── Corrupt             stored bytes fail their checksum or cannot be read
        └── QueryTimeout        a question took longer than its deadline

Each message says what was wrong and what to do about it, in at most 1,000 characters, whatever the caller gave.
"""

from tidal_plugins.shown import cut, shown


class TidalError(Exception):
    """Base of every error of this library. A message of more than 1,000 characters loses its middle."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(cut(arg) if isinstance(arg, str) else arg for arg in args))


class InvalidInput(TidalError, ValueError):
    """An argument cannot be used."""


class InvalidText(InvalidInput):
    """A text is empty, too long, or not valid Unicode."""


class InvalidVector(InvalidInput):
    """A vector that the caller gave has the wrong size, or holds NaN or Inf, or is zero."""


class InvalidScope(InvalidInput):
    """A scope is not a tuple of non-empty strings."""


class InvalidCapsule(InvalidInput):
    """A capsule's sections are missing, doubled or too long."""


class SecretRefused(InvalidInput):
    """A text holds a secret, and ``Settings.secrets`` refuses it."""


class NotFound(TidalError, KeyError):
    """No entry or episode has this id in this scope."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would show the repr


class Forgotten(NotFound):
    """The entry or text was forgotten on request."""


class CompactionError(TidalError):
    """A context could not be rebuilt. Nothing of it was dropped."""


class ContextOverflow(CompactionError):
    """The parts of a context that may not be shortened exceed the limit."""


class BrokenInvariant(CompactionError):
    """A rebuilt context fails its own check. This is a defect of the library: please report it."""


class ExtractionError(TidalError):
    """An extractor's answer cannot be used. The episode is unchanged, and is read again later."""


class GraphSinkError(TidalError):
    """A graph engine failed. It has what was written until then, and mirroring again goes on from there."""


class RedactionError(TidalError):
    """A redactor failed, or its answer cannot be used. Nothing was stored."""


class RerankError(TidalError):
    """A reranker cannot be loaded, or its answer cannot be used."""


class Closed(TidalError):
    """The memory was closed."""


class SessionClosed(Closed):
    """The session was closed, or its handle belongs to another process."""


class PolicyViolation(TidalError):
    """A policy refuses a signal. ``signal`` is its type, ``policy`` the policy's name, ``reason`` the reason."""

    def __init__(self, reason: str, *, signal: str, policy: str) -> None:
        super().__init__(f"signal {shown(signal)} was refused by policy {shown(policy)}: {reason}")
        self.reason = reason
        self.signal = signal
        self.policy = policy

    def __reduce__(self) -> tuple[object, ...]:
        return _violation, (type(self), self.reason, self.signal, self.policy)


class SessionExpired(PolicyViolation):
    """The session has lasted longer than its policy admits."""


class SignalCapReached(PolicyViolation):
    """The session has as many signals as its policy admits."""


class SignalDenied(PolicyViolation):
    """The policy denies signals of this type."""


class SignalNotAllowed(PolicyViolation):
    """The policy allows signals of other types only."""


class EmbeddingError(TidalError):
    """Text could not be turned into vectors."""


class EmbedderUnavailable(EmbeddingError):
    """The embedder's weights or library cannot be loaded."""


class EmbedderMismatch(EmbeddingError):
    """The store was written with another embedder."""


class BadEmbedding(EmbeddingError):
    """The embedder returned vectors of the wrong size, or a vector that holds NaN or Inf, or is zero."""


class StorageError(TidalError):
    """The store refused an operation or could not complete it."""


class NotADatabase(StorageError):
    """The path does not lead to a database of this library."""


class EncryptionError(StorageError):
    """A key does not open the file, or is no key, or this SQLite has no ciphers."""


class SchemaTooNew(StorageError):
    """The store was written by a later version of this library."""


class SchemaTooOld(StorageError):
    """The store was written by an earlier version of this library, and there are no migrations before 1.0."""


class ReadOnly(StorageError):
    """The file or its folder cannot be written to, or the memory was opened with ``read_only=True``."""


class DiskFull(StorageError):
    """No space is left on the device. Nothing was written."""


class FileReplaced(StorageError):
    """The file, its log or the log's index was deleted, moved or replaced while it was open. If a write raises this,
    it is not in the file at the path."""


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


def _violation(kind: type[PolicyViolation], reason: str, signal: str, policy: str) -> PolicyViolation:
    return kind(reason, signal=signal, policy=policy)  # keyword arguments survive no pickling by themselves
