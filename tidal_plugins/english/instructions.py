"""Find what is said to an agent: who it is, and what it does when."""

from __future__ import annotations

import re

IDENTITY = re.compile(
    r"\byour (?:name|role|job|voice|tone|task) (?:is|should be)\b|\byou are (?:called|an? (?:\w+ ){0,3}"
    r"(?:assistant|agent|bot|engineer|analyst|tutor|coach))\b|\bcall yourself\b",
    re.IGNORECASE,
)
ROUTINE = re.compile(
    r"\bevery (?:\d+ )?(?:minutes?|hours?|morning|day|evening|night|week|loop|cycle|thread|hour)\b"
    r"|\b(?:at the (?:start|end) of|before|after) (?:each|every) (?:loop|cycle|thread|run|day|turn)\b"
    r"|\bfirst thing\b",
    re.IGNORECASE,
)
OWN_PLANS = re.compile(r"\bi(?:'ll|'ve|'m| will| have| am)?\b")
"""Statements of people about themselves, which are no rules for an agent."""
