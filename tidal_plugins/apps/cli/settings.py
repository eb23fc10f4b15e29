"""The settings of the command line: options of a command, or else variables of the environment ``TIDAL_…``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_settings import BaseSettings, SettingsConfigDict

from tidal_plugins.apps.cli.errors import Exit, Failed


def _place(value: Any) -> Any:
    """Return a URL as it is, and the path of anything else: a path would lose one of the slashes."""
    return value if isinstance(value, str) and "://" in value else Path(value)


class CommandLine(BaseSettings):
    """The settings that every command has. An option that is given comes before its variable.

    A variable that is set to nothing counts as one that is not set."""

    model_config = SettingsConfigDict(env_prefix="TIDAL_", env_ignore_empty=True, frozen=True, extra="ignore")

    db: Annotated[Path | str, BeforeValidator(_place)] = Path("tidal.db")
    """The file of the memory, or its URL on a PostgreSQL server (``TIDAL_DB``). A URL may have a password in it."""
    scope: str = "default"
    """The owner of the memories, its names separated by slashes, such as ``user/42`` (``TIDAL_SCOPE``)."""
    embedder: str = "minilm"
    """``minilm``, ``hashing`` (words only, no model), or the name of a sentence-transformers model
    (``TIDAL_EMBEDDER``)."""
    model: str | None = None
    """The model of ``tidal chat``, as ``init_chat_model`` names it (``TIDAL_MODEL``)."""

    @property
    def file(self) -> Path:
        """Return the file of the memory. Raises ``Failed`` for one on a server."""
        if isinstance(self.db, str):
            raise Failed(f"this command needs the file of a memory, and {self.place} is a URL", Exit.USAGE)
        return self.db

    @property
    def place(self) -> str:
        """Return where the memory is, as it may be shown: without a password."""
        if isinstance(self.db, Path):
            return str(self.db)
        scheme, _, rest = self.db.partition("://")
        return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"

    @property
    def owner(self) -> tuple[str, ...]:
        """Return the scope as the library takes it. Raises ``Failed`` if one of its names is empty."""
        names = tuple(self.scope.split("/"))
        if not all(names):
            raise Failed(f"a scope is names separated by slashes, such as user/42, got {self.scope!r}", Exit.USAGE)
        return names

    @classmethod
    def of(cls, **given: Any) -> CommandLine:
        """Return the settings with the options that were given."""
        return cls(**{name: value for name, value in given.items() if value is not None})
