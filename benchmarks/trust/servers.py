"""Servers under attack: the MCP server and the inspector are sent what no honest client sends.

Each attack is made against a server in a process of its own, whose memory holds a text that no answer may show. While
it runs, and after it, an honest client asks; what it waits at most is printed beside the memory that the server took.
"""

from __future__ import annotations

import json
import re
import secrets
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from tidal_plugins import HashingEmbedder, TidalMemory

SLOW = 1_000
"""Connections that begin a request and never end it."""
PATIENCE = 10.0
"""Seconds that an honest client may have to wait, and that an attack waits for its answer."""
GROWTH = 128
"""MiB that a server may take beyond what it had before."""
HELD: Final = "The spare key of the observatory hangs behind the blue barometer."
TOLD: Final = (b"barometer", b"Traceback", b".py", b"site-packages")
"""What no answer to an attack may hold."""
TOKEN: Final = secrets.token_urlsafe(24)
SERVE: Final = """
import sys
from tidal_plugins import HashingEmbedder, TidalMemory
kind, path, token = sys.argv[1:]
with TidalMemory(path, embedder=HashingEmbedder(), read_only=True) as memory:
    if kind == "mcp":
        from tidal_plugins.apps.mcp import serve
        serve(memory, http=True, port=0, token=token)
    else:
        from tidal_plugins.apps.inspect import serve
        serve(memory, port=0, token=token, say=lambda line: print(line, file=sys.stderr, flush=True))
"""
ASK: Final = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "thread_history", "arguments": {}}}
).encode()


