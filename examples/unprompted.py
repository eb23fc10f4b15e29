"""The memory speaks first, as the source of the idea reports it [Tidal §5]: four threads, two seeds, a lively talk, and
255 minutes of silence. Runs offline, in a time of its own: the clock is a stand-in."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tidal_plugins import TidalMemory
from tidal_plugins.testing import FrozenClock

OPEN = {
    "press": "I need to press the last apples of the valley.",
    "choir": "I have to write the song about the orchard for the choir.",
    "house": "I need to ask Quirin about the crack in the wall.",
}
"""What is left open, without a day. What stirs the person in the talk is the fourth thread."""
TALK = [
    "We won!!! Our apple juice has the first prize of the whole valley, it's unbelievable!",
    "Everyone was hugging, and Ruth cried with joy, it was amazing!",
    "I'm so excited, and the choir sang for us, the whole orchard was full of people!",
]
"""The lively talk before the silence."""

with tempfile.TemporaryDirectory() as folder:
    clock = FrozenClock(datetime(2026, 6, 1, 8, tzinfo=UTC))
    with TidalMemory(Path(folder, "agent.db"), clock=clock) as memory:
        memory.presence.allow(zone="UTC")
        for thread, words in OPEN.items():
            memory.record(words, "Noted.", thread=thread)
            clock.advance(hours=16)
        clock.set(datetime(2026, 6, 4, 9, tzinfo=UTC))
        for words in TALK:
            memory.record(words, "Congratulations to all of you!", thread="contest")
            clock.advance(minutes=2)

        while not (step := memory.presence.step()).message:
            clock.advance(minutes=1)  # a tick of the source
        print(f"after {step.decision.counts['absence']:.0f} minutes: {step.decision}")
        print(step.decision.counts)
        message = step.message
        memory.presence.take()
        print(message)
        print(f"about a {message.kind}; it rests on {' and '.join(message.citations)}")
