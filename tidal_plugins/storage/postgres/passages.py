"""Passages in a PostgreSQL database, with the indexes of keywords and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tidal_plugins.model.entry import Scope
from tidal_plugins.storage.checksums import passage_checksum, vector_checksum
from tidal_plugins.storage.keywords import tokens
from tidal_plugins.storage.postgres.connections import Connections
from tidal_plugins.storage.postgres.dialect import NUMBERS
from tidal_plugins.storage.postgres.numbers import number_of, token_number
from tidal_plugins.storage.postgres.renewal import locked_state
from tidal_plugins.storage.postgres.schema import GONE_SUM
from tidal_plugins.storage.postgres.work import Statement
from tidal_plugins.storage.sql.entries import KEPT, MOST_GONE, Indexed

_PASSAGES = """
    INSERT INTO tidal_passages (scope, key, entry, start, "end", words, checksum, tokens)
    SELECT %s, u.key, u.entry, u.start, u."end", u.words, u.checksum, u.tokens::bigint[]
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
        u (key, entry, start, "end", words, checksum, tokens)
"""
_VECTORS = """
    INSERT INTO tidal_vectors (scope, generation, passage, vector, checksum)
    SELECT %s, %s, * FROM unnest(%s::bigint[], %b::bytea[], %s::bigint[])
"""
_WORDS = """
    INSERT INTO tidal_words (scope, token, passage, times)
    SELECT %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::integer[])
"""
_UNINDEX = f"""
    WITH gone AS (
        DELETE FROM tidal_passages WHERE scope = %s AND entry = {NUMBERS} RETURNING key, words, tokens
    ), words AS (
        DELETE FROM tidal_words w USING (SELECT key, unnest(tokens) AS token FROM gone) g
        WHERE w.scope = %s AND w.token = g.token AND w.passage = g.key
    ), generations AS (SELECT DISTINCT t.generation + n AS generation FROM tidal_state t, generate_series(-1, 1) n),
    vectors AS (
        DELETE FROM tidal_vectors v USING gone g, generations n
        WHERE v.scope = %s AND v.generation = n.generation AND v.passage = g.key RETURNING v.generation
    ) SELECT (SELECT count(*) FILTER (WHERE words > 0) FROM gone), (SELECT coalesce(sum(words), 0)::bigint FROM gone),
        (SELECT count(*) FROM vectors v, tidal_state t WHERE v.generation = t.generation),
        (SELECT count(*) FROM vectors v, tidal_state t WHERE v.generation > t.generation)
"""
_GONE = f"""
    WITH risen AS (UPDATE tidal_scopes SET erasures = erasures + 1 WHERE scope = %s RETURNING erasures),
    noted AS (
        INSERT INTO tidal_gone (scope, erasure, entries, checksum)
        SELECT g.*, {GONE_SUM}
        FROM (SELECT %s::bigint, r.erasures, %s::bigint[] FROM risen r) g (scope, erasure, entries)
        WHERE cardinality(entries) <= {MOST_GONE}
        ON CONFLICT (scope, erasure) DO UPDATE SET entries = excluded.entries, checksum = excluded.checksum
    ), trimmed AS (DELETE FROM tidal_gone g USING risen r WHERE g.scope = %s AND g.erasure <= r.erasures - {KEPT}),
    dropped AS (
        DELETE FROM tidal_columns c
        WHERE c.scope = %s AND EXISTS (SELECT 1 FROM unnest(%s::bigint[]) k WHERE k BETWEEN c.first AND c.last)
    ) SELECT erasures FROM risen
"""


def indexing(
    db: Connections, scope: Scope, entries: Sequence[Indexed], keys: Iterator[int], generation: int
) -> list[Statement]:
    """Return statements that add the passages of entries, with their words and vectors, and count them."""
    number = number_of(scope)
    rows, vectors, words = list[list[object]](), list[tuple[int, bytes, int]](), list[tuple[int, int, int]]()
    worded = total = 0
    for entry in entries:
        for passage, unit in zip(entry.passages, entry.units, strict=True):
            key, terms = next(keys), passage.terms.split()
            place = (passage.start, passage.end, len(terms))
            times = Counter(token_number(tokens(word)) for word in terms)
            sum_ = passage_checksum(number, key, entry.id, *place)
            rows.append([key, entry.key, *place, sum_, "{" + ",".join(map(str, times)) + "}"])
            words += [(token, key, count) for token, count in times.items()]
            if unit is not None:
                vector = unit.tobytes()
                vectors.append((key, vector, vector_checksum(key, number, vector)))
            worded, total = worded + bool(terms), total + len(terms)
    db.current.count(scope, worded, total, len(vectors), 0)
    statements = list[Statement]()
    if rows:
        statements.append((_PASSAGES, [number, *map(list, zip(*rows, strict=True))]))
    if vectors:
        statements.append((_VECTORS, [number, generation, *map(list, zip(*vectors, strict=True))]))
    if words:
        statements.append((_WORDS, [number, *map(list, zip(*sorted(words), strict=True))]))
    return statements


def unindex(db: Connections, scope: Scope, entries: Sequence[int]) -> None:
    """Remove the passages of entries from all indexes."""
    number = number_of(scope)
    db.lock(scope)
    locked_state(db)  # a renewal must not give a new vector to a passage that goes
    [counted] = db.rows(scope, _UNINDEX, number, list(entries), number, number)
    db.current.count(scope, *(-count for count in counted))
    note_gone(db, scope, entries)


def note_gone(db: Connections, scope: Scope, entries: Sequence[int]) -> None:
    """Let the erasures of a scope rise, note which entries went or were replaced, and drop what is saved of them."""
    number, keys = number_of(scope), list(entries)
    db.rows(scope, _GONE, number, number, keys, number, number, keys)
