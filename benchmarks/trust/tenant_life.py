"""What every tenant has in its scope: the same words, and one word of its own in each of them."""

from __future__ import annotations

import re
from typing import Final

from benchmarks.trust.tenant_doors import Ids
from langgraph_tidal import TidalStore
from tidal_plugins import TidalMemory, ToolCall

CANARY: Final = re.compile(r"tenant[a-z]{2}bird", re.IGNORECASE)
"""The canaries of all scopes. They are words: one that looks like a key would be redacted."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"

TURNS: Final = (
    ("Our gardener {0} prunes the old pear trees on Thursday.", "Noted: {0} prunes on Thursday."),
    ("{0} works at the nursery in Ghent.", "The nursery where {0} works has good pears."),
    ("The service harvest_{0} depends on orchard_{0}.", "So orchard_{0} must run first."),
    ("We decided that {0} gets the key of the shed.", "{0} has the key of the shed then."),
    ("The rent that {0} pays is 400 euros.", "400 euros for {0}."),
    ("The rent that {0} pays is now 450 euros.", "450 euros for {0} from now on."),
    ("Never let anybody but {0} climb the ladder.", "Only {0} climbs the ladder."),
    ("I am allergic to the bees that {0} keeps.", "I'll keep you away from the bees of {0}."),
)


def canary(number: int) -> str:
    """Return the canary of the scope with a number."""
    return f"Tenant{LETTERS[number // len(LETTERS)]}{LETTERS[number % len(LETTERS)]}bird"


def fill(memory: TidalMemory, number: int) -> Ids:
    """Fill a scope with every kind of memory that there is, and return the ids in it."""
    word = canary(number)
    for place, (user, agent) in enumerate(TURNS):
        look = ToolCall("look", {"for": word}, id=f"call-{place}", result=f"{word} was seen at the shed")
        said, tools = (user.format(word), agent.format(word)), [look] if place % 2 else []
        memory.record(*said, tools=tools, thread="garden", id=f"turn-{place}", metadata={"gardener": word})
    skill = memory.remember(f"To reach the gardener {word}, ring the bell twice.", kind="skill", tags=[word, "garden"])
    memory.remember(f"The book of {word}: pear trees want lime and sun.", kind="kb", source=f"{word}.md")
    for value in (word, f"{word} the younger"):
        memory.facts.set("gardener", value)
    memory.graph.index_pending()
    memory.supersessions.find()
    memory.signals.add("like", skill.id)
    with memory.sessions.open(user=word, agent="planner", thread="garden") as session:
        session.annotate(skill.id, f"ask {word} first")
    run = memory.maintenance.run()
    memory.dossiers.refresh("gardener")
    memory.capsule.read()
    TidalStore(memory).put(("users", "ann"), "pears", {"text": f"pears that {word} likes"})
    episodes = memory.episodes.list()
    relations, entities = memory.graph.relations(), memory.graph.entities()
    return Ids(
        episodes=tuple(episode.id for episode in episodes),
        entries=(skill.id, *memory.recall("gardener", kinds={"fact"}, limit=3).ids, *episodes[0].entries),
        relations=tuple(relation.id for relation in relations),
        entities=tuple(entity.id for entity in entities),
        sessions=tuple(session.id for session in memory.sessions.list()),
        runs=(run.run or "none",),
    )
