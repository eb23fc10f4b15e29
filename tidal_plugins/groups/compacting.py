"""A view that keeps contexts within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidal_plugins.groups.portable import PortableView

if TYPE_CHECKING:
    from tidal_plugins.compaction.compactor import Compactor
    from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter


class CompactingView(PortableView):
    """The part of ``TidalMemory`` that makes compactors."""

    def compactor(
        self,
        *,
        max_tokens: int | None = None,
        max_bytes: int | None = None,
        summariser: Summariser | None = None,
        counter: TokenCounter | None = None,
        files: CurrentFiles | None = None,
        nested: bool = False,
    ) -> Compactor:
        """Return an object that keeps a context within limits (default: those of ``Settings.compaction``).

        ``summariser`` writes the summaries (default: extracts), ``counter`` counts tokens (default: about), and
        ``files=DiskFiles(folder)`` tells what files are now (default: what was said of them). In a ``nested`` run, such
        as a subagent's, questions are recorded as an agent's. Raises ``InvalidInput``.
        """
        from tidal_plugins.compaction.compactor import Compactor
        from tidal_plugins.compaction.recorded import Recorder
        from tidal_plugins.model.compaction import Size
        from tidal_plugins.protocols import CurrentFiles, Summariser, TokenCounter, check_protocol
        from tidal_plugins.summarising.sizes import ApproximateCounter
        from tidal_plugins.validation import check_int

        services = self._services
        settings = services.settings.compaction
        tokens = check_int(settings.max_tokens if max_tokens is None else max_tokens, "max_tokens", 1)
        size = check_int(settings.max_bytes if max_bytes is None else max_bytes, "max_bytes", 1)
        return Compactor(
            Recorder(services.writer, services.affect, services.worker, self.scope, nested),
            services.preparations,
            Size(tokens, size),
            check_protocol(summariser, Summariser, "a summariser has a method summarise"),
            check_protocol(counter, TokenCounter, "a counter has a method count") or ApproximateCounter(),
            self.now,
            check_protocol(files, CurrentFiles, "files has a root and a method read, such as DiskFiles(folder)"),
        )
