"""Exit codes, and errors that end a command with one sentence on standard error instead of a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

import typer


class Exit(IntEnum):
    """The exit codes of every command. Typer's own for a command that is written wrongly is 2."""

    DONE = 0
    REFUSED = 1
    """The memory refused the request or failed. The message says why and what to do."""
    USAGE = 2
    """The command was written wrongly, or one of its values cannot be used."""
    NOTHING = 3
    """There is no such memory, entry, thread or topic, or no hit."""
    PARTLY = 4
    """Some files or conversations were skipped because of errors, or the doctor found something wrong."""
    INTERRUPTED = 130


class Failed(Exception):
    """Ends a command with a message and an exit code."""

    def __init__(self, message: str, code: Exit = Exit.REFUSED) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def reported() -> Iterator[None]:
    """Let an error of the library, or of a file, end the command with its message."""
    from pydantic import ValidationError

    from tidal_plugins import EmbedderMismatch, InvalidInput, NotFound, TidalError

    try:
        yield
    except Failed as error:
        raise _end(str(error), error.code) from None
    except NotFound as error:
        raise _end(str(error), Exit.NOTHING) from None
    except EmbedderMismatch as error:
        hint = "name the embedder of this memory in TIDAL_EMBEDDER, or give it another one with tidal reembed"
        raise _end(f"{error}. Here: {hint}", Exit.REFUSED) from None
    except InvalidInput as error:
        raise _end(str(error), Exit.USAGE) from None
    except TidalError as error:
        raise _end(str(error), Exit.REFUSED) from None
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise _end(faults, Exit.USAGE) from None
    except KeyboardInterrupt:
        raise _end("interrupted; what was stored stays", Exit.INTERRUPTED) from None
    except BrokenPipeError:  # whoever read the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(Exit.DONE) from None
    except OSError as error:
        raise _end(f"{error.filename or 'the system'}: {error.strerror or error}", Exit.REFUSED) from None


@contextmanager
def replacing(path: Path) -> Iterator[None]:
    """Say how to replace a file that is there already, in words of the command line."""
    from tidal_plugins import Conflict

    try:
        yield
    except Conflict:
        raise Failed(f"there is a file at {path} already: name another one, or give --replace") from None


def _end(message: str, code: Exit) -> typer.Exit:
    typer.echo(f"tidal: {message}", err=True)
    return typer.Exit(code)
