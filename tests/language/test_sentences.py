"""The acts and tags of sentences that are kept with entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.inside import storage_of
from tidal_plugins import Entry, HashingEmbedder, InvalidInput, Settings, TidalMemory
from tidal_plugins.language.tagger import tag
from tidal_plugins.model.sentence import ACTS, TAGS, SentenceTags
from tidal_plugins.reading.sentences import SENTENCES, Readings, units

MOVED = "We moved the stand-up to ten. Thanks!"


class Sure:
    """A tagger that takes every sentence for a rule."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def tag(self, sentences: Sequence[str], roles: Sequence[str]) -> list[SentenceTags]:
        self.asked += zip(sentences, roles, strict=True)
        return [SentenceTags("statement", frozenset(["rule"]), {"statement": 1.0, "rule": 1.0}) for _ in sentences]


@pytest.fixture
def tagger() -> Sure:
    return Sure()


@pytest.fixture
def memory(tmp_path: Path, tagger: Sure) -> Iterator[TidalMemory]:
    settings = Settings(graph={"background": False})
    path = tmp_path / "agent.db"
    with TidalMemory(path, embedder=HashingEmbedder(), settings=settings, tagger=tagger) as memory:
        yield memory


def tags(memory: TidalMemory, entry: Entry) -> list[set[str]]:
    read = Readings(storage_of(memory), memory.scope)
    return [set(one.tags) for one in read.of(entry, units(entry.text))]


def test_a_note_and_a_turn_are_read_in_the_background_and_by_ngrams_before(memory: TidalMemory, tagger: Sure) -> None:
    note = memory.remember(MOVED)
    episode = memory.record("Could you move it?", "Done. It is at ten.")
    said = [memory.get(id_) for id_ in episode.entries]
    plain = [set(one.tags) for one in tag(units(MOVED))]
    assert tags(memory, note) == plain
    memory.graph.index_pending()
    assert tags(memory, note) == [{"rule"}, {"rule"}]
    assert [tags(memory, entry) for entry in said] == [[{"rule"}], [{"rule"}, {"rule"}]]
    assert ("Could you move it?", "user") in tagger.asked
    assert ("It is at ten.", "assistant") in tagger.asked


def test_nothing_is_kept_of_what_is_forgotten_or_has_another_text(memory: TidalMemory) -> None:
    note, other = memory.remember(MOVED), memory.remember("Nobody deploys on Fridays.")
    memory.graph.index_pending()
    storage = storage_of(memory)
    assert {found.key for found in storage.documents(memory.scope, SENTENCES)} == {note.id, other.id}
    memory.forget(note.id)
    assert {found.key for found in storage.documents(memory.scope, SENTENCES)} == {other.id}
    corrected = memory.entries.correct(other.id, "Nobody deploys on Mondays.")
    assert not storage.documents(memory.scope, SENTENCES)
    memory.graph.index_pending()
    assert tags(memory, corrected) == [{"rule"}]


def test_what_is_kept_is_what_was_read(memory: TidalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    [read] = tag(["I will always meet Ana at 10."])
    monkeypatch.setattr(Sure, "tag", lambda *_: [read])
    note = memory.remember("I will always meet Ana at 10.")
    memory.graph.index_pending()
    [kept] = Readings(storage_of(memory), memory.scope).of(note, [note.text])
    assert (kept.act, kept.tags) == (read.act, read.tags)
    assert kept.scores == pytest.approx(read.scores, abs=0.003)
    assert set(kept.scores) == {*ACTS, *TAGS}


def test_a_turn_that_is_read_as_vital_does_not_fade_and_keeps_what_its_author_set(
    memory: TidalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    vital = SentenceTags("statement", frozenset(["vital"]), {"statement": 1.0, "vital": 0.9})
    monkeypatch.setattr(Sure, "tag", lambda _, sentences, __: [vital for _ in sentences])
    said, answer = map(memory.get, memory.record("Lupins and Tom do not mix.", "I see.").entries)
    note = memory.remember("Lupins and Tom do not mix.", importance=2)
    assert said.tier is not None
    memory.graph.index_pending()
    assert memory.get(said.id).tier is None
    assert memory.get(said.id).importance == said.importance
    assert memory.get(answer.id).tier is not None
    assert memory.get(note.id).importance == 2
    assert next(hit.id for hit in memory.recall("Lupins and Tom do not mix.", kinds=["conversation"])) == said.id


def test_the_items_of_a_list_are_sentences() -> None:
    assert units("Do: 1) call Ana 2) pay rent. Ok?") == [
        "Do: 1) call Ana 2) pay rent.", "Do:", "call Ana", "pay rent.", "Ok?"
    ]  # fmt: skip


def test_a_tagger_has_one_method(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a tagger has a method tag"):
        TidalMemory(tmp_path / "agent.db", tagger=object())  # type: ignore[arg-type]
