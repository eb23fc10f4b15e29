"""Install the wheel as a user would, and check that it remembers.

    python tools/package.py dist [EXTRA …]

First the wheel and the sdist are built a second time, and must be the same to the byte. The wheel is installed with the
pinned versions of ``constraints.txt``, first without any extra. Each extra then gets a copy of that environment, which
is removed afterwards. The program below runs in an empty folder. All extras for users are tried, if none is named. Then
the wheel alone and with ``all`` are tried on each later Python that can be called by its name. The size of an
environment is that of its packages, with compiled code and without pip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_FOR_USERS = {"bench", "clients", "dev", "docs", "peers"}

LATER_PYTHONS = ("python3.12", "python3.13", "python3.14")
"""The versions beside the oldest one, which runs this."""

PIP = {"pip", "setuptools", "pkg_resources"}

REMEMBERS = """
from tidal_plugins import TidalMemory

with TidalMemory("agent.db") as memory:
    memory.record("I practise jazz piano every evening.", "Noted.", thread="monday")
with TidalMemory("agent.db") as memory:
    assert "jazz" in memory.recall("Which instrument do I play?")[0].text
    assert "jazz" in str(memory.whisper("What should I play on the piano tonight?"))
"""
IMPORTS = {
    "-": "import tidal_plugins.apps.hooks.events",
    "langgraph": "from langgraph_tidal import CompactionNode, RecallNode, RecordNode, TidalStore",
    "langchain": "from langchain_tidal import TidalMemoryMiddleware, TidalRetriever, memory_tools, with_memory",
    "llama-index": "from llama_index_tidal import TidalChatMemory, TidalRetriever",
    "classic": "from langchain_tidal import TidalConversationMemory",
    "cli": "from tidal_plugins.apps.cli.main import app",
    "inspect": "from tidal_plugins.apps.inspect.app import HERE; HERE.joinpath('static/style.css').read_text()",
    "mcp": "import tidal_plugins.apps.mcp.server, tidal_plugins.apps.mcp.http",
    "code": "from tidal_plugins.graph.code.outline import is_installed, language_of\n"
    "ends = 'py js ts tsx go rs java c cpp cs rb php sql sh'\n"
    "assert all(is_installed(language_of(f'file.{end}')) for end in ends.split())",
    "language": "import spacy",
    "neo4j": "import neo4j",
    "ladybug": "import ladybug",
    "graphiti": "from tidal_plugins.apps.graphs import GraphitiSink",
    "postgres": "import psycopg",
    "otel": "from opentelemetry import trace",
    "sentence-transformers": "from sentence_transformers import SentenceTransformer",
}
APART = {"graphiti", "language", "otel", "sentence-transformers"}
"""Extras for users that are not in ``all``."""

IMPORTS["all"] = "\n".join(line for name, line in IMPORTS.items() if name not in APART)


def main(arguments: Sequence[str]) -> None:
    dist = Path(arguments[0])
    check_reproducible(dist)
    [wheel] = (path.resolve() for path in dist.glob("*.whl"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = arguments[1:] or sorted(project["optional-dependencies"].keys() - NOT_FOR_USERS)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain")
        venv.create(plain, with_pip=True)
        attempt(plain, str(wheel), "-")
        for extra in extras:
            place = Path(folder, extra)
            shutil.copytree(
                plain, place, symlinks=True, copy_function=os.link
            )  # pip replaces files, and writes into none
            attempt(place, f"{wheel}[{extra}]", extra)
            shutil.rmtree(place)
        for python in LATER_PYTHONS:
            if not (found := shutil.which(python)) or subprocess.run([found, "-V"], capture_output=True).returncode:
                print(f"{python} is not at hand", flush=True)
                continue
            print(python, flush=True)
            place = Path(folder, python)
            run(Path(folder), found, "-m", "venv", str(place))
            attempt(place, str(wheel), "-")
            attempt(place, f"{wheel}[all]", "all")
            shutil.rmtree(place)


def check_reproducible(dist: Path) -> None:
    """Build again elsewhere, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        run(ROOT, sys.executable, "-m", "build", "--outdir", folder)
        for path in sorted(dist.iterdir()):
            if Path(folder, path.name).read_bytes() != path.read_bytes():
                sys.exit(f"{path.name} is another one when it is built again")
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, the same when it is built again", flush=True)


def attempt(place: Path, wanted: str, extra: str) -> None:
    """Install the wheel in an environment, and let it record and recall."""
    began = time.monotonic()
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(place, python, "-m", "pip", "install", "-qq", "-c", str(ROOT / "constraints.txt"), wanted)
    run(place, python, "-m", "pip", "check")
    with tempfile.TemporaryDirectory() as empty:
        run(Path(empty), python, "-c", f"{IMPORTS[extra]}\n{REMEMBERS}")
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not PIP.intersection(path.parts))
    print(
        f"{extra:>21}: {size / 1e6:4.0f} MB, installed, recorded and recalled in {time.monotonic() - began:.0f} s",
        flush=True,
    )


def run(place: Path, *command: str | Path) -> None:
    """Run a command in a folder, without the Python variables of the current environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=place, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(f"{done.stdout}{done.stderr}".splitlines()[-10:])
        sys.exit(f"{' '.join(map(str, command))} failed\n{last}")


if __name__ == "__main__":
    main(sys.argv[1:])