class Served(NamedTuple):
    """A server: which one, its process, and its port."""

    kind: str
    process: subprocess.Popen[str]
    port: int

    @property
    def peak(self) -> int:
        """Return the most memory that the process took, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) // 1024

    def request(self, *more: str, body: bytes | None = None, **given: str) -> bytes:
        """Return a request with some of its parts replaced: method, path, version, host, token and length."""
        mcp = self.kind == "mcp"
        body = (ASK if mcp else b"") if body is None else body
        path = given.get("path", "/mcp" if mcp else "/")
        head = [f"{given.get('method', 'POST' if mcp else 'GET')} {path} {given.get('version', 'HTTP/1.1')}"]
        head += [f"Host: {given.get('host', f'127.0.0.1:{self.port}')}"]
        if token := given.get("token", TOKEN):
            head += [f"Authorization: Bearer {token}"] if mcp else [f"Cookie: {self.cookie(token)}"]
        head += ["Content-Type: application/json", "Accept: application/json, text/event-stream"] if mcp else []
        head += [f"Content-Length: {given.get('length', len(body))}", *more]
        return "\r\n".join([*head, "", ""]).encode("latin-1") + body

    @staticmethod
    def cookie(token: str) -> str:
        """Return the cookie that the inspector gives for a token."""
        from hashlib import sha256

        name, kept = sha256(token.encode()).hexdigest()[:8], sha256(b"cookie of " + token.encode()).hexdigest()
        return f"tidal-{name}={kept}"

    def answer(self, sent: bytes, seconds: float = PATIENCE) -> bytes:
        """Return what comes back for some bytes, until the server closes or nothing comes for some time."""
        got = b""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as client:
            with suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(sent)
            while piece := client.recv(1 << 16):
                got += piece
                if _is_whole(got):
                    break
        return got

    def honest(self) -> float:
        """Return the seconds until an honest client was answered, who asks again when it was not."""
        begun = time.monotonic()
        while time.monotonic() - begun < 4 * PATIENCE:
            got = self.answer(self.request("Connection: close"), 2.0)
            if got.startswith(b"HTTP/1.1 200"):
                break
            time.sleep(0.1)
        return time.monotonic() - begun


@dataclass(slots=True)
class Tried:
    """What came of an attack: how often it was tried, how it was answered, and what was wrong."""

    name: str
    count: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    waited: float = 0.0
    grown: int = 0

    def note(self, got: bytes, *, allowed: str = "4") -> None:
        """Note an answer, which is wrong if it tells anything, or grants what it must refuse."""
        self.count += 1
        status = got[9:12].decode("latin-1") if got.startswith(b"HTTP/1.") else "closed" if not got else "other"
        self.answers[status] += 1
        told = [word.decode() for word in TOLD if word in got]
        if told or not (status == "closed" or status[0] in allowed):
            self.wrong.append(f"{status}: {told or got[:80]!r}")


Attack = Callable[[Served, Tried], None]


def _names(served: Served, tried: Tried) -> None:
    hosts = ("evil.example", f"evil.example:{served.port}", f"127.0.0.1.evil.example:{served.port}", "", "127.0.0.1@x")
    for host in (*hosts, "169.254.169.254", "localhost.evil.example", f"[::ffff:7f00:1]:{served.port}"):
        tried.note(served.answer(served.request(host=host)))
    for origin in ("https://evil.example", "null", f"http://evil.example:{served.port}", "file://", "http://127.0.0.2"):
        tried.note(served.answer(served.request(f"Origin: {origin}")))


def _tokens(served: Served, tried: Tried) -> None:
    for token in ("", TOKEN[:-1], TOKEN + "x", TOKEN.swapcase(), "x" * 60_000, "Bearer", "\xff\xfe", "null"):
        tried.note(served.answer(served.request(token=token)))
    path = "/mcp" if served.kind == "mcp" else "/"
    elsewhere = [f"X-Token: {TOKEN}", f"Proxy-Authorization: Bearer {TOKEN}", f"Authorization: Basic {TOKEN}"]
    elsewhere += [f"Cookie: token={TOKEN}"] if served.kind == "mcp" else [f"Authorization: Bearer {TOKEN}"]
    for header in elsewhere:
        tried.note(served.answer(served.request(header, token="")))
    wrong = f"?token={TOKEN}" if served.kind == "mcp" else f"?token={TOKEN[:-1]}&token={TOKEN}"
    tried.note(served.answer(served.request(token="", path=path + wrong)))


def _bodies(served: Served, tried: Tried) -> None:
    for size in (1_000_000, 100_000_000):
        tried.note(served.answer(served.request(method="POST", body=b"x" * size)), allowed="4")
        piece = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
        chunked = served.request("Transfer-Encoding: chunked", method="POST", body=b"").replace(
            b"Content-Length: 0\r\n", b""
        )
        tried.note(served.answer(chunked + piece * (size // 65_536) + b"0\r\n\r\n"))
    tried.note(served.answer(served.request(method="POST", length="9" * 30, body=b"x")))


def _headers(served: Served, tried: Tried) -> None:
    for more in ([f"X-{n}: {n}" for n in range(10_000)], ["X: " + "a" * 10_000_000], ["A" * 1_000_000 + ": b"]):
        tried.note(served.answer(served.request(*more)))
    tried.note(served.answer(served.request(path="/" + "a" * 1_000_000)))


def _paths(served: Served, tried: Tried) -> None:
    for path in (
        "/../../etc/passwd",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "//etc/passwd",
    ):
        tried.note(served.answer(served.request(path=path)), allowed="34")
    for path in ("/mcp/../mcp", "/static/..\\app.py", "/\x01", "/%00", "http://evil.example/", "*", "/static/%c0%ae/x"):
        tried.note(served.answer(served.request(path=path)), allowed="34")


def _protocols(served: Served, tried: Tried) -> None:
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13")
    tried.note(served.answer(served.request(*upgrade, method="GET", token="")))
    tried.note(served.answer(served.request("Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", token="")))
    tried.note(served.answer(served.request(version="HTTP/1.0", token="")))
    for version in ("HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "HTTPS/1.1", ""):
        tried.note(served.answer(served.request(version=version, token="")))
    for sent in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"\0" * 70_000, b"GET /\r\n\r\n"):
        tried.note(served.answer(sent))


def _smuggled(served: Served, tried: Tried) -> None:
    """Send requests whose ends two readers may see at two places, with another one that has no token behind."""
    hidden = served.request(token="")
    both = ("Transfer-Encoding: chunked",)
    forms: list[tuple[Sequence[str], bytes]] = [
        (both, b"0\r\n\r\n" + hidden),
        (("Transfer-Encoding: xchunked",), hidden),
        (("Transfer-Encoding: chunked, identity",), b"0\r\n\r\n" + hidden),
        (("Transfer-Encoding : chunked",), b"0\r\n\r\n" + hidden),
        (("Transfer-Encoding:\tchunked", "Transfer-Encoding: x"), b"0\r\n\r\n" + hidden),
        (("Content-Length: 5",), b"12345" + hidden),
        (("Content-Length: +5",), hidden),
        (("X: y\nTransfer-Encoding: chunked",), b"0\r\n\r\n" + hidden),
        ((" folded: yes",), hidden),
        (both, b"0x1\r\na\r\n0\r\n\r\n" + hidden),
        (both, b"ffffffffffffffff1\r\na\r\n0\r\n\r\n"),
    ]
    for more, body in forms:
        tried.note(served.answer(served.request(*more, method="POST", token="", body=body)))


def _slow(served: Served, tried: Tried) -> None:
    """Begin requests and never end them: heads without an end, and bodies that do not come."""
    partial = served.request()[: -len(ASK) - 4] if served.kind == "mcp" else served.request()[:-4]
    body = served.request(method="POST", length="1000", body=b"x")
    with ExitStack() as held:
        for number in range(tried.count or SLOW):
            with suppress(OSError):
                client = held.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE))
                client.sendall((partial, body, b"G", b"")[number % 4])
        tried.waited = max(served.honest() for _ in range(5))
    tried.answers["held open"] = tried.count


ATTACKS: Final[dict[str, Attack]] = {
    "hosts and origins of others": _names,
    "tokens missing, wrong, elsewhere": _tokens,
    "bodies up to 100 MB": _bodies,
    "headers, 10,000 and of 10 MB": _headers,
    "paths that lead out": _paths,
    "websockets, HTTP/1.0, no HTTP": _protocols,
    "smuggled requests": _smuggled,
    "connections that never ask": _slow,
}


def attack(slow: int = SLOW) -> dict[str, list[Tried]]:
    """Make every attack on both servers, and return what came of each."""
    found: dict[str, list[Tried]] = {}
    with TemporaryDirectory(prefix="tidal-servers-") as folder:
        path = Path(folder, "agent.db")
        with TidalMemory(path, embedder=HashingEmbedder()) as memory:
            memory.record(HELD, "Noted.")
        for kind in ("mcp", "inspect"):
            with serving(kind, path) as served:
                found[kind] = [_made(name, made, served, slow) for name, made in ATTACKS.items()]
    return found


def _made(name: str, made: Attack, served: Served, slow: int) -> Tried:
    tried, before = Tried(name, slow if made is _slow else 0), served.peak
    made(served, tried)
    tried.waited, tried.grown = max(tried.waited, served.honest()), served.peak - before
    if tried.waited > PATIENCE:
        tried.wrong.append(f"an honest client waited {tried.waited:.0f} s")
    if tried.grown > GROWTH:
        tried.wrong.append(f"{tried.grown} MiB more")
    return tried


@contextmanager
def serving(kind: str, path: Path) -> Iterator[Served]:
    """Serve a memory in a process of its own until the block ends."""
    run = [sys.executable, "-c", SERVE, kind, str(path), TOKEN]
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            port = re.search(r"127\.0\.0\.1:(\d+)", line)
            if port is None:
                raise RuntimeError(f"the server did not start: {line}{process.stderr.read()}")
            served = Served(kind, process, int(port[1]))
            served.honest()
            yield served
        finally:
            process.kill()


def _is_whole(got: bytes) -> bool:
    head, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(length) and len(body) >= int(length[1])  # type: ignore[index]


def run(slow: int, console: Console) -> bool:
    """Attack both servers, print what came of it, and return whether nothing leaked and honest clients were served."""
    found = attack(slow)
    table = Table("server", "tried", "times", "answers", "waited", "MiB more", "wrong")
    table.title = "Servers under attack"
    for kind, rows in found.items():
        for row in rows:
            answers = ", ".join(f"{count} {what}" for what, count in row.answers.most_common())
            table.add_row(
                kind, row.name, f"{row.count:,}", answers, f"{row.waited:.1f} s", f"{row.grown}", str(len(row.wrong))
            )
    console.print(table)
    wrong = [f"{kind}, {row.name}: {fault}" for kind, rows in found.items() for row in rows for fault in row.wrong]
    for line in wrong:
        console.print(f"  {line}", markup=False)
    return not wrong
