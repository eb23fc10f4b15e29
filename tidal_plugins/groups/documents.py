"""Documents: texts in several parts, such as files, which are replaced as a whole when they change."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field

from tidal_plugins.aio import in_thread
from tidal_plugins.errors import InvalidInput
from tidal_plugins.ingestion import documents as engine
from tidal_plugins.model.entry import Document, Note, Scope
from tidal_plugins.services import Services
from tidal_plugins.shown import shown
from tidal_plugins.storage.capabilities import question
from tidal_plugins.validation import label


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of one scope, by source. Every method has an async twin."""

    _services: Services = field(repr=False)
    _scope: Scope

    @question
    def get(self, source: str) -> Document | None:
        """Return the document that stands under a source, or ``None``."""
        return engine.read(self._services.writer, self._scope, self._source(source))

    @question
    def list(self) -> builtins.list[Document]:
        """List all documents, by source."""
        return engine.read_all(self._services.writer, self._scope)

    def put(self, source: str, parts: Iterable[Note], *, digest: str | None = None) -> Document:
        """Remember the parts of a document in place of those that it had, and return it.

        ``parts`` may be an iterator; each part gets this source. Parts that were remembered before stand as they are.
        Those that the document no longer has are found until :meth:`sweep` removes them, of many documents at once.
        ``digest`` is what the caller knows the content by. No parts at all: the document goes. It is safe to interrupt:
        a document of which not all is remembered yet has no digest. Parts that were forgotten on request are left out.
        If a part cannot be had or stored, the document stays as it was. Raises ``InvalidInput``.
        """
        if isinstance(parts, str) or not isinstance(parts, Iterable):
            raise InvalidInput(f"the parts of a document are Notes, got {shown(parts)}")
        services = self._services
        named = self._source(source)
        return engine.put(services.writer, self._scope, named, parts, label(digest, "digest"), services.now())

    def sweep(self) -> int:
        """Remove the parts that documents no longer have, and return how many there were.

        The file is rewritten once, as after forgetting. The same texts may be remembered again.
        """
        return engine.sweep(self._services.writer, self._scope, self._services.now())

    aget = in_thread(get)
    alist = in_thread(list)
    aput = in_thread(put)
    asweep = in_thread(sweep)

    def _source(self, source: str) -> str:
        if not label(source, "source"):
            raise InvalidInput("a document needs a source, such as the path of its file")
        return self._services.writer.redaction.text(source)
