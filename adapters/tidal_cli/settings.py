"""The settings of the command line: options of a command, or else variables of the environment ``TIDAL_…``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, SettingsConfigDict

from tidal_cli.errors import Exit, Failed


class CommandLine(BaseSettings):
    """The settings that every command has. An option that is given comes before its variable.

    A variable that is set to nothing counts as one that is not set."""

    model_config = SettingsConfigDict(env_prefix="TIDAL_", env_ignore_empty=True, frozen=True, extra="ignore")

    db: Path = Path("tidal.db")
    """The file of the memory (``TIDAL_DB``)."""
    scope: str = "default"
    """The owner of the memories, its names separated by slashes, such as ``user/42`` (``TIDAL_SCOPE``)."""
    embedder: str = "minilm"
    """``minilm``, ``hashing`` (words only, no model), or the name of a sentence-transformers model
    (``TIDAL_EMBEDDER``)."""
    model: str | None = None
    """The model of ``tidal chat``, as ``init_chat_model`` names it (``TIDAL_MODEL``)."""

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
