"""Prepare docstrings for the Markdown of the API reference: roles (:class:`Name`), and the tags of sources."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:class|func|meth|attr|mod):`~?([^`]+)`(?:\\)?(?:\s(?=s\b))?")
TAG = re.compile(r"\[((?:Tidal|Capsule|tidalDB|Anamnesis|SIYA)[^\]]*)\]")  # else it would be a link's


class Markdown(Extension):
    """Rewrites each docstring before it is rendered."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = TAG.sub(r"\[\1\]", ROLE.sub(r"`\1`", obj.docstring.value))
