"""Refusals: errors as a client may read them, with their kind and without paths, values of others or tracebacks."""

from __future__ import annotations

import inspect
import logging

from tidal_plugins import TidalMemory
from tidal_plugins.errors import TidalError
from tidal_plugins.turns import REFUSALS

logger = logging.getLogger(__name__)


def told(error: Exception, memory: TidalMemory) -> str:
    """Return an error in a sentence that begins with its kind.

    A mistake of the caller is told as it is. Of other errors of the library only the kind is told, and of any other
    error nothing; the log of the server has them.
    """
    kind = type(error).__name__
    if isinstance(error, REFUSALS):
        return f"{kind}: {str(error).replace(memory.path, 'the file')}" if memory.path else f"{kind}: {error}"
    logger.error("a request failed", exc_info=error)
    if isinstance(error, TidalError):
        about = (inspect.getdoc(type(error)) or "the memory could not answer").split("\n\n")[0]
        return f"{kind}: {' '.join(about.split())}"
    return "InternalError: the server failed, and its log says why"
