"""Correcting an entry: the new text is read, the old one is superseded, and nothing else that belongs to it is lost."""

from __future__ import annotations

import threading

import pytest

from tests.conftest import OpenMemory
from tidal_plugins import Conflict, Entry, Forgotten, InvalidInput, TidalMemory
from tidal_plugins.testing import FrozenClock

PORTO, LISBON = "My cousin Nora lives in Porto.", "My cousin Nora lives in Lisbon."


@pytest.fixture
def memory(open_memory: OpenMemory) -> TidalMemory:
    memory = open_memory()
    memory.record(PORTO, "How nice.", thread="monday")
    memory.graph.index_pending()
    return memory


def said(memory: TidalMemory) -> Entry:
    return next(hit.entry for hit in memory.recall("cousin Nora", kinds=["conversation"]) if "Nora" in hit.text)


def relations(memory: TidalMemory) -> set[str]:
    return set(memory.graph.sentences(memory.graph.relations()).values())


def test_a_corrected_turn_is_read_anew_and_keeps_what_belongs_to_it(memory: TidalMemory, clock: FrozenClock) -> None:
    old, before = said(memory), relations(memory)
    assert any("Porto" in one for one in before)
    memory.entries.pin(old.id)
    memory.signals.add("like", old.id)
    memory.associations.link_pending()
    links = memory.associations.links(old.id)
    clock.advance(hours=1)
    new = memory.entries.correct(old.id, LISBON)
    assert (new.id, new.text, new.episode) == (old.id, LISBON, old.episode)
    assert new == memory.get(old.id)
    memory.graph.index_pending()
    assert relations(memory) == {one.replace("Porto", "Lisbon") for one in before}
    assert (new.tags, new.importance) == (old.tags, old.importance)
    assert new.tier is not None
    assert new.tier.cold_at is None
    assert memory.signals.tally().scores["like"].keys() == {old.id}
    assert {(one.source, one.target) for one in memory.associations.links(old.id)} == {
        (one.source, one.target) for one in links
    }
    assert memory.check().ok


def test_the_turn_keeps_its_words_and_recall_finds_the_new_ones(memory: TidalMemory, clock: FrozenClock) -> None:
    old, then = said(memory), memory.now()
    clock.advance(hours=1)
    memory.entries.correct(old.id, LISBON)
    assert memory.episodes[str(old.episode)].messages[0].text == PORTO
    assert memory.recall("Where does Nora live?", kinds=["conversation"])[0].text == LISBON
    assert PORTO not in [hit.text for hit in memory.recall("Where does Nora live?")]
    past = [hit.text for hit in memory.recall("Where does Nora live?", as_of=then, kinds=["conversation"])]
    assert (PORTO in past, LISBON in past) == (True, False)
    [link] = memory.supersessions.list(old.id)
    assert (link.later, memory.get(link.earlier).text) == (old.id, PORTO)
    assert str(link.replacement) == "Lisbon instead of Porto («corrected»)"
    memory.graph.index_pending()
    quotes = [one.quote for row in memory.graph.relations() for one in memory.graph.evidence(row.id)]
    assert quotes
    assert all(quote in LISBON for quote in quotes)


def test_a_note_keeps_its_labels_and_importance(memory: TidalMemory) -> None:
    old = memory.remember("The key is under the mat.", tags=["home", "key"], importance=9, kind="kb", source="house")
    new = memory.entries.correct(old.id, "The key is under the stone.")
    assert (new.tags, new.importance, new.kind, new.source) == (("home", "key"), 9, "kb", "house")
    assert memory.remember("The key is under the mat.", kind="kb", source="house").id != ""
    hits = [hit.text for hit in memory.recall("Where is the key?")]
    assert hits[0] == "The key is under the stone."
    assert "The key is under the mat." not in hits


