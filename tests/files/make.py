"""Write a file and an export of the schema of today, which later versions must open: ``python -m tests.files.make``.

Run it once for each schema that a release has, before the next one changes it, and commit what it writes.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

from tidal_plugins import HashingEmbedder, Settings, TidalMemory, ToolCall
from tidal_plugins.maintenance.export import SCHEMA
from tidal_plugins.storage.sqlite.schema import VERSION
from tidal_plugins.testing import FrozenClock

FOLDER = Path(__file__).parent
GONE = "The plan of the garden stands behind the calendar of the sailing club, on the second shelf."
QUIET = Settings(graph={"background": False})


def fill(memory: TidalMemory, clock: FrozenClock) -> None:
    """Give a memory something of everything. One turn, ``GONE``, is forgotten."""
    tool = ToolCall("search", {"query": "mast"}, result="The mast is spruce.")
    first = memory.record("Mira keeps the mast in the shed.", "In the shed, then.", thread="boats", tools=[tool])
    memory.record("The sail is red.", "Red it is.", thread="boats", surfaced=[first.citation])
    gone = memory.record(GONE, "All right.", thread="doors")
    memory.remember("# Varnish\n\n" + "Sand the hull, then varnish it twice.\n\n" * 200, source="varnish.md")
    memory.remember("Tie a bowline.", kind="skill", tags=["knots"])
    memory.facts["harbour"] = "open"
    memory.facts["harbour"] = "closed"
    with memory.sessions.open(agent="planner", user="mira") as session:
        session.signal("like", memory.recall("mast")[0].id, note="useful")
    memory.graph.index_pending()
    memory.dossiers.refresh("mast")
    memory.scoped("user", "7").remember("Only seven knows of the cellar.")
    memory.documents.put("papers/tide.md", [], digest="1")
    memory.forget(gone.citation)
    clock.advance(hours=30)
    memory.maintenance.run()


def main() -> None:
    clock = FrozenClock()
    with TemporaryDirectory() as folder:
        path = Path(folder, "agent.db")
        with TidalMemory(path, embedder=HashingEmbedder(16), settings=QUIET, clock=clock) as memory:
            fill(memory, clock)
            memory.export(FOLDER / f"export-{SCHEMA}.jsonl.gz", replace=True)
        (FOLDER / f"schema-{VERSION}.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
