"""Going on without a memory whose store fails: the person gets an answer, and the log tells once what is missing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from tidal_plugins.errors import StorageError
from tidal_plugins.memory import TidalMemory

logger = logging.getLogger(__name__)

T = TypeVar("T")

_logged: set[tuple[str, str, str]] = set()
"""What was logged in this process: the store, the kind of error, and what an agent went on without."""


def going_on(memory: TidalMemory, without: str, use: Callable[[], T], otherwise: T) -> T:
    """Return what ``use`` makes of a memory, or ``otherwise`` if the store fails.

    The first failure of a kind is logged as an error, the next ones as ``DEBUG``. Errors that are no ``StorageError``
    are raised: a mistake of the caller, a closed memory, an embedder that fails.
    """
    try:
        return use()
    except StorageError as error:
        kind = memory.path, type(error).__name__, without
        level = logging.DEBUG if kind in _logged else logging.ERROR
        _logged.add(kind)
        logger.log(level, "%s fails with %s: agents go on without %s; memory.check() tells more", *kind)
        logger.debug("it is", exc_info=True)
        return otherwise
