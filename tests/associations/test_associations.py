"""Associations as a user sees them: what came up together, and where activation spreads."""

from __future__ import annotations

import pytest

from tidal_plugins import InvalidInput, TidalMemory
from tidal_plugins.testing import FrozenClock


@pytest.fixture
def told(memory: TidalMemory) -> list[str]:
    """The entries of three texts: the first came up with the second twice, and the second with the third once."""
    ids = [memory.record(text).entries[0] for text in ("I play jazz piano", "The bridge is green", "It rains a lot")]
    memory.record("What now?", surfaced=ids[:2])
    memory.record("And then?", surfaced=ids[:2])
    memory.record("And what else?", surfaced=ids[1:])
    assert memory.associations.link_pending() == 3
    return ids


def test_links_are_listed_heaviest_first(memory: TidalMemory, told: list[str]) -> None:
    piano, bridge, rain = told
    found = memory.associations.links(bridge)
    assert (found[0].source, found[0].target, found[0].weight) == (bridge, piano, 2.0)
    assert rain in {link.target for link in found}
    assert {link.weight for link in found[1:]} == {1.0}
    assert memory.associations.links(f"mem:{bridge}", limit=1) == found[:1]
    assert memory.associations.links("nobody") == []


def test_links_fade_every_day(memory: TidalMemory, told: list[str], clock: FrozenClock) -> None:
    clock.advance(days=2)
    assert memory.associations.links(told[1])[0].weight == pytest.approx(2 * 0.95**2)


def test_activation_spreads_along_the_heaviest_links(memory: TidalMemory, told: list[str]) -> None:
    piano, bridge, rain = told
    found = {reached.id: reached for reached in memory.associations.spread(piano)}
    assert found[bridge].activation == pytest.approx(2 / 3)
    assert found[rain].path == (piano, bridge, rain)
    assert found[rain].activation == pytest.approx(2 / 3 * 1 / 2)
    assert rain not in {reached.id for reached in memory.associations.spread(piano, depth=1)}
    assert [reached.id for reached in memory.associations.spread([piano], limit=1)] == [bridge]
    assert memory.associations.spread(piano, threshold=0.9) == []
    assert piano not in {reached.id for reached in memory.associations.spread([piano, bridge])}


def test_scopes_have_associations_of_their_own(memory: TidalMemory, told: list[str]) -> None:
    other = memory.scoped("user", "42")
    assert other.associations.links(told[0]) == other.associations.spread(told[0]) == []


def test_a_forgotten_entry_is_reached_no_more(memory: TidalMemory, told: list[str]) -> None:
    memory.forget(told[1])
    assert told[1] not in {reached.id for reached in memory.associations.spread(told[0])}


@pytest.mark.parametrize(
    "asked", [{"threshold": -0.1}, {"threshold": 1.1}, {"depth": -1}, {"depth": 101}, {"limit": -1}]
)
def test_what_is_no_bound_is_refused(memory: TidalMemory, asked: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(asked))):
        memory.associations.spread("a", **asked)  # type: ignore[arg-type]
