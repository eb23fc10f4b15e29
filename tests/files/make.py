"""Write a file, a dump of PostgreSQL and an export as of today, which later versions must open:

    python -m tests.files.make

Run it once for each schema that a release has, before the next one changes it, and commit what it writes.
"""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tidal_plugins import HashingEmbedder, Settings, TidalMemory, ToolCall
from tidal_plugins.maintenance.export import SCHEMA
from tidal_plugins.storage.postgres import PostgresStorage, schema
from tidal_plugins.storage.sqlite.schema import VERSION
from tidal_plugins.testing import FrozenClock
from tools.postgres import Server, running

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
    with running() as server:
        (FOLDER / f"postgres-{schema.VERSION}.sql.gz").write_bytes(gzip.compress(dump(server).encode(), mtime=0))


def dump(server: Server) -> str:
    """Return SQL that makes the tables of a filled memory, without what only ``psql`` reads."""
    clock = FrozenClock()
    storage = PostgresStorage(server.url(), partitions=1)
    with TidalMemory(storage=storage, embedder=HashingEmbedder(16), settings=QUIET, clock=clock) as memory:
        fill(memory, clock)
    storage.close()
    command = [str(server.programs / "pg_dump"), "--rows-per-insert=100", "--no-owner", "--dbname", server.url()]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "".join(line for line in said.splitlines(keepends=True) if not line.startswith(("\\", "--")))


if __name__ == "__main__":
    main()
