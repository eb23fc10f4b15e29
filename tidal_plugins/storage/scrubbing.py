"""Bytes of what was erased: overwritten at once, or at the next opening."""

from __future__ import annotations

import logging
from contextlib import suppress

from tidal_plugins.errors import Conflict, Corrupt, StorageError
from tidal_plugins.storage.base import META, STORE, Storage
from tidal_plugins.storage.shorthands import read_document, write_document, write_meta
from tidal_plugins.storage.transactions import retry

logger = logging.getLogger(__name__)

UNSCRUBBED = "unscrubbed"
"""Whether erased texts may have left bytes in the file."""


def mark_unscrubbed(storage: Storage) -> None:
    """Note that what was erased may have left bytes in the file. Call it inside the transaction that erases."""
    write_meta(storage, UNSCRUBBED, True)


def scrub(storage: Storage) -> tuple[str, ...]:
    """Overwrite what forgotten texts left in the file, where something was erased since this last succeeded.

    Returns why bytes are still there, if they are.

    It is not part of the erasing transaction. When it fails (a full disk, a reader that keeps the log) or the process
    dies before it, the store remembers, and the next forgetting or opening tries again.
    """
    try:
        noted = read_document(storage, STORE, META, UNSCRUBBED)
    except Corrupt as error:  # the store must open all the same, to be repaired
        why = f"whether forgotten bytes are still in the store cannot be read: {error}"
        logger.warning("%s", why)
        return (why,)
    if not (noted and noted.value):
        return ()
    try:
        done = retry(storage.scrub)()
    except StorageError as error:
        why = f"forgotten bytes are still in the store; opening it or forgetting tries again to remove them: {error}"
    else:
        if done:
            with suppress(Conflict):  # more was erased meanwhile, and whoever did it scrubs again
                write_document(storage, STORE, META, UNSCRUBBED, False, expected=noted.version)
            return ()
        why = "a reader keeps forgotten bytes in the log; they go when the memory is next opened"
    logger.warning("%s", why)
    return (why,)
