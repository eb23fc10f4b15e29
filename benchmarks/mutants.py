"""How many small faults of the product the tests notice.

    python benchmarks/mutants.py                      the faults of data/mutants.json against what `make test` runs
    python benchmarks/mutants.py --all --only 3 17    two of them against every test
    python benchmarks/mutants.py --draw 60 --seed 7   draw others at random, and write them to the file

A fault turns a condition round, leaves a statement out or changes a constant. Each is put into a copy of the checkout,
alone; the tests of its room run first, then the others, up to the first that fails. Some faults change nothing that
anybody could see, and are never noticed. A fault whose lines are gone or were changed is left out and counted.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.tables import options

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("tidal_plugins", "adapters")
FILE = ROOT / "benchmarks/data/mutants.json"
KINDS = ("condition", "line", "constant")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: ``after`` stands where ``before`` stood, near a line of a file when it was drawn."""

    kind: str
    file: str
    line: int
    before: str
    after: str

    def place(self, tree: Path) -> Path | None:
        """Return the file of a checkout that has the lines, which may have moved."""
        if (tree / self.file).is_file() and self.before in (tree / self.file).read_text("utf-8"):
            return tree / self.file
        found = [path for path in sources(tree) if self.before in path.read_text("utf-8")]
        return found[0] if len(found) == 1 else None

    def applied(self, text: str) -> str:
        places = [found.start() for found in re.finditer(re.escape(self.before), text)]
        nearest = min(places, key=lambda place: abs(text.count("\n", 0, place) + 1 - self.line))
        return text[:nearest] + self.after + text[nearest + len(self.before) :]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--all", action="store_true", help="run every test, not only those of make test")
    parser.add_argument("--only", type=int, nargs="*", help="the numbers of the faults")
    parser.add_argument("--draw", type=int, metavar="N", help="draw new faults, a third of each kind")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.draw:
        FILE.write_text(json.dumps([asdict(one) for one in draw(args.draw, args.seed)], indent=1) + "\n", "utf-8")
        return
    mutants = [Mutant(**one) for one in json.loads(FILE.read_text("utf-8"))]
    counted: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), "HEAD"], cwd=ROOT, check=True)
        try:
            for number in range(len(mutants)) if args.only is None else args.only:
                said = outcome(mutants[number], tree, ["--all"] if args.all else [])
                counted[mutants[number].kind, said.split(" ")[0]] += 1
                print(
                    f"{number:3} {mutants[number].file}:{mutants[number].line} {mutants[number].kind}: {said}",
                    flush=True,
                )
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    for (kind, said), number in sorted(counted.items()):
        print(f"{kind:10} {said:9} {number:3}")


def outcome(mutant: Mutant, tree: Path, options: list[str]) -> str:
    """Return ``noticed`` with the test that failed, ``unnoticed``, or ``gone``."""
    path = mutant.place(tree)
    if path is None:
        return "gone"
    own = tree / "tests" / path.relative_to(tree).parts[1].removesuffix(".py")
    text = path.read_text("utf-8")
    path.write_text(mutant.applied(text), "utf-8")
    try:
        for tests in ([str(own)] if own.is_dir() else [], ["tests"]):
            if tests and (failed := first_failure(tree, [*tests, *options])):
                return f"noticed by {failed}"
        return "unnoticed"
    finally:
        path.write_text(text, "utf-8")


def first_failure(tree: Path, arguments: list[str]) -> str | None:
    """Return the first test that fails, or what else went wrong."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n2",
        "--dist=worksteal",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "adapters")])}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode in (0, 5):  # 5: every test of the folder is left out
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else f"exit code {done.returncode}"


def draw(number: int, seed: int) -> list[Mutant]:
    found: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for path in sources(ROOT):
        for mutant in candidates(path.read_text("utf-8"), str(path.relative_to(ROOT))):
            found[mutant.kind].append(mutant)
    rng = random.Random(seed)
    return [mutant for kind in KINDS for mutant in rng.sample(found[kind], number // len(KINDS))]


def sources(tree: Path) -> list[Path]:
    return sorted(path for folder in PRODUCT for path in (tree / folder).rglob("*.py"))


def candidates(text: str, file: str) -> Iterator[Mutant]:
    """Yield every fault that a file can have."""
    lines = text.encode().split(b"\n")

    def mutant(kind: str, node: ast.expr | ast.stmt, after: str | None = None) -> Mutant:
        first, last, end = node.lineno - 1, node.end_lineno or node.lineno, node.end_col_offset
        before = b"\n".join(lines[first:last]).decode()
        head, tail = lines[first][: node.col_offset].decode(), lines[last - 1][end:].decode()
        middle = before[len(head) : len(before) - len(tail)]
        return Mutant(kind, file, first + 1, before, head + (after or f"not ({middle})") + tail)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If | ast.While | ast.IfExp) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield mutant("condition", node.test)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Raise | ast.Delete) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            if node.col_offset:  # a name of a module is needed at its import
                yield mutant("line", node, "pass")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            value = node.value
            yield mutant("constant", node, repr(not value if isinstance(value, bool) else value + 1))


if __name__ == "__main__":
    main()
