"""Policies by name: those of the settings, and those that a store declares [tidalDB]."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from tidal_plugins.errors import InvalidInput, NotFound
from tidal_plugins.model.entry import Scope
from tidal_plugins.model.session import ACTIONS, Policy
from tidal_plugins.settings import Settings
from tidal_plugins.shown import shown
from tidal_plugins.storage.base import Storage
from tidal_plugins.storage.damage import whole
from tidal_plugins.storage.shorthands import read_document, write_document
from tidal_plugins.storage.transactions import retry

POLICIES = "policies"
MAX_NAME = 200
"""Characters of a policy's name."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies that sessions of one scope may name."""

    storage: Storage
    scope: Scope
    settings: Settings

    def find(self, policy: Policy | str | None) -> tuple[str | None, Policy]:
        """Return a policy with its name, or raise ``InvalidInput`` for one that is unknown or names unknown signals."""
        if policy is None:
            return None, Policy()
        if isinstance(policy, str):
            try:
                return policy, self.named(policy)
            except NotFound as error:
                raise InvalidInput(str(error)) from None
        return None, self._checked(policy)

    @retry
    def declare(self, name: str, policy: Policy) -> None:
        if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
            raise InvalidInput(
                f"a policy's name is a printable text of at most {MAX_NAME} characters, got {shown(name)}"
            )
        if name in self.settings.policies:
            raise InvalidInput(f"Settings.policies has a policy {shown(name)} already: choose another name")
        value = self._checked(policy).model_dump(mode="json")
        with self.storage.transaction():
            write_document(self.storage, self.scope, POLICIES, name, value)

    @whole()
    def named(self, name: str) -> Policy:
        """Return a policy by name. Raises ``NotFound``."""
        if not isinstance(name, str):
            raise InvalidInput(f"a policy's name is a text, got {shown(name)}")
        if name in self.settings.policies:
            return self._checked(self.settings.policies[name])
        stored = read_document(self.storage, self.scope, POLICIES, name)
        if stored:
            return Policy.model_validate(stored.value)
        known = ", ".join(self.names()) or "none"
        raise NotFound(
            f"no policy is called {shown(name)} (known: {known}): put it into Settings.policies or "
            "memory.sessions.policies"
        )

    @whole()
    def names(self) -> list[str]:
        """List the names of all policies, sorted."""
        declared = [document.key for document in self.storage.documents(self.scope, POLICIES)]
        return sorted({*self.settings.policies, *declared})

    @retry
    def remove(self, name: str) -> None:
        """Remove a stored policy. Raises ``NotFound``, and ``InvalidInput`` for one of ``Settings.policies``."""
        if isinstance(name, str) and name in self.settings.policies:
            raise InvalidInput(f"the policy {shown(name)} stands in Settings.policies: take it out there")
        with self.storage.transaction():
            self.named(name)
            self.storage.erase_documents(self.scope, POLICIES, [name])

    def _checked(self, policy: Policy) -> Policy:
        if not isinstance(policy, Policy):
            raise InvalidInput(f"a policy is a Policy or the name of one, got {shown(policy)}")
        if unknown := (policy.allow | policy.deny) - self.settings.signals.keys() - set(ACTIONS):
            raise InvalidInput(
                f"the policy names signals that there are not ({', '.join(sorted(unknown))}): "
                f"use {', '.join(sorted(self.settings.signals))}, or declare them in Settings.signals"
            )
        try:
            return Policy.model_validate(policy.model_dump())  # a copy with an update was never validated
        except ValidationError as error:
            raise InvalidInput(f"the policy is none: {error}") from error
