"""Redaction: secrets go out of everything that is to be stored, before the first byte of it is written.

In place of a secret stands its kind with a tag, ``[password ·5f0c2b9e]``. The tag is a hash of the original words with
the store's own key. So the same text always becomes the same text: a turn that is recorded or passed again is known,
and two passwords are two values, without either being told. A short secret, such as a PIN, may be guessed by whoever
has the file, since the key is in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal

from tidal_plugins.errors import ComponentError, InvalidInput
from tidal_plugins.interrupts import pass_interrupt
from tidal_plugins.model.exchange import Exchange, Message, ToolCall
from tidal_plugins.patterns import lazy_re
from tidal_plugins.protocols import Redactor
from tidal_plugins.secrets.finding import TAG_DIGITS, Secret, filled, secrets, tagged, tags_in
from tidal_plugins.secrets.told import name_in

Action = Literal["mask", "keep", "refuse"]

_PRIVATE = lazy_re(r"<private>.*?</private>", re.S | re.I)
"""What its writer wants to be stored nowhere. Nothing is kept of it, a tag neither."""

_KIND = lazy_re(r"[A-Za-z][A-Za-z -]{0,30}")


class DefaultRedactor:
    """Finds passwords that are told, keys and tokens by form and entropy, private keys, card numbers and IBANs."""

    def find(self, text: str) -> Sequence[Secret]:
        """Return the secrets of a text, in order."""
        return secrets(text)


@dataclass(frozen=True, slots=True)
class Redaction:
    """What becomes of the secrets that ``redactor`` finds: ``mask``, ``keep`` or ``refuse``. ``key`` is the store's."""

    redactor: Redactor
    action: Action
    key: bytes = field(repr=False)

    def text(self, text: str, name: str = "") -> str:
        """Return a text as it may be stored. It is read with the name that it has in an object, such as ``password``.

        Raises ``InvalidInput`` if it is to be refused, and ``ComponentError`` if the redactor fails.
        """
        text = without_private(text)
        if self.action == "keep" or not text:
            return text
        cue = f"{name}: " if name else ""
        found = self._found(cue + text, len(cue))
        if found and self.action == "refuse":
            kinds = ", ".join(dict.fromkeys(secret.kind for secret in found))
            raise InvalidInput(
                f"a text holds a secret ({kinds}) at character {found[0].start}, and the settings refuse "
                "it: leave it out"
            )
        return self._masked(text, found)

    def known(self, text: str) -> str:
        """Return a text in the form in which it would be stored, to compare it. Refuses nothing."""
        text = without_private(text)
        return text if self.action == "keep" else self._masked(text, self._found(text, 0))

    def value(self, value: Any, name: str = "") -> Any:
        """Return a JSON value as it may be stored. Raises as :meth:`text` does, and ``InvalidInput`` for one of
        too many levels."""
        try:
            return self._value(value, name)
        except RecursionError:
            raise InvalidInput("a value is nested too deeply to look for secrets in it: flatten it") from None

    def _value(self, value: Any, name: str) -> Any:
        if isinstance(value, str):
            return self.text(value, name)
        if isinstance(value, Mapping):
            return {self.text(key): self._value(item, name_in(value, key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(item, name) for item in value]
        return self._number(value, name) if isinstance(value, int) and not isinstance(value, bool) else value

    def _number(self, value: int, name: str) -> int | str:
        """Return a number, or what stands for it if its name makes it a secret: a PIN, a card. Long ids are none."""
        plain = str(value)
        if self.action == "keep" or not name or ("card" not in name.casefold() and self._found(plain, 0)):
            return value
        return value if (stored := self.text(plain, name)) == plain else stored

    def exchange(self, exchange: Exchange) -> Exchange:
        """Return a checked turn as it may be stored. Raises as :meth:`text` does."""
        messages, metadata = tuple(map(self._message, exchange.messages)), self.value(exchange.metadata)
        surfaced = tuple(map(self.text, exchange.surfaced))
        same = (messages, metadata, surfaced) == (exchange.messages, exchange.metadata, exchange.surfaced)
        return exchange if same else replace(exchange, messages=messages, metadata=metadata, surfaced=surfaced)

    def comparable(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return messages in the form in which they would be stored, to compare them. Refuses nothing."""
        plain = replace(self, action="mask") if self.action == "refuse" else self
        return tuple(map(plain._message, messages))

    def _message(self, message: Message) -> Message:
        text, calls = self.text(message.text), tuple(map(self._call, message.tool_calls))
        reasoning, answers = self.text(message.reasoning), self._id(message.tool_call_id)
        if (text, calls, reasoning, answers) == (
            message.text, message.tool_calls, message.reasoning, message.tool_call_id,
        ):  # fmt: skip
            return message
        return replace(message, text=text, tool_calls=calls, reasoning=reasoning, tool_call_id=answers)

    def _call(self, call: ToolCall) -> ToolCall:
        result, id_ = call.result if call.result is None else self.text(call.result), self._id(call.id)
        return replace(call, name=self.text(call.name), id=id_, arguments=self.value(call.arguments), result=result)

    def _id(self, id_: str | None) -> str | None:
        return id_ and self.text(id_)

    def _found(self, text: str, start: int) -> list[Secret]:
        """Return the secrets from ``start`` on, at their places in ``text[start:]``, but for those replaced already."""
        if not text[start:].strip():
            return []
        try:
            found = sorted(Secret(*each) for each in self.redactor.find(filled(text)))
        except Exception as error:
            pass_interrupt(error)
            raise ComponentError(f"the redactor failed, and nothing was stored: {type(error).__name__}") from error
        last, left = 0, list[Secret]()
        done = [span.span() for span in tags_in(text)] if found else []
        for secret in found:
            _check(secret, last, len(text))
            last = secret.end
            if secret.end > start and not any(first < secret.end and secret.start < end for first, end in done):
                left.append(Secret(max(secret.start, start) - start, secret.end - start, secret.kind))
        return left

    def _masked(self, text: str, found: Sequence[Secret]) -> str:
        parts, last = [], 0
        for start, end, kind in found:
            parts += [text[last:start], tagged(kind, self._tag(text[start:end]))]
            last = end
        return "".join([*parts, text[last:]]) if parts else text

    def _tag(self, secret: str) -> str:
        return blake2b(secret.encode("utf-8", "replace"), key=self.key, digest_size=TAG_DIGITS // 2).hexdigest()


def without_private(text: str) -> str:
    """Return a text with ``[private]`` in place of what stands between ``<private>`` and ``</private>``."""
    return _PRIVATE.sub("[private]", text) if "<" in text else text


def _check(secret: Secret, last: int, length: int) -> None:
    start, end, kind = secret
    fits = all(isinstance(place, int) for place in (start, end)) and last <= start < end <= length
    if not fits or not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ComponentError(
            "a redactor returns Secret(start, end, kind) for each secret, in the text and apart from the others; a "
            "kind is one to 31 letters, blanks or hyphens. Nothing was stored"
        )
