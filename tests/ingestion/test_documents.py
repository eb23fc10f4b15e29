"""``memory.documents``: texts in several parts that are replaced when they change; ``memory.entries`` lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tidal_plugins import InvalidInput, Note, NotFound, TidalMemory

OpenMemory = Callable[..., TidalMemory]


def notes(*texts: str) -> Iterator[Note]:
    return (Note(text) for text in texts)


def texts(memory: TidalMemory, **filter: object) -> list[str]:
    return [entry.text for entry in memory.entries.list(**filter)]


def test_a_document_stands_under_its_source(memory: TidalMemory) -> None:
    made = memory.documents.put("tide.md", notes("High tide at six.", "Low tide at noon."), digest="1")
    assert memory.documents.get("tide.md") == made
    assert [memory.get(id_).source for id_ in made.parts] == ["tide.md", "tide.md"]
    assert texts(memory, sources={"tide.md"}) == ["High tide at six.", "Low tide at noon."]
    assert memory.documents.get("ebb.md") is None
    assert [document.source for document in memory.documents.list()] == ["tide.md"]


def test_parts_that_a_document_no_longer_has_go_with_the_sweep(memory: TidalMemory) -> None:
    first = memory.documents.put("tide.md", notes("High tide at six.", "Low tide at noon."), digest="1")
    second = memory.documents.put("tide.md", notes("Low tide at noon.", "Neap tide on Sunday."), digest="2")
    assert second.parts[0] == first.parts[1], "a part that stands is not remembered anew"
    assert second.stale == (first.parts[0],)
    assert memory.documents.sweep() == 1
    assert memory.documents.sweep() == 0
    with pytest.raises(NotFound):
        memory.get(first.parts[0])
    assert sorted(texts(memory)) == ["Low tide at noon.", "Neap tide on Sunday."]


def test_a_text_may_come_back_and_what_was_forgotten_may_not(memory: TidalMemory) -> None:
    gone = "The buoy at the harbour entrance was painted green by the pilots last summer."
    memory.documents.put("buoy.md", notes(gone))
    memory.documents.put("buoy.md", notes("The buoy is red now, says the pilot of the harbour."))
    memory.documents.sweep()
    back = memory.documents.put("buoy.md", notes(gone))
    assert [memory.get(id_).text for id_ in back.parts] == [gone]
    memory.documents.sweep()
    memory.forget(*back.parts)
    again = memory.documents.put("buoy.md", notes("A new part.", gone))
    assert [memory.get(id_).text for id_ in again.parts] == texts(memory) == ["A new part."]


def test_the_same_text_in_two_documents_goes_with_the_last_of_them(memory: TidalMemory) -> None:
    memory.documents.put("one.md", notes("The ferry leaves from the west quay."))
    memory.documents.put("two.md", notes("The ferry leaves from the west quay."))
    memory.documents.put("one.md", ())
    memory.documents.sweep()
    assert [hit.entry.source for hit in memory.recall("ferry quay")] == ["two.md"]


def test_a_document_that_cannot_be_read_to_its_end_stays_as_it_was(memory: TidalMemory) -> None:
    def broken(count: int) -> Iterator[Note]:
        yield from notes(*(f"Lock {n} opens for barge {n}." for n in range(count)))
        raise OSError("the disk is gone")

    before = memory.documents.put("locks.md", notes("Lock 0 opens for barge 0."), digest="1")
    for source in ("locks.md", "new.md"):
        with pytest.raises(OSError, match="gone"):
            memory.documents.put(source, broken(70))
    assert memory.documents.sweep() == 64 - 1 + 64
    assert memory.documents.list() == [before]
    assert texts(memory) == ["Lock 0 opens for barge 0."]


def test_what_cannot_be_a_document_is_refused(memory: TidalMemory) -> None:
    for source, parts in (("", ()), ("a.md", "a text"), ("a.md", 7)):
        with pytest.raises(InvalidInput):
            memory.documents.put(source, parts)


def test_entries_are_listed_in_order_of_time_a_page_at_a_time(memory: TidalMemory) -> None:
    memory.record("The mast is spruce.", "Spruce, noted.", thread="boats")
    memory.remember("Tie a bowline.", kind="skill", tags=["knots"])
    assert texts(memory, kinds={"skill"}) == texts(memory, tags={"knots"}) == ["Tie a bowline."]
    assert texts(memory, threads={"boats"}) == ["The mast is spruce.", "Spruce, noted."]
    assert texts(memory, limit=1, after=1) == texts(memory)[1:2]
    assert texts(memory, newest_first=True) == texts(memory)[::-1]
    with pytest.raises(InvalidInput):
        memory.entries.list(limit=0)
    with pytest.raises(TypeError):
        memory.entries.list(colour="red")


def test_a_document_has_no_digest_until_it_is_whole(memory: TidalMemory) -> None:
    seen = []

    def parts() -> Iterator[Note]:
        for n in range(70):
            yield Note(f"Buoy {n} lies north of wreck {n}.")
            document = memory.documents.get("buoys.md")
            seen.append(document and (document.digest, len(document.parts)))

    memory.documents.put("buoys.md", parts(), digest="1")
    assert set(seen) == {None, (None, 32), (None, 64)}
    document = memory.documents.get("buoys.md")
    assert document is not None
    assert (document.digest, len(document.parts), document.stale) == ("1", 70, ())
