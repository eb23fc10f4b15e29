"""Commands: functions whose first argument is their :class:`Run`, with the options that every command has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tidal_plugins.apps.cli.errors import reported
from tidal_plugins.apps.cli.session import Run

Db = Annotated[str | None, typer.Option("--db", help="The file of the memory, or its URL [TIDAL_DB, else tidal.db].")]
Scope = Annotated[str | None, typer.Option("--scope", help="Whose memories, such as user/42 [TIDAL_SCOPE].")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

COMMON = {"db": (Db, None), "scope": (Scope, None), "as_json": (Json, False)}
"""The options of every command, with their defaults."""


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a function to the commands under ``name``."""

    def added(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @functools.wraps(function)
        def run(**values: Any) -> None:
            with reported():
                from tidal_plugins.apps.cli.settings import CommandLine

                settings = CommandLine.of(db=values.pop("db"), scope=values.pop("scope"))
                function(Run(settings, values.pop("as_json")), **values)

        common = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, (kind, default) in COMMON.items()
        ]
        mine = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        run.__signature__ = inspect.Signature([*mine, *common])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in [*mine, *common]}
        del run.__wrapped__  # what typer reads is the signature above
        app.command(name)(run)
        return function

    return added
