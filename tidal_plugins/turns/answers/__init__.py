"""Answers of a memory to questions that a model asks by tools: bounded, with cursors, the same at every door.

Each tool is a row of :data:`~tidal_plugins.turns.answers.tools.TOOLS`: its name, its description, its arguments, and
the function that answers. The adapters only declare them.
"""

from tidal_plugins.turns.answers.answer import MAX_RESULTS, SUMMARY_CHARS, Answer, Result
from tidal_plugins.turns.answers.arguments import Arguments
from tidal_plugins.turns.answers.tools import HISTORY_TOOLS, TOOLS, ReadTool, checked, faults

__all__ = [
    "Answer",
    "Arguments",
    "checked",
    "faults",
    "HISTORY_TOOLS",
    "MAX_RESULTS",
    "ReadTool",
    "Result",
    "SUMMARY_CHARS",
    "TOOLS",
]
