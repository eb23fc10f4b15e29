"""The examination of the keyword index: SQLite's own says whether it is well formed, and not whose words it holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tidal_plugins.errors import StorageError
from tidal_plugins.model.check import Fault
from tidal_plugins.storage.sqlite.base import readable
from tidal_plugins.storage.sqlite.connections import Connections
from tidal_plugins.storage.values import to_json

FORMAT = 4
"""The format of FTS5's index that the schema creates."""

_HELD = "SELECT doc, count(*) FROM temp.keyword_places GROUP BY doc"
_KNOWN = "SELECT key, words FROM passages WHERE words > 0"
_SIZES = "SELECT id, sz FROM keywords_docsize"
_AVERAGES = "SELECT block FROM keywords_data WHERE id = 1"
_STRUCTURE = "SELECT block FROM keywords_data WHERE id = 10"
_LOST_PAGES = """
    SELECT count(*) FROM keywords_idx x LEFT JOIN json_each(?) j ON CAST(j.key AS INTEGER) = x.segid
    WHERE (segid << 37) + (pgno >> 1) NOT IN (SELECT id FROM keywords_data) AND pgno >> 1 >= ifnull(j.value, 0)
"""  # FTS5 numbers the pages of its segments so; no search needs the first entry of a segment, but every write does
_PASSAGES = """
    SELECT e.scope, e.id, p.start, p."end", p.key, p.words FROM passages p JOIN entries e ON e.key = p.entry
"""


def index_faults(db: Connections) -> Iterator[Fault]:
    """Yield what is wrong with the index as a whole, and can only be mended by writing it anew."""
    try:
        if db.rows("SELECT k, v FROM keywords_config") != [("version", FORMAT)]:
            yield Fault("keywords", "", "its format is not known", True)
            return
        if number := db.one(_LOST_PAGES, to_json(_first_pages(db.one(_STRUCTURE)))):
            yield Fault("keywords", "", f"{number} of its pages are not where they should be", True)
        held = _held(db)
        known = {key for key, _ in db.rows(_KNOWN)}
        if strays := len(held.keys() - known):
            yield Fault("keywords", "", f"it holds words of {strays} passages that are not there", True)
        sizes = {key: next(_numbers(size), 0) for key, size in db.rows(_SIZES)}
        if any(held.get(key, 0) != size for key, size in sizes.items()):
            yield Fault("keywords", "", "the lengths of passages are wrong", True)
        averages = [number for (block,) in db.rows(_AVERAGES) for number in _numbers(block)]
        if held and averages != [len(held), sum(held.values())]:
            yield Fault("keywords", "", "the number of passages or words is wrong", True)
    except StorageError as error:
        yield Fault("keywords", "", str(error), True)
    except ValueError:
        yield Fault("keywords", "", "its structure is damaged", True)


def without_words(db: Connections) -> Iterator[tuple[int, str, int, int]]:
    """Yield the passages that have not the number of words which they should have: scope, entry, start and end."""
    held = _held(db)
    for scope, id_, start, end, key, words in readable(db, "keywords", _PASSAGES):
        if held.get(key, 0) != words:
            yield scope, id_, start, end


def _held(db: Connections) -> dict[int, int]:
    """Return how many words the index has of each passage."""
    return dict(db.rows(_HELD))


def _first_pages(structure: object) -> dict[int, int]:
    """Return the first page of each segment of the index, as its structure names them.

    A merge of segments lasts over many writes. It deletes pages that it is done with, and moves the first page of
    their segment on, but leaves their entries to its end. After eight bytes the structure has three counts, and for
    each level two, the second of which is that of its segments. A segment has its number, its first and its last page,
    and five counts.
    """
    numbers = _numbers(structure[8:] if isinstance(structure, bytes) else b"")
    found = {}
    levels, *_ = islice(numbers, 3)
    for _ in range(levels):
        _, segments = islice(numbers, 2)
        for _ in range(segments):
            segment, first, *_ = islice(numbers, 8)
            found[segment] = first
    return found


def _numbers(block: object) -> Iterator[int]:
    """Yield the numbers of a block, of seven bits a byte each, the highest first. Damage may have made it no block."""
    number = 0
    for byte in block if isinstance(block, bytes) else b"":
        number = number << 7 | byte & 127
        if byte < 128:
            yield number
            number = 0