def test_nothing_changes_if_it_fails_on_the_way(memory: TidalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    old, before = said(memory), relations(memory)
    monkeypatch.setattr("tidal_plugins.ingestion.correct.flag_claims", lambda *_: 1 / 0)  # the last step but two
    with pytest.raises(ZeroDivisionError):
        memory.entries.correct(old.id, LISBON)
    assert memory.get(old.id) == old
    assert relations(memory) == before
    assert memory.supersessions.list() == []


def test_forgetting_takes_the_earlier_wordings_along(memory: TidalMemory) -> None:
    old = said(memory)
    memory.entries.correct(old.id, "My cousin Nora lives in Faro.")
    memory.entries.correct(old.id, LISBON)
    wordings = [one.earlier for one in memory.supersessions.list(old.id)]
    assert len(wordings) == 2
    memory.forget(old.id)
    for id_ in (old.id, *wordings):
        with pytest.raises(Forgotten):
            memory.get(id_)
    assert "Porto" not in str(memory.episodes[str(old.episode)].messages)
    memory.graph.index_pending()
    assert not any("Nora" in one for one in relations(memory))
    with pytest.raises(Forgotten):
        memory.remember(PORTO)


@pytest.mark.parametrize("text", [PORTO, "", "   "])
def test_a_text_that_corrects_nothing_is_refused(memory: TidalMemory, text: str) -> None:
    with pytest.raises(InvalidInput):
        memory.entries.correct(said(memory).id, text)


def test_what_was_made_of_others_is_refused(memory: TidalMemory) -> None:
    memory.facts["bridge"] = "open"
    made = [one for one in memory.entries.list() if one.channel in ("graph", "facts")]
    assert {one.channel for one in made} == {"graph", "facts"}
    for one in made:
        with pytest.raises(InvalidInput, match=r"fact|made of other"):
            memory.entries.correct(one.id, "Something else.")


def test_a_forgotten_text_does_not_come_back(memory: TidalMemory) -> None:
    memory.forget(memory.remember("Nora lives in Faro with her two dogs.").id)
    with pytest.raises(Forgotten):
        memory.entries.correct(said(memory).id, "Nora lives in Faro with her two dogs.")


def test_forgetting_everywhere_finds_the_earlier_words_elsewhere(memory: TidalMemory) -> None:
    old = said(memory)
    memory.entries.correct(old.id, LISBON)
    again = memory.record("Nora.", PORTO, thread="tuesday")
    memory.forget(old.id, everywhere=True)
    assert PORTO not in str([memory.episodes.list(), memory.entries.list(include_archived=True)])
    assert memory.episodes[again.id].messages[0].text == "Nora."


def test_what_is_corrected_twice_at_once_is_corrected_once(memory: TidalMemory) -> None:
    old = said(memory)
    memory.entries.correct(old.id, LISBON, expected=PORTO)
    with pytest.raises(Conflict, match="read it again"):
        memory.entries.correct(old.id, "My cousin Nora lives in Faro.", expected=PORTO)
    assert memory.get(old.id).text == LISBON


def test_two_threads_leave_one_text(memory: TidalMemory) -> None:
    old, refused = said(memory), list[Exception]()
    barrier = threading.Barrier(2)

    def change(town: str) -> None:
        barrier.wait()
        try:
            memory.entries.correct(old.id, f"My cousin Nora lives in {town}.", expected=PORTO)
        except Conflict as error:
            refused.append(error)

    threads = [threading.Thread(target=change, args=(town,)) for town in ("Lisbon", "Faro")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(refused) == 1
    standing = {hit.text for hit in memory.recall("cousin Nora", kinds=["conversation"]) if "Nora" in hit.text}
    assert standing == {memory.get(old.id).text}


def test_a_conflict_is_read_from_the_new_words(memory: TidalMemory) -> None:
    memory.facts["bridge"] = "open"
    episode = memory.record("The bridge is closed.", thread="bridge")
    assert [one.claim for one in memory.facts.conflicts()] == ["closed"]
    [id_] = episode.entries
    memory.entries.correct(id_, "The bridge is open.")
    assert memory.facts.conflicts() == []
    memory.entries.correct(id_, "The bridge is closed.")
    assert [one.claim for one in memory.facts.conflicts()] == ["closed"]


def test_supersessions_are_found_anew(memory: TidalMemory, clock: FrozenClock) -> None:
    first = memory.record("My office is in Bergen now.", thread="move").entries[0]
    clock.advance(hours=1)
    second = memory.record("My office is in Lisbon now.", thread="move").entries[0]
    memory.supersessions.find()
    assert [(one.later, one.earlier) for one in memory.supersessions.list()] == [(second, first)]
    memory.entries.correct(second, "My sister is a baker.")
    memory.supersessions.find()
    assert [one.earlier for one in memory.supersessions.list() if one.earlier == first] == []
    memory.entries.correct(second, "My office is in Ghent now.")
    memory.supersessions.find()
    assert (second, first) in [(one.later, one.earlier) for one in memory.supersessions.list()]


def test_the_same_words_elsewhere_stay(memory: TidalMemory) -> None:
    old = said(memory)
    memory.record(PORTO, thread="tuesday")
    memory.entries.correct(old.id, LISBON)
    assert {hit.text for hit in memory.recall("Nora lives", kinds=["conversation"])} >= {PORTO, LISBON}
    assert memory.check().ok
