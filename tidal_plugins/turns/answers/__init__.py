"""Answers of a memory to questions that a model asks by tools: bounded, with cursors, the same at every door.

Each tool is a row of :data:`~tidal_plugins.turns.answers.tools.TOOLS`: its name, its description, its arguments, and
the function that answers. The adapters only declare them.
"""

from tidal_plugins.turns.answers.answer import (
    ANSWER_CHARS,
    MAX_RESULTS,
    RELATE,
    REMEMBER_FACT,
    SUMMARY_CHARS,
    Answer,
    Arguments,
    FactArguments,
    ForgetArguments,
    RelateArguments,
    Result,
    SaveArguments,
    summary,
)
from tidal_plugins.turns.answers.tools import HISTORY_TOOLS, TOOLS, ReadTool, checked, faults

__all__ = [
    "Answer",
    "ANSWER_CHARS",
    "Arguments",
    "checked",
    "FactArguments",
    "faults",
    "ForgetArguments",
    "HISTORY_TOOLS",
    "MAX_RESULTS",
    "ReadTool",
    "RELATE",
    "RelateArguments",
    "REMEMBER_FACT",
    "Result",
    "SaveArguments",
    "summary",
    "SUMMARY_CHARS",
    "TOOLS",
]
